"""Intervals hold every value that an expression takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimica.flat.intervals import EVERYTHING, Interval, value_range
from estimica.source.formula import parse_formula

BOX = {"x": (-1.5, 2.0), "y": (0.2, 3.0), "n": (-4.0, -0.5)}
FORMULAS = [
    "x + y", "x - y*n", "x*x", "x^2", "x^3", "y^(-2)", "n^3 + x^4", "x/y", "y/n", "1/(x + 5)",
    "exp(x)*log(y)", "sqrt(y) - sqrt(x)", "abs(x) + abs(n)", "sin(3*x)*cos(y)", "y^0.5", "y^x",
    "if x > 0 then y else n", "min(x, y) + max(x, n)", "atan(10*x) + tanh(n)", "log10(y)^2",
    "(x - y)^2 + (n + 2)^2 - 0.3*x*y*n", "floor(x) + ceil(y) + sign(n)", "asin(x)", "tan(x)",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_no_value_lies_outside(text: str) -> None:
    formula = parse_formula(text, "test")
    rng = np.random.default_rng(7)
    low, high = value_range(formula.expression, BOX)
    names = {n: a + (b - a) * rng.random(20_000) for n, (a, b) in BOX.items()}
    names = {n: np.append(v, [*BOX[n]]) for n, v in names.items()}
    values = np.broadcast_to(
        np.asarray(formula.at({n: names[n] for n in formula.names})), names["x"].shape
    )
    values = values[np.isfinite(values)]
    assert len(values)
    assert low <= values.min()
    assert values.max() <= high


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("x^2", (0.0, 4.0)),
        ("y*n", (-12.0, -0.1)),
        ("1/y", (1 / 3, 5.0)),
        ("2*x - 3", (-6.0, 1.0)),
        ("exp(-y)", (math.exp(-3), math.exp(-0.2))),
        ("sqrt(x)", (0.0, math.sqrt(2))),
        ("log(-n)", (math.log(0.5), math.log(4))),
    ],
)
def test_a_formula_in_which_each_name_stands_once_has_its_exact_range(
    text: str, exact: Interval
) -> None:
    assert value_range(parse_formula(text, "test").expression, BOX) == pytest.approx(exact)


def test_what_is_not_known_is_everything_and_what_has_no_value_nothing() -> None:
    def of(text: str, **names: Interval) -> Interval:
        return value_range(parse_formula(text, "test").expression, names)

    assert of("x", y=(0.0, 1.0)) == EVERYTHING
    assert of("1/x", x=(-1.0, 1.0)) == EVERYTHING
    low, high = of("sqrt(x)", x=(-2.0, -1.0))
    assert low > high
    low, high = of("exp(x)", x=(1000.0, 2000.0))
    assert 1e300 < low < high == math.inf
    assert of("x*y", x=(0.0, 1.0), y=EVERYTHING) == EVERYTHING
    assert of("x + y", x=(1.0, math.inf), y=(0.0, math.inf))[0] == pytest.approx(1.0)
