"""The inside of a Dask worker: it prepares a context once a thread, then does items with it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Any

from distributed import WorkerPlugin

from estimica.base.errors import EstimicaError
from estimica.base.process import Variables, set_variables
from estimica.execute.threads import one_thread
from estimica.execute.workers.child import acting_as_worker, pickled_outcome, sendable, unpickled
from estimica.execute.workers.context import build_context

_kept = threading.local()  # contexts are not made for several threads


def run_batch(
    build: bytes, task: bytes, items: Sequence[tuple[int, bytes]]
) -> list[tuple[int, bytes]] | EstimicaError:
    """Pickled outcomes of items with their indices, or why the work cannot begin."""
    with acting_as_worker(), one_thread():
        try:
            context = _context(build)
            function = unpickled(task, "the task")
        except Exception as error:
            return sendable(error)
        return [(index, pickled_outcome(function, context, item)) for index, item in items]


def _context(build: bytes) -> Any:
    if getattr(_kept, "build", None) != build:
        _kept.build = None  # the last one may be large
        _kept.context = build_context(unpickled(build, "the context"))
        _kept.build = build
    return _kept.context


class QuietPlugin(WorkerPlugin):  # type: ignore[misc]
    """What every worker of a cluster of our own does first, also one that takes another's place."""

    name = "estimica"

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    def setup(self, worker: object) -> None:
        """stdout is for the result of the command, which the parent prints; the variables are
        the parent's, which were others for the start."""
        set_variables(self._variables)
        with contextlib.suppress(OSError):
            os.dup2(2, 1)
