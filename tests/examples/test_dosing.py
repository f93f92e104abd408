"""The example with doses finds what its data were made with."""

from __future__ import annotations

import filecmp
from pathlib import Path

import numpy as np
from tests.examples.test_calibration_examples import EXAMPLES, script

import estimica as es

FOLDER = EXAMPLES / "dosing"


def test_its_data_are_made_by_its_script(tmp_path: Path) -> None:
    script(FOLDER / "make_data.py").main(tmp_path)
    for name in ("anna.csv", "bert.csv"):
        assert filecmp.cmp(tmp_path / name, FOLDER / name, shallow=False)


def test_it_finds_both_rates_and_the_scale_of_the_signal() -> None:
    found = es.fit(es.read_study(FOLDER / "dosing.toml"))
    assert found.outcome.ok
    truth = [0.9, 0.12, 0.25, 2.5 / 30, 0.4]
    assert np.abs((found.values - truth) / found.accuracy.stderr).max() < 3
