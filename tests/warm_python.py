"""Warm Python: a process that has imported everything once; scripts run in forks of it.

Starting Python, importing the package and loading its engine takes longer than most scripts of
pages and examples. What a script does, it does in a process of its own all the same.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from pathlib import Path

SMALL = "model Small Real x(start = 1, fixed = true); equation der(x) = -x; end Small;"


def run_script(script: Path, folder: Path, arguments: Sequence[str] = ()) -> None:
    """Run a script in a folder; a warning is an error, and so is everything that is not exit 0."""
    if not hasattr(os, "fork"):
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script), *arguments],
            cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    told = folder / f"{script.stem}.told"
    server.stdin.write(json.dumps([str(script), str(folder), str(told), *arguments]) + "\n")
    server.stdin.flush()
    code = server.stdout.readline().strip()
    assert code == "0", told.read_text(encoding="utf-8") if told.is_file() else code


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-W", "error", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.kill)
    return server


def _warm_up() -> None:
    import estimica as es

    es.load_model(SMALL).simulate([0.0, 1.0])
    for name in es.__all__:
        getattr(es, name)  # they are imported when they are asked for


def _serve() -> None:
    _warm_up()
    for line in sys.stdin:
        script, folder, told, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_run(script, folder, told, arguments))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(script: str, folder: str, told: str, arguments: list[str]) -> int:
    """As Python itself would run it, with all that it prints in the file `told`."""
    os.chdir(folder)
    out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, place in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(here, place)
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent)
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            code = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()  # as at the end of a process; the fork itself ends without it
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve()
