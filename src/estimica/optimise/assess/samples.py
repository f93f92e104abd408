"""Samples: the points at which a design is assessed: grids, corners, and draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import stats
from scipy.stats import qmc

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.study.fields.counts import COMBINATIONS
from estimica.study.tables.input_design import Span
from estimica.study.tables.optimisation import Distribution

Draw = str  # random, latin-hypercube, sobol
MOST = COMBINATIONS
#: values of all parameters at all points: 0.4 GB, and some copies
NUMBERS = 50_000_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Points in the space of some parameters; `axes` where they are a full grid.

    The first `draws` of them are those that count; others only serve a sensitivity analysis.
    """

    names: tuple[str, ...]
    values: Vector  # (N, n)
    axes: tuple[Vector, ...] = ()  # the first name varies slowest
    draws: int = -1  # by default all

    def __post_init__(self) -> None:
        if self.draws < 0:
            object.__setattr__(self, "draws", len(self.values))

    def __len__(self) -> int:
        return len(self.values)


def grid(axes: Mapping[str, Sequence[float]]) -> Samples:
    """All combinations of the values of each parameter."""
    columns = [np.asarray(a, float) for a in axes.values()]
    count = math.prod(len(c) for c in columns)
    if count > MOST:
        raise DesignError(
            "O050", f"{count} combinations are too many; give fewer values, or design = 'sobol'"
        )
    _require_room(count, len(columns))
    values = np.array(list(product(*columns)), float).reshape(count, len(columns))
    return Samples(tuple(axes), values, tuple(columns))


def require_few(counts: Mapping[str, int]) -> None:
    """Refuse axes with so many values that they alone fill the memory."""
    if sum(counts.values()) > MOST:
        raise DesignError(
            "O050", f"{sum(counts.values())} values in vary are too many; at most {MOST} are tried"
        )


def _require_room(points: int, parameters: int) -> None:
    if points * parameters > NUMBERS:
        raise DesignError(
            "O050",
            f"{points} points of {parameters} parameters are {points * parameters} numbers, and "
            f"at most {NUMBERS} are held; give fewer",
        )


def factorial(ends: Mapping[str, tuple[float, float]]) -> Samples:
    """The corners of a box."""
    return grid({n: tuple(dict.fromkeys(pair)) for n, pair in ends.items()})


def one_at_a_time(axes: Mapping[str, Sequence[float]], centre: Mapping[str, float]) -> Samples:
    """The centre, then each value of each parameter with the others at the centre."""
    names = tuple(axes)
    middle = np.array([centre[n] for n in names], float)
    _require_room(1 + sum(map(len, axes.values())), len(names))
    rows = [middle]
    for k, name in enumerate(names):
        for value in axes[name]:
            if value != middle[k]:
                row = middle.copy()
                row[k] = value
                rows.append(row)
    return Samples(names, np.array(rows))


def unit_samples(count: int, dimension: int, how: Draw, seed: int) -> Vector:
    """Points of the unit cube, (count, dimension)."""
    _require_room(count, dimension)
    rng = np.random.default_rng(seed)
    if how == "latin-hypercube":
        unit: Vector = qmc.LatinHypercube(dimension, rng=rng).random(count)
    elif how == "sobol":
        power = math.ceil(math.log2(max(count, 2)))
        unit = qmc.Sobol(dimension, rng=rng).random_base2(power)[:count]
    else:
        unit = rng.random((count, dimension))
    return unit


def in_ranges(
    ends: Mapping[str, tuple[float, float]],
    count: int,
    how: Draw,
    seed: int,
    log: Sequence[str] = (),
) -> Samples:
    """Points spread evenly in a box; on a logarithmic scale for the names in `log`."""
    unit = unit_samples(count, len(ends), how, seed)
    columns = []
    for k, (name, (low, high)) in enumerate(ends.items()):
        if name in log:
            columns.append(np.exp(np.log(low) + unit[:, k] * np.log(high / low)))
        else:
            columns.append(low + unit[:, k] * (high - low))
    return Samples(tuple(ends), np.column_stack(columns))


def drawn(spread: Mapping[str, Distribution], count: int, how: Draw, seed: int) -> Samples:
    """Points drawn from independent distributions."""
    unit = unit_samples(count, len(spread), how, seed)
    unit = np.clip(unit, 1e-12, 1 - 1e-12)
    columns = [shape(n, d).ppf(unit[:, k]) for k, (n, d) in enumerate(spread.items())]
    return Samples(tuple(spread), np.column_stack(columns))


def drawn_jointly(
    names: Sequence[str], mean: Vector, covariance: Vector, count: int, how: Draw, seed: int
) -> Samples:
    """Points of a normal distribution with correlations."""
    unit = np.clip(unit_samples(count, len(names), how, seed), 1e-12, 1 - 1e-12)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return Samples(tuple(names), mean + stats.norm.ppf(unit) @ root.T)


def shape(name: str, spread: Distribution) -> stats.rv_continuous:
    """The distribution of one parameter; what is missing is told."""

    def need(*keys: str) -> list[float]:
        given = [getattr(spread, k) for k in keys]
        missing = [k for k, v in zip(keys, given, strict=True) if v is None]
        if missing:
            raise DesignError(
                "O051", f"'{name}': a {spread.kind} distribution needs {', '.join(missing)}"
            )
        return [float(v) for v in given if v is not None]

    if spread.kind == "uniform":
        low, high = need("min", "max")
        _require_order(name, low, high)
        return stats.uniform(low, high - low)
    if spread.kind == "triangular":
        low, mode, high = need("min", "mode", "max")
        _require_order(name, low, high)
        if not low <= mode <= high:
            raise DesignError(
                "O052", f"'{name}': mode {mode:g} is not between {low:g} and {high:g}"
            )
        return stats.triang((mode - low) / (high - low), low, high - low)
    mean, sigma = need("mean", "sigma")
    if sigma <= 0:
        raise DesignError("O053", f"'{name}': sigma {sigma:g} is not positive")
    if spread.kind == "lognormal":
        if mean <= 0:
            raise DesignError("O053", f"'{name}': a lognormal mean is positive, not {mean:g}")
        return stats.lognorm(sigma, scale=mean * math.exp(-(sigma**2) / 2))
    plain = stats.norm(mean, sigma)
    if spread.min is None and spread.max is None:
        return plain
    low = -math.inf if spread.min is None else spread.min
    high = math.inf if spread.max is None else spread.max
    return stats.truncnorm((low - mean) / sigma, (high - mean) / sigma, mean, sigma)


def _require_order(name: str, low: float, high: float) -> None:
    if low >= high:
        raise DesignError("O052", f"'{name}': min {low:g} is not below max {high:g}; swap them")


def values_of(given: tuple[float, ...] | Span) -> tuple[float, ...]:
    """The values of a list or a range."""
    return given.values() if isinstance(given, Span) else tuple(given)
