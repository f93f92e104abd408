"""The inside of a worker process: it prepares once, then does items until it is told to stop; and
the parcels of bytes that travel to it and back, with troubles of theirs in the user's words."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from estimica.base.errors import EstimicaError, ExecuteError
from estimica.base.process import Variables, set_variables
from estimica.execute.outcome import ItemOutcome, Kind, error_text, failed_item
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import build_context

#: the index of the message by which a worker says whether it could prepare
PREPARED = -1
#: the exit code of a worker that began to run the user's script from its top
NOT_GUARDED = 77

_inside = False
_here = threading.local()  # .working: a thread of another library that does our work


@dataclass(frozen=True, slots=True)
class Job:
    """Items with their indices, all pickled; `build` is None where the worker has the context."""

    build: bytes | None
    task: bytes
    items: tuple[tuple[int, bytes], ...]


def is_worker() -> bool:
    """Whether this process is a worker, ours or another library's, and may not start its own.

    One that runs an unguarded script from its top ends here, before it starts workers of its own.
    """
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        os._exit(NOT_GUARDED)
    return _inside or process.daemon or getattr(_here, "working", False)


@contextlib.contextmanager
def acting_as_worker() -> Iterator[None]:
    """This thread does the work of a worker, in whoever's process."""
    _here.working = True
    try:
        yield
    finally:
        _here.working = False


def serve(connection: Connection, variables: Variables) -> None:
    """What a process does that was started to be a worker.

    `variables` are the parent's, which were others for the start.
    """
    become_worker(variables)
    end_with_parent()
    do_jobs(connection, None)


def become_worker(variables: Variables) -> None:
    """Whatever distinguishes a worker from other processes."""
    global _inside
    _inside = True
    set_variables(variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # stdout is for the result of the command, which the parent prints


def do_jobs(connection: Connection, context: Any) -> None:
    """Do the jobs that come through `connection` until None comes, or the parent is gone.

    `context` is what this process has already.
    """
    with contextlib.suppress(EOFError, OSError), one_thread():
        while (job := connection.recv()) is not None:
            try:
                if job.build is not None:
                    context = None  # the last one may be large
                    context = build_context(unpickled(job.build, "the context"))
                task = unpickled(job.task, "the task")
            except BaseException as error:
                connection.send((PREPARED, sendable(error)))
                continue
            connection.send((PREPARED, None))
            for index, item in job.items:
                connection.send((index, pickled_outcome(task, context, item)))


def end_with_parent() -> None:
    """A killed parent cannot end its workers; they must not go on without it."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def unpickled(pickled: bytes, what: str) -> Any:
    """A value that has come to a worker; `what` is its name where it cannot be made here."""
    try:
        return pickle.loads(pickled)
    except Exception as error:
        raise ExecuteError(
            "X003",
            f"{what} cannot be made in a worker process: {error_text(error)}; what its functions "
            "import must be installed where the worker runs; or use 1 worker",
        ) from error


def sendable(error: BaseException) -> EstimicaError:
    """Why the work cannot begin, as an error that travels."""
    if isinstance(error, EstimicaError):
        return error
    return ExecuteError("X004", f"the work cannot be prepared: {error_text(error)}")


def pickled_outcome(task: Callable[[Any, Any], object], context: Any, item: bytes) -> bytes:
    """The pickled outcome of one item."""
    outcome: ItemOutcome[object]
    try:
        outcome = ItemOutcome(task(context, pickle.loads(item)))
    except BaseException as error:
        outcome = failed_item(error)
    try:
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        text = f"the result cannot be sent back from a worker process: {error_text(error)}"
        return pickle.dumps(failed_item(ExecuteError("X005", text)))


def pickled(value: object, what: str) -> bytes:
    """A value on its way to a worker; `what` is its name where it cannot travel."""
    from cloudpickle import dumps  # functions of notebooks and scripts, lambdas too, as they are

    try:
        content: bytes = dumps(value, pickle.HIGHEST_PROTOCOL)
        return content
    except Exception as error:
        raise ExecuteError(
            "X002",
            f"{what} cannot be sent to a worker process: {error_text(error)}; leave out what is "
            "open or locked (files, connections, locks), or use 1 worker",
        ) from error


def outcome_of(content: bytes) -> ItemOutcome[Any]:
    """What a worker has sent back."""
    try:
        outcome: ItemOutcome[Any] = pickle.loads(content)
    except Exception as error:
        text = f"the result of a worker process cannot be read: {error_text(error)}"
        return ItemOutcome(None, text, "X014", Kind.FAILED)
    return outcome
