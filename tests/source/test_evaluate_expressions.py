"""Expressions of the syntax tree as values: operators, texts, arrays, built-in functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.source.small_model import Variable, evaluator_of, number_of, plain, value_of

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Origin, Variability
from estimica.source.evaluate.values import Record, ValueMismatch, is_array


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3 - 4/8", 6.5),
        ("-2^2", -4.0),
        ("2^3", 8.0),
        ("1 < 2 and not 3 <= 2", 1.0),
        ("1 == 2 or 1 <> 2", 1.0),
        ("if 1 > 2 then 5 elseif 2 > 1 then 6 else 7", 6.0),
        ("{1, 2, 3}", [1.0, 2.0, 3.0]),
        ("{{1, 2}, {3, 4}}", [[1.0, 2.0], [3.0, 4.0]]),
        ("1:3", [1.0, 2.0, 3.0]),
        ("1:-1:-1", [1.0, 0.0, -1.0]),
        ("3:1", []),
        ("0:0.1:0.3", [0.0, 0.1, 0.2, 0.30000000000000004]),
        ("{1, 2} + {3, 4}", [4.0, 6.0]),
        ("{1, 2} * {3, 4}", 11.0),
        ("{1, 2} .* {3, 4}", [3.0, 8.0]),
        ("2 * {3, 4}", [6.0, 8.0]),
        ("{3, 4} / 2", [1.5, 2.0]),
        ("{1, 2} .^ 2", [1.0, 4.0]),
        ("[1, 2; 3, 4] * {1, 1}", [3.0, 7.0]),
        ("{1, 1} * [1, 2; 3, 4]", [4.0, 6.0]),
        ("[1, 2; 3, 4] * [0, 1; 1, 0]", [[2.0, 1.0], [4.0, 3.0]]),
        ("[1, 1; 0, 1]^3", [[1.0, 3.0], [0.0, 1.0]]),
        ("not {true, false}", [0.0, 1.0]),
        ("-{1, 2}", [-1.0, -2.0]),
        ("{1, 2, 3}[end]", 3.0),
        ("{1, 2, 3}[{1, 3}]", [1.0, 3.0]),
        ("[1, 2; 3, 4][:, 2]", [2.0, 4.0]),
        ("[1, 2; 3, 4][end, 1:end]", [3.0, 4.0]),
    ],
)
def test_operators(text: str, value: Any) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[{1, 2}, {3, 4}]", [[1.0, 3.0], [2.0, 4.0]]),
        ("[1, 2; 3, 4]", [[1.0, 2.0], [3.0, 4.0]]),
        ("[[1, 2; 3, 4], {5, 6}]", [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]),
        ("[zeros(0, 2); 1, 2]", [[1.0, 2.0]]),
        ("[zeros(2, 0), {1, 2}]", [[1.0], [2.0]]),
        ("[{1, 2}; zeros(0)]", [[1.0], [2.0]]),
        ("size([fill(1, 2, 3, 4), fill(1, 2, 1, 4)])", [2.0, 4.0, 4.0]),
        ("cat(1, {1}, {2, 3})", [1.0, 2.0, 3.0]),
        ("cat(2, [1; 2], [3; 4])", [[1.0, 3.0], [2.0, 4.0]]),
        ("cat(1, zeros(0, 2), [1, 2])", [[1.0, 2.0]]),
        ("cat(1, zeros(0), {1})", [1.0]),
        ("fill(2, 2, 1)", [[2.0], [2.0]]),
        ("fill({1, 2}, 2)", [[1.0, 2.0], [1.0, 2.0]]),
        ("identity(2)", [[1.0, 0.0], [0.0, 1.0]]),
        ("linspace(1, 2, 3)", [1.0, 1.5, 2.0]),
        ("linspace(1, 2, 1)", [1.0]),
        ("diagonal({1, 2})", [[1.0, 0.0], [0.0, 2.0]]),
        ("transpose([1, 2; 3, 4])", [[1.0, 3.0], [2.0, 4.0]]),
        ("vector([1; 2])", [1.0, 2.0]),
        ("matrix({1, 2})", [[1.0], [2.0]]),
        ("scalar([3])", 3.0),
        ("symmetric([1, 2; 9, 3])", [[1.0, 2.0], [2.0, 3.0]]),
        ("outerProduct({1, 2}, {3, 4})", [[3.0, 4.0], [6.0, 8.0]]),
        ("skew({1, 2, 3})*{4, 5, 6}", [-3.0, 6.0, -3.0]),
        ("cross({1, 2, 3}, {4, 5, 6})", [-3.0, 6.0, -3.0]),
        ("promote({1, 2}, 3)", [[[1.0]], [[2.0]]]),
        ("array(1, 2)", [1.0, 2.0]),
        ("ndims([1, 2])", 2.0),
        ("ndims(1)", 0.0),
        ("size([1, 2; 3, 4])", [2.0, 2.0]),
        ("size(zeros(0, 3), 2)", 3.0),
        ("min({3, 1, 2})", 1.0),
        ("max(3, 4)", 4.0),
        ("max({1, 5}, {4, 2})", [4.0, 5.0]),
        ("sum([1, 2; 3, 4])", 10.0),
        ("product({2, 3, 4})", 24.0),
        ("sum(zeros(0))", 0.0),
        ("product(zeros(0))", 1.0),
        ("zeros(0, 3)*zeros(3)", []),
        ("zeros(2, 0)*zeros(0)", [0.0, 0.0]),
        ("zeros(0)*zeros(0)", 0.0),
        ("zeros(2, 0)*zeros(0, 2)", [[0.0, 0.0], [0.0, 0.0]]),
        ("zeros(0) + zeros(0)", []),
        ("{i^2 for i in 1:3}", [1.0, 4.0, 9.0]),
        ("{10*i + j for i in 1:2, j in 1:3}", [[11.0, 21.0], [12.0, 22.0], [13.0, 23.0]]),
        ("{i for i in 3:1}", []),
        ("array(i for i in {4, 5})", [4.0, 5.0]),
        ("sum(i*j for i in 1:2, j in 1:i)", 7.0),
        ("sum({i, 1} for i in 1:3)", [6.0, 3.0]),
        ("sum(i for i in 2:1)", 0.0),
        ("product(i for i in 1:4)", 24.0),
        ("min(i^2 - 3*i for i in 1:3)", -2.0),
        ("max(i for i in {2, 7, 1})", 7.0),
    ],
)
def test_arrays(text: str, value: Any) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sin(0.5)", math.sin(0.5)),
        ("atan2(1, 2)", math.atan2(1, 2)),
        ("exp({0, 1})", [1.0, math.e]),
        ("div(-7, 2)", -3.0),
        ("mod(-7, 2)", 1.0),
        ("rem(-7, 2)", -1.0),
        ("integer(-1.5)", -2.0),
        ("floor(1.5) + ceil(1.5)", 3.0),
        ("abs(-3)", 3.0),
        ("sign({-2, 0, 2})", [-1.0, 0.0, 1.0]),
        ("semiLinear(-2, 3, 5)", -10.0),
        ("semiLinear(x = 2, positiveSlope = 3, negativeSlope = 5)", 6.0),
        ("homotopy(simplified = 1, actual = 2)", 2.0),
        ("smooth(0, 3)", 3.0),
        ("noEvent(3)", 3.0),
        ("pre(3)", 3.0),
        ("der(3)", 0.0),
        ("edge(true)", 0.0),
    ],
)
def test_built_in_functions(text: str, value: Any) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a" + "b"', "ab"),
        ('"a" == "a"', 1.0),
        ('"a" < "b"', 1.0),
        ('if 1 > 0 then "yes" else "no"', "yes"),
        ("String(2)", "2"),
        ("String(1000000)", "1000000"),
        ("String(1000000.0)", "1e+06"),
        ("String(3.14159265)", "3.14159"),
        ("String(3.14159265, significantDigits = 3)", "3.14"),
        ('String(3.14159265, format = "6.2f")', "  3.14"),
        ("String(2, minimumLength = 4)", "2   "),
        ("String(2, minimumLength = 4, leftJustified = false)", "   2"),
        ("String(2, 4, false)", "   2"),
        ("String(true)", "true"),
        ("String(1 > 2)", "false"),
        ("String(E.second)", "second"),
        ('{"a", "b"} + {"c", "d"}', ["ac", "bd"]),
    ],
)
def test_texts(text: str, value: Any) -> None:
    evaluator = evaluator_of("type E = enumeration(first, second);")
    assert number_of(text, evaluator) == value


def test_a_text_of_the_run_can_be_shown_but_not_compared() -> None:
    evaluator = evaluator_of(values={"x": ex.name("x")})
    assert value_of('"x = " + String(x)', evaluator) == "x = {x}"
    with pytest.raises(ValueMismatch, match="during the run"):
        value_of('String(x) == "1"', evaluator)
    assert isinstance(value_of('if x > 0 then "a" else "b"', evaluator), str)


def test_a_long_sum_is_no_deep_recursion() -> None:
    assert number_of("+".join(["1"] * 5000)) == 5000.0


def test_enumerations_as_ranges_subscripts_and_conversions() -> None:
    evaluator = evaluator_of("type E = enumeration(a, b, c);", {"x": [10, 20, 30], "y": [5, 6]})
    assert number_of("{x[e] for e in E}", evaluator) == [10.0, 20.0, 30.0]
    assert number_of("{x[e] for e in E.b:E.c}", evaluator) == [20.0, 30.0]
    assert number_of("Integer(E.c)", evaluator) == 3.0
    assert number_of("E(2) == E.b", evaluator) == 1.0
    with pytest.raises(ValueMismatch, match="3 values"):
        value_of("E(4)", evaluator)
    assert number_of("y[true] - y[1 > 2]", evaluator) == 1.0
    assert number_of("{y[b] for b in Boolean}", evaluator) == [5.0, 6.0]
    assert number_of("{y[b] for b in false:true}", evaluator) == [5.0, 6.0]
    assert number_of("y[{false, true, true}]", evaluator) == [5.0, 6.0, 6.0]


def test_iterators_without_a_range_follow_their_array() -> None:
    evaluator = evaluator_of(values={"x": [1, 2, 3], "a": [[1, 2], [3, 4], [5, 6]]})
    assert number_of("{2*x[i] for i}", evaluator) == [2.0, 4.0, 6.0]
    assert number_of("sum(a[i, j] for i, j)", evaluator) == 21.0
    assert number_of("sum(a[k, 1] for k)", evaluator) == 9.0
    with pytest.raises(ValueMismatch, match="no range"):
        value_of("{i for i}", evaluator)


def test_subscripts_of_the_run_are_choices() -> None:
    evaluator = evaluator_of(
        values={"i": ex.name("i"), "x": [10, 20, 30], "b": ex.name("b")},
        variables={"b": Variable(Kind.BOOLEAN, Variability.DISCRETE)},
    )
    value = value_of("x[i]", evaluator)
    assert [plain(value, {"i": k}) for k in (1, 2, 3)] == [10.0, 20.0, 30.0]
    value = value_of("x[b]", evaluator)
    assert [plain(value, {"b": k}) for k in (0, 1)] == [10.0, 20.0]


def test_parameters_are_built_in_where_they_select() -> None:
    evaluator = evaluator_of(
        values={"n": ex.name("n"), "p": ex.name("p"), "on": ex.name("on"), "x": [1, 2, 3]},
        variables={
            "n": Variable(Kind.INTEGER, Variability.PARAMETER),
            "on": Variable(Kind.BOOLEAN, Variability.PARAMETER),
            "p": Variable(Kind.REAL, Variability.PARAMETER),
        },
        bindings={"n": ex.const(2.0), "on": ex.const(1.0), "p": ex.const(5.0)},
    )
    assert number_of("x[n]", evaluator) == 2.0
    assert number_of("size(zeros(n + 1), 1)", evaluator) == 3.0
    assert value_of("if on and n > 1 then p else 0", evaluator) is ex.name("p")
    assert set(evaluator.parameters.evaluated) == {"n", "on"}
    kept = value_of("if p > 1 then 2 else 3", evaluator)
    assert isinstance(kept, Expression)
    assert kept.op == "if"
    assert "p" not in evaluator.parameters.evaluated


def test_parameters_in_a_circle_are_told() -> None:
    parameter = Variable(Kind.INTEGER, Variability.PARAMETER)
    evaluator = evaluator_of(
        values={"a": ex.name("a")},
        variables={"a": parameter, "b": parameter},
        bindings={"a": ex.name("b"), "b": ex.name("a")},
    )
    with pytest.raises(SourceError, match="a -> b -> a"):
        value_of("zeros(a)", evaluator)


def test_operators_of_events_and_time() -> None:
    evaluator = evaluator_of(
        values={"x": ex.name("x"), "k": ex.name("k"), "r": Record({"a": ex.name("r.a")}, "R")},
        variables={"k": Variable(Kind.REAL, Variability.PARAMETER)},
    )
    assert value_of("der(x)", evaluator) is ex.der("x")
    assert value_of("der(k*x)", evaluator) is ex.mul(ex.name("k"), ex.der("x"))
    assert value_of("der(r)", evaluator) == {"a": ex.der("r.a")}
    assert value_of("der({x, 2})", evaluator).tolist() == [ex.der("x"), ex.ZERO]  # type: ignore[union-attr]
    assert value_of("der(time^2)", evaluator) is ex.mul(ex.const(2.0), ex.TIME)
    assert value_of("pre(x)", evaluator) is ex.pre("x")
    assert value_of("sample(0, 0.1)", evaluator) is ex.node("sample", ex.ZERO, ex.const(0.1))
    assert value_of("delay(x, 1)", evaluator) is ex.node("delay", ex.name("x"), ex.ONE)
    assert value_of("delay(x, 1, 2)", evaluator) is ex.node(
        "delay", ex.name("x"), ex.ONE, ex.const(2.0)
    )
    assert value_of("initial()", evaluator) is ex.INITIAL
    assert value_of("terminal()", evaluator) is ex.TERMINAL
    assert value_of("Connections.rooted(x)", evaluator) is ex.const(7.0)
    guarded = value_of("noEvent(if x > 0 then 1/x else 0)", evaluator)
    assert isinstance(guarded, Expression)
    assert guarded.op == "noEvent"
    assert guarded.operands[0].op == "if"
    assert evaluate(guarded, {"x": 0.0}) == 0.0
    with pytest.raises(UnsupportedError, match="spatialDistribution"):
        value_of("spatialDistribution(x, x, x, true)", evaluator)


COMPLEX = """
record C Real re; Real im = 0; end C;
function fromReal input Real re; output C r; algorithm r := C(re, 0); end fromReal;
function add input C a; input C b; output C r;
algorithm r := C(a.re + b.re, a.im + b.im); end add;
function subtract input C a; input C b; output C r;
algorithm r := C(a.re - b.re, a.im - b.im); end subtract;
function multiply input C a; input C b; output C r;
algorithm r := C(a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re); end multiply;
function negate input C a; output C r; algorithm r := C(-a.re, -a.im); end negate;
"""


def complex_of(value: Any) -> Any:
    if isinstance(value, list):
        return [complex_of(v) for v in value]
    return complex(value["re"], value["im"])


def test_operators_of_records_are_looked_up() -> None:
    evaluator = evaluator_of(COMPLEX)
    a, b = complex(1, 2), complex(3, -4)
    assert complex_of(number_of("C(1, 2)*C(3, -4)", evaluator)) == a * b
    assert complex_of(number_of("2 + C(1, 2)", evaluator)) == 2 + a
    assert complex_of(number_of("C(1, 2) - 1", evaluator)) == a - 1
    assert complex_of(number_of("-C(1, 2)", evaluator)) == -a
    assert complex_of(number_of("{C(1, 2), C(3, -4)} + {C(1), C(1)}", evaluator)) == [a + 1, b + 1]
    assert complex_of(number_of("2*{C(1, 2), C(3, -4)}", evaluator)) == [2 * a, 2 * b]
    assert complex_of(number_of("{C(1, 2), C(3, -4)}*{C(0, 1), C(2, 0)}", evaluator)) == (
        a * 1j + b * 2
    )
    product = number_of("[C(1, 2), C(3, -4); C(0, 1), C(1)]*{C(1), C(0, 1)}", evaluator)
    assert complex_of(product) == [a + b * 1j, 1j + 1j]
    assert complex_of(number_of("sum({C(1, 2), C(3, -4)})", evaluator)) == a + b
    assert number_of("C(3, -4).im", evaluator) == -4.0
    chosen = value_of(
        "if x > 0 then C(1, 2) else C(3, -4)", evaluator_of(COMPLEX, {"x": ex.name("x")})
    )
    assert isinstance(chosen, Record)
    assert chosen.type == "C"
    assert complex_of(plain(chosen, {"x": 1.0})) == a
    assert complex_of(plain(chosen, {"x": -1.0})) == b


def test_fields_and_subscripts_of_locals() -> None:
    rows = np.empty(2, dtype=object)
    for k in range(2):
        rows[k] = Record({"v": _vector(10 * k + 1, 10 * k + 2), "s": ex.const(k)}, "R")
    frame = {"a": rows, "r": rows[1]}
    assert number_of("a[2].v[1]", frame=frame) == 11.0
    assert number_of("a[:].v[2]", frame=frame) == [2.0, 12.0]
    assert number_of("a.v[2]", frame=frame) == [2.0, 12.0]
    assert number_of("a.v", frame=frame) == [[1.0, 2.0], [11.0, 12.0]]
    assert number_of("r.v[end] + r.s", frame=frame) == 13.0


def _vector(*numbers: float) -> Any:
    result = np.empty(len(numbers), dtype=object)
    result[:] = [ex.const(n) for n in numbers]
    return result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{1, {2}}", "different sizes"),
        ("{1, 2} + {1, 2, 3}", "sizes differ"),
        ("[1, 2]*{1}", "cannot multiply"),
        ("{1, 2}[3]", "outside 1:2"),
        ("{1, 2}[1, 2]", "2 subscripts"),
        ('1 + sin("a")', "a text"),
        ("sin(1, 2)", "takes 1 arguments"),
        ("nothing(1)", "nothing is called 'nothing'"),
        ("zeros(-1)", "size -1"),
        ("zeros(1000, 1000)", "at most"),
        ("1:0:2", "step 0"),
        ("cat(1, [1, 2], [1])", "joined along"),
        ("homotopy(1, 2, 3)", "takes the arguments"),
        ("end", "outside of a subscript"),
        ("cross({1}, {2})", "size 3"),
    ],
)
def test_what_does_not_fit_is_told(text: str, message: str) -> None:
    with pytest.raises((ValueMismatch, SourceError), match=message):
        value_of(text)


def test_a_place_is_added_to_what_does_not_fit() -> None:
    evaluator = evaluator_of()
    with (
        pytest.raises(SourceError, match=r"S012: equation 'x = y' .*outside 1:2"),
        evaluator.at(Origin(text="x = y", file="m.mo", line=3)),
    ):
        value_of("{1, 2}[3]", evaluator)


def test_empty_arrays_keep_their_sizes() -> None:
    for text, shape in (("zeros(0, 3)", (0, 3)), ("transpose(zeros(0, 3))", (3, 0))):
        value = value_of(text)
        assert is_array(value)
        assert value.shape == shape
