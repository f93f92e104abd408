"""Genetic algorithm of pymoo: a population within the bounds, for criteria with many valleys.

Population and generations are settings of the study; crossover and mutation are those of pymoo
(J. Blank and K. Deb, pymoo: Multi-Objective Optimization in Python, IEEE Access 8, 2020).
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.methods.box import Box, beside_edge, box_around
from estimica.optimise.methods.pymoo import library, single_objective
from estimica.optimise.methods.stop import SearchEnd, Stop
from estimica.optimise.problem import OptimisationProblem


def genetic(problem: OptimisationProblem, start: Vector, stop: Stop) -> SearchEnd:
    """Generations of designs, the start among the first."""
    library()
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.optimize import minimize

    box = box_around(problem.unknowns, start)
    problem.at(start)
    result = minimize(
        single_objective(problem, box),
        GA(
            pop_size=stop.population,
            sampling=first_generation(box, start, stop),
            eliminate_duplicates=True,
        ),
        ("n_gen", stop.max_iterations),
        seed=stop.seed,
        verbose=False,
    )
    message = "all generations were bred"
    edge = problem.best and beside_edge(problem.unknowns, box, problem.best.point.q)
    if edge:
        message += f"; the best is at the edge of where it looked: set bounds on {', '.join(edge)}"
    return SearchEnd("iteration limit", message, int(result.algorithm.n_iter))


def first_generation(box: Box, start: Vector, stop: Stop) -> Vector:
    """Shares of the box: the start, and others drawn."""
    generation = np.random.default_rng(stop.seed).random((stop.population, len(start)))
    generation[0] = np.clip(box.unit(start), 0, 1)
    return generation
