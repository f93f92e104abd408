"""Tests of residuals reject white Gaussian noise as often as they say."""

from __future__ import annotations

import json

import pytest
from scipy.stats import binom
from tests.infer.residual_sizes import EXPERIMENTS, RESULT, ROOT, sizes

SENTENCE = "sentence of the fit"


def test_stored_sizes_lie_between_three_and_seven_per_cent() -> None:
    stored = json.loads(RESULT.read_text(encoding="utf-8"))
    assert stored["experiments"] >= 1000
    for name in EXPERIMENTS:
        for test, percent in stored["rejected_percent"][name].items():
            least = 0.0 if test == SENTENCE else 3.0
            assert least <= percent <= 7.0, (name, test, percent)


def test_page_shows_the_stored_sizes() -> None:
    page = (ROOT / "docs" / "residuals.md").read_text(encoding="utf-8")
    found = json.loads(RESULT.read_text(encoding="utf-8"))["rejected_percent"]
    for test in next(iter(found.values())):
        row = " | ".join(f"{found[name][test]:.1f} %" for name in EXPERIMENTS)
        assert f"| {test} | {row} |" in page


@pytest.mark.parametrize("name", ["exponential, 40 samples"])
def test_hundred_experiments_reject_within_binomial_limits(name: str) -> None:
    for test, percent in sizes(name, 100).items():
        assert percent <= binom.ppf(1 - 1e-3, 100, 0.06), (test, percent)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_thousand_experiments_repeat_the_stored_sizes(name: str) -> None:
    stored = json.loads(RESULT.read_text(encoding="utf-8"))["rejected_percent"][name]
    assert sizes(name, 1000) == pytest.approx(stored, abs=0.5)
