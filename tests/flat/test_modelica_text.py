"""Expressions as Modelica text: brackets where needed, and the same value when read again."""

from __future__ import annotations

import re

import pytest

from estimica.flat import expression as ex
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import identifier, write_equation, write_expression, write_truth
from estimica.flat.system import Equation

A, B, C = ex.name("a"), ex.name("b"), ex.name("c")

TEXTS: list[tuple[Expression, str]] = [
    (ex.sub(A, ex.sub(B, C)), "a - (b - c)"),
    (ex.sub(ex.sub(A, B), C), "a - b - c"),
    (ex.add(A, ex.neg(B)), "a - b"),
    (ex.mul(A, ex.neg(B)), "a*(-b)"),
    (ex.neg(ex.mul(A, B)), "-a*b"),
    (ex.neg(ex.add(A, B)), "-(a + b)"),
    (ex.div(A, ex.mul(B, C)), "a/(b*c)"),
    (ex.div(ex.div(A, B), C), "a/b/c"),
    (ex.mul(ex.add(A, B), C), "(a + b)*c"),
    (ex.power(ex.neg(A), ex.const(2.0)), "(-a)^2"),
    (ex.neg(ex.power(A, ex.const(2.0))), "-a^2"),
    (ex.power(ex.power(A, B), C), "(a^b)^c"),
    (ex.power(A, ex.const(-1.0)), "a^(-1)"),
    (ex.mul(ex.const(-2.0), A), "(-2)*a"),
    (ex.add(A, ex.const(-2.0)), "a + (-2)"),
    (ex.conditional(ex.relation("lt", A, B), A, B), "if a < b then a else b"),
    (ex.add(ex.conditional(A, B, C), ex.ONE), "(if a then b else c) + 1"),
    (ex.logical_and(ex.logical_or(A, B), ex.logical_not(C)), "(a or b) and not c"),
    (ex.logical_not(ex.logical_and(A, B)), "not (a and b)"),
    (ex.relation("ne", ex.add(A, B), C), "a + b <> c"),
    (ex.call("idiv", A, B), "div(a, b)"),
    (ex.node("smooth", A, ex.ONE), "smooth(1, a)"),
    (ex.node("sample", ex.ZERO, ex.const(0.1)), "sample(0, 0.1)"),
    (ex.der("a.b[1]"), "der('a.b[1]')"),
    (ex.pre("a"), "pre(a)"),
    (ex.logical_and(ex.INITIAL, ex.relation("ge", ex.TIME, A)), "initial() and time >= a"),
    (ex.const(0.1), "0.1"),
    (ex.const(1e300), "1e+300"),
]


@pytest.mark.parametrize(("e", "text"), TEXTS, ids=[t for _, t in TEXTS])
def test_text(e: Expression, text: str) -> None:
    assert write_expression(e) == text


@pytest.mark.parametrize(
    "e",
    [e for e, _ in TEXTS if not {x.op for x in ex.walk(e)} & {"der", "pre", "sample", "smooth"}],
)
def test_text_has_the_value_of_the_expression(e: Expression) -> None:
    point = {"a": 1.25, "b": 0.5, "c": -3.0}
    text = write_expression(e).replace("^", "**").replace("<>", "!=").replace("initial()", "True")
    text = re.sub(r"if (.*?) then (.*?) else ([^)]*)", r"(\2) if (\1) else (\3)", text)
    names = {**point, "time": 2.0, "div": lambda x, y: int(x / y)}
    found = float(eval(text, {"__builtins__": {}}, names))
    assert found == pytest.approx(
        evaluate(e, values=EvaluationPoint(point, time=2.0, initial=True))
    )


def test_numbers_read_back_exactly() -> None:
    for value in (1 / 3, 1e-300, 123456789.123456789, -0.1, 2.0**60):
        assert float(write_expression(ex.const(value))) == value


def test_infinity_is_refused() -> None:
    with pytest.raises(ValueError, match="inf has no Modelica text"):
        write_expression(ex.const(float("inf")))


def test_identifiers_are_quoted_where_they_must() -> None:
    assert identifier("x1") == "x1"
    assert identifier("a.b[2]") == "'a.b[2]'"
    assert identifier("when") == "'when'"
    assert identifier("$pre(x)") == "'$pre(x)'"
    assert identifier("it's") == "'it\\'s'"


def test_equation_and_truth() -> None:
    assert write_equation(Equation(ex.der("x"), ex.neg(A))) == "der(x) = -a"
    assert write_equation(Equation(ex.conditional(A, B, C), ex.ZERO)) == "(if a then b else c) = 0"
    assert write_truth(ex.ONE) == "true"
    assert write_truth(ex.logical_not(A)) == "not a"


def test_modes_are_written_as_told() -> None:
    e = ex.conditional(ex.node("mode", 3), A, B)
    assert write_expression(e, modes={3: "a > 0"}) == "if (a > 0) then a else b"


def test_table_is_a_chain_of_lines() -> None:
    points = (ex.ZERO, ex.ZERO, ex.ONE, ex.const(2.0), ex.const(2.0), ex.const(3.0))
    text = write_expression(ex.node("table", A, *points))
    assert text == (
        "noEvent(if a < 1 then 0 + (2 - 0)/(1 - 0)*(a - 0) else 2 + (3 - 2)/(2 - 1)*(a - 1))"
    )
