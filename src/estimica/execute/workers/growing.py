"""Work that begins in this process and grows into several, where it lasts long enough for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeVar

from estimica.execute.outcome import Outcome
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.execute.workers.local import LocalProcesses
from estimica.execute.workers.serial import SerialExecutor

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

#: s of work after which workers are started. It is what they take to start and to compile a model;
#: who begins alone and gives in after just that never waits twice as long as who had known before
WORTH = 2.0


class GrowingExecutor(Executor):
    """Alone at first; `workers` processes once the work has taken as long as starting them."""

    def __init__(self, workers: int) -> None:
        self._many = LocalProcesses(workers)
        self._alone = SerialExecutor()
        self._spent = 0.0  # s of work in this process, over all calls

    @property
    def workers(self) -> int:
        """How many processes there are once it has grown."""
        return self._many.workers

    def map(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        *,
        context: Context[C],
        on_done: Callable[[int, Outcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[Outcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`."""
        done = self._begun(task, items, context, on_done)
        rest = items[len(done) :]
        if not rest:
            return done

        def told(place: int, outcome: Outcome[R]) -> None:
            if on_done is not None:
                on_done(len(done) + place, outcome)

        return done + self._many.map(task, rest, context=context, on_done=told, batch=batch)

    def close(self) -> None:
        """End the workers, if there are any."""
        self._alone.close()
        self._many.close()

    def _begun(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        context: Context[C],
        on_done: Callable[[int, Outcome[R]], None] | None,
    ) -> list[Outcome[R]]:
        """The first outcomes: as many as are done before workers are worth their start; they are
        not worth it for a single item."""
        done: list[Outcome[R]] = []
        for place in range(len(items)):
            if self._spent >= WORTH and len(items) - place > 1:
                break
            begun = perf_counter()
            done += self._alone.map(task, items[place : place + 1], context=context)
            self._spent += perf_counter() - begun
            if on_done is not None:
                on_done(place, done[-1])
        return done
