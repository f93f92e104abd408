"""Twins: other values of the unknowns that fit the data as well, and the symmetry behind them.

Standard errors tell of the neighbourhood of one optimum. Where another fits as well, they hide it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.text import listed
from estimica.estimate.search.run import Status
from estimica.study.estimation import LIKELIHOODS

if TYPE_CHECKING:
    from estimica.estimate.fit.result import Fit, StartResult

WITHIN_NOISE = (
    3.84  # the 95 % point of χ² with one degree of freedom: what a likelihood interval has
)
APART = 4.0  # standard errors between optima: two normal 95 % intervals do not meet
DIFFERENT = 1e-3  # relative, beyond what searches that end at the same place leave between them
EQUAL = 1e-8  # of what the search has gained: costs of noise-free data that are the same
SAME_COST = 1e-6  # relative, of searches that have ended at the same place
MOST_TWINS = 20  # that are told; a continuum would have more


HOLD_FOR_ONE = (
    "standard errors and intervals hold for one of them alone; a bound, a prior or another output "
    "tells which is meant"
)


@dataclass(frozen=True)
class Twin:
    """Other values that fit as well."""

    values: Mapping[str, float]  # of all unknowns by label
    cost: float
    starts: int  # of a multistart that led there; 0: it was found by an exchange
    symmetry: str = ""  # in words, where there is one

    @property
    def text(self) -> str:
        """Its symmetry, or that it has none."""
        return self.symmetry or "no exchange or change of sign leads there"


def twins(fit: Fit) -> tuple[Twin, ...]:
    """The equal optima to which several starts have led."""
    if fit.outcome.status is not Status.CONVERGED or not len(fit.values):
        return ()
    names = [u.label for u in fit.unknowns.items]
    optima: list[tuple[Vector, StartResult, int]] = []
    for one in sorted(fit.starts, key=lambda s: (s.cost, s.number)):
        if one.status != Status.CONVERGED or one.cost - fit.cost > allowed(fit):
            continue
        values = np.array([one.values[n] for n in names])
        if not is_apart(fit, fit.values, values):
            continue
        same = [k for k, (v, _, _) in enumerate(optima) if not is_apart(fit, v, values)]
        if same:
            v, first, count = optima[same[0]]
            optima[same[0]] = v, first, count + 1
        else:
            optima.append((values, one, 1))
    return tuple(
        Twin(dict(one.values), one.cost, count, symmetry(fit, values))
        for values, one, count in optima[:MOST_TWINS]
    )


def allowed(fit: Fit) -> float:
    """How much larger a cost may be that noise does not tell from the best."""
    gained = fit.iterations[0].cost - fit.cost if fit.iterations else 0.0
    floor = EQUAL * gained if math.isfinite(gained) else 0.0
    if fit.criterion in LIKELIHOODS:
        return max(WITHIN_NOISE, floor)
    return max(WITHIN_NOISE * abs(fit.cost) / max(fit.n_samples - fit.n_free, 1), floor)


def best_starts(fit: Fit) -> int:
    """How many starts have led to the best cost."""
    gained = fit.iterations[0].cost - fit.cost if fit.iterations else 0.0
    near = max(SAME_COST * abs(fit.cost), EQUAL * gained if math.isfinite(gained) else 0.0)
    return sum(abs(s.cost - fit.cost) <= near for s in fit.starts)


def is_apart(fit: Fit, first: Vector, second: Vector) -> bool:
    """Whether values lie at different optima: some determined unknown tells them apart.

    Unknowns that are not determined differ between starts as they like.
    """
    stderr = fit.accuracy.stderr
    size = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(invalid="ignore"):
        far = np.abs(second - first) > np.maximum(APART * stderr, DIFFERENT * size)
    return bool((far & fit.accuracy.identifiable).any())


def twin_advice(fit: Fit) -> tuple[str, ...]:
    """That there are twins, with their values, and what follows for the errors."""
    if not fit.twins:
        return ()
    told = "; ".join(_told(fit, t) for t in fit.twins)
    count = "other values fit" if len(fit.twins) == 1 else f"{len(fit.twins)} other optima fit"
    return (f"{count} the data as well: {told}; {HOLD_FOR_ONE}",)


def beside_twins(fit: Fit) -> str:
    """For results that speak of the neighbourhood of the estimate: that there are others."""
    if not fit.twins:
        return ""
    told = "; or ".join(_told(fit, t) for t in fit.twins)
    return f"; this holds for one optimum alone, other values fit as well: {told}"


def _told(fit: Fit, twin: Twin) -> str:
    labels = [u.label for u in fit.unknowns.items]
    moved = [k for k, n in enumerate(labels) if is_moved(fit, twin.values[n], k)]
    values = ", ".join(f"{labels[k]} = {twin.values[labels[k]]:.5g}" for k in moved)
    return f"{values} ({twin.text})"


# --- symmetries ----------------------------------------------------------------------------------


def symmetry(fit: Fit, values: Vector) -> str:
    """What leads from the estimate to these values, in words; empty where nothing simple does."""
    names = [u.label for u in fit.unknowns.items]
    moved = [k for k in range(len(names)) if is_moved(fit, float(values[k]), k)]
    parts, known = [], set[int]()
    for i, j in _pairs(moved):
        if not known & {i, j} and _meets(fit, values[i], j) and _meets(fit, values[j], i):
            parts.append(f"'{names[i]}' and '{names[j]}' exchanged")
            known |= {i, j}
    for k in moved:
        if k not in known and _meets(fit, -values[k], k):
            parts.append(f"'{names[k]}' with the other sign")
            known.add(k)
    rest = [f"'{names[k]}'" for k in moved if k not in known]
    if parts and rest:
        parts.append(f"{listed(rest)} adapted")
    return listed(parts)


def is_moved(fit: Fit, value: float, k: int) -> bool:
    """Whether one unknown has another value than its estimate."""
    return not _meets(fit, value, k)


def _meets(fit: Fit, value: float, k: int) -> bool:
    """Whether a value is the estimate of unknown `k`, up to what searches leave between them."""
    error = float(fit.accuracy.stderr[k])
    error = error if math.isfinite(error) else 0.0
    own = float(fit.values[k])
    return abs(value - own) <= max(0.1 * error, DIFFERENT * abs(own))


def _pairs(chosen: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((i, j) for n, i in enumerate(chosen) for j in chosen[n + 1 :])
