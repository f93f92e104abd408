"""Work done by threads of this process: for compiled code, which does not hold the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from estimica.execute.outcome import ItemOutcome, attempt
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.execute.workers.local import LocalProcesses
from estimica.execute.workers.serial import GrowingExecutor

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")


class ThreadExecutor(Executor):
    """Threads that share the context; nothing is sent, nothing is prepared twice."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @property
    def workers(self) -> int:
        """How many threads there are at most."""
        return self._workers

    def map(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        *,
        context: Context[C],
        on_done: Callable[[int, ItemOutcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[ItemOutcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`.

        After Ctrl-C items that are begun come to their end, which nobody waits for but the threads.
        """
        if not items:
            return []
        ready = context.here()
        outcomes: list[ItemOutcome[R] | None] = [None] * len(items)
        pool = ThreadPoolExecutor(min(self._workers, len(items)), "estimica")
        try:
            with one_thread():
                places = {
                    pool.submit(attempt, task, ready, item): k for k, item in enumerate(items)
                }
                open_: set[Future[ItemOutcome[R]]] = set(places)
                while open_:
                    done, open_ = wait(open_, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=places.__getitem__):
                        k = places[future]
                        outcomes[k] = outcome = future.result()
                        if on_done is not None:
                            on_done(k, outcome)
        finally:
            pool.shutdown(cancel_futures=True)
        return [outcome for outcome in outcomes if outcome is not None]

    def close(self) -> None:
        """Threads end with their work."""


def in_threads(hands: Executor) -> Executor:
    """As many threads where there would be processes of this machine; others stay who they are."""
    if isinstance(hands, LocalProcesses | GrowingExecutor) and hands.workers > 1:
        return ThreadExecutor(hands.workers)
    return hands
