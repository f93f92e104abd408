"""Pattern search of R. Hooke and T. A. Jeeves (Journal of the ACM 8, 1961), as pymoo has it."""

from __future__ import annotations

from estimica.base.arrays import Vector
from estimica.optimise.methods.box import box_around
from estimica.optimise.methods.pymoo import library, single_objective
from estimica.optimise.methods.stop import SearchEnd, Stop, require_no_limits
from estimica.optimise.problem import OptimisationProblem

#: of the box. Chosen: shorter than the 0.25 of pymoo, as the start means something
FIRST_STEP = 0.1


def pattern(problem: OptimisationProblem, start: Vector, stop: Stop) -> SearchEnd:
    """Steps along the tuners, and on along what has helped; no gradients, jumps do no harm."""
    library()
    from pymoo.algorithms.soo.nonconvex.pattern import PatternSearch
    from pymoo.optimize import minimize

    box = box_around(problem.unknowns, start)
    first = problem.at(start)
    assert first is not None
    require_no_limits("pattern", len(first.limits) + len(first.equalities))
    result = minimize(
        single_objective(problem, box),
        PatternSearch(x0=box.unit(start), init_delta=FIRST_STEP),
        ("n_eval", 100 * stop.max_iterations),
        seed=stop.seed,
        verbose=False,
    )
    iterations = int(result.algorithm.n_iter)
    return SearchEnd("converged", "no step along any tuner lowers the criteria", iterations)
