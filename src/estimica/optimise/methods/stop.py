"""Stop: when a search ends, and how it ended.

Criteria of simulated trajectories are not worth more digits than an engineer reads; formulas are.
So a search of the former ends where it has gained too little for too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.problem import OptimisationProblem
from estimica.study.tables.optimisation import OptimiseTable

#: Tolerances of formulas, and of what is simulated: about the root of the rounding error, below
#: which costs beside a minimum do not differ (Gill, Murray and Wright, Practical Optimization,
#: 1981, section 8.2), and the usual relative tolerance of a simulation.
FINE, COARSE = 1e-8, 1e-6
#: What simulated criteria must gain, relative, and within how many designs. Chosen: a tenth of the
#: last of the three digits that an engineer reads; some line searches of SLSQP. With them the 120
#: random designs of tests/optimise come within 1 % of differential evolution.
GAIN = 1e-4
PATIENCE = 12


@dataclass(frozen=True)
class Stop:
    """When a search ends by itself."""

    tolerance: float = 1e-8
    max_iterations: int = 100
    population: int = 40
    seed: int = 1


@dataclass(frozen=True)
class SearchEnd:
    """How it ended: a status of one word or two, and what happened."""

    status: str
    message: str
    iterations: int = 0


#: a method: from a problem and a start to how it ended
Search = Callable[[OptimisationProblem, Vector, Stop], SearchEnd]


def require_no_limits(method: str, limits: int) -> None:
    """Refuse criteria that are limits where a method cannot keep to them."""
    if limits:
        raise DesignError(
            "O020",
            f"method '{method}' knows bounds but no limits; take method 'sqp', or give the "
            'criteria role = "minimise"',
        )


def patience(places: Sequence[CriterionInCase], table: OptimiseTable) -> tuple[int | None, float]:
    """(designs, relative gain): not for formulas, nor where a tolerance is asked for."""
    simulated = any(p.criterion.kind != "value" for p in places)
    if table.tolerance is not None or not simulated or table.method not in ("sqp", "quasi-newton"):
        return None, 0.0
    return PATIENCE, GAIN


def tolerance(designs: int | None, table: OptimiseTable) -> float:
    """Relative change that ends a method by itself."""
    if table.tolerance is not None:
        return table.tolerance
    return FINE if designs is None else COARSE
