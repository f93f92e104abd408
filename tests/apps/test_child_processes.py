"""Child processes: no file of the current folder stands in for a module in any of them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
#: modules of Python and of libraries that our processes import, early or late
NAMES = (
    "argparse", "asyncio", "casadi", "codecs", "contextlib", "copyreg", "ctypes", "dask",
    "distributed", "encodings", "estimica", "functools", "hashlib", "importlib", "json",
    "llvmlite", "logging", "multiprocessing", "numba", "numpy", "pathlib", "pickle", "random",
    "runpy", "scipy", "selectors", "signal", "site", "sitecustomize", "socket", "struct",
    "subprocess", "sysconfig", "tempfile", "threading", "threadpoolctl", "tokenize", "types",
    "typing", "usercustomize", "warnings", "yaml", "zipimport",
)  # fmt: skip
HOSTILE = """
import posix
posix.close(posix.open({mark!r}, posix.O_CREAT | posix.O_WRONLY))
raise ImportError("the file {name}.py of the current folder was executed")
"""
MODEL = """
model Small parameter Real a = 1; Real x(start = 1, fixed = true); equation der(x) = -a*x; end Small;
"""
STUDY = """
[model]
source = "Small.mo"

[tune]
a = { start = 0.9, min = 0.1, max = 5 }

[[case]]
name = "a"
data = "run.csv"
outputs = { x = "x" }
"""
#: a module beside the user's script, which workers must find
MINE = """
import os
import subprocess
import sys

FOUND = "import other; print(other.__name__)"

def square(context, item):
    return item * item

def nothing():
    return None

def program(context, item):
    started = [sys.executable, "-c", FOUND]
    return subprocess.run(started, cwd=item, capture_output=True, text=True).stdout.strip()
"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="marks are made without any module")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        mark = str(tmp_path / f"{name}.executed")
        (folder / f"{name}.py").write_text(HOSTILE.format(mark=mark, name=name))
    (folder / "Small.mo").write_text(MODEL, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "run.csv").write_text("time,x\n0,1\n1,0.37\n2,0.14\n", encoding="utf-8")
    return folder


def program(folder: Path, text: str) -> Path:
    """A script of the user's own, beside a module that it imports."""
    place = folder / "program"
    place.mkdir(exist_ok=True)
    (place / "mine.py").write_text(MINE, encoding="utf-8")
    (place / "script.py").write_text(text, encoding="utf-8")
    return place / "script.py"


def ran(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a folder."""
    path = os.pathsep.join([str(SOURCES), *filter(None, [variables.pop("more_path", "")])])
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def executed(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.parent.glob("*.executed"))


EVERY_KIND = """
import asyncio, os, subprocess, sys
import mine
from pathlib import Path
from estimica.apps.web.worker.client import ModelWorker
from estimica.apps.web.jobs.process import JobProcess
from estimica.base.process import python_command, python_environment
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor
from estimica.simulate.fmu.child import ForkServer, SpawnedChild

here = Path.cwd()

def workers():
    with executor("local", 2) as crew:  # with them comes multiprocessing's resource tracker
        found = [o.result() for o in crew.map(mine.square, [1, 2, 3], context=Context(mine.nothing))]
    from multiprocessing import resource_tracker
    tracker = Path(f"/proc/{resource_tracker._resource_tracker._pid}/environ").read_bytes()
    assert b"PYTHONSAFEPATH=1" in tracker.split(b"\\0"), tracker
    return found

def host():
    child = SpawnedChild()
    child.to.close()
    return child._process.wait(60)

def nursery():
    one = ForkServer()
    one._start()
    one._control.close()
    return one._process.wait(60)

def job():
    process = JobProcess(["check", "study.toml"], here, here.parent / "printed")
    return process.wait()

async def bench():
    one = ModelWorker(here / "study.toml")
    found = await one.ask("check")
    await one.close()
    return sorted(found)

def unit():
    command = python_command("-m", "estimica.simulate.engine.compiler", str(os.getpid()), "estimica.simulate.engine.loop", "x")
    return subprocess.run(command, env=python_environment(), capture_output=True).stderr

print(workers())
print(host(), nursery(), job())
print(asyncio.run(bench()))
print(unit())
"""


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_module_of_the_current_folder_runs_in_any_child(hostile: Path) -> None:
    done = ran([str(program(hostile.parent, EVERY_KIND))], hostile)
    assert executed(hostile) == []
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = done.stdout.splitlines()
    assert first == "[1, 4, 9]"
    assert second == "0 0 0"
    assert "problems" in third
    assert "module estimica.simulate.engine.loop has no unit x" in fourth


DASK = """
import mine
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor

if __name__ == "__main__":
    with executor("dask", 2) as crew:
        print([o.result() for o in crew.map(mine.square, [1, 2, 3], context=Context(mine.nothing))])
"""


@posix
@pytest.mark.slow
def test_no_module_of_the_current_folder_runs_in_dask_workers(hostile: Path) -> None:
    pytest.importorskip("distributed")
    done = ran([str(program(hostile.parent, DASK))], hostile)
    assert executed(hostile) == []
    assert done.stdout == "[1, 4, 9]\n", done.stderr


AS_INSTALLED = "import sys; sys.path.pop(0); from estimica.apps.cli import main; main()"


@posix
@pytest.mark.parametrize(
    "command",
    [["-c", AS_INSTALLED], pytest.param(["-P", "-m", "estimica"], marks=pytest.mark.slow)],
)
def test_a_command_runs_no_module_of_the_current_folder(hostile: Path, command: list[str]) -> None:
    done = ran([*command, "check", "study.toml"], hostile)
    assert executed(hostile) == []
    assert done.returncode == 0, done.stderr


@posix
@pytest.mark.slow
def test_python_m_looks_in_the_current_folder_only_until_the_command_begins(hostile: Path) -> None:
    """What Python and its `-m` import before any line of ours cannot be held."""
    late = ("casadi", "llvmlite", "numba", "numpy", "scipy", "multiprocessing", "yaml")
    for name in set(NAMES) - set(late):
        (hostile / f"{name}.py").unlink()
    done = ran(["-m", "estimica", "check", "study.toml"], hostile)
    assert executed(hostile) == []
    assert done.returncode == 0, done.stderr


PATHS = """
import json, os, sys
from estimica.base.process import leave_current_folder, python_environment
leave_current_folder()
print(json.dumps([sys.path, python_environment()["PYTHONPATH"].split(os.pathsep)]))
"""


@pytest.mark.parametrize("entry", ["", ".", "relative", "./x/.."])
def test_relative_entries_of_the_path_do_not_reach_children(tmp_path: Path, entry: str) -> None:
    script = program(tmp_path, PATHS)
    folder = tmp_path / "here"
    folder.mkdir()
    done = ran([str(script)], folder, more_path=os.pathsep.join([entry, str(tmp_path / "named")]))
    path, given = json.loads(done.stdout)
    assert given == [str(SOURCES), str(tmp_path / "named")]
    assert path[:3] == [str(script.parent), str(SOURCES), str(tmp_path / "named")]
    assert not any(one.startswith(str(folder)) for one in path)


def test_what_is_named_in_full_stays_though_it_is_the_current_folder(tmp_path: Path) -> None:
    done = ran([str(program(tmp_path, PATHS))], tmp_path, more_path=str(tmp_path))
    path, given = json.loads(done.stdout)
    assert str(tmp_path) in path
    assert str(tmp_path) in given


PROMPT = """
import mine
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor
with executor("local", 2) as crew:
    print([o.result() for o in crew.map(mine.square, [2, 3], context=Context(mine.nothing))])
    print([o.result() for o in crew.map(mine.program, {folders!r}, context=Context(mine.nothing))])
"""


@pytest.mark.parametrize(
    "prompt", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["script", "prompt"]
)
def test_workers_find_what_a_program_imported_from_its_own_folder(
    tmp_path: Path, prompt: bool
) -> None:
    """At a prompt that is the current folder; a program that such code starts looks where it did."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "other.py").touch()
    script = program(tmp_path, PROMPT.format(folders=[str(other)] * 2))
    if prompt:
        done = ran(["-c", script.read_text()], script.parent)
    else:
        done = ran([str(script)], tmp_path)
    assert done.stdout == "[4, 9]\n['other', 'other']\n", done.stderr


def test_the_interpreter_is_named_in_one_place_only() -> None:
    """There it gets the option and the path by which it does not look in the current folder."""
    found = set()
    for path in (SOURCES / "estimica").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "executable" in text else "")):
            named = isinstance(node, ast.Attribute) and node.attr in ("executable", "_executable")
            imported = isinstance(node, ast.ImportFrom) and node.module == "sys"
            if named or (imported and any(a.name == "executable" for a in node.names)):
                found.add(path.relative_to(SOURCES).as_posix())
    assert found == {"estimica/base/process.py"}


NUMBA = """
from estimica.compiled.llvm.numba import njit
from numba.core import config
print(config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES)
print(njit(lambda x: x + 1)(1))
print(config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES)
import yaml
"""


@pytest.mark.parametrize(
    "text",
    [
        "cache_dir: evil\ncache_locator_classes: evil.Locator\n",
        pytest.param("- no settings\n", marks=pytest.mark.slow),
        pytest.param("{", marks=pytest.mark.slow),
    ],
)
def test_compiled_code_is_not_read_from_where_the_current_folder_says(
    tmp_path: Path, text: str
) -> None:
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text(text, encoding="utf-8")
    done = ran(["-c", NUMBA], tmp_path, NUMBA_CACHE_DIR="mine")
    assert (done.stdout, done.stderr) == ("mine \n2\nmine \n", "")
