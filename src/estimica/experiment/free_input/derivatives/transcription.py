"""Which way of computing derivatives by the inputs a model allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.free_input.derivatives.differences import Differences
from estimica.experiment.free_input.derivatives.equations import Equations, obstacle
from estimica.experiment.free_input.derivatives.linear import Affine
from estimica.experiment.free_input.problem.limits import Limits
from estimica.experiment.free_input.problem.plan import Plan
from estimica.experiment.free_input.problem.search import Transcription
from estimica.simulate.function.model import FunctionModel
from estimica.simulate.linear.model import LinearModel
from estimica.simulate.modelica.model import ModelicaModel

STEP = 1e-3  # of differences, as a share of the range of an input


def transcription_for(
    plan: Plan,
    limits: Limits,
    values: Vector,
    trial: Vector,
    like: Transcription | None = None,
) -> Transcription:
    """Exact derivatives where the model allows them, else differences.

    A function that symbols go through does not come here. `like` is the same at other values.
    """
    names: Sequence[str] = limits.names
    why = ""
    if isinstance(plan.model, LinearModel):
        return Affine(plan, values, names)
    if isinstance(plan.model, ModelicaModel):
        why = obstacle(plan.model)
        if not why:
            other = like if isinstance(like, Equations) else None
            return Equations(plan, values, names, trial=trial, like=other)
    elif isinstance(plan.model, FunctionModel):
        why = "symbols cannot go through the function"
    steps = np.repeat(STEP * limits.reach, len(plan.stamps))
    if isinstance(plan.model, ModelicaModel):
        steps = 10 * steps  # the engine's sensitivities have an error of their own
    return Differences(plan, values, names, steps=steps, why=why)
