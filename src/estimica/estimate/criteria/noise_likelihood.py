"""NoiseLikelihood: the likelihood of noise that the study describes sample by sample.

Gradient and information of a sample are in two directions, the mean and log σ, of which the first
moves with the simulated output and the second with the formula of sigma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.noise_law import LAWS, ResidualLimits, Terms
from estimica.estimate.criteria.roughness import Shape
from estimica.estimate.criteria.scoring import (
    Block,
    LevelRows,
    MaximumLikelihood,
    Noise,
    Scoring,
    Sigmas,
)
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput


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
