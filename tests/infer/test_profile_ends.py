"""Ends of profiles: each is where plain fits from outside come to the threshold, or is not `found`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2
from tests.infer.interval_problems import curve
from tests.infer.profile_problems import (
    PROBLEMS,
    frequency,
    lowest_outside,
    published_dimers,
    two_valleys,
    two_valleys_rise,
)

import estimica as es
from estimica.execute.runs.store import Store
from estimica.infer.profile.branch import Ending

LIMIT = float(chi2.ppf(0.95, 1))
#: of the threshold: how close fits from outside have to come
CLOSE = 1e-3


def assert_confirmed(found: es.Profile, starts: int) -> int:
    """Every end that is called found is where the best of plain fits meets the threshold."""
    ends = 0
    for c in found.curves:
        for end in (c.low, c.high):
            if end.found:
                lowest = lowest_outside(found.fit, c.unknown.name, end.value, starts, seed=9)
                share = (lowest - found.lowest) / c.rise
                assert share == pytest.approx(1, abs=CLOSE), f"{c.unknown.name} = {end.value}"
                ends += 1
    return ends


def test_a_profile_goes_on_in_another_valley_below_the_threshold() -> None:
    # on its own branch, b near 1, it would cross the threshold at 1.21
    found = es.profile(es.fit(two_valleys()), "a")["a"]
    low = brentq(lambda a: two_valleys_rise(a) - LIMIT, -2, 0, xtol=1e-9)
    high = brentq(lambda a: two_valleys_rise(a) - LIMIT, 2, 4, xtol=1e-9)
    assert found.interval == pytest.approx((low, high), abs=1e-5)
    assert found.low.found
    assert found.high.found


def test_stops_passed_on_a_higher_branch_are_fitted_again_from_the_lower() -> None:
    found = es.profile(es.fit(two_valleys()), "a")
    c = found["a"]
    rises = [two_valleys_rise(a) for a in c.values]
    assert c.costs - found.cost == pytest.approx(rises, abs=CLOSE * LIMIT)


def test_ends_are_those_around_a_better_optimum_met_on_the_way() -> None:
    best, poor = es.fit(two_valleys()), es.fit(two_valleys(a=2.0, b=-0.8))
    assert poor.cost > best.cost + 0.5
    found = es.profile(poor, "a")
    assert found.better is not None
    assert found.better.cost == pytest.approx(best.cost, abs=1e-6)
    assert found["a"].interval == pytest.approx(es.profile(best, "a")["a"].interval, rel=1e-6)
    status, message = found.outcome()
    assert status == "done"
    assert "the fit is not at the global optimum" in message
    assert "the intervals are those around the better one" in message
    assert "followed to its ends" not in message


def test_no_end_is_found_around_a_fit_outside_the_threshold_of_a_better_one() -> None:
    x = np.linspace(0, 10, 60)
    y = np.sin(2.1 * x + 0.4) + 0.1 * np.cos(37 * x)
    tuners = [es.Tuner("w", start=1.4, min=0.5, max=4.0), es.Tuner("p", start=0.0, min=-4, max=4)]
    poor = curve("sin(w*x + p)", x, y, tuners)
    assert poor.outcome.ok
    found = es.profile(poor)
    assert found.better is not None
    assert found.better.values["w"] == pytest.approx(2.1, abs=0.02)
    status, message = found.outcome()
    assert status == "failed"
    assert "the fit is not at the global optimum" in message
    for c in found.curves:
        assert (c.low.ending, c.high.ending) == (Ending.FAILED, Ending.FAILED)
        assert np.isnan(c.interval).all()
        assert "not at the global optimum" in c.high.message
    assert found.to_dict()["parameters"]["w"]["ci95"] == [None, None]  # type: ignore[index]


def test_a_leap_of_the_cost_is_no_crossing() -> None:
    rng = np.random.default_rng(2)
    x = np.linspace(1, 2, 12)
    y = 2 * x + 0.3 * rng.standard_normal(12)
    # beyond 2.05 there is one more, which no value of b makes up for
    fit = curve("a*x + b*(x - 1.5)^2 + (if a > 2.05 then 1.0 else 0.0)", x, y, {"a": 1.9, "b": 0.1})
    c = es.profile(fit, "a")["a"]
    assert c.high.ending is Ending.FAILED
    assert np.isnan(c.high.value)
    assert "at 2.05 the cost leaps from" in c.high.message
    assert "so that it crosses it nowhere" in c.high.message


@pytest.mark.slow
def test_other_optima_do_not_depend_on_who_walks() -> None:
    fit = es.fit(two_valleys(a=2.0, b=-0.8))
    alone, shared = es.profile(fit), es.profile(fit, workers=2)
    for a, b in zip(alone.curves, shared.curves, strict=True):
        assert a.interval == b.interval
        assert np.array_equal(a.refits, b.refits)


def test_a_run_interrupted_before_ends_are_confirmed_says_so_and_goes_on(tmp_path: Path) -> None:
    fit = es.fit(two_valleys())
    whole = es.profile(fit, "a")
    store = Store(tmp_path / "runs.sqlite")
    seen: list[int] = []

    def stop(progress: object) -> None:
        if progress.ended:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        seen.append(progress.stops)  # type: ignore[attr-defined]

    with store.begin("profile", name="p", study="", settings={}) as run:
        begun = es.profile(fit, "a", run=run, progress=stop)
        assert begun.interrupted
        run.close()
    assert begun["a"].high.ending is Ending.INTERRUPTED
    assert "interrupted before a fit from outside confirmed that" in begun["a"].high.message
    with store.resume("last") as run:
        found = es.profile(fit, "a", run=run)
    assert found["a"].interval == whole["a"].interval
    assert np.array_equal(found["a"].refits, whole["a"].refits)


def test_ends_between_side_lobes_are_confirmed_from_outside() -> None:
    assert assert_confirmed(es.profile(es.fit(frequency())), starts=3) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_end_is_confirmed_from_outside(name: str, cases: Path, tmp_path: Path) -> None:
    found = es.profile(es.fit(PROBLEMS[name](cases, tmp_path)))
    # dimers: the fit from the truth is at a local optimum, and the ends are those around the best
    assert (found.better is None) == (name != "dimers")
    assert assert_confirmed(found, starts=8) >= len(found.curves)


@pytest.mark.slow
def test_every_end_of_a_published_problem_is_confirmed_from_outside(tmp_path: Path) -> None:
    # rates of import and phosphorylation: a walk from neighbour to neighbour leapt to another
    # optimum at 15764.7, where plain fits meet the threshold at 12,800
    collection = Path(os.environ.get("ESTIMICA_PETAB_PROBLEMS", ""))
    if not (collection / "Boehm_JProteomeRes2014").is_dir():
        pytest.skip("set ESTIMICA_PETAB_PROBLEMS to a folder with Boehm_JProteomeRes2014")
    found = es.profile(es.fit(published_dimers(collection, tmp_path)))
    assert found["phos"].low.value == pytest.approx(12_800, abs=20)
    assert assert_confirmed(found, starts=8) == 10
