"""`estimica release`: what it prints, how it asks, and that a killed run is taken up again."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
runner = CliRunner()


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    for name in ("RCCircuit.mo", "rc_circuit.toml", "square_wave.csv"):
        shutil.copy(EXAMPLES / "rc_circuit" / name, tmp_path)
    return tmp_path / "rc_circuit.toml"


@pytest.fixture
def boiler(tmp_path: Path) -> Path:
    for name in ("Boiler.mo", "boiler.toml", "run1.csv"):
        shutil.copy(EXAMPLES / "drum_boiler" / name, tmp_path)
    study = tmp_path / "boiler.toml"
    with study.open("a", encoding="utf-8") as file:
        file.write("\n[release]\nnoise = 1.0\nstarts = 6\n")
    return study


def plain(value: object) -> object:
    """Without durations and the run's name."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in ("seconds", "run")}
    return [plain(v) for v in value] if isinstance(value, list) else value


def test_release_prints_its_steps_and_stores_the_run(circuit: Path):
    page = circuit.with_name("release.html")
    done = runner.invoke(app, ["release", str(circuit), "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert "Step 3: null model with R, start of V_out" in done.stdout
    assert "only R·C is determined" in done.stdout
    assert "step 1  start of V_out in square wave, noise of V_out: cost" in done.stderr
    assert f"wrote {page}" in done.stderr
    assert page.is_file()
    run = Store.beside(circuit).run("last")
    assert run.summary.command == "release"
    assert str(run.status) == "done"
    assert run.result["steps"][0]["chosen"]


def test_json_is_alone_on_stdout(circuit: Path):
    done = runner.invoke(app, ["release", str(circuit), "--json", "--no-store", "--quiet"])
    found = json.loads(done.stdout)
    assert found["outcome"]["status"] == "done"
    assert found["steps"][-1]["chosen"] is None
    assert found["steps"][-1]["candidates"][0]["risk"] > 0.99
    assert done.stderr == ""


def test_answers_are_taken_from_stdin_when_told(circuit: Path):
    answers = "\nx\n2\n0\n"
    asked = ["release", str(circuit), "--interactive", "--stdin", "--json"]
    done = runner.invoke(app, asked, input=answers)
    assert done.exit_code == 0, done.stderr
    assert "'x' is not a number from 0 to 2" in done.stderr
    assert "(proposed)" in done.stderr
    steps = json.loads(done.stdout.splitlines()[-1])["steps"]  # the runner echoes the answers
    assert [s["chosen"] for s in steps] == [
        ["start of V_out in square wave", "noise of V_out"],
        ["C"],
        None,
    ]


def test_end_of_the_answers_interrupts_and_the_run_goes_on(circuit: Path):
    asked = ["release", str(circuit), "--interactive", "--stdin"]
    cut = runner.invoke(app, asked, input="\n2\n")
    assert cut.exit_code == 1
    run = Store.beside(circuit).run("last")
    assert str(run.status) == "interrupted"
    assert f"go on with --resume {run.id}" in cut.stderr
    done = runner.invoke(app, ["release", str(circuit), "--resume", "last", "--json"])
    assert done.exit_code == 0, done.output
    assert [s["chosen"] for s in json.loads(done.stdout)["steps"]][1:] == [["C"], None]


def test_interactive_without_a_terminal_is_refused(circuit: Path):
    done = runner.invoke(app, ["release", str(circuit), "--interactive"])
    assert done.exit_code == 2
    assert "error I120: --interactive asks questions and there is no terminal; add --stdin" in (
        done.stderr
    )
    done = runner.invoke(app, ["release", str(circuit), "--stdin", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stdout)["outcome"]["code"] == "I121"


def test_wrong_uses_are_told(circuit: Path):
    def told(*options: str) -> str:
        done = runner.invoke(app, ["release", str(circuit), *options])
        assert done.exit_code == 2, done.output
        return done.stderr

    assert "Q002: [release]: risk: 2 is wrong" in told("--risk", "2", "--no-store")
    assert "P001: cannot write" in told("--report", "nowhere/page.html")
    assert "B020: --resume needs the store" in told("--resume", "last", "--no-store")
    assert "B010: there is no run of 'release'" in told("--resume", "last")
    runner.invoke(app, ["fit", str(circuit)])
    fitted = Store.beside(circuit).run("last").id
    assert "B021: run" in told("--resume", fitted)
    runner.invoke(app, ["release", str(circuit), "--interactive", "--stdin"], input="\n")
    assert "B022: run" in told("--resume", "last", "--risk", "0.01")


def test_changed_data_are_not_mixed_with_an_earlier_run(circuit: Path):
    runner.invoke(app, ["release", str(circuit), "--interactive", "--stdin"], input="\n")
    data = circuit.with_name("square_wave.csv")
    lines = data.read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join([*lines[:-1], lines[-1] + "9"]), encoding="utf-8")
    done = runner.invoke(app, ["release", str(circuit), "--resume", "last"])
    assert done.exit_code == 2
    assert "the data of case 'square wave' has changed" in done.stderr


# --- killed at any moment ------------------------------------------------------------------------


def begun(study: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from estimica.apps.cli import main; main()"]
    return subprocess.Popen(
        [*command, "release", str(study), "--json", "--quiet", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def killed_after(study: Path, seconds: float, *options: str) -> str | None:
    """Run until SIGKILL; what it printed where it was done before."""
    process = begun(study, *options)
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return out


def done(store: Store) -> bool:
    return str(store.run("last").status) == "done"


def survives(study: Path, whole: object, at: list[float], duration: float) -> None:
    """Kill a run at a moment, take it up, kill it again at later ones, and let it end."""
    store = Store.beside(study)
    before = len(store.runs())
    out = killed_after(study, at[0] * duration)
    for moment in at[1:]:
        if out is None and len(store.runs()) > before and not done(store):
            out = killed_after(study, moment * duration, "--resume", "last")
    if out is None and len(store.runs()) > before and done(store):
        out = json.dumps(store.run("last").result)  # killed between the end and the print
    if out is None:
        resumed = ["--resume", "last"] if len(store.runs()) > before else []
        process = begun(study, *resumed)
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert plain(json.loads(out)) == whole


def uninterrupted(study: Path) -> tuple[object, float]:
    """What a whole run prints, and how long it takes."""
    begin = time.monotonic()
    process = begun(study, "--no-store")
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return plain(json.loads(out)), time.monotonic() - begin


@pytest.mark.slow
def test_killed_release_is_taken_up_and_ends_as_if_nothing_had_been(boiler: Path):
    whole, duration = uninterrupted(boiler)
    survives(boiler, whole, [0.7, 0.85], duration)


@pytest.mark.slow
def test_release_survives_twenty_kills_at_random_moments(boiler: Path):
    whole, duration = uninterrupted(boiler)
    moments = random.Random(1)
    for k in range(20):
        shared = ["--workers", "2"] if k % 4 == 3 else []
        if shared:
            killed_after(boiler, moments.uniform(0.3, 1.0) * duration, *shared)
        survives(boiler, whole, [moments.uniform(0.2, 1.0)], duration)


@pytest.mark.slow
def test_nothing_that_was_done_is_repeated(boiler: Path):
    _, duration = uninterrupted(boiler)
    killed_after(boiler, 0.8 * duration)
    run = Store.beside(boiler).run("last")
    noted = dict(run.checkpoints)
    process = begun(boiler, "--resume", run.id)
    process.communicate(timeout=300)
    after = Store.beside(boiler).run(run.id).checkpoints
    assert {k: after[k] for k in noted} == noted
    assert str(Store.beside(boiler).run(run.id).status) == "done"
