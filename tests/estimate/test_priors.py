"""Priors on the value or its logarithm, against hand-written posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.estimate.test_case_tuners import case, curve
from tests.estimate.test_output_formulas import DECAY, STAMPS

import estimica as es
from estimica.base.errors import EstimicaError

SIGMA = 0.2


def study(prior: es.Prior, **more: object) -> es.Study:
    one = case("a", 0.7, 1.0, 1)
    outputs = {"x": es.OutputColumn("x", sigma=SIGMA)}
    cases = [es.Case("a", one.data, time="t", outputs=outputs)]
    tuner = es.Tuner("k", 0.5, min=1e-3, max=1e3, prior=prior, **more)  # type: ignore[arg-type]
    return es.Study(es.load_model(DECAY), [tuner], cases, criterion="ml")


def posterior(prior: es.Prior) -> tuple[float, float, float]:
    """(best k, its standard error from Gauss-Newton's information, cost) on a fine grid."""
    seen = {"value": lambda k: k, "log": np.log, "log10": np.log10}[prior.on]

    def cost(k: np.ndarray) -> np.ndarray:
        gap = np.exp(-k[:, None] * STAMPS) - curve(0.7, 1.0, 1)
        data = np.sum(gap**2, axis=1) / SIGMA**2 + len(STAMPS) * np.log(SIGMA**2)
        return np.asarray(data + ((seen(k) - prior.mean) / prior.sigma) ** 2)

    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda k: float(cost(np.array([k]))[0]), bounds=(0.01, 3), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    k = float(found.x)
    inside = {"value": 1.0, "log": 1 / k, "log10": 1 / (k * np.log(10))}[prior.on]
    rows = np.append(STAMPS * np.exp(-k * STAMPS) / SIGMA, inside / prior.sigma)
    return k, float(1 / np.sqrt(rows @ rows)), float(found.fun)


@pytest.mark.parametrize("scale", ["auto", "log"])
@pytest.mark.parametrize("prior", [
    es.Prior(0.3, 0.05), es.Prior(np.log(0.3), 0.1, "log"), es.Prior(np.log10(0.3), 0.05, "log10"),
])  # fmt: skip
def test_the_estimate_is_the_mode_and_its_error_counts_the_prior(
    prior: es.Prior, scale: str
) -> None:
    fit = es.fit(study(prior, scale=scale))
    k, error, cost = posterior(prior)
    assert fit.values[0] == pytest.approx(k, rel=1e-5)
    assert fit.accuracy.stderr[0] == pytest.approx(error, rel=1e-3)
    assert fit.cost == pytest.approx(cost, abs=1e-4)


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_every_transcription_counts_it(transcription: str) -> None:
    prior = es.Prior(np.log(0.3), 0.1, "log")
    way = es.Estimation(criterion="ml", transcription=transcription)  # type: ignore[arg-type]
    fit = es.fit(study(prior).with_(estimation=way))
    assert fit.values[0] == pytest.approx(posterior(prior)[0], rel=1e-3)


def test_a_prior_on_the_logarithm_needs_a_positive_tuner() -> None:
    with pytest.raises(EstimicaError, match="T018"):
        es.Tuner("k", -1.0, prior=es.Prior(0.0, 1.0, "log"))
