"""Intervals from replicates: percentiles, and percentiles corrected for bias and skewness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.estimate.unknowns import Unknowns

Ends = tuple[float, float]
Widened = Callable[[float, Ends], Ends]
NOTHING = (math.nan, math.nan)
LEVEL = 0.95  # of intervals, as everywhere in reports
FEWEST = 40  # replicates for a 95 % interval: (40 + 1)·0.025, at least one beyond either end


@dataclass(frozen=True)
class ReplicateSummary:
    """What the replicates say of one unknown; NaN where they say nothing.

    That is so where there are too few of them, and where it is at a bound in all of them. What
    the data do not determine has an infinite standard error.
    """

    value: float  # the estimate
    mean: float
    bias: float
    stderr: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    at_bound: float  # share of the replicates
    undetermined: float = 0.0  # share of the replicates whose data do not determine it


def replicate_summary(
    value: float,
    replicates: Vector,
    acceleration: float,
    *,
    truth: float | None = None,
    widened: Widened | None = None,
    at_bound: Flags | None = None,
    undetermined: Flags | None = None,
) -> ReplicateSummary:
    """Bias, standard error and 95 % intervals; `truth` is what the replicates were drawn with.

    `widened` takes into account that they were drawn with a noise level that is itself estimated.
    """
    bound, lost = _share(at_bound), _share(undetermined)
    if undetermined is not None and undetermined.any():
        ends = open_interval(replicates, undetermined)
        return ReplicateSummary(value, math.nan, math.nan, math.inf, ends, NOTHING, bound, lost)
    if len(replicates) < 2 or bound == 1:
        mean = float(replicates.mean()) if len(replicates) else math.nan
        return ReplicateSummary(value, mean, math.nan, math.nan, NOTHING, NOTHING, bound)
    mean = float(replicates.mean())
    wide = widened or _as_they_are
    return ReplicateSummary(
        value,
        mean,
        mean - (value if truth is None else truth),
        float(replicates.std(ddof=1)),
        wide(value, percentile_interval(replicates)),
        wide(value, bca_interval(value, replicates, acceleration)),
        bound,
    )


def widened(unknowns: Unknowns, k: int, freedom: float) -> Widened:
    """Ends as far from the estimate of unknown `k` as t is wider than the normal distribution.

    Replicates scatter as with noise that is known to be what the residuals tell. Their quantiles
    are those of a normal distribution where the model is linear, and should be those of t: for
    eight samples and two unknowns 2.45 instead of 1.96 standard errors. Distances are those of the
    tuner's scale, and ends stay within its bounds.
    """
    from estimica.base.probability.functions import ndtri, stdtrit

    tail = (1 + LEVEL) / 2
    factor = float(stdtrit(freedom, tail) / ndtri(tail)) if 0 < freedom < math.inf else 1.0
    one = Unknowns([unknowns.items[k]])

    def moved(value: float, ends: tuple[float, float]) -> tuple[float, float]:
        centre = one.coordinates(np.array([value]))
        found = []
        for end in ends:
            q = centre + factor * (one.coordinates(np.array([end])) - centre)
            found.append(float(one.values(one.clipped(q))[0]) if math.isfinite(end) else end)
        return found[0], found[1]

    return moved


def _as_they_are(value: float, ends: Ends) -> Ends:
    return ends


def empty_summary(value: float) -> ReplicateSummary:
    """Of replicates that say nothing."""
    return ReplicateSummary(value, math.nan, math.nan, math.nan, NOTHING, NOTHING, 0.0)


def _share(flags: Flags | None) -> float:
    return float(flags.mean()) if flags is not None and len(flags) else 0.0


def open_interval(replicates: Vector, undetermined: Flags) -> tuple[float, float]:
    """The 95 % interval if a replicate that determines nothing may have any value whatever."""
    low, _ = percentile_interval(np.where(undetermined, -np.inf, replicates))
    _, high = percentile_interval(np.where(undetermined, np.inf, replicates))
    return low, high


def percentile_interval(replicates: Vector) -> tuple[float, float]:
    """The 2.5 and 97.5 % quantiles, by the (B + 1)α rule."""
    if len(replicates) < FEWEST:
        return math.nan, math.nan
    tail = (1 - LEVEL) / 2
    low, high = _quantiles(replicates, np.array([tail, 1 - tail]))
    return float(low), float(high)


def _quantiles(replicates: Vector, shares: Vector) -> Vector:
    """Quantiles at (B + 1)·share; between a number and infinity there is only infinity."""
    ordered = np.sort(replicates)
    place = np.clip(shares * (len(ordered) + 1), 1, len(ordered))
    below = np.floor(place).astype(int) - 1
    rest = place - 1 - below
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    finite = np.isfinite(low) & np.isfinite(high)
    width = np.subtract(high, low, out=np.zeros(len(low)), where=finite)
    found: Vector = np.where(finite | (rest == 0) | np.isinf(low), low + rest * width, high)
    return found


def bca_interval(value: float, replicates: Vector, acceleration: float) -> tuple[float, float]:
    """Efron's BCa: quantiles at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z₀ from the share below `value`.

    NaN where all replicates lie on one side of the estimate, or where the ends would lie beyond
    the outermost replicates.
    """
    from estimica.base.probability.functions import ndtr, ndtri

    if len(replicates) < FEWEST:
        return NOTHING
    below = float(np.mean(replicates < value) + 0.5 * np.mean(replicates == value))
    if not 0 < below < 1:
        return NOTHING
    z0 = float(ndtri(below))
    z = z0 + ndtri([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    divisor = 1 - acceleration * z
    if (divisor <= 0).any():
        return NOTHING
    shares = ndtr(z0 + z / divisor)
    outermost = 1 / (len(replicates) + 1)
    if shares[0] < outermost or shares[1] > 1 - outermost:
        return NOTHING
    low, high = _quantiles(replicates, shares)
    return float(low), float(high)


# --- influence -----------------------------------------------------------------------------------
# Influence: how far each sample moves the estimate, from the exact Jacobian.
#
# Leaving sample i out moves the estimate, in one Gauss-Newton step, by H⁻¹ Jᵢᵀρᵢ / (1 − hᵢ) with
# H = JᵀJ and the leverage hᵢ = Jᵢ H⁻¹ Jᵢᵀ: a jackknife without a single new fit.


#: relative size of a singular value that counts as zero: √2.2e-16, since its square is used
SMALL = 1e-8


def accelerations(
    objective: Objective, point: Point, lengths: Sequence[int]
) -> tuple[Vector, dict[str, float]]:
    """BCa's acceleration a = Σ L³ / (6 (Σ L²)^1.5) for each unknown and each estimated variance.

    L are the moves by leaving out a sample, or a stretch of `lengths` samples of its block.
    """
    predictions = objective.predict(point.values)
    assert not isinstance(predictions, Failure), "the estimate was simulated before"
    residuals = objective.residuals(predictions)
    judge = objective.criterion.judge(residuals)
    chosen = objective.criterion if isinstance(judge, str) else judge
    scoring = chosen.score(residuals, objective.sigmas(predictions))
    inverse = _inverse(point.R)
    moves: list[Vector] = []
    squares: dict[str, list[Vector]] = {}
    for k, prediction in enumerate(predictions):
        scored = np.asarray(scoring.scored[k], float)
        if k in scoring.levels:
            slopes = objective.unknowns.slopes(point.q)
            pairs = objective.wide_level_rows(k, prediction, scoring, slopes)
            gradient = sum(rows * rho[:, None] for rows, rho in pairs)
            moves.append(_summed(-gradient @ inverse, lengths[k]))
            continue
        rows = _rows(objective, k, prediction, scoring.multipliers[k], point)
        # chosen: a sample that determines an unknown alone cannot be left out; its move is bounded
        leverage = np.clip(np.einsum("ij,jk,ik->i", rows, inverse, rows), 0.0, 0.99)
        own = -(rows * (scored / (1 - leverage))[:, None]) @ inverse
        moves.append(_summed(own, lengths[k]))
        noise = point.noise.get(objective.blocks[k].name)
        if noise is not None and noise.estimated:
            centred = scored**2 - np.mean(scored**2)
            summed = _summed(centred[:, None], lengths[k])[:, 0]
            squares.setdefault(objective.blocks[k].name, []).append(summed)
    together = np.concatenate(moves) if moves else np.zeros((0, len(point.q)))
    return _acceleration(together), {
        n: float(_acceleration(np.concatenate(v)[:, None])[0]) for n, v in squares.items()
    }


def _rows(
    objective: Objective,
    k: int,
    prediction: Prediction,
    multiplier: float | Vector,
    point: Point,
) -> Vector:
    """The scored Jacobian of one block, in coordinates."""
    owners = [(p, j) for p in objective.predictors for j in range(len(p.record.outputs))]
    predictor, place = owners[k]
    m = np.broadcast_to(np.asarray(multiplier, float), prediction.value.shape)
    transform = objective.blocks[k].measured.transform
    if transform is not None:
        m = m * transform.derivative(prediction.value)
    slopes = objective.unknowns.slopes(point.q)
    rows = np.zeros((len(prediction.value), len(point.q)))
    if objective.blocks[k].filter is not None:
        found, columns = objective.filtered_slopes(k, prediction)
        rows[:, list(columns)] = np.asarray(multiplier, float) * found
        return rows * slopes
    for j, column in enumerate(predictor.columns):
        rows[:, column] = m * prediction.slope[:, j] * slopes[column]
    extra = predictor.extras[place]
    if extra is not None:
        rows[:, extra] = m * slopes[extra]
    return rows


def _inverse(R: Vector) -> Vector:
    """(RᵀR)⁻¹ where the data determine something, zero elsewhere."""
    norms = np.linalg.norm(R, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    half = np.linalg.pinv(R / scale, rcond=SMALL) / scale[:, None]
    inverse: Vector = half @ half.T
    return inverse


def _summed(moves: Vector, length: int) -> Vector:
    """Moves of stretches of samples."""
    if length <= 1 or not len(moves):
        return moves
    return np.add.reduceat(moves, np.arange(0, len(moves), length), axis=0)


def _acceleration(moves: Vector) -> Vector:
    centred = moves - moves.mean(axis=0) if len(moves) else moves
    square = np.sum(centred**2, axis=0)
    safe = np.where(square > 0, square, 1.0)
    found: Vector = np.where(square > 0, np.sum(centred**3, axis=0) / (6 * safe**1.5), 0.0)
    return found
