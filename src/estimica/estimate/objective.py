"""Objective: the cost of a study as a function of its unknowns, with what a step needs to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from estimica.estimate.criterion import Block, Criterion, Noise, Scoring
from estimica.estimate.prediction import Failure, Prediction, Predictor
from estimica.estimate.unknowns import Unknowns

Vector = npt.NDArray[np.float64]
#: numbers of the Jacobian that are reduced at a time: the whole of it is never held; so few that
#: they stay in the processor's cache and that the linear algebra starts no threads for them
AT_ONCE = 8192


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

    @property
    def gradient(self) -> Vector:
        """Half the gradient of the cost."""
        half: Vector = self.R.T @ self.b
        return half


@dataclass
class Evaluations:
    """What the search has cost so far."""

    simulations: int = 0
    sensitivities: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)

    KEPT = 100  # failures that are remembered with their values

    def fail(self, failure: Failure) -> None:
        """Count a failed simulation and remember it."""
        self.failed += 1
        if len(self.failures) < self.KEPT:
            self.failures.append(failure)


class Objective:
    """Evaluates the calibrated cases of a study and scores their residuals."""

    def __init__(
        self,
        unknowns: Unknowns,
        predictors: Sequence[Predictor],
        blocks: Sequence[Block],
        criterion: Criterion,
    ) -> None:
        self.unknowns = unknowns
        self.predictors = tuple(predictors)
        self.blocks = tuple(blocks)
        self.criterion = criterion
        self.evaluations = Evaluations()
        self._last: tuple[Vector, list[Prediction]] | None = None
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
        for block, residual in zip(self.blocks, residuals, strict=True):
            if not np.isfinite(residual).all():
                return self._fail(block.case, f"output '{block.name}' is not finite", values)
        with np.errstate(over="ignore", invalid="ignore"):
            scoring = self.criterion.score(residuals)
        if not np.isfinite(scoring.cost):
            return self._fail(self.blocks[0].case, "the cost is not finite", values)
        reduction = _Reduction(len(self.unknowns), self.n_samples)
        slopes = self.unknowns.slopes(q)
        for k, prediction in enumerate(predictions):
            if self.blocks[k].filter is None:
                self._reduce(reduction, k, prediction, scoring, slopes)
            else:
                self._reduce_filtered(reduction, k, prediction, scoring, slopes)
        cost = scoring.cost + self._priors(reduction, values, slopes)
        R, b, square = reduction.result()
        if not np.isfinite(R).all():
            return self._fail(self.blocks[0].case, "a sensitivity is not finite", values)
        return Point(q, values, cost, R, b, square, dict(scoring.noise))

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
        scoring = self.criterion.score(self.residuals(predictions))
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
            float(np.sqrt(squares[block.name])) if np.ndim(m) == 0 else scored
            for block, m, scored in zip(
                self.blocks, scoring.multipliers, scoring.scored, strict=True
            )
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

    def replaced(self, measured: Sequence[Vector]) -> Objective:
        """The same with other measured values, one array a block; nothing is compiled anew.

        Weights stay as they are, also those that were taken from the first data.
        """
        blocks = [
            replace(b, measured=replace(b.measured, value=v))
            for b, v in zip(self.blocks, measured, strict=True)
        ]
        rest = list(measured)
        predictors = []
        for p in self.predictors:
            own, rest = rest[: len(p.record.outputs)], rest[len(p.record.outputs) :]
            predictors.append(p.replaced(own))
        return Objective(self.unknowns, predictors, blocks, self.criterion.of(blocks))

    def predict(self, values: Vector) -> list[Prediction] | Failure:
        """Simulated outputs of all blocks at physical values of the unknowns."""
        if self._last is not None and np.array_equal(values, self._last[0]):
            return self._last[1]
        self._last = None  # before the next: they may be large
        found: list[Prediction] = []
        for predictor in self.predictors:
            own = predictor.at(values)
            self.evaluations.simulations += predictor.runs
            self.evaluations.sensitivities += predictor.runs * bool(len(self.unknowns))
            if isinstance(own, str):
                return self._fail(predictor.record.case.name, own, values)
            found += own
        self._last = values.copy(), found
        return found

    def residuals(self, predictions: Sequence[Prediction]) -> list[Vector]:
        """Simulated − measured for each block, transformed and filtered where the study says so."""
        pairs = zip(self.blocks, self.errors(predictions), strict=True)
        return [block.filtered(missed) for block, missed in pairs]

    def errors(self, predictions: Sequence[Prediction]) -> list[Vector]:
        """The residuals before a prefilter."""
        found = []
        for block, p in zip(self.blocks, predictions, strict=True):
            transform = block.measured.transform
            if transform is None:
                found.append(p.value - block.measured.value)
            else:
                found.append(transform.value(p.value) - transform.value(block.measured.value))
        return found

    @property
    def n_samples(self) -> int:
        """Samples that count; those of inputs with errors only tell of these errors."""
        return sum(len(b.measured.value) for b in self.blocks if not b.measured.is_input)

    @property
    def is_filtered(self) -> bool:
        """Whether an output has a prefilter."""
        return any(b.filter is not None for b in self.blocks)

    @property
    def n_effective(self) -> float:
        """Samples that count, those behind a prefilter by what it lets through of white noise."""
        return sum(b.count for b in self.blocks if not b.measured.is_input)

    @property
    def n_independent(self) -> float:
        """Independent samples that would tell as much of the noise level."""
        return sum(b.independent for b in self.blocks if not b.measured.is_input)

    @property
    def has_input_errors(self) -> bool:
        """Whether errors of inputs are estimated along."""
        return any(b.measured.is_input for b in self.blocks)

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

    def _fail(self, case: str, message: str, values: Vector) -> Failure:
        failure = Failure(case, message, self.unknowns.named(values))
        self.evaluations.fail(failure)
        return failure


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
        return factor[:n, :n], factor[:n, n], float(np.sum(factor[:, n] ** 2))
