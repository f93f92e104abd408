"""Batches: done whole, noted piece by piece, the same whoever does them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from estimica.execute.batches import WorkedBy, map_in_batches
from estimica.execute.outcome import ItemOutcome
from estimica.execute.runs.store import Store
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import NO_CONTEXT
from estimica.execute.workers.executor import executor

PIECES = {f"piece {k}": k for k in range(7)}


def doubled(_: None, items: Sequence[int]) -> list[list[int]]:
    return [[2 * k, len(items)] for k in items]


def failing(_: None, items: Sequence[int]) -> list[int]:
    if 4 in items:
        raise ValueError("not this one")
    return list(items)


def done(run: RunWriter, task: Any = doubled) -> dict[int, ItemOutcome[Any]]:
    outcomes: dict[int, ItemOutcome[Any]] = {}
    with executor("serial") as crew:
        map_in_batches(
            crew,
            task,
            PIECES,
            context=NO_CONTEXT,
            run=run,
            on_piece=outcomes.__setitem__,
            size=3,
        )
    return outcomes


def test_pieces_share_batches_by_their_numbers(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("c", name="n", study="", settings={}) as run:
        found = done(run)
        run.close()
    assert {k: o.result() for k, o in found.items()} == {
        k: [2 * k, 1 if k == 6 else 3] for k in range(7)
    }
    assert len(store.run("last").checkpoints) == 7


def test_a_batch_with_a_piece_that_is_not_noted_is_done_whole(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("c", name="n", study="", settings={}) as run:
        for k in (0, 1, 2, 3):
            run.checkpoint(f"piece {k}", {"value": "noted"})
        run.flush()
        worked: list[Any] = []

        def watched(context: None, items: Sequence[int]) -> list[list[int]]:
            worked.append(list(items))
            return doubled(context, items)

        found = done(run, watched)
    assert worked == [[3, 4, 5], [6]]
    assert [found[k].result() for k in range(5)] == ["noted"] * 4 + [[8, 3]]


def test_an_error_is_that_of_all_pieces_of_its_batch(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("c", name="n", study="", settings={}) as run:
        found = done(run, failing)
    assert [found[k].done for k in range(7)] == [True] * 3 + [False] * 3 + [True]
    assert found[5].error == "ValueError: not this one"


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (WorkedBy("scalar"), "computed one after the other"),
        (WorkedBy("vector"), "computed in the vector units of the processor"),
        (
            WorkedBy("vector", 2, "CuPy is not installed"),
            "computed in the vector units of the processor, 2 of them one after the other "
            "(CuPy is not installed)",
        ),
    ],
)
def test_who_has_worked_is_said(work: WorkedBy, words: str) -> None:
    assert work.words == words
