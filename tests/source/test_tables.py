"""Tables of the standard library's kinds as expressions, against interpolation by others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator

from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.interpreter.external_functions import (
    Extrapolation,
    Smoothness,
    Table,
    interpolate,
)

X = np.array([0.0, 1.0, 2.5, 3.0, 5.0])
Y = np.array([1.0, 3.0, 2.0, 2.5, -1.0])
INSIDE = np.linspace(0.0, 5.0, 41)

EMPTY = {
    "predefined_types": {"real": 0, "integer": 1, "boolean": 2, "string": 3},
    "effective_types": {},
    "enumeration_type_roots": [],
    "variables": {},
    "variable_type_names": {},
    "enum_literal_ordinals": {},
    "functions": {},
}


class Made:
    """A table as an expression in u, with what the decoder remembered on the way."""

    def __init__(self, x, y, smoothness, extrapolation=Extrapolation.LAST_TWO_POINTS) -> None:
        self.interpreter = Interpreter(EMPTY)
        table = Table(tuple(map(ex.const, x)), tuple(map(ex.const, y)), smoothness, extrapolation)
        self.expression = interpolate(self.interpreter, table, ex.name("u"))

    def __call__(self, u: float) -> float:
        helpers = {n: evaluate(b) for n, b in self.interpreter.helpers.items()}
        return evaluate(self.expression, {"u": u, **helpers})


def test_linear_segments() -> None:
    table = Made(X, Y, Smoothness.LINEAR)
    for u in INSIDE:
        assert table(u) == pytest.approx(np.interp(u, X, Y))
    assert table(-1.0) == pytest.approx(-1.0)
    assert table(6.0) == pytest.approx(-2.75)


def test_constant_segments_hold_from_each_point_on() -> None:
    table = Made(X, Y, Smoothness.CONSTANT, Extrapolation.HOLD)
    assert [table(u) for u in (-1.0, 0.0, 0.99, 1.0, 2.7, 5.0, 9.0)] == [1, 1, 1, 3, 2, -1, -1]


def test_akima_spline() -> None:
    table = Made(X, Y, Smoothness.AKIMA)
    reference = Akima1DInterpolator(X, Y)
    for u in INSIDE:
        assert table(u) == pytest.approx(float(reference(u)), abs=1e-12)


def test_modified_akima_spline() -> None:
    table = Made(X, Y, Smoothness.MODIFIED_AKIMA)
    reference = Akima1DInterpolator(X, Y, method="makima")
    for u in INSIDE:
        assert table(u) == pytest.approx(float(reference(u)), abs=1e-12)


@pytest.mark.parametrize("smoothness", [Smoothness.FRITSCH_BUTLAND, Smoothness.STEFFEN])
def test_monotone_splines_pass_the_points_and_never_overshoot(smoothness: Smoothness) -> None:
    table = Made(X, Y, smoothness)
    for x, y in zip(X, Y, strict=True):
        assert table(x) == pytest.approx(y)
    for x0, x1, y0, y1 in zip(X, X[1:], Y, Y[1:], strict=False):
        values = [table(u) for u in np.linspace(x0, x1, 30)]
        assert min(values) >= min(y0, y1) - 1e-12
        assert max(values) <= max(y0, y1) + 1e-12


@pytest.mark.parametrize("smoothness", [Smoothness.AKIMA, Smoothness.STEFFEN])
def test_splines_go_straight_on_beyond_their_ends(smoothness: Smoothness) -> None:
    table = Made(X, Y, smoothness)
    slope = (table(5.0) - table(5.0 - 1e-6)) / 1e-6
    assert table(7.0) == pytest.approx(table(5.0) + 2.0 * slope, abs=1e-4)


def test_periodic_extrapolation() -> None:
    table = Made(X, Y, Smoothness.LINEAR, Extrapolation.PERIODIC)
    assert table(6.0) == pytest.approx(table(1.0))
    assert table(-3.0) == pytest.approx(table(2.0))


def test_no_extrapolation_is_asserted() -> None:
    table = Made(X, Y, Smoothness.LINEAR, Extrapolation.NONE)
    (assertion,) = table.interpreter.assertions.values()
    assert evaluate(assertion.condition, {"u": 4.0}) == 1.0
    assert evaluate(assertion.condition, {"u": 5.5}) == 0.0


def test_a_jump_takes_the_later_value_from_the_point_on() -> None:
    table = Made([0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 5.0], Smoothness.LINEAR)
    assert [table(u) for u in (0.5, 1.0, 1.5, 2.0)] == [0.5, 5.0, 5.0, 5.0]


def test_one_row_is_a_constant() -> None:
    assert Made([3.0], [7.0], Smoothness.AKIMA)(100.0) == 7.0


def test_table_values_stay_parameters() -> None:
    interpreter = Interpreter(EMPTY)
    points = tuple(ex.name(f"y[{i}]") for i in range(5))
    table = Table(tuple(map(ex.const, X)), points, Smoothness.LINEAR, Extrapolation.LAST_TWO_POINTS)
    value = interpolate(interpreter, table, ex.name("u"))
    assert ex.names_in(value) == {"u", *(p.target for p in points)}
