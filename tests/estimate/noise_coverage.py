"""How often 95 % intervals hold the truth where noise is more than one normal level."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.estimate.noise_studies import MEAN, level, points

import estimica as es

Vector = np.ndarray
X = np.linspace(0.5, 10, 40)
Y = 2 * X**0.7
TRUTH = {"a": 2.0, "b": 0.7, "s": 0.3, "r": 0.1}


def growing_noise(rng: np.random.Generator) -> es.Study:
    """sigma = s + r*y."""
    y = Y + (0.3 + 0.1 * Y) * rng.standard_normal(len(X))
    return points({"x": X, "y": y}, [*MEAN, level("s", 0.2), level("r", 0.05)], sigma="s + r*y")


def censored(rng: np.random.Generator) -> es.Study:
    """A third of the samples below a detection limit, sigma not known."""
    y = np.maximum(Y + 0.3 * rng.standard_normal(len(X)), 4.5)
    tuners = [*MEAN, level("s", 0.2)]
    return points({"x": X, "y": y}, tuners, sigma="s", limits={"min": 4.5})


def laplacian(rng: np.random.Generator) -> es.Study:
    """Noise with long tails."""
    y = Y + rng.laplace(0, 0.3 / np.sqrt(2), len(X))
    return points({"x": X, "y": y}, [*MEAN, level("s", 0.2)], sigma="s", distribution="laplace")


def column(rng: np.random.Generator) -> es.Study:
    """A column of standard deviations."""
    sd = 0.1 + 0.1 * Y
    y = Y + sd * rng.standard_normal(len(X))
    return points({"x": X, "y": y, "sd": sd}, MEAN, sigma={"column": "sd"})


def covered(
    study: Callable[[np.random.Generator], es.Study], count: int, seed: int = 1
) -> dict[str, float]:
    """The share of experiments in which the interval of each unknown holds the truth."""
    rng = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = {}
    for _ in range(count):
        found = es.fit(study(rng))
        assert found.outcome.ok
        for k, u in enumerate(found.unknowns.items):
            low, high = found.accuracy.interval[k]
            hits.setdefault(u.label, []).append(bool(low <= TRUTH[u.label] <= high))
    return {name: float(np.mean(own)) for name, own in hits.items()}


if __name__ == "__main__":
    for made in (growing_noise, censored, column, laplacian):
        print(made.__name__, covered(made, 400), flush=True)
