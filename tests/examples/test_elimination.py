"""The example with replicates, growing noise and a limit of detection finds what it promises."""

from __future__ import annotations

import filecmp
from pathlib import Path

import numpy as np
import pytest
from tests.examples.test_calibration_examples import EXAMPLES, script

import estimica as es

FOLDER = EXAMPLES / "elimination"


def test_its_data_are_made_by_its_script(tmp_path: Path) -> None:
    script(FOLDER / "make_data.py").main(tmp_path)
    assert filecmp.cmp(tmp_path / "blood.csv", FOLDER / "blood.csv", shallow=False)


def test_it_finds_volume_rate_and_noise() -> None:
    truth = script(FOLDER / "make_data.py").TRUTH
    found = es.fit(es.read_study(FOLDER / "elimination.toml"))
    assert found.outcome.ok
    assert found.values[:2] == pytest.approx([20.088, 0.30502], rel=1e-4)  # as its page says
    off = (found.values - [truth[u.label] for u in found.unknowns.items]) / found.accuracy.stderr
    assert np.abs(off).max() < 3
    assert int(found.cases[0].outputs[0].censored.sum()) == 10
