"""Work done by a Dask cluster: one on this machine, or one that runs already."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from estimica.base.errors import EstimicaError, ExecuteError
from estimica.execute.context import Context
from estimica.execute.dask_work import silence, work
from estimica.execute.executor import Executor
from estimica.execute.outcome import Kind, Outcome, described
from estimica.execute.parcel import outcome_of, pickled
from estimica.execute.worker_process import main_kept_out, one_thread_each

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

SHARES = 16  # a worker is given about this share of its part of the work at once
LARGEST = 64  # items
AHEAD = 2  # batches for each worker on their way, so that none waits
DEATHS = 1  # so many workers may die over a batch before it is given up, or tried item by item
PATIENCE = "15s"  # for a cluster to answer
SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.worker.daemon": True,
    "distributed.admin.tick.limit": "1h",
}


class DaskCluster(Executor):
    """A cluster on this machine with `workers` processes, or the one at `address`."""

    def __init__(self, workers: int, address: str = "") -> None:
        self._count = workers
        self._address = address
        self._client: Any = None
        self._cluster: Any = None

    @property
    def workers(self) -> int:
        """Threads of the cluster, once it is joined; the processes that were asked for."""
        if self._client is not None and self._address:
            return int(max(1, sum(self._client.nthreads().values())))
        return self._count

    def map(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        *,
        context: Context[C],
        on_done: Callable[[int, Outcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[Outcome[R]]:
        """The outcomes in the order of `items`; see `Executor.map`.

        Items of a batch whose worker dies are tried one by one, and those that are lost again
        when all others are done, alone.
        """
        if not items:
            return []
        build, function = pickled(context.build, "the context"), pickled(task, "the task")
        parcels = [(k, pickled(item, f"item {k}")) for k, item in enumerate(items)]
        self._start(with_main=any(b"__main__" in p for p in (build, function)))
        size = max(1, batch or min(LARGEST, len(items) // (SHARES * self.workers)))
        todo = deque(parcels[a : a + size] for a in range(0, len(items), size))
        outcomes: list[Outcome[R] | None] = [None] * len(items)
        try:
            for index, outcome in self._done(build, function, todo):
                outcomes[index] = outcome
                if on_done is not None:
                    on_done(index, outcome)
        except BaseException:
            self.close()
            raise
        return [outcome for outcome in outcomes if outcome is not None]

    def close(self) -> None:
        """Leave the cluster, and end it where it is our own."""
        client, cluster = self._client, self._cluster
        self._client = self._cluster = None
        for one in (client, cluster):
            if one is not None:
                with contextlib.suppress(Exception), _quiet():
                    one.close(timeout=5)

    def _done(
        self, build: bytes, task: bytes, todo: deque[list[tuple[int, bytes]]]
    ) -> Iterator[tuple[int, Outcome[Any]]]:
        """Outcomes as they come in; a few batches are on their way at any time."""
        from distributed import as_completed

        sent: dict[Any, list[tuple[int, bytes]]] = {}
        suspects: list[tuple[int, bytes]] = []
        arrivals = as_completed(loop=self._client.loop)

        def send() -> None:
            while todo and len(sent) < AHEAD * self.workers:
                parcels = todo.popleft()
                future = self._client.submit(work, build, task, parcels, pure=False)
                sent[future] = parcels
                arrivals.add(future)

        send()
        while sent:
            future = next(arrivals)
            parcels = sent.pop(future)
            error = future.exception()
            if error is None:
                answer = future.result()
                if isinstance(answer, EstimicaError):
                    raise answer
                yield from ((index, outcome_of(content)) for index, content in answer)
            elif len(parcels) > 1:
                todo.extendleft([one] for one in reversed(parcels))
            else:  # perhaps it only waited at a worker that another item has ended
                suspects.append(parcels[0])
            future.release()
            send()
        for parcel in suspects:
            yield self._alone(build, task, parcel)

    def _alone(
        self, build: bytes, task: bytes, parcel: tuple[int, bytes]
    ) -> tuple[int, Outcome[Any]]:
        """The outcome of an item while nothing else is done."""
        future = self._client.submit(work, build, task, [parcel], pure=False)
        error = future.exception()
        if error is not None:
            return parcel[0], _lost(parcel[0], error)
        answer = future.result()
        if isinstance(answer, EstimicaError):
            raise answer
        ((index, content),) = answer
        return index, outcome_of(content)

    def _start(self, with_main: bool) -> None:
        if self._client is not None:
            return
        with _quiet():
            self._client = self._joined() if self._address else self._own(with_main)

    def _joined(self) -> Any:
        from distributed import Client

        try:
            client = Client(self._address, timeout=PATIENCE, set_as_default=False)
        except Exception as error:
            raise ExecuteError(
                "X015",
                f"executor 'dask={self._address}': no Dask scheduler answers there "
                f"({described(error)}); start one with `dask scheduler`, or use 'dask'",
            ) from error
        if not client.nthreads():
            client.close()
            raise ExecuteError(
                "X016",
                f"executor 'dask={self._address}': the cluster has no workers; start one with "
                f"`dask worker {self._address}`",
            )
        return client

    def _own(self, with_main: bool) -> Any:
        import dask
        from distributed import Client, LocalCluster

        try:
            with dask.config.set(SETTINGS), one_thread_each(), main_kept_out(not with_main):
                self._cluster = LocalCluster(
                    n_workers=self._count,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
                client = Client(self._cluster, set_as_default=False)
                client.run(silence)
        except Exception as error:
            raise ExecuteError(
                "X013",
                f"no Dask cluster can be started on this machine: {described(error)}; use 'local'",
            ) from error
        return client


def _lost(index: int, error: BaseException) -> Outcome[Any]:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        text = (
            f"the Dask worker that worked on item {index} ended, and again when it was tried "
            "alone; if it was for want of memory, make the item smaller"
        )
        return Outcome(None, text, "X006", Kind.CRASHED)
    text = f"item {index} was lost by the Dask cluster: {described(error)}"
    return Outcome(None, text, "X017", Kind.CRASHED)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs what it does; only what the user can mend is told, and by us."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
