"""Resolution: residuals so small that they may be errors of the simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import Block
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction

#: errors of a whole run over the tolerance of one step: they add up
GROWN = 10.0
#: residuals over the signal that are nothing but rounding of the numbers themselves
ROUNDING = 8 * float(np.finfo(float).eps)


def is_rounding(objective: Objective, point: Point) -> bool:
    """Whether the model meets all samples to the last digits, so that no other point is better."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure) or not _is_all_residuals(objective):
        return False
    pairs = zip(objective.blocks, objective.errors(predictions), strict=True)
    return all(bool(np.linalg.norm(e) <= ROUNDING * np.linalg.norm(_signal(b))) for b, e in pairs)


def is_at_resolution(objective: Objective, point: Point) -> bool:
    """Whether all residuals at a point are within the accuracy of the simulation."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure) or not _is_all_residuals(objective):
        return False
    return are_at_resolution(objective, objective.residuals(predictions))


def are_at_resolution(cases: ResidualFunction, residuals: Sequence[Vector]) -> bool:
    """Whether residuals of all blocks are within the accuracy of the simulation."""
    accuracies = [p.accuracy for p in cases.predictors for _ in p.record.outputs]
    for block, residual, accuracy in zip(cases.blocks, residuals, accuracies, strict=True):
        signal = block.filtered(_signal(block))
        # an offset, which a disturbance may be, is not simulated
        varying = signal - np.mean(signal)
        if np.linalg.norm(residual) > GROWN * accuracy * np.linalg.norm(varying):
            return False
    return True


def _is_all_residuals(objective: Objective) -> bool:
    """Whether small residuals make a small cost: priors and criteria of one's own ask for more."""
    criterion = objective.criterion
    own = criterion.may_be_rough or not criterion.has_only_residuals
    return not own and not any(u.prior for u in objective.unknowns.items)


def _signal(block: Block) -> Vector:
    """What was measured, as it is compared."""
    m = block.measured
    return m.value if m.transform is None else m.transform.value(m.value)
