"""Objective: the cost of a study as a function of its unknowns, with what a step needs to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from estimica.estimate.criterion import Criterion, Noise, Scales, Scoring, Unscaled
from estimica.estimate.disagreement import Disagreement
from estimica.estimate.prediction import Failure, Prediction

Vector = npt.NDArray[np.float64]
#: numbers of the Jacobian that are reduced at a time: the whole of it is never held; so few that
#: they stay in the processor's cache and that the linear algebra starts no threads for them
AT_ONCE = 8192
NONE: Scales = MappingProxyType({})
#: what a step squares and adds up must stay below the largest double, 1.8e308
SQUARED = 1e150


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at one point: R and b with JᵀJ = RᵀR, Jᵀρ = Rᵀb, in coordinates."""

    q: Vector
    values: Vector
    cost: float
    R: Vector
    b: Vector
    square: float  # Σρ²
    noise: dict[str, Noise] = field(default_factory=dict)
    # where no single simulation gives them:
    predictions: tuple[Prediction, ...] | None = None
    scatter: Vector | None = None  # as of Objective.scatter
    scales: Scales = field(default_factory=dict)  # of the criterion that scored it

    @property
    def gradient(self) -> Vector:
        """Half the gradient of the cost."""
        half: Vector = self.R.T @ self.b
        return half


class Objective(Disagreement):
    """The disagreement of a study's cases with the criterion that scores it."""

    def __init__(self, cases: Disagreement, criterion: Criterion) -> None:
        super().__init__(cases.unknowns, cases.predictors, cases.blocks, cases.wanted, cases.runs)
        self.criterion: Final = criterion
        self._owners = [(p, k) for p in self.predictors for k in range(len(p.record.outputs))]

    def at(
        self, q: Vector, predictions: list[Prediction] | Failure | None = None
    ) -> Point | Failure:
        """The objective at coordinates `q`, or the simulation that failed there.

        `predictions` are the simulated outputs where they are known already.
        """
        values = self.unknowns.values(q)
        if predictions is None:
            predictions = self.predict(values)
        if isinstance(predictions, Failure):
            return predictions
        residuals = self.residuals(predictions)
        broken = self.not_finite(residuals, values)
        if broken is not None:
            return broken
        with np.errstate(over="ignore", invalid="ignore"):
            scoring = self.criterion.score(residuals, self.sigmas(predictions))
        if not np.isfinite(scoring.cost):
            return self.failed(self.blocks[0].case, "the cost is not finite", values)
        reduction = _Reduction(len(self.unknowns), self.n_samples)
        slopes = self.unknowns.slopes(q)
        for k, prediction in enumerate(predictions):
            if self.blocks[k].filter is None:
                self._reduce(reduction, k, prediction, scoring, slopes)
            else:
                self._reduce_filtered(reduction, k, prediction, scoring, slopes)
        with np.errstate(over="ignore", invalid="ignore"):
            cost = scoring.cost + self._priors(reduction, values, slopes)
        R, b, square = reduction.result()
        if not np.isfinite(cost):
            return self.failed(
                self.blocks[0].case, "the cost with its priors is not finite", values
            )
        if not np.isfinite(R).all() or np.abs(R).max(initial=0.0) > SQUARED:
            return self.failed(self.blocks[0].case, "a sensitivity is not finite", values)
        # an effect whose square is nothing is none: norms and elements say the same
        R = np.where(np.abs(R) < 1 / SQUARED, 0.0, R)
        return Point(
            q, values, cost, R, b, square, dict(scoring.noise), scales=self.criterion.scales
        )

    def _reduce(
        self,
        reduction: _Reduction,
        k: int,
        prediction: Prediction,
        scoring: Scoring,
        slopes: Vector,
        emphasis: Vector | float = 1.0,
    ) -> None:
        """Add the rows of block `k`, each times its emphasis."""
        if k in scoring.levels:
            columns = self.columns(k)
            for rows, scored in self.level_rows(k, prediction, scoring):
                reduction.add(scored * emphasis, emphasis, rows, columns, None, slopes)
            return
        multiplier = scoring.multipliers[k] * emphasis
        transform = self.blocks[k].measured.transform
        if transform is not None:
            multiplier = multiplier * transform.derivative(prediction.value)
        predictor, place = self._owners[k]
        reduction.add(
            scoring.scored[k] * emphasis,
            multiplier,
            prediction.slope,
            predictor.columns,
            predictor.extras[place],
            slopes,
        )

    def columns(self, k: int) -> tuple[int, ...]:
        """The unknowns that move block `k`, its disturbance last."""
        predictor, place = self._owners[k]
        extra = predictor.extras[place]
        return predictor.columns if extra is None else (*predictor.columns, extra)

    def level_rows(
        self, k: int, prediction: Prediction, scoring: Scoring
    ) -> list[tuple[Vector, Vector]]:
        """(rows, ρ) of the residuals and of σ of a block whose σ a formula gives.

        The rows are derivatives by the unknowns of `columns`, not yet by coordinates.
        """
        level, own = prediction.level, scoring.levels[k]
        assert level is not None, "a formula gives it"
        by_mean, by_level = prediction.slope, level.slope
        if len(self.columns(k)) > by_mean.shape[1]:
            by_mean = np.column_stack([by_mean, np.ones(len(by_mean))])
            by_level = np.column_stack([by_level, level.by_disturbance])
        multiplier = np.broadcast_to(scoring.multipliers[k], prediction.value.shape)
        transform = self.blocks[k].measured.transform
        if transform is not None:
            multiplier = multiplier * transform.derivative(prediction.value)
        by_level = by_level / level.value[:, None]
        mean = multiplier[:, None] * by_mean + own.mixed[:, None] * by_level
        return [
            (mean, np.asarray(scoring.scored[k])),
            (own.share[:, None] * by_level, own.scored),
        ]

    def wide_level_rows(
        self, k: int, prediction: Prediction, scoring: Scoring, slopes: Vector
    ) -> list[tuple[Vector, Vector]]:
        """The same by the coordinates of all unknowns."""
        columns, found = list(self.columns(k)), []
        for rows, scored in self.level_rows(k, prediction, scoring):
            wide = np.zeros((len(rows), len(self.unknowns)))
            wide[:, columns] = rows * slopes[columns]
            found.append((wide, scored))
        return found

    def filtered_slopes(self, k: int, prediction: Prediction) -> tuple[Vector, tuple[int, ...]]:
        """Derivatives of the errors of block `k` as compared, and the unknowns they belong to."""
        predictor, place = self._owners[k]
        block, slope, columns = self.blocks[k], prediction.slope, predictor.columns
        extra = predictor.extras[place]
        if extra is not None:
            slope = np.column_stack([slope, np.ones(len(slope))])
            columns = (*columns, extra)
        transform = block.measured.transform
        if transform is not None:
            slope = slope * transform.derivative(prediction.value)[:, None]
        return block.filtered(slope), columns

    def _reduce_filtered(
        self,
        reduction: _Reduction,
        k: int,
        prediction: Prediction,
        scoring: Scoring,
        slopes: Vector,
        emphasis: float | None = None,
    ) -> None:
        """Add the rows of a block with a prefilter L; with an emphasis those of its scatter.

        Noise that is white before the filter makes the gradient J̃ᵀ L e, which scatters as Lᵀ J̃.
        """
        rows, columns = self.filtered_slopes(k, prediction)
        multiplier, scored = scoring.multipliers[k], scoring.scored[k]
        if emphasis is not None:
            rows = emphasis * self.blocks[k].returned(rows)
        reduction.add(scored, multiplier, rows, columns, None, slopes)

    def scatter(self, q: Vector) -> Vector | None:
        """F with FᵀF = Σ E[ρ²] J̃ᵀJ̃: how the gradient scatters from one record to the next.

        The noise of each output has a variance of its own, whatever its weight; where residuals
        do not count by their squares, every sample is taken with its own ρ². A prior counts as a
        measurement with just the error that it states.
        """
        values = self.unknowns.values(q)
        predictions = self.predict(values)
        if isinstance(predictions, Failure):
            return None
        scoring = self.criterion.score(self.residuals(predictions), self.sigmas(predictions))
        reduction = _Reduction(len(self.unknowns), self.n_samples)
        slopes = self.unknowns.slopes(q)
        emphases = self.emphases(scoring)
        for k, prediction in enumerate(predictions):
            if self.blocks[k].filter is None:
                self._reduce(reduction, k, prediction, scoring, slopes, emphases[k])
            else:
                emphasis = emphases[k]
                assert isinstance(emphasis, float), "prefilters go with squares only"
                self._reduce_filtered(reduction, k, prediction, scoring, slopes, emphasis)
        self._priors(reduction, values, slopes)
        return reduction.result()[0]

    def emphases(self, scoring: Scoring) -> list[float | Vector]:
        """√E[ρ²] of every block, by which its rows count in the scatter of the gradient."""
        if self.criterion.has_unit_variance:
            return [1.0] * len(self.blocks)
        squares = self._mean_squares(scoring)
        return [
            float(np.sqrt(squares[block.name])) if self.criterion.counts_squares else scored
            for block, scored in zip(self.blocks, scoring.scored, strict=True)
        ]

    def _mean_squares(self, scoring: Scoring) -> dict[str, float]:
        """Mean square of the scored residuals of each output, over all cases."""
        if self.has_input_errors:  # residuals of a point are one: they are known to each other
            total = sum(float(scored @ scored) for scored in scoring.scored)
            return dict.fromkeys((b.name for b in self.blocks), total / max(self.n_samples, 1))
        sums: dict[str, tuple[float, float]] = {}
        for block, scored in zip(self.blocks, scoring.scored, strict=True):
            total, count = sums.get(block.name, (0.0, 0.0))
            sums[block.name] = total + float(scored @ scored), count + block.count
        return {n: total / max(count, 1) for n, (total, count) in sums.items()}

    def _priors(self, reduction: _Reduction, values: Vector, slopes: Vector) -> float:
        cost = 0.0
        for k, unknown in enumerate(self.unknowns.items):
            if unknown.prior is not None:
                distance = (values[k] - unknown.prior.mean) / unknown.prior.sigma
                row = np.zeros(len(self.unknowns) + 1)
                row[k], row[-1] = slopes[k] / unknown.prior.sigma, distance
                reduction.add_row(row)
                cost += distance**2
        return float(cost)


def scored(cases: Disagreement, scales: Scales) -> Objective:
    """The cases scored with known scales: those of a point, or none where there are none."""
    wanted = cases.wanted
    return Objective(cases, wanted.scaled(scales) if isinstance(wanted, Unscaled) else wanted)


def scored_by(cases: Disagreement, residuals: Sequence[Vector], known: Scales = NONE) -> Objective:
    """The cases scored with the scales of these residuals, save those that are known."""
    wanted = cases.wanted
    if not isinstance(wanted, Unscaled):
        return Objective(cases, wanted)
    return Objective(cases, wanted.scaled({**wanted.scales_of(residuals), **known}))


def scored_at(cases: Disagreement, q: Vector, known: Scales = NONE) -> Objective | Failure:
    """The cases scored with the scales of the residuals at `q`, save those that are known.

    Nothing is simulated where no scale is wanted.
    """
    wanted = cases.wanted
    if not isinstance(wanted, Unscaled) or set(wanted.open_outputs) <= set(known):
        return scored(cases, known)
    values = cases.unknowns.values(cases.unknowns.clipped(q))
    predictions = cases.predict(values)
    if isinstance(predictions, Failure):
        return predictions
    residuals = cases.residuals(predictions)
    return cases.not_finite(residuals, values) or scored_by(cases, residuals, known)


def judge_of(objective: Objective, point: Point) -> Objective | str:
    """The objective whose curvature at a point tells of its accuracy, or why there is none."""
    if not objective.criterion.may_be_rough:
        return objective
    predictions = point.predictions or objective.predict(point.values)
    assert not isinstance(predictions, Failure), "the point was simulated before"
    judge = objective.criterion.judge(objective.residuals(predictions))
    if isinstance(judge, str) or judge is objective.criterion:
        return judge if isinstance(judge, str) else objective
    if point.predictions is not None:
        return f"criterion '{judge.name}' has kinks, and no single simulation gives the outputs"
    return Objective(objective, judge)


def as_seen(judge: Objective, point: Point) -> Point:
    """A point with the curvature that its judge sees."""
    if not judge.criterion.may_be_rough:
        return point
    seen = point if point.predictions is not None else judge.at(point.q)
    assert isinstance(seen, Point), "the point was simulated before"
    return seen


class _Reduction:
    """Collects rows of [J ρ] and keeps only their triangular factor."""

    def __init__(self, n: int, samples: int) -> None:
        self._n = n
        room = max(AT_ONCE // (n + 1), 4 * (n + 2))
        # the factor so far stands on top of the rows that came since
        self._rows = np.empty((min(max(samples, n + 2), room), n + 1), order="F")
        self._used = 0
        self._upper = np.tri(n + 1, dtype=bool).T

    def add(
        self,
        scored: Vector,
        multiplier: float | Vector,
        slope: Vector,
        columns: Sequence[int],
        extra: int | None,
        factors: Vector,
    ) -> None:
        """Rows of one block: multiplier · slope · factor in the unknowns' columns, and ρ."""
        begin = 0
        while begin < len(scored):
            count = min(len(self._rows) - self._used, len(scored) - begin)
            part = slice(begin, begin + count)
            m = multiplier if np.ndim(multiplier) == 0 else multiplier[part]  # type: ignore[index]
            rows = self._rows[self._used : self._used + count]
            rows[:] = 0.0
            rows[:, -1] = scored[part]
            for j, column in enumerate(columns):
                np.multiply(slope[part, j], m * factors[column], out=rows[:, column])
            if extra is not None:
                rows[:, extra] = m * factors[extra]
            self._used += count
            begin += count
            if self._used == len(self._rows):
                self._factorise()

    def add_row(self, row: Vector) -> None:
        """One row of [J ρ]."""
        if self._used == len(self._rows):
            self._factorise()
        self._rows[self._used] = row
        self._used += 1

    def _factorise(self) -> None:
        """Put the triangular factor in place of the rows."""
        if self._used <= self._n:
            return
        rows = self._rows[: self._used]
        whole = rows if self._used == len(self._rows) else np.asfortranarray(rows)
        factored = lapack.dgeqrf(whole, overwrite_a=1)[0]
        self._used = self._n + 1
        self._rows[: self._used] = np.where(self._upper, factored[: self._used], 0.0)

    def result(self) -> tuple[Vector, Vector, float]:
        """(R, b, Σρ²): the triangular factor of J, and what of ρ lies in its range."""
        n = self._n
        self._factorise()
        factor = np.zeros((n + 1, n + 1))
        factor[: self._used] = self._rows[: self._used]
        if self._used <= n:  # fewer rows than unknowns: not triangular yet
            factor = np.asarray(np.linalg.qr(factor, mode="r"))
        with np.errstate(over="ignore"):  # told by who needs it
            square = float(np.sum(factor[:, n] ** 2))
        return factor[:n, :n], factor[:n, n], square
