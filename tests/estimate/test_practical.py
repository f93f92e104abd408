"""Practically not determined: an error that leaves nothing of a value, whatever the rank."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.estimate.problems import curve

from estimica.base import view as show
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.accuracy import Significance, practical
from estimica.estimate.run.fit import fit
from estimica.estimate.unknowns import Unknown
from estimica.infer.identifiability.run import identifiability
from estimica.study.tuner import Tuner

X = np.linspace(0.001, 0.02, 40)
NOISE = 1e-4 * np.random.default_rng(1).standard_normal(40)


@pytest.mark.parametrize(
    ("unknown", "value", "stderr", "expected"),
    [
        (Unknown("k", "tuner", 1.0), 2.0, 0.1, Significance.DETERMINED),
        (Unknown("k", "tuner", 1.0), 2.0, 2.1, Significance.LOST),
        (Unknown("k", "tuner", 1.0, log=True, scale=1e3), 2.0, 2.1, Significance.LOST),
        (Unknown("k", "tuner", 1.0, log=True), 2.0, 1.9, Significance.DETERMINED),
        # an offset, known to a hundredth of what it might have been
        (Unknown("b", "tuner", 0.0, -10, 10, scale=20.0), 0.01, 0.05, Significance.NEAR_ZERO),
        (Unknown("b", "tuner", 5.0, scale=5.0), 0.0, 0.05, Significance.NEAR_ZERO),
        (Unknown("b", "tuner", 5.0, scale=5.0), 0.01, 7.0, Significance.LOST),
        # what must be positive is not near zero
        (Unknown("k", "tuner", 5.0, 1e-3, 1e3, scale=5.0), 0.01, 0.05, Significance.LOST),
        # data that say less than the bounds
        (Unknown("k", "tuner", 5.0, 4.0, 6.0, scale=5.0), 5.0, 0.6, Significance.LOST),
        (Unknown("k", "tuner", 5.0, 4.0, 6.0, scale=5.0), 5.0, 0.4, Significance.DETERMINED),
        (Unknown("k", "tuner", 5.0, 4.0, 6.0, log=True), 5.0, 0.6, Significance.LOST),
        (Unknown("k", "tuner", 5.0), 5.0, math.inf, Significance.LOST),
        (Unknown("k", "tuner", 5.0), 5.0, math.nan, Significance.UNSAID),
    ],
)
def test_an_error_is_judged_by_value_scale_and_bounds(
    unknown: Unknown, value: float, stderr: float, expected: Significance
) -> None:
    assert practical(unknown, value, stderr).standing is expected


def saturating(scale: str = "auto") -> Fit:
    """Michaelis and Menten's law with substrate far below K: only V/K shows."""
    y = 3 * X / (2 + X) + 3 * NOISE
    tuners = [Tuner("V", start=3.0, scale=scale), Tuner("K", start=2.0, scale=scale)]  # type: ignore[arg-type]
    return fit(curve("V*x/(K + x)", X, y, tuners))


@pytest.mark.parametrize("scale", ["auto", "log"])
def test_far_below_saturation_neither_v_nor_k_is_called_determined(scale: str) -> None:
    found = saturating(scale)
    assert found.identifiability.rank == 2  # by rank all is well
    assert (found.accuracy.stderr > np.abs(found.values)).all()
    for k, name in enumerate(("V", "K")):
        share = found.accuracy.stderr[k] / abs(found.values[k])
        said = f"practically not determined: its standard error is {100 * share:.0f} % of its value"
        assert found.remark(k) == said
        assert f"'{name}' is {said}; a profile shows" in "\n".join(found.advice)
        assert f"estimica profile STUDY {name}" in "\n".join(found.advice)


def test_it_is_said_wherever_the_fit_is_shown(tmp_path: Path) -> None:
    found = saturating()
    told = json.loads(json.dumps(found.to_dict()))
    assert told["parameters"]["K"]["practical"] == "practically not determined"
    assert told["parameters"]["K"]["identifiable"] is True
    assert told["identifiability"]["practically_lost"] == ["V", "K"]
    assert any("profile STUDY K" in a for a in told["identifiability"]["advice"])
    assert "practically not determined" in " ".join(show.text(found.table()).split())
    page = found.report(tmp_path / "fit.html").read_text()
    assert "are practically not determined: the errors leave nothing of the values" in page
    assert "The data determine all 2 unknowns" not in page


def test_it_is_said_by_identifiability() -> None:
    found = identifiability(saturating())
    assert found.text == "the data determine all 2 unknowns by rank, but practically not 2 of them"
    assert [row[2] for row in found.table().rows] == ["hardly", "hardly"]
    assert any("estimica profile STUDY V" in a for a in found.advice)
    assert found.to_dict()["practical"] == dict.fromkeys("VK", "practically not determined")
    assert found.structural is not None
    assert found.structural.ok  # better data would do


def test_an_offset_that_is_zero_is_not_called_undetermined() -> None:
    x = np.linspace(0, 1, 40)
    found = fit(curve("a*x + b", x, 2 * x + NOISE, {"a": 1.0, "b": 1.0}))
    assert found.accuracy.stderr[1] > abs(found.values[1])
    assert found.practical[1].standing is Significance.NEAR_ZERO
    assert found.remark(1).startswith("not told from zero: its standard error is")
    assert found.advice == ()
    answer = next(s.text for s in found.page().sections if s.heading == "The answer")
    assert "'b' is not told from zero" in answer


def test_good_data_leave_no_remark() -> None:
    x = np.linspace(0.1, 20, 40)
    found = fit(curve("V*x/(K + x)", x, 3 * x / (2 + x) + NOISE, {"V": 1.0, "K": 1.0}))
    assert [found.remark(k) for k in range(2)] == ["", ""]
    assert found.advice == ()
