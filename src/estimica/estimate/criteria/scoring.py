"""Criterion: scores the residuals of all outputs, and says how they enter a Gauss-Newton step.

What still needs scales is a CriterionSpecification, which cannot score.

Residuals are simulated − measured. With multipliers m and scored residuals ρ the gradient of the
cost is 2 Jᵀ(m ρ) and its Gauss-Newton Hessian 2 Jᵀ m² J, J the derivatives of the residuals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.trusted import TrustedCode
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.loss import BENDS, Kind, Loss, Robust, spread
from estimica.estimate.criteria.roughness import Shape
from estimica.study.case import Sigma
from estimica.study.estimation import LIKELIHOODS, Estimation

if TYPE_CHECKING:
    pass

#: least standard deviation that `ml` believes, relative to how much the signal varies. Data without
#: noise have a likelihood without end otherwise; numbers of six digits scatter by more already
QUIET = 1e-6


@dataclass(frozen=True)
class Noise:
    """The noise of one output: its variance, whether it was estimated, and whether at a bound.

    Where single samples have their own it is the mean. `shared` is the name of a level that other
    outputs have too, and `formula` the one that gives it: its tuners are unknowns like others.
    """

    variance: float
    estimated: bool
    at_bound: bool = False
    shared: str = ""
    formula: str = ""

    @property
    def uncertain(self) -> bool:
        """Whether the data have told it, beside the unknowns or through tuners of a formula."""
        return self.estimated or bool(self.formula)


@dataclass(frozen=True, eq=False)
class LevelRows:
    """How log σ of a block enters a step, L its derivatives: rows `share` L with ρ = `scored`.

    `mixed` L adds to the rows of the residuals: what a censored sample tells of the mean it tells
    of σ too.
    """

    scored: Vector
    share: Vector
    mixed: Vector


@dataclass(frozen=True, eq=False)
class Scoring:
    """Cost, and for each block the scored residuals and their multiplier."""

    cost: float
    scored: Sequence[Vector]
    multipliers: Sequence[float | Vector]
    noise: Mapping[str, Noise] = field(default_factory=dict)
    #: by the number of its block, where σ moves with the unknowns
    levels: Mapping[int, LevelRows] = field(default_factory=dict)


#: by output, the spread of its weighted residuals that a robust criterion goes by; none for others
Scales = Mapping[str, float]
#: σ of each block at its samples, where a formula gives it
Sigmas = Sequence[Vector | None]


class Criterion(ABC):
    """How disagreement is scored; it has everything that it needs for that."""

    name: str
    #: whether scored residuals have variance one at the optimum
    has_unit_variance: ClassVar[bool] = False
    may_be_rough: ClassVar[bool] = False  # whether it may have kinks or steps
    has_only_residuals: ClassVar[bool] = True  # whether nothing but residuals has to be small
    is_alike: ClassVar[bool] = False  # whether it treats all samples of a block alike

    @abstractmethod
    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks; `sigmas` where formulas give them."""

    @abstractmethod
    def of(self, blocks: Sequence[Block]) -> Criterion:
        """The same criterion for other blocks, in the same order."""

    @property
    def counts_squares(self) -> bool:
        """Whether residuals count by their squares, so that each output has one mean of them."""
        return False

    @property
    def scales(self) -> Scales:
        """The scales that it was made with."""
        return {}

    def shape(self, residuals: Sequence[Vector]) -> Shape:
        """How it looks to a search at these residuals."""
        return Shape.SMOOTH

    def judge(self, residuals: Sequence[Vector]) -> Criterion | str:
        """The criterion that accuracy is judged by at these residuals, or why there is none.

        Its curvature is that of the expected cost, which kinks have as well.
        """
        return self


@dataclass(frozen=True, eq=False)
class CriterionSpecification(ABC):
    """A robust criterion before its scales are known: `scaled` makes the criterion that scores.

    Scales follow from residuals, or are those of a point that was found with them. This type has
    no way to score: a cost without scales, or with those of another point, cannot come about.
    """

    name: ClassVar[str]
    blocks: tuple[Block, ...]
    kind: Kind

    @abstractmethod
    def scaled(self, scales: Scales) -> Criterion:
        """The criterion with these scales, one for each of `open_outputs`."""

    def of(self, blocks: Sequence[Block]) -> CriterionSpecification:
        """The same criterion for other blocks."""
        return replace(self, blocks=tuple(blocks))

    @property
    def open_outputs(self) -> tuple[str, ...]:
        """The outputs that need a scale: a noise level of theirs is not known."""
        names = (b.name for b in self.blocks if not isinstance(b.sigma, float))
        return tuple(dict.fromkeys(names))

    def scales_of(self, residuals: Sequence[Vector]) -> Scales:
        """A robust standard deviation of weighted residuals, common to the cases of one output."""
        by_name: dict[str, list[Vector]] = {}
        for b, v in zip(self.blocks, residuals, strict=True):
            by_name.setdefault(b.name, []).append(b.scaling * v)
        return {n: spread(np.concatenate(by_name[n])) for n in self.open_outputs}


@dataclass(frozen=True, eq=False)
class OutputError(Criterion):
    """Σ w²(simulated − measured)², or the sum of a robust loss of w(simulated − measured)."""

    blocks: tuple[Block, ...]
    losses: tuple[Loss, ...] = ()  # one for each block; none: squares
    taken: Scales = field(default_factory=dict)  # what their bends were taken from
    name: str = "oe"
    is_alike: ClassVar[bool] = True

    @property
    def counts_squares(self) -> bool:
        """Whether there is no robust loss."""
        return not self.losses

    @property
    def scales(self) -> Scales:
        """The spread of each output, where the losses follow it."""
        return self.taken

    def of(self, blocks: Sequence[Block]) -> Criterion:
        """The same criterion for other blocks."""
        return replace(self, blocks=tuple(blocks))

    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks."""
        weights = [b.scaling for b in self.blocks]
        weighted = [w * v for w, v in zip(weights, residuals, strict=True)]
        if not self.losses:
            return Scoring(sum(float(r @ r) for r in weighted), weighted, weights)
        return _with_losses(weighted, weights, self.losses)


@dataclass(frozen=True, eq=False)
class MaximumLikelihood(Criterion):
    """Σ [v²/r + log r] over all samples, r the variance of each output, shared by its cases.

    Samples with a σ of their own have v over it in place of v, and outputs may share one r.

    A variance that is not known is the best one for the residuals at hand, r = Σv²/N, within its
    bounds: it is concentrated out.
    """

    blocks: tuple[Block, ...]
    name: str = "ml"
    has_unit_variance: ClassVar[bool] = True

    @property
    def counts_squares(self) -> bool:
        """They do."""
        return True

    def of(self, blocks: Sequence[Block]) -> Criterion:
        """The same criterion for other blocks."""
        return replace(self, blocks=tuple(blocks))

    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks."""
        weighted = [b.scaling * v for b, v in zip(self.blocks, residuals, strict=True)]
        squares = [float(v @ v) for v in weighted]
        noise = self._noise(squares)
        cost = 0.0
        multipliers: list[float | Vector] = []
        for block, square in zip(self.blocks, squares, strict=True):
            # known in one case, it may be estimated in another
            r = block.sigma**2 if isinstance(block.sigma, float) else noise[block.name].variance
            n = block.count
            # the weight stands for 1/unit: without it the variance would be in weighted units
            cost += square / r + n * np.log(r) + block.log_relative
            multipliers.append(block.scaling / np.sqrt(r))
        scored = [m * v for m, v in zip(multipliers, residuals, strict=True)]
        return Scoring(cost, scored, multipliers, noise)

    def _noise(self, squares: Sequence[float]) -> dict[str, Noise]:
        noise = {}
        for b in self.blocks:
            if isinstance(b.sigma, float):
                noise[b.name] = Noise(b.sigma**2 * b.mean_relative, False)
        free = [k for k, b in enumerate(self.blocks) if not isinstance(b.sigma, float)]
        for level in dict.fromkeys(self.blocks[k].level for k in free):
            own = [k for k in free if self.blocks[k].level == level]
            r = sum(squares[k] for k in own) / sum(self.blocks[k].count for k in own)
            members = [self.blocks[k] for k in own]
            low, high = variance_bounds(members, [b.measured.variation for b in members])
            held = float(min(max(r, low), high))
            for name in dict.fromkeys(self.blocks[k].name for k in own):
                noise[name] = Noise(held, True, held != r, "" if level == name else level)
        return {name: noise[name] for name in dict.fromkeys(b.name for b in self.blocks)}


@dataclass(frozen=True, eq=False)
class RobustLikelihood(Criterion):
    """Σ [φ(v/σ) + log σ²] with a robust φ and held σ, one for each block."""

    blocks: tuple[Block, ...]
    kind: Kind
    bend: float
    sigmas: tuple[float, ...]
    taken: Scales  # what the sigmas that are not known were taken from
    name: str = "ml"
    is_alike: ClassVar[bool] = True

    def of(self, blocks: Sequence[Block]) -> Criterion:
        """The same criterion for other blocks."""
        return replace(self, blocks=tuple(blocks))

    def score(self, residuals: Sequence[Vector], sigmas: Sigmas = ()) -> Scoring:
        """Score the residuals of all blocks."""
        multipliers = [b.scaling / s for b, s in zip(self.blocks, self.sigmas, strict=True)]
        weighted = [m * v for m, v in zip(multipliers, residuals, strict=True)]
        losses = (Robust(self.kind, self.bend),) * len(self.blocks)
        scoring = _with_losses(weighted, multipliers, losses)
        extra = sum(
            2 * len(b.measured.value) * float(np.log(s)) + b.log_relative
            for b, s in zip(self.blocks, self.sigmas, strict=True)
        )
        noise = {
            b.name: Noise(s**2, not isinstance(b.sigma, float))
            for b, s in zip(self.blocks, self.sigmas, strict=True)
        }
        return replace(scoring, cost=scoring.cost + extra, noise=noise)

    @property
    def scales(self) -> Scales:
        """The spread of each output."""
        return self.taken


@dataclass(frozen=True, eq=False)
class LikelihoodSpecification(CriterionSpecification):
    """The robust likelihood before its σ are known."""

    bend: float
    name: ClassVar[str] = "ml"

    def scaled(self, scales: Scales) -> Criterion:
        """With σ from the scales, where it is not known, within its bounds."""
        sigmas = (_allowed(b, scales) for b in self.blocks)
        return RobustLikelihood(self.blocks, self.kind, self.bend, tuple(sigmas), dict(scales))


@dataclass(frozen=True, eq=False)
class OutputErrorSpecification(CriterionSpecification):
    """A robust output error before it is known where its loss bends."""

    name: ClassVar[str] = "oe"

    def scaled(self, scales: Scales) -> Criterion:
        """With a bend that follows the spread of the weighted residuals, or their known σ."""
        bend = BENDS[self.kind]
        # the weight holds 1/σ already
        sigmas = (
            b.weight * b.sigma if isinstance(b.sigma, float) else scales[b.name]
            for b in self.blocks
        )
        losses = tuple(Robust(self.kind, bend * s) for s in sigmas)
        return OutputError(self.blocks, losses, taken=dict(scales))


def criterion_of(
    estimation: Estimation,
    blocks: Sequence[Block],
    code_for: Callable[[str], TrustedCode] | None = None,
) -> Criterion | CriterionSpecification:
    """The criterion that a study asks for; `code_for` gives the code of its Python files."""
    blocks = tuple(blocks)
    kind, scale = estimation.loss, estimation.loss_scale
    if estimation.criterion == "oe":
        if kind == "squared":
            return OutputError(blocks)
        if scale is None:
            return _ready_if_known(OutputErrorSpecification(blocks, kind))
        return OutputError(blocks, (Robust(kind, scale),) * len(blocks))
    if estimation.criterion in LIKELIHOODS:
        if kind == "squared":
            found = _likelihood(blocks)
            return replace(found, name=estimation.criterion)
        return _ready_if_known(LikelihoodSpecification(blocks, kind, scale or BENDS[kind]))
    from estimica.estimate.criteria.custom import custom_criterion

    return custom_criterion(estimation.criterion, blocks, code_for)


def _likelihood(blocks: tuple[Block, ...]) -> MaximumLikelihood:
    """Of normal noise with one level for each output, or of what the study says of the noise."""
    from estimica.estimate.criteria.noise_likelihood import KinkedLikelihood, NoiseLikelihood

    if not any(b.measured.is_modelled for b in blocks):
        return MaximumLikelihood(blocks)
    kinked = any(b.measured.distribution == "laplace" for b in blocks)
    return KinkedLikelihood(blocks) if kinked else NoiseLikelihood(blocks)


def _ready_if_known(criterion: CriterionSpecification) -> Criterion | CriterionSpecification:
    """With all noise levels given there are no scales to be found."""
    return criterion if criterion.open_outputs else criterion.scaled({})


def estimated_levels(noise: Mapping[str, Noise]) -> int:
    """How many noise levels were estimated beside the unknowns; a shared one counts once."""
    return len({n.shared or name for name, n in noise.items() if n.estimated})


def _with_losses(
    weighted: Sequence[Vector], multipliers: Sequence[float | Vector], losses: Sequence[Loss]
) -> Scoring:
    cost = 0.0
    scored, factors = [], []
    for r, m, loss in zip(weighted, multipliers, losses, strict=True):
        terms = loss.score(r)
        cost += terms.cost
        root = np.sqrt(terms.curvature / 2)
        scored.append(terms.slope / (2 * root))
        factors.append(m * root)
    return Scoring(cost, scored, factors)


def _allowed(block: Block, scales: Scales) -> float:
    """The noise level of a block: known, or the spread of its output within its bounds."""
    if isinstance(block.sigma, float):
        return block.sigma
    sigma = scales[block.name]
    if isinstance(block.sigma, Sigma):
        return min(max(sigma, block.sigma.min), block.sigma.max)
    return sigma


Level = TypeVar("Level", float, Vector)


def variance_bounds(blocks: Sequence[Block], variation: Sequence[Level]) -> tuple[Level, Level]:
    """Between which values the variance of a noise level may lie.

    `variation` is how much the signal of each block varies: a number, or one for each of many sets
    of data.
    """
    pairs = zip(blocks, variation, strict=True)
    low: Any = np.max([(QUIET * b.weight * v) ** 2 for b, v in pairs], axis=0)
    high = np.inf
    for b in blocks:
        if isinstance(b.sigma, Sigma):
            low, high = np.maximum(low, b.sigma.min**2), min(high, b.sigma.max**2)
    return low, np.maximum(low, high)
