"""Input pieces: common breakpoints, slopes, merged runs."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.base.errors import ModelError
from estimica.base.signals import as_signal
from estimica.simulate.inputs import inputs_at, pieces_of, signals_of


def test_pieces_reproduce_every_signal():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 10, 30))
    signals = [
        as_signal("a", (t, rng.normal(size=30))),
        as_signal("b", {"time": t + 0.1, "value": rng.normal(size=30), "hold": "linear"}),
        as_signal("c", 2.5),
    ]
    pieces = pieces_of(signals, 0.0, 12.0)
    for time in np.concatenate([rng.uniform(0, 12, 200), t]):
        np.testing.assert_allclose(
            inputs_at(pieces, time), [s.at(np.array([time]))[0] for s in signals], atol=1e-12
        )


def test_constant_runs_are_merged():
    pieces = pieces_of([as_signal("a", (np.arange(100), np.repeat([1.0, 2.0], 50)))], 0, 100)
    assert pieces.starts.tolist() == [0, 50]


def test_stamps_before_the_begin_are_passed_over():
    pieces = pieces_of([as_signal("a", ([0, 1, 2], [1, 2, 3]))], 1.5, 5)
    assert pieces.starts.tolist() == [1.5, 2]
    assert pieces.values.ravel().tolist() == [2, 3]


def test_a_million_stamps_are_no_trouble():
    t = np.arange(1_000_000.0)
    pieces = pieces_of([as_signal("a", (t, np.sin(t)))], 0, 1e6)
    assert len(pieces.starts) == 1_000_000


def test_an_unknown_input_is_named_with_a_suggestion():
    with pytest.raises(ModelError, match="no input 'valv'; did you mean 'valve'"):
        signals_of(["valve", "fuel"], {"valv": 1.0}, {"valve": 0.0, "fuel": 0.0})


def test_inputs_not_given_keep_their_start_value():
    signals = signals_of(["valve", "fuel"], {"fuel": 1.0}, {"valve": 0.7, "fuel": 0.0})
    assert [s.value[0] for s in signals] == [0.7, 1.0]
