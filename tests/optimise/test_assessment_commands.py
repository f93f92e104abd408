"""`estimica sweep` and `estimica montecarlo`: what they print and write, kills, runs as sources."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

ROOT = Path(__file__).resolve().parents[2]
ESTIMICA = (sys.executable, "-c", "from estimica.apps.cli import main; main()")
MODEL = """model Oscillator
  parameter Real d = 0.2 "damping";
  parameter Real w = 3 "frequency";
  parameter Real g = 1 "gain";
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w^2*(g*sqrt(w) - y) - 2*d*w*v;
  annotation(experiment(StopTime = 10));
end Oscillator;
"""
STUDY = """[model]
source = "Oscillator.mo"

[tune]
d = { start = 0.4, min = 0.1, max = 1 }

[[case]]
name = "step"
stop = 10

[[criterion]]
name = "overshoot"
kind = "overshoot"
of = "y"
reference = "g*sqrt(w)"
demand = 0.3

[sweep]
vary = { d = { from = 0.1, to = 0.9, count = 5 }, w = [2, 3] }

[montecarlo]
draw = { d = { kind = "normal", sigma = 0.05 }, w = { min = 2, max = 4 } }
samples = 20

[solver]
rtol = 1e-10  # samples are simulated with the study's own tolerance
atol = 1e-12
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "Oscillator.mo").write_text(MODEL, encoding="utf-8")
    path = tmp_path / "oscillator.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def invoked(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def ran(*arguments: object) -> dict[str, Any]:
    done = invoked(*arguments, "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(*arguments: object) -> str:
    done = invoked(*arguments)
    assert done.exit_code == 2, (done.stdout, done.stderr)
    return done.stderr


def overshoot(d: float) -> float:
    """Of a second-order system, as a share of its step."""
    return float(np.exp(-np.pi * d / np.sqrt(1 - d**2)))


def test_sweep_prints_writes_and_stores(study: Path, tmp_path: Path) -> None:
    page, csv = tmp_path / "p.html", tmp_path / "s.csv"
    done = invoked("sweep", study, "--report", page, "--csv", csv)
    assert done.exit_code == 0, done.stderr
    assert "Sweep of oscillator" in done.stdout
    assert "All demands hold in " in done.stdout
    assert f"wrote {csv}" in done.stderr
    assert f"wrote {page}" in done.stderr
    assert page.stat().st_size > 10_000
    rows = pd.read_csv(csv)
    assert len(rows) == 10
    (run,) = Store.beside(study).runs()
    assert (run.command, run.status) == ("sweep", "done")
    found = ran("sweep", study, "--no-store")
    values = found["criteria"]["step"]["overshoot"]["values"]
    assert rows["overshoot in step"].tolist() == values
    pairs = zip(found["samples"]["d"], found["samples"]["w"], strict=True)
    assert values == pytest.approx([overshoot(d) * w**0.5 for d, w in pairs], rel=1e-6)
    assert found["axes"]["w"] == [2, 3]


def test_options_stand_before_the_table(study: Path) -> None:
    found = ran("sweep", study, "--vary", "d=0.2:0.4:3", "--vary", "w=1,2", "--no-store")
    assert found["axes"] == {"d": [0.2, pytest.approx(0.3), 0.4], "w": [1, 2]}
    found = ran("sweep", study, "--design", "sobol", "--samples", 8, "--seed", 3, "--no-store")
    assert len(found["largest"]) == 8
    given = ("--samples", 12, "--sampling", "sobol", "--seed", 2, "--no-store")
    found = ran("montecarlo", study, *given)
    assert len(found["samples"]["d"]) == 12
    assert found["probability_satisfied"]["ci95"][1] <= 1
    assert set(found["quantiles"]["step"]["overshoot"]) == {"0.05", "0.5", "0.95"}
    found = ran("montecarlo", study, "--sensitivity", "morris", "--no-store")
    assert found["sensitivity"]["mu_star"]["step"]["overshoot"].keys() == {"d", "w"}


def test_mistakes_on_the_command_line_end_with_code_2(study: Path, tmp_path: Path) -> None:
    assert "error O054: there is no tuner or parameter 'dd'" in refused(
        "sweep", study, "--vary", "dd=1,2"
    )
    assert "error O078: --vary d=a: write d=0:10:11, or d=1,2,5" in refused(
        "sweep", study, "--vary", "d=a"
    )
    assert "[sweep]: design: 'lhs' is none of" in refused("sweep", study, "--design", "lhs")
    assert "[montecarlo]: samples: 0 is wrong" in refused("montecarlo", study, "--samples", "0")
    assert "error P001: cannot write" in refused("sweep", study, "--csv", tmp_path / "no" / "s.csv")
    assert "error B010: there is no run 'nothing'" in refused(
        "montecarlo", study, "--source", "nothing"
    )
    text = STUDY.replace("[sweep]\nvary", "[sweep]\nvari")
    study.write_text(text, encoding="utf-8")
    assert "unknown key 'vari'; did you mean 'vary'?" in refused("sweep", study)
    study.write_text(STUDY[: STUDY.index("[[criterion]]")], encoding="utf-8")
    done = invoked("sweep", study, "--json")
    assert done.exit_code == 2
    study.write_text(STUDY.replace("draw = {", "#").replace("samples = 20", ""), encoding="utf-8")
    assert "error O059: nothing scatters" in refused("montecarlo", study)


def test_samples_that_fail_are_told_and_the_rest_is_kept(study: Path) -> None:
    done = invoked("sweep", study, "--vary", "w=2,-1", "--no-store")
    assert done.exit_code == 0
    assert "warning: 1 samples failed, the first is 1: case 'step': " in done.stderr
    done = invoked("sweep", study, "--vary", "w=-2,-1", "--no-store")
    assert done.exit_code == 1


def _count(store: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=1)
        (count,) = connection.execute("SELECT count(*) FROM checkpoint").fetchone()
        connection.close()
    except sqlite3.Error:
        return 0
    return int(count)


def begun(study: Path, store: Path, *more: str) -> subprocess.Popen[bytes]:
    """A run in a process of its own, that has noted two pieces or more."""
    process = subprocess.Popen(
        [*ESTIMICA, more[0], str(study), *more[1:], "--store", str(store), "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < end and _count(store) < 2:
        time.sleep(0.005)
    return process


def compared(found: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in found.items() if k not in ("run", "seconds")}


@pytest.mark.slow
def test_a_killed_sweep_resumes_to_the_uninterrupted_result(study: Path, tmp_path: Path) -> None:
    options = ("sweep", "--vary", "d=0.1:0.9:15", "--vary", "w=1:4:60")
    store = tmp_path / "k.sqlite"
    process = begun(study, store, *options)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = Store(store).run("last")
    assert before.status == "interrupted"
    assert before.checkpoints
    resumed = ran("sweep", study, "--resume", "last", "--store", store)
    whole = ran("sweep", study, *options[1:], "--no-store")
    assert compared(resumed) == compared(whole)
    assert before.checkpoints.items() <= Store(store).run("last").checkpoints.items()

    study.write_text(STUDY.replace("demand = 0.3", "demand = 0.4"), encoding="utf-8")
    store = tmp_path / "other.sqlite"
    again = begun(study, store, *options)
    again.send_signal(signal.SIGKILL)
    again.communicate()
    study.write_text(STUDY, encoding="utf-8")
    told = refused("sweep", study, "--resume", "last", "--store", store)
    assert "criterion 'overshoot' has changed" in told
    told = refused("sweep", study, "--resume", "last", "--store", store, "--vary", "d=1,2")
    assert "error B022" in told


@pytest.mark.slow
def test_ctrl_c_prints_what_is_done_and_how_to_go_on(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "c.sqlite"
    process = begun(study, store, "montecarlo", "--samples", "50000", "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    found = json.loads(out)
    assert found["outcome"]["status"] == "interrupted"
    done = np.array(found["criteria"]["step"]["overshoot"]["values"], float)
    assert 0 < np.isfinite(done).sum() < 50000
    assert Store(store).run("last").status == "interrupted"


def test_stored_fits_and_bootstraps_are_sources(study: Path, tmp_path: Path) -> None:
    model = es.load_model(tmp_path / "Oscillator.mo")
    times = np.linspace(0, 5, 60)
    clean = model.simulate(times, parameters={"d": 0.3}).value("y")
    noise = np.random.default_rng(1).normal(0, 0.02, 60)
    pd.DataFrame({"time": times, "y": clean + noise}).to_csv(tmp_path / "run.csv", index=False)
    tune = STUDY[: STUDY.index("[[case]]")] + "w = { start = 3.1 }\ng = { start = 1.05 }\n\n"
    case = '[[case]]\nname = "run"\ndata = "run.csv"\noutputs = { y = "y" }\n'
    calibration = tmp_path / "calibration.toml"
    calibration.write_text(tune + case, encoding="utf-8")
    fitted = ran("fit", calibration)
    assert np.array(fitted["covariance"]).shape == (3, 3)
    boot = ran("bootstrap", calibration, "--replicates", "12")
    text = STUDY[: STUDY.index("[montecarlo]")]
    study.write_text(text, encoding="utf-8")
    likely = calibration.read_text(encoding="utf-8") + '[estimate]\ncriterion = "ml"\n'
    (tmp_path / "likely.toml").write_text(likely, encoding="utf-8")
    draws = ran("sample", tmp_path / "likely.toml", "--draws", "400", "--warmup", "200")
    for run in (fitted["run"], boot["run"], draws["run"]):
        found = ran("montecarlo", study, "--source", run, "--samples", "64")
        assert list(found["samples"]) == ["d", "w", "g"]
        for name, values in found["samples"].items():
            value = fitted["parameters"][name]
            assert np.mean(values) == pytest.approx(value["value"], abs=2 * value["stderr"])
    sweep = ran("sweep", study)["run"]
    told = refused("montecarlo", study, "--source", sweep)
    assert f"error O065: source: run '{sweep}' is of 'sweep'" in told
    assert "not of 'fit', 'bootstrap' or 'sample'" in told

    mixed = tmp_path / "mixed.toml"
    criterion = STUDY[STUDY.index("[[criterion]]") : STUDY.index("[sweep]")]
    table = '[bootstrap]\nreplicates = 10\n[montecarlo]\nsamples = 16\nsource = "bootstrap"\n'
    mixed.write_text(tune + case + "stop = 5\n" + criterion + table, encoding="utf-8")
    found = ran("montecarlo", mixed)
    assert len(set(found["samples"]["d"])) <= 10


def test_the_example_of_the_drive_can_be_assessed(tmp_path: Path) -> None:
    study = ROOT / "examples" / "drive" / "assessment.toml"
    found = ran("montecarlo", study, "--samples", "6", "--no-store")
    assert list(found["samples"]) == ["mLoad", "c", "fCoulomb"]
    assert not found["failed"]
    options = ("--design", "factorial", "--no-store")
    swept = ran("sweep", study, *options)
    assert len(swept["largest"]) == 4
    stiff = [k for k, c in enumerate(swept["samples"]["c"]) if c == 250000]
    loads = [swept["samples"]["mLoad"][k] for k in stiff]
    values = [swept["largest"][k] for k in stiff]
    assert values[loads.index(0)] < values[loads.index(18)]  # a heavy load is harder to stop
