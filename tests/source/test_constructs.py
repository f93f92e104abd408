"""One tiny model for each construct; what its decoded equations say against values by hand."""

from __future__ import annotations

import math

import pytest
from tests.source.flat_checks import (
    determined,
    load,
    parameter_values,
    solved_for,
    unknowns,
    value,
    value_at,
)

from estimica.flat.expression import is_const, names_in
from estimica.flat.system import Kind, StateSelect, Variability


def one(right: str, declarations: str = "") -> str:
    """A model with the single equation y = `right`, x and u given."""
    return f"""
model M
  input Real u; Real x(start=1, fixed=true); Real y; {declarations}
equation
  der(x) = -x;
  y = {right};
end M;
"""


@pytest.mark.parametrize(
    ("right", "wanted"),
    [
        ("x + 2*u - 1", 4.5),
        ("x^2 / u", 0.1),
        ("-x^2", -0.25),
        ("abs(-x) + sign(u)", 1.5),
        ("sqrt(x) * exp(u)", math.sqrt(0.5) * math.exp(2.5)),
        ("sin(x) + cos(x) + tan(x)", math.sin(0.5) + math.cos(0.5) + math.tan(0.5)),
        ("asin(x) + acos(x) + atan(x)", math.pi / 2 + math.atan(0.5)),
        ("atan2(x, u)", math.atan2(0.5, 2.5)),
        ("sinh(x) + cosh(x) + tanh(x)", math.sinh(0.5) + math.cosh(0.5) + math.tanh(0.5)),
        ("log(u) + log10(u)", math.log(2.5) + math.log10(2.5)),
        ("min(x, u) + max(x, u)", 3.0),
        ("min({x, u, -1}) + max({x, u, -1})", 1.5),
        ("floor(u) + ceil(u) + integer(u)", 7.0),
        ("div(u, 1) + mod(-x, 2) + rem(-x, 2)", 2 + 1.5 - 0.5),
        ("if x > u then 1 elseif x > 0.4 then 2 else 3", 2.0),
        ("noEvent(if x > 0 then sqrt(x) else 0)", math.sqrt(0.5)),
        ("smooth(1, if x > 0 then x^2 else 0)", 0.25),
        ("semiLinear(x, 2, 3) + semiLinear(-x, 2, 3)", -0.5),
        ("homotopy(x, u)", 0.5),
        ("homotopy(actual = x, simplified = u)", 0.5),
        ("sum({x, u, 1}) * product({x, 2})", 4.0),
        ("sum(i*x for i in 1:4)", 5.0),
        ("{x, u} * {2, 3}", 8.5),
        ("sum([1, 2; 3, 4] * {x, u})", 5.5 + 11.5),
        ("sum(transpose([1, 2; 3, 4])[1, :] * x)", 2.0),
        ("sum(identity(2) * {x, u}) + sum(diagonal({x, u}))", 6.0),
        ("sum(zeros(2)) + sum(ones(3)) + sum(fill(x, 2, 2))", 5.0),
        ("sum(linspace(0, 1, 3))", 1.5),
        ("sum(cat(1, {x}, {u, 1}))", 4.0),
        ("cross({x, 0, 0}, {0, u, 0}) * {0, 0, 1}", 1.25),
        ("sum(skew({1, 2, x})[2, :])", -0.5),
        ("sum(outerProduct({1, 2}, {x, u}))", 9.0),
        ("sum(symmetric([1, x; 9, u]))", 1 + 0.5 + 0.5 + 2.5),
        ("size({1, 2, 3}, 1) + ndims([1, 2])", 5.0),
        ("scalar([x]) + sum(vector([x; u])) + sum(matrix({x, u}))", 6.5),
        ("noEvent(if x > 0 and not u < 1 or false then 1 else 0)", 1.0),
    ],
)
def test_expression(right: str, wanted: float) -> None:
    system = load(one(right))
    assert value(system, "y", x=0.5, u=2.5) == pytest.approx(wanted, rel=1e-14)
    assert unknowns(system) == determined(system) == 2


def test_time_is_the_independent_variable() -> None:
    assert value_at(load(one("2*time")), "y", {}, time=1.5) == 3.0


def test_delay_keeps_its_duration_as_a_parameter() -> None:
    delayed = solved_for(load(one("delay(x, T)", "parameter Real T = 0.5;")), "y")
    assert delayed.op == "delay"
    assert [a.target for a in delayed.operands] == ["x", "T"]


def test_arrays_are_elements_with_their_own_names() -> None:
    system = load("""
model M
  parameter Integer n = 3;
  parameter Real k[n] = {1.5*i for i in 1:n};
  parameter Real A[2, 2] = [1, 2; 3, 4];
  Real x[n](each start=2, fixed={true, false, true}); Real w[2];
equation
  der(x) = -k .* x;
  w = A*{x[1], x[end]};
end M;
""")
    assert [v.name for v in system.variables if v.name.startswith("x")] == ["x[1]", "x[2]", "x[3]"]
    assert [system.by_name[f"x[{i}]"].fixed for i in (1, 2, 3)] == [True, False, True]
    assert parameter_values(system)["k[3]"] == 4.5
    assert parameter_values(system)["A[2,1]"] == 3.0
    assert value_at(system, "der(x[2])", {"x[2]": 2.0}) == -6.0
    assert value_at(system, "w[2]", {"x[1]": 1.0, "x[3]": 10.0}) == 43.0
    assert "size" in system.by_name["n"].evaluated


def test_regular_loops_are_read_from_their_template_not_from_placeholders() -> None:
    system = load("""
model M
  parameter Integer n = 6;
  Real T[n](each start=1); Real q[n+1]; parameter Real G[n+1] = {i for i in 1:n+1};
equation
  q[1] = 1;
  for i in 2:n loop q[i] = G[i]*(T[i-1] - T[i]); end for;
  q[n+1] = 0;
  for i in 1:n loop der(T[i]) = q[i] - q[i+1]; end for;
initial equation
  for i in 1:n loop T[i] = i; end for;
end M;
""")
    for i in range(1, 7):
        assert value_at(system, f"der(T[{i}])", {f"q[{i}]": 5.0, f"q[{i + 1}]": 3.0}) == 2.0
        assert value_at(system, f"T[{i}]", {}, initial=True) == float(i)
    assert value_at(system, "q[5]", {"T[4]": 2.0, "T[5]": 1.0}) == 5.0
    assert len(system.equations) == 13


def test_arrays_of_components_and_slices() -> None:
    system = load("""
model M
  model C
    Real T(start=1); Real v[2]; parameter Real k = 1;
  equation
    der(T) = -k*T; v = {T, 2*T};
  end C;
  C c[3](k={1, 2, 3}); Real s; Real y[3, 2];
equation
  s = sum(c.T) + sum(c[2:3].k);
  y = c.v;
end M;
""")
    assert value_at(system, "s", {f"c[{i}].T": float(i) for i in (1, 2, 3)}) == 11.0
    assert value_at(system, "der(c[3].T)", {"c[3].T": 2.0}) == -6.0
    assert value_at(system, "y[2,1]", {"c[2].v[1]": 7.0}) == 7.0


def test_records_and_their_functions() -> None:
    system = load(
        """
package P
  record R
    Real a; Real b[2] = {1, 2};
  end R;
  function f
    input R r; output R s;
  algorithm
    s := r; s.a := r.a + sum(r.b);
  end f;
  model M
    parameter R p(a=3); R q; R r; Real x(start=1);
  equation
    q.a = x; q.b = {x, 2*x}; r = f(q);
    der(x) = -p.a*r.a;
  end M;
end P;
""",
        "P.M",
    )
    assert parameter_values(system)["p.b[2]"] == 2.0
    assert value_at(system, "r.a", {"q.a": 1.0, "q.b[1]": 2.0, "q.b[2]": 3.0}) == 6.0
    assert value_at(system, "r.b[2]", {"q.b[2]": 3.0}) == 3.0


def test_enumerations_hold_their_ordinal_and_their_literals() -> None:
    system = load(
        """
package P
  type Color = enumeration(red "r", green, blue);
  model M
    parameter Color c = Color.green; Real y;
  equation
    y = if c == Color.green then 5 else 6;
  end M;
end P;
""",
        "P.M",
    )
    c = system.by_name["c"]
    assert c.kind is Kind.ENUMERATION
    assert c.literals == ("red", "green", "blue")
    assert is_const(c.binding, 2.0)
    assert value(system, "y") == 5.0
    assert "branch" in c.evaluated


def test_boolean_and_integer_variables() -> None:
    system = load("""
model M
  input Boolean on; input Integer mode; Boolean b; Integer k; Real x(start=0);
equation
  b = on and not x > 1;
  k = if b then mode else 0;
  der(x) = k;
end M;
""")
    assert {v.name for v in system.variables if v.causality == "input"} == {"on", "mode"}
    assert system.by_name["b"].kind is Kind.BOOLEAN
    assert system.by_name["k"].variability is Variability.DISCRETE
    assert value(system, "b", on=1, x=0.5) == 1.0
    assert value(system, "b", on=1, x=1.5) == 0.0
    assert value(system, "k", b=1, mode=3) == 3.0


def test_boolean_parameters_select_branches_and_real_ones_stay_tunable() -> None:
    system = load("""
model M
  parameter Boolean fast = true; parameter Integer n = 2; parameter Real limit = 3;
  Real x(start=0); Real y; Real z;
equation
  if fast then der(x) = 1; else der(x) = 2; end if;
  y = if limit > 2 then x else -x;
  z = if n == 2 and x > 0 then 1 else 0;
end M;
""")
    assert is_const(solved_for(system, "der(x)"), 1.0)
    assert solved_for(system, "y").op == "if"
    assert solved_for(system, "z").operands[0].op == "gt"
    assert system.by_name["fast"].evaluated
    assert system.by_name["n"].evaluated
    assert not system.by_name["limit"].evaluated


def test_if_equations_of_the_run_become_choices() -> None:
    system = load("""
model M
  Real x(start=0); Real y; Real z;
equation
  der(x) = 1;
  if x > 1 then
    y = x^2; z = 1;
  elseif x > 0 then
    y = x; z = 2;
  else
    y = 0; z = 3;
  end if;
end M;
""")
    assert [value(system, "y", x=v) for v in (2.0, 0.5, -1.0)] == [4.0, 0.5, 0.0]
    assert [value(system, "z", x=v) for v in (2.0, 0.5, -1.0)] == [1.0, 2.0, 3.0]


def test_declaration_equations_are_equations() -> None:
    system = load("model M\n Real x(start=1) = 2*time; output Real y = x;\nend M;")
    assert value_at(system, "x", {}, time=2.0) == 4.0
    assert value(system, "y", x=7.0) == 7.0
    assert {e.origin.kind for e in system.equations} == {"binding"}
    assert system.by_name["y"].causality == "output"


def test_attributes() -> None:
    system = load("""
model M
  parameter Real R(unit="Ohm", min=0, max=1e3, nominal=10, quantity="Resistance") = 2 "ohmic";
  final parameter Real G(displayUnit="mS") = 1/R;
  constant Real c = 4*2;
  Real i(start=R/2, fixed=true, stateSelect=StateSelect.prefer); Real w; Real z(start=0);
protected
  parameter String s = "text";
equation
  der(i) = -i; w = c*i; der(z) = 1;
end M;
""")
    r = system.by_name["R"]
    assert (r.unit, r.quantity, r.description, r.fixed) == ("Ohm", "Resistance", "ohmic", True)
    assert (r.minimum.value, r.maximum.value, r.nominal.value) == (0.0, 1000.0, 10.0)
    g = system.by_name["G"]
    assert g.final
    assert g.display_unit == "mS"
    assert g.binding.op == "div"
    i = system.by_name["i"]
    assert i.fixed
    assert i.state_select is StateSelect.PREFER
    assert i.start.op == "div"
    assert system.by_name["w"].start is None
    assert is_const(system.by_name["z"].start, 0.0)
    assert system.by_name["s"].text == "text"
    assert system.by_name["s"].protected
    assert is_const(solved_for(system, "w").operands[0], 8.0)


def test_parameters_that_depend_on_others_stay_expressions() -> None:
    system = load("""
model M
  parameter Real a = 2; parameter Real b = 3*a; parameter Real c[2] = {a, b}; Real x(start=b);
equation
  der(x) = -c[2]*x;
end M;
""")
    assert system.by_name["b"].binding.op == "mul"
    assert system.by_name["c[2]"].binding.target == "b"
    assert system.by_name["x"].start.target == "b"
    assert solved_for(system, "der(x)").op in ("neg", "mul")
    assert parameter_values(system)["c[2]"] == 6.0


def test_parameter_with_fixed_false_is_left_to_initialisation() -> None:
    system = load("""
model M
  parameter Real p(fixed=false, start=1); Real x(start=2, fixed=true);
initial equation
  p + x = 10;
equation
  der(x) = p;
end M;
""")
    p = system.by_name["p"]
    assert not p.fixed
    assert p.binding is None
    assert is_const(p.start, 1.0)
    assert len(system.initial_equations) == 1


def test_parameter_without_a_value_takes_its_start_and_says_so() -> None:
    system = load("model M\n parameter Real p(start=3); Real x;\nequation\n der(x)=p;\nend M;")
    assert is_const(system.by_name["p"].binding, 3.0)
    assert any("'p' has no value" in note for note in system.notes)


def test_when_elsewhen_reinit_and_pre() -> None:
    system = load("""
model M
  Real h(start=1); Real v(start=0); Integer n(start=0, fixed=true); discrete Real t;
  Boolean low;
equation
  der(h) = v; der(v) = -9.81; low = h <= 0;
  when {low, h <= 0 and v <= 0} then
    reinit(v, -0.8*pre(v)); n = pre(n) + 1; t = time;
  elsewhen time > 100 then
    n = 0; t = 0;
  end when;
end M;
""")
    (when,) = system.whens
    first, second = when.branches
    assert len(first.conditions) == 2
    assert [(a.target, a.reinit) for a in first.actions] == [
        ("v", True),
        ("n", False),
        ("t", False),
    ]
    assert first.actions[0].value.op == "neg"
    assert [a.target for a in second.actions] == ["n", "t"]
    assert system.by_name["t"].variability is Variability.DISCRETE
    assert unknowns(system) == determined(system)


def test_variables_set_in_when_clauses_are_discrete() -> None:
    system = load("""
model M
  Real x(start=1); Real held(start=0);
equation
  der(x) = -x;
  when x < 0.5 then held = x; end when;
end M;
""")
    assert system.by_name["held"].variability is Variability.DISCRETE


def test_sample_edge_change_initial_terminal() -> None:
    system = load("""
model M
  Real x(start=0); discrete Real a; Boolean b; Integer n; discrete Real c; discrete Real d;
equation
  der(x) = 1; b = x > 0.5; n = integer(x);
  when sample(0, 0.1) then a = x; end when;
  when edge(b) or change(n) then c = time; end when;
  when {initial(), terminal()} then d = time; end when;
end M;
""")
    conditions = [c for w in system.whens for b in w.branches for c in b.conditions]
    assert [c.op for c in conditions] == ["sample", "or", "initial", "terminal"]
    assert [c.op for c in conditions[1].operands] == ["edge", "change"]


def test_if_inside_when_keeps_the_old_value_in_the_other_branch() -> None:
    system = load("""
model M
  Real x(start=0); Integer n(start=0, fixed=true);
equation
  der(x) = 1;
  when sample(0, 1) then
    if x > 2 then n = pre(n) + 1; else n = 0; end if;
  end when;
end M;
""")
    (action,) = system.whens[0].branches[0].actions
    assert action.value.op == "if"


def test_assertions_of_models() -> None:
    system = load("""
model M
  Real x(start=0);
equation
  der(x) = 1;
  assert(x < 3, "too big: " + String(x));
  assert(x < 2, "soon", AssertionLevel.warning);
end M;
""")
    first, second = system.assertions
    assert first.condition.op == "lt"
    assert first.message.startswith("too big: ")
    assert not first.warning
    assert second.warning
    assert first.origin.line == 6


def test_assert_and_terminate_inside_when_become_flags() -> None:
    system = load("""
model M
  Real x(start=0);
equation
  der(x) = 1;
  when x > 1 then assert(x < 2, "late"); end when;
  when x > 3 then terminate("done"); end when;
end M;
""")
    assert [a.message for a in system.assertions] == ["late", "done"]
    assert [a.terminates for a in system.assertions] == [False, True]
    assert unknowns(system) == determined(system)


def test_connections_flows_and_their_origins() -> None:
    system = load(
        """
package P
  connector Pin Real v; flow Real i; end Pin;
  model R Pin p; Pin n; parameter Real R = 1;
  equation p.v - n.v = R*p.i; p.i + n.i = 0; end R;
  model M
    R a, b; Pin open;
  equation
    connect(a.n, b.p); a.p.v = 1; b.n.v = 0;
    open.v = 2;
  end M;
end P;
""",
        "P.M",
    )
    kinds = {e.origin.kind for e in system.equations}
    assert {"equation", "connection", "flow sum", "unconnected flow"} <= kinds
    assert system.by_name["a.p.i"].flow
    sums = [e.origin for e in system.equations if e.origin.kind == "flow sum"]
    assert any("a.n.i" in o.text for o in sums)


def test_origins_name_component_text_and_line() -> None:
    system = load(
        """
model M
  model Part
    Real x(start=1);
  equation
    der(x) =
      -2*x;
  end Part;
  Part part;
end M;
""",
        "M",
    )
    (equation,) = system.equations
    assert equation.origin.component == "part"
    assert equation.origin.text == "der(x) = -2*x"
    assert equation.origin.line == 6
    assert str(equation.origin) == "equation 'der(x) = -2*x' (in part, line 6)"


def test_only_top_level_inputs_are_inputs() -> None:
    system = load(
        """
package P
  connector In = input Real;
  model Gain In u; output Real y; parameter Real k = 2; equation y = k*u; end Gain;
  model M
    In w; Gain g; output Real z; input Real v[2];
  equation
    connect(w, g.u); z = g.y + v[1] + v[2];
  end M;
end P;
""",
        "P.M",
    )
    inputs = [v.name for v in system.variables if v.causality == "input"]
    assert inputs == ["w", "v[1]", "v[2]"]
    assert [v.name for v in system.variables if v.causality == "output"] == ["z"]
    assert unknowns(system) == determined(system)


def test_experiment_annotation_and_description() -> None:
    system = load("""
model M "a model"
  Real x(start=1);
equation
  der(x) = -x;
  annotation(experiment(StartTime=1, StopTime=2.5e1, Tolerance=1e-6, Interval=0.1));
end M;
""")
    e = system.experiment
    assert (e.start, e.stop, e.tolerance, e.interval) == (1.0, 25.0, 1e-6, 0.1)
    assert system.description == "a model"


def test_stream_connectors() -> None:
    system = load(
        """
package P
  connector Port Real p; flow Real m; stream Real h; end Port;
  model Source Port port; equation port.p = 2; port.h = 5; end Source;
  model Sink Port port; Real h; equation port.m = 1; port.h = 0; h = inStream(port.h); end Sink;
  model M
    Source a; Sink b;
  equation
    connect(a.port, b.port);
  end M;
end P;
""",
        "P.M",
    )
    assert value_at(system, "b.h", {"a.port.h": 5.0}) == 5.0
    assert unknowns(system) == determined(system)


def test_unbalanced_models_are_handed_on_to_the_structure_stage() -> None:
    few = load("model M\n Real x; Real y;\nequation\n der(x) = -x;\nend M;")
    assert (unknowns(few), determined(few)) == (2, 1)
    many = load("model M\n Real x;\nequation\n der(x) = -x; x = 2;\nend M;")
    assert (unknowns(many), determined(many)) == (1, 2)


def test_derivative_of_an_expression() -> None:
    system = load("model M\n Real x(start=1); Real y;\nequation\n der(x*y) = 1; y = 2*x;\nend M;")
    (first,) = [e for e in system.equations if "der" in e.origin.text]
    assert first.lhs.op == "add"


def test_conditional_components_and_inner_outer() -> None:
    system = load(
        """
package P
  model Env parameter Real g = 9; end Env;
  model Part
    outer Env env; parameter Boolean with = true; Real v(start=0); Real w if with;
  equation
    der(v) = env.g;
    if with then w = v; end if;
  end Part;
  model M
    inner Env env(g=3); Part a; Part b(with=false);
  end M;
end P;
""",
        "P.M",
    )
    assert value_at(system, "der(a.v)", {}) == 3.0
    assert "b.w" not in system.by_name
    assert system.by_name["a.with"].evaluated


def test_modifiers_passed_on_to_inner_components_stay_references() -> None:
    system = load(
        """
package P
  model Body
    parameter Real I = 1; parameter Real v[2] = {1, 2}; Real w(start=1);
  equation
    der(w) = -I*w;
  end Body;
  model Shape
    parameter Real I = 1; parameter Real k = 2; parameter Real v[2] = {3, 4};
    Body body(I=I, v=v, w(start=I)); Body other(I=3*I + k); Real e;
  equation
    e = I;
  end Shape;
  model A
    parameter Real q = 6; Shape arm(I=5, v={7, 8}); Shape leg; Shape neck(I=2*q);
  end A;
  model B extends A(arm(I=7)); end B;
  model C B b(arm(I=9)); end C;
end P;
""",
        "P.C",
    )
    bindings = {v.name: v.binding for v in system.variables if v.binding is not None}
    assert is_const(bindings["b.arm.I"], 9.0)
    assert bindings["b.arm.body.I"].target == "b.arm.I"
    assert bindings["b.leg.body.I"].target == "b.leg.I"
    assert bindings["b.neck.body.I"].target == "b.neck.I"
    assert bindings["b.arm.body.v[2]"].target == "b.arm.v[2]"
    assert "b.arm.I" in names_in(bindings["b.arm.other.I"])
    assert system.by_name["b.arm.body.w"].start.target == "b.arm.I"


def test_unused_variables_of_expandable_connectors_do_not_exist() -> None:
    system = load(
        """
package P
  expandable connector Bus Real used; Real unused; end Bus;
  connector Out = output Real;
  model M
    Bus bus; Out y; Real z;
  equation
    y = time; connect(y, bus.used); z = bus.used;
  end M;
end P;
""",
        "P.M",
    )
    assert "bus.unused" not in system.by_name
    assert unknowns(system) == determined(system) == 3


def test_record_inputs_are_inputs_field_by_field() -> None:
    system = load(
        """
package P
  record R Real a; Real b; end R;
  model M
    input R r; Real y;
  equation
    y = r.a + r.b;
  end M;
end P;
""",
        "P.M",
    )
    assert [v.name for v in system.variables if v.causality == "input"] == ["r.a", "r.b"]
