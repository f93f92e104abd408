"""Designs for pymoo: the unit cube in, costs and limits out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.optimise.methods.box import Box
from estimica.optimise.problem import Evaluation, OptimisationProblem

#: cost of a design that cannot be simulated: only compared, so that anything above all costs does
WALL = 1e12
SLACK = 1e-6  # by which an equality may be missed, in units of its demand: as `problem.FEASIBLE`


def library() -> ModuleType:
    """pymoo, or a plain word about how to get it."""
    try:
        import pymoo
        from pymoo.config import Config
    except ImportError:
        raise DesignError(
            "O021", "this method needs pymoo; install it with: pip install 'estimica[optimise]'"
        ) from None
    Config.warnings["not_compiled"] = False
    module: ModuleType = pymoo
    return module


def single_objective(problem: OptimisationProblem, box: Box) -> Any:
    """The problem as pymoo states one: its cost."""
    return _problem(problem, box, 1, lambda terms: np.array([problem.cost(terms)]))


def several_objectives(
    problem: OptimisationProblem, box: Box, count: int, objectives: Callable[[Evaluation], Vector]
) -> Any:
    """The problem as pymoo states one, with `count` objectives."""
    return _problem(problem, box, count, objectives)


def _problem(
    problem: OptimisationProblem, box: Box, count: int, objectives: Callable[[Evaluation], Vector]
) -> Any:
    library()
    from pymoo.core.problem import Problem

    n = len(box.low)
    first = problem.best
    assert first is not None  # the start was tried before
    limited = len(first.limits) + len(first.equalities)

    class Designs(Problem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(
                n_var=n, n_obj=count, n_ieq_constr=limited, xl=np.zeros(n), xu=np.ones(n)
            )

        def _evaluate(self, x: Vector, out: dict[str, Any], *_: Any, **__: Any) -> None:
            rows = np.atleast_2d(np.asarray(x, float))
            evaluations = problem.at_all([box.coordinates(row) for row in rows])
            out["F"] = np.full((len(rows), count), WALL)
            out["G"] = np.full((len(rows), limited), WALL)
            for k, terms in enumerate(evaluations):
                if terms is not None:
                    out["F"][k] = objectives(terms)
                    out["G"][k] = np.concatenate([terms.limits, np.abs(terms.equalities) - SLACK])

    return Designs()
