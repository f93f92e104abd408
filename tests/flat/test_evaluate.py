"""Numbers for expressions."""

from __future__ import annotations

import math

from estimica.flat import expression as ex
from estimica.flat.evaluate import EvaluationPoint, evaluate

X, B = ex.name("x"), ex.name("b")


def test_arithmetic_and_choices() -> None:
    e = ex.conditional(ex.relation("gt", X, ex.ONE), ex.call("sqrt", X), ex.neg(X))
    assert evaluate(e, {"x": 4.0}) == 2.0
    assert evaluate(e, {"x": 0.5}) == -0.5


def test_leaves_of_events() -> None:
    values = EvaluationPoint({"b": 1.0}, {"x": 3.0}, {"b": 0.0}, time=2.0, initial=True)
    assert evaluate(ex.node("edge", B), values=values) == 1.0
    assert evaluate(ex.node("change", B), values=values) == 1.0
    assert evaluate(ex.add(ex.der("x"), ex.TIME), values=values) == 5.0
    assert evaluate(ex.logical_and(ex.INITIAL, ex.logical_not(ex.TERMINAL)), values=values) == 1.0
    assert evaluate(ex.node("sample", ex.ZERO, ex.const(0.5)), values=values) == 1.0
    assert evaluate(ex.node("sample", ex.ZERO, ex.const(0.3)), values=values) == 0.0


def test_what_is_undefined_is_not_a_number() -> None:
    assert math.isnan(evaluate(ex.call("log", X), {"x": -1.0}))
