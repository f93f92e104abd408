"""Rows: scored residuals and their Jacobian at the estimate, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.conclusion.freedom import Freedom, freedom
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.scoring import Scoring
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import BlockInformation, Objective, scored
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import Status


@dataclass(frozen=True, eq=False)
class Rows:
    """One output of one case: ρ and ∂ρ/∂q, so that the gradient of half the cost is Σ Jᵀρ."""

    case: str
    output: str
    time: Vector
    scored: Vector  # (N,)
    jacobian: Vector  # (N, n), in coordinates
    level: tuple[Vector, Vector] | None = None  # the same of log σ, where a formula gives it

    @property
    def factors(self) -> tuple[Vector, ...]:
        """Everything that adds to JᵀJ."""
        return (self.jacobian,) if self.level is None else (self.jacobian, self.level[1])


@dataclass(frozen=True, eq=False)
class LinearisedFit:
    """A study around its estimate."""

    objective: Objective
    q: Vector
    rows: tuple[Rows, ...]
    prior: Vector  # (count, n): rows of the priors
    held: Flags  # unknowns that do not move: those acting in steps, and some at their bounds
    threshold: float  # relative size below which a direction counts as without effect
    judge: Objective  # whose curvature the rows have
    scoring: Scoring

    @cached_property
    def information(self) -> Vector:
        """JᵀJ over all samples and priors."""
        total: Vector = self.prior.T @ self.prior
        for one in self.rows:
            for factor in one.factors:
                total = total + factor.T @ factor
        return total

    @cached_property
    def inverse(self) -> Vector:
        """(JᵀJ)⁻¹ among the unknowns that move; directions without effect are left out."""
        return pseudo_inverse(self.information, ~self.held, self.threshold)

    @cached_property
    def told(self) -> Freedom:
        """How well the residuals tell the noise, and with it the error of any direction."""
        return self.told_with(self.inverse)

    def told_with(self, inverse: Vector) -> Freedom:
        """The same with another inverse of JᵀJ: of other unknowns that are free."""
        return freedom(self.judge, self.scoring.noise, self._parts, self.prior, inverse)

    @cached_property
    def _parts(self) -> tuple[BlockInformation, ...]:
        parts = []
        for k, (one, block) in enumerate(zip(self.rows, self.judge.blocks, strict=True)):
            emphasis = self.judge.emphasis(self.scoring, k)
            curvature = scatter = _triangular(np.vstack(one.factors))
            if block.filter is not None:
                scatter = _triangular(block.returned(one.jacobian))
            elif emphasis is not None:
                scatter = _triangular(one.jacobian * np.reshape(emphasis, (-1, 1)))
            parts.append(self.judge.part(self.scoring, k, curvature, scatter))
        return tuple(parts)

    @property
    def root(self) -> Vector:
        """R with RᵀR = JᵀJ."""
        stacked = [np.linalg.qr(f, mode="r") for one in self.rows for f in one.factors]
        return np.asarray(np.linalg.qr(np.vstack([*stacked, self.prior]), mode="r"))

    @property
    def n_samples(self) -> float:
        """Samples that count; behind a prefilter as many as are independent."""
        return self.objective.n_independent

    @property
    def freedom(self) -> float:
        """Samples less unknowns that move."""
        return self.n_samples - int((~self.held).sum())


def linearise_fit(fit: Fit) -> LinearisedFit:
    """The study of a fit around its estimate: one simulation with sensitivities."""
    require_optimum(fit)
    objective = scored(fit.setup.calibration(), fit.scales)
    q = objective.unknowns.coordinates(fit.values)
    predictions = objective.predict(fit.values)
    if isinstance(predictions, Failure):
        raise InferError(
            "I310",
            f"study '{fit.study.name}' cannot be simulated at its estimate: "
            f"case '{predictions.case}': {predictions.message}",
        )
    residuals = objective.residuals(predictions)
    judge = objective.criterion.judge(residuals)
    if len(fit.rough.unknowns) == fit.n_free and fit.rough.reason:
        judge = fit.rough.reason
    if isinstance(judge, str):
        raise InferError(
            "I313", f"{judge}: its derivatives tell nothing of the accuracy; take a bootstrap"
        )
    scoring = judge.score(residuals, objective.sigmas(predictions))
    factors = objective.unknowns.slopes(q)
    slopes = output_slopes(objective, predictions)
    rows = []
    for k, (block, prediction) in enumerate(zip(objective.blocks, predictions, strict=True)):
        if k in scoring.levels:
            (own, rho), (of_level, rho_level) = objective.wide_level_rows(
                k, prediction, scoring, factors
            )
            level = rho_level, of_level
            rows.append(Rows(block.case, block.name, block.measured.time, rho, own, level))
            continue
        multiplier = np.asarray(scoring.multipliers[k]) * _chain(block, prediction)
        jacobian = slopes[k] * factors
        jacobian *= np.reshape(multiplier, (-1, 1))
        if block.filter is not None:
            jacobian = block.filtered(jacobian)
        rows.append(
            Rows(
                block.case,
                block.name,
                block.measured.time,
                np.asarray(scoring.scored[k]),
                jacobian,
            )
        )
    objective.runs.last = None  # they may be large, and few ask for them again
    return LinearisedFit(
        objective,
        q,
        tuple(rows),
        objective.prior_rows(q),
        fit.accuracy.held,
        max(fit.accuracy.threshold, 1e-12),
        Objective(objective, judge),
        scoring,
    )


def require_optimum(fit: Fit) -> None:
    """Refuse a fit around which nothing can be linearised; nothing needs to be free in it."""
    if not any(c.outputs for c in fit.cases if c.role == "calibrate"):
        raise InferError(
            "I300",
            f"the fit of '{fit.study.name}' has no estimate to look at: {fit.outcome.message}",
        )
    if fit.outcome.status is Status.FAILING_REGION:
        raise InferError(
            "I305",
            f"the fit of '{fit.study.name}' has no optimum to look around: {fit.outcome.message}",
        )


def output_slopes(objective: ResidualFunction, predictions: list[Prediction]) -> list[Vector]:
    """Derivatives of each output by all unknowns: zero where one belongs to another case."""
    slopes = []
    owners = [(p, k) for p in objective.predictors for k in range(len(p.record.outputs))]
    every = tuple(range(len(objective.unknowns)))
    for (predictor, place), prediction in zip(owners, predictions, strict=True):
        if tuple(predictor.columns) == every and predictor.extras[place] is None:
            slopes.append(prediction.slope)  # as it is: it may be large
            continue
        own = np.zeros((len(prediction.value), len(objective.unknowns)))
        own[:, list(predictor.columns)] = prediction.slope
        extra = predictor.extras[place]
        if extra is not None:
            own[:, extra] = 1.0
        slopes.append(own)
    return slopes


def pseudo_inverse(information: Vector, free: Flags, threshold: float) -> Vector:
    """The inverse of JᵀJ among free unknowns, scaled to columns of length one before the rank."""
    n = len(information)
    inverse = np.zeros((n, n))
    own = information[np.ix_(free, free)]
    size = np.sqrt(np.diag(own))
    size[size == 0] = 1.0
    if own.size:
        values, vectors = np.linalg.eigh(own / np.outer(size, size))
        # eigenvalues are squares: below 1e-14 they are rounding
        large = values > max(threshold**2, 1e-14) * values[-1]
        inner = (vectors[:, large] / values[large]) @ vectors[:, large].T
        inverse[np.ix_(free, free)] = inner / np.outer(size, size)
    return inverse


def _triangular(rows: Vector) -> Vector:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _chain(block: Block, prediction: Prediction) -> float | Vector:
    transform = block.measured.transform
    return 1.0 if transform is None else np.asarray(transform.derivative(prediction.value))
