"""Noise levels of a fit: what was found of them, and how exactly where nothing else was free."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimica.base.text import listed, rounded
from estimica.estimate.fit.result import Fit
from estimica.study.noise.process import PREDICTION, difference_unit, names_in_levels

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
    from estimica.base.probability.functions import chdtri

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
    if fit.criterion == PREDICTION:
        return "noise: of predictions, on average"
    if noise.formula:
        return f"noise: mean of {noise.formula}"
    if noise.at_bound:
        return "noise at its bound"
    if noise.estimated:
        return f"noise {noise.shared}" if noise.shared else ""
    return "noise known"


# --- Noise in the states: what came out of it, in words.


def process_noise_lines(fit: Fit) -> tuple[str, ...]:
    """A line on the noise in each state of a fit by prediction errors."""
    if fit.criterion != PREDICTION or not math.isfinite(fit.cost):
        return ()
    lines = list(_lines(fit))
    if any("/√s" in line for line in lines):
        lines.append("what such noise gains in likelihood: estimica find-noise STUDY")
    return tuple(lines)


def _lines(fit: Fit) -> Iterator[str]:
    none = {u.name for u, no in zip(fit.unknowns.items, fit.no_noise, strict=True) if no}
    units = {q.name: difference_unit(q.unit) for q in fit.study.model.quantities()}
    step, floors = _step(fit), fit.setup.noise_floors
    known = {t.name: t.start for t in fit.study.tuners if not t.active} | fit.estimates
    for state, level in fit.study.process_noise.items():
        value = known.get(level) if isinstance(level, str) else level
        if isinstance(level, str) and value is not None and level not in fit.estimates:
            value = value if value > floors.get(level, 0.0) * (1 + 1e-9) else 0.0
        if value == 0:  # as it was given
            continue
        if level in none:
            yield f"noise in {state}: none is needed ('{level}' is at its lower bound)"
        elif value is None:
            gone = sorted(none & names_in_levels([level]))
            less = f", of which nothing is left of {listed(gone)}" if gone else ""
            yield f"noise in {state}: {level}{less}"
        else:
            unit = units.get(state, "")
            moved = f"{value * math.sqrt(step):.3g} {unit}".rstrip()
            yield (
                f"noise in {state}: {value:.4g} {unit or '1'}/√s, which moves it by {moved} "
                f"(one standard deviation) in the {step:.4g} s from sample to sample"
            )


def _step(fit: Fit) -> float:
    """Seconds between samples: the median of all."""
    own = [np.diff(o.time) for c in fit.cases if c.role == "calibrate" for o in c.outputs]
    every = np.concatenate(own) if own else np.zeros(0)
    return float(np.median(every)) if len(every) else 0.0
