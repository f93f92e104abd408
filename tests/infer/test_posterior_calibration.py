"""Simulation-based calibration: the rank of the truth among its draws is uniform.

Talts, Betancourt, Simpson, Vehtari and Gelman, Validating Bayesian inference algorithms with
simulation-based calibration, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import estimica as es
from estimica.simulate.formula import formula_model

EXPERIMENTS = 100
THIN, KEPT = 4, 99  # ranks from 0 to 99: ten bins of ten
BINS = 10
#: a calibrated sampler fails one test in a thousand; there are four
RISK = 1e-3

Make = Callable[[np.random.Generator, dict[str, float]], es.Study]


def decay() -> tuple[dict[str, es.Prior], Make]:
    """a·exp(−k x) at points, one tuner on the logarithm."""
    priors = {"a": es.Prior(3.0, 0.5), "k": es.Prior(0.8, 0.15)}
    model = formula_model({"y": "a*exp(-k*x)"}, inputs=["x"])
    tuners = [
        es.Tuner("a", start=3, prior=priors["a"]),
        es.Tuner("k", start=0.8, scale="log", prior=priors["k"]),
    ]
    x = np.linspace(0, 3, 10)

    def make(random: np.random.Generator, truth: dict[str, float]) -> es.Study:
        y = truth["a"] * np.exp(-truth["k"] * x) + 0.3 * random.standard_normal(len(x))
        data = pd.DataFrame({"x": x, "y": y})
        output = es.OutputColumn("y", sigma=0.3)
        case = es.Case("points", data, inputs={"x": "x"}, outputs={"y": output})
        return es.Study(model, tuners, [case], "ml")

    return priors, make


def growth(folder: Path) -> tuple[dict[str, es.Prior], Make]:
    """Logistic growth over time, its solution known in closed form."""
    source = folder / "Growth.mo"
    source.write_text(
        "model Growth parameter Real r = 1; parameter Real K = 2; "
        "output Real n(start=0.1, fixed=true); equation der(n) = r*n*(1 - n/K); end Growth;"
    )
    model = es.load_model(source)
    priors = {"r": es.Prior(1.0, 0.15), "K": es.Prior(2.0, 0.3)}
    tuners = [
        es.Tuner("r", start=1, scale="log", prior=priors["r"]),
        es.Tuner("K", start=2, min=0.5, max=4.0, prior=priors["K"]),
    ]
    t = np.linspace(0, 8, 12)

    def make(random: np.random.Generator, truth: dict[str, float]) -> es.Study:
        K = truth["K"]
        n = K / (1 + (K / 0.1 - 1) * np.exp(-truth["r"] * t))
        data = pd.DataFrame({"t": t, "n": n + 0.15 * random.standard_normal(len(t))})
        case = es.Case("run", data, time="t", outputs={"n": es.OutputColumn("n", sigma=0.15)})
        return es.Study(model, tuners, [case], "ml")

    return priors, make


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decay", "growth"])
def test_ranks_of_the_truth_among_draws_are_uniform(name: str, tmp_path: Path) -> None:
    priors, make = decay() if name == "decay" else growth(tmp_path)
    random = np.random.default_rng(11)
    ranks: dict[str, list[int]] = {n: [] for n in priors}
    for number in range(EXPERIMENTS):
        truth = {n: float(random.normal(p.mean, p.sigma)) for n, p in priors.items()}
        fit = es.fit(make(random, truth))
        found = es.sample(fit, THIN * KEPT, chains=1, warmup=200, seed=number)
        for k, n in enumerate(priors):
            draws = found.values[0, ::THIN, k]
            assert len(draws) == KEPT
            ranks[n].append(int(np.sum(draws < truth[n])))
    for n, found_ranks in ranks.items():
        counts = np.bincount(np.array(found_ranks) // BINS, minlength=BINS)
        assert stats.chisquare(counts).pvalue > RISK, (n, counts)
        # a sampler that is too sure, or not sure enough, bends the ranks: so sharp is the sum
        spread = np.var(np.array(found_ranks) / KEPT) * 12
        assert 0.7 < spread < 1.3, (n, spread)
