"""Profiles whose sides are walked in step end where single searches lead them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.estimate.test_batch import LAG, study

import estimica as es
from estimica.estimate.batch.cases import AllSums
from estimica.estimate.batch.fits import MemberFits
from estimica.execute.runs.store import Store
from estimica.infer.profile import joint_walks


@pytest.fixture(scope="module")
def fits() -> tuple[es.Fit, es.Fit]:
    """A fit whose refits are searched together, and one whose are not."""
    chosen = study(es.load_model(LAG), "ml")
    together, alone = (
        es.fit(chosen.with_(execute=es.Execution(backend=b)))  # type: ignore[arg-type]
        for b in ("vector", "scalar")
    )
    return together, alone


def ends(profile: es.Profile) -> np.ndarray:
    return profile.intervals[["low", "high"]].to_numpy(float)


def test_ends_are_those_of_single_searches(fits: tuple[es.Fit, es.Fit]) -> None:
    together, alone = (es.profile(f) for f in fits)
    assert (together.worked_by.backend, alone.worked_by.backend) == ("vector", "scalar")
    assert ends(together) == pytest.approx(ends(alone), rel=1e-7)
    assert together.outcome == alone.outcome
    assert together.to_dict()["worked_by"] == {"backend": "vector", "alone": 0, "reason": ""}
    assert "vector units" in str(together)


def test_refits_that_are_not_proven_are_counted(
    fits: tuple[es.Fit, es.Fit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemberFits, "proven", np.zeros(100, bool))
    found = es.profile(fits[0], "K", points=3)
    assert found.worked_by.backend == "vector"
    assert found.worked_by.alone >= 6  # three on either side
    assert f"{found.worked_by.alone} of them one after the other" in found.table().note
    assert ends(found) == pytest.approx(ends(es.profile(fits[1], "K", points=3)), rel=1e-7)


def test_threads_give_the_same_bits(fits: tuple[es.Fit, es.Fit]) -> None:
    one, two = (es.profile(fits[0], workers=n) for n in (1, 2))
    assert np.array_equal(ends(one), ends(two))


def test_an_interrupted_round_is_walked_again(
    fits: tuple[es.Fit, es.Fit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = es.profile(fits[0])
    store = Store(tmp_path / "runs.sqlite")
    calls, real = [], AllSums.__call__

    def stopping(self: AllSums, values: np.ndarray, members: np.ndarray) -> Any:
        calls.append(len(members))
        if len(calls) == 40:
            raise KeyboardInterrupt
        return real(self, values, members)

    with monkeypatch.context() as patched:
        patched.setattr(AllSums, "__call__", stopping)
        with store.begin("profile", name="p", study="", settings={}) as run:
            begun = es.profile(fits[0], run=run)
            run.close()
    assert begun.interrupted
    assert max(calls) == 6  # a member for each side
    with store.resume("last") as run:
        found = es.profile(fits[0], run=run)
    assert np.array_equal(ends(found), ends(whole))


def test_an_error_within_a_walk_is_the_end_of_that_side_only(
    fits: tuple[es.Fit, es.Fit], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = joint_walks.walked_together

    def broken(joint: Any, walk: Any, items: Any) -> Any:
        def other(place: Any, item: Any) -> Any:
            if (item[0]["unknown"], item[0]["direction"]) == (1, 1):
                raise ValueError("not here")
            return walk(place, item)

        return real(joint, other, items)

    monkeypatch.setattr("estimica.infer.profile.rounds.walked_together", broken)
    found = es.profile(fits[0])
    assert "not here" in found.curves[1].high.message
    assert np.isfinite(ends(found)[0]).all()
