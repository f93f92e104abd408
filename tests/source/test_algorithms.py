"""Algorithm sections become equations and when-clauses."""

from __future__ import annotations

import pytest
from tests.source.flat_checks import determined, load, solved_for, unknowns, value, value_at

from estimica.flat.expression import is_const


def test_statements_in_sequence() -> None:
    system = load("""
model M
  input Real u; Real x(start=0, fixed=true); Real a; Real b;
algorithm
  a := u;
  for i in 1:3 loop a := a + i*x; end for;
  if a > 1 then b := a; else b := -a; end if;
equation
  der(x) = -x + b;
end M;
""")
    assert value(system, "a", u=1.0, x=2.0) == 13.0
    assert value(system, "b", u=1.0, x=2.0) == 13.0
    assert value(system, "b", u=0.5, x=0.0) == -0.5
    assert unknowns(system) == determined(system) == 3


def test_array_elements_and_several_outputs() -> None:
    system = load("""
model M
  function two input Real x; output Real s; output Real p; algorithm s := x + 1; p := 2*x; end two;
  Real x(start=1); Real v[3]; Real s; Real p;
algorithm
  for i in 1:3 loop v[i] := x^i; end for;
  v[2] := v[2] + v[1];
  (s, p) := two(v[2]);
equation
  der(x) = -s - p;
end M;
""")
    assert value(system, "v[2]", x=3.0) == 12.0
    assert value(system, "s", x=3.0) == 13.0
    assert value(system, "p", x=3.0) == 24.0


def test_while_loop() -> None:
    system = load("""
model M
  Real x(start=1); Real y; Integer k;
algorithm
  y := 0; k := 0;
  while k < 3 loop y := y + x; k := k + 1; end while;
equation
  der(x) = -y;
end M;
""")
    assert value(system, "y", x=2.0) == 6.0
    assert is_const(solved_for(system, "k"), 3.0)


def test_algorithms_of_components_and_their_arrays() -> None:
    system = load("""
model M
  model Gain
    input Real u; output Real y; parameter Real k = 2;
  algorithm
    y := k*u; y := y + 1;
  end Gain;
  Real x(start=1); Gain g(u=x); Gain h[2](k={3, 4});
equation
  der(x) = -g.y;
  h[1].u = x; h[2].u = 2*x;
end M;
""")
    assert value_at(system, "g.y", {"g.u": 5.0}) == 11.0
    assert value_at(system, "h[2].y", {"h[2].u": 5.0}) == 21.0
    origin = next(
        e.origin for e in system.equations if e.lhs.op == "name" and e.lhs.target == "g.y"
    )
    assert (origin.kind, origin.component, origin.line) == ("algorithm", "g", 6)


def test_initial_algorithm() -> None:
    system = load("""
model M
  Real x; Real z; parameter Real p = 2;
initial algorithm
  x := p;
  for i in 1:2 loop x := x + 1; end for;
  if p > 1 then z := x; else z := 0; end if;
equation
  der(x) = -x; der(z) = 0;
end M;
""")
    assert value(system, "x", initial=True) == 4.0
    assert value(system, "z", initial=True) == 4.0
    assert len(system.initial_equations) == 2


def test_when_statements() -> None:
    system = load("""
model M
  Real x(start=1); discrete Real y; Real v(start=0);
algorithm
  when x < 0.5 then
    y := x; y := 2*y;
  elsewhen sample(0, 1) then
    y := pre(y) + 1;
  end when;
  when x < 0.1 then reinit(v, 3); end when;
equation
  der(x) = -1; der(v) = 1;
end M;
""")
    first, second = system.whens
    assert [b.conditions[0].op for b in first.branches] == ["lt", "sample"]
    assert first.branches[0].actions[0].value.op == "mul"
    assert second.branches[0].actions[0].reinit
    assert unknowns(system) == determined(system) == 3


def test_a_variable_set_by_two_when_statements_takes_the_later_one() -> None:
    system = load("""
model M
  Real x(start=1); Integer n(start=0, fixed=true);
algorithm
  when x < 0.5 then n := 1; end when;
  when x < 0.2 then n := n + 2; end when;
equation
  der(x) = -1;
end M;
""")
    flags = [v.name for v in system.variables if v.name.startswith("$condition")]
    now = dict.fromkeys(flags, 1.0)
    assert value_at(system, "n", now, previous={"n": 7.0, **dict.fromkeys(flags, 0.0)}) == 3.0
    assert value_at(system, "n", now, previous={"n": 7.0, flags[0]: 1.0, flags[1]: 0.0}) == 9.0
    assert value_at(system, "n", now, previous={"n": 7.0, **now}) == 7.0
    assert unknowns(system) == determined(system)


def test_names_from_outside_the_class() -> None:
    system = load(
        """
package P
  constant Real c = 3;
  type Mode = enumeration(off, on);
  package Q
    constant Real d = 5;
    function f input Real x; output Real y; algorithm y := x; y := c*y; end f;
  end Q;
  model M
    Real x(start=1); Real a; Real b; parameter Mode m = Mode.on;
  algorithm
    a := c + Q.d;
    b := Q.f(a) + (if m == Mode.on then 1 else 0);
  equation
    der(x) = -a - b;
  end M;
end P;
""",
        "P.M",
    )
    assert value(system, "a") == 8.0
    assert value(system, "b") == 25.0


@pytest.mark.parametrize("where", ["x", "r.a"])
def test_matrices_in_equations_of_loops_and_choices(where: str) -> None:
    system = load(
        f"""
package P
  record R Real a; end R;
  model M
    R r; Real x(start=1); Real w[2]; Real y;
  equation
    der(x) = -x; r.a = x;
    for i in 1:2 loop w[i] = i*scalar([{where}]); end for;
    if x > 2 then y = w[1]; else y = transpose([x, 2*x])[2, 1]; end if;
    when x < 0.5 then reinit(x, 1); end when;
    assert(x > -1, "low");
  end M;
end P;
""",
        "P.M",
    )
    assert value_at(system, "w[2]", {where: 3.0}) == 6.0
    assert value_at(system, "y", {"x": 1.0, "w[1]": 9.0}) == 2.0
    assert value_at(system, "y", {"x": 3.0, "w[1]": 9.0}) == 9.0
    assert len(system.whens) == 1
    assert len(system.assertions) == 1
    assert unknowns(system) == determined(system) == 5
