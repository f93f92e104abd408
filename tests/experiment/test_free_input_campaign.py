"""A loudspeaker designed for within limits: what is promised, and what 200 experiments give.

Run with `pytest -m slow tests/experiment/test_free_input_campaign.py`; about a minute.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import estimica as es
from estimica.experiment.free_input.run import FreeInput, free_input
from estimica.study.tables.input_design import input_design_table

SPEAKER = """
model Speaker "Loudspeaker whose force factor falls with the displacement"
  parameter Real m = 0.0125; parameter Real r = 5.2; parameter Real k = 12000;
  parameter Real R = 5; parameter Real Bl = 10; parameter Real c1 = 1e6; parameter Real c2 = 2e-4;
  input Real u(unit = "V"); output Real i(unit = "A");
  output Real x(start = 0, fixed = true, nominal = 1e-3, unit = "m");
protected
  Real v(start = 0, fixed = true); Real b;
equation
  b = Bl*exp(-c1*(x + c2)^2);
  u = R*i + b*v;
  der(x) = v;
  m*der(v) = b*i - r*v - k*x;
end Speaker;
"""
pytestmark = pytest.mark.slow
TRUTH = {"m": 0.0125, "r": 5.2, "k": 12000.0, "R": 5.0, "Bl": 10.0}
SIGMA = {"x": 2e-5, "i": 2e-2}
EXPERIMENTS = 200


@lru_cache
def found() -> tuple[es.Study, FreeInput]:
    """Five tuners of the nonlinear loudspeaker, ±5 V, the displacement within ±0.5 mm."""
    model = es.load_model(SPEAKER)
    study = es.Study(model, [es.Tuner(n) for n in TRUTH], [], name="loudspeaker")
    table = input_design_table(
        {
            "kind": "free", "criterion": "D", "sigma": SIGMA, "outputs": ["x", "i"],
            "step": 4e-4, "duration": 0.08, "pieces": 100, "min": -5.0, "max": 5.0,
            "energy": "class", "limits": {"x": {"min": -5e-4, "max": 5e-4}}, "starts": 1,
        }
    )  # fmt: skip
    return study, free_input(study, table)


def test_every_standard_error_is_15_percent_below_that_of_the_best_square_wave() -> None:
    _, design = found()
    assert design.reference.text.startswith("best square wave")
    assert (design.gain >= 0.15).all()
    # with no more amplitude or energy than the square wave has, and within the same limits
    largest = np.abs(design.reference.signals["u"].value).max()
    assert np.abs(design.inputs["u"]).max() <= largest * (1 + 1e-5)
    assert design.design.energy[0] <= design.reference.energy[0] * (1 + 1e-6)
    for one in (design.design, design.reference):
        assert np.abs(one.courses[:, design.shown.index("x")]).max() <= 5e-4 * (1 + 1e-4)


def test_no_square_wave_that_keeps_the_limits_is_better_than_the_reference() -> None:
    study, design = found()
    best = np.inf
    fine = np.linspace(0, 0.08, 2001)
    for frequency in np.geomspace(30, 1000, 60):
        for amplitude in (5.0, 4.0, 3.0, 2.0):
            wave = es.signals.Square(float(frequency), amplitude=amplitude).held(design.times)
            seen = study.model.response(fine, {"u": wave}, outputs=["x"]).at()
            if np.abs(seen.Y).max() > 5e-4:
                continue
            run = study.model.response(
                design.times, {"u": wave}, outputs=["x", "i"], wrt=list(TRUTH)
            ).at()
            J = (run.YS / np.array([SIGMA["x"], SIGMA["i"]])[:, None]).reshape(-1, 5)
            J = J * np.array(list(TRUTH.values()))
            best = min(best, -float(np.linalg.slogdet(J.T @ J)[1]) / 10)
    assert design.reference.criterion <= best + 1e-3


def test_200_simulated_experiments_confirm_the_standard_errors_within_10_percent() -> None:
    study, design = found()
    estimates = []
    for seed in range(EXPERIMENTS):
        data = es.simulate_experiment(
            study.model, design.signals, design.times, noise=SIGMA, outputs=["x", "i"], seed=seed
        )
        columns = {n: es.OutputColumn(n, sigma=s) for n, s in SIGMA.items()}
        case = es.Case("run", data, inputs={"u": "u"}, outputs=columns)
        fit = es.fit(study.with_(cases=[case]))
        assert fit.outcome.status == "converged"
        estimates.append(fit.values[:5])
    errors = np.array(estimates) - np.array(list(TRUTH.values()))
    promised = np.array([design.stderr[n] for n in TRUTH])
    ratio = np.sqrt(np.mean(errors**2, axis=0)) / promised
    print("spread of 200 estimates over the promised standard errors:", ratio.round(3))
    assert ratio == pytest.approx(1, abs=0.1)
