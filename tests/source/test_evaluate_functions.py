"""Functions and algorithms of the syntax tree, written out: arguments, branches, loops, exits."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from tests.source.small_model import Variable, as_value, evaluator_of, number_of, plain, value_of

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate import statements
from estimica.source.evaluate.expressions import Evaluator
from estimica.source.evaluate.values import Record, ValueMismatch, Written
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_file

FUNCTIONS = """
function line "defaults, also of later inputs"
  input Real x; input Real slope = offset + 1; input Real offset = 2; output Real y;
algorithm y := slope*x + offset; end line;

function both
  input Real x; output Real double = 2*x; output Real square;
algorithm square := x^2; end both;

function norm
  input Real v[:]; output Real n;
algorithm n := sqrt(v*v); end norm;

function factorial
  input Integer n; output Integer f;
algorithm f := if n <= 1 then 1 else n*factorial(n - 1); end factorial;

function early
  input Real x; output Real y;
algorithm
  y := 1;
  if x < 0 then y := -x; return; end if;
  y := y + x;
end early;

function search
  input Real v[:]; input Real limit; output Integer k = 0;
algorithm
  for i in 1:size(v, 1) loop
    if v[i] > limit then k := i; break; end if;
  end for;
end search;

function root "by Newton's method"
  input Real a; output Real x = 1; protected Real step = 1;
algorithm
  while abs(step) > 1e-12 loop
    step := (a/x - x)/2;
    x := x + step;
  end while;
end root;

function reversed
  input Real v[:]; output Real w[n]; protected Integer n = size(v, 1);
algorithm for i loop w[n + 1 - i] := v[i]; end for; end reversed;

function cumulated
  input Real v[:]; output Real w[:]; protected Real total = 0;
algorithm
  w := zeros(size(v, 1));
  for i in 1:size(v, 1) loop total := total + v[i]; w[i] := total; end for;
end cumulated;

partial function curve input Real x; output Real y; end curve;
function integral
  input curve f; input Real a; input Real b; input Integer n = 2; output Real area;
protected Real h = (b - a)/n;
algorithm area := h*sum(f(a + (i - 0.5)*h) for i in 1:n); end integral;
function passed
  input curve f; output Real y;
algorithm y := integral(f, 0, 1, 1); end passed;

function checked
  input Real x; output Real y;
algorithm
  assert(x > 0, "x is " + String(x));
  if x > 2 then assert(x < 9, "large", AssertionLevel.warning); end if;
  y := sqrt(x);
end checked;

function slope = der(cube, x);
function cube input Real x; input Real k; output Real y; algorithm y := k*x^3; end cube;

record Point Real x; Real y = 2*x; end Point;
record Path Point points[2]; Real length = 1; end Path;
function moved
  input Point p; output Point q;
algorithm q.x := p.x + 1; q.y := p.y; end moved;
function path
  output Path w;
algorithm
  for i in 1:2 loop w.points[i] := Point(i); w.points[i].y := 5*i; end for;
end path;
function known_record
  input Real x; output Real r; protected Point p(x = x);
algorithm r := p.x; end known_record;

function sine external "builtin" y = sin(x); input Real x; output Real y; end sine;
function split input Real x; output Real whole; output Real rest;
  external "C" whole = c_split(x, rest); end split;
function c_direct input Real x; output Real y; external "C"; end c_direct;
function hidden input Real x; output Real y; external "C" y = secret(x); end hidden;
function printed input String s; external "C" print(s); end printed;
function says input Real x; output Real y; algorithm printed("hello"); y := x; end says;

function stops input Real x; output Real y;
algorithm y := x; terminate("end"); end stops;
function waits input Real x; output Real y;
algorithm when x > 1 then y := x; end when; end waits;
function forgets input Real x; output Real y;
algorithm if x > 100 then return; end if; end forgets;
function unread input Real x; output Real y; protected Real z; algorithm y := z + x; end unread;
function endless input Real x; output Real y = 0; algorithm while y < x loop y := y + 1; end while;
end endless;
function wrong input Real v[2]; output Real y; algorithm y := v[3]; end wrong;
function unread_default input Real x; output Real y; output Integer info;
protected Real z; Real late = 2*z; algorithm y := x; end unread_default;
function halved "until it is small: recursive" input Real x; output Real y;
algorithm y := if abs(x) < 0.1 then x else halved(x/2); end halved;
function placed "in a table, from where the last search ended"
  input Real t[:]; input Real x; input Integer last; output Integer next = last;
algorithm while next < size(t, 1) and x >= t[next] loop next := next + 1; end while; end placed;
function counted input Integer n; output Integer k = 0;
algorithm for i in 1:n loop k := k + mod(i, 3); end for; end counted;
function stored input Integer n; output Real x[n];
algorithm for i in 1:n loop x[i] := i^2; end for; end stored;
"""


@pytest.fixture
def evaluator() -> Evaluator:
    twins: dict[str, Any] = {
        "c_split": lambda e, a: Written({1: ex.call("rem", a[0], ex.ONE)}, ex.call("floor", a[0])),
        "c_direct": lambda e, a: ex.mul(a[0], ex.const(3.0)),
    }
    return evaluator_of(FUNCTIONS, {"x": ex.name("x"), "y": ex.name("y")}, twins)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("line(1)", 5.0),
        ("line(1, offset = 3)", 7.0),
        ("line(2, slope = 1)", 4.0),
        ("line(slope = 1, x = 4, offset = 0)", 4.0),
        ("both(3)", (6.0, 9.0)),
        ("1 + both(3)", 7.0),
        ("both({1, 2})", ([2.0, 4.0], [1.0, 4.0])),
        ("both(zeros(0))", ([], [])),
        ("line({1, 2}, offset = {0, 1})", [1.0, 5.0]),
        ("line([1, 2; 3, 4])", [[5.0, 8.0], [11.0, 14.0]]),
        ("norm({3, 4})", 5.0),
        ("norm([3, 4; 6, 8])", [5.0, 10.0]),
        ("norm(zeros(0))", 0.0),
        ("factorial(5)", 120.0),
        ("early(-3)", 3.0),
        ("early(3)", 4.0),
        ("search({1, 5, 7}, 4)", 2.0),
        ("search({1, 5, 7}, 9)", 0.0),
        ("root(2)", math.sqrt(2)),
        ("reversed({1, 2, 3})", [3.0, 2.0, 1.0]),
        ("reversed(zeros(0))", []),
        ("cumulated({1, 2, 3})", [1.0, 3.0, 6.0]),
        ("integral(function cube(k = 4), 0, 2)", 14.0),
        ("integral(function line(slope = 2, offset = 0), 0, 1)", 1.0),
        ("integral(sine, 0, 1, n = 1)", math.sin(0.5)),
        ("passed(function cube(k = 8))", 1.0),
        ("slope(2, 5)", 60.0),
        ("Point(1)", {"x": 1.0, "y": 2.0}),
        ("Point({1, 2}).y", [2.0, 4.0]),
        ("Point(y = 3, x = 1)", {"x": 1.0, "y": 3.0}),
        ("moved(Point(1))", {"x": 2.0, "y": 2.0}),
        (
            "path()",
            {"points": [{"x": 1.0, "y": 5.0}, {"x": 2.0, "y": 10.0}], "length": 1.0},
        ),
        ("unread_default(3)", (3.0, None)),
        ("split(3.25)", (3.0, 0.25)),
        ("c_direct(2)", 6.0),
        ("sine({0, 1})", [0.0, math.sin(1)]),
    ],
)
def test_values(evaluator: Evaluator, text: str, value: Any) -> None:
    found = number_of(text, evaluator)
    assert found == value if not isinstance(value, float) else found == pytest.approx(value)


@pytest.mark.parametrize("x", [-2.0, 0.5, 3.0])
def test_branches_and_exits_of_the_run_are_choices(evaluator: Evaluator, x: float) -> None:
    assert plain(value_of("early(x)", evaluator), {"x": x}) == (-x if x < 0 else 1 + x)
    found = plain(value_of("search({1, 2, 3}, x)", evaluator), {"x": x})
    assert found == next((k for k in (1, 2, 3) if k > x), 0)
    assert plain(value_of("slope(x, 2)", evaluator), {"x": x}) == pytest.approx(6 * x * x)


def test_assertions_count_where_their_branch_is_taken(evaluator: Evaluator) -> None:
    value_of("if y > 0 then checked(x) else 0", evaluator)
    strict, mild = evaluator.assertions.values()
    assert not strict.warning
    assert mild.warning
    assert strict.message == "x is {x}"
    points = [(1, 1), (-1, 1), (-1, -1), (20, 1), (20, -1)]
    assert [plain(strict.condition, {"x": x, "y": y}) for x, y in points] == [1, 0, 1, 1, 1]
    assert [plain(mild.condition, {"x": x, "y": y}) for x, y in points] == [1, 1, 1, 0, 1]
    value_of("checked(x)", evaluator)
    assert len(evaluator.assertions) == 4


def test_equal_calls_are_written_out_once(evaluator: Evaluator) -> None:
    assert value_of("cumulated({x, y})", evaluator) is value_of("cumulated({x, y})", evaluator)


def test_calls_without_a_result_are_noted(evaluator: Evaluator) -> None:
    assert value_of("says(x) + says(y)", evaluator) is ex.add(ex.name("x"), ex.name("y"))
    assert evaluator.notes == ["a call without a result is left out: printed"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("line()", "without its argument 'x'"),
        ("line(1, 2, 3, 4)", "takes 3 arguments"),
        ("line(1, x = 2)", "no .other. input 'x'"),
        ("line(1, z = 2)", "no .other. input 'z'"),
        ("line({1, 2}, offset = {1, 2, 3})", "different sizes"),
        ("norm(1)", "array of 1 dimensions"),
        ("wrong({1, 2, 3})", "is given 3 elements"),
        ("wrong({1, 2})", r"outside 1:2 \[in wrong, \d+:\d+\]"),
        ("hidden(1)", "'secret' of language C"),
        ("stops(1)", "terminate"),
        ("waits(1)", "'when' in a function"),
        ("forgets(1)", "without a value for its output 'y'"),
        ("unread(1)", "'z', read before it has a value"),
        ("endless(x)", "while-loop whose number of rounds"),
        ("integral(3, 0, 1)", "a function is needed here"),
        ("integral(function cube(l = 3), 0, 1)", "no input 'l'"),
        ("factorial(100)", "nested more than 60"),
    ],
)
def test_mistakes_are_told(evaluator: Evaluator, text: str, message: str) -> None:
    with pytest.raises((SourceError, UnsupportedError, ValueMismatch), match=message):
        value_of(text, evaluator)


def test_a_while_loop_that_parameters_end() -> None:
    evaluator = evaluator_of(
        FUNCTIONS,
        {"p": ex.name("p")},
        variables={"p": Variable(Kind.REAL, Variability.PARAMETER)},
        bindings={"p": ex.const(3.0)},
    )
    assert number_of("endless(p)", evaluator) == 3.0
    assert set(evaluator.parameters.evaluated) == {"p"}


@pytest.mark.parametrize("last", [1, 2, 4])
@pytest.mark.parametrize("x", [-1.0, 0.0, 1.5, 2.0, 9.0])
def test_a_search_in_a_table_ends_with_the_table(evaluator: Evaluator, last: int, x: float) -> None:
    evaluator.names.values["last"] = ex.name("last")  # type: ignore[attr-defined]
    found = plain(value_of("placed({0, 1, 2, 3}, x, last)", evaluator), {"x": x, "last": last})
    assert found == next((k for k in range(last, 4) if x < k - 1), 4)


def test_a_recursion_that_parameters_end() -> None:
    evaluator = evaluator_of(
        FUNCTIONS,
        {"p": ex.name("p"), "x": ex.name("x")},
        variables={"p": Variable(Kind.REAL, Variability.PARAMETER)},
        bindings={"p": ex.const(3.0)},
    )
    assert number_of("halved(p)", evaluator) == 3.0 / 32
    assert set(evaluator.parameters.evaluated) == {"p"}
    with pytest.raises(UnsupportedError, match="nested more than 60"):
        value_of("halved(x)", evaluator)


def test_a_call_can_stay_a_call() -> None:
    class Keeping(Evaluator):
        def kept_call(self, function: Any, values: Any) -> Any:
            return ex.name(f"{function.name}({values['a']})") if function.name == "root" else None

    small = evaluator_of(FUNCTIONS, {"x": ex.name("x")})
    keeping = Keeping(small.names)
    kept = value_of("1 + root(2)", keeping)
    assert isinstance(kept, Expression)
    assert kept.operands[1].op == "name"


def test_long_loops_of_numbers_are_quick(evaluator: Evaluator) -> None:
    began = time.perf_counter()
    assert number_of("counted(10000)", evaluator) == sum(i % 3 for i in range(1, 10001))
    assert number_of("stored(2000)", evaluator)[-1] == 4e6
    assert time.perf_counter() - began < 5.0  # 0.5 s where nothing else runs


# --- algorithms of models ------------------------------------------------------------------------


def body_of(text: str) -> tuple[tree.Equation, ...]:
    source = tree.Source(f"model M algorithm {text} end M;")
    body = parse_file(source).classes[0].body
    assert body is not None
    return body.sections[0].body


def frame_after(evaluator, body, scope, frame):
    """The frame after an algorithm of a model whose variables are the names of `frame`."""
    with evaluator.algorithm(frozenset(frame)):
        return statements.body_after(evaluator, body, scope, frame)


def test_algorithms_of_models_know_variables_by_name(evaluator: Evaluator) -> None:
    frame = {"a": ex.name("a"), "v": as_value([ex.name("v[1]"), ex.name("v[2]")])}
    evaluator.names.values.update(frame)  # type: ignore[attr-defined]
    body = body_of("a := a + 1; a := 2*a + pre(a); for i in 1:2 loop v[i] := i*pre(v[i]); end for;")
    after = frame_after(evaluator, body, None, frame)
    doubled = ex.mul(ex.const(2.0), ex.add(ex.name("a"), ex.ONE))
    assert after["a"] is ex.add(doubled, ex.pre("a"))
    assert after["v"].tolist() == [ex.pre("v[1]"), ex.mul(ex.const(2.0), ex.pre("v[2]"))]  # type: ignore[union-attr]
    assert frame["a"] is ex.name("a")


def test_elements_of_the_run_are_assigned_by_choices(evaluator: Evaluator) -> None:
    frame = {"v": as_value([1, 2, 3]), "i": ex.name("i")}
    after = frame_after(evaluator, body_of("v[i] := 9;"), None, frame)
    assert [plain(after["v"], {"i": k}) for k in (1, 3)] == [[9, 2, 3], [1, 2, 9]]


def test_slices_and_fields_are_assigned(evaluator: Evaluator) -> None:
    frame = {
        "m": as_value([[1, 2, 3], [4, 5, 6]]),
        "r": Record({"a": ex.ONE, "b": as_value([1, 2])}, "R"),
        "p": as_value([Record({"x": ex.ONE}, "P"), Record({"x": ex.ONE}, "P")]),
        "e": as_value([]),
    }
    body = body_of(
        "m[1, :] := {7, 8, 9}; m[2, {1, 3}] := {0, 0}; m[:, 2] := m[:, 2] + {1, 1};"
        "r.b[2] := 5; p[2].x := 3; p[1:2].x := {p[1].x + 1, p[2].x + 1}; e[:] := zeros(0);"
    )
    after = frame_after(evaluator, body, None, frame)
    assert plain(after["m"]) == [[7, 9, 9], [0, 6, 0]]
    assert plain(after["r"]) == {"a": 1, "b": [1, 5]}
    assert plain(after["p"]) == [{"x": 2}, {"x": 4}]
    assert isinstance(after["r"], Record)
    assert after["r"].type == "R"
    assert plain(frame["m"]) == [[1, 2, 3], [4, 5, 6]]


def test_statements_of_models_are_handed_on(evaluator: Evaluator) -> None:
    seen = []

    def other(statement: tree.Equation, scope: object, frame: Any) -> bool:
        seen.append(type(statement))
        frame["a"] = ex.ONE
        return True

    evaluator.other_statement = other
    body = body_of("when a > 1 then a := 2; end when; if x > 0 then reinit(a, 1); end if;")
    after = frame_after(evaluator, body, None, {"a": ex.name("a")})
    assert seen == [tree.When, tree.CallEquation]
    assert after["a"] is ex.ONE
