"""Objective: the cost of a study as a function of its unknowns, with what a step needs to know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import (
    Criterion,
    CriterionSpecification,
    Noise,
    Scales,
    Scoring,
)
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.estimate.objective.reduction import Reduction
from estimica.estimate.objective.residuals import ResidualFunction

NONE: Scales = MappingProxyType({})
#: what a step squares and adds up must stay below the largest double, 1.8e308
SQUARED = 1e150


@dataclass(frozen=True, eq=False)
class BlockInformation:
    """One block at a point: what it has in JᵀJ = Σ RᵀR, and how its noise scatters the gradient."""

    curvature: Vector  # R, triangular, in coordinates
    scatter: Vector  # F with FᵀF the scatter of the gradient by noise of variance one
    square: float  # Σρ², relative to that variance
    count: float  # samples that count
    independent: float  # samples that tell of the noise level


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
    parts: tuple[BlockInformation, ...] | None = None  # as of Objective.parts
    scales: Scales = field(default_factory=dict)  # of the criterion that scored it

    @property
    def gradient(self) -> Vector:
        """Half the gradient of the cost."""
        half: Vector = self.R.T @ self.b
        return half


class Objective(ResidualFunction):
    """The disagreement of a study's cases with the criterion that scores it."""

    def __init__(self, cases: ResidualFunction, criterion: Criterion) -> None:
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
        reduction = Reduction(len(self.unknowns), self.n_samples)
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
        reduction: Reduction,
        k: int,
        prediction: Prediction,
        scoring: Scoring,
        slopes: Vector,
        emphasis: Vector | float | None = None,
    ) -> None:
        """Add the rows of block `k`, each times its emphasis."""
        emphasis = 1.0 if emphasis is None else emphasis
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
        columns, pairs = list(self.columns(k)), []
        for rows, scored in self.level_rows(k, prediction, scoring):
            wide = np.zeros((len(rows), len(self.unknowns)))
            wide[:, columns] = rows * slopes[columns]
            pairs.append((wide, scored))
        return pairs

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
        reduction: Reduction,
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

    def parts(self, point: Point) -> tuple[BlockInformation, ...]:
        """What each block has in JᵀJ, and how its noise scatters the gradient."""
        if point.parts is not None:
            return point.parts
        predictions = self.predict(point.values)
        assert not isinstance(predictions, Failure), "the point was simulated before"
        scoring = self.criterion.score(self.residuals(predictions), self.sigmas(predictions))
        slopes = self.unknowns.slopes(point.q)
        parts = []
        for k, prediction in enumerate(predictions):
            emphasis = self.emphasis(scoring, k)
            reduce = self._reduce if self.blocks[k].filter is None else self._reduce_filtered

            def reduced(
                emphasis: float | Vector | None,
                k: int = k,
                prediction: Prediction = prediction,
                reduce: Callable[..., None] = reduce,
            ) -> Vector:
                reduction = Reduction(len(self.unknowns), len(self.blocks[k].measured.value))
                reduce(reduction, k, prediction, scoring, slopes, emphasis)
                return reduction.result()[0]

            curvature = reduced(None)
            scatter = curvature if emphasis is None else reduced(emphasis)
            parts.append(self.part(scoring, k, curvature, scatter))
        return tuple(parts)

    def emphasis(self, scoring: Scoring, k: int) -> Vector | float | None:
        """What rows of block `k` count in the scatter of the gradient; None: as in the curvature.

        Where residuals do not count by their squares every sample is taken with its own share of
        the gradient; with a robust loss, under which samples are alike, with the RMS of theirs: few
        samples with their own would make the errors a third too small (measured with eight).
        """
        if self.blocks[k].filter is not None:
            return 1.0
        if self.criterion.counts_squares:
            return None
        m, scored, scaling = scoring.multipliers[k], scoring.scored[k], self.blocks[k].scaling
        if not self.criterion.is_alike:
            return scored
        return np.asarray(np.sqrt(np.mean((m * scored / scaling) ** 2)) * scaling / m)

    def part(
        self, scoring: Scoring, k: int, curvature: Vector, scatter: Vector
    ) -> BlockInformation:
        """The part of block `k`, from its two factors."""
        block, scored = self.blocks[k], scoring.scored[k]
        sized = block.filter is None and self.emphasis(scoring, k) is not None
        # the scatter of robust losses has the size of the noise already, and a formula has it as
        # large as the residuals are
        square = block.count if sized or k in scoring.levels else float(scored @ scored)
        return BlockInformation(curvature, scatter, square, block.count, block.independent)

    def prior_rows(self, q: Vector) -> Vector:
        """(count, n): the rows of J that belong to priors."""
        known = self._known_before(self.unknowns.values(q), self.unknowns.slopes(q))
        rows = np.zeros((len(known), len(self.unknowns)))
        for row, (k, slope, _) in zip(rows, known, strict=True):
            row[k] = slope
        return rows

    def prior_cost(self, q: Vector) -> float:
        """What the priors add to the cost."""
        known = self._known_before(self.unknowns.values(q), self.unknowns.slopes(q))
        return float(sum(distance**2 for _, _, distance in known))

    def _priors(self, reduction: Reduction, values: Vector, slopes: Vector) -> float:
        cost = 0.0
        for k, slope, distance in self._known_before(values, slopes):
            row = np.zeros(len(self.unknowns) + 1)
            row[k], row[-1] = slope, distance
            reduction.add_row(row)
            cost += distance**2
        return float(cost)

    def _known_before(self, values: Vector, slopes: Vector) -> list[tuple[int, float, float]]:
        """Unknowns with priors: the derivative of their distance from the mean, and the distance.

        A prior counts as a measurement with just the error that it states.
        """
        return [
            (
                k,
                float(slopes[k]) * u.prior.slope(float(values[k])),
                u.prior.distance(float(values[k])),
            )
            for k, u in enumerate(self.unknowns.items)
            if u.prior is not None
        ]


def scored(cases: ResidualFunction, scales: Scales) -> Objective:
    """The cases scored with known scales: those of a point, or none where there are none."""
    wanted = cases.wanted
    return Objective(
        cases, wanted.scaled(scales) if isinstance(wanted, CriterionSpecification) else wanted
    )


def scored_by(
    cases: ResidualFunction, residuals: Sequence[Vector], known: Scales = NONE
) -> Objective:
    """The cases scored with the scales of these residuals, save those that are known."""
    wanted = cases.wanted
    if not isinstance(wanted, CriterionSpecification):
        return Objective(cases, wanted)
    return Objective(cases, wanted.scaled({**wanted.scales_of(residuals), **known}))


def scored_at(cases: ResidualFunction, q: Vector, known: Scales = NONE) -> Objective | Failure:
    """The cases scored with the scales of the residuals at `q`, save those that are known.

    Nothing is simulated where no scale is wanted.
    """
    wanted = cases.wanted
    if not isinstance(wanted, CriterionSpecification) or set(wanted.open_outputs) <= set(known):
        return scored(cases, known)
    values = cases.unknowns.values(cases.unknowns.clipped(q))
    predictions = cases.predict(values)
    if isinstance(predictions, Failure):
        return predictions
    residuals = cases.residuals(predictions)
    return cases.not_finite(residuals, values) or scored_by(cases, residuals, known)


def accuracy_objective(objective: Objective, point: Point) -> Objective | str:
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


def with_curvature_of(judge: Objective, point: Point) -> Point:
    """A point with the curvature that its judge sees."""
    if not judge.criterion.may_be_rough:
        return point
    seen = point if point.predictions is not None else judge.at(point.q)
    assert isinstance(seen, Point), "the point was simulated before"
    return seen
