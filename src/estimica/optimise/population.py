"""Designs for pymoo: the unit cube in, one cost and the limits out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.base.errors import DesignError
from estimica.optimise.box import Box
from estimica.optimise.programme import Programme

Vector = npt.NDArray[np.float64]
WALL = 1e12  # cost of a design that cannot be simulated
SLACK = 1e-6  # by which an equality may be missed, in units of its demand


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
    found: ModuleType = pymoo
    return found


def single_objective(programme: Programme, box: Box) -> Any:
    """The programme as a pymoo problem."""
    library()
    from pymoo.core.problem import ElementwiseProblem

    n = len(box.low)
    first = programme.best
    assert first is not None  # the start was tried before
    limited = len(first.limits) + len(first.equalities)

    class Designs(ElementwiseProblem):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(n_var=n, n_obj=1, n_ieq_constr=limited, xl=np.zeros(n), xu=np.ones(n))

        def _evaluate(self, x: Vector, out: dict[str, Any], *_: Any, **__: Any) -> None:
            terms = programme.at(box.coordinates(np.asarray(x, float)))
            if terms is None:
                out["F"], out["G"] = WALL, np.full(limited, WALL)
                return
            out["F"] = programme.cost(terms)
            out["G"] = np.concatenate([terms.limits, np.abs(terms.equalities) - SLACK])

    return Designs()
