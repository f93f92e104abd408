"""Sweeps over many points: their end is quick, also after Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.view_json import page_to_json
from estimica.execute.runs.payload import to_text
from estimica.execute.runs.store import Store
from estimica.optimise.assess.pictures import _crossed
from estimica.optimise.assess.samples import grid

MODEL = """model Lag
  parameter Real T = 2;
  parameter Real k = 1;
  output Real y(start = 0, fixed = true);
equation
  T*der(y) = k - y;
  annotation(experiment(StopTime = 10));
end Lag;
"""
STUDY = """[model]
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
"""
SECONDS = 2.0  # of computing, in which a large sweep must come to its end


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "Lag.mo").write_text(MODEL, encoding="utf-8")
    path = tmp_path / "lag.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_the_end_of_a_large_sweep_is_quick(study: Path) -> None:
    small = es.sweep(es.read_study(study), vary={"T": [1.0, 2.0], "k": [1.0, 2.0]})
    samples = grid({"T": np.linspace(1, 3, 400).tolist(), "k": np.linspace(0.5, 1.5, 250).tolist()})
    T, k = samples.values.T
    values = (T / 2 + (1 - k) ** 2)[:, None]
    values[-30_000:] = np.nan  # not done yet
    done = np.isfinite(values[:, 0])
    nothing = np.full(values.shape, np.nan)
    found = replace(
        small, samples=samples, values=values, at_least=nothing, done=done, interrupted=True
    )
    begun = time.process_time()
    to_text(page_to_json(found.page()))
    to_text(found.to_dict())
    str(found.table())
    assert time.process_time() - begun < SECONDS


def test_a_border_goes_through_every_cell_with_corners_on_both_sides() -> None:
    level = np.random.default_rng(1).normal(size=(9, 7))
    level[2, 3] = np.nan
    expected = []
    for i in range(8):
        for j in range(6):
            cell = level[i : i + 2, j : j + 2]
            if (cell <= 0).any() and (cell > 0).any():
                expected.append((i, j))
    assert _crossed(level) == expected
    assert _crossed(np.ones((3, 3))) == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_of_a_large_sweep_stores_what_was_done(study: Path, workers: int) -> None:
    store = Store.beside(study)
    begun = subprocess.Popen(
        [sys.executable, "-m", "estimica", "sweep", str(study), "--vary", "T=1:3:400", "--vary",
         "k=0.5:1.5:250", "--workers", str(workers), "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    while begun.poll() is None and len(_checkpoints(store)) < 20:
        time.sleep(0.2)
    before = _cpu(begun.pid)
    workers_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.killpg(begun.pid, signal.SIGINT)
    begun.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert begun.returncode == 1
    if workers == 1:  # else the time of the workers is among it
        spent = after.ru_utime + after.ru_stime - workers_before.ru_utime - workers_before.ru_stime
        assert spent - before < SECONDS
    run = store.run("last")
    assert run.status == "interrupted"
    assert "interrupted after" in run.summary.message
    assert sum(v is not None for v in run.result["largest"]) >= 20


def _checkpoints(store: Store) -> dict[str, object]:
    runs = store.runs(1) if store.path.exists() else []
    return dict(store.run(runs[0].id).checkpoints) if runs else {}


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
