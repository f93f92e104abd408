"""Functions are written out: loops unrolled, branches as choices, early exits included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.source.flat_checks import load, solved_for, value

import estimica as es
from estimica.base.errors import SourceError, UnsupportedError
from estimica.source.load import load_flat


def calling(function: str, call: str, declarations: str = "") -> str:
    return f"""
package P
  constant Real c = 3;
  {function}
  model M
    Real x(start=1, fixed=true); Real y; {declarations}
  equation
    der(x) = -x;
    y = {call};
  end M;
end P;
"""


POLYNOMIAL = """
function polynomial
  input Real x; input Real a[:]; output Real y;
protected
  Integer n = size(a, 1);
algorithm
  y := 0;
  for i in n:-1:1 loop y := y*x + a[i]; end for;
end polynomial;
"""
SATURATION = """
function saturation
  input Real x; input Real low = -1; input Real high = 1; output Real y;
algorithm
  if x < low then y := low; elseif x > high then y := high; else y := x; end if;
end saturation;
"""
SEARCH = """
function search "the first i whose square exceeds x"
  input Real x; output Real y;
algorithm
  for i in 1:5 loop
    if i^2 > x then y := i; return; end if;
  end for;
  y := -1;
end search;
"""
NEWTON = """
function root
  input Real a; output Real x;
protected
  Integer k = 0;
algorithm
  x := a;
  while k < 20 loop
    x := 0.5*(x + a/x); k := k + 1;
    if abs(x*x - a) < 1e-13 then break; end if;
  end while;
end root;
"""
FACTORIAL = """
function factorial
  input Integer n; output Real y;
algorithm
  if n <= 1 then y := 1; else y := n*factorial(n - 1); end if;
end factorial;
"""
SUMS = """
function sums
  input Real x[:]; output Real y[size(x, 1)]; output Real total;
protected
  Real s;
algorithm
  s := 0;
  for i in 1:size(x, 1), j in 1:2 loop
    if j == 2 then s := s + x[i]; end if;
    y[i] := s;
  end for;
  total := s;
end sums;
"""
WITH_CONSTANT = """
function scaled
  input Real x; output Real y;
algorithm
  y := c*x;
  while y > 1e9 loop y := y/2; break; end while;
end scaled;
"""


@pytest.mark.parametrize(
    ("function", "call", "x", "wanted"),
    [
        (POLYNOMIAL, "polynomial(x, {1, 2, 3})", 2.0, 17.0),
        (SATURATION, "saturation(x)", 3.0, 1.0),
        (SATURATION, "saturation(x, high = 2)", 3.0, 2.0),
        (SATURATION, "saturation(x, -5, 5) + saturation(-x, -2)", 3.0, 1.0),
        (SEARCH, "search(x)", 10.0, 4.0),
        (SEARCH, "search(x)", 30.0, -1.0),
        (NEWTON, "root(x)", 2.0, math.sqrt(2.0)),
        (NEWTON, "root(x)", 1.0, 1.0),
        (FACTORIAL, "factorial(5)*x", 2.0, 240.0),
        (WITH_CONSTANT, "scaled(x)", 2.0, 6.0),
    ],
)
def test_function(function: str, call: str, x: float, wanted: float) -> None:
    system = load(calling(function, call), "P.M")
    assert value(system, "y", x=x) == pytest.approx(wanted, rel=1e-12)


def test_several_outputs() -> None:
    text = f"""
package P
  {SUMS}
  model M
    Real x(start=1); Real y[2]; Real z; Real w[2];
  equation
    der(x) = -1;
    (y, z) = sums({{x, 10}});
    (w) = sums({{x, 5}});
  end M;
end P;
"""
    system = load(text, "P.M")
    assert value(system, "y[2]", x=1.0) == 11.0
    assert value(system, "z", x=1.0) == 11.0
    assert value(system, "w[2]", x=1.0) == 6.0


def test_scalar_functions_apply_to_every_element_of_an_array() -> None:
    system = load(calling(SATURATION, "sum(saturation({x, 2*x, -3*x}))"), "P.M")
    assert value(system, "y", x=0.4) == pytest.approx(0.4 + 0.8 - 1.0)


def test_assertions_of_functions_count_only_where_the_function_is_called() -> None:
    function = """
function positive_root
  input Real x; output Real y;
algorithm
  assert(x > 0, "negative");
  y := sqrt(x);
end positive_root;
"""
    system = load(calling(function, "if x > 2 then positive_root(x) else 0"), "P.M")
    (assertion,) = system.assertions
    assert assertion.message == "negative"
    assert assertion.condition.op == "or"


def test_c_library_functions_declared_external_are_known() -> None:
    function = """
function hyperbolic
  input Real x; output Real y;
external "C" y = sinh(x);
end hyperbolic;
"""
    system = load(calling(function, "hyperbolic(x)"), "P.M")
    assert solved_for(system, "y").op == "sinh"


def test_other_external_functions_are_refused_by_name_and_place() -> None:
    function = """
function bessel
  input Real x; output Real y;
external "C" y = j0(x);
end bessel;
"""
    with pytest.raises(UnsupportedError, match=r"y = bessel\(x\).*external.*'j0' of language C"):
        load(calling(function, "bessel(x)"), "P.M")


def test_loops_that_the_run_ends_stay_loops() -> None:
    function = """
function settle
  input Real x; output Real y;
algorithm
  y := x;
  while y > 1e-3 loop y := y/2; end while;
end settle;
"""
    system = load(calling(function, "settle(x)"), "P.M")
    assert value(system, "y", x=2.0) == 2.0 / 2**11
    assert value(system, "y", x=1e-4) == 1e-4


def test_loops_that_never_end_are_no_number() -> None:
    function = """
function forever
  input Real x; output Real y;
algorithm
  y := x;
  while y > 0.0 loop y := y + 1; end while;
end forever;
"""
    system = load(calling(function, "forever(x)"), "P.M")
    assert math.isnan(value(system, "y", x=2.0))
    assert value(system, "y", x=-2.0) == -2.0


def test_parameters_that_end_loops_stay_free() -> None:
    function = """
function halve
  input Real x; output Real y;
algorithm
  y := x;
  while y > 1 loop y := y/2; end while;
end halve;
"""
    system = load(calling(function, "x*halve(p)", "parameter Real p = 12;"), "P.M")
    assert value(system, "y", x=2.0) == pytest.approx(1.5)
    assert not system.by_name["p"].evaluated


def test_endless_recursion_is_refused() -> None:
    function = """
function f
  input Real x; output Real y;
algorithm
  y := if x > 0 then f(x - 1) else 0;
end f;
"""
    with pytest.raises((UnsupportedError, SourceError), match="nested more than"):
        load(calling(function, "f(x)"), "P.M")


STATE = """
record S Real p; Real T; end S;
function f
  input Real p; input Real T; output S s;
algorithm
  if T > 300 then
    s := S(p = p, T = T);
  else
    {other}
  end if;
end f;
model B
  S s;
  Real x(start = 0, fixed = true);
equation
  s = f(1, 299.5 + time);
  der(x) = s.T;
end B;
"""


@pytest.mark.parametrize("other", ["s.T := 2*T;", "s.T := 2*T; s.p := p;", "s := S(p, 2*T);"])
def test_branches_may_assign_different_fields_of_a_record(other: str) -> None:
    # der(x) = 2(299.5 + t) before t = 0.5 and 299.5 + t after it
    model = es.load_model(STATE.format(other=other), "B")
    x = model.simulate(np.array([0.0, 1.0]), outputs=["x"]).value("x")[-1]
    assert x == pytest.approx(2 * (299.5 * 0.5 + 0.125) + 299.5 * 0.5 + 0.375, rel=1e-6)


def test_a_fault_of_the_front_end_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("p")

    monkeypatch.setattr("estimica.source.front_end.flattened", broken)
    with pytest.raises(SourceError, match=r"S034: class 'M' could not be .*KeyError: 'p'"):
        load_flat("model M Real y = time; end M;", cache=False)


def test_a_function_without_an_algorithm_says_what_to_redeclare() -> None:
    open_function = "replaceable partial function f input Real u; output Real v; end f;"
    with pytest.raises(SourceError, match=r"redeclare the function of the model .*Pump\("):
        load_flat(calling(open_function, "f(x)"), "P.M")
    partial = calling(open_function, "f(x)").replace("package P", "partial package P", 1)
    with pytest.raises(SourceError, match=r"redeclare the package, as in"):
        load_flat(partial, "P.M")
