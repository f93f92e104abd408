"""How a Python process of our own is started, ends with its parent, and pauses its collector.

No file of some folder stands in for a module.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGES = Path(__file__).parents[2]  # the folder that this package lies in
LOOK = 1.0  # s between two looks for the parent: cheap, and soon enough for who has gone
_SAFE = "PYTHONSAFEPATH"  # what -P is as a variable

Variables = dict[str, str | None]  # None: it is not set


def python_command(*arguments: str) -> list[str]:
    """The interpreter and its arguments; -P: modules are not looked for in the current folder."""
    return [sys.executable, "-P", *arguments]


def python_environment() -> dict[str, str]:
    """The variables of such a process, which finds this very package.

    An empty or relative entry of PYTHONPATH is a way to say "the current folder".
    """
    paths = [path for path in _python_path() if os.path.isabs(path)]
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    if str(_PACKAGES) not in {*installed, *paths}:
        paths.insert(0, str(_PACKAGES))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return environment | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})


@contextlib.contextmanager
def library_child_environment() -> Iterator[Variables]:
    """Processes that a library starts meanwhile, by a command line of its own, begin likewise.

    What multiprocessing and Dask start is told the path of this process once it stands. Yields
    the variables as they were, for `set_variables` there: a program that the user's own code
    starts in such a process finds its modules as it does here.
    """
    ours = start_variables()
    before = {name: os.environ.get(name) for name in ours}
    set_variables(ours)
    try:
        yield before
    finally:
        set_variables(before)


def start_variables() -> Variables:
    """What such a process begins with, as far as it is about where modules are found."""
    return {_SAFE: "1", "PYTHONPATH": python_environment().get("PYTHONPATH")}


def set_variables(values: Variables) -> None:
    """Set variables of this process."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def let_idle_threads_sleep() -> None:
    """Have the threads of NumPy's linear algebra wait asleep, also in processes that are started.

    They wait awake for what there may be to do next, 2^26 turns by default, which makes a third of
    the time that NumPy takes to load. With 2^20, less than a millisecond, they are still awake for
    the next call of a loop. What somebody has set stays.
    """
    if "numpy" not in sys.modules:  # which looks at it when it is loaded
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")


def end_with_parent(parent: int) -> None:
    """End this process when its parent of this number is gone, also in native code."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def leave_current_folder() -> None:
    """Take the current folder off the path of this process, which runs a command of ours.

    Python puts it there for `python -m`, and for empty and relative entries of PYTHONPATH. What is
    named in full stays, and so does the folder that this package lies in.
    """
    given = _python_path()
    if not sys.flags.safe_path:  # first comes the folder of the script, or for -m the current one
        given.insert(0, "" if sys.modules["__main__"].__spec__ else os.sep)
    for place in reversed(range(min(len(given), len(sys.path)))):
        relative = not os.path.isabs(given[place])
        if relative and Path(sys.path[place]) != _PACKAGES:
            del sys.path[place]


def _python_path() -> list[str]:
    given = os.environ.get("PYTHONPATH")
    return given.split(os.pathsep) if given else []


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """The collector would look through growing tables again and again, and find nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
