"""Output error against maximum likelihood: figures 5.3 and 5.4 of the JModelica.org thesis."""

from __future__ import annotations

import numpy as np
import pytest
from tests.estimate.problems import TWO_STATES, TWO_STATES_TRUTH, simulated, steps

from estimica.estimate.run.fit import fit
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.study import Study
from estimica.study.tuner import Tuner

REALISATIONS = 300


def estimates(criterion: str, r1: float, r2: float) -> np.ndarray:
    """One row of estimates for each noise realisation."""
    model = load_model(TWO_STATES)
    time = np.linspace(0, 40, 500)
    exact = simulated(model, time, steps(time), TWO_STATES_TRUTH, ["y1", "y2"])
    random = np.random.default_rng(2)
    tuners = [Tuner(n, start=v) for n, v in TWO_STATES_TRUTH.items()]
    found = []
    for _ in range(REALISATIONS):
        table = exact.copy()
        table["y1"] += np.sqrt(r1) * random.standard_normal(500)
        table["y2"] += np.sqrt(r2) * random.standard_normal(500)
        outputs = {n: OutputColumn(n, weight=1.0) for n in ("y1", "y2")}
        case = Case("run", table, inputs={"u1": "u1", "u2": "u2"}, outputs=outputs)
        found.append(fit(Study(model, tuners, [case], criterion)).values)
    return np.array(found)


def spread(values: np.ndarray) -> np.ndarray:
    """Half the width of the middle 68 %: a few estimates far out do not decide."""
    low, high = np.quantile(values, [0.16, 0.84], axis=0)
    return (high - low) / 2


@pytest.mark.slow
def test_likelihood_scatters_less_where_the_noises_differ() -> None:
    oe, ml = (estimates(c, 0.1, 0.001) for c in ("oe", "ml"))
    assert (spread(ml) < spread(oe)).all()
    assert (ml.std(axis=0) < oe.std(axis=0)).all()


@pytest.mark.slow
def test_both_scatter_alike_where_the_noises_are_equal() -> None:
    oe, ml = (estimates(c, 0.01, 0.01) for c in ("oe", "ml"))
    assert spread(ml) == pytest.approx(spread(oe), rel=0.1)
    assert ml.std(axis=0) == pytest.approx(oe.std(axis=0), rel=0.1)
