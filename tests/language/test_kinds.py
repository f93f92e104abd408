"""Numbers, truth values, texts and values of enumerations do not take each other's place."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TIMES = np.linspace(0.0, 1.0, 3)


def last(text: str, *outputs: str) -> list[float]:
    found = es.load_model(text, "M").simulate(TIMES, outputs=list(outputs))
    return [float(found.value(name)[-1]) for name in outputs]


MIXED = {
    "condition of an if-expression": "Real x = if time then 1 else 2;",
    "condition of an if-equation": "Real x; equation if 2 then x = 1; else x = 2; end if;",
    "condition of a while-loop": """
        function f input Integer n; output Integer k = 0;
        algorithm while n - k loop k := k + 1; end while; end f;
        Real x = f(3);""",
    "assertion": 'equation assert(1, "number");',
    "branches": "Real x = if time > 0.5 then 1 else true;",
    "number set to a truth value": "Real x; equation x = time > 0.5;",
    "truth value set to a number": "Boolean b = 1;",
    "truth value as a summand": "Boolean b = true; Real x = 1 + b;",
    "truth value as an exponent": "Boolean b = true; Real x = 2^b;",
    "number in a conjunction": "Boolean b = time > 0.5 and 1;",
    "negated number": "Boolean b = not 1;",
    "enumeration as a number": "type E = enumeration(a, b); Integer n = E.b;",
    "number as an enumeration": "type E = enumeration(a, b); E e = 2;",
    "two enumerations": """
        type E = enumeration(a, b); type F = enumeration(c, d); Boolean x = E.a == F.c;""",
    "text as a number": 'Real x = "1";',
    "number as a text": "parameter String s = 1;",
    "sine of a truth value": "Real x = sin(true);",
    "input of a function": """
        function f input Boolean b; output Real y; algorithm y := if b then 1 else 2; end f;
        Real x = f(1);""",
    "named input of a function": """
        function f input Real a = 1; input Boolean b = true; output Real y = a; end f;
        Real x = f(b = 2);""",
    "assignment": "Real x; algorithm x := true;",
    "when-equation": "discrete Real x; equation when time > 0.5 then x = true; end when;",
    "elements": "Real x[2] = {1, true};",
    "an array as a divisor": "Real x[2] = {1, 2} / {1, 2};",
}


@pytest.mark.parametrize("declarations", MIXED.values(), ids=MIXED)
def test_kinds_that_are_mixed_are_refused_with_their_place(declarations):
    text = f"model M {declarations} end M;"
    with pytest.raises(es.SourceError, match=r"S012.*\(line \d+\)") as error:
        es.load_model(text, "M")
    assert "traceback" not in str(error.value).lower()


def test_kinds_that_fit_are_let_through():
    text = """
model M
  type E = enumeration(low, high);
  type Level = E;
  parameter Level level = E.high;
  Integer n = if level == E.high then 3 else 2;
  Real x = n;
  Boolean b = n > 2 and not level == Level.low;
  Real y = if b then x else n / 2;
  parameter Boolean flags[2] = {true, false};
  Real z = if flags[1] then max(n, 0.5) else 0;
  Real chosen[E] = {10, 20};
  Real w = chosen[level];
end M;
"""
    assert last(text, "y", "z", "w") == [3, 3, 20]


# --- arrays over Boolean ---


@pytest.mark.parametrize(
    "loop",
    [
        "equation for i in false:true loop x[i] = if i then 2 else 1; end for;",
        "equation for i in Boolean loop x[i] = if i then 2 else 1; end for;",
        "equation for i loop x[i] = if i then 2 else 1; end for;",
        "algorithm for i loop x[i] := if i then 2 else 1; end for;",
    ],
)
def test_loops_over_truth_values(loop):
    text = f"model M Real x[Boolean]; Real y; {loop} algorithm y := x[false] + 10*x[true]; end M;"
    assert last(text, "y") == [21]


# --- texts ---


def test_a_text_that_changes_is_not_compared():
    text = 'model M String s; Boolean b = s == "a"; equation s = "a"; end M;'
    with pytest.raises(es.SourceError, match="known only during the run"):
        es.load_model(text, "M")


def test_a_text_with_a_value_of_its_own_is_compared():
    assert last(
        'model M String s = "a" + "b"; Real x = if s == "ab" then 1 else 2; end M;', "x"
    ) == [1]


# --- classes ---


def test_a_class_that_extends_an_inherited_one_replaces_it_without_the_word_redeclare():
    text = """
model M
  model A replaceable model B Real x = 1; end B; B inside; end A;
  extends A;
  model extends B Real y = 10*x; end B;
  B b;
end M;
"""
    assert last(text, "b.y", "inside.y") == [10, 10]


def test_an_outer_function_is_the_inner_one_above():
    text = """
model M
  partial function F input Real u; output Real y; end F;
  function Once extends F; algorithm y := u; end Once;
  function Twice extends F; algorithm y := 2*u; end Twice;
  model D outer function f = F; Real y = f(3); end D;
  model One inner function f = Once; D d; end One;
  model Two inner function f = Twice; D d; end Two;
  One one; Two two;
end M;
"""
    assert last(text, "one.d.y", "two.d.y") == [3, 6]


@pytest.mark.parametrize(
    "text",
    [
        "model M partial model P Real x = 1; end P; P p; end M;",
        "model M partial model P Real x = 1; end P; model Q = P; Q q; end M;",
    ],
)
def test_partial_classes_are_refused(text):
    with pytest.raises(es.SourceError, match="S087"):
        es.load_model(text, "M")


def test_a_partial_class_that_is_redeclared_is_whole():
    text = """
model M
  partial model P Real x; end P;
  model Q extends P; equation x = 4; end Q;
  model Holder replaceable P p constrainedby P; end Holder;
  Holder h(redeclare Q p);
end M;
"""
    assert last(text, "h.p.x") == [4]


def test_one_name_for_two_things_is_refused():
    text = "model M model A Real x = 2; end A; extends A; Integer x = 1; end M;"
    with pytest.raises(es.SourceError, match=r"S086.*'x'"):
        es.load_model(text, "M")


def test_the_same_declaration_along_two_ways_is_one():
    text = """
model M
  model A parameter Real p = 2; end A;
  model B extends A; Real y = p; end B;
  model C extends A; Real z = 10*p; end C;
  extends B; extends C;
end M;
"""
    assert last(text, "y", "z") == [2, 20]


# --- functions ---


def test_an_array_without_a_size_grows():
    text = """
model M
  function positive input Real x[:]; output Real y[:];
  algorithm
    for i in 1:size(x, 1) loop if x[i] > 0 then y := cat(1, y, x[i:i]); end if; end for;
  end positive;
  parameter Real a[:] = positive({1, -2, 3, -4});
  Real n = size(a, 1); Real s = sum(a);
end M;
"""
    assert last(text, "n", "s") == [2, 4]


def test_a_constant_without_a_value_is_an_input_of_its_record():
    text = """
model M
  record R Integer a; constant Integer b; constant Integer c = 42; end R;
  parameter R r = R(1, 2);
  Real x = r.a + 10*r.b + 100*r.c;
end M;
"""
    assert last(text, "x") == [4221]


# --- branches with different numbers of equations ---


def test_a_parameter_chooses_among_different_numbers_of_equations():
    text = """
model M
  parameter Real r = 4;
  Real x;
equation
  if r < 5 then x = 3; elseif r > 4 then x = 4; end if;
end M;
"""
    model = es.load_model(text, "M")
    assert float(model.simulate(TIMES, outputs=["x"]).value("x")[0]) == 3
    with pytest.raises(es.EstimicaError, match="r"):
        model.simulate(TIMES, parameters={"r": 6.0})


# --- connections ---


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("output Real", "input Boolean"),
        ("output Integer", "input Boolean"),
        ("output Real", "input Integer"),
    ],
)
def test_signals_of_different_kinds_are_not_connected(a, b):
    text = f"""
model M
  connector A = {a}; connector B = {b};
  model Source A y; end Source; model Sink B u; end Sink;
  Source source; Sink sink;
equation
  connect(source.y, sink.u);
end M;
"""
    with pytest.raises(es.SourceError, match="S080"):
        es.load_model(text, "M")


def test_a_connector_with_more_members_than_the_other_is_not_connected():
    text = """
model M
  connector A Real v; flow Real i; end A;
  connector B Real v; Real extra; flow Real i; end B;
  model P A a; equation a.v = 1; end P; model Q B b; equation b.i = b.v; b.extra = 2; end Q;
  P p; Q q;
equation
  connect(p.a, q.b);
end M;
"""
    with pytest.raises(es.SourceError, match=r"S080.*'extra'"):
        es.load_model(text, "M")


@pytest.mark.parametrize("word", ["parameter", "constant"])
def test_settled_values_of_connected_connectors_are_equal(word):
    text = f"""
model M
  connector Pin Real v; flow Real i; {word} Real phases = 3; end Pin;
  model A Pin p; equation p.v = 1; end A; model B Pin p; equation p.i = p.v; end B;
  A a(p(phases = %d)); B b(p(phases = 3));
equation
  connect(a.p, b.p);
end M;
"""
    assert last(text % 3, "b.p.i") == [1]
    with pytest.raises(es.SourceError, match=r"S080.*'a\.p\.phases' and 'b\.p\.phases'"):
        es.load_model(text % 6, "M")


def test_in_stream_of_something_else_is_refused():
    text = """
model M
  connector C Real e; flow Real f; end C;
  C c; Real x = inStream(c.e);
end M;
"""
    with pytest.raises(es.SourceError, match=r"'c\.e', which is not declared as stream"):
        es.load_model(text, "M")


def test_a_sample_needs_time_between_its_instants():
    with pytest.raises(es.SourceError, match="it must be positive"):
        es.load_model("model M Boolean b = sample(0, 0); end M;", "M")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('sin(true) "a description"', "sin(true)"),
        ("max(sin(true), 2) annotation(Evaluate = true)", "max(sin(true), 2)"),
        ("if time > 1 then sin(true) else 2", "if time > 1 then sin(true) else 2"),
    ],
)
def test_a_message_shows_the_expression_and_nothing_behind_it(written, shown):
    with pytest.raises(es.SourceError) as error:
        es.load_model(f"model M Real x = {written}; Real y = 2; end M;", "M")
    assert f"value '{shown}' (line 1)" in str(error.value)
