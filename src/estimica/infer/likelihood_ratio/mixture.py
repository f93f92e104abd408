"""Mixture: how much a model gains by chance that frees variances which may be none.

A variance cannot be negative: where there is none, half of all records ask for less than none, and
gain nothing. What the others gain is χ², so that the law is a mixture of χ² with different degrees
of freedom (Self and Liang, JASA 82, 1987): ½ χ²₀ + ½ χ²₁ for one variance. The weights of several
are the probabilities that so many of them come out above zero, which their covariance tells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.identify.accuracy import scaled_columns
from estimica.estimate.noise_starts import NOTHING
from estimica.estimate.objective.cost import Objective, Point
from estimica.infer.covariance.linearisation import pseudo_inverse

#: draws of which the weights of more than two variances are counted: they are then known to 0.5 %
DRAWS = 10_000
#: of a first guess: where noise is felt and yet so small that it changes nothing else. The
#: information is taken there, since at the bound itself nothing depends on it
FELT = 0.1


@dataclass(frozen=True)
class MixtureDistribution:
    """Σ weights[j] χ² with `regular` + j degrees of freedom."""

    statistic: float  # the cost reduction
    regular: int  # released unknowns that may move both ways
    weights: tuple[float, ...]

    @property
    def risk(self) -> float:
        """The probability that it is exceeded by chance."""
        from estimica.base.probability.functions import chdtrc

        if not self.statistic > 0:
            return 1.0
        freedoms = range(self.regular, self.regular + len(self.weights))
        pairs = zip(self.weights, freedoms, strict=True)
        return float(sum(w * chdtrc(f, self.statistic) for w, f in pairs if f))

    @property
    def words(self) -> str:
        """The law, in words."""
        return mixture_words(self.regular, self.weights)


def mixture_words(regular: int, weights: Sequence[float]) -> str:
    """A mixture of χ² in words."""
    parts = [f"{w:.3g} χ²({regular + j})" for j, w in enumerate(weights)]
    return f"{' + '.join(parts)}: no variance is below 0 (Self and Liang 1987)"


def mixture(
    objective: Objective,
    null: Vector,
    free: Flags,
    released: Sequence[int],
    bounded: Sequence[int],
    floors: Mapping[str, float],
    reduction: float,
) -> MixtureDistribution:
    """The law of what the null model at coordinates `null` costs more.

    `free` are the unknowns of the larger model, `released` those that the null model holds, and
    `bounded` the noise levels among them that are none there.
    """
    count = len(bounded)
    weights: tuple[float, ...] = (0.5, 0.5)
    if count > 1:
        q = null.copy()
        for k in bounded:
            name = objective.unknowns.items[k].name
            felt = np.array([FELT / NOTHING * floors[name]] * len(q))
            q[k] = objective.unknowns.coordinates(felt)[k]
        point = objective.at(objective.unknowns.clipped(q))
        covariance = _covariance(point.R, free, bounded) if isinstance(point, Point) else None
        weights = mixture_weights(np.eye(count) if covariance is None else covariance)
    return MixtureDistribution(reduction, len(released) - count, weights)


def mixture_weights(covariance: Vector) -> tuple[float, ...]:
    """The probabilities that 0, 1, … of several variances come out above zero.

    Their estimates without bounds have this covariance, and the nearest point within the bounds,
    in its metric, is what is found.
    """
    n = len(covariance)
    size = np.sqrt(np.diag(covariance))
    V = covariance / np.outer(size, size)
    if n == 1:
        return 0.5, 0.5
    if n == 2:
        # a quadrant of two normal deviates with this correlation
        none = math.acos(max(min(float(V[0, 1]), 1.0), -1.0)) / (2 * math.pi)
        return none, 0.5, 0.5 - none
    return _counted(V)


def _counted(V: Vector) -> tuple[float, ...]:
    from scipy.optimize import nnls

    n = len(V)
    # a ridge at the level of rounding keeps the factor where two variances are one
    L = np.linalg.cholesky(V + 1e-10 * np.eye(n))
    root = np.linalg.inv(L)  # |root (z − θ)|² is the distance in the metric of V
    drawn = np.random.default_rng(1987).standard_normal((DRAWS, n))
    found = [int(np.count_nonzero(nnls(root, one)[0])) for one in drawn]
    return tuple(float(w) for w in np.bincount(found, minlength=n + 1) / DRAWS)


def _covariance(R: Vector, free: Flags, chosen: Sequence[int]) -> Vector | None:
    """The covariance of some unknowns where all that is free moves."""
    columns, scale = scaled_columns(R)
    V = pseudo_inverse(columns.T @ columns, free, 1e-12)[np.ix_(chosen, chosen)]
    good = np.isfinite(V).all() and (np.diag(V) > 0).all()
    return V if good and (scale[list(chosen)] > 0).all() else None
