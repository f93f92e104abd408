"""Pieces of a run: each is done once, noted in the store as soon as it is done, and found there
when the run is taken up again; their random numbers do not depend on who draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from estimica.base.result import Progress
from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.runs.payload import from_text, to_text
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor

C = TypeVar("C")
T = TypeVar("T")
OnPiece = Callable[[int, ItemOutcome[Any]], None]


def map_with_checkpoints(
    crew: Executor,
    task: Callable[[C, T], Any],
    pieces: Mapping[str, T],
    *,
    context: Context[C],
    run: RunWriter,
    on_piece: OnPiece,
) -> None:
    """Do what the run has no checkpoint of; `on_piece` is told of every piece by its number.

    Values must be such as the store can keep, and come as they come from there. Pieces that ended
    with their worker are not noted: another time they may be done.
    """
    noted = run.checkpoints()
    keys = list(pieces)
    for number, key in enumerate(keys):
        if key in noted:
            on_piece(number, noted_outcome(noted[key]))
    open_ = [number for number, key in enumerate(keys) if key not in noted]

    def done(place: int, outcome: ItemOutcome[Any]) -> None:
        number = open_[place]
        if outcome.kind is Kind.CRASHED:
            on_piece(number, outcome)
            return
        run.checkpoint(keys[number], outcome_payload(outcome))
        run.flush()  # what is done is never done again, whenever the process is killed
        on_piece(number, restored(outcome))

    items: Sequence[T] = [pieces[keys[number]] for number in open_]
    crew.map(task, items, context=context, on_done=done)


class Tally:
    """Outcomes of pieces as they come, and what is told of them: each is looked at once, so that
    telling of the last of many costs no more than telling of the first."""

    def __init__(
        self,
        count: int,
        pieces: str,
        tell: Callable[[Progress], None] | None,
        has_failed: Callable[[int, ItemOutcome[Any]], bool],
    ) -> None:
        self.outcomes: dict[int, ItemOutcome[Any]] = {}
        self._count, self._pieces, self._tell, self._has_failed = count, pieces, tell, has_failed
        self._failed = 0

    def note(self, number: int, outcome: ItemOutcome[Any]) -> None:
        """Keep the outcome of a piece and tell how far the work is."""
        self.outcomes[number] = outcome
        if self._tell:
            self._failed += self._has_failed(number, outcome)
            self._tell(Progress(len(self.outcomes), self._count, self._failed, pieces=self._pieces))


def outcome_payload(outcome: ItemOutcome[Any]) -> dict[str, Any]:
    """What the store keeps of an outcome."""
    if outcome.done:
        return {"value": outcome.value}
    return {"error": outcome.error, "code": outcome.code}


def noted_outcome(payload: Mapping[str, Any]) -> ItemOutcome[Any]:
    """The outcome that was noted so."""
    if "value" in payload:
        return ItemOutcome(payload["value"])
    return ItemOutcome(None, payload["error"], payload["code"], Kind.FAILED)


def restored(outcome: ItemOutcome[Any]) -> ItemOutcome[Any]:
    """The outcome as it comes from the store."""
    return noted_outcome(from_text(to_text(outcome_payload(outcome))))


def seeds(seed: int, n: int) -> list[np.random.SeedSequence]:
    """One independent seed for each of `n` items: `np.random.default_rng(seeds(1, n)[k])`.

    The first k are the same whatever `n` is, so that a run can be taken up again or extended.
    """
    return np.random.SeedSequence(seed).spawn(n)
