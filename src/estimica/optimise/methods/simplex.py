"""Powell's COBYLA of SciPy: linear models of criteria and limits on a simplex that shrinks.

M. J. D. Powell, A direct search optimization method that models the objective and constraint
functions by linear interpolation, in: Advances in Optimization and Numerical Analysis, 1994.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, minimize

from estimica.base.arrays import Vector
from estimica.optimise.methods.poll import sizes
from estimica.optimise.methods.stop import SearchEnd, Stop
from estimica.optimise.problem import FEASIBLE, Evaluation, FailurePenalty, OptimisationProblem

#: the first change of each tuner, in coordinates of size one. Chosen: a fifth of the 1 that SciPy
#: takes, so that the first simplex stays around what a start means
FIRST_STEP = 0.2
POLISH_STEP = 0.05  # relative, as a step of the poll
POLISHED = 1e-3  # of the design: a poll's shortest step


def simplex(problem: OptimisationProblem, start: Vector, stop: Stop) -> SearchEnd:
    """Minimise without gradients; the largest criterion is bounded by a variable of its own."""
    return linear_models(problem, start, np.ones(len(start)), FIRST_STEP, stop)


def polish(problem: OptimisationProblem, stop: Stop) -> None:
    """Linear models in steps relative to the best design: they see a narrow way between limits
    that no single direction of a poll does."""
    best = problem.best
    assert best is not None
    brief = replace(stop, tolerance=POLISHED, max_iterations=1)
    q = best.point.q
    with problem.patient():
        linear_models(problem, q, sizes(problem.unknowns, q), POLISH_STEP, brief)


def linear_models(
    problem: OptimisationProblem, start: Vector, size: Vector, first_step: float, stop: Stop
) -> SearchEnd:
    """COBYLA in coordinates over `size`."""
    wall = FailurePenalty(problem)
    first = wall.terms(start)
    assert first is not None
    unknowns, n = problem.unknowns, len(start)
    bounded = problem.aggregate == "max" and len(first.objectives) > 1
    low, high, begun = unknowns.lower / size, unknowns.upper / size, start / size
    if bounded:
        begun = np.append(begun, first.objectives.max())
        low, high = np.append(low, -np.inf), np.append(high, np.inf)

    def terms(x: Vector) -> Evaluation | None:
        return wall.terms(np.clip(x[:n] * size, unknowns.lower, unknowns.upper))

    def objective(x: Vector) -> float:
        if bounded:
            return float(x[-1])
        design = terms(x)
        if design is None:
            return float(wall.height(np.array([problem.cost(wall.last)]))[0])
        return problem.cost(design)

    def limits(x: Vector) -> Vector:
        design = terms(x)
        if design is None:
            return -wall.height(_limits(wall.last, float(x[-1]), bounded))
        return -_limits(design, float(x[-1]), bounded)

    constraints = []
    if bounded or len(first.limits) or len(first.equalities):
        constraints.append({"type": "ineq", "fun": limits})
    result = minimize(
        objective,
        begun,
        method="COBYLA",
        bounds=Bounds(low, high),
        constraints=constraints,
        tol=stop.tolerance,
        options={"rhobeg": first_step, "maxiter": 100 * stop.max_iterations},
    )
    tried = int(getattr(result, "nfev", 0))
    if result.success:
        return SearchEnd("converged", "the simplex has shrunk to the tolerance", tried)
    if problem.best is not None and problem.best.violation > FEASIBLE:
        return SearchEnd("stalled", "no design within the limits was found from this start", tried)
    return SearchEnd("iteration limit", "the most designs were tried", tried)


def _limits(terms: Evaluation, alpha: float, bounded: bool) -> Vector:
    """What must not be positive; an equality counts from both sides."""
    parts = [terms.limits, terms.equalities, -terms.equalities]
    if bounded:
        parts.append(terms.objectives - alpha)
    return np.concatenate(parts)
