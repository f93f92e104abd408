"""The one interface to whoever does the work, and the choice by name."""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Self, TypeVar

from estimica.base.errors import ExecuteError
from estimica.base.suggest import did_you_mean
from estimica.execute.outcome import ItemOutcome
from estimica.execute.workers.context import Context

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R")

#: workers for each processor, and at least: each is a process with some 100 MB of its own
EACH, FEWEST = 4, 16
NAMES = ("serial", "local", "dask")
#: a worker is given this share of its part of the work at once, and at most LARGEST items. Chosen:
#: at the end the others wait for one batch, with 16 shares for at most 6 % of the time, and small
#: batches cost messages; LARGEST bounds what is done again when a worker dies
SHARES, LARGEST = 16, 64


class Executor(ABC):
    """Does a task for many items. A context manager: leaving it ends the workers."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many items are worked on at the same time."""

    @abstractmethod
    def map(
        self,
        task: Callable[[C, T], R],
        items: Sequence[T],
        *,
        context: Context[C],
        on_done: Callable[[int, ItemOutcome[R]], None] | None = None,
        batch: int | None = None,
    ) -> list[ItemOutcome[R]]:
        """The outcome of `task(context, item)` for every item, in the order of `items`.

        An error in a task is the outcome of its item and stops nothing. `on_done(index, outcome)`
        is called in this process as items finish, in any order. `batch` items are sent to a
        worker at once. Ctrl-C, and an error in `on_done`, end the workers and are raised.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def executor(name: str = "local", workers: int | None = None) -> Executor:
    """Whoever does the work, by name.

    `serial`: one item after the other in this process; `local`: `workers` processes on this
    machine, by default one for each processor as soon as the work lasts long enough for that;
    `dask`: a Dask cluster of as many processes, or with `dask=tcp://host:8786` the one that runs
    there. One local worker, or a worker's own work, is serial.
    """
    from estimica.execute.workers import child as worker
    from estimica.execute.workers.local import LocalProcesses
    from estimica.execute.workers.serial import GrowingExecutor, SerialExecutor

    kind, _, address = name.partition("=")
    if kind not in NAMES or (address and kind != "dask"):
        hint = did_you_mean(kind, NAMES) or "; use 'local', 'serial', 'dask' or 'dask=ADDRESS'"
        raise ExecuteError("X010", f"there is no executor '{name}'{hint}")
    if workers is not None and workers < 1:
        raise ExecuteError("X012", f"{workers} workers cannot do anything; use 1 or more")
    most = max(FEWEST, EACH * processors())
    if workers is not None and workers > most and not address:
        raise ExecuteError(
            "X012",
            f"{workers} workers: this machine has {processors()} processors, and at most {most} "
            "workers share them; more only take memory",
        )
    count = processors() if workers is None else workers
    if worker.is_worker() or kind == "serial" or (kind == "local" and count == 1):
        return SerialExecutor()
    if kind == "dask":
        return _cluster(name, count, address)
    return GrowingExecutor(count) if workers is None else LocalProcesses(count)


@contextlib.contextmanager
def executor_for(who: str | Executor, workers: int | None = None) -> Iterator[Executor]:
    """An executor for a while: one that is given stays alive, so that its workers need not start
    and prepare again for the next work; one that is named is ended."""
    if isinstance(who, Executor):
        yield who
        return
    with executor(who, workers) as crew:
        yield crew


def _cluster(name: str, workers: int, address: str) -> Executor:
    if find_spec("distributed") is None:
        raise ExecuteError(
            "X011",
            f"executor '{name}' needs Dask, which is not installed; install it with "
            "`pip install 'estimica[dask]'`, or use 'local'",
        )
    from estimica.execute.workers.dask_cluster import DaskCluster

    return DaskCluster(workers, address)


def processors() -> int:
    """The processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def batch_size(items: int, workers: int) -> int:
    """How many items a worker is given at once."""
    return max(1, min(LARGEST, items // (SHARES * workers)))
