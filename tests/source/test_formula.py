"""Formulas of the user's own: what they are worth, their derivatives, and what is refused."""

from __future__ import annotations

import contextlib
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from estimica.base.errors import ModelError, SourceError
from estimica.source.formula import FUNCTIONS, parse_formula

# formula, the same in Python, its derivative by x as a textbook writes it (in Python)
KNOWN: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "sin(x)": (math.sin, math.cos),
    "cos(x)": (math.cos, lambda x: -math.sin(x)),
    "tan(x)": (math.tan, lambda x: 1 / math.cos(x) ** 2),
    "asin(x)": (math.asin, lambda x: 1 / math.sqrt(1 - x * x)),
    "acos(x)": (math.acos, lambda x: -1 / math.sqrt(1 - x * x)),
    "atan(x)": (math.atan, lambda x: 1 / (1 + x * x)),
    "atan2(x, 2)": (lambda x: math.atan2(x, 2), lambda x: 2 / (x * x + 4)),
    "atan2(2, x)": (lambda x: math.atan2(2, x), lambda x: -2 / (x * x + 4)),
    "sinh(x)": (math.sinh, math.cosh),
    "cosh(x)": (math.cosh, math.sinh),
    "tanh(x)": (math.tanh, lambda x: 1 / math.cosh(x) ** 2),
    "exp(x)": (math.exp, math.exp),
    "log(x)": (math.log, lambda x: 1 / x),
    "log10(x)": (math.log10, lambda x: 1 / (x * math.log(10))),
    "sqrt(x)": (math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "abs(x)": (abs, lambda x: 1.0),
    "abs(-3*x)": (lambda x: 3 * x, lambda x: 3.0),
    "sign(x - 2)": (lambda x: -1.0, lambda x: 0.0),
    "min(x, 2*x)": (lambda x: x, lambda x: 1.0),
    "max(x, 2*x)": (lambda x: 2 * x, lambda x: 2.0),
    "floor(7*x)": (lambda x: math.floor(7 * x), lambda x: 0.0),
    "ceil(7*x)": (lambda x: math.ceil(7 * x), lambda x: 0.0),
    "integer(-7*x)": (lambda x: math.floor(-7 * x), lambda x: 0.0),
    "div(-7*x, 2)": (lambda x: math.ceil(-3.5 * x), lambda x: 0.0),
    "mod(-7*x, 2)": (lambda x: -7 * x - 2 * math.floor(-3.5 * x), lambda x: -7.0),
    "rem(-7*x, 2)": (lambda x: -7 * x - 2 * math.ceil(-3.5 * x), lambda x: -7.0),
    "noEvent(x*x)": (lambda x: x * x, lambda x: 2 * x),
    "x + 2 - x/4": (lambda x: 0.75 * x + 2, lambda x: 0.75),
    "-x^2": (lambda x: -x * x, lambda x: -2 * x),
    "x .^ 3 .* 2 ./ 4 .+ 1 .- x": (lambda x: x**3 / 2 + 1 - x, lambda x: 1.5 * x * x - 1),
    "x^4 + x^(-1) + x^(-2) + x^0.5": (
        lambda x: x**4 + 1 / x + 1 / x**2 + math.sqrt(x),
        lambda x: 4 * x**3 - 1 / x**2 - 2 / x**3 + 0.5 / math.sqrt(x),
    ),
    "x^2.5": (lambda x: x**2.5, lambda x: 2.5 * x**1.5),
    "2^x": (lambda x: 2**x, lambda x: 2**x * math.log(2)),
    "x^x": (lambda x: x**x, lambda x: x**x * (math.log(x) + 1)),
    "+x*pi + e": (lambda x: x * math.pi + math.e, lambda x: math.pi),
    "Modelica.Constants.pi*x": (lambda x: math.pi * x, lambda x: math.pi),
    "if x > 1 then x^2 elseif x > 0.1 then 5*x else 0": (lambda x: 5 * x, lambda x: 5.0),
    "if not (x <= 1) or x < 0 and true then 1 else x": (lambda x: x, lambda x: 1.0),
    "if x == 0.3 or x <> 0.7 then x else -x": (lambda x: x, lambda x: 1.0),
    "if noEvent(x >= 0) then x else -x": (lambda x: x, lambda x: 1.0),
    "1.5e1*x // a comment": (lambda x: 15 * x, lambda x: 15.0),
}


@pytest.mark.parametrize("text", KNOWN)
@pytest.mark.parametrize("x", [0.3, 0.55])
def test_value_and_derivative_are_those_of_the_textbook(text: str, x: float) -> None:
    formula = parse_formula(text)
    value, slope = KNOWN[text]
    assert formula.at({"x": x}) == pytest.approx(value(x), rel=1e-14)
    assert formula.partial("x").at({"x": x}) == pytest.approx(slope(x), rel=1e-13)


@pytest.mark.parametrize("text", KNOWN)
def test_derivatives_are_those_of_central_differences(text: str) -> None:
    formula, x, h = parse_formula(text), 0.41, 1e-6
    difference = (formula.at({"x": x + h}) - formula.at({"x": x - h})) / (2 * h)
    assert formula.partial("x").at({"x": x}) == pytest.approx(difference, rel=1e-7, abs=1e-8)


def test_every_function_is_among_those_tested() -> None:
    assert all(any(f"{function}(" in text for text in KNOWN) for function in FUNCTIONS)


def test_names_stand_in_order_of_appearance_as_they_are_written() -> None:
    formula = parse_formula("b*'big name' + a[1, 2]*m.c[3].d + time - b*a[1,2] + 0*z")
    assert formula.names == ("b", "'big name'", "a[1,2]", "m.c[3].d", "time", "z")


def test_constants_in_quotes_are_names() -> None:
    assert parse_formula("'e' + e").names == ("'e'",)


def test_arrays_and_numbers_mix() -> None:
    x = np.linspace(-1, 1, 7)
    value = parse_formula("if x < 0 then a else b*x").at({"x": x, "a": 3, "b": 2.0, "unused": 1})
    np.testing.assert_array_equal(value, np.where(x < 0, 3, 2 * x))


def test_undefined_points_are_nan_without_a_warning() -> None:
    value = parse_formula("log(x) + sqrt(x)").at({"x": np.array([-1.0, 1.0])})
    assert np.isnan(value[0])
    assert value[1] == 1.0
    assert parse_formula("1/x").at({"x": 0.0}) == math.inf


def test_a_number_is_a_formula() -> None:
    assert parse_formula("2*pi").at({}) == 2 * math.pi


def test_mixed_second_derivative() -> None:
    twice = parse_formula("a*exp(-b*x)").partial("a").partial("b")
    assert twice.at({"a": 7, "b": 0.5, "x": 2}) == pytest.approx(-2 * math.exp(-1))
    assert twice.names == ("b", "x")


def test_formulas_and_derivatives_survive_pickling() -> None:
    formula = parse_formula("max(abs(x), b)^c")
    for f in (formula, formula.partial("x"), formula.partial("c")):
        again = pickle.loads(pickle.dumps(f))
        assert again.expression is f.expression or again.text == f.text
        point = {"x": -2.0, "b": 1.0, "c": 1.5}
        assert again.at(point) == f.at(point)


def test_sums_of_thousands_of_terms_are_read() -> None:
    formula = parse_formula(" + ".join(f"a{k}" for k in range(3000)))
    assert formula.at({f"a{k}": 1.0 for k in range(3000)}) == 3000.0


BAD = {
    "": "S043: expression: the formula is empty",
    "a*x**2": "S040: expression: write ^ for the power\n  a*x**2\n     ^",
    "a != b": "S040: expression: write <> for 'is not equal to'\n  a != b\n    ^",
    "a && b": "S040: expression: write 'and'\n  a && b\n    ^",
    "a || b": "S040: expression: write 'or'\n  a || b\n    ^",
    "2 x": "S040: expression: an operator is missing before 'x'\n  2 x\n    ^",
    "(a)(b)": "S040: expression: an operator is missing before '('\n  (a)(b)\n     ^",
    "(a 3)": "S040: expression: an operator is missing before '3'\n  (a 3)\n     ^",
    "sin(x": "S040: expression: ')' is missing at the end\n  sin(x\n       ^",
    "if a > 0 then 1": "S040: expression: 'else' is missing at the end\n  if a > 0 then 1\n                 ^",
    "sin(x))": "S040: expression: ')' closes nothing\n  sin(x))\n        ^",
    "a*-b": "S040: expression: put the sign into brackets, as in a*(-b)\n  a*-b\n    ^",
    "a^b^c": "S040: expression: a power of a power needs brackets, as in (a^b)^c\n  a^b^c\n     ^",
    "y = a": "S040: expression: a formula has no '='; write == to compare\n  y = a\n    ^",
    "a;": "S040: expression: ';' cannot stand here\n  a;\n   ^",
    "a +\n b */ c\n": "S040: expression: '/' cannot stand here\n   b */ c\n      ^",
    "a + then": "S040: expression: 'then' cannot stand here\n  a + then\n      ^",
    "α*x": "S040: expression: 'α' cannot stand here; write a name with other letters in quotes, as in 'α'\n  α*x\n  ^",
    "a +": "S040: expression: it ends too early\n  a +\n     ^",
    "a + arctn(x)": "S040: expression: unknown function 'arctn'; did you mean 'atan' or 'atan2'?\n  a + arctn(x)\n      ^",
    "ln(x)": "S040: expression: unknown function 'ln'; write log for the natural logarithm\n  ln(x)\n  ^",
    "sin(x, y)": "S040: expression: sin takes 1 argument, not 2\n  sin(x, y)\n  ^",
    "min(x)": "S040: expression: min takes 2 arguments, not 1\n  min(x)\n  ^",
    "sin(u=x)": "S040: expression: sin takes its arguments without names\n  sin(u=x)\n  ^",
    "x > 1": "S041: expression: a truth value where a number is needed; write if ... then 1 else 0, in 'x > 1'",
    "if x then 1 else true": "S041: expression: a truth value where a number is needed, in 'if x then 1 else true'",
    "if x + 1 then 2 else 3": "S041: expression: a number where a condition is needed; compare it, as in x > 0, in 'if x + 1 then 2 else 3'",
    'a + "t"': 'S041: expression: the text "t" where a number is needed, in \'a + "t"\'',
    "{1, 2}": "S041: expression: only scalars can be used: no arrays, ranges or lists, in '{1, 2}'",
    "a[i]": "S041: expression: a subscript must be a whole number, as in a[1,2], in 'a[i]'",
    "sin(x)[1]": "S041: expression: an element of something that has no name, in 'sin(x)[1]'",
    "1e999": "S041: expression: a number is too large, in '1e999'",
    "9" * 400: f"S041: expression: a number is too large, in '{'9' * 300}…'",
    "9" * 5000: f"S041: expression: a number is too large, in '{'9' * 300}…'",
    "(" * 5000 + "x" + ")" * 5000: "S042: expression: brackets are nested too deeply",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:25] or "empty")
def test_a_mistake_is_named_with_its_place(text: str) -> None:
    with pytest.raises(SourceError) as error:
        parse_formula(text)
    assert str(error.value) == BAD[text]


def test_an_unknown_function_without_relatives_gives_the_list() -> None:
    with pytest.raises(
        SourceError, match=r"unknown function 'der' \(functions: abs, acos, .*tanh\)"
    ):
        parse_formula("der(x)")


def test_the_message_says_where_the_formula_stands() -> None:
    with pytest.raises(SourceError, match="S040: transform of 'y': it ends too early"):
        parse_formula("log(", "transform of 'y'")


def test_no_text_gives_a_traceback() -> None:
    rng = np.random.default_rng(5)
    pieces = ["a", "b.c", "[1]", "(", ")", "+", "-", "^", "*", "/", "if", "then", "else", "not",
              "and", "<", "==", "sin", "min", ",", "1", "2.5", "'", '"', "{", "}", ":", "true", ".",
              " ", "=", "for", "in", "end", "ü", "\n", "noEvent", "der"]  # fmt: skip
    for _ in range(3000):
        text = "".join(rng.choice(pieces, rng.integers(1, 9)))
        with contextlib.suppress(SourceError):
            parse_formula(text)


def test_a_missing_value_is_named_with_what_it_may_be_called() -> None:
    formula = parse_formula("power*2")
    with pytest.raises(
        ModelError, match=r"^M072: 'power\*2': no value for 'power'; did you mean 'pwer'\?"
    ):
        formula.at({"pwer": 1.0})
    with pytest.raises(ModelError, match=r"no value for 'power' \(given: nothing\)"):
        formula.at({})


def test_arrays_of_different_sizes_are_refused() -> None:
    with pytest.raises(
        ModelError, match=r"^M070: 'a\*b': arrays of different sizes: 'a' \(2,\), 'b' \(3,\)"
    ):
        parse_formula("a*b").at({"a": np.zeros(2), "b": np.zeros(3)})


def test_a_derivative_by_an_absent_name_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^M071: 'b1\*x' has no name 'b2' \(names: b1, x\)"):
        parse_formula("b1*x").partial("b2")
