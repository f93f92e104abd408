"""Freedom: how well the residuals tell each noise level, and with it the error of each unknown.

Every output has a noise level of its own, and unknowns take degrees of freedom from the outputs
that determine them. An unknown that eight samples determine has an error that eight samples tell,
however many samples the other outputs have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.scoring import Noise
from estimica.estimate.objective.cost import BlockInformation, Objective

#: share of an unknown's variance that is rounding: a noise level below it has no part in it
NOTHING = 1e-12
#: degrees of freedom below which residuals are nothing but rounding
LEAST = 1e-6
#: relative, of quantiles
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Level:
    """One noise level: its variance, the degrees of freedom that tell it, and what it moves."""

    outputs: tuple[str, ...]
    known: bool  # beforehand, or held at a bound
    follows: bool  # whether the criterion has its variance follow the residuals, as `ml` does
    variance: float  # of the scored residuals, free of bias; infinite where nothing tells it
    residual_freedom: float  # samples less their share of the unknowns
    growth: float  # variance over the mean square of the residuals: N/(N − share)
    count: float  # samples that count
    share: float  # of the unknowns that its outputs determine: the trace of their hat matrix
    curvature: Vector  # R with RᵀR what it has in JᵀJ
    scatter: Vector  # F with FᵀF the scatter of the gradient by noise of variance one

    @property
    def freedom(self) -> float:
        """Degrees of freedom of its variance, infinite where that is known."""
        return math.inf if self.known else self.residual_freedom


@dataclass(frozen=True, eq=False)
class Freedom:
    """Variance and degrees of freedom of any direction among the unknowns, in coordinates."""

    levels: tuple[Level, ...]
    prior: Vector  # (count, n): rows of the priors, whose errors are known
    inverse: Vector  # (n, n): (JᵀJ)⁻¹ among the unknowns that are free and determined

    def of_output(self, name: str) -> Level | None:
        """The noise level of an output; none where its cases have several."""
        found = [v for v in self.levels if name in v.outputs]
        return found[0] if len(found) == 1 else None

    def parts(self, directions: Vector) -> Vector:
        """(levels, directions): the variance of each row of `directions` by each noise level.

        The last row is that of the priors.
        """
        moved = self.inverse @ np.atleast_2d(directions).T
        found = [np.sum((v.scatter @ moved) ** 2, axis=0) for v in self.levels]
        found.append(np.sum((self.prior @ moved) ** 2, axis=0))
        parts = np.array(found)
        variances = np.array([*(v.variance for v in self.levels), 1.0])[:, None]
        # what a level does not move it does not make uncertain, even where nothing tells it
        moves = parts > NOTHING * parts.sum(axis=0)
        return np.asarray(np.multiply(parts, variances, out=np.zeros_like(parts), where=moves))

    def variance(self, directions: Vector) -> Vector:
        """The variance of each row of `directions`."""
        return np.asarray(self.parts(directions).sum(axis=0))

    def of(self, directions: Vector | None = None, *, by_residuals: bool = False) -> Vector:
        """Degrees of freedom of each row of `directions`, or of every unknown.

        Infinite where all of its variance is known. `by_residuals` counts known levels as well: for
        variances that are taken from the residuals whatever is known of them.
        """
        rows = np.eye(len(self.inverse)) if directions is None else directions
        return effective(self.parts(rows), self.freedoms(by_residuals=by_residuals))

    def freedoms(self, *, by_residuals: bool = False) -> Vector:
        """Degrees of freedom of each level, and of the priors."""
        own = [v.residual_freedom if by_residuals else v.freedom for v in self.levels]
        return np.array([*own, math.inf])

    def jointly(self, directions: Vector) -> float:
        """Degrees of freedom of the denominator of an F statistic of several directions at once.

        After Fai and Cornelius (Approximate F-tests of multiple degree of freedom hypotheses in
        generalized least squares analyses of unbalanced split-plot experiments, Journal of
        Statistical Computation and Simulation 54, 1996): independent combinations of the
        directions have ν degrees each, and F the ν' whose mean ν'/(ν' − 2) is theirs.
        """
        covariance = self.covariance_of(directions)
        if not np.isfinite(covariance).all():
            return 0.0
        _, vectors = np.linalg.eigh(covariance)
        each = self.of(vectors.T @ np.atleast_2d(directions))
        if len(each) == 1:
            return float(each[0])
        if np.all(np.isinf(each)):
            return math.inf
        if each.min() <= 2:  # no mean: the least of them is on the safe side
            return float(each.min())
        mean = float(np.mean(np.where(np.isinf(each), 1.0, each / (each - 2))))
        return 2 * mean / (mean - 1)

    def rise(self, paths: Vector) -> Vector:
        """How much the cost rises from the estimate along each column of `paths`, (n, m).

        By the rise of the squares; where an estimated variance of N samples follows them, by
        N log(1 + rise/N).
        """
        squares = np.sum((self.prior @ paths) ** 2, axis=0)
        for level in self.levels:
            own = np.sum((level.curvature @ paths) ** 2, axis=0)
            squares = squares + (
                level.count * np.log1p(own / level.count) if level.follows else own
            )
        return np.asarray(squares)

    def covariance_of(self, directions: Vector) -> Vector:
        """The covariance of the rows of `directions` among each other."""
        rows = np.atleast_2d(directions)
        moved, open_ = self.inverse @ rows.T, np.isinf(self.parts(rows)).any(axis=0)
        covariance = (self.prior @ moved).T @ (self.prior @ moved)
        for level in self.levels:
            if math.isfinite(level.variance):
                half = level.scatter @ moved
                covariance = covariance + level.variance * (half.T @ half)
        covariance[open_, :] = covariance[:, open_] = np.nan
        covariance[open_, open_] = np.inf
        return np.asarray(covariance)

    @property
    def known(self) -> bool:
        """Whether all noise is known."""
        return all(v.known for v in self.levels)

    @property
    def covariance(self) -> Vector:
        """The covariance of the unknowns."""
        return self.covariance_of(np.eye(len(self.inverse)))


def effective(parts: Vector, freedoms: Vector) -> Vector:
    """Degrees of freedom of sums of variances, (levels, m), each with its own degrees.

    They are those whose t quantile is the mean of the t quantiles of the levels, weighed by their
    parts (Cochran and Cox, Experimental Designs, 1957). Satterthwaite's are more where a level with
    one or two degrees happens to look quiet: 95 % intervals then hold the truth in 87–92 %, and
    with these in 94–98 % whatever the parts (measured, 400,000 draws each).
    """
    from estimica.base.probability.functions import ndtri, stdtridf, stdtrit

    tail = 0.975
    known, told = np.isinf(freedoms), freedoms > 0
    quantiles = np.where(known, ndtri(tail), stdtrit(np.where(known | ~told, 1.0, freedoms), tail))
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = parts.sum(axis=0)
        mean = np.sum(parts * quantiles[:, None], axis=0) / whole
    normal = ~(mean > ndtri(tail) * (1 + ROUNDING))
    found = np.where(normal, np.inf, stdtridf(tail, np.where(normal, 2.0, mean)))
    # of what has an infinite variance nothing is told
    return np.where(np.isfinite(whole), found, 0.0)


def freedom(
    objective: Objective,
    noise: Mapping[str, Noise],
    parts: Sequence[BlockInformation],
    prior: Vector,
    inverse: Vector,
) -> Freedom:
    """The freedom that the `parts` of an objective's blocks leave.

    `prior` are the rows of the priors and `inverse` is (JᵀJ)⁻¹ among the unknowns that are free.
    """
    levels, unit = [], objective.criterion.has_unit_variance
    for chosen in _levels(objective):
        own = [parts[k] for k in chosen]
        share = sum(_trace(p.curvature, inverse) for p in own)
        taken = share
        if objective.is_filtered:
            taken = sum(_behind_filter(p, parts, prior, inverse) for p in own)
        square = sum(p.square for p in own)
        count, independent = sum(p.count for p in own), sum(p.independent for p in own)
        if objective.has_input_errors:  # residuals of a point are one: they are known to each other
            count = independent = float(objective.n_samples)
        is_told = count - taken > LEAST and independent - share > LEAST
        known = unit and all(_is_known(objective.blocks[k], noise, is_told) for k in chosen)
        growth = 1.0 if known else count / (count - taken) if is_told else math.inf
        variance = 1.0 if known else growth * square / count if is_told else math.inf
        levels.append(
            Level(
                tuple(dict.fromkeys(objective.blocks[k].name for k in chosen)),
                known,
                not known and objective.criterion.has_unit_variance,
                variance,
                independent - share if is_told else 0.0,
                growth,
                count,
                share,
                np.vstack([p.curvature for p in own]),
                np.vstack([p.scatter for p in own]),
            )
        )
    return Freedom(tuple(levels), prior, inverse)


def _levels(objective: Objective) -> list[list[int]]:
    """The blocks of each noise level; an output may be known in some cases and not in others.

    Where inputs have errors only the ratios of all errors are known.
    """
    blocks_of_level: dict[str, list[int]] = {}
    for k, block in enumerate(objective.blocks):
        own = block.level if not isinstance(block.sigma, float) else f"{block.name}, known"
        blocks_of_level.setdefault("" if objective.has_input_errors else own, []).append(k)
    return list(blocks_of_level.values())


def _is_known(block: Block, noise: Mapping[str, Noise], is_told: bool) -> bool:
    """Whether the noise of a block is known beforehand, to a criterion that scores by variances.

    A variance that is held at a bound does not follow the residuals either; where there are none
    left to follow, that bound says nothing.
    """
    own = noise.get(block.name)
    if isinstance(block.sigma, float) or own is None or not own.uncertain:
        return True
    return own.at_bound and is_told


def _behind_filter(
    part: BlockInformation, parts: Sequence[BlockInformation], prior: Vector, inverse: Vector
) -> float:
    """What unknowns take from the residuals of a block where some stand behind a prefilter.

    2 tr H⁻¹M − tr H⁻¹A H⁻¹ΣM with A the curvature and M the scatter of the block, H = ΣA: without
    a filter M = A and it is the trace of the hat matrix, tr H⁻¹A.
    """
    moved = (part.curvature @ inverse).T
    scatters = (*(p.scatter for p in parts), prior)
    every = sum(float(np.sum((F @ moved) ** 2)) for F in scatters)
    return 2 * _trace(part.scatter, inverse) - every


def _trace(factor: Vector, inverse: Vector) -> float:
    """tr FᵀF H⁻¹."""
    return float(np.sum((factor @ inverse) * factor))
