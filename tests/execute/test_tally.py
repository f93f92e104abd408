"""What is told of many pieces costs the same for the last as for the first."""

from __future__ import annotations

from typing import Any

import pytest

import estimica as es
from estimica.base.result import Progress
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import Tally


def test_every_outcome_is_looked_at_once() -> None:
    looked_at: list[int] = []

    def has_failed(number: int, outcome: ItemOutcome[Any]) -> bool:
        looked_at.append(number)
        return outcome.value < 0

    told: list[Progress] = []
    tally = Tally(4, "replicates", told.append, has_failed)
    for number, value in ((2, 1), (0, -1), (3, -5), (1, 7)):
        tally.note(number, ItemOutcome(value))
    assert looked_at == [2, 0, 3, 1]
    assert [(p.done, p.failed) for p in told] == [(1, 0), (2, 1), (3, 2), (4, 2)]
    assert told[-1].words == "4 of 4 replicates, 2 failed"
    assert {k: o.value for k, o in tally.outcomes.items()} == {2: 1, 0: -1, 3: -5, 1: 7}


def test_nothing_is_looked_at_where_nobody_is_told() -> None:
    def never(number: int, outcome: ItemOutcome[Any]) -> bool:
        raise AssertionError(number)

    tally = Tally(1, "folds", None, never)
    tally.note(0, ItemOutcome(1))
    assert list(tally.outcomes) == [0]


@pytest.mark.parametrize("replicates", [64, 512])
def test_a_bootstrap_asks_of_each_replicate_once_whether_it_failed(
    replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With progress the bootstrap of 20,000 replicates took most of a minute for counting."""
    from estimica.infer.bootstrap import run

    calls = [0]
    known = run._has_failed

    def counted(outcome: ItemOutcome[Any]) -> bool:
        calls[0] += 1
        return known(outcome)

    monkeypatch.setattr(run, "_has_failed", counted)
    x = [0.1 * k for k in range(20)]
    study = es.Study(
        es.load_model(
            "model Lag parameter Real k = 1; Real y(start = 1, fixed = true); equation der(y) = -k*y; end Lag;"
        ),
        tuners=[es.Tuner("k", start=0.5)],
        cases=[es.Case("run", {"time": x, "y": [2.718 ** (-0.8 * t) + 0.01 * (-1) ** int(9 * t) for t in x]}, outputs={"y": "y"})],
    )  # fmt: skip
    told: list[Progress] = []
    result = es.bootstrap(es.fit(study), replicates, progress=told.append)
    assert len(result.values) == replicates
    assert told[-1].done == replicates
    # once to tell of it, twice for the result
    assert calls[0] == 3 * replicates
