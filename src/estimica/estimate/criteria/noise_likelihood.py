"""NoiseLikelihood: the likelihood of noise that the study describes sample by sample.

Gradient and information of a sample are in two directions, the mean and log σ, of which the first
moves with the simulated output and the second with the formula of sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.probability.functions import log_ndtr, ndtr
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.roughness import Shape
from estimica.estimate.criteria.scoring import LevelRows, MaximumLikelihood, Noise, Scoring, Sigmas
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput

LOG_2PI = math.log(2 * math.pi)
#: least information of a sample that was seen although the model holds it to be censored almost
#: surely: there the expected one tends to zero while its score does not, and a step would have no
#: end; at the optimum that is one sample in a hundred at most
SEEN = 0.05
#: least information of any sample, so that it has a square root: its score is as small
LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class NoiseLikelihood(MaximumLikelihood):
    """−2 log likelihood, less N log 2π, with formulas of sigma, detection limits and other laws.

    Outputs without any of them have normal noise of one level, as with `MaximumLikelihood`.
    """

    has_only_residuals: ClassVar[bool] = False

    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks; `sigmas` where formulas give them."""
        given = sigmas or [None] * len(self.blocks)
        plain = [k for k, b in enumerate(self.blocks) if not b.measured.is_modelled]
        usual = MaximumLikelihood(tuple(self.blocks[k] for k in plain))
        rest = usual.score([residuals[k] for k in plain])
        cost, noise = rest.cost, dict(rest.noise)
        scored: dict[int, Vector] = dict(zip(plain, rest.scored, strict=True))
        multipliers: dict[int, float | Vector] = dict(zip(plain, rest.multipliers, strict=True))
        levels: dict[int, LevelRows] = {}
        for k, (block, v) in enumerate(zip(self.blocks, residuals, strict=True)):
            if k in multipliers:
                continue
            sigma = _sigma(block, given[k])
            law = LAWS[block.measured.distribution]
            terms = law(block.weight * v, sigma, residual_limits(block, v))
            cost += float(terms.cost.sum())
            scored[k], multipliers[k], rows = _rows(terms, block.weight / sigma)
            if given[k] is not None:
                levels[k] = rows
            else:
                scored[k] = terms.by_mean / np.sqrt(terms.mean)
        for name, level in self._mean_levels(given).items():
            noise[name] = level
        every = range(len(self.blocks))
        ordered = {b.name: noise[b.name] for b in self.blocks}
        return Scoring(
            cost, [scored[k] for k in every], [multipliers[k] for k in every], ordered, levels
        )

    def _mean_levels(self, given: Sigmas) -> dict[str, Noise]:
        """The mean variance of every output whose noise is described."""
        squares: dict[str, list[Vector]] = {}
        texts: dict[str, str] = {}
        for block, sigmas in zip(self.blocks, given, strict=True):
            if block.measured.is_modelled:
                squares.setdefault(block.name, []).append(_sigma(block, sigmas) ** 2)
                if isinstance(block.sigma, SigmaFormula):
                    texts[block.name] = block.sigma.text
        return {
            name: Noise(float(np.mean(np.concatenate(own))), False, formula=texts.get(name, ""))
            for name, own in squares.items()
        }


@dataclass(frozen=True, eq=False)
class KinkedLikelihood(NoiseLikelihood):
    """The same where the noise of an output is Laplacian: a residual of zero is a kink."""

    may_be_rough: ClassVar[bool] = True

    def shape(self, residuals: Sequence[Vector]) -> Shape:
        """How it looks to a search."""
        return Shape.KINKED


def _sigma(block: Block, given: Vector | None) -> Vector:
    if given is not None:
        return given
    assert isinstance(block.sigma, float), "a level that is not known has a formula"
    relative = block.measured.relative
    return block.sigma * (np.ones(len(block.measured.value)) if relative is None else relative)


def _rows(terms: Terms, unit: Vector) -> tuple[Vector, Vector, LevelRows]:
    """(ρ, multiplier, rows of σ): the triangular factor of the information of every sample."""
    first = np.sqrt(terms.mean)
    mixed = terms.both / first
    share = np.sqrt(np.maximum(terms.level - mixed**2, np.finfo(float).tiny))
    scored = terms.by_mean / first
    return scored, first * unit, LevelRows((terms.by_level - mixed * scored) / share, share, mixed)


def residual_limits(block: Block, v: Vector) -> ResidualLimits | None:
    """The limits less the simulated value, both as they are compared."""
    m = block.measured
    if m.limits is None:
        return None
    simulated = v + _compared(m, m.value)
    low, high = (
        block.weight * (np.where(np.isfinite(x), _compared(m, x), x) - simulated)
        for x in (m.limits.low, m.limits.high)
    )
    return ResidualLimits(low, high, m.limits.below(m.value), m.limits.above(m.value))


def _compared(m: MeasuredOutput, value: Vector) -> Vector:
    with np.errstate(all="ignore"):
        return value if m.transform is None else m.transform.value(value)


# --- Noise law: −2 log of the density of one residual, with its score and its expected information.
#
# All of it is in two directions: how the mean moves, in units of σ, and how log σ does.
# Residuals v are simulated − measured. The information is the expected one of a sample before
# it is known whether it is censored.


@dataclass(frozen=True, eq=False)
class Terms:
    """Of each sample: −2 log density without log 2π, half its gradient, half its mean Hessian."""

    cost: Vector
    by_mean: Vector
    by_level: Vector
    mean: Vector  # information of the mean
    both: Vector  # of the mean and log σ
    level: Vector  # of log σ


@dataclass(frozen=True, eq=False)
class ResidualLimits:
    """Detection limits less the simulated value, and which samples are beyond them."""

    low: Vector
    high: Vector
    below: Flags
    above: Flags


def normal(v: Vector, sigma: Vector, reach: ResidualLimits | None) -> Terms:
    """Gaussian noise; a censored sample counts by the probability to lie beyond its limit."""
    z = v / sigma
    cost, by_mean, by_level = z**2 + 2 * np.log(sigma), z, 1 - z**2
    one = np.ones_like(z)
    if reach is None:
        return Terms(cost, by_mean, by_level, one, 0 * one, 2 * one)
    for beyond, limit, side in ((reach.below, reach.low, 1.0), (reach.above, reach.high, -1.0)):
        u = side * np.where(beyond, limit, 0.0) / sigma
        tail = log_ndtr(u)
        mills = np.exp(-(u**2) / 2 - LOG_2PI / 2 - tail)
        cost = np.where(beyond, -2 * tail - LOG_2PI, cost)  # log 2π is added for all alike
        by_mean = np.where(beyond, side * mills, by_mean)
        by_level = np.where(beyond, mills * u, by_level)
    mean, both, level = _expected(reach.low / sigma, reach.high / sigma)
    seen = ~(reach.below | reach.above)
    mean = np.where(seen, np.maximum(mean, SEEN), mean)
    level = np.where(seen, np.maximum(level, SEEN), level)
    return Terms(cost, by_mean, by_level, mean, both, level)


def laplace(v: Vector, sigma: Vector, reach: ResidualLimits | None) -> Terms:
    """Noise with the density exp(−|v|/b)/(2b), b = σ/√2."""
    assert reach is None, "detection limits need normal noise"
    b = sigma / math.sqrt(2)
    share = np.abs(v) / b
    one = np.ones_like(v)
    # −2 log density less log 2π, which is added for all laws alike
    cost = 2 * share + 2 * np.log(2 * b) - LOG_2PI
    return Terms(cost, math.sqrt(2) * np.sign(v), 1 - share, 2 * one, 0 * one, one)


LAWS: Mapping[str, Callable[[Vector, Vector, ResidualLimits | None], Terms]] = {
    "normal": normal,
    "laplace": laplace,
}


def _expected(c: Vector, d: Vector) -> tuple[Vector, Vector, Vector]:
    """E[s sᵀ] of the score s in the mean and log σ, seen between c and d in units of σ."""
    low, high = np.isfinite(c), np.isfinite(d)
    c, d = np.where(low, c, 0.0), np.where(high, d, 0.0)
    at_c = np.where(low, np.exp(-(c**2) / 2 - LOG_2PI / 2), 0.0)
    at_d = np.where(high, np.exp(-(d**2) / 2 - LOG_2PI / 2), 0.0)
    under = np.where(low, np.exp(-(c**2) - LOG_2PI - log_ndtr(c)), 0.0)  # φ²/Φ
    over = np.where(high, np.exp(-(d**2) - LOG_2PI - log_ndtr(-d)), 0.0)
    inside = 1.0 - np.where(low, ndtr(c), 0.0) - np.where(high, ndtr(-d), 0.0)
    mean = inside + c * at_c - d * at_d + under + over
    both = (c**2 + 1) * at_c - (d**2 + 1) * at_d + c * under + d * over
    level = 2 * inside + (c**3 + c) * at_c - (d**3 + d) * at_d + c**2 * under + d**2 * over
    mean = np.maximum(mean, LEAST)
    # what is left of a positive definite matrix by rounding
    level = np.maximum(level, both**2 / mean * (1 + 1e-12) + LEAST)
    return mean, both, level
