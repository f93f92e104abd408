"""ResidualFunction: simulated − measured of all cases by the unknowns, not yet scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.scoring import Criterion, CriterionSpecification
from estimica.estimate.objective.predictor import Failure, Prediction, Predictor
from estimica.estimate.unknowns import Unknowns

#: failures that are remembered with their values; chosen: enough to see where a model fails, while
#: a search among failures keeps no more than some kilobytes of them
KEPT = 100


@dataclass(frozen=True)
class Evaluations:
    """What a search has cost."""

    simulations: int = 0
    sensitivities: int = 0
    failed: int = 0
    failures: tuple[Failure, ...] = ()

    def __add__(self, others: Evaluations) -> Evaluations:
        """Both together; the first failures of both are remembered."""
        return Evaluations(
            self.simulations + others.simulations,
            self.sensitivities + others.sensitivities,
            self.failed + others.failed,
            (self.failures + others.failures)[:KEPT],
        )


@dataclass(eq=False)
class SimulationLog:
    """What simulating has cost so far, and the outputs of the last point."""

    evaluations: Evaluations = Evaluations()
    last: tuple[Vector, list[Prediction]] | None = None

    def count(self, more: Evaluations) -> None:
        """Count more of them."""
        self.evaluations += more


class ResidualFunction:
    """Evaluates the cases of a study; `wanted` is the criterion, which may still need scales."""

    def __init__(
        self,
        unknowns: Unknowns,
        predictors: Sequence[Predictor],
        blocks: Sequence[Block],
        wanted: Criterion | CriterionSpecification,
        runs: SimulationLog | None = None,
    ) -> None:
        self.unknowns = unknowns
        self.predictors = tuple(predictors)
        self.blocks = tuple(blocks)
        self.wanted = wanted
        self.runs = runs or SimulationLog()

    @property
    def evaluations(self) -> Evaluations:
        """What the search has cost so far."""
        return self.runs.evaluations

    def counted_anew(self) -> ResidualFunction:
        """The same, of which nothing has been evaluated yet."""
        return ResidualFunction(self.unknowns, self.predictors, self.blocks, self.wanted)

    def with_blocks(self, blocks: Sequence[Block]) -> ResidualFunction:
        """The same cases with outputs that are weighed otherwise; nothing is compiled anew."""
        return ResidualFunction(self.unknowns, self.predictors, blocks, self.wanted.of(blocks))

    def replaced(self, measured: Sequence[Vector]) -> ResidualFunction:
        """The same with other measured values, one array a block; nothing is compiled anew.

        Weights stay as they are, also those that were taken from the first data.
        """
        blocks = [
            replace(b, measured=b.measured.with_values(v))
            for b, v in zip(self.blocks, measured, strict=True)
        ]
        rest = list(measured)
        predictors = []
        for p in self.predictors:
            own, rest = rest[: len(p.record.outputs)], rest[len(p.record.outputs) :]
            predictors.append(p.replaced(own))
        return ResidualFunction(self.unknowns, predictors, blocks, self.wanted.of(blocks))

    def predict(self, values: Vector) -> list[Prediction] | Failure:
        """Simulated outputs of all blocks at physical values of the unknowns."""
        if self.runs.last is not None and np.array_equal(values, self.runs.last[0]):
            return self.runs.last[1]
        self.runs.last = None  # before the next: they may be large
        predictions: list[Prediction] = []
        for predictor in self.predictors:
            own = predictor.at(values)
            runs = predictor.runs
            self.runs.count(Evaluations(runs, runs * bool(len(self.unknowns))))
            if isinstance(own, str):
                return self.failed(predictor.record.case.name, own, values)
            predictions += own
        self.runs.last = values.copy(), predictions
        return predictions

    def residuals(self, predictions: Sequence[Prediction]) -> list[Vector]:
        """Simulated − measured for each block, transformed and filtered where the study says so."""
        pairs = zip(self.blocks, self.errors(predictions), strict=True)
        return [block.filtered(missed) for block, missed in pairs]

    def errors(self, predictions: Sequence[Prediction]) -> list[Vector]:
        """The residuals before a prefilter."""
        errors = []
        for block, p in zip(self.blocks, predictions, strict=True):
            transform = block.measured.transform
            if transform is None:
                errors.append(p.value - block.measured.value)
            else:
                errors.append(transform.value(p.value) - transform.value(block.measured.value))
        return errors

    def sigmas(self, predictions: Sequence[Prediction]) -> list[Vector | None]:
        """σ of each block at its samples, where a formula gives it."""
        return [None if p.level is None else p.level.value for p in predictions]

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

    def not_finite(self, residuals: Sequence[Vector], values: Vector) -> Failure | None:
        """What failed where a residual is not finite."""
        for block, residual in zip(self.blocks, residuals, strict=True):
            if not np.isfinite(residual).all():
                return self.failed(block.case, f"output '{block.name}' is not finite", values)
        return None

    def failed(self, case: str, message: str, values: Vector) -> Failure:
        """Note that the cases cannot be evaluated at these values."""
        failure = Failure(case, message, self.unknowns.named(values))
        self.runs.count(Evaluations(failed=1, failures=(failure,)))
        return failure
