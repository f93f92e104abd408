"""Noise of a bootstrap: residuals drawn at random, Gaussian or from those of the fit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.scoring import Noise
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.infer.covariance.block_length import block_length
from estimica.infer.refit import FitContext, noise_freedom_at
from estimica.study.noise.process import PREDICTION
from estimica.study.record.transform import Transform

if TYPE_CHECKING:
    from estimica.estimate.objective.filter_predictor import FilterPredictor

Kind = Literal["parametric", "residual", "block"]
KINDS = ("parametric", "residual", "block")


class NoiseSource(ABC):
    """Draws residuals (simulated − measured) for every output of every case."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> list[Vector]:
        """One set of residuals, as they are compared: transformed where the study says so."""


@dataclass(frozen=True, eq=False)
class Gaussian(NoiseSource):
    """White noise of a given standard deviation, one for all samples or each its own.

    It is normal, or Laplacian where the study says so.
    """

    sigmas: tuple[float | Vector, ...]
    counts: tuple[int, ...]
    laws: tuple[str, ...]

    def draw(self, rng: np.random.Generator) -> list[Vector]:
        """One set of residuals."""
        return [
            s * (rng.laplace(0.0, np.sqrt(0.5), n) if law == "laplace" else rng.standard_normal(n))
            for s, n, law in zip(self.sigmas, self.counts, self.laws, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class ResidualNoise(NoiseSource):
    """Residuals of the fit, each drawn on its own, within its output and case.

    They are divided by the σ of their sample, if it has its own, and multiplied by that of the
    sample they come to.
    """

    residuals: tuple[Vector, ...]
    sigmas: tuple[float | Vector, ...]

    def draw(self, rng: np.random.Generator) -> list[Vector]:
        """One set of residuals."""
        pairs = zip(self.sigmas, self.residuals, strict=True)
        return [s * v[rng.integers(len(v), size=len(v))] for s, v in pairs]


@dataclass(frozen=True, eq=False)
class Blocks(NoiseSource):
    """Stretches of residuals in their order, so that what neighbours have in common stays.

    Stretches run on over the end to the beginning, so that every sample counts alike. Outputs of
    one case with the same stamps are cut at the same places.
    """

    residuals: tuple[Vector, ...]
    sigmas: tuple[float | Vector, ...]
    lengths: tuple[int, ...]
    together: tuple[int, ...]  # for each block the first one that it is cut with

    def draw(self, rng: np.random.Generator) -> list[Vector]:
        """One set of residuals."""
        places: dict[int, Indices] = {}
        residuals = []
        for k, v in enumerate(self.residuals):
            first = self.together[k]
            if first not in places:
                places[first] = _stretches(rng, len(v), self.lengths[first])
            residuals.append(self.sigmas[k] * v[places[first]])
        return residuals


@dataclass(frozen=True, eq=False)
class Resampler:
    """Measured values as the model at the estimate might have given them."""

    blocks: tuple[Block, ...]
    predictions: tuple[Prediction, ...]
    source: NoiseSource

    def measured(self, seed: np.random.SeedSequence) -> list[Vector]:
        """One set of measured values, an array for each block."""
        values = []
        drawn = self.source.draw(np.random.default_rng(seed))
        for block, p, v in zip(self.blocks, self.predictions, drawn, strict=True):
            transform = block.measured.transform
            if transform is None:
                values.append(p.value - v)
            else:
                values.append(inverse(transform, transform.value(p.value) - v, p.value))
        return values


@dataclass(frozen=True, eq=False)
class FilteredResampler(Resampler):
    """Measured values of a model with noise in its states, in innovation form.

    Each value is what the filter predicts from those drawn before it and an innovation of the
    variance that it expects (Stoffer and Wall, JASA 86, 1991): noise in the states and of measuring
    is in it as the model has them.
    """

    predictors: tuple[FilterPredictor, ...]
    values: Vector

    def measured(self, seed: np.random.SeedSequence) -> list[Vector]:
        """One set of measured values, an array for each block."""
        rng = np.random.default_rng(seed)
        return [v for p in self.predictors for v in p.drawn(self.values, rng)]


def _filtered(objective: Objective, kind: str) -> tuple[FilterPredictor, ...]:
    """The filters of a prediction, whose values follow from one another; of others none."""
    if objective.criterion.name != PREDICTION:
        return ()
    if kind != "parametric":
        raise InferError(
            "I412",
            f"residuals of criterion 'prediction' belong to the filter that made them: kind "
            f"'{kind}' cannot put them elsewhere; use kind 'parametric'",
        )
    from estimica.estimate.objective.filter_predictor import FilterPredictor

    return tuple(p for p in objective.predictors if isinstance(p, FilterPredictor))


def require_kind(kind: str) -> None:
    """Refuse a kind that does not exist."""
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"; there are {', '.join(KINDS)}"
        raise InferError("I403", f"there is no bootstrap of kind '{kind}'{hint}")


def resampler(place: FitContext, kind: str, length: int | None) -> Resampler:
    """The source of replicates at the estimate of a `place`; `length` is that of blocks, if given.

    Residuals of a fit are smaller than the noise was, since unknowns follow it: squares of
    estimated noise are multiplied by N/(N − p), N the samples of an output and p its share of the
    unknowns.
    """
    objective, q = place.objective, place.q
    point = objective.at(q)
    predictions = objective.predict(objective.unknowns.values(q))
    if isinstance(point, Failure) or isinstance(predictions, Failure):
        failure = point if isinstance(point, Failure) else predictions
        assert isinstance(failure, Failure)
        raise InferError(
            "I404",
            f"case '{failure.case}' cannot be simulated at the estimate: {failure.message}",
        )
    residuals = objective.residuals(predictions)
    growth = _growths(place, point)
    levels = objective.sigmas(predictions)
    own = [b.own_sigmas(s) for b, s in zip(objective.blocks, levels, strict=True)]
    source: NoiseSource
    filters = _filtered(objective, kind)
    if kind == "parametric":
        sigmas = _sigmas(objective, noise_variances(objective, point, residuals), own, growth)
        laws = tuple(b.measured.distribution for b in objective.blocks)
        source = Gaussian(sigmas, tuple(len(v) for v in residuals), laws)
    else:
        _require_seen(objective, kind)
        # of the errors before a prefilter: what is drawn is measured anew and filtered then
        each = tuple(1.0 if s is None else s for s in own)
        plain = [v / s for v, s in zip(objective.errors(predictions), each, strict=True)]
        centred = tuple(g * (v - v.mean()) for g, v in zip(growth, plain, strict=True))
        if kind == "residual":
            source = ResidualNoise(centred, each)
        else:
            source = _blocks(objective, centred, each, length)
    if filters:
        return FilteredResampler(
            objective.blocks, tuple(predictions), source, filters, point.values
        )
    return Resampler(objective.blocks, tuple(predictions), source)


def _sigmas(
    objective: Objective,
    variances: Mapping[str, Noise],
    own: Sequence[Vector | None],
    growth: Sequence[float],
) -> tuple[float | Vector, ...]:
    """The standard deviation to draw with, grown where the residuals have told it."""
    sigmas: list[float | Vector] = []
    for block, sigma, grown in zip(objective.blocks, own, growth, strict=True):
        noise = variances[block.name]
        told = grown if noise.uncertain else 1.0
        sigmas.append(
            told * (float(np.sqrt(noise.variance) / block.weight) if sigma is None else sigma)
        )
    return tuple(sigmas)


def _require_seen(objective: Objective, kind: str) -> None:
    """Residuals of censored samples are not what the noise was."""
    for block in objective.blocks:
        if block.measured.censored.any():
            raise InferError(
                "I411",
                f"output '{block.name}' of case '{block.case}' has samples beyond detection "
                f"limits, whose residuals are not known: kind '{kind}' cannot draw from them; use "
                "kind 'parametric'",
            )


def _growths(place: FitContext, point: Point) -> list[float]:
    """For each block √(N/(N − p)) of its output; 1 where nothing would be left."""
    growths = dict.fromkeys((b.name for b in place.objective.blocks), 1.0)
    for level in noise_freedom_at(place, point).levels:
        # residuals that are drawn are those of the fit, whatever is known of their size
        left = level.count - level.share
        growth = level.growth if not level.known else level.count / left if left > 0 else 1.0
        if math.isfinite(growth):
            growths |= dict.fromkeys(level.outputs, math.sqrt(growth))
    return [growths[b.name] for b in place.objective.blocks]


def noise_variances(
    objective: Objective, point: Point, residuals: Sequence[Vector]
) -> dict[str, Noise]:
    """The noise of each output in weighted units: known, estimated by `ml`, or a mean square.

    With a robust loss it is the square of its scale, which outliers do not move.
    """
    variances: dict[str, Noise] = {}
    if objective.has_input_errors and not all(isinstance(b.sigma, float) for b in objective.blocks):
        # only ratios of the errors are known: one factor for all of them
        pairs = zip(objective.blocks, residuals, strict=True)
        square = sum(float(np.sum((b.scaling * r) ** 2)) for b, r in pairs) / objective.n_samples
        return {b.name: Noise(square, True) for b in objective.blocks}
    for name in dict.fromkeys(b.name for b in objective.blocks):
        own = [k for k, b in enumerate(objective.blocks) if b.name == name]
        first = objective.blocks[own[0]]
        if name in point.noise:
            variances[name] = point.noise[name]
        elif isinstance(first.sigma, float):
            variances[name] = Noise((first.sigma * first.weight) ** 2 * first.mean_relative, False)
        elif name in objective.criterion.scales:  # outliers are not part of the noise
            variances[name] = Noise(objective.criterion.scales[name] ** 2, True)
        else:
            total = sum(
                float(np.sum((objective.blocks[k].scaling * residuals[k]) ** 2)) for k in own
            )
            count = sum(objective.blocks[k].count for k in own)
            variances[name] = Noise(total / max(count, 1), True)
    return variances


def lengths_of(source: NoiseSource, blocks: Sequence[Block]) -> Mapping[tuple[str, str], int]:
    """Block lengths by case and output; empty for other kinds."""
    if not isinstance(source, Blocks):
        return {}
    return {(b.case, b.name): source.lengths[source.together[k]] for k, b in enumerate(blocks)}


def _blocks(
    objective: Objective,
    residuals: Sequence[Vector],
    sigmas: tuple[float | Vector, ...],
    length: int | None,
) -> Blocks:
    together: list[int] = []
    for k, b in enumerate(objective.blocks):
        alike = [
            j
            for j, other in enumerate(objective.blocks[:k])
            if other.case == b.case and np.array_equal(other.measured.time, b.measured.time)
        ]
        together.append(together[alike[0]] if alike else k)
    lengths = []
    for k in range(len(residuals)):
        group = [j for j, first in enumerate(together) if first == together[k]]
        chosen = length or max(block_length(residuals[j]) for j in group)
        lengths.append(min(chosen, max(len(residuals[k]), 1)))
    return Blocks(tuple(residuals), sigmas, tuple(lengths), tuple(together))


def _stretches(rng: np.random.Generator, n: int, length: int) -> Indices:
    """Indices of `n` samples in stretches of `length` that begin anywhere."""
    begins = rng.integers(n, size=-(-n // length))
    found: Indices = (begins[:, None] + np.arange(length)).ravel()[:n] % n
    return found


# --- inversion -----------------------------------------------------------------------------------
# Inversion: the output whose transform has a given value.


STEPS = 100  # chosen: a guard; near the end Newton's steps double their digits
HALVINGS = 40  # 2⁻⁴⁰ is 1e-12: a step that is still worse then goes the wrong way
ACCURACY = 1e-12  # relative: rounding of a transform of a few operations, with a wide margin


def inverse(transform: Transform, target: Vector, near: Vector) -> Vector:
    """y with transform(y) = target, by Newton steps from `near` that stay where it is defined."""
    y = near.copy()
    with np.errstate(all="ignore"):
        missed = transform.value(y) - target
        for _ in range(STEPS):
            open_ = np.abs(missed) > ACCURACY * np.maximum(1.0, np.abs(target))
            if not open_.any():
                return y
            step = np.where(open_, missed / transform.derivative(y), 0.0)
            worse = open_
            for _ in range(HALVINGS):
                tried = transform.value(y - step) - target
                worse = ~(np.abs(tried) < np.abs(missed)) & open_
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
            if worse.any():
                break  # there is no such output
            y = y - step
            missed = transform.value(y) - target
    # chosen: above ACCURACY, which rounding may keep out of reach; far below any noise
    bad = target[~(np.abs(missed) <= 1e-9 * np.maximum(1.0, np.abs(target)))]
    if len(bad):
        raise InferError(
            "I402",
            f"transform '{transform.text}' never takes the value {bad[0]:g} that the noise asks "
            "for; noise of that size does not fit this transform",
        )
    return y
