"""Resolution: residuals so small that they may be errors of the simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from estimica.estimate.disagreement import Disagreement
from estimica.estimate.objective import Objective, Point
from estimica.estimate.prediction import Failure

Vector = npt.NDArray[np.float64]

#: errors of a whole run over the tolerance of one step: they add up
GROWN = 10.0


def is_at_resolution(objective: Objective, point: Point) -> bool:
    """Whether all residuals at a point are within the accuracy of the simulation."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure):
        return False
    return are_at_resolution(objective, objective.residuals(predictions))


def are_at_resolution(cases: Disagreement, residuals: Sequence[Vector]) -> bool:
    """Whether residuals of all blocks are within the accuracy of the simulation."""
    accuracies = [p.accuracy for p in cases.predictors for _ in p.record.outputs]
    for block, residual, accuracy in zip(cases.blocks, residuals, accuracies, strict=True):
        m = block.measured
        signal = block.filtered(m.value if m.transform is None else m.transform.value(m.value))
        varying = signal - np.mean(
            signal
        )  # an offset, which a disturbance may be, is not simulated
        if np.linalg.norm(residual) > GROWN * accuracy * np.linalg.norm(varying):
            return False
    return True
