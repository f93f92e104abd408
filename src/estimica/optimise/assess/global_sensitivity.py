"""Global sensitivity: which parameters make the criteria scatter, by Morris or by Sobol (SALib)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import DesignError
from estimica.base.suggest import did_you_mean
from estimica.optimise.assess.samples import Samples, shape
from estimica.study.tables.optimisation import Distribution

FEWEST = 16  # base samples of Sobol's indices that mean anything
#: Of Morris' screening (Technometrics 33, 1991): fewest and most trajectories, and levels of the
#: grid. Ten trajectories on four levels are what A. Saltelli and others recommend (Sensitivity
#: Analysis in Practice, 2004, chapter 4).
TRAJECTORIES = 10, 100
LEVELS = 4
TAIL = 0.005  # cut from the unbounded ends of a distribution, for Morris' grid
RESAMPLES = 200  # behind each confidence interval: 200 tell a standard error to 5 %, 1/√(2·200)
FEWEST_BLOCKS = 4  # base samples or trajectories: below, their resamples are hardly different
KEYS = {
    "sobol": (("S1", "first-order index", True), ("ST", "total index", True)),
    "morris": (
        ("mu_star", "μ*, mean size of the effect", True),
        ("mu", "μ, mean effect", False),
        ("sigma", "σ of the effect", False),
    ),
}


@dataclass(frozen=True, eq=False)
class Plan:
    """Where the criteria are needed; `order` has for each of SALib's rows the sample it is."""

    kind: str  # morris, sobol
    unit: Vector  # (rows, n): in SALib's order
    order: Indices
    seed: int


@dataclass(frozen=True, eq=False)
class Index:
    """One measure of sensitivity with the half-widths of its 95 % intervals, (criteria, n)."""

    key: str
    name: str
    value: Vector
    half: Vector | None = None


@dataclass(frozen=True, eq=False)
class GlobalSensitivity:
    """The indices of every criterion by every parameter; NaN where a criterion does not vary."""

    kind: str
    names: tuple[str, ...]
    labels: tuple[str, ...]
    indices: tuple[Index, ...]
    blocks: int  # base samples, or trajectories, that were used
    lost: int  # those with a sample that failed
    open: tuple[int, ...] = ()  # of the others: those in which a criterion was not reached

    def index(self, key: str) -> Index:
        """One of the measures: S1, ST, or mu_star, mu, sigma."""
        for one in self.indices:
            if one.key == key:
                return one
        known = [i.key for i in self.indices]
        hint = did_you_mean(key, known) or f" (there are {', '.join(known)})"
        raise DesignError("O094", f"there is no index '{key}' of {self.kind}{hint}")

    def too_few(self, k: int) -> bool:
        """Whether a criterion is reached too seldom to have indices."""
        return bool(self.open) and self.blocks - self.open[k] < FEWEST_BLOCKS

    @property
    def main(self) -> Index:
        """What ranks the parameters: the total index, or mu*."""
        return self.index("ST" if self.kind == "sobol" else "mu_star")


def library() -> ModuleType:
    """SALib, or a plain word about how to get it."""
    try:
        import SALib
    except ImportError:
        raise DesignError(
            "O070",
            "Morris' screening and Sobol's indices need SALib; install it with: "
            "pip install 'estimica[optimise]'",
        ) from None
    module: ModuleType = SALib
    return module


def sobol_plan(spread: Mapping[str, Distribution], samples: int, seed: int) -> tuple[Samples, Plan]:
    """Saltelli's samples; their first two blocks are independent draws, which count as such."""
    library()
    from SALib.sample import sobol

    n = len(spread)
    base = 2 ** int(math.log2(max(samples, 1)))
    if base < FEWEST:
        raise DesignError(
            "O071", f"{samples} samples are too few for Sobol's indices; use {FEWEST} or more"
        )
    with _quiet():
        unit = sobol.sample(_problem(spread), base, calc_second_order=False, seed=seed)
    step = n + 2
    rows = np.arange(len(unit)).reshape(base, step)  # A, A with a column of B each, B
    new = np.concatenate([rows[:, 0], rows[:, -1], rows[:, 1:-1].ravel()])
    order = np.empty(len(unit), np.int64)
    order[new] = np.arange(len(unit))
    values = _values(spread, unit[new], 1e-12)
    return Samples(tuple(spread), values, (), 2 * base), Plan("sobol", unit, order, seed)


def morris_plan(
    spread: Mapping[str, Distribution], samples: int, seed: int, draws: Samples
) -> tuple[Samples, Plan]:
    """Morris' trajectories behind the draws that count."""
    library()
    from SALib.sample import morris

    n = len(spread)
    count = int(np.clip(samples // (n + 1), *TRAJECTORIES))
    with _quiet():
        unit = morris.sample(_problem(spread), count, num_levels=LEVELS, seed=seed)
    values = np.vstack([draws.values, _values(spread, unit, TAIL)])
    order = len(draws) + np.arange(len(unit), dtype=np.int64)
    return Samples(tuple(spread), values, (), len(draws)), Plan("morris", unit, order, seed)


def _problem(names: Mapping[str, object] | Sequence[str]) -> dict[str, Any]:
    plain = [f"x{k}" for k in range(len(names))]
    return {"num_vars": len(plain), "names": plain, "bounds": [[0.0, 1.0]] * len(plain)}


def _values(spread: Mapping[str, Distribution], unit: Vector, tail: float) -> Vector:
    """Points of the unit cube as values of the parameters, unbounded ends cut off."""
    columns = []
    for k, (name, one) in enumerate(spread.items()):
        law = shape(name, one)
        low, high = law.support()
        ends = (0.0 if np.isfinite(low) else tail), (1.0 if np.isfinite(high) else 1 - tail)
        columns.append(law.ppf(ends[0] + (ends[1] - ends[0]) * unit[:, k]))
    return np.column_stack(columns)


def sensitivity_indices(
    plan: Plan,
    names: Sequence[str],
    labels: Sequence[str],
    values: Vector,
    simulated: Flags,
) -> GlobalSensitivity | None:
    """The indices, from the criteria at all samples; None where too many of them failed.

    A base sample or trajectory that holds a failed sample is left out as a whole; for a criterion
    that was not reached in one of its samples, only for this criterion. Its indices then speak of
    the part of the ranges in which it is reached, and are NaN where that is too little.
    """
    n = len(names)
    step = n + 2 if plan.kind == "sobol" else n + 1
    ordered = values[plan.order]
    whole = simulated[plan.order].reshape(-1, step).all(axis=1)
    blocks = int(whole.sum())
    if blocks < FEWEST_BLOCKS:
        return None
    tell = _sobol if plan.kind == "sobol" else _morris
    rows, open_ = [], []
    for column in ordered.T:
        own = whole & np.isfinite(column).reshape(-1, step).all(axis=1)
        keep = np.repeat(own, step)
        enough = own.sum() >= FEWEST_BLOCKS
        one = tell(plan, n, plan.unit[keep], column[keep]) if enough else _nothing(plan.kind, n)
        rows.append(one)
        open_.append(blocks - int(own.sum()))
    keys = KEYS[plan.kind]
    indices = tuple(
        Index(
            key,
            name,
            np.array([row[key] for row in rows]),
            np.array([row[f"{key}_conf"] for row in rows]) if interval else None,
        )
        for key, name, interval in keys
    )
    return GlobalSensitivity(
        plan.kind,
        tuple(names),
        tuple(labels),
        indices,
        blocks,
        lost=int((~whole).sum()),
        open=tuple(open_),
    )


def _sobol(plan: Plan, n: int, unit: Vector, column: Vector) -> dict[str, Vector]:
    from SALib.analyze import sobol

    if not _varies(column):
        return _nothing("sobol", n)
    with _quiet():
        analysis = sobol.analyze(
            _problem(range(n)),  # type: ignore[arg-type]
            column,
            calc_second_order=False,
            num_resamples=RESAMPLES,
            seed=plan.seed,
        )
    return {k: np.asarray(v, float) for k, v in analysis.items()}


def _morris(plan: Plan, n: int, unit: Vector, column: Vector) -> dict[str, Vector]:
    from SALib.analyze import morris

    with _quiet():
        analysis = morris.analyze(
            _problem(range(n)),  # type: ignore[arg-type]
            unit,
            column,
            num_levels=LEVELS,
            num_resamples=RESAMPLES,
            seed=plan.seed,
        )
    return {k: np.asarray(v, float) for k, v in analysis.items() if k != "names"}


def _varies(column: Vector) -> bool:
    return bool(np.ptp(column) > 1e-12 * max(float(np.abs(column).max()), 1e-300))


def _nothing(kind: str, n: int) -> dict[str, Vector]:
    nan = np.full(n, np.nan)
    return {name: nan for key, _, _ in KEYS[kind] for name in (key, f"{key}_conf")}


def _quiet() -> warnings.catch_warnings:
    """SALib's own warnings are about its inside."""
    return warnings.catch_warnings(action="ignore")


def rank_correlations(parameters: Vector, criteria: Vector) -> Vector:
    """Spearman's correlation of each criterion with each parameter, (criteria, n)."""
    a, b = _ranked(parameters), _ranked(criteria)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations: Vector = (b.T @ a) / np.outer(_norms(b), _norms(a))
    return correlations


def regression(parameters: Vector, criteria: Vector) -> tuple[Vector, Vector]:
    """Standardised regression coefficients, (criteria, n), and the share R² that they explain."""
    x = parameters - parameters.mean(axis=0)
    y = criteria - criteria.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(_norms(x) > 0, x / _norms(x), 0.0)
        slopes = np.linalg.lstsq(scaled, y, rcond=None)[0]
        rest = y - scaled @ slopes
        shares = 1 - (rest**2).sum(axis=0) / (y**2).sum(axis=0)
        return slopes.T / _norms(y)[:, None], shares


def _ranked(columns: Vector) -> Vector:
    ranks: Vector = stats.rankdata(columns, axis=0) - (len(columns) + 1) / 2
    return ranks


def _norms(columns: Vector) -> Vector:
    norms: Vector = np.sqrt((columns**2).sum(axis=0))
    return norms
