"""Work done one item after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from estimica.execute.outcome import Outcome, attempt
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor

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
        on_done: Callable[[int, Outcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[Outcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`."""
        if not items:
            return []
        ready = self._context(context)
        outcomes: list[Outcome[R]] = []
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
        found: C = self._last[1]
        return found
