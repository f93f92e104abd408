"""A fit loads the code of its own kind of model, and none of the others'."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import sys
import numpy as np
import estimica as es

def rise(u, t, K=1.0, tau=1.0):
    return K * (1 - np.exp(-t / tau))

t = np.linspace(0.0, 3.0, 31)
data = {"time": t, "u": np.ones(31), "y": rise(1.0, t, 2.0, 0.5)}
"""
TAIL = """
case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
fit = es.fit(es.Study(model, [es.Tuner("K", start=1.0), es.Tuner("tau", start=1.0)], [case]))
assert fit.outcome.ok, fit.outcome
assert abs(fit["K"] - 2) < 1e-5, fit
print(*sys.modules)
"""
MODELS = {
    "transfer function": 'model = es.transfer_function("K/(1 + tau*s)", input="u", output="y")',
    "function": 'model = es.function_model(rise, {"K": 1.0, "tau": 1.0}, ["u"], ["y"])',
}
ENGINE = tuple(f"estimica.simulate.engine.{part}" for part in ("run", "loop", "rosenbrock"))
OTHERS = (
    *ENGINE,
    "estimica.simulate.fmu",
    "estimica.simulate.modelica",
    "estimica.simulate.points",
    "estimica.source.flatten",
    "estimica.structure",
    "fmpy",
)


@pytest.mark.parametrize("kind", MODELS)
def test_a_fit_loads_one_kind_of_model(kind: str) -> None:
    script = f"{HEAD}{MODELS[kind]}{TAIL}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert f"estimica.simulate.{'linear' if kind == 'transfer function' else 'function'}" in loaded
    assert not loaded.intersection(OTHERS)
