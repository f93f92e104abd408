"""Noise levels of a fit: what was found of them, and how exactly where nothing else was free."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimica.base.text import rounded
from estimica.estimate.fit.result import Fit

LEVEL = 0.95  # of intervals, as everywhere in reports


@dataclass(frozen=True)
class NoiseLevel:
    """The estimated variance of an output's noise; its errors are NaN where no law gives them."""

    output: str
    variance: float
    stderr: float
    interval: tuple[float, float]


def noise_levels(fit: Fit) -> tuple[NoiseLevel, ...]:
    """The estimated noise levels of a fit in which nothing else was free.

    There r̂ = Σv²/N, and N·r̂/r is χ² distributed with N degrees of freedom: the standard error
    is r̂√(2/N), and the interval follows exactly. That is so of Gaussian noise of which every
    sample was seen; of other noise only r̂ is told.
    """
    if fit.n_free:
        return ()
    found = []
    for name, noise in fit.noise.items():
        if noise.estimated and not noise.formula:
            stderr, interval = math.nan, (math.nan, math.nan)
            if not noise.at_bound and (n := _samples(fit, name)):
                stderr, interval = noise.variance * math.sqrt(2 / n), _interval(noise.variance, n)
            found.append(NoiseLevel(name, noise.variance, stderr, interval))
    return tuple(found)


def _samples(fit: Fit, name: str) -> int:
    """How many samples tell of a noise level; 0 where they are not plain Gaussian ones."""
    shared = fit.noise[name].shared
    names = {n for n, v in fit.noise.items() if n == name or (shared and v.shared == shared)}
    outputs = [o for c in fit.cases if c.role == "calibrate" for o in c.outputs if o.name in names]
    plain = all(
        o.distribution == "normal"
        and not o.censored.any()
        and not o.prefilter
        and o.transfer is None
        for o in outputs
    )
    squared = fit.study.estimation.loss == "squared"
    return sum(len(o.time) for o in outputs) if plain and squared else 0


def _interval(variance: float, n: int) -> tuple[float, float]:
    from scipy.special import chdtri

    tail = (1 - LEVEL) / 2
    total = n * variance
    return total / float(chdtri(n, tail)), total / float(chdtri(n, 1 - tail))


def noise_row(level: NoiseLevel) -> tuple[object, ...]:
    """A row of the table of estimates."""
    error = level.stderr
    numbers = (level.variance, error, *level.interval)
    shown = [rounded(float(x), error) if math.isfinite(x) else None for x in numbers]
    if not math.isfinite(error):
        shown[0] = float(f"{level.variance:.5g}")
    return f"variance of {level.output}", *shown, "", ""


def noise_remark(fit: Fit, output: str) -> str:
    """What to know about the noise level of an output."""
    noise = fit.noise.get(output)
    if noise is None:
        return ""
    if noise.formula:
        return f"noise: mean of {noise.formula}"
    if noise.at_bound:
        return "noise at its bound"
    if noise.estimated:
        return f"noise {noise.shared}" if noise.shared else ""
    return "noise known"
