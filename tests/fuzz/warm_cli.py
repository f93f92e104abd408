"""Warm command line: commands run in forks of a process that has imported everything once.

Each runs as a user's would: the real entry, its own process group, its own files for what it
prints. How long it took and the most memory that it had are measured from outside.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HANGS = 60.0  # s: no answer after that is not an answer
MOST_MEMORY = 2e9  # bytes that a process may have
#: address space beyond what the warm process has: a runaway ends before the machine does, and yet
#: after it has passed MOST_MEMORY, so that it is seen
ROOM = 4_000_000_000
LOOK = 0.002  # s between two looks at a process


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative: a signal), what it said, and what it took."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str
    seconds: float
    memory: float  # bytes
    hung: bool


def run_command(args: Sequence[str], folder: Path, **environment: str) -> Ended:
    """`estimica ARGS…` in a folder."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as told:
        request = {"args": list(args), "folder": str(folder), "told": told, "env": environment}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        out, err = (
            (Path(told) / name).read_text(encoding="utf-8", errors="surrogateescape")
            for name in ("out", "err")
        )
    return Ended(tuple(args), out=out, err=err, **answer)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.kill)
    return server


# --- in the warm process -------------------------------------------------------------------------

SMALL = "model Small parameter Real k = 1; Real x(start = 1); equation der(x) = -k*x; end Small;"
STUDY = """[model]
source = "Small.mo"
[tune]
k = { start = 2, min = 0.1, max = 9 }
[[case]]
name = "a"
data = "a.csv"
outputs = { x = "x" }
"""


def _warm_up() -> None:
    import h5py  # noqa: F401
    import openpyxl  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.io  # noqa: F401

    import estimica as es
    from estimica.simulate.engine.events.history import history_unit
    from estimica.simulate.engine.events.iteration import events_unit
    from estimica.simulate.engine.loop import drive
    from estimica.simulate.engine.methods.rosenbrock import stiff_unit
    from estimica.simulate.engine.unknowns.algebraic import algebraic_unit
    from estimica.simulate.engine.unknowns.projection import projection_unit
    from estimica.simulate.points.loop import points_unit

    for unit in (drive, algebraic_unit, projection_unit, events_unit, history_unit, points_unit,
                 stiff_unit):  # fmt: skip
        unit.address  # noqa: B018  # compiled once on this computer, which may take its time
    for name in es.__all__:
        getattr(es, name)  # they are imported when they are asked for
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "Small.mo").write_text(SMALL)
        (place / "s.toml").write_text(STUDY)
        (place / "a.csv").write_text("time,x\n0,1\n1,0.4\n2,0.1\n3,0.05\n")
        for args in (["check", "s.toml"], ["fit", "s.toml", "--report", "r.html"],
                     ["inspect", "Small.mo"], ["simulate", "Small.mo", "--stop", "1"],
                     ["runs", "show", "last", "--json"]):  # fmt: skip
            _command(args, folder, {})


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    _warm_up()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(**json.loads(line))) + "\n")
        answers.flush()


def _answer(args: list[str], folder: str, told: str, env: dict[str, str]) -> dict[str, object]:
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        _be_child(args, folder, told, env)
    hung = False
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        seconds = time.perf_counter() - begun
        if done:
            break
        if seconds > HANGS and not hung:
            hung = True
            os.kill(child, signal.SIGKILL)
        time.sleep(LOOK)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it left behind
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "seconds": seconds, "memory": used.ru_maxrss * 1024.0, "hung": hung}


def _be_child(args: list[str], folder: str, told: str, env: dict[str, str]) -> None:
    code = 99
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        places = [os.open(os.path.join(told, n), os.O_WRONLY | os.O_CREAT) for n in ("out", "err")]
        for here, place in ((nothing, 0), (places[0], 1), (places[1], 2)):
            os.dup2(here, place)
        # a process that has just begun: the warm one has put its own stdout aside
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        room = _address_space() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        code = _command(args, folder, env)
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _command(args: list[str], folder: str, env: dict[str, str]) -> int:
    """The entry of the command line, as the script `estimica` calls it."""
    from estimica.apps.cli import main

    os.chdir(folder)
    os.environ.update(env)
    sys.argv = ["estimica", *args]
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    _serve()
