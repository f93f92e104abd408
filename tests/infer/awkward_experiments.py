"""Experiments whose intervals are hard to get right: unbalanced outputs, known noise, bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

import estimica as es
from estimica.simulate.formula import formula_model

Intervals = Callable[[es.Fit, int], np.ndarray]  # (n, 2) of a fit and the number of its experiment
OUTPUTS = {
    "y1": "a1*exp(-b1*x) + c1",
    "y2": "c2 + a2*x + d2*x^2",
    "y3": "a3 + b3*b1*x",
    "y4": "a3 + b3*x",
}
TRUTH = {"a1": 2.0, "b1": 1.0, "c1": 0.5, "c2": -1.0, "a2": 1.0, "d2": 0.3, "a3": 3.0, "b3": 0.7}
SIGMA = {"y1": 0.1, "y2": 0.3, "y3": 0.2, "y4": 0.2}


@dataclass(frozen=True, eq=False)
class Experiment:
    """A model, what is true of it, and its study with noise of its own."""

    truth: np.ndarray
    study: Callable[[np.random.Generator], es.Study]


def unbalanced(
    sizes: Sequence[int] = (200, 50, 8),
    criterion: str = "ml",
    known: bool = False,
    outputs: Sequence[str] = ("y1", "y2", "y3"),
    **estimation: Any,
) -> Experiment:
    """Three outputs with so many samples each; the tuners of the last are mostly its own."""
    own = {n: OUTPUTS[n] for n in outputs}
    model = formula_model(own, inputs=["x"])
    truth = {n: v for n, v in TRUTH.items() if any(n in text for text in own.values())}
    x = {n: np.linspace(0, 4, k) for n, k in zip(outputs, sizes, strict=True)}
    exact = {
        n: np.broadcast_to(
            eval(own[n].replace("^", "**"), {"exp": np.exp, "x": v, **truth}), len(v)
        )
        for n, v in x.items()
    }

    def study(rng: np.random.Generator) -> es.Study:
        cases = []
        for n in outputs:
            y = exact[n] + SIGMA[n] * rng.standard_normal(len(x[n]))
            column = es.OutputColumn("y", **({"sigma": SIGMA[n]} if known else {}))
            table = pd.DataFrame({"x": x[n], "y": y})
            cases.append(es.Case(n, table, inputs={"x": "x"}, outputs={n: column}))
        chosen = es.Estimation(criterion=criterion, **estimation)
        tuners = [es.Tuner(n, start=v) for n, v in truth.items()]
        return es.Study(model, tuners, cases, estimation=chosen)

    return Experiment(np.array(list(truth.values())), study)


def at_bound(offset: float, samples: int = 15, **estimation: Any) -> Experiment:
    """a exp(−b x) + c with c ≥ 0, whose truth is at its bound or `offset` away from it."""
    model = formula_model({"y": "a*exp(-b*x) + c"}, inputs=["x"])
    truth, x = np.array([2.0, 1.0, offset]), np.linspace(0, 3, samples)

    def study(rng: np.random.Generator) -> es.Study:
        y = 2 * np.exp(-x) + offset + 0.1 * rng.standard_normal(samples)
        table = pd.DataFrame({"x": x, "y": y})
        case = es.Case("run", table, inputs={"x": "x"}, outputs={"y": "y"})
        tuners = [es.Tuner("a", start=2.0), es.Tuner("b", start=1.0, scale="log", min=0.01)]
        tuners.append(es.Tuner("c", start=0.05, min=0.0))
        chosen = es.Estimation(**({"criterion": "ml"} | estimation))
        return es.Study(model, tuners, [case], estimation=chosen)

    return Experiment(truth, study)


def plain(fit: es.Fit, number: int) -> np.ndarray:
    """The intervals of the fit itself."""
    return fit.accuracy.interval


def bootstrapped(kind: str, what: str, replicates: int = 199) -> Intervals:
    """Percentile or BCa intervals."""

    def found(fit: es.Fit, number: int) -> np.ndarray:
        repeated = es.bootstrap(fit, replicates, kind=kind, seed=number)
        return np.array([getattr(s, what) for s in repeated.spreads])

    return found


def profiled(fit: es.Fit, number: int) -> np.ndarray:
    """Profile intervals; an end that is not found is open."""
    walked = es.profile(fit, points=3)
    ends = np.array([walked[u.label].interval for u in fit.unknowns.items], float)
    return np.where(np.isnan(ends), [[-np.inf, np.inf]], ends)


def coverage(
    experiment: Experiment, count: int, seed: int = 7, intervals: Intervals = plain
) -> np.ndarray:
    """How many of `count` intervals hold the truth, for each unknown."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(experiment.truth), int)
    for number in range(count):
        ends = intervals(es.fit(experiment.study(rng)), number)
        near = 1e-9 * np.maximum(np.abs(experiment.truth), 1.0)
        held += (ends[:, 0] <= experiment.truth + near) & (experiment.truth - near <= ends[:, 1])
    return held


def limits(count: int, low: float = 0.95, high: float = 0.95) -> tuple[int, int]:
    """Counts that chance leaves once in a thousand times on either side."""
    return int(binom.ppf(1e-3, count, low)), int(binom.isf(1e-3, count, high))
