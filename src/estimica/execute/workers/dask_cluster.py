"""Work done by a Dask cluster: one on this machine, or one that runs already; and whether it has
workers and a scheduler that answers, and since when."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import queue
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any, TypeVar

from estimica.base.errors import EstimicaError, ExecuteError, LostWorkersError
from estimica.base.process import library_child_environment
from estimica.execute.outcome import ItemOutcome, Kind, error_text
from estimica.execute.workers.child import outcome_of, pickled
from estimica.execute.workers.context import Context
from estimica.execute.workers.dask_items import QuietPlugin, run_batch
from estimica.execute.workers.executor import Executor, batch_size
from estimica.execute.workers.process import one_thread_each, without_main_script

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")
Batch = list[tuple[int, bytes]]  # items with their indices

AHEAD = 2  # batches for each worker on their way, so that none waits
DEATHS = 1  # so many workers may die over a batch before it is given up, or tried item by item
PATIENCE = "15s"  # for a cluster to answer when it is joined
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
        self._held = contextlib.ExitStack()  # variables that workers start with, also later ones

    @property
    def workers(self) -> int:
        """Threads of the cluster, once it is joined; the processes that were asked for."""
        return max(1, self._count)

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

        Items of a batch whose worker dies are tried one by one, and those that are lost again
        when all others are done, alone. A scheduler or workers that are gone are waited for, for
        so long as the user allows.
        """
        if not items:
            return []
        build, function = pickled(context.build, "the context"), pickled(task, "the task")
        parcels = [(k, pickled(item, f"item {k}")) for k, item in enumerate(items)]
        self._start()
        size = max(1, batch or batch_size(len(items), self.workers))
        todo = deque(parcels[a : a + size] for a in range(0, len(items), size))
        outcomes: list[ItemOutcome[R] | None] = [None] * len(items)
        try:
            with _quiet():
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
        self._held.close()

    def _done(
        self, build: bytes, task: bytes, todo: deque[Batch]
    ) -> Iterator[tuple[int, ItemOutcome[Any]]]:
        """Outcomes as they come in; items whose worker died come last, each alone."""
        suspects: list[tuple[int, bytes]] = []
        for batch, answer in self._answers(build, task, todo):
            if not isinstance(answer, BaseException):
                yield from answer
            elif len(batch) > 1:
                todo.extendleft([one] for one in reversed(batch))
            else:  # perhaps it only waited at a worker that another item has ended
                suspects.append(batch[0])
        for one in suspects:
            for _, answer in self._answers(build, task, deque([[one]])):
                if isinstance(answer, BaseException):
                    yield one[0], _lost(one[0], answer)
                else:
                    yield from answer

    def _answers(
        self, build: bytes, task: bytes, todo: deque[Batch]
    ) -> Iterator[tuple[Batch, list[tuple[int, ItemOutcome[Any]]] | BaseException]]:
        """Batches with their outcomes, or what ended them; a few are on their way at any time.

        What the cluster has forgotten, because its scheduler or the worker that held the answer
        is gone, goes back to the pile.
        """
        sent: dict[Any, Batch] = {}
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        while todo or sent:
            while todo and len(sent) < AHEAD * self.workers and self._client.status != "closed":
                future = self._client.submit(run_batch, build, task, todo[0], pure=False)
                sent[future] = todo.popleft()
                future.add_done_callback(arrived.put)
            try:
                future = arrived.get(timeout=LOOK)
            except queue.Empty:
                self._attend()
            else:
                with contextlib.suppress(CancelledError):
                    answer = self._answer(future)
                    yield sent.pop(future), answer
                    future.release()
                    continue
                self._attend()
            for gone in [future for future in sent if self._forgotten(future)]:
                todo.append(sent.pop(gone))

    def _answer(self, future: Any) -> list[tuple[int, ItemOutcome[Any]]] | BaseException:
        """What has come back, or what ended the worker; CancelledError: it is forgotten."""
        while not self._forgotten(future):
            try:
                error: BaseException | None = future.exception(timeout=ANSWER)
                answer: Any = None if error is not None else future.result(timeout=ANSWER)
            except OSError:  # also a TimeoutError: it is large, or who holds it is gone
                self._attend()
                continue
            if error is not None:
                return error
            if isinstance(answer, EstimicaError):
                raise answer
            return [(index, outcome_of(content)) for index, content in answer]
        raise CancelledError

    def _forgotten(self, future: Any) -> bool:
        """Whether the cluster knows nothing of it any more."""
        return future.client is not self._client or future.status in ("cancelled", "lost")

    def _attend(self) -> None:
        """See that the cluster is there; wait for it where it is not."""
        wait_for(self._look)

    def _look(self) -> ClusterShortage | None:
        """What is missing; a scheduler that was started anew is joined, and workers of our own
        that nobody starts again, because they died while they were started, are replaced."""
        if self._client.status == "closed":
            with contextlib.suppress(ExecuteError):
                self._client = self._joined(f"{ANSWER:g}s")
        threads = threads_of(self._client)
        if threads and self._address:
            self._count = threads
        elif self._cluster is not None and (threads or 0) < self._count:
            self._cluster.scale(self._count)
        return cluster_shortage(threads, self._address)

    def _start(self) -> None:
        if self._client is not None:
            return
        with _quiet():
            self._client = self._joined(PATIENCE) if self._address else self._own()
        if self._address:
            self._count = threads_of(self._client) or 0
            if not self._count:
                self.close()
                raise ExecuteError(
                    "X016",
                    f"executor 'dask={self._address}': the cluster has no workers; start one with "
                    f"`dask worker {self._address}`",
                )

    def _joined(self, patience: str) -> Any:
        from distributed import Client

        try:
            return Client(self._address, timeout=patience, set_as_default=False)
        except Exception as error:
            raise ExecuteError(
                "X015",
                f"executor 'dask={self._address}': no Dask scheduler answers there "
                f"({error_text(error)}); start one with `dask scheduler`, or use 'dask'",
            ) from error

    def _own(self) -> Any:
        import dask
        from distributed import Client, LocalCluster

        self._held.enter_context(one_thread_each())
        variables = self._held.enter_context(library_child_environment())
        try:
            with dask.config.set(SETTINGS), without_main_script():
                self._cluster = LocalCluster(
                    n_workers=self._count,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
                client = Client(self._cluster, set_as_default=False)
                client.register_plugin(QuietPlugin(variables))
        except Exception as error:
            self.close()
            raise ExecuteError(
                "X013",
                f"no Dask cluster can be started on this machine: {error_text(error)}; use 'local'",
            ) from error
        return client


def _lost(index: int, error: BaseException) -> ItemOutcome[Any]:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        text = (
            f"the Dask worker that worked on item {index} ended, and again when it was tried "
            "alone; if memory ran out, make the item smaller"
        )
        return ItemOutcome(None, text, "X006", Kind.CRASHED)
    text = f"item {index} was lost by the Dask cluster: {error_text(error)}"
    return ItemOutcome(None, text, "X017", Kind.CRASHED)


def _not_of_dask(record: logging.LogRecord) -> bool:
    """Whether a message of asyncio is worth showing: Dask leaves tasks behind when it loses its
    connection, and their fate is told long after, with a traceback."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not kind.__module__.startswith("distributed")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs what it does; only what the user can fix is told, and by us."""
    import distributed  # noqa: F401  it gives its loggers their levels

    logging.getLogger("asyncio").addFilter(_not_of_dask)
    known = list(logging.root.manager.loggerDict)
    names = [n for n in known if n.partition(".")[0] in ("distributed", "tornado")]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


#: what the user may set: seconds that a cluster may be without a scheduler or without workers
SECONDS = "ESTIMICA_DASK_SECONDS"
#: whoever looks after a worker starts it again in some seconds, a service that was restarted is
#: there within half a minute; after twice that nobody is coming
_DEFAULT_SECONDS = 60.0
ANSWER = 5.0  # s for an answer of the scheduler: a busy one may take one or two
LOOK = 0.5  # s between two looks, so that what comes back does not stand idle


@dataclass(frozen=True, slots=True)
class ClusterShortage:
    """What a cluster lacks, and what to do about it."""

    code: str
    what: str
    remedy: str


def patience() -> float:
    """Seconds that the user allows."""
    text = os.environ.get(SECONDS, "").strip()
    if not text:
        return _DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (0 < seconds < math.inf):
        raise ExecuteError("X018", f"{SECONDS}={text} is not a number of seconds above 0")
    return seconds


def threads_of(client: Any) -> int | None:
    """How many threads the workers of a cluster have together; None: nobody answers."""
    try:
        limit = min(ANSWER, patience())
        threads = client.sync(client.scheduler.ncores, workers=None, callback_timeout=limit)
    except (Exception, CancelledError):  # of many kinds, by how the connection has ended
        return None
    return int(sum(threads.values()))


def cluster_shortage(threads: int | None, address: str) -> ClusterShortage | None:
    """What a cluster lacks that has so many threads; without address it is our own."""
    place = f"at {address}" if address else "on this machine"
    workers, again = f"workers with `dask worker {address}`", "free some memory"
    if threads is None:
        return ClusterShortage(
            "X019",
            f"the Dask scheduler {place} does not answer",
            f"start it with `dask scheduler`, and {workers}" if address else again,
        )
    if threads == 0:
        return ClusterShortage(
            "X020",
            f"the Dask cluster {place} has no workers left",
            f"start {workers}" if address else again,
        )
    return None


def wait_for(look: Callable[[], ClusterShortage | None]) -> None:
    """Return when nothing is missing; say what is, and raise where it does not come back."""
    begun, limit, last = time.monotonic(), patience(), ""
    while (lack := look()) is not None:
        if lack.what != last:
            last = lack.what
            print(f"{last}; waiting up to {limit:g} s for it", file=sys.stderr, flush=True)
        if time.monotonic() - begun > limit:
            raise LostWorkersError(
                lack.code,
                f"{lack.what}, for {limit:g} s now; {lack.remedy}, then take up the run with "
                f"--resume: what was done is kept (allow more time with {SECONDS}={2 * limit:g})",
            )
        time.sleep(LOOK)
