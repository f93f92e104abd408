"""One model for each construct of the language, against its analytic solution."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TIGHT = es.Options(rtol=1e-9, atol=1e-11)
TIMES = np.linspace(0, 2, 41)


def run(text: str, outputs: list[str], times=TIMES, class_=None, fix=None, **given):
    model = es.load_model(text, class_, fix=fix)
    trajectory = model.simulate(times, outputs=outputs, options=TIGHT, **given)
    return [trajectory.value(n) for n in outputs]


def close(got, wanted, tolerance=1e-7):
    np.testing.assert_allclose(
        got, np.broadcast_to(wanted, np.shape(got)), rtol=tolerance, atol=tolerance
    )


def test_plain_ode():
    (x,) = run("model M\n Real x(start=1, fixed=true);\nequation\n der(x) = -2*x;\nend M;", ["x"])
    close(x, np.exp(-2 * TIMES))


def test_modifier_on_load():
    text = """
package P
  model Part
    parameter Real k = 1; Real x(start=1, fixed=true);
  equation
    der(x) = -k*x;
  end Part;
  model M
    Part a(k=2), b;
  end M;
end P;
"""
    a, b = run(text, ["a.x", "b.x"], class_="P.M", fix={"b.k": 0.5})
    close(a, np.exp(-2 * TIMES))
    close(b, np.exp(-0.5 * TIMES))


def test_arrays_and_for_equations():
    text = """
model M
  parameter Integer n = 4;
  Real x[n](each start=1, each fixed=true);
  parameter Real k[n] = {0.5*i for i in 1:n};
  Real s;
equation
  for i in 1:n loop
    der(x[i]) = -k[i]*x[i];
  end for;
  s = sum(x);
end M;
"""
    x3, s = run(text, ["x[3]", "s"])
    close(x3, np.exp(-1.5 * TIMES))
    close(s, sum(np.exp(-0.5 * i * TIMES) for i in range(1, 5)))


def test_matrix_equation():
    text = """
model M
  parameter Real A[2,2] = [0, 1; -4, 0];
  Real x[2](start={1, 0}, each fixed=true);
equation
  der(x) = A*x;
end M;
"""
    (x1,) = run(text, ["x[1]"])
    close(x1, np.cos(2 * TIMES))


def test_nested_for_equations():
    text = """
model M
  Real m[2,3];
equation
  for i in 1:2 loop
    for j in 1:3 loop
      m[i,j] = 10*i + j + time;
    end for;
  end for;
end M;
"""
    (m23,) = run(text, ["m[2,3]"])
    close(m23, 23 + TIMES)


def test_records():
    text = """
model M
  record Oscillator
    Real pos; Real vel;
  end Oscillator;
  record Data
    parameter Real w = 3; parameter Real c[2] = {1, 2};
  end Data;
  parameter Data d(w=2);
  Oscillator o(pos(start=1, fixed=true), vel(start=0, fixed=true));
equation
  der(o.pos) = o.vel;
  der(o.vel) = -d.w^2*o.pos*d.c[1];
end M;
"""
    (pos,) = run(text, ["o.pos"])
    close(pos, np.cos(2 * TIMES))


def test_enumerations():
    text = """
model M
  type Mode = enumeration(slow, fast);
  parameter Mode mode = Mode.fast;
  Real x(start=1, fixed=true);
equation
  der(x) = if mode == Mode.fast then -3*x else -x;
end M;
"""
    (x,) = run(text, ["x"])
    close(x, np.exp(-3 * TIMES))


def test_function_with_loop():
    text = """
package P
  function poly
    input Real x; input Real c[:]; output Real y;
  algorithm
    y := 0;
    for i in size(c, 1):-1:1 loop
      y := y*x + c[i];
    end for;
  end poly;
  model M
    parameter Real c[3] = {1, 2, 3}; Real y;
  equation
    y = poly(time, c);
  end M;
end P;
"""
    (y,) = run(text, ["y"], class_="P.M")
    close(y, 1 + 2 * TIMES + 3 * TIMES**2)


def test_function_with_branches_and_defaults():
    text = """
package P
  function sat
    input Real x; input Real lo = -1; input Real hi = 1; output Real y;
  algorithm
    if x < lo then
      y := lo;
    elseif x > hi then
      y := hi;
    else
      y := x;
    end if;
  end sat;
  model M
    Real y;
  equation
    y = sat(3*time - 2, hi=2);
  end M;
end P;
"""
    (y,) = run(text, ["y"], class_="P.M")
    close(y, np.clip(3 * TIMES - 2, -1, 2))


def test_function_with_two_outputs():
    text = """
package P
  function both
    input Real x; output Real s; output Real c;
  algorithm
    s := sin(x); c := cos(x);
  end both;
  model M
    Real s, c;
  equation
    (s, c) = both(2*time);
  end M;
end P;
"""
    s, c = run(text, ["s", "c"], class_="P.M")
    close(s, np.sin(2 * TIMES))
    close(c, np.cos(2 * TIMES))


def test_if_equation_on_a_parameter():
    text = """
model M
  parameter Boolean on = true; parameter Real k = 2; Real y;
equation
  if on then
    y = k*time;
  else
    y = -k*time;
  end if;
end M;
"""
    (y,) = run(text, ["y"])
    close(y, 2 * TIMES)
    (y,) = run(text, ["y"], fix={"on": False})
    close(y, -2 * TIMES)


def test_if_equation_on_a_state():
    text = """
model M
  Real x(start=0, fixed=true); Real r;
equation
  if x < 0.5 then
    r = 1;
  elseif x < 1 then
    r = 0.5;
  else
    r = 0.25;
  end if;
  der(x) = r;
end M;
"""
    (x,) = run(text, ["x"])
    close(
        x,
        np.where(
            TIMES < 0.5,
            TIMES,
            np.where(TIMES < 1.5, 0.5 + 0.5 * (TIMES - 0.5), 1 + 0.25 * (TIMES - 1.5)),
        ),
    )


def test_no_event():
    text = (
        "model M\n Real y;\nequation\n y = noEvent(if time > 1 then sqrt(time - 1) else 0);\nend M;"
    )
    (y,) = run(text, ["y"])
    close(y, np.sqrt(np.maximum(TIMES - 1, 0)))


def test_smooth():
    text = "model M\n Real x(start=-1, fixed=true); Real y;\nequation\n der(x) = 1;\n y = smooth(1, if x > 0 then x^2 else 0);\nend M;"
    (y,) = run(text, ["y"])
    close(y, np.maximum(TIMES - 1, 0) ** 2)


def test_when_and_elsewhen():
    text = """
model M
  discrete Real a(start=0, fixed=true);
  discrete Integer n(start=0, fixed=true);
equation
  when time >= 0.5 then
    a = 3*time; n = 1;
  elsewhen time >= 1 then
    a = 10; n = pre(n) + 5;
  end when;
end M;
"""
    a, n = run(text, ["a", "n"])
    close(a, np.where(TIMES < 0.5, 0, np.where(TIMES < 1, 1.5, 10)))
    close(n, np.where(TIMES < 0.5, 0, np.where(TIMES < 1, 1, 6)))


def test_reinit():
    text = """
model M
  Real x(start=0, fixed=true);
equation
  der(x) = 1;
  when x >= 0.8 then
    reinit(x, pre(x) - 0.8);
  end when;
end M;
"""
    (x,) = run(text, ["x"], times=np.array([0.0, 0.5, 0.79, 0.81, 1.59, 1.61, 2.0]))
    close(x, np.array([0.0, 0.5, 0.79, 0.01, 0.79, 0.01, 0.4]))


def test_edge_and_change():
    text = """
model M
  Boolean b; Integer k; discrete Integer edges(start=0, fixed=true); discrete Integer changes(start=0, fixed=true);
equation
  b = sin(6*time) > 0;
  k = if time > 0.7 then 2 else 1;
  when edge(b) then
    edges = pre(edges) + 1;
  end when;
  when change(k) then
    changes = pre(changes) + 1;
  end when;
end M;
"""
    edges, changes = run(text, ["edges", "changes"], times=np.array([0.01, 0.6, 0.8, 1.1, 2.0]))
    # b falls at pi/6 = 0.52, rises at pi/3 = 1.05, falls, rises at 2.09
    assert list(np.diff(edges)) == [0, 0, 1, 0]
    close(changes, np.array([0, 0, 1, 1, 1]))


def test_sample_and_pre():
    text = """
model M
  parameter Real T = 0.5;
  discrete Real s(start=0, fixed=true); discrete Integer n(start=0, fixed=true);
equation
  when sample(0.25, T) then
    s = time; n = pre(n) + 1;
  end when;
end M;
"""
    s, n = run(text, ["s", "n"])
    k = np.floor((TIMES - 0.25 + 1e-9) / 0.5)
    close(s, np.where(k >= 0, 0.25 + 0.5 * k, 0))
    close(n, np.maximum(k + 1, 0))


def test_initial_condition_of_when():
    text = """
model M
  discrete Integer n(start=7, fixed=true); discrete Real a(start=0);
equation
  when initial() then
    n = 1;
  end when;
  when {initial(), time > 1} then
    a = 2 + time;
  end when;
end M;
"""
    n, a = run(text, ["n", "a"], times=np.array([0.0, 0.5, 1.5]))
    close(n, 1)
    close(a, np.array([2.0, 2.0, 3.0]))


def test_terminal_fires_at_the_end_of_the_run():
    text = """
model M
  discrete Integer n(start=0, fixed=true); Real x(start=0, fixed=true);
equation
  der(x) = 1;
  when terminal() then
    n = 5;
  end when;
end M;
"""
    n, x = run(text, ["n", "x"], times=np.array([0.0, 1.0, 1.5]))
    close(n, np.array([0.0, 0.0, 5.0]))
    close(x, np.array([0.0, 1.0, 1.5]))


def test_delay():
    # x' = -x(t-1/2), x = 1 before 0: polynomials by the method of steps
    text = "model M\n parameter Real T = 0.5; Real x(start=1, fixed=true); Real y;\nequation\n y = delay(x, T);\n der(x) = -y;\nend M;"
    (x,) = run(text, ["x"], times=np.linspace(0, 1.5, 31))
    t = np.linspace(0, 1.5, 31)
    first = 1 - t
    second = 0.5 - ((t - 0.5) - 0.5 * (t - 0.5) ** 2)
    s = t - 1
    third = 0.125 - (0.5 * s - 0.5 * s**2 + s**3 / 6)
    close(x, np.where(t <= 0.5, first, np.where(t <= 1, second, third)), 1e-6)


def test_homotopy():
    text = "model M\n parameter Real u = 10; Real x(start=1);\nequation\n homotopy(actual=x^3 + x, simplified=2*x) = u;\nend M;"
    (x,) = run(text, ["x"])
    close(x, 2.0)


def test_assert_that_fails_is_an_error():
    text = 'model M\n Real x(start=0, fixed=true);\nequation\n der(x) = 1;\n assert(x < 1, "x is too large");\nend M;'
    with pytest.raises(es.SimulationError, match="x is too large"):
        run(text, ["x"])


def test_assert_that_holds_does_nothing():
    text = 'model M\n Real x(start=0, fixed=true);\nequation\n der(x) = 1;\n assert(x < 10, "x is too large");\nend M;'
    (x,) = run(text, ["x"])
    close(x, TIMES)


def test_boolean_and_integer_variables():
    text = """
model M
  input Boolean on; input Integer mode;
  Boolean b; Integer k; Real x(start=0, fixed=true); Integer q;
equation
  b = on and not (x > 1);
  k = if b then mode else 0;
  q = integer(4*time) + div(k, 2) + mod(k, 2);
  der(x) = if b then 2 else 0;
end M;
"""
    x, k, q = run(
        text, ["x", "k", "q"], inputs={"on": 1, "mode": 3}, times=np.array([0.1, 0.3, 0.6, 1.3])
    )
    close(x, np.array([0.0, 0.4, 1.0, 1.0]))
    close(k, np.array([3, 3, 0, 0]))
    close(q, np.array([0 + 2, 1 + 2, 2 + 0, 5 + 0]))


def test_initial_equations():
    text = """
model M
  parameter Real a = 2; parameter Real b(fixed=false, start=1); Real x; Real y(start=3);
initial equation
  der(x) = 0;
  b + y = 10;
equation
  der(x) = -a*x + 4;
  der(y) = -y + b;
end M;
"""
    x, y, b = run(text, ["x", "y", "b"])
    close(x, 2.0)
    close(b, 7.0)
    close(y, 7 + (3 - 7) * np.exp(-TIMES))


def test_initial_algorithm():
    text = """
model M
  Real x;
initial algorithm
  x := 3;
equation
  der(x) = -x;
end M;
"""
    (x,) = run(text, ["x"])
    close(x, 3 * np.exp(-TIMES))


def test_algorithm_section():
    text = """
model M
  Real x(start=1, fixed=true); Real a, b;
equation
  der(x) = -b;
algorithm
  a := 2*x;
  a := a + 1;
  if a > 0 then
    b := a - 1;
  else
    b := 0;
  end if;
end M;
"""
    (x,) = run(text, ["x"])
    close(x, np.exp(-2 * TIMES))


def test_parameter_expressions_and_dependent_parameters():
    text = """
model M
  parameter Real a = 2; parameter Real b = 3*a; final parameter Real c = b + 1;
  Real x(start=c, fixed=true);
protected
  parameter Real k = a/10;
equation
  der(x) = -k*x;
end M;
"""
    model = es.load_model(text)
    x = model.simulate(TIMES, outputs=["x"], parameters={"a": 5}, options=TIGHT).value("x")
    close(x, 16 * np.exp(-0.5 * TIMES))
    table = model.parameters
    assert table.loc["c", "why_not"] == "it is declared final and follows 'b'"
    assert table.loc["a", "tunable"]
    s = model.sensitivities(TIMES, wrt=["a"], outputs=["x"], options=TIGHT)
    close(s.derivative("x", "a"), (3 - 7 * 0.1 * TIMES) * np.exp(-0.2 * TIMES), 1e-6)


def test_attributes_reach_the_tables():
    text = """
model M
  parameter Real R(unit="Ohm", min=0, max=100, nominal=10) = 5 "resistance";
  input Real u(start=2, unit="V") "voltage";
  output Real i(unit="A") "current";
equation
  u = R*i;
end M;
"""
    model = es.load_model(text)
    row = model.parameters.loc["R"]
    assert (row["value"], row["unit"], row["description"]) == (5, "Ohm", "resistance")
    assert (row["min"], row["max"], row["nominal"]) == (0, 100, 10)
    assert model.inputs.loc["u", "value"] == 2
    assert list(model.outputs.index) == ["i"]
    close(model.simulate([0, 1]).value("i"), 0.4)


def test_state_select():
    text = """
model M
  Real x(start=1, fixed=true); Real y(stateSelect=StateSelect.always);
equation
  y = 2*x;
  der(x) = -x;
end M;
"""
    model = es.load_model(text)
    assert list(model.states.index) == ["y"]
    close(model.simulate(TIMES, outputs=["x"], options=TIGHT).value("x"), np.exp(-TIMES))


def test_components_connectors_and_inheritance():
    text = """
package P
  connector Pin
    Real v; flow Real i;
  end Pin;
  partial model TwoPin
    Pin p, n; Real v, i;
  equation
    v = p.v - n.v; 0 = p.i + n.i; i = p.i;
  end TwoPin;
  model R extends TwoPin; parameter Real R = 2; equation v = R*i; end R;
  model C extends TwoPin(v(start=0, fixed=true)); parameter Real C = 0.5; equation C*der(v) = i; end C;
  model V extends TwoPin; parameter Real V = 3; equation v = V; end V;
  model G Pin p; equation p.v = 0; end G;
  model M
    replaceable R r constrainedby TwoPin; C c; V s; G g;
  equation
    connect(s.p, r.p); connect(r.n, c.p); connect(c.n, s.n); connect(s.n, g.p);
  end M;
end P;
"""
    v, i, gi = run(text, ["c.v", "r.n.i", "g.p.i"], class_="P.M")
    close(v, 3 * (1 - np.exp(-TIMES)))
    close(i, -1.5 * np.exp(-TIMES))
    close(gi, 0.0)


def test_inner_outer():
    text = """
package P
  model World
    parameter Real g = 4;
  end World;
  model Part
    outer World world; Real v(start=0, fixed=true);
  equation
    der(v) = world.g;
  end Part;
  model M
    inner World world(g=3); Part part;
  end M;
end P;
"""
    (v,) = run(text, ["part.v"], class_="P.M")
    close(v, 3 * TIMES)


def test_conditional_component():
    text = """
package P
  model Leak
    parameter Boolean use = true; Real y; Real z if use;
  equation
    y = 2*time;
  end Leak;
  model M
    Leak a(use=false);
  end M;
end P;
"""
    (y,) = run(text, ["a.y"], class_="P.M")
    close(y, 2 * TIMES)


def test_sign_abs_min_max():
    text = """
model M
  Real x(start=-1, fixed=true); Real s, a, lo, hi;
equation
  der(x) = 1;
  s = sign(x); a = abs(x); lo = min(x, 0.5); hi = max({x, -0.5, 0});
end M;
"""
    s, a, lo, hi = run(text, ["s", "a", "lo", "hi"], times=np.array([0.0, 0.4, 1.3, 1.9]))
    x = np.array([-1, -0.6, 0.3, 0.9])
    close(s, np.sign(x))
    close(a, np.abs(x))
    close(lo, np.minimum(x, 0.5))
    close(hi, np.maximum(x, 0))


def test_floor_mod_rem_generate_events():
    text = """
model M
  Real x(start=0, fixed=true); Real y(start=0, fixed=true); Real m; Real f;
equation
  der(x) = 3;
  m = mod(x, 2); f = floor(x);
  der(y) = m;
end M;
"""
    y, f = run(text, ["y", "f"])
    x = 3 * TIMES
    whole = np.floor(x / 2)
    close(y, (whole * 2 + (x - 2 * whole) ** 2 / 2) / 3)
    away = np.abs(x - np.round(x)) > 1e-6
    close(f[away], np.floor(x[away]))


def test_string_parameter_is_kept():
    text = 'model M\n parameter String s = "abc"; Real y;\nequation\n y = time;\nend M;'
    model = es.load_model(text)
    assert model.parameters.loc["s", "value"] == "abc"


def test_builtin_functions():
    text = """
model M
  Real x, y;
equation
  x = 0.5 + time;
  y = atan2(x, 1) + exp(-x)*log(1 + x^2) + tanh(x) + sinh(x)*cosh(x) + asin(x/10) + acos(x/10) + atan(x) + log10(2 + x) + sqrt(x) + sin(x)*cos(x)/tan(x + 0.1);
end M;
"""
    (y,) = run(text, ["y"])
    x = 0.5 + TIMES
    close(
        y,
        np.arctan2(x, 1)
        + np.exp(-x) * np.log(1 + x**2)
        + np.tanh(x)
        + np.sinh(x) * np.cosh(x)
        + np.arcsin(x / 10)
        + np.arccos(x / 10)
        + np.arctan(x)
        + np.log10(2 + x)
        + np.sqrt(x)
        + np.sin(x) * np.cos(x) / np.tan(x + 0.1),
    )


def test_final_fields_of_a_record_follow_the_fields_beside_them():
    text = """
model M
  record Law
    parameter Real a = 2;
    final parameter Real b = 3*a;
  end Law;
  model Part
    parameter Law law;
    Real x(start=1, fixed=true);
  equation
    der(x) = -law.b*x;
  end Part;
  parameter Law data(a=0.5);
  Part part(law=data);
  Part bound(final law=data);
end M;
"""
    model = es.load_model(text)
    why_not = model.parameters["why_not"]
    assert why_not["part.law.b"] == "it is declared final and follows 'part.law.a'"
    assert why_not["bound.law.b"] == "it is declared final and follows 'data.a'"
    for tuner, output in (("part.law.a", "part.x"), ("data.a", "part.x"), ("data.a", "bound.x")):
        s = model.sensitivities(TIMES, wrt=[tuner], outputs=[output], options=TIGHT)
        close(s.derivative(output, tuner), -3 * TIMES * np.exp(-1.5 * TIMES))
    with pytest.raises(es.ModelError, match=r"follows 'data\.a'; use 'data\.a' instead"):
        model.sensitivities(TIMES, wrt=["bound.law.a"], outputs=["bound.x"])


def test_a_parameter_that_initial_equations_give_cannot_be_tuned():
    text = """
model M
  parameter Real k(fixed=false);
  parameter Real p = 2;
  Real x(start=1, fixed=true);
initial equation
  k^2 = p;
equation
  der(x) = -k*x;
end M;
"""
    model = es.load_model(text)
    assert (
        model.parameters.loc["k", "why_not"] == "initial equations give its value (fixed = false)"
    )
