"""Coarseness: whether tighter tolerances of the simulation would move the estimate."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.identify.accuracy import Accuracy
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.run import Limits, Status, search

#: shift of an estimate by the simulation's error that is worth a word: in standard errors, relative
SHIFTED = (0.2, 1e-4)
#: damping of a search that begins at its end, relative to the Jacobian's largest column
NEAR = 1e-6
#: iterations of the refit: from the optimum it takes 2 to 5 (measured on 200 chains of reactions)
REFIT = Limits(max_iterations=30)


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
