"""Functions of the language that stay functions: what is recorded means what the text says."""

from __future__ import annotations

import math

import pytest

from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.evaluate import evaluate
from estimica.flat.function import FlatFunction, functions_in
from estimica.flat.system import FlatSystem, expressions_of
from estimica.source.load import load_flat


def load(functions: str, call: str, more: str = "") -> FlatSystem:
    text = f"package P\n{functions}\nmodel M\n  input Real x;\n  {more}\n  Real y = {call};\nend M;"
    return load_flat(text + "\nend P;", "P.M", cache=False)


def y_of(system: FlatSystem) -> ex.Expression:
    return next(e.rhs for e in system.equations if e.lhs is ex.name("y"))


def value(system: FlatSystem, **names: float) -> float:
    return evaluate(y_of(system), names)


def kept(system: FlatSystem) -> dict[str, FlatFunction]:
    return {f.name.rsplit(".", 1)[-1]: f for f in functions_in(*expressions_of(system))}


CUBE_ROOT = """
function cubeRoot
  input Real a;
  output Real r;
  output Integer rounds;
algorithm
  r := 1; rounds := 0;
  while abs(r^3 - a) > 1e-13*abs(a) loop
    r := r - (r^3 - a)/(3*r^2);
    rounds := rounds + 1;
    if rounds > 200 then
      assert(false, "no root");
      break;
    end if;
  end while;
end cubeRoot;
"""


def test_an_iteration_with_two_results() -> None:
    system = load(CUBE_ROOT, "cubeRoot(x)")
    assert list(kept(system)) == ["cubeRoot"]
    assert value(system, x=5.0) == pytest.approx(5 ** (1 / 3), rel=1e-12)
    slope = partial(y_of(system), ex.name("x"))
    assert evaluate(slope, {"x": 5.0}) == pytest.approx(5 ** (-2 / 3) / 3, rel=1e-10)
    assert kept(system)["cubeRoot"].whole == (1,)


def test_an_assertion_in_a_loop_makes_the_call_fail() -> None:
    system = load(CUBE_ROOT, "cubeRoot(x)")
    assert math.isnan(value(system, x=0.0))  # it creeps towards the root for ever
    assert not system.assertions


def test_a_search_that_returns_early() -> None:
    """x exp(x) = a by bisection: no formula leads from a to the result, and yet it has a slope."""
    functions = """
function omega
  input Real a; output Real w;
protected
  Real low = 0; Real high = 5;
algorithm
  for k in 1:100 loop
    w := (low + high)/2;
    if abs(w*exp(w) - a) < 1e-14 then
      return;
    end if;
    if w*exp(w) > a then high := w; else low := w; end if;
  end for;
end omega;
"""
    system = load(functions, "omega(x)")
    w = value(system, x=2.0)
    assert w * math.exp(w) == pytest.approx(2.0, rel=1e-13)
    slope = evaluate(partial(y_of(system), ex.name("x")), {"x": 2.0})
    assert slope == pytest.approx(1 / ((1 + w) * math.exp(w)), rel=1e-7)


def _search(ends: str, more: int) -> str:
    others = "".join(f" input Real x{k};" for k in range(more))
    return f"""
function omega
  input Real a;{others} output Real w;
protected
  Real low; Real high;
algorithm
  {ends}
  while high - low > 1e-14 loop
    w := (low + high)/2;
    if w*exp(w) > a then high := w; else low := w; end if;
  end while;
end omega;
"""


@pytest.mark.parametrize("ends", ["low := 0; high := 5;", "low := 0; high := 1 + a;"])
@pytest.mark.parametrize("more", [0, 15])
def test_slopes_of_searches(ends: str, more: int) -> None:
    """w exp(w) = a, whatever the ends of the bisection depend on, and however many inputs it has.

    With many, derivatives are taken in one direction at a time.
    """
    others = "".join(f", x*{k}" for k in range(more))
    system = load(_search(ends, more), f"omega(x{others})")
    w = value(system, x=2.0)
    slope = evaluate(partial(y_of(system), ex.name("x")), {"x": 2.0})
    assert slope == pytest.approx(1 / ((1 + w) * math.exp(w)), rel=1e-7)


def test_slopes_of_loops_that_only_count_are_exact() -> None:
    """An angle taken back to one turn: no search, though it decides how often the loop goes."""
    functions = """
function wrapped
  input Real a; output Real w;
algorithm
  w := a;
  while w > 1 loop w := w - 1; end while;
end wrapped;
"""
    system = load(functions, "wrapped(x)")
    assert evaluate(partial(y_of(system), ex.name("x")), {"x": 3.0 + 1e-7}) == 1.0


def test_records_arrays_and_ways_that_meet() -> None:
    functions = """
record Pair Real a; Real b[2]; end Pair;
function work
  input Pair p; input Integer n; output Pair q;
protected
  Integer k = 0; Real big;
algorithm
  q := p;
  while k < n and q.a < 100 loop
    k := k + 1;
    if q.a > 10 then
      big := q.a;
      q.b[1] := q.b[1] + big;
    else
      q.b[2] := q.b[2] + 1;
    end if;
    q.a := 2*q.a;
  end while;
end work;
function use
  input Real x; input Integer n; output Real y;
protected
  Pair r;
algorithm
  r := work(Pair(x, {x, 0}), n);
  y := r.a + 1000*r.b[1] + 1e6*r.b[2];
end use;
"""
    more = "Integer n = integer(x);"
    system = load(functions, "use(x, n)", more)
    assert "work" in kept(system)
    assert value(system, x=3.0, n=3.0) == 24 + 1000 * (3 + 12) + 1e6 * 2
    assert value(system, x=3.0, n=0.0) == 3 + 1000 * 3
    assert value(system, x=3.0, n=99.0) == 192 + 1000 * (3 + 12 + 24 + 48 + 96) + 1e6 * 2


def test_a_range_that_the_run_knows() -> None:
    functions = """
function factorials
  input Integer n; input Real q; output Real s;
protected
  Real t = 1; Real a[3] = {q, 2*q, 3*q};
algorithm
  s := 0;
  while s < 0 loop s := 1; end while;
  for k in 1:n loop
    t := t*k;
    s := s + t + a[min(k, 3)];
    if k == 5 then break; end if;
  end for;
end factorials;
"""
    system = load(functions, "factorials(n, x)", "Integer n = integer(x);")
    assert value(system, x=0.5, n=4.0) == 1 + 2 + 6 + 24 + 0.5 * (1 + 2 + 3 + 3)
    assert value(system, x=0.0, n=9.0) == 1 + 2 + 6 + 24 + 120
    assert value(system, x=0.5, n=0.0) == 0.0


DERIVATIVE = """
function f
  input Real x; input Real k; output Real y;
algorithm
  y := k*x;
  while y > 1e6 loop y := y - 1; end while;
annotation(derivative({options}) = f_der);
end f;
function f_der
  input Real x; input Real k; input Real dx; {more} output Real dy;
algorithm
  dy := {change};
end f_der;
"""


def derivative_of(options: str, more: str, change: str, k: str) -> tuple[float, float]:
    functions = DERIVATIVE.format(options=options, more=more, change=change)
    system = load(functions, f"f(x, {k})", "parameter Real p = 3;")
    slopes = [partial(y_of(system), ex.name(n)) for n in ("x", "p")]
    first, second = (evaluate(e, {"x": 2.0, "p": 3.0}) for e in slopes)
    return first, second


def test_the_derivative_of_the_annotation_is_used() -> None:
    """It is wrong on purpose: 7 in place of k."""
    full = derivative_of("order = 1", "input Real dk;", "7*dx + 11*dk", "p")
    assert full == (7.0, 11.0)
    assert derivative_of("noDerivative = k", "", "7*dx", "p") == (7.0, 0.0)
    assert derivative_of("zeroDerivative = k", "", "7*dx", "3") == (7.0, 0.0)


def test_a_derivative_that_leaves_a_parameter_out_is_not_used() -> None:
    """With p tuned, k does change."""
    assert derivative_of("zeroDerivative = k", "", "7*dx", "p") == (3.0, 2.0)


def test_a_long_function_is_kept_a_short_one_is_written_out() -> None:
    terms = " + ".join(f"{k}*x^{k}*sin({k}*x)" for k in range(1, 260))
    functions = f"""
function long input Real x; output Real y; algorithm y := {terms}; end long;
function short input Real x; output Real y; algorithm y := x^2; end short;
"""
    system = load(functions, "long(x) + short(x)")
    assert list(kept(system)) == ["long"]
    exact = 0.01 + sum(k * 0.1**k * math.sin(k * 0.1) for k in range(1, 260))
    assert value(system, x=0.1) == pytest.approx(exact, rel=1e-13)


def test_loops_over_known_ranges_are_written_out() -> None:
    functions = """
function sums
  input Real x; output Real y;
protected
  Integer k = 0;
algorithm
  y := 0;
  while k < 3 loop y := y + x; k := k + 1; end while;
end sums;
"""
    system = load(functions, "sums(x)")
    assert not kept(system)
    assert value(system, x=2.0) == 6.0


def test_whole_numbers_of_functions_are_computed_between_events() -> None:
    more = "Integer n; Real r;"
    text = f"""package P {CUBE_ROOT}
model M {more} Real x(start = 1, fixed = true); equation der(x) = 1;
(r, n) = cubeRoot(x); end M; end P;"""
    from estimica.simulate.modelica.model import ModelicaModel

    run = ModelicaModel(load_flat(text, "P.M", cache=False)).simulate(
        [0.0, 7.0, 26.0], outputs=["r", "n"]
    )
    assert run.values[:, 0] == pytest.approx([1.0, 2.0, 3.0], rel=1e-6)
    assert run.values[0, 1] == 0.0
    assert (run.values[1:, 1] > 2).all()
