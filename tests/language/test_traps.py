"""Where front ends of Modelica go wrong: each trap against a solution by hand."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TIMES = np.linspace(0.0, 1.0, 11)
FINE = es.Options(rtol=1e-9, atol=1e-11)


def run(text: str, *outputs: str, class_name: str | None = None, **options) -> es.Trajectory:
    model = es.load_model(text, class_name)
    return model.simulate(TIMES, outputs=list(outputs), options=FINE, **options)


def last(text: str, *outputs: str) -> list[float]:
    found = run(text, *outputs)
    return [float(found.value(name)[-1]) for name in outputs]


# --- modifiers ---


def test_a_record_as_a_whole_and_fields_of_it_at_once():
    text = """
model M
  record R parameter Real a = 1; parameter Real b = 2; end R;
  model Part parameter R r(a = 10, b = 20); Real y = r.a + 100*r.b; end Part;
  parameter R given(a = 3);
  Part fields(r(a = 5)); Part whole(r = given); Part both(r = R(a = 7, b = given.b));
end M;
"""
    assert last(text, "fields.y", "whole.y", "both.y") == [2005, 203, 207]


def test_what_does_not_exist_takes_a_connection_with_it_whose_other_end_makes_no_sense():
    text = """
model M
  connector In = input Real; connector Out = output Real;
  model Sum parameter Integer n = 1; In u[n]; Out y = sum(u); end Sum;
  model Source parameter Real k = 1; Out y = k; end Source;
  model Both
    parameter Boolean second = false;
    Sum total(n = if second then 2 else 1);
    Source one; Source two(k = 5) if second;
  equation
    connect(one.y, total.u[1]);
    connect(total.u[2], two.y);
  end Both;
  Both few; Both many(second = true);
end M;
"""
    assert last(text, "few.total.y", "many.total.y") == [1, 6]


def test_a_start_value_from_far_outside():
    text = """
model M
  model A Real x(start = 1, fixed = true); equation der(x) = -x; end A;
  model B A a; end B;
  model C B b(a(x(start = 2))); end C;
  C c(b(a(x(start = 5))));
  C d;
end M;
"""
    found = run(text, "c.b.a.x", "d.b.a.x")
    np.testing.assert_allclose(found.value("c.b.a.x"), 5 * np.exp(-TIMES), rtol=1e-6)
    np.testing.assert_allclose(found.value("d.b.a.x"), 2 * np.exp(-TIMES), rtol=1e-6)


def test_protected_and_final_parameters_follow_what_they_are_computed_from():
    text = """
model M
  model Part
    parameter Real d = 2;
    final parameter Real area = d^2;
    Real x(start = 1, fixed = true);
  protected
    parameter Real rate = area/4;
  equation
    der(x) = -rate*x;
  end Part;
  Part p(d = 4);
end M;
"""
    model = es.load_model(text)
    for d in (4.0, 2.0):  # they are computed again, not kept from loading
        found = model.simulate(TIMES, parameters={"p.d": d}, outputs=["p.x"], options=FINE)
        np.testing.assert_allclose(found.value("p.x"), np.exp(-(d**2) / 4 * TIMES), rtol=1e-6)


def test_a_parameter_that_initialisation_finds():
    text = """
model M
  parameter Real k(fixed = false, start = 1);
  Real x(start = 4, fixed = true);
initial equation
  der(x) = -8;
equation
  der(x) = -k*x;
end M;
"""
    np.testing.assert_allclose(run(text, "x").value("x"), 4 * np.exp(-2 * TIMES), rtol=1e-6)


# --- packages ---

MEDIA = """
package P
  partial package Medium
    constant Integer n; constant Integer nX = n - 1; constant Real scale = 1;
    replaceable partial function law input Real u; output Real y; end law;
    function twice input Real u; output Real y; algorithm y := 2*law(u); end twice;
  end Medium;
  package One
    extends Medium(n = 1);
    redeclare function extends law algorithm y := u; end law;
  end One;
  package Three
    extends Medium(n = 3, scale = 10);
    redeclare function extends law algorithm y := scale*u; end law;
  end Three;
  model Volume
    replaceable package Medium = One constrainedby P.Medium;
    Real X[Medium.nX](each start = 1, each fixed = true);
    Real total = sum(X); Real y = Medium.twice(3) + 0*time;
  equation
    der(X) = -(1:Medium.nX).*X;
  end Volume;
  model M Volume one; Volume three(redeclare package Medium = Three); end M;
end P;
"""


def test_constants_of_a_redeclared_package_give_sizes_perhaps_zero():
    found = run(MEDIA, "one.total", "three.total", class_name="P.M")
    np.testing.assert_allclose(found.value("one.total"), 0.0)
    wanted = np.exp(-TIMES) + np.exp(-2 * TIMES)
    np.testing.assert_allclose(found.value("three.total"), wanted, rtol=1e-6)


def test_a_function_of_a_package_calls_those_of_the_redeclared_one():
    found = run(MEDIA, "one.y", "three.y", class_name="P.M")
    assert [found.value(n)[-1] for n in ("one.y", "three.y")] == pytest.approx([6.0, 60.0])


# --- arrays ---


def test_the_index_of_a_loop_across_arrays_of_components():
    text = """
model M
  model Cell parameter Real k = 1; Real x[2](each start = 1, each fixed = true); end Cell;
  Cell cells[3](k = {1, 2, 3});
equation
  for i in 1:3 loop
    for j in 1:2 loop der(cells[i].x[j]) = -cells[4 - i].k*j*cells[i].x[j]; end for;
  end for;
end M;
"""
    names = [f"cells[{i}].x[{j}]" for i in (1, 2, 3) for j in (1, 2)]
    found = run(text, *names)
    for i in (1, 2, 3):
        for j in (1, 2):
            wanted = np.exp(-(4 - i) * j * TIMES)
            np.testing.assert_allclose(found.value(f"cells[{i}].x[{j}]"), wanted, rtol=1e-6)


def test_empty_arrays_everywhere():
    text = """
model M
  model Cell Real x = 2*time; end Cell;
  parameter Integer n = 0;
  Cell cells[n]; Real u[n] = cells.x; Real m[n, 2] = zeros(n, 2); parameter Real p[:] = fill(1.0, 0);
  Real y = sum(u) + sum(cells[i].x for i in 1:n) + sum(m) + size(p, 1) + sum({k for k in 1:0});
  Real z = product(u);
equation
  for i in 1:n loop assert(u[i] > 1e9, "never"); end for;
end M;
"""
    assert last(text, "y", "z") == [0, 1]


def test_arrays_over_enumerations_and_truth_values():
    text = """
model M
  type E = enumeration(low, middle, high);
  parameter Real k[E] = {1, 2, 3}; parameter Real b[Boolean] = {10, 20};
  parameter E e = E.middle;
  Real y = k[e] + k[E.high] + b[time > 2] + b[true] + sum(k[i] for i in E);
  Integer n = Integer(e) + Integer(E.high);
end M;
"""
    assert last(text, "y", "n") == [2 + 3 + 10 + 20 + 6, 5]


def test_whole_numbers_divided_are_no_whole_number():
    text = "model M parameter Integer a = 7; parameter Integer b = 2; Real x = a/b; Integer d = div(a, b); Integer m = mod(-a, b); Integer r = rem(-a, b); end M;"
    assert last(text, "x", "d", "m", "r") == [3.5, 3, 1, -1]


# --- conditions ---


@pytest.mark.parametrize(("two", "wanted"), [("true", (1, 2)), ("false", (5, 0))])
def test_branches_of_a_parameter_may_have_different_numbers_of_equations(two, wanted):
    text = f"""
model M
  parameter Boolean two = {two};
  Real x; Real y if two;
equation
  if two then
    x = 1; y = 2;
  else
    x = 5;
  end if;
end M;
"""
    model = es.load_model(text)
    assert ("y" in model.flat.by_name) is (two == "true")
    outputs = ["x", "y"] if two == "true" else ["x"]
    found = model.simulate(TIMES, outputs=outputs)
    assert [found.value(n)[-1] for n in outputs] == list(wanted[: len(outputs)])


CHAIN = """
model M
  connector Pin Real v; flow Real i; end Pin;
  model Resistor Pin a; Pin b; parameter Real R = 1; equation a.i + b.i = 0; a.v - b.v = R*a.i; end Resistor;
  model Source Pin a; Pin b; equation a.i + b.i = 0; a.v - b.v = 12; end Source;
  model Ground Pin p; equation p.v = 0; end Ground;
  parameter Integer n = 3; parameter Boolean shunt = %s;
  Resistor r[n](R = {1, 2, 3}); Resistor s if shunt; Source e; Ground g;
equation
  connect(e.a, r[1].a);
  for k in 1:n - 1 loop connect(r[k].b, r[k + 1].a); end for;
  connect(r[n].b, e.b); connect(e.b, g.p);
  if shunt then
    connect(s.a, e.a); connect(s.b, e.b);
  end if;
end M;
"""


@pytest.mark.parametrize(("shunt", "current"), [("false", 2.0), ("true", 14.0)])
def test_connections_in_loops_and_conditions(shunt, current):
    (found,) = last(CHAIN % shunt, "e.b.i")
    assert found == pytest.approx(current)


def test_connectors_of_arrays_in_another_order():
    text = """
model M
  connector Pin Real v; flow Real i; end Pin;
  model Sources Pin p[3]; equation for k in 1:3 loop p[k].v = k; end for; end Sources;
  model Loads Pin p[3]; equation for k in 1:3 loop p[k].i = 10*p[k].v; end for; end Loads;
  Sources s; Loads l;
equation
  connect(s.p[3:-1:1], l.p);
end M;
"""
    assert last(text, "l.p[1].v", "l.p[3].i", "s.p[3].i") == [3, 10, -30]


def test_an_outer_component_that_gives_a_value():
    text = """
model M
  model Setter outer output Real level; parameter Real k = 3; equation level = k*time; end Setter;
  inner output Real level;
  Setter s;
end M;
"""
    assert last(text, "level") == [3]


def test_an_inner_component_that_nobody_declares_has_its_equations():
    """Only bindings of a part ask for it: its values, equations and connections count all the same."""
    text = """
model M
  connector Pin Real v; flow Real i; end Pin;
  model Surroundings
    input Real g = 2; Real h; Pin p; Pin q;
  equation
    h = 3*g + time; q.v = 5*g; connect(p, q);
  end Surroundings;
  model Scaled input Real factor; Real y = factor; end Scaled;
  model Part outer Surroundings around; extends Scaled(factor = around.h + around.p.v); end Part;
  Part part;
end M;
"""
    assert last(text, "part.y", "around.g", "around.q.i") == [3 * 2 + 1 + 10, 2, 0]


def test_a_relation_of_values_that_change_at_events():
    text = """
model M
  discrete Integer n(start = 0, fixed = true); Real x(start = 0, fixed = true); Boolean late = n >= 3;
equation
  when sample(0.15, 0.2) then n = pre(n) + 1; end when;
  der(x) = if late then 1 else 0;
end M;
"""
    assert last(text, "x")[0] == pytest.approx(1.0 - 0.55, rel=1e-6)


def test_when_statements_in_loops_of_an_algorithm():
    text = """
model M
  parameter Real at[3] = {0.2, 0.5, 0.9}; discrete Real y[3](each start = 0, each fixed = true);
algorithm
  for k in 1:3 loop
    when time > at[k] then y[k] := 10*k + pre(y[k]); end when;
  end for;
end M;
"""
    assert last(text, "y[1]", "y[2]", "y[3]") == [10, 20, 30]


def test_sample_with_expressions_of_parameters():
    text = """
model M
  parameter Real f = 4; parameter Real shift = 0.5;
  discrete Integer n(start = 0, fixed = true);
equation
  when sample(shift/f, 1/f) then n = pre(n) + 1; end when;
end M;
"""
    assert last(text, "n") == [4]  # at 0.125, 0.375, 0.625, 0.875
    model = es.load_model(text)
    found = model.simulate(TIMES, parameters={"f": 2.0}, outputs=["n"])
    assert found.value("n")[-1] == 2


def test_a_sample_without_a_second_one():
    """An interval without end: one event at the start, not at all times."""
    text = """
model M
  parameter Real from = 0.35; parameter Real interval = 1e60;
  Real since(start = -1, fixed = true); discrete Integer n(start = 0, fixed = true);
equation
  when sample(from, interval) then since = time; n = pre(n) + 1; end when;
end M;
"""
    found = run(text, "since", "n")
    assert np.allclose(found.value("since"), np.where(TIMES < 0.35, -1.0, 0.35))
    assert list(found.value("n")) == [0.0] * 4 + [1.0] * 7


# --- functions ---


def test_a_guard_against_division_by_zero_guards_its_derivative_too():
    text = """
model M
  function share input Real u; input Real eps; output Real y;
    algorithm y := noEvent(if abs(u) < eps then 0 else u/abs(u)); end share;
  parameter Real k = 1;
  Real x(start = 0, fixed = true); Real g = noEvent(if x > 0 then 1/x else 0); Real s = share(x - x, 1e-9);
equation
  der(x) = k*(1 - 0*g);
end M;
"""
    model = es.load_model(text)
    found = model.sensitivities(TIMES, wrt=["k"], outputs=["x", "s"], options=FINE)
    np.testing.assert_allclose(found.values[:, 0], TIMES, atol=1e-7)
    np.testing.assert_allclose(found.jacobian[:, 0, 0], TIMES, atol=1e-6)
    np.testing.assert_allclose(found.values[:, 1], 0.0)


def test_smooth_and_homotopy_in_functions():
    text = """
model M
  function law input Real u; output Real y;
    algorithm y := homotopy(actual = smooth(1, if u > 0 then u^2 else -u^2), simplified = u); end law;
  Real x(start = 2, fixed = true);
equation
  der(x) = -law(x);
end M;
"""
    np.testing.assert_allclose(run(text, "x").value("x"), 1 / (0.5 + TIMES), rtol=1e-6)


def test_a_warning_in_a_function_ends_nothing():
    text = """
model M
  function checked input Real u; output Real y;
    algorithm assert(u < 0.5, "u is large", AssertionLevel.warning); y := 2*u; end checked;
  Real y = checked(time);
end M;
"""
    assert last(text, "y") == [2]
    with pytest.raises(es.SimulationError, match="u is large"):
        last(text.replace(", AssertionLevel.warning", ""), "y")


def test_when_an_element_is_declared_twice_it_is_told():
    with pytest.raises(
        es.SourceError, match=r"S086: text:3:8: 'x' is declared twice; leave one out"
    ):
        es.load_model("model M\n  Real x = 1;\n  Real x = 2;\nend M;")


def test_texts_that_change_are_left_out_with_a_note():
    model = es.load_model(
        'model M Real x = time; String s = String(x); String t; equation t = "now"; end M;'
    )
    assert "texts that change during the run are left out: s, t" in model.notes
    assert model.simulate(TIMES, outputs=["x"]).value("x")[-1] == 1.0


def test_a_connector_inherited_along_two_ways_is_one():
    text = """
package P
  connector C Real p; flow Real m; stream Real h; end C;
  partial model Two C a; C b; end Two;
  partial model Shape extends Two; parameter Real r = 2; end Shape;
  partial model Flow extends Two; Real H;
  equation
    H = semiLinear(a.m, inStream(a.h), 3);
    a.m + b.m = 0; a.h = 3; b.h = inStream(a.h);
  end Flow;
  model Pipe extends Shape; extends Flow; equation a.p = b.p + r*a.m; end Pipe;
  model Source C c; parameter Real p; parameter Real h; equation c.p = p; c.h = h; end Source;
  model M
    Source s(p = 4, h = 7), e(p = 0, h = 5);
    Pipe v; Real left = inStream(e.c.h);
  equation
    connect(s.c, v.a); connect(v.b, e.c);
  end M;
end P;
"""
    found = run(text, "v.H", "left", class_name="P.M")
    assert [float(found.value(n)[-1]) for n in ("v.H", "left")] == [14, 7]


def test_an_initial_algorithm_that_looks_for_a_place():
    text = """
model M
  constant String names[3] = {"water", "air", "dust"};
  parameter String wanted = "dust";
  parameter Integer place(fixed = false);
  Real all[3] = {time, 2*time, 3*time}; Real y;
initial algorithm
  place := -1;
  for i in 1:3 loop
    if names[i] == wanted then place := i; end if;
  end for;
  assert(place > 0, "not there");
equation
  y = all[place];
end M;
"""
    assert last(text, "y") == [3.0]


def test_initial_equations_that_ask_for_the_root_of_a_connection_graph():
    text = """
package P
  record Turn Real a;
    function equalityConstraint input Turn r1; input Turn r2; output Real residue[0];
      algorithm end equalityConstraint;
  end Turn;
  connector Port Turn R; flow Real f; end Port;
  model Part Port p; parameter Real w(fixed = false); Real x(start = 1, fixed = true);
    initial equation if Connections.isRoot(p.R) then w = 3; else w = 5; end if;
    equation Connections.potentialRoot(p.R); der(x) = w;
    if Connections.isRoot(p.R) then p.R.a = 2; else p.f = 0; end if; end Part;
  model M Part one; end M;
end P;
"""
    model = es.load_model(text, "P.M")
    found = model.simulate(TIMES, outputs=["one.x"], options=FINE)
    assert np.allclose(found.value("one.x"), 1 + 3 * TIMES)


def test_an_algorithm_assigns_what_a_variable_was_before():
    """Zero, which nothing tells apart from not assigned; the other element has an equation."""
    text = """
model M
  record R Real a; Real b; end R;
  function f input Real x; output R r; algorithm r.a := 0; r.b := 2*x; end f;
  R r; Real z; Real y[2];
equation
  y[2] = 5;
algorithm
  r := f(time); z := 0; y[1] := 3;
end M;
"""
    assert last(text, "r.a", "r.b", "z", "y[1]", "y[2]") == [0, 2, 0, 3, 5]


def test_before_the_start_a_logical_may_have_been_what_another_is():
    text = """
model M
  block Hold
    parameter Real duration = 0.25; Boolean u; Boolean y; discrete Real entry;
  initial equation
    pre(entry) = time - 10; pre(y) = u;
  equation
    when time >= pre(entry) + duration and u <> pre(y) then
      entry = time; y = u;
    end when;
  end Hold;
  Hold a(u = time < 0.45); Hold b(u = time > 0.45);
end M;
"""
    found = run(text, "a.y", "b.y")
    np.testing.assert_array_equal(found.value("a.y"), TIMES < 0.45)
    np.testing.assert_array_equal(found.value("b.y"), TIMES > 0.45)


def test_what_a_constant_was_before_the_start_is_no_condition():
    text = """
model M
  Boolean c = true; Boolean q = p; parameter Boolean p = true; Real x; Boolean e(start = false);
  parameter Real first(fixed = false);
initial equation
  pre(c) = false; pre(q) = false; first = time + 3;
equation
  x = first + time;
  when c and q then e = true; end when;
end M;
"""
    found = run(text, "x", "e")
    np.testing.assert_allclose(found.value("x"), 3 + TIMES)
    np.testing.assert_array_equal(found.value("e"), 0.0)  # no edge: it was never anything else


def test_a_text_of_parameters_is_known_where_it_names_something():
    text = """
model M
  parameter Real p[2] = {0.1, 0.25}; parameter Integer n = 3;
  parameter String names[2] = {"q@" + String(x, format = ".2f") for x in p};
  parameter String one = "n" + String(n);
  Real y = if names[2] == "q@0.25" and one == "n3" then 1 else 0;
end M;
"""
    assert last(text, "y") == [1]


def test_what_is_too_long_to_be_written_out_is_computed(monkeypatch):
    text = """
model M
  function settle
    input Real a; output Real x = 1;
  protected
    Integer count = 0;
  algorithm
    while abs(x*x - a) > 1e-9 and count < 50 loop
      for k in 1:500 loop
        x := if k == 500 then 0.5*(x + a/x) else x + k - k;
      end for;
      count := count + 1;
    end while;
  end settle;
  parameter Real a = 2;
  final parameter Real root = settle(a);
  Real y = root*time;
end M;
"""
    monkeypatch.setattr("estimica.source.evaluate.bodies.MOST_STEPS", 5000)
    found = run(text, "y")
    np.testing.assert_allclose(found.value("y"), np.sqrt(2) * TIMES, rtol=1e-9)


def test_what_reads_a_bus_first_does_not_make_it_an_input():
    text = """
model M
  connector In = input Real; connector Out = output Real;
  expandable connector Bus end Bus;
  model Reader Bus bus; In u; Real y = 2*u; equation connect(bus.u, u); end Reader;
  model Source Out y = 3*time; end Source;
  Bus bus; Reader reader; Source source;
equation
  connect(bus, reader.bus);
  connect(source.y, bus.u);
end M;
"""
    np.testing.assert_allclose(run(text, "reader.y").value("reader.y"), 6 * TIMES)


def test_a_flow_in_a_bus_that_only_one_side_uses_is_zero():
    text = """
model M
  connector Flange Real phi; flow Real tau; end Flange;
  expandable connector Bus end Bus;
  model Position Flange f; parameter Real phi = 2; equation f.phi = phi; end Position;
  model Spring Flange f; equation f.tau = 3*f.phi; end Spring;
  model Driver Bus bus; Position wheel; Position pedal(phi = 5);
  equation connect(wheel.f, bus.wheel); connect(pedal.f, bus.pedal); end Driver;
  model Car Bus bus; Spring pedal; equation connect(pedal.f, bus.pedal); end Car;
  Driver driver; Car car;
equation
  connect(driver.bus, car.bus);
end M;
"""
    assert last(text, "driver.wheel.f.tau", "driver.pedal.f.tau") == [0, -15]


@pytest.mark.parametrize(("order", "expected"), [(1, 1), (2, 12), (3, 123)])
def test_branches_whose_sizes_fit_only_where_a_parameter_chooses_them(order, expected):
    text = f"""
model M
  parameter Real limit = {order};
  parameter Integer n = if limit > 2.5 then 3 elseif limit > 1.5 then 2 else 1;
  Real a[n];
  Real y = sum(a[i]*10^(n - i) for i in 1:n);
equation
  if limit < 1.5 then a = {{1}}; elseif limit < 2.5 then a = {{1, 2}}; else a = {{1, 2, 3}}; end if;
end M;
"""
    assert last(text, "y") == [expected]


def test_a_delay_of_zero_is_none():
    text = """
model M
  parameter Real T = 0; parameter Real L = 0.2;
  Real x = delay(time, T); Real y = delay(time, L);
end M;
"""
    found = run(text, "x", "y")
    np.testing.assert_allclose(found.value("x"), TIMES, atol=1e-12)
    np.testing.assert_allclose(found.value("y"), np.maximum(TIMES - 0.2, 0), atol=1e-9)


def test_a_text_of_parameters_is_known_to_functions_of_texts():
    text = """
model M
  function hash input String s; output Integer h;
    external "C" h = ModelicaStrings_hashString(s); end hash;
  function named input Real x; output Integer h;
    algorithm h := hash("x = " + String(x)); end named;
  parameter Real p = 2.5;
  Real y = if named(p) == hash("x = 2.5") and named(p + 1) == hash("x = 3.5") then 1 else 0;
end M;
"""
    assert last(text, "y") == [1]


def test_a_loop_up_to_an_argument_that_changes():
    text = """
model M
  function factorial input Integer n; output Integer f;
    algorithm f := 1; for k in 1:n loop f := k*f; end for; end factorial;
  Integer n = integer(5*time); Integer f = factorial(n); Integer g = factorial(4);
end M;
"""
    found = run(text, "f", "g")
    counts = np.floor(5 * TIMES + 1e-9).astype(int)
    np.testing.assert_array_equal(found.value("f"), np.array([1, 1, 2, 6, 24, 120])[counts])
    np.testing.assert_array_equal(found.value("g"), 24)


NEEDS_FIVE = [
    'algorithm when terminal() then if n < 5 then assert(false, "few"); end if; end when;',
    'algorithm when terminal() then for i in 1:5 loop assert(n >= i, "few"); end for; end when;',
    'algorithm when terminal() then if n > 0 then assert(n >= 5, "few"); end if; end when;',
    'equation when terminal() then if n > 0 then assert(n >= 5, "few"); end if; end when;',
    "algorithm when terminal() then m := checked(n); end when;",
    "equation when terminal() then m = checked(n); end when;",
]


@pytest.mark.parametrize("when", NEEDS_FIVE)
def test_what_is_asserted_in_a_when_counts_at_its_instants_only(when):
    other = "" if "checked" in when else "equation m = 0;"
    text = f"""
model M
  function checked input Integer n; output Integer m;
  algorithm assert(n >= 5, "few"); m := n; end checked;
  Integer n(start = 0, fixed = true); Integer m(start = 0, fixed = true);
equation
  when sample(0, 0.1) then n = pre(n) + 1; end when;
{other}
{when}
end M;
"""
    model = es.load_model(text, "M")
    model.simulate(np.linspace(0.0, 1.0, 3), outputs=["n"])
    with pytest.raises(es.SimulationError, match=r"few"):
        model.simulate(np.linspace(0.0, 0.25, 3), outputs=["n"])


def test_terminate_at_the_end_of_a_run_is_no_failure():
    text = """
model M
  Real x(start = 0, fixed = true);
equation
  der(x) = 1;
  when time >= 0.5 then terminate("half a second"); end when;
end M;
"""
    model = es.load_model(text, "M")
    found = model.simulate(np.linspace(0.0, 0.5, 6), outputs=["x"])
    np.testing.assert_allclose(found.value("x"), np.linspace(0.0, 0.5, 6), atol=1e-9)
    cut = model.simulate(np.linspace(0.0, 1.0, 6), outputs=["x"])
    np.testing.assert_allclose(cut.time, [0.0, 0.2, 0.4, 0.5], atol=1e-12)
    np.testing.assert_allclose(cut.value("x"), cut.time, atol=1e-9)


def test_an_inverse_that_its_author_gives_is_not_taken_at_its_word():
    text = """
model M
  function f input Real x; output Real y;
  algorithm y := x^3 + x;
    annotation (inverse(x = g(y)));
  end f;
  function g "near the inverse, not it" input Real y; output Real x;
  algorithm x := 0.99*y^(1/3);
  end g;
  Real x(start = 1);
equation
  10*(1 + time) = f(x);
end M;
"""
    (x,) = last(text, "x")
    assert x**3 + x == pytest.approx(20, rel=1e-10)
