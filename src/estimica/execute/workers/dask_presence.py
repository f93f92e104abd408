"""Presence: whether a Dask cluster has workers and a scheduler that answers, and since when."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from estimica.base.errors import ExecuteError, LostWorkersError

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
        found = client.sync(client.scheduler.ncores, workers=None, callback_timeout=limit)
    except (Exception, CancelledError):  # of many kinds, by how the connection has ended
        return None
    return int(sum(found.values()))


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
    begun, limit, told = time.monotonic(), patience(), ""
    while (lack := look()) is not None:
        if lack.what != told:
            told = lack.what
            print(f"{told}; waiting up to {limit:g} s for it", file=sys.stderr, flush=True)
        if time.monotonic() - begun > limit:
            raise LostWorkersError(
                lack.code,
                f"{lack.what}, for {limit:g} s now; {lack.remedy}, then take up the run with "
                f"--resume: what was done is kept (allow more time with {SECONDS}={2 * limit:g})",
            )
        time.sleep(LOOK)
