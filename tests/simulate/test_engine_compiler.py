"""The process that compiles the engine: interrupted it leaves nothing behind, and two do no harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"
MODEL = "model Small Real x(start = 1, fixed = true); equation der(x) = -x; end Small;"

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def started(folder: Path) -> subprocess.Popen[str]:
    """A simulation on a computer where the engine is not compiled yet."""
    (folder / "Small.mo").write_text(MODEL, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "estimica", "simulate", "Small.mo", "--stop", "1", "--json"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCES),
            "NUMBA_CACHE_DIR": str(folder / "kept"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def compilers(session: int) -> set[int]:
    """Processes of a session that compile."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[3]) == session and b"engine.compiler" in line:
                found.add(int(entry.name))
    return found


def until(condition: object, seconds: float) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@linux
@pytest.mark.slow
@pytest.mark.parametrize("whom", ["all", "parent", "killed"])
def test_interrupted_compiler_leaves_no_process_and_the_next_run_works(
    tmp_path: Path, whom: str
) -> None:
    run = started(tmp_path)
    assert until(lambda: compilers(run.pid), 60)
    time.sleep(1.0)  # in the midst of it
    if whom == "all":
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    else:
        run.send_signal(signal.SIGINT if whom == "parent" else signal.SIGKILL)
    out, err = run.communicate(timeout=20)
    assert until(lambda: not compilers(run.pid), 5)
    assert out == ""
    if whom != "killed":
        assert run.returncode == 130
        assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    again = started(tmp_path)
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert "compiling the engine" in err


@pytest.mark.slow
def test_two_processes_that_compile_at_once_agree(tmp_path: Path) -> None:
    runs = [started(tmp_path) for _ in range(2)]
    ends = [run.communicate(timeout=400) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], ends
    third = started(tmp_path)
    out, err = third.communicate(timeout=300)
    assert "compiling" not in err
    assert {end[0] for end in ends} == {out}
