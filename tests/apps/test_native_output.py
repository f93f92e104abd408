"""stdout holds the result of a command and nothing else, whatever models and libraries print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"

#: prints past Python, through it, into a buffer of C that is emptied at the end, and by LAPACK
LOUD = """
import ctypes, os, sys
import numpy as np

C = ctypes.CDLL(None)

def noise():
    os.write(1, b"written to descriptor 1\\n")
    C.printf(b"printed by C\\n")
    try:
        np.linalg.lstsq([[np.nan, 1.0], [2.0, 3.0]], [1.0, 1.0])
    except np.linalg.LinAlgError:
        pass
"""
MODEL = (
    LOUD
    + """
def f(u, t, K=1.5, c=0.1):
    print("printed by a model")
    sys.stdout.write("written by a model\\n")
    noise()
    return K * u + c
"""
)
STUDY = """
[model]
source = "loud.py:f"

[tune]
K = { start = 1.0, min = 0, max = 5 }
c = { start = 0.0, min = -1, max = 1 }

[[case]]
name = "a"
data = "run.csv"
inputs = { u = "u" }
outputs = { y = "y" }

[[case]]
name = "b"
data = "run.csv"
inputs = { u = "u" }
outputs = { y = "y" }
"""
#: every command in a fork of one process that has imported everything
COMMANDS = (
    LOUD
    + """
import json, pathlib
import estimica.apps.cli as cli
import estimica.apps.cli.commands.app as commands
import estimica.estimate.run.fit, estimica.infer.bootstrap.run, estimica.infer.profile.run

plain = commands.app

def with_noise():
    noise()
    try:
        plain()
    finally:
        noise()

commands.app = with_noise
for number, words in enumerate(json.loads(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        sys.argv = ["estimica", *words]
        for stream, name in (1, "out"), (2, "err"):
            file = os.open(f"{number}.{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(file, stream)
        code = 99
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.stdout.flush()
            C.fflush(None)
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="forks, and needs the C library")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{t},{u},{1.4 * u + 0.2 + 0.01 * (-1) ** t}" for t, u in enumerate([0, 1, 2, 1, 0, 3])]
    (tmp_path / "run.csv").write_text("\n".join(["time,u,y", *rows]), encoding="utf-8")
    (tmp_path / "loud.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "loud.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(STUDY.replace("K =", "Q ="), encoding="utf-8")
    return tmp_path


def printed(folder: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of commands."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "ESTIMICA_TRUST": "all"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = [int(line) for line in done.stdout.splitlines() if line.isdigit()]
    texts = [[(folder / f"{k}.{n}").read_text() for n in ("out", "err")] for k in range(len(codes))]
    return [(code, out, err) for code, (out, err) in zip(codes, texts, strict=True)]


@posix
def test_with_json_one_object_is_all_that_stands_on_stdout(folder: Path) -> None:
    study = "loud.toml"
    commands = [
        ["check", "wrong.toml", "--json"],
        ["fit", study, "--json"],
        ["bootstrap", study, "--replicates", "4", "--workers", "1", "--json"],
        ["runs", "--json"],
        ["fit", "none.toml", "--json"],
    ]
    *ends, (code, out, err) = printed(folder, *commands, ["fit", study, "--no-store"])
    assert code == 0, err
    assert "K" in out, "without --json the table is on stdout, native lines are not"
    assert "written to descriptor 1" not in out
    assert "DLASCL" not in out
    for command, (code, out, err) in zip(commands, ends, strict=True):
        assert out.count("\n") == 1, (command, out)
        assert json.loads(out)["command"] == command[0]
        assert "Traceback" not in err
        assert "printed by C" in err
        assert "On entry to DLASCL" in err
        assert code == (0 if "loud.toml" in command or command[0] == "runs" else 2), (command, err)


@posix
@pytest.mark.slow
def test_workers_print_nothing_to_stdout_either(folder: Path) -> None:
    work = ["bootstrap", "loud.toml", "--replicates", "4", "--json"]
    for options in (["--workers", "2"], ["--workers", "2", "--executor", "dask"]):
        ((code, out, err),) = printed(folder, [*work, *options])
        assert code == 0, err
        assert out.count("\n") == 1
        assert json.loads(out)["command"] == "bootstrap"
