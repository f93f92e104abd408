"""The 95 % intervals of a fit cover the truth as often as they say."""

from __future__ import annotations

import json

import pytest
from tests.infer.fit_coverage import PLANTS, RESULT, coverage


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("name", list(PLANTS))
def test_intervals_cover_in_a_hundred_experiments(name: str, criterion: str) -> None:
    # of 100 trials with probability 0.95 at least 87 succeed, all but once in a thousand times
    found = coverage(PLANTS[name](), criterion, 100)
    assert min(found.values()) >= 87, found


@pytest.mark.parametrize("name", list(PLANTS))
def test_full_run_covers_within_its_limits(name: str) -> None:
    stored = json.loads(RESULT.read_text(encoding="utf-8"))
    assert stored["experiments"] >= 1000
    for criterion in ("oe", "ml"):
        for tuner, percent in stored["coverage_percent"][name][criterion].items():
            assert 92.5 <= percent <= 97.5, (name, criterion, tuner, percent)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PLANTS))
def test_thousand_experiments_repeat_the_stored_result(name: str) -> None:
    stored = json.loads(RESULT.read_text(encoding="utf-8"))["coverage_percent"][name]
    for criterion in ("oe", "ml"):
        found = coverage(PLANTS[name](), criterion, 1000)
        assert found == pytest.approx(stored[criterion], abs=0.5)
