"""Discretisation: what the communication step of Co-Simulation does to a fit, told by halving it.

The step biases outputs, and with them the estimates. At the estimate the cases are simulated again
with half the step; the estimates would move by −R⁺b of that objective. A method of first order has
twice the error that halving shows, and no method has more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.identify.accuracy import Accuracy
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import CasePredictor, Failure, Prediction
from estimica.estimate.setup import Setup
from estimica.simulate.fmu.response import FmuResponse

FIRST_ORDER = 2.0
WORTH_A_WORD = 0.2  # standard errors


@dataclass(frozen=True)
class Discretisation:
    """The step in seconds, and the error that it causes at most."""

    step: float
    outputs: Mapping[str, float]  # relative to the root mean square of the output
    shifts: Mapping[str, float]  # of the estimates, in their units
    in_errors: Mapping[str, float]  # of the estimates, in standard errors

    @property
    def text(self) -> str:
        """In words."""
        if not self.outputs:
            return (
                f"The communication step was {self.step:g} s. With half of it the simulation "
                "failed, so that its error is not known."
            )
        worst = max(self.outputs, key=lambda n: self.outputs[n])
        told = (
            f"The communication step was {self.step:g} s. By halving it, its error is at most "
            f"about {100 * self.outputs[worst]:.2g} % in '{worst}'"
        )
        if not self.shifts:
            return f"{told}."
        moved = max(self.shifts, key=lambda n: self.in_errors[n])
        return (
            f"{told}, and it moves '{moved}' by {self.shifts[moved]:.2g}, "
            f"{self.in_errors[moved]:.2g} standard errors."
        )

    @property
    def warning(self) -> str:
        """What is appended to the outcome where the step decides; empty where it does not."""
        moved = {n: e for n, e in self.in_errors.items() if e > WORTH_A_WORD}
        if not moved:
            return ""
        worst = max(moved, key=lambda n: moved[n])
        return (
            f"; the communication step of {self.step:g} s is too long: it moves '{worst}' by "
            f"{moved[worst]:.2g} standard errors; lower communication_step in [model]"
        )

    def as_object(self) -> dict[str, object]:
        """As it stands in the JSON of a fit."""
        return {
            "communication_step": self.step,
            "outputs": dict(self.outputs),
            "parameters": dict(self.shifts),
            "standard_errors": dict(self.in_errors),
        }


def discretisation(
    setup: Setup,
    objective: Objective,
    point: Point,
    known: Accuracy,
    held: Flags,
) -> Discretisation | None:
    """The error of the communication step at the estimate; none where there is no such step."""
    step = setup.study.model.communication
    if step is None:
        return None
    halved = setup.calibration(replace(setup.study.solver, max_step=0.5 * step))
    finer = Objective(halved, objective.criterion)
    here, there = objective.predict(point.values), _outputs(finer, point.values)
    if isinstance(here, Failure) or isinstance(there, Failure):
        return Discretisation(step, {}, {}, {})
    # the slopes change as little as the outputs do, and cost far more
    slopes = [h.slope for h in here]
    fine = finer.at(point.q, [Prediction(t.value, s) for t, s in zip(there, slopes, strict=True)])
    if isinstance(fine, Failure):
        return Discretisation(step, {}, {}, {})
    outputs: dict[str, float] = {}
    for block, coarse, exact in zip(objective.blocks, here, there, strict=True):
        size = float(np.linalg.norm(exact.value)) or 1.0
        error = FIRST_ORDER * float(np.linalg.norm(coarse.value - exact.value)) / size
        outputs[block.measured.name] = max(outputs.get(block.measured.name, 0.0), error)
    free = ~held & known.identifiable
    moved = np.zeros(len(free))
    if free.any():
        moved[free] = np.linalg.lstsq(fine.R[:, free], -fine.b, rcond=None)[0]
        moved[free] -= np.linalg.lstsq(point.R[:, free], -point.b, rcond=None)[0]
    moved = FIRST_ORDER * np.abs(moved * objective.unknowns.slopes(point.q))
    labels = [u.label for u in objective.unknowns.items]
    errors = np.where(known.stderr > 0, known.stderr, np.inf)
    return Discretisation(
        step,
        outputs,
        {n: float(moved[k]) for k, n in enumerate(labels) if free[k]},
        {n: float(moved[k] / errors[k]) for k, n in enumerate(labels) if free[k]},
    )


def _outputs(objective: Objective, values: Vector) -> list[Prediction] | Failure:
    """The outputs; their slopes are left at zero where the model can do without them."""
    for predictor in objective.predictors:
        if isinstance(predictor, CasePredictor) and isinstance(predictor.response, FmuResponse):
            predictor.response = predictor.response.without_derivatives()
    return objective.predict(values)
