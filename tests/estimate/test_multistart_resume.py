"""A fit of several starts that is killed: what is done is kept, and the end is the same."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.data.writers import write_csv
from estimica.estimate.run.multistart import (
    _search,
    start_checkpoint,
    start_from_checkpoint,
    start_points,
)
from estimica.estimate.setup import prepare
from estimica.execute.runs.payload import from_text, to_text
from estimica.execute.runs.store import Store

ESTIMICA = (sys.executable, "-c", "from estimica.apps.cli import main; main()")
STARTS = 6
STUDY = """[static]
expression = "{expression}"
[tune]
a = {{ start = 300, min = 1, max = 2000 }}
b = {{ start = 0.001, min = 1e-6, max = 1, scale = "log" }}
[[case]]
name = "points"
data = "points.csv"
inputs = {{ x = "x" }}
outputs = {{ y = "y" }}
[estimate]
criterion = "{criterion}"
seed = 3
starts = 6
{more}
"""
PLAIN = {"expression": "a*(1 - exp(-b*x))", "criterion": "oe", "more": ""}
KINDS = {
    "plain": PLAIN,
    "ml": PLAIN | {"criterion": "ml"},
    "robust": PLAIN | {"more": 'loss = "huber"'},
    "failing": PLAIN | {"expression": "a*(1 - exp(-b*x)) + 0*log(900 - a)"},
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written_study(tmp_path, "plain")


def written_study(folder: Path, kind: str) -> Path:
    rng = np.random.default_rng(2)
    x = np.linspace(50, 800, 14)
    noise = 0.4 * rng.standard_normal(14)
    noise[3] = 12.0
    write_csv(folder / "points.csv", {"x": x, "y": 240 * (1 - np.exp(-5.5e-4 * x)) + noise})
    path = folder / "study.toml"
    path.write_text(STUDY.format(**KINDS[kind]), encoding="utf-8")
    return path


def fit(study: Path, *more: str) -> Result:
    return CliRunner().invoke(app, ["fit", str(study), "--json", "--quiet", *more])


def told(result: Result) -> dict[str, Any]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def compared(value: Any) -> Any:
    """The same without what is of the moment."""
    if isinstance(value, dict):
        return {k: compared(v) for k, v in value.items() if k not in ("run", "seconds")}
    return [compared(v) for v in value] if isinstance(value, list) else value


def as_if_killed(study: Path, keep: int) -> Path:
    """The store as a kill leaves it when so many starts were noted."""
    store = Store.beside(study).path
    with sqlite3.connect(store) as database:
        database.execute("DELETE FROM checkpoint WHERE key = 'estimate' OR key >= ?",
                         (f"start {keep:06d}",))  # fmt: skip
        database.execute("UPDATE run SET status = 'running', pid = 1, process_started = 'gone'")
    database.close()
    return store


def times(store: Path) -> dict[str, float]:
    database = sqlite3.connect(store)
    found = dict(database.execute("SELECT key, at FROM checkpoint WHERE key LIKE 'start %'"))
    database.close()
    return found


@pytest.mark.parametrize(("kind", "keep"), [("plain", 0), *((kind, 4) for kind in KINDS)])
def test_a_killed_fit_resumes_to_the_uninterrupted_result(
    tmp_path: Path, kind: str, keep: int
) -> None:
    study = written_study(tmp_path, kind)
    whole = told(fit(study))
    store = as_if_killed(study, keep)
    before = times(store)
    assert len(before) == keep
    resumed = fit(study, "--resume", "last")
    assert compared(told(resumed)) == compared(whole)
    after = times(store)
    assert before.items() <= after.items()  # neither lost nor done again
    assert len(after) == STARTS
    assert len(Store(store).runs()) == 1


@pytest.mark.slow
def test_workers_go_on_where_one_process_was_killed(study: Path) -> None:
    whole = told(fit(study))
    as_if_killed(study, 3)
    assert compared(told(fit(study, "--resume", "last", "--workers", "2"))) == compared(whole)


def test_settings_of_the_command_line_are_those_of_the_run(study: Path) -> None:
    whole = told(fit(study, "--starts", "4", "--seed", "9", "--criterion", "ml"))
    as_if_killed(study, 2)
    assert compared(told(fit(study, "--resume", "last"))) == compared(whole)


def test_what_has_changed_is_not_gone_on_with(study: Path) -> None:
    fit(study)
    as_if_killed(study, 2)
    for more, code in (("--seed", "5"), "B022"), (("--starts", "9"), "B022"):
        refused = fit(study, "--resume", "last", *more)
        assert (refused.exit_code, told(refused)["outcome"]["code"]) == (2, code)
    text = study.read_text(encoding="utf-8")
    study.write_text(text.replace("max = 2000", "max = 1999"), encoding="utf-8")
    refused = fit(study, "--resume", "last")
    assert "B014" in refused.stderr
    assert "tuner 'a' has changed" in refused.stderr
    study.write_text(text, encoding="utf-8")
    data = study.with_name("points.csv")
    data.write_text(data.read_text(encoding="utf-8").replace("50,", "51,", 1), encoding="utf-8")
    assert "the data of case 'points' has changed" in fit(study, "--resume", "last").stderr
    assert "B020" in fit(study, "--resume", "last", "--no-store").stderr


def test_a_done_fit_and_one_of_another_command_are_refused(study: Path) -> None:
    assert "B010" in fit(study, "--resume", "last").stderr
    fit(study)
    assert "B012" in fit(study, "--resume", "last").stderr


def test_ctrl_c_keeps_the_best_so_far_and_can_be_gone_on_with(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = told(fit(study, "--no-store"))
    count = 0

    def stopping(workplace: Any, numbered: Any) -> Any:
        nonlocal count
        count += 1
        if count > 3:
            raise KeyboardInterrupt
        return _search(workplace, numbered)

    monkeypatch.setattr("estimica.estimate.run.multistart._search", stopping)
    stopped = fit(study)
    monkeypatch.undo()
    assert stopped.exit_code == 1
    assert told(stopped)["outcome"]["status"] == "interrupted"
    assert len(told(stopped)["starts"]) == 3
    assert compared(told(fit(study, "--resume", "last"))) == compared(whole)


def test_half_a_search_is_shown_but_not_noted(study: Path) -> None:
    asked = es.read_study(study)
    store = Store.beside(study)
    stop = iter([False] * 8 + [True] * 99)

    def progress(_: object) -> None:
        if next(stop):
            raise KeyboardInterrupt

    with store.begin("fit", name="half", study="", settings={}) as run:
        found = es.fit(asked, run=run, progress=progress)
        noted = [k for k in run.checkpoints() if k.startswith("start")]
    assert len(noted) <= len(found.starts) <= STARTS


def test_a_start_comes_back_from_its_note_to_the_last_bit(study: Path) -> None:
    setup = prepare(es.read_study(study))
    cases = setup.calibration()
    starts = start_points(cases.unknowns, 2, 1)
    note = _search((setup, cases), (0, starts[1]))
    searched, evaluations = start_from_checkpoint(from_text(to_text(note)))
    assert start_checkpoint(searched, evaluations) == from_text(to_text(note))
    assert searched.point is not None
    assert searched.point.R.flags.writeable


@pytest.mark.slow
@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_points_with_predictions_come_back_to_the_last_bit(
    tmp_path: Path, transcription: str
) -> None:
    folder = Path(__file__).resolve().parents[2] / "examples" / "first_order"
    shutil.copytree(folder, tmp_path / "study", ignore=lambda *_: [".estimica"])
    path = tmp_path / "study" / "first_order.toml"
    more = ("--transcription", transcription, "--starts", "3")
    whole = told(fit(path, *more))
    as_if_killed(path, 2)
    assert compared(told(fit(path, "--resume", "last"))) == compared(whole)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_fit_killed_at_any_moment_loses_nothing_that_was_done(study: Path, workers: str) -> None:
    more = ("--starts", "400", "--workers", workers)
    whole = told(fit(study, *more, "--no-store"))
    store = Store.beside(study).path
    for wanted in (1, 120, 250):
        arguments = ["--resume", "last"] if store.exists() else [*more]
        begun = subprocess.Popen(
            [*ESTIMICA, "fit", str(study), "--quiet", *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while begun.poll() is None and (not store.exists() or len(tried(store)) < wanted):
            time.sleep(0.01)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        assert len(tried(store)) >= wanted
    assert compared(told(fit(study, "--resume", "last"))) == compared(whole)


def tried(store: Path) -> dict[str, float]:
    try:
        return times(store)
    except sqlite3.Error:
        return {}
