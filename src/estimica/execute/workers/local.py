"""Work done by processes on this machine, which may die without taking the rest along."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from estimica.base.errors import ExecuteError
from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.workers.child import PREPARED, outcome_of, pickled
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, batch_size
from estimica.execute.workers.forks import CAN_FORK, ForkServer
from estimica.execute.workers.process import (
    WorkerProcess,
    copied_worker,
    exit_description,
    fork_server,
    spawned_worker,
)

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

#: so many workers may die before a first item is done; then the rest is not tried. Chosen: one
#: death may be bad luck (memory ran out once), eight in a row without a value mean that none comes
DEATHS = 8
#: s, for a worker to end by itself. It ends between two items, at once where it waits; who is
#: still busy after this is killed, and nothing is lost but work that nobody waits for
PATIENCE = 5.0


class LocalProcesses(Executor):
    """Worker processes, which start with the first call and stay until `close`.

    Where processes can fork, one server prepares the context and the workers are copies of it.
    """

    def __init__(self, workers: int) -> None:
        self._count = workers
        self._crew: list[WorkerProcess] = []
        self._server: ForkServer | None = None
        self._held: bytes | None = None  # the context that copies have

    @property
    def workers(self) -> int:
        """How many processes there are at most."""
        return self._count

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

        An item whose worker dies is tried a second time when all others are done, alone.
        """
        if not items:
            return []
        work = _Work(task, items, context, on_done)
        self._renew(work.build)
        size = max(1, batch or batch_size(len(items), self._count))
        try:
            self._do(work, deque(range(len(items))), self._count, size)
            for index in sorted(work.suspects):
                self._do(work, deque([index]), 1, 1)
        except BaseException:
            self._end(0.0)
            raise
        return [outcome for outcome in work.outcomes if outcome is not None]

    def prepared(self, context: Context[C]) -> bool:
        """Whether workers could begin at once; a server that prepares is started for that.

        False where there is none, or where the context cannot be sent: then `map` says why.
        """
        if not CAN_FORK:
            return False
        try:
            build = pickled(context.build, "the context")
        except ExecuteError:
            return False
        self._renew(build)
        return self._preparing(build).prepared

    def close(self) -> None:
        """End the workers."""
        self._end(PATIENCE)

    def _worker(self, build: bytes) -> WorkerProcess:
        if not CAN_FORK:
            return spawned_worker()
        server = self._preparing(build)
        try:
            return copied_worker(server, build) if server.copies() else spawned_worker()
        except EOFError:
            self._server = None
            raise _not_prepared(server.end()) from None

    def _preparing(self, build: bytes) -> ForkServer:
        if self._server is None:
            self._server = fork_server()
        self._server.prepare(build)
        self._held = build
        return self._server

    def _renew(self, build: bytes) -> None:
        """Copies that hold another context than the one that is needed make room for new ones."""
        if self._server is not None and build != self._held:
            self._dismiss(PATIENCE)

    def _do(self, work: _Work[R], todo: deque[int], width: int, batch: int) -> None:
        width = min(width, len(todo))
        while todo or any(w.busy for w in self._crew):
            if work.hopeless:
                while todo:
                    work.give_up(todo.popleft())
            while todo and len(self._crew) < width:
                self._crew.append(self._worker(work.build))
            for worker in self._crew[:width]:
                if todo and not worker.busy:
                    given = [todo.popleft() for _ in range(min(batch, len(todo)))]
                    worker.give(work.build, work.task, [(k, work.items[k]) for k in given])
            for worker in self._ready():
                if not self._hear(worker, work):
                    width -= self._bury(worker, work, todo, width)

    def _ready(self) -> list[WorkerProcess]:
        listening = {w.connection: w for w in self._crew if w.busy}
        # nobody listens to an empty list: `wait` would never return
        return [listening[c] for c in wait(list(listening))] if listening else []

    def _hear(self, worker: WorkerProcess, work: _Work[Any]) -> bool:
        """Take one answer; False where the worker is dead."""
        try:
            index, content = worker.hear()
        except EOFError:
            return False
        if index != PREPARED:
            work.finish(index, outcome_of(content))
        elif content is not None:
            raise content
        return True

    def _bury(self, worker: WorkerProcess, work: _Work[Any], todo: deque[int], width: int) -> int:
        """Return the items of a dead worker to the pile; how many workers fewer there may be."""
        self._crew.remove(worker)
        how = worker.end(PATIENCE)
        if worker.preparing and width == 1:
            raise _not_prepared(how)
        todo.extendleft(k for k in reversed(worker.pending) if k != worker.item)
        if worker.item is not None:
            work.died(worker.item, exit_description(how))
        return 1 if worker.preparing else 0  # perhaps the memory is enough for fewer of them

    def _end(self, patience: float) -> None:
        self._dismiss(patience)
        if self._server is not None:
            self._server.end()
        self._server = None

    def _dismiss(self, patience: float) -> None:
        for worker in self._crew:
            if patience:
                worker.stop()
            else:
                worker.terminate()
        for worker in self._crew:
            worker.end(patience)
        self._crew = []


class _Work(Generic[R]):
    """One call of `map`: what is sent, what has come back, which items killed their worker."""

    def __init__(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        context: Context[C],
        on_done: Callable[[int, ItemOutcome[R]], None] | None,
    ) -> None:
        self.build = pickled(context.build, "the context")
        self.task = pickled(task, "the task")
        self.items = [pickled(item, f"item {k}") for k, item in enumerate(items)]
        self.outcomes: list[ItemOutcome[R] | None] = [None] * len(items)
        self.suspects: dict[int, str] = {}
        self._on_done = on_done
        self._deaths = 0

    @property
    def hopeless(self) -> bool:
        """Whether workers keep dying and nothing has ever been done."""
        return self._deaths >= DEATHS and not any(o and o.done for o in self.outcomes)

    def finish(self, index: int, outcome: ItemOutcome[R]) -> None:
        """Keep the outcome of an item and tell who wants to know."""
        self.outcomes[index] = outcome
        if self._on_done is not None:
            self._on_done(index, outcome)

    def died(self, index: int, how: str) -> None:
        """The worker ended while it was at this item: the first time it stays to be tried again."""
        self._deaths += 1
        if index not in self.suspects:
            self.suspects[index] = how
            return
        text = (
            f"the process that worked on item {index} ended ({how}), and again when it was tried "
            "alone; if memory ran out, make the item smaller"
        )
        self.finish(index, ItemOutcome(None, text, "X006", Kind.CRASHED))

    def give_up(self, index: int) -> None:
        """Leave an item undone after too many deaths."""
        text = f"item {index} was not tried: {self._deaths} worker processes ended before it"
        if index in self.suspects:
            text = f"the process that worked on item {index} ended ({self.suspects[index]})"
        self.finish(index, ItemOutcome(None, text, "X007", Kind.CRASHED))


def _not_prepared(code: int) -> ExecuteError:
    return ExecuteError(
        "X009",
        f"every worker process ended while it prepared its work (the last with "
        f"{exit_description(code)}); "
        "if memory ran out, use 1 worker",
    )
