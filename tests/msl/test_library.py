"""Examples of the Modelica Standard Library: they load, run to their stop time, and agree with a witness."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.msl.examples import COMPARED, LOADED, RUN

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
_models: dict[str, es.ModelicaModel] = {}


def load(name: str) -> es.ModelicaModel:
    if name not in _models:
        _models[name] = es.load_model(name)
    return _models[name]


def test_there_are_enough_of_each():
    assert len(LOADED) >= 60
    assert len(RUN) >= 40
    assert len(COMPARED) >= 20
    assert set(COMPARED) <= set(RUN) <= set(LOADED)


@pytest.mark.parametrize("name", LOADED)
def test_it_loads(name):
    model = load(name)
    assert model.flat.variables
    assert len(model.equations.torn) < 200


@pytest.mark.parametrize("name", RUN)
def test_it_runs_to_its_stop_time(name):
    model = load(name)
    stop = model.experiment.stop or 1.0
    run = model.simulate(np.linspace(0, stop, 51), options=es.Options(rtol=1e-6, atol=1e-8))
    assert np.isfinite(run.values).all()


@pytest.fixture(scope="session")
def witness(tmp_path_factory) -> dict[str, dict[str, object]]:
    """Trajectories of rumoca's own simulation, of all compared examples."""
    target = tmp_path_factory.mktemp("witness") / "witness.json"
    given = os.environ.get("ESTIMICA_WITNESS")  # a file kept from an earlier run
    if given and Path(given).is_file():
        return json.loads(Path(given).read_text(encoding="utf-8"))
    arguments = [f"{stop}={name}" for name, stop in COMPARED.items()]
    subprocess.run(
        [sys.executable, "-m", "tests.msl.witness", str(target), *arguments],
        cwd=ROOT, check=True, timeout=1800,
    )  # fmt: skip
    return json.loads(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMPARED)
def test_it_agrees_with_the_witness(name, witness):
    seen = witness[name]
    assert "error" not in seen, seen
    model = load(name)
    times, first = np.unique(np.round(seen["time"], 12), return_index=True)
    names = [n for n in model.system.states if n in seen["values"]]
    assert names
    ours = model.simulate(times, outputs=names, options=es.Options(rtol=1e-8, atol=1e-10))
    for n in names:
        theirs = np.asarray(seen["values"][n])[first]
        scale = max(np.abs(theirs).max(), 1e-6)
        assert np.abs(ours.value(n) - theirs).max() < 1e-4 * scale, n
