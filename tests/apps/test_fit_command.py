"""`estimica fit` as a user meets it: table, JSON, files, stored runs, messages, exit codes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from estimica.apps.cli.commands.app import app
from estimica.apps.cli.progress import FitProgressLine
from estimica.apps.time_left import TimeLeft
from estimica.base.view import status_line
from estimica.data.readers import read_data
from estimica.estimate.run.one_start import Progress
from estimica.estimate.search.run import Iteration
from estimica.study.estimation import Estimation

BROKEN = Path(__file__).resolve().parent.parent / "study" / "broken"

TANK = """
model Tank "A tank that drains"
  parameter Real a(unit = "1/s", min = 0, max = 10) = 0.5 "Outflow rate";
  parameter Real b = 2 "Gain of the pump";
  parameter Real c = 1 "Nothing but b·c counts";
  input Real u;
  output Real x(unit = "m", start = 1, fixed = true) "Level";
equation
  der(x) = -a*x + b*c*u;
end Tank;
"""

STUDY = """
[model]
source = "Tank.mo"

[tune]
a = { start = 0.4, min = 0, max = 5 }
b = 1.5

[[case]]
name = "run 1"
data = "run1.csv"
inputs = { u = "current" }
outputs = { x = "level" }
free_start = ["x"]

[estimate]
criterion = "ml"
seed = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tank.mo, run1.csv and tank.toml."""
    (tmp_path / "Tank.mo").write_text(TANK, encoding="utf-8")
    (tmp_path / "tank.toml").write_text(STUDY, encoding="utf-8")
    t = np.arange(0.0, 10.25, 0.25)
    u = np.where(t < 5, 1.0, 0.0)
    filled = 4 - 3 * np.exp(-0.5 * t)
    x = np.where(t < 5, filled, (4 - 3 * np.exp(-2.5)) * np.exp(-0.5 * (t - 5)))
    x = x + 0.02 * np.random.default_rng(1).standard_normal(len(t))
    rows = [f"{a},{b},{c:.6f}" for a, b, c in zip(t, u, x, strict=True)]
    (tmp_path / "run1.csv").write_text(
        "t,current,level\n" + "\n".join(rows) + "\n", encoding="utf-8"
    )
    return tmp_path


def estimica(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def fitted(*arguments: object) -> dict[str, Any]:
    result = estimica("fit", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_fit_prints_a_table_and_says_where_the_run_is(folder: Path) -> None:
    result = estimica("fit", folder / "tank.toml")
    assert result.exit_code == 0, result.output
    assert "converged" in result.stdout
    assert "start of x in run 1" in result.stdout
    run = re.search(r"stored as run (\w+)", result.stderr)
    assert run
    stored = estimica("runs", "show", run[1], "--store", folder, "--json")
    found = json.loads(stored.stdout)
    assert found["result"]["parameters"]["a"]["value"] == pytest.approx(0.5, rel=0.02)
    assert found["result"]["run"] == run[1]
    assert found["study"] == STUDY
    assert found["settings"]["method"] == "levenberg-marquardt"
    assert found["stored"]["status"] == "done"
    assert len(found["iterations"]) == len(found["result"]["iterations"])
    assert found["iterations"][0]["values"]["a"] == 0.4


def test_json_is_all_that_stands_on_stdout(folder: Path) -> None:
    found = fitted(folder / "tank.toml", "--no-store")
    assert found["command"] == "fit"
    assert found["outcome"]["status"] == "converged"
    assert found["parameters"]["b"]["value"] == pytest.approx(2, rel=0.05)
    assert found["run"] == ""
    assert not (folder / ".estimica").exists()


def test_report_csv_and_modelica_are_written(folder: Path) -> None:
    page, table, model = folder / "r.html", folder / "o.csv", folder / "Fitted.mo"
    result = estimica(
        *("fit", folder / "tank.toml", "--report", page, "--csv", table, "--modelica", model)
    )
    assert result.exit_code == 0, result.output
    assert '<figure class="plot"' in page.read_text(encoding="utf-8")
    assert read_data(table).columns.keys() >= {"x measured", "x simulated", "x residual"}
    assert "extends Tank(" in model.read_text(encoding="utf-8")
    assert f"wrote {page}" in result.stderr


def test_a_parameter_set_is_written(folder: Path) -> None:
    path = folder / "tank.ssv"
    result = estimica("fit", folder / "tank.toml", "--ssv", path, "--no-store")
    assert result.exit_code == 0, result.output
    assert f"wrote {path}" in result.stderr
    assert '<ssv:Parameter name="a"' in path.read_text(encoding="utf-8")


def test_settings_of_the_command_line_go_before_those_of_the_study(folder: Path) -> None:
    arguments = ("--criterion", "oe", "--method", "gauss-newton", "--starts", 3, "--seed", 7)
    found = fitted(folder / "tank.toml", *arguments)
    assert found["criterion"] == "oe"
    assert len(found["starts"]) == 3
    stored = json.loads(estimica("runs", "show", "last", "--store", folder, "--json").stdout)
    assert stored["settings"] | {"method": "gauss-newton", "seed": 7} == stored["settings"]


def test_the_same_seed_gives_the_same_result(folder: Path) -> None:
    found = [fitted(folder / "tank.toml", "--starts", 4, "--seed", 5) for _ in range(2)]
    assert found[0]["starts"] == found[1]["starts"]
    assert found[0]["parameters"] == found[1]["parameters"]


def test_quiet_leaves_stderr_empty(folder: Path) -> None:
    result = estimica("fit", folder / "tank.toml", "--quiet")
    assert result.exit_code == 0
    assert result.stderr == ""


def test_a_fit_that_does_not_converge_ends_with_1(folder: Path) -> None:
    result = estimica("fit", folder / "tank.toml", "--max-iterations", 1, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["outcome"]["status"] == "iteration limit"
    assert "iteration limit: not converged after 1 iterations" in result.stderr
    stored = json.loads(estimica("runs", "show", "last", "--store", folder, "--json").stdout)
    assert stored["stored"]["status"] == "failed"


def test_what_the_data_do_not_determine_is_said(folder: Path) -> None:
    text = STUDY.replace("b = 1.5", "b = 1.5\nc = 1.2")
    (folder / "tank.toml").write_text(text, encoding="utf-8")
    result = estimica("fit", folder / "tank.toml")
    assert "'b' and 'c'" in result.stdout
    found = json.loads(estimica("fit", folder / "tank.toml", "--json").stdout)
    assert found["parameters"]["c"]["stderr"] is None
    assert found["parameters"]["c"]["identifiable"] is False
    assert found["identifiability"]["rank"] == 3


def test_all_problems_are_told_at_once_with_exit_2(folder: Path) -> None:
    text = STUDY.replace("b = 1.5", "bb = 1.5").replace('"level"', '"levl"')
    (folder / "tank.toml").write_text(text, encoding="utf-8")
    result = estimica("fit", folder / "tank.toml", "--json")
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert found["outcome"]["status"] == "wrong input"
    told = " ".join(p["message"] for p in found["problems"])
    assert "'bb'" in told
    assert "'levl'" in told
    assert len(result.stderr.splitlines()) == len(found["problems"])
    assert not (folder / ".estimica").exists()


def test_warnings_are_told_and_the_fit_goes_on(folder: Path) -> None:
    text = STUDY.replace('data = "run1.csv"', 'data = "run1.csv"\nto = 0.5')
    (folder / "tank.toml").write_text(text, encoding="utf-8")
    result = estimica("fit", folder / "tank.toml")
    assert "warning Q015: no sample is left to judge the fit" in result.stderr
    assert result.exit_code in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "gaus-newton"), r"'gaus-newton'.*did you mean 'gauss-newton'"),
        (("--criterion", "mll"), r"criterion 'mll'"),
        (("--starts", "0"), r"starts: 0"),
        (
            ("--report", "none/r.html"),
            r"P001: cannot write 'none/r.html': there is no folder 'none'",
        ),
        (("--csv", "."), r"P001: cannot write '.': it is a folder"),
        (("--store", "none.txt/runs.sqlite"), r"B\d+"),
    ],
)
def test_wrong_options_end_with_one_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "none.txt").write_text("no store", encoding="utf-8")
    result = estimica("fit", "tank.toml", *arguments)
    assert result.exit_code == 2, result.output
    assert re.search(message, result.stderr)
    assert len(result.stderr.splitlines()) == 1


def test_a_store_that_cannot_be_used_does_not_stop_the_fit(folder: Path) -> None:
    (folder / ".estimica").write_text("in the way", encoding="utf-8")
    result = estimica("fit", folder / "tank.toml")
    assert result.exit_code == 0, result.output
    assert "warning: the run is not stored: B" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupt_prints_and_stores_the_best_so_far(folder: Path) -> None:
    script = (
        "import sys, time\n"
        "import estimica.apps.cli as cli, estimica.apps.cli.progress as progress\n"
        "class Slow(progress.FitProgressLine):\n"
        "    def __call__(self, told):\n"
        "        print('ready', file=sys.stderr, flush=True); time.sleep(60)\n"
        "progress.FitProgressLine = Slow\n"
        "sys.argv = ['estimica', 'fit', 'tank.toml', '--json']\n"
        "cli.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ.copy(),
    )
    assert process.stderr is not None
    while "ready" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    found = json.loads(out)
    assert found["outcome"]["status"] == "interrupted"
    assert found["parameters"]["a"]["value"] == 0.4
    stored = json.loads(estimica("runs", "show", "last", "--store", folder, "--json").stdout)
    assert stored["stored"]["status"] == "interrupted"
    assert stored["result"]["parameters"]["a"]["value"] == 0.4


# --- progress ------------------------------------------------------------------------------------


def told(number: int, cost: float, step: float, **more: int) -> Progress:
    iteration = Iteration(number, cost, np.array([2.0, 3.0]), step, 0, 0.1)
    count = more.pop("starts", 1)
    return Progress(0, count, iteration=iteration, names=("a", "b"), **more)


def test_progress_in_a_log_is_at_most_one_line_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(0.2 * k for k in range(1000))
    monkeypatch.setattr("estimica.apps.cli.progress.monotonic", lambda: next(clock))
    with FitProgressLine(Estimation(), quiet=False) as line:
        for k in range(20):
            line(told(k, 100.0 / (k + 1), 0.5**k))
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 9
    assert re.match(
        r"iteration \d+  cost [\d.]+  change -[\d.e-]+  [\d.]+ s.*  a 2  b 3$", lines[1]
    )
    assert "s left" in lines[2]


@pytest.mark.parametrize("rate", [0.98, 1.0, 1.3])
def test_steps_that_hardly_shrink_tell_nothing_of_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    clock = iter(2.0 * k for k in range(1000))
    monkeypatch.setattr("estimica.apps.cli.progress.monotonic", lambda: next(clock))
    with FitProgressLine(Estimation(), quiet=False) as line:
        for k in range(8):
            line(told(k, 100.0 / (k + 1), 0.1 * rate**k))
    lines = capsys.readouterr().err.splitlines()
    assert "iteration 7" in lines[-1]
    assert not any("left" in one for one in lines)


def test_progress_of_several_starts_counts_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(2.0 * k for k in range(1000))
    monkeypatch.setattr("estimica.apps.cli.progress.monotonic", lambda: next(clock))
    with FitProgressLine(Estimation(starts=4), quiet=False) as line:
        for start in (2, 1):
            line(told(9, 5.0, 1e-9, start=start, starts=4))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("start 2 of 4  cost 5")
    assert re.search(r"about \d+ s left", last)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("study", sorted(BROKEN.glob("*.toml")), ids=lambda p: p.stem)
def test_broken_study_ends_with_exit_2_and_no_traceback(study: Path, tmp_path: Path) -> None:
    shutil.copytree(BROKEN, tmp_path / "broken")
    result = estimica("fit", tmp_path / "broken" / study.name, "--json", "--no-store")
    checked = estimica("check", tmp_path / "broken" / study.name)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    if checked.exit_code == 2:
        assert result.exit_code == 2
        found = json.loads(result.stdout)
        assert found["outcome"]["message"]
        assert re.search(r"error [A-Z]\d{3}: ", result.stderr)
    else:  # a warning only: what it says is told, and the fit goes on
        assert result.exit_code in (0, 1)
        assert "warning " in result.stderr


def mutated(text: str, random_: random.Random) -> str:
    """`text` with a few accidents: letters, lines, numbers and words that should not be."""
    odd = [
        "nan",
        "-1",
        "1e400",
        "0",
        '""',
        "[]",
        "{}",
        "true",
        "\x00",
        "ä",
        "'",
        '"',
        "=",
        "[",
        ",",
    ]
    for _ in range(random_.randint(1, 3)):
        place = random_.randrange(len(text) + 1)
        lines = text.splitlines(keepends=True)
        kind = random_.randrange(6)
        if kind == 0:
            text = text[:place] + text[place + random_.randint(1, 4) :]
        elif kind == 1:
            text = text[:place] + random_.choice(odd) + text[place:]
        elif kind == 2 and lines:
            del lines[random_.randrange(len(lines))]
            text = "".join(lines)
        elif kind == 3 and lines:
            lines.insert(random_.randrange(len(lines)), random_.choice(lines))
            text = "".join(lines)
        elif kind == 4:
            numbers = list(re.finditer(r"\d+\.?\d*", text))
            if numbers:
                hit = random_.choice(numbers)
                text = text[: hit.start()] + random_.choice(odd) + text[hit.end() :]
        else:
            words = list(re.finditer(r"[A-Za-z_]+", text))
            if len(words) > 1:
                first, second = random_.sample(words, 2)
                text = text[: first.start()] + second[0] + text[first.end() :]
    return text


@pytest.mark.parametrize("part", range(10))
def test_accidents_in_study_and_data_never_show_a_traceback(folder: Path, part: int) -> None:
    data = (folder / "run1.csv").read_text(encoding="utf-8")
    for k in range(15):
        random_ = random.Random(1000 * part + k)
        in_study = random_.random() < 0.6
        study = mutated(STUDY, random_) if in_study else STUDY
        table = data if in_study else mutated(data, random_)
        (folder / "tank.toml").write_text(study, encoding="utf-8")
        (folder / "run1.csv").write_text(table, encoding="utf-8")
        arguments = ("--json", "--no-store", "--max-iterations", "20")
        result = estimica("fit", folder / "tank.toml", *arguments)
        shown = f"part {part}, {k}:\n{study if in_study else table}\n{result.output}"
        assert result.exception is None or isinstance(result.exception, SystemExit), shown
        assert result.exit_code in (0, 1, 2), shown
        json.loads(result.stdout)


def test_time_left_does_not_count_what_the_first_part_had_to_compile() -> None:
    left = TimeLeft()
    assert left.seconds(9.0, 1 / 40) == 0
    assert left.seconds(9.5, 2 / 40) == pytest.approx(19.0)  # 38 more at half a second


def test_a_message_does_not_repeat_its_status() -> None:
    assert status_line("converged", "the gradient vanishes") == "converged: the gradient vanishes"
    assert status_line("interrupted", "interrupted after 3 starts") == "interrupted after 3 starts"
