"""Sizes: time and memory of a fit grow as the number of samples, up to a million."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from estimica.estimate.objective.cost import scored
from estimica.estimate.setup import prepare
from estimica.simulate.formula import formula_model
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

MODEL = Path(__file__).parents[2] / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"
SCRIPT = """
import json, resource, sys, time
import numpy as np
import estimica as es
from estimica.estimate.run.fit import fit
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

model = es.load_model(sys.argv[1])
TRUTH = {"T_D": 285, "T_R": 19, "A4": 0.26, "w_E": 10, "w_P": -10, "x10": 148, "x20": 28}
START = {"T_D": 250, "T_R": 30, "A4": 0.5, "w_E": 5, "w_P": -5, "x10": 100, "x20": 20}

def study(n):
    rng = np.random.default_rng(1)
    t = 2.0 * np.arange(n)
    held = lambda low, high: np.repeat(rng.uniform(low, high, -(-n // 10)), 10)[:n]
    data = {"time": t, "uc": held(0.5, 0.9), "fc": held(15, 35)}
    inputs = {name: (t, data[name]) for name in ("uc", "fc")}
    found = model.simulate(t, inputs, TRUTH, outputs=["E", "P"])
    data["E"] = found.value("E") + 0.7 * rng.standard_normal(n)
    data["P"] = found.value("P") + 3.0 * rng.standard_normal(n)
    case = Case("run", data, inputs={"uc": "uc", "fc": "fc"}, outputs={"E": "E", "P": "P"})
    return Study(model, [Tuner(k, start=v) for k, v in START.items()], [case], "ml")

peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fit(study(100))
one = study(int(sys.argv[2]))
before, begun = peak(), time.process_time()
found = fit(one)
seconds = time.process_time() - begun
evaluations = found.evaluations.simulations
print(json.dumps({"seconds": seconds / evaluations, "bytes": peak() - before,
                  "ok": found.outcome.ok, "error": abs(found.values[0] / 285 - 1)}))
"""


@cache
def fitted(n: int) -> dict[str, float]:
    command = [sys.executable, "-c", SCRIPT, str(MODEL), str(n)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def check_growth(small: int, large: int) -> None:
    one, many = fitted(small), fitted(large)
    assert one["ok"]
    assert many["ok"]
    assert many["error"] < 0.01
    # seconds of an evaluation: a tenth of a millisecond is there whatever the size
    assert many["seconds"] / large < 3 * (one["seconds"] + 1e-4) / small
    # a sample has 2 outputs with 7 sensitivities each; once for the run, once while it is reduced
    assert many["bytes"] / large < 3 * 8 * 2 * (1 + 7)


@pytest.mark.slow
def test_time_and_memory_grow_linearly_to_a_hundred_thousand_samples():
    check_growth(1_000, 10_000)
    check_growth(10_000, 100_000)


@pytest.mark.slow
def test_time_and_memory_grow_linearly_to_a_million_samples():
    check_growth(100_000, 1_000_000)


@pytest.mark.parametrize("samples", [1, 3, 4, 5, 40, 3_000])
def test_factor_has_the_gram_matrix_of_the_jacobian_whatever_the_number_of_samples(samples):
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0, 1, samples), rng.normal(0, 1, samples)
    model = formula_model({"y": "a + b*x + c*x^2"}, inputs=["x"])
    case = Case("points", {"x": x, "y": y}, inputs={"x": "x"}, outputs={"y": "y"})
    study = Study(model, [Tuner(n, start=1) for n in "abc"], [case], criterion="oe")
    objective = scored(prepare(study).calibration(), {})
    point = objective.at(objective.unknowns.start)
    weight = objective.blocks[0].weight
    J = weight * np.stack([np.ones(samples), x, x**2], axis=1)
    residual = weight * (1 + x + x**2 - y)
    np.testing.assert_allclose(point.R.T @ point.R, J.T @ J, rtol=1e-12)
    np.testing.assert_allclose(point.R.T @ point.b, J.T @ residual, rtol=1e-10, atol=1e-12)
    assert point.square == pytest.approx(residual @ residual, rel=1e-12)
