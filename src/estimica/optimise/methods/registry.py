"""Methods: each takes a programme and a start, and goes on until nothing is gained.

All of them come from maintained libraries: SLSQP, L-BFGS-B and COBYLA from SciPy, pattern search
and the genetic algorithm from pymoo. The programme counts, remembers the best design and ends a
search that has had enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from estimica.base.arrays import Vector
from estimica.optimise.methods.genetic import genetic
from estimica.optimise.methods.pattern import pattern
from estimica.optimise.methods.quasi_newton import quasi_newton
from estimica.optimise.methods.simplex import simplex
from estimica.optimise.methods.sqp import sqp
from estimica.optimise.methods.stop import SearchEnd, Stop
from estimica.optimise.problem import OptimisationProblem
from estimica.study.tables.optimisation import DesignMethod

Search = Callable[[OptimisationProblem, Vector, Stop], SearchEnd]


@dataclass(frozen=True)
class MethodFacts:
    """A search and what it can do."""

    search: Search
    gradients: bool
    constraints: bool


METHODS: dict[DesignMethod, MethodFacts] = {
    "sqp": MethodFacts(sqp, gradients=True, constraints=True),
    "quasi-newton": MethodFacts(quasi_newton, gradients=True, constraints=False),
    "pattern": MethodFacts(pattern, gradients=False, constraints=False),
    "simplex": MethodFacts(simplex, gradients=False, constraints=True),
    "genetic": MethodFacts(genetic, gradients=False, constraints=True),
}
