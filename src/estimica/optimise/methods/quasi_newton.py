"""Quasi-Newton with bounds: L-BFGS-B of SciPy on one smooth number of the criteria."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from estimica.base.arrays import Vector
from estimica.optimise.methods.stop import SearchEnd, Stop, require_no_limits
from estimica.optimise.problem import FailurePenalty, OptimisationProblem


def quasi_newton(problem: OptimisationProblem, start: Vector, stop: Stop) -> SearchEnd:
    """Minimise the smooth maximum, or the sum; limits are for the other methods."""
    wall = FailurePenalty(problem)
    first = wall.terms(start, slopes=True)
    assert first is not None
    require_no_limits("quasi-newton", len(first.limits) + len(first.equalities))
    unknowns = problem.unknowns

    def cost(q: Vector) -> tuple[float, Vector]:
        terms = wall.terms(np.clip(q, unknowns.lower, unknowns.upper), slopes=True)
        if terms is None:
            last = np.array([problem.cost(wall.last)])
            return float(wall.height(last)[0]), problem.cost_slope(wall.last)
        return problem.cost(terms), problem.cost_slope(terms)

    result = minimize(
        cost,
        start,
        jac=True,
        bounds=Bounds(unknowns.lower, unknowns.upper),
        method="L-BFGS-B",
        options={
            "maxiter": stop.max_iterations,
            "maxfun": 20 * stop.max_iterations,
            "ftol": max(stop.tolerance**2, 2e-16),
            "gtol": stop.tolerance,
        },
    )
    if result.success:
        return SearchEnd("converged", "the slope is zero within the tolerance", int(result.nit))
    if "LIMIT" in str(result.message).upper():
        return SearchEnd("iteration limit", "the most iterations were made", int(result.nit))
    return SearchEnd("stalled", "no step lowers the criteria: they may jump here", int(result.nit))
