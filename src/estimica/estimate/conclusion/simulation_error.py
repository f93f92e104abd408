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
from estimica.compiled.model.interface import DifferencedResponse
from estimica.estimate.identify.accuracy import Accuracy
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import CasePredictor, Failure, Prediction
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.run import Limits, Status, search
from estimica.estimate.setup import Setup

#: error of a step over the change by halving it: a Co-Simulation with held inputs is of first order
FIRST_ORDER = 2.0
#: standard errors: an interval is then 2 % wider if the shift is counted in (√(1 + 0.2²))
WORTH_A_WORD = 0.2
#: shift of an estimate by the simulation's error that is worth a word: in standard errors, relative
SHIFTED = (0.2, 1e-4)
#: damping of a search that begins at its end, relative to the Jacobian's largest column: as that of
#: Nielsen (1999) for a good start
NEAR = 1e-6
#: iterations of the refit: from the optimum it takes 2 to 5 (measured on 200 chains of reactions)
REFIT = Limits(max_iterations=30)


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
        text = (
            f"The communication step was {self.step:g} s. By halving it, its error is at most "
            f"about {100 * self.outputs[worst]:.2g} % in '{worst}'"
        )
        if not self.shifts:
            return f"{text}."
        moved = max(self.shifts, key=lambda n: self.in_errors[n])
        return (
            f"{text}, and it moves '{moved}' by {self.shifts[moved]:.2g}, "
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
        response = predictor.response if isinstance(predictor, CasePredictor) else None
        if isinstance(response, DifferencedResponse):
            predictor.response = response.without_derivatives()
    return objective.predict(values)


# --- Coarseness: whether tighter tolerances of the simulation would move the estimate.


def too_coarse(finer: Objective, point: Point, fine: Point, known: Accuracy, held: Flags) -> str:
    """A word where the estimate moves if the simulation is more accurate.

    `finer` is the objective with tighter tolerances and `fine` its value at the estimate. The step
    of Gauss and Newton there only says that it is worth looking: in a direction that the data
    hardly determine, slopes that are wrong in the sixth digit promise shifts of several standard
    errors (20 of 200 chains of reactions, with 0.2 to 2.6 standard errors promised and less than
    0.002 true). What is told is found by fitting again.
    """
    free = ~held & known.identifiable
    if not free.any() or not _moved(_promised(finer, fine, free), point, known, free).any():
        return ""
    again = search(finer, LevenbergMarquardt(NEAR), point.q, REFIT, held=held)
    if again.point is None or again.status is not Status.CONVERGED:
        return ""
    # along a valley an estimate may go far and gain nothing
    gained = fine.cost - again.point.cost
    if gained <= SHIFTED[0] ** 2 * fine.square / finer.n_samples:
        return ""
    errors = _moved(np.abs(again.point.values - point.values), point, known, free)
    if not errors.any():
        return ""
    worst = int(np.argmax(errors))
    return (
        f"; the simulation is too coarse: tighter tolerances move "
        f"'{finer.unknowns.items[worst].label}' by {errors[worst]:.2g} standard errors; "
        "lower rtol and atol in [solver], or give small states a nominal value"
    )


def _promised(finer: Objective, fine: Point, free: Flags) -> Vector:
    """How far a step of Gauss and Newton would go, in physical units."""
    step = np.zeros(len(free))
    step[free] = np.linalg.lstsq(fine.R[:, free], -fine.b, rcond=None)[0]
    return np.abs(step * finer.unknowns.slopes(fine.q))


def _moved(shift: Vector, point: Point, known: Accuracy, free: Flags) -> Vector:
    """Shifts that are worth a word in standard errors; zero where they are not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(free, shift / known.stderr, 0.0)
        relative = np.where(free, shift / np.abs(point.values), 0.0)
    worth = (errors > SHIFTED[0]) & (relative > SHIFTED[1])
    return np.where(worth, errors, 0.0)
