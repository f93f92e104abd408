"""Batches: pieces that are done together, since what does them does many at the cost of few.

Which pieces share a batch follows from their numbers alone, and a batch is always done whole: so
nothing of a result depends on who does the work, on how many do it, or on whether a run was taken
up again. Each piece is noted by itself, as everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.pieces import OnPiece, map_with_checkpoints, noted_outcome, outcome_payload
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for, processors

C = TypeVar("C")
T = TypeVar("T")
#: pieces of a batch. Chosen: enough that the steps of Python between simulations cost little
#: beside them (a tenth for the boiler of the examples), few enough that what an interruption loses
#: is little
SIZE = 128
#: the same on a graphics card, which has as many threads and more
SIZE_ON_CARD = 1 << 16
#: how a backend is called in a sentence
WORDS = {
    "scalar": "one after the other",
    "vector": "in the vector units of the processor",
    "cuda": "on the graphics card",
}


@dataclass(frozen=True)
class WorkedBy:
    """What has simulated the members of a result."""

    backend: str  # scalar, vector or cuda
    alone: int = 0  # members that had to be searched one by one all the same
    reason: str = ""  # why it is not the backend that was asked for

    @property
    def is_worth_a_word(self) -> bool:
        """Whether it is not what everybody would expect."""
        return self.backend != "scalar" or bool(self.reason)

    @property
    def words(self) -> str:
        """The same in a sentence."""
        told = f"computed {WORDS[self.backend]}"
        if self.backend != "scalar" and self.alone:
            told += f", {self.alone} of them one after the other"
        return f"{told} ({self.reason})" if self.reason else told

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {"backend": self.backend, "alone": self.alone, "reason": self.reason}


def map_in_batches(
    crew: Executor,
    task: Callable[[C, Sequence[T]], Sequence[Any]],
    pieces: Mapping[str, T],
    *,
    context: Context[C],
    run: RunWriter,
    on_piece: OnPiece,
    size: int = SIZE,
) -> None:
    """Do the batches of which the run has not noted every piece; see `map_with_checkpoints`.

    `task` gives a value for each piece of a batch, as JSON has it: lists, texts and numbers, which
    come from the store as they went there. Pieces that are noted already stay as they are.
    """
    noted = run.checkpoints()
    keys = list(pieces)
    batches = [range(k, min(k + size, len(keys))) for k in range(0, len(keys), size)]
    for number, key in enumerate(keys):
        if key in noted:
            on_piece(number, noted_outcome(noted[key]))
    open_ = [batch for batch in batches if any(keys[k] not in noted for k in batch)]

    def done(place: int, outcome: ItemOutcome[Any]) -> None:
        new = [k for k in open_[place] if keys[k] not in noted]
        if outcome.kind is Kind.CRASHED:
            for number in new:
                on_piece(number, outcome)
            return
        values = outcome.result() if outcome.done else [None] * len(open_[place])
        told = []
        for number, value in zip(open_[place], values, strict=True):
            if number in new:
                own = ItemOutcome(value) if outcome.done else outcome
                run.checkpoint(keys[number], outcome_payload(own))
                told.append((number, own))
        run.flush()  # what is done is never done again, whenever the process is killed
        for number, own in told:
            on_piece(number, own)

    items = [[pieces[keys[k]] for k in batch] for batch in open_]
    crew.map(task, items, context=context, on_done=done, batch=1)


def map_alone_or_together(
    crew: Executor,
    alone: Callable[[C, T], Any],
    together: Callable[[C, Sequence[T]], Sequence[Any]] | None,
    pieces: Mapping[str, T],
    *,
    context: Context[C],
    run: RunWriter,
    on_piece: OnPiece,
    backend: str,
) -> None:
    """`map_in_batches` where there is a task for batches, else `map_with_checkpoints`."""
    if together is None:
        map_with_checkpoints(crew, alone, pieces, context=context, run=run, on_piece=on_piece)
        return
    size = size_for(backend)
    map_in_batches(crew, together, pieces, context=context, run=run, on_piece=on_piece, size=size)


def size_for(backend: str) -> int:
    """Pieces of a batch that a backend has enough to do with."""
    return SIZE_ON_CARD if backend == "cuda" else SIZE


@contextlib.contextmanager
def hands_for(who: str | Executor, workers: int | None, backend: str) -> Iterator[Executor]:
    """Whoever does batches: this process where its vector units or graphics card are the workers,
    by threads of compiled code; others as they are named."""
    own = backend != "scalar" and who in ("local", "serial")
    with executor_for("serial" if own else who, None if own else workers) as crew:
        yield crew


def threads_for(who: str | Executor, workers: int | None) -> int:
    """Threads of compiled code that stand for the `workers` that were asked for."""
    if who != "local":
        return 1
    return processors() if workers is None else workers
