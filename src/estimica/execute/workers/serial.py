"""Work done in this process: one item after the other, or alone only at first, growing into several
processes where it lasts long enough for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar

from estimica.execute.outcome import ItemOutcome, attempt
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.execute.workers.local import LocalProcesses

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")


class SerialExecutor(Executor):
    """The executor without workers; the context of the last call is kept for the next."""

    def __init__(self) -> None:
        self._last: tuple[Context[Any], Any] | None = None

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def map(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        *,
        context: Context[C],
        on_done: Callable[[int, ItemOutcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[ItemOutcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`."""
        if not items:
            return []
        ready = self._context(context)
        outcomes: list[ItemOutcome[R]] = []
        with one_thread():
            for index, item in enumerate(items):
                outcomes.append(attempt(task, ready, item))
                if on_done is not None:
                    on_done(index, outcomes[-1])
        return outcomes

    def close(self) -> None:
        """Let go of the context."""
        self._last = None

    def _context(self, context: Context[C]) -> C:
        if self._last is None or self._last[0] is not context:
            self._last = context, context.here()
        ready: C = self._last[1]
        return ready


#: s of work after which a process begins to prepare workers beside it; shorter work is done alone.
#: Chosen: preparing takes two or three times as long, and the work goes on meanwhile
SHORT = 0.25
#: s of work after which workers are waited for. It is what they take to start and to compile a
#: model where nobody could prepare them; who begins alone and gives in after just that never waits
#: twice as long as who had known before
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
        on_done: Callable[[int, ItemOutcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[ItemOutcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`."""
        done = self._begun(task, items, context, on_done)
        rest = items[len(done) :]
        if not rest:
            return done

        def on_rest(place: int, outcome: ItemOutcome[R]) -> None:
            if on_done is not None:
                on_done(len(done) + place, outcome)

        return done + self._many.map(task, rest, context=context, on_done=on_rest, batch=batch)

    def close(self) -> None:
        """End the workers, if there are any."""
        self._alone.close()
        self._many.close()

    def _begun(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        context: Context[C],
        on_done: Callable[[int, ItemOutcome[R]], None] | None,
    ) -> list[ItemOutcome[R]]:
        """The first outcomes: as many as are done before workers are worth their start; they are
        not worth it for a single item."""
        done: list[ItemOutcome[R]] = []
        for place in range(len(items)):
            if len(items) - place > 1 and self._grown(context):
                break
            begun = perf_counter()
            done += self._alone.map(task, items[place : place + 1], context=context)
            self._spent += perf_counter() - begun
            if on_done is not None:
                on_done(place, done[-1])
        return done

    def _grown(self, context: Context[C]) -> bool:
        """Whether the rest is for workers."""
        return self._spent >= WORTH or (self._spent >= SHORT and self._many.prepared(context))
