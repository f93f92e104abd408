"""Every file that a command writes: the result comes first, and nothing is lost with the file."""

from __future__ import annotations

import errno
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from typer.models import OptionInfo
from typer.testing import CliRunner, Result

from estimica.apps.cli.commands.app import app
from estimica.apps.cli.commands.directory import ENTRIES
from estimica.apps.cli.commands.runs import runs_app
from estimica.apps.cli.streams import SafeStream
from estimica.base.files import write as output_file
from estimica.data.writers import write_csv
from estimica.execute.runs.store import Store

ROOT = Path(__file__).resolve().parents[2]
ESTIMICA = (sys.executable, "-c", "from estimica.apps.cli import main; main()")
NOT_WRITTEN = 3

LINE = """[static]
expression = "a + b*x"
[tune]
a = { start = 0, min = -9, max = 9 }
b = { start = 0.5, min = -9, max = 9 }
[[case]]
name = "points"
data = "line.csv"
inputs = { x = "x" }
outputs = { y = { column = "y", sigma = 0.1 } }
"""
LIKELY = f'{LINE}[estimate]\ncriterion = "ml"\n'
LAG = """model Lag
  parameter Real T = 2;
  output Real y(start = 0, fixed = true);
equation
  T*der(y) = 1 - y;
  annotation(experiment(StopTime = 10));
end Lag;
"""
DRIFT = """[model]
source = "Lag.mo"
[tune]
T = { start = 2, min = 0.5, max = 5 }
[process_noise]
y = "noise"
[estimate]
criterion = "prediction"
[[case]]
name = "drift"
data = "drift.csv"
outputs = { y = "y" }
"""
DESIGN = """[model]
source = "Lag.mo"
[tune]
T = { start = 2, min = 0.5, max = 5 }
[[case]]
name = "step"
stop = 10
[[criterion]]
name = "late"
kind = "integral"
of = "(1 - y)^2"
demand = 1
[sweep]
vary = { T = [1, 2, 3] }
[montecarlo]
draw = { T = { min = 1, max = 3 } }
samples = 5
"""

DECAY = """[model]
source = "Decay.mo"
[tune]
k = { start = 0.5 }
[estimate]
criterion = "ml"
[[case]]
name = "a"
data = "decay.csv"
outputs = { x = "x" }
"""
FOLLOW = """[model]
source = "Lag.mo"
[tune]
T = { start = 2, min = 0.5, max = 5 }
[[case]]
name = "step"
data = "follow.csv"
outputs = { y = "y" }
[estimate]
criterion = "ml"
"""

#: options that name a file or folder which is read, or the store, which has its own tests
READ = {"store", "second", "library", "folder", "inputs", "follow", "state"}
#: how each command is called, and the endings of its outputs by option
WRITES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "fit": (
        ("line.toml",),
        {"--report": "r.html", "--csv": "c.csv", "--modelica": "M.mo", "--ssv": "s.ssv"},
    ),
    "sweep": (("lag.toml",), {"--report": "r.html", "--csv": "c.parquet"}),
    "simulate": (("Lag.mo",), {"--plot": "p.html", "--csv": "c.csv"}),
    "signal": (("sine", "frequency=1", "amplitude=1"), {"--csv": "c.csv", "--plot": "p.html"}),
    "schema": ((), {"--output": "s.json"}),
    "new": (("Lag.mo", "--force"), {"--output": "n.toml"}),
    "report": (("line.toml",), {"--out": "d.html"}),
    "bootstrap": (("line.toml", "--replicates", "20"), {"--report": "r.html"}),
    "sample": (
        ("likely.toml", "--draws", "20", "--warmup", "20", "--workers", "1"),
        {"--report": "r.html", "--netcdf": "d.nc"},
    ),
    "profile": (("line.toml", "a"), {"--report": "r.html"}),
    "identifiability": (("line.toml", "--no-structural"), {"--report": "r.html"}),
    "residuals": (("line.toml",), {"--report": "r.html"}),
    "monitor": (("follow.toml", "--once", "--no-state"), {"--report": "r.html"}),
    "map": (("line.toml", "a", "b", "--points", "3"), {"--report": "r.html"}),
    "crossvalidate": (("line.toml", "--by", "time", "--folds", "2"), {"--report": "r.html"}),
    "release": (("line.toml",), {"--report": "r.html"}),
    "find-noise": (("decay.toml",), {"--report": "r.html"}),
    "states": (("drift.toml",), {"--report": "r.html", "--csv": "c.csv"}),
    "predict": (("drift.toml", "--ahead", "2"), {"--report": "r.html", "--csv": "c.csv"}),
    "forecast": (("drift.toml", "--until", "60"), {"--report": "r.html", "--csv": "c.csv"}),
    "montecarlo": (("lag.toml",), {"--report": "r.html", "--csv": "c.csv"}),
    "optimise": (
        ("lag.toml", "--method", "pattern", "--max-evaluations", "20"),
        {"--report": "r.html", "--csv": "c.csv", "--modelica": "T.mo", "--live": "l.html"},
    ),
    "backcalculate": (("ohm/ohm.toml",), {"--report": "r.html", "--csv": "c.csv"}),
    "design-input": (("in/square_wave.toml",), {"--report": "r.html", "--csv": "c.csv"}),
    "frequency-response": (
        ("record.csv", "--input", "u", "--output", "y"),
        {"--report": "r.html", "--csv": "c.csv"},
    ),
    "demo": ((), {"--report": "r.html"}),
    "sensitivity-system": (("Lag.mo", "--tuners", "T"), {"--out": "E.mo"}),
    "first-guess": (("step.csv", "--input", "u", "--output", "y"), {"--report": "r.html"}),
    "runs compare": (("last", "other"), {"--report": "r.html"}),
}
#: folders that are made and filled
FOLDERS = {
    ("report", "figures"),
    ("demo", "files"),
    ("export", "petab"),
    ("runs compare", "figures"),
}
QUICK = ("fit", "sweep", "simulate", "signal", "schema", "new", "report", "sensitivity-system")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands ask for; the current one."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 30)
    write_csv("line.csv", {"x": x, "y": 1 + 2 * x + 0.1 * rng.standard_normal(30)})
    t = np.arange(400) * 0.1
    late = np.maximum(t - 2, 0)
    write_csv("step.csv", {"time": t, "u": 1.0 * (t >= 2), "y": 2 - 2 * np.exp(-late / 3)})
    write_csv("decay.csv", {"time": t[:60], "x": np.exp(-t[:60]) + 0.01 * rng.standard_normal(60)})
    write_csv("drift.csv", {"time": t, "y": 1 - np.exp(-t / 2) + 0.1 * rng.standard_normal(400)})
    u = np.tile(rng.standard_normal(100), 4)
    write_csv("record.csv", {"time": t, "u": u, "y": u + 0.01 * rng.standard_normal(400)})
    y = 1 - np.exp(-t / 3) + 0.01 * rng.standard_normal(400)
    write_csv("follow.csv", {"time": t, "y": y})
    for name, text in {
        "follow.toml": FOLLOW,
        "line.toml": LINE,
        "likely.toml": LIKELY,
        "lag.toml": DESIGN,
        "drift.toml": DRIFT,
        "Lag.mo": LAG,
        "decay.toml": DECAY,
        "Decay.mo": "model Decay parameter Real k = 0.5; Real x(start = 1, fixed = true); "
        "equation der(x) = -k*x; end Decay;",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    for name, folder in {"ohm": "ohm", "input_design": "in"}.items():
        shutil.copytree(ROOT / "examples" / name, folder, ignore=lambda *_: [".estimica"])
    return tmp_path


def estimica(*arguments: object) -> Result:
    command, *rest = arguments
    return CliRunner().invoke(app, [*str(command).split(), *map(str, rest)])


def path_options() -> Iterator[tuple[str, str]]:
    """Every option of every command that takes a path, from the commands themselves."""
    commands = {name: e.function for name, e in ENTRIES.items() if e.function is not runs_app}
    for one in runs_app.registered_commands:
        commands[f"runs {one.name or one.callback.__name__}"] = one.callback
    for name, command in commands.items():
        for option, hint in get_type_hints(inspect.unwrap(command), include_extras=True).items():
            kind, *notes = get_args(hint) or (hint,)
            is_option = any(isinstance(note, OptionInfo) for note in notes)
            if is_option and Path in (kind, *get_args(kind)):
                yield name, option


def test_every_option_that_names_a_file_to_write_is_tested_here() -> None:
    found = {(name, option) for name, option in path_options() if option not in READ}
    tested = {(n, o.removeprefix("--")) for n, (_, files) in WRITES.items() for o in files}
    assert found == tested | FOLDERS
    assert len(found) > 30


def full_disk(
    monkeypatch: pytest.MonkeyPatch,
    why: BaseException = OSError(errno.ENOSPC, "No space left on device"),  # noqa: B008
) -> None:
    """No file of this folder can be put into its place; caches elsewhere can."""
    replace, here = os.replace, Path.cwd()

    def full(draft: Path, path: Path) -> None:
        if Path(path).resolve().is_relative_to(here.resolve()):
            raise why
        replace(draft, path)

    monkeypatch.setattr(output_file.os, "replace", full)


def without_outputs_nothing_is_lost(command: str, here: Path, as_json: bool) -> None:
    arguments, options = WRITES[command]
    old = {name: f"old {name}" for name in options.values()}
    for name, text in old.items():
        Path(name).write_text(text, encoding="utf-8")
    if command in ("report", "runs compare"):
        assert estimica("fit", "line.toml").exit_code == 0
    if command == "runs compare":
        assert estimica("fit", "line.toml", "--starts", "2").exit_code == 0
        first, second = (r.id for r in Store.beside(here).runs())
        arguments = (first, second)
    given = [text for option, name in options.items() for text in (option, name)]
    more = ["--json"] if as_json and command != "schema" else []
    with pytest.MonkeyPatch.context() as monkeypatch:
        full_disk(monkeypatch)
        done = estimica(command, *arguments, *given, *more)
    assert done.exit_code == NOT_WRITTEN, done.output
    for name in options.values():
        assert f"P001: cannot write '{name}': No space left on device" in done.stderr
        assert Path(name).read_text(encoding="utf-8") == old[name]
    assert not list(here.rglob(".estimica-*"))
    if more:
        told = json.loads(done.stdout)
        if command == "new":
            assert told["outcome"]["status"] == "not written"
        else:
            assert {m["path"] for m in told["not_written"]} == set(options.values())
    elif command not in ("schema", "new", "report"):
        assert len(done.stdout) > 50  # the result itself
    if "stored as run" in done.stderr:
        run = done.stderr.partition("stored as run ")[2].split()[0].rstrip(";")
        assert f"estimica report {run} --out PATH" in done.stderr


@pytest.mark.parametrize("command", QUICK)
def test_a_full_disk_swallows_no_result(command: str, here: Path) -> None:
    without_outputs_nothing_is_lost(command, here, as_json=command in ("fit", "simulate", "new"))


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", WRITES)
def test_a_full_disk_swallows_no_result_of_any_command(
    command: str, here: Path, as_json: bool
) -> None:
    without_outputs_nothing_is_lost(command, here, as_json)


def test_one_output_that_cannot_be_written_stops_no_other(here: Path) -> None:
    done = estimica("fit", "line.toml", "--csv", "/dev/full", "--modelica", "M.mo", "--json")
    assert done.exit_code == NOT_WRITTEN
    told = json.loads(done.stdout)
    assert told["outcome"]["status"] == "converged"
    (missing,) = told["not_written"]
    assert (missing["path"], missing["code"]) == ("/dev/full", "P001")
    assert Path("M.mo").is_file()
    assert Store.beside(here).run("last").result["cost"] == told["cost"]


def test_what_cannot_be_made_of_a_result_does_not_swallow_it(here: Path) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(
            "estimica.estimate.fit.modelica.isinstance", lambda *_: False, raising=False
        )
        done = estimica("fit", "line.toml", "--modelica", "M.mo")
    assert done.exit_code == NOT_WRITTEN, done.output
    assert "error F035" in done.stderr
    assert "converged" in done.stdout


def test_what_cannot_be_written_is_refused_before_any_work(here: Path) -> None:
    for command, (arguments, options) in WRITES.items():
        for option in options:
            done = estimica(command, *arguments, option, f"nowhere/{options[option]}")
            assert done.exit_code == 2, (command, option, done.output)
            assert "there is no folder 'nowhere'" in done.stderr
    assert not (here / ".estimica").exists()
    done = estimica("fit", "line.toml", "--report", "r.pdf")
    assert done.exit_code == 2
    assert "P022" in done.stderr


def test_ctrl_c_while_a_file_is_written_keeps_the_result(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk(monkeypatch, KeyboardInterrupt())
    done = estimica("fit", "line.toml", "--csv", "c.csv", "--report", "r.html", "--json")
    assert done.exit_code == NOT_WRITTEN
    assert [m["code"] for m in json.loads(done.stdout)["not_written"]] == ["P002", "P002"]
    assert not Path("c.csv").exists()


def test_a_page_kept_up_to_date_that_cannot_be_written_stops_no_search(here: Path) -> None:
    done = estimica(
        "optimise", "lag.toml", "--method", "pattern", "--max-evaluations", "9", "--live",
        "/dev/full", "--json",
    )  # fmt: skip
    assert done.exit_code == NOT_WRITTEN, done.output
    told = json.loads(done.stdout)
    assert told["tuners"]
    assert told["not_written"][0]["path"] == "/dev/full"


def test_folders_that_cannot_be_made_are_told(here: Path) -> None:
    assert estimica("fit", "line.toml").exit_code == 0
    Path("file").touch()
    done = estimica("report", "line.toml", "--figures", "file/below")
    assert done.exit_code == 2
    assert "is not a folder" in done.stderr
    with pytest.MonkeyPatch.context() as monkeypatch:
        full_disk(monkeypatch)
        done = estimica("report", "line.toml", "--figures", "drawn", "--json")
    assert done.exit_code == NOT_WRITTEN
    assert json.loads(done.stdout)["outcome"]["status"] == "not written"


# --- stdout -----------------------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which `estimica` is this one; its exit code is that of the command."""
    known = f'estimica() {{ {sys.executable} -m estimica "$@"; }}'
    command = f"{known}; {line}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip


class Broken(StringIO):
    """A stream that cannot be written to."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._error = OSError(number, os.strerror(number))

    def write(self, text: str) -> int:
        raise self._error

    def fileno(self) -> int:
        return os.open(os.devnull, os.O_WRONLY)


@pytest.mark.parametrize(("number", "lost"), [(errno.EPIPE, False), (errno.ENOSPC, True)])
def test_what_cannot_be_printed_stops_nothing(number: int, lost: bool) -> None:
    stream = SafeStream(Broken(number))
    print("a result", file=stream, flush=True)
    print("more of it", file=stream)
    assert (stream.trouble is not None, stream.lost) == (True, lost)
    whole = SafeStream(StringIO())
    print("a result", file=whole)
    assert (whole.getvalue(), whole.lost) == ("a result\n", False)
    assert SafeStream(None).lost


def test_a_full_stdout_has_the_exit_code_of_what_is_not_written(here: Path) -> None:
    done = shell("estimica signal sine frequency=1 amplitude=1 --csv u.csv > /dev/full")
    assert done.returncode == NOT_WRITTEN, done.stderr
    assert "P004: cannot write to stdout: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert Path("u.csv").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("estimica fit line.toml --json --csv a.csv | head -c 5", 0, ""),
        ("estimica fit line.toml --csv a.csv | true", 0, ""),
        ("estimica fit line.toml --csv a.csv > /dev/full", NOT_WRITTEN, "P004: cannot write to"),
        ("estimica fit line.toml --csv a.csv >&-", NOT_WRITTEN, "P004: cannot write to stdout"),
        ("estimica fit line.toml --csv a.csv 2> /dev/full", 0, ""),
        ("estimica fit line.toml --csv a.csv 2>&-", 0, ""),
    ],
)
def test_a_closed_or_full_stdout_loses_no_run(here: Path, line: str, code: int, said: str) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert Path("a.csv").is_file()
    assert Store.beside(here).run("last").status == "done"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
@pytest.mark.slow
def test_outputs_and_store_on_a_disk_that_is_full(here: Path) -> None:
    disk = here / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        (disk / "r.html").write_text("old", encoding="utf-8")
        done = shell("estimica fit line.toml --report disk/r.html --csv disk/c.csv --json")
        assert done.returncode == NOT_WRITTEN, done.stderr
        told = json.loads(done.stdout)
        assert [m["path"] for m in told["not_written"]] == ["disk/r.html"]  # a page has 2 MB
        assert (disk / "r.html").read_text(encoding="utf-8") == "old"
        assert (disk / "c.csv").is_file()
    finally:
        subprocess.run(["umount", str(disk)], check=False)
