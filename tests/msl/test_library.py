"""Examples of the Modelica Standard Library: they load and run to their stop time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.msl.examples import LOADED, RUN

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]
_models: dict[str, es.ModelicaModel] = {}


def load(name: str) -> es.ModelicaModel:
    if name not in _models:
        _models[name] = es.load_model(name)
    return _models[name]


def test_there_are_enough_of_each():
    assert len(LOADED) >= 60
    assert len(RUN) >= 40
    assert set(RUN) <= set(LOADED)


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
