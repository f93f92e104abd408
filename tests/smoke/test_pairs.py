"""Every pair of features together on a tiny study whose truth is known.

Criterion, loss, search, roles of cases, workers, kind of model, kind of tuner and what is asked of
the fit: each is well tested by itself, and wrong results have hidden where two meet. The rows are
a covering array, so that every two values stand together in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.smoke.checks import ANALYSES, check_fit, errors_of
from tests.smoke.covering import covering, every_pair, pairs_of
from tests.smoke.rules import left_out, no_use, refusal
from tests.smoke.studies import (
    CRITERIA,
    KINDS,
    LOSSES,
    NOISE,
    OUTLIER,
    ROLES,
    SEARCHES,
    TRUTH,
    TUNERS,
    study_of,
)

import estimica as es
from estimica.execute.workers.executor import Executor, executor

FACTORS = {
    "model": KINDS,
    "criterion": tuple(CRITERIA),
    "loss": LOSSES,
    "search": SEARCHES,
    "roles": ROLES,
    "tuners": TUNERS,
    "workers": ("1", "2"),
    "inference": tuple(ANALYSES),
}
PLAIN = {
    "model": "modelica",
    "criterion": "ml",
    "loss": "squared",
    "search": "levenberg-marquardt",
    "roles": "one",
    "tuners": "plain",
    "workers": "1",
    "inference": "none",
}


def allowed(row: Mapping[str, str]) -> bool:
    return not (refusal(row) or no_use(row) or left_out(row))


ROWS = covering(FACTORS, allowed, rows=150)
REFUSED = [row for pair in every_pair(FACTORS) if refusal(row := PLAIN | dict(pair))]


def short(row: Mapping[str, str]) -> str:
    """What is not plain, as the name of a test."""
    return "-".join(v for n, v in row.items() if v != PLAIN[n]) or "plain"


@pytest.fixture(scope="module")
def two() -> Iterator[Executor]:
    """Two workers for all rows: to start them takes longer than a row."""
    with executor("local", 2) as hands:
        yield hands


@cache
def fitted(row: tuple[tuple[str, str], ...]) -> es.Fit:
    return es.fit(study_of(dict(row)))


def fit_of(row: Mapping[str, str], **changes: str) -> es.Fit:
    """The fit of a row; what is asked of it does not change it."""
    needless = {"workers": "1", "inference": "none"}
    return fitted(tuple((dict(row) | changes | needless).items()))


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("row", ROWS, ids=short)
def test_a_pair_of_features_goes_together(row: dict[str, str], request: Any) -> None:
    fit = fit_of(row)
    check_fit(fit, row)
    if row["search"] != "levenberg-marquardt":  # another way to the same point
        usual = fit_of(row, search="levenberg-marquardt")
        for name, expected in errors_of(row).items():
            assert abs(fit[name] - usual[name]) < 0.1 * expected, name
    alone = ANALYSES[row["inference"]](fit, row, {})
    if row["workers"] == "2":
        assert alone is not None
        hands = request.getfixturevalue("two")
        shared = ANALYSES[row["inference"]](fit, row, {"executor": hands})
        assert shared is not None
        same(alone, shared)


def test_every_pair_is_there() -> None:
    seen = {pair for row in ROWS for pair in pairs_of(row)}
    for pair in every_pair(FACTORS):
        assert pair in seen or not allowed(PLAIN | dict(pair)), sorted(pair)
    assert len(ROWS) >= 150


@pytest.mark.parametrize("row", REFUSED, ids=short)
def test_what_does_not_go_together_is_refused_with_a_code(row: dict[str, str]) -> None:
    with pytest.raises(es.EstimicaError) as refused:
        ANALYSES[row["inference"]](es.fit(study_of(row)), row, {})
    code, _, message = str(refused.value).partition(": ")
    assert code == refusal(row), message
    assert "Traceback" not in message
    assert len(message) > 20


@pytest.mark.parametrize(
    "row",
    [
        {"search": "three starts", "loss": "huber", "roles": "apart", "inference": "none"},
        {"model": "formula", "roles": "two", "inference": "crossvalidation"},
        {"model": "transfer function", "roles": "validated", "inference": "map"},
        {"model": "formula", "criterion": "oe", "inference": "release"},
    ],
    ids=short,
)
def test_two_workers_give_the_same_numbers(row: dict[str, str]) -> None:
    row = PLAIN | row
    study = study_of(row)
    if row["inference"] == "none":
        one, other = es.fit(study), es.fit(study, workers=2)
        same({"values": one.values, "cost": one.cost}, {"values": other.values, "cost": other.cost})
        return
    fit = es.fit(study)
    one, other = (ANALYSES[row["inference"]](fit, row, {"workers": n}) for n in (1, 2))
    same(one, other)


# --- outliers -----------------------------------------------------------------------------------


def moved(row: Mapping[str, str]) -> float:
    """How far an estimate is from the truth, in standard errors of data without outliers."""
    fit = es.fit(study_of(row))
    return max(abs(fit[n] - TRUTH[n]) / error for n, error in errors_of(row).items())


@pytest.mark.parametrize(
    ("kind", "criterion"),
    [(kind, ("oe", "ml")[n % 2]) for n, kind in enumerate(KINDS)]
    + [("formula", c) for c in ("ml", "oe, known noise", "ml, known noise")],
)
def test_outliers_move_least_squares_and_no_robust_loss(
    kind: str, criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.smoke import studies

    assert OUTLIER > 50 * NOISE
    row = PLAIN | {"model": kind, "criterion": criterion}
    for loss in LOSSES[1:]:
        assert moved(row | {"loss": loss}) < 5, loss
    table = studies.table_of
    monkeypatch.setattr(studies, "table_of", lambda *a, **k: table(*a, **k | {"outliers": True}))
    assert moved(row) > 10


@pytest.mark.parametrize("loss", LOSSES[1:])
@pytest.mark.parametrize("criterion", [f"(residual/{NOISE})^2", "own.py:cost"])
def test_a_loss_beside_a_criterion_of_ones_own_is_refused(loss: str, criterion: str) -> None:
    with pytest.raises(es.StudyError, match=rf"Q148: .*loss '{loss}' bends the squares of"):
        es.Estimation(criterion=criterion, loss=loss)
