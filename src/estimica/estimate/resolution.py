"""Resolution: residuals so small that they may be errors of the simulation."""

from __future__ import annotations

import numpy as np

from estimica.estimate.objective import Objective, Point
from estimica.estimate.prediction import Failure

#: errors of a whole run over the tolerance of one step: they add up
GROWN = 10.0


def is_at_resolution(objective: Objective, point: Point) -> bool:
    """Whether all residuals at a point are within the accuracy of the simulation."""
    predictions = objective.predict(point.values)
    if isinstance(predictions, Failure):
        return False
    accuracies = [p.accuracy for p in objective.predictors for _ in p.record.outputs]
    residuals = objective.residuals(predictions)
    for block, residual, accuracy in zip(objective.blocks, residuals, accuracies, strict=True):
        m = block.measured
        signal = block.filtered(m.value if m.transform is None else m.transform.value(m.value))
        # an offset, which a disturbance may be, is not simulated
        varying = signal - np.mean(signal)
        if np.linalg.norm(residual) > GROWN * accuracy * np.linalg.norm(varying):
            return False
    return True
