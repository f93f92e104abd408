"""Numbers that can be computed with: their squares are numbers too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimica.base.errors import TunerError
from estimica.base.magnitude import LARGEST, SMALLEST, is_usable, magnitude_problem
from estimica.estimate.unknowns import Unknown


def test_squares_of_allowed_numbers_are_numbers() -> None:
    assert math.isfinite(1e107 * LARGEST**2)
    assert np.finfo(float).tiny < SMALLEST**2  # with all its digits


@pytest.mark.parametrize("number", [0.0, 1.0, -LARGEST, SMALLEST])
def test_ordinary_numbers_are_no_trouble(number: float) -> None:
    assert not magnitude_problem(number)


@pytest.mark.parametrize("number", [1e101, -1e300, 1e-101, 5e-324])
def test_others_are_told(number: float) -> None:
    assert "to compute with" in magnitude_problem(number)


def test_what_is_infinite_or_missing_does_not_count() -> None:
    values = np.array([0.0, 1e-300, 1e100, 1e101, np.inf, -np.inf, np.nan])
    assert is_usable(values).tolist() == [True] * 3 + [False] * 4


def test_a_model_value_that_is_too_large_is_no_start() -> None:
    with pytest.raises(TunerError, match="too large"):
        Unknown("k", "tuner", 1e200)
    with pytest.raises(TunerError, match="too small"):
        Unknown("k", "tuner", 1e-200, scale=1e-200)
