"""Nodes: the times at which limits of outputs are looked at."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.free_input.problem.plan import Plan
from estimica.simulate.function.model import FunctionModel

JUST_BEFORE = 1e-7  # of the distance of two nodes


def nodes(plan: Plan, parts: int = 2) -> Vector:
    """Samples and beginnings of pieces, times between them, and just before each of them.

    A function is known at its samples only.
    """
    if isinstance(plan.model, FunctionModel):
        return plan.times
    marks = np.unique(np.concatenate([plan.times, plan.stamps, [plan.end]]))
    width = np.diff(marks)
    between = marks[:-1, None] + width[:, None] * np.arange(parts) / parts
    before = marks[1:] - JUST_BEFORE * width
    return np.unique(np.concatenate([between.ravel(), before]))
