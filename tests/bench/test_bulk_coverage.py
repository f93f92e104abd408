"""Experiments that are fitted together have the intervals of those fitted one by one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "interval_coverage"


@pytest.mark.parametrize("model", ["circuit", "growth"])  # the second on a logarithmic scale
def test_intervals_are_those_of_single_fits(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    try:
        from bulk import laboratory, one_by_one, together

        here = laboratory(model, "balanced")
        single, many = one_by_one(here, range(8)), together(here, range(8))
    finally:  # other tools have files of the same names
        for name in ("bulk", "experiments", "plants"):
            sys.modules.pop(name, None)
    assert (single.alone, many.alone) == (8, 0)
    assert many.names == single.names
    error = (single.high - single.low) / 4  # about a standard error
    for name in ("values", "low", "high"):
        assert np.max(np.abs(getattr(many, name) - getattr(single, name)) / error) < 1e-4
    truth = dict(here.plant.truth)
    assert np.array_equal(many.held(truth), single.held(truth))
