"""Runs of bootstrap and profile that are killed at any moment and taken up again."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "examples" / "drum_boiler" / "drum_boiler.toml"
ESTIMICA = (sys.executable, "-c", "from estimica.apps.cli import main; main()")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The drum boiler in a folder of its own."""
    for name in ("run1.csv", "drum_boiler.toml"):
        shutil.copy(STUDY.with_name(name), tmp_path / name)
    path = tmp_path / "drum_boiler.toml"
    model = ROOT / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("../../src/estimica/apps/cli/demo/DrumBoiler.mo", str(model)))
    return path


def ran(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 2, done.stderr
    return done.stderr


def compared(found: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in found.items() if k not in ("run", "seconds")}


def checkpoints(store: Path) -> dict[str, tuple[float, str]]:
    """Every checkpoint with when it was written."""
    connection = sqlite3.connect(store)
    rows = connection.execute("SELECT key, at, payload FROM checkpoint").fetchall()
    connection.close()
    return {key: (at, payload) for key, at, payload in rows}


def killed_after(study: Path, store: Path, pieces: int, delay: float, *more: str) -> int:
    """Begin a run, kill it when so many pieces are noted and a moment more; pieces then noted."""
    begun = subprocess.Popen(
        [*ESTIMICA, *more[:1], str(study), *more[1:], "--store", str(store), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while begun.poll() is None and time.monotonic() < end:
        if store.exists() and _count(store) >= pieces:
            break
        time.sleep(0.002)
    time.sleep(delay)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    return _count(store)


def _count(store: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=1)
        (count,) = connection.execute("SELECT count(*) FROM checkpoint").fetchone()
        connection.close()
    except sqlite3.Error:
        return 0
    return int(count)


def kill_and_resume(study: Path, folder: Path, kills: int, seed: int) -> None:
    options = ("bootstrap", "--replicates", "120", "--seed", "4")
    whole = ran("bootstrap", str(study), *options[1:], "--no-store", "--quiet")
    rng = np.random.default_rng(seed)
    resumed = 0
    for k in range(3 * kills):
        if resumed == kills:
            break
        store = folder / f"{k}.sqlite"
        pieces, delay = int(rng.integers(0, 110)), float(rng.uniform(0, 0.02))
        killed_after(study, store, pieces, delay, *options)
        if not Store(store).runs():
            continue  # killed before the run began: there is nothing to take up
        if Store(store).run("last").status == "done":
            continue  # it was quicker
        before = checkpoints(store)
        found = ran("bootstrap", str(study), "--resume", "last", "--store", str(store), "--quiet")
        assert compared(found) == compared(whole)
        after = checkpoints(store)
        assert before.items() <= after.items()  # neither lost nor done again
        assert len(after) == 121  # the estimate and its replicates
        resumed += 1
    assert resumed == kills


def test_a_killed_bootstrap_resumes_to_the_uninterrupted_result(
    study: Path, tmp_path: Path
) -> None:
    kill_and_resume(study, tmp_path, kills=2, seed=1)


@pytest.mark.slow
def test_twenty_kills_of_a_bootstrap_all_resume(study: Path, tmp_path: Path) -> None:
    kill_and_resume(study, tmp_path, kills=20, seed=2)


@pytest.mark.slow
def test_a_killed_profile_resumes_to_the_uninterrupted_result(study: Path, tmp_path: Path) -> None:
    more = ("profile", "T_D", "A4", "w_E")
    whole = ran("profile", str(study), *more[1:], "--no-store", "--quiet")
    store = tmp_path / "p.sqlite"
    killed_after(study, store, 4, 0.0, *more)
    before = checkpoints(store)
    if Store(store).run("last").status != "done":
        found = ran("profile", str(study), "--resume", "last", "--store", str(store), "--quiet")
        assert compared(found) == compared(whole)
    assert before.items() <= checkpoints(store).items()


def test_a_run_is_refused_where_the_study_has_changed(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    given = ("--store", str(store), "--quiet")
    killed_after(study, store, 20, 0.0, "bootstrap", "--replicates", "5000")
    run = Store(store).run("last").id
    text = study.read_text(encoding="utf-8")

    changed = text.replace("T_R = { start = 30, min = 1,", "T_R = { start = 31, min = 1,")
    study.write_text(changed.replace("w_P = 0\n", ""), encoding="utf-8")
    told = refused("bootstrap", str(study), "--resume", "last", *given)
    assert f"error B014: run '{run}' cannot be taken up again: since it began" in told
    assert "tuner 'T_R' has changed, tuner 'w_P' is gone; undo that, or begin a new run" in told

    study.write_text(text, encoding="utf-8")
    data = study.with_name("run1.csv")
    lines = data.read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    told = refused("bootstrap", str(study), "--resume", run, *given)
    assert "since it began the data of case 'run 1' has changed" in told

    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = refused("bootstrap", str(study), "--resume", run, "--kind", "residual", *given)
    assert f"error B022: run '{run}' was begun with kind parametric; leave --kind out" in told
    told = refused("profile", str(study), "--resume", run, *given)
    assert f"error B021: run '{run}' is of 'bootstrap', not of 'profile'" in told
    told = refused("profile", str(study), "--resume", "last", *given)
    assert "error B010: there is no run of 'profile' of study 'drum_boiler' in" in told
    told = refused("profile", str(study), "--resume", run, "--no-store")
    assert "error B020: --resume needs the store" in told


def test_settings_come_from_the_study_and_the_command_line(study: Path, tmp_path: Path) -> None:
    text = study.read_text(encoding="utf-8")
    table = '\n[bootstrap]\nreplicates = 45\nkind = "residual"\n[profile]\nunknowns = ["A4"]\n'
    study.write_text(text + table, encoding="utf-8")
    page = tmp_path / "page.html"
    found = ran("bootstrap", str(study), "--seed", "7", "--report", str(page), "--quiet")
    assert (found["kind"], found["requested"], found["seed"]) == ("residual", 45, 7)
    assert page.exists()
    found = ran("profile", str(study), "--level", "0.9", "--no-store")
    assert list(found["parameters"]) == ["A4"]  # type: ignore[call-overload]
    assert "interval" in found["parameters"]["A4"]  # type: ignore[index]

    study.write_text(text + '\n[bootstrap]\nreplicate = 45\nkind = "gauss"\n', encoding="utf-8")
    told = refused("bootstrap", str(study))
    assert "[bootstrap]: unknown key 'replicate'; did you mean 'replicates'?" in told
    assert "[bootstrap]: kind: 'gauss' is none of 'parametric', 'residual', 'block'" in told
    study.write_text(text + "\n[profile]\nlevel = 95\n", encoding="utf-8")
    assert "[profile]: level: 95 is wrong, it must be below 1" in refused("profile", str(study))
    study.write_text(text, encoding="utf-8")
    told = refused("bootstrap", str(study), "--kind", "gauss")
    assert "[bootstrap]: kind: 'gauss' is none of" in told
    told = refused("profile", str(study), "T_d")
    assert "error I502: the fit has no unknown 'T_d'; did you mean 'T_D'" in told
    told = refused("bootstrap", str(study), "--report", str(tmp_path / "no" / "p.html"))
    assert "error P001: cannot write" in told
