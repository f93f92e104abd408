"""Signals: holds, jumps, splines as straight pieces, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimica.base.errors import ModelError
from estimica.base.signals import Hold, Signal, as_signal

TIMES = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 3.0, 9.0])


def test_previous_keeps_a_sample_until_the_next_stamp():
    s = as_signal("u", ([0, 1, 3], [5, 6, 7]))
    assert list(s.at(TIMES)) == [5, 5, 5, 6, 6, 7, 7]


def test_linear_interpolates_and_holds_the_ends():
    s = as_signal("u", {"time": [0, 1, 3], "value": [0, 2, 0], "hold": "linear"})
    np.testing.assert_allclose(s.at(TIMES), [0, 0, 1, 2, 1.5, 0, 0])


def test_two_samples_at_one_stamp_are_a_jump_and_the_later_one_holds():
    s = as_signal("u", {"time": [0, 1, 1, 2], "value": [0, 1, 5, 5], "hold": "linear"})
    np.testing.assert_allclose(s.at(np.array([0.5, 1.0, 1.5])), [0.5, 5, 5])


def test_a_spline_becomes_straight_pieces_within_its_tolerance():
    t = np.linspace(0, 2 * np.pi, 15)
    s = as_signal("u", {"time": t, "value": np.sin(t), "hold": "spline"})
    fine = np.linspace(0, 2 * np.pi, 4001)
    pieces = s.refined(1e-6)
    assert pieces.hold is Hold.LINEAR
    assert np.abs(pieces.at(fine) - s.at(fine)).max() < 2e-6
    assert np.abs(s.at(fine) - np.sin(fine)).max() < 2e-3


def test_series_and_numbers_are_signals():
    assert list(as_signal("u", pd.Series([1.0, 2.0], index=[0.0, 1.0])).value) == [1, 2]
    assert as_signal("u", 3).at(TIMES).tolist() == [3] * 7
    assert as_signal("u", Signal.constant(4)).value[0] == 4


def test_nan_means_not_sampled():
    s = as_signal("u", ([0, 1, 2], [1, np.nan, 3]))
    assert list(s.time) == [0, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("three", "is not a number"),
        (float("nan"), "not finite"),
        (([0, 1], [1]), "2 times but 1 values"),
        (([0, 2, 1], [1, 1, 1]), "time goes back from 2 to 1"),
        (([], []), "no samples"),
        ({"time": [0], "vale": [1]}, "did you mean 'value'"),
        ({"time": [0], "value": [1], "hold": "cubic"}, "none of previous, linear, spline"),
        ({"time": [0, 0], "value": [1, 2], "hold": "spline"}, "a spline cannot jump"),
        ((["a"], [1]), "give numbers"),
    ],
)
def test_wrong_signals_are_named(given, message):
    with pytest.raises(ModelError, match=message):
        as_signal("u", given)
