"""Sequential quadratic programming; the largest criterion is bounded by a variable of its own.

    minimise α  subject to  w_i(q) ≤ α

turns the kinks of a maximum into smooth constraints, so that gradients say all there is to know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

from estimica.optimise.bounded import Bounded, bounded
from estimica.optimise.programme import Programme, Terms
from estimica.optimise.stop import Ended, Stop
from estimica.optimise.walls import Wall

Vector = npt.NDArray[np.float64]
FRESH_STARTS = 3  # with the curvature forgotten, where the line search finds no way down
GAIN = 1e-6  # relative, that is worth a fresh start

_ENDED = {
    0: ("converged", "the step promises no gain within the tolerance"),
    4: ("infeasible", "the limits contradict each other near the best design"),
    8: ("stalled", "no step lowers the criteria: they may jump here"),
    9: ("iteration limit", "the most iterations were made"),
}


def sqp(programme: Programme, start: Vector, stop: Stop) -> Ended:
    """SLSQP of SciPy, begun anew from the best design where it loses its way."""
    left = stop.max_iterations
    ended = Ended("stalled", "")
    q, used = start, 0
    for _ in range(FRESH_STARTS):
        before = programme.best_cost
        ended, made = _once(programme, q, stop, left)
        used, left = used + made, left - made
        gained = before - programme.best_cost
        if ended.status != "stalled" or left <= 0 or programme.best is None:
            break
        if not gained > GAIN * (1 + abs(programme.best_cost)):
            break
        q = programme.best.point.q
    return Ended(ended.status, ended.message, used)


def _once(programme: Programme, start: Vector, stop: Stop, iterations: int) -> tuple[Ended, int]:
    form = _Form(programme, start)
    found = minimize(
        form.objective,
        form.start,
        jac=form.objective_slope,
        bounds=form.bounds,
        constraints=form.constraints(),
        method="SLSQP",
        options={"ftol": stop.tolerance, "maxiter": iterations},
    )
    status, message = _ENDED.get(int(found.status), ("stalled", str(found.message)))
    return Ended(status, message), int(found.nit)


class _Form:
    """The programme as SLSQP takes it: x = (q, α) where criteria are bounded by α."""

    def __init__(self, programme: Programme, start: Vector) -> None:
        self.programme = programme
        self.wall = Wall(programme)
        first = self.wall.terms(start, slopes=True)
        assert first is not None  # the start was tried before
        self.n = len(start)
        several = len(first.objectives) > 1 or bool(first.counted.kept)
        self.bounded = programme.aggregate == "max" and several and len(first.objectives) > 0
        unknowns = programme.unknowns
        low, high = unknowns.lower, unknowns.upper
        self.start = start
        if self.bounded:
            self.start = np.append(start, first.objectives.max())
            low, high = np.append(low, -np.inf), np.append(high, np.inf)
        self.low, self.high = low, high
        self.bounds = Bounds(low, high)
        self._last: tuple[Vector, Bounded] | None = None

    def _terms(self, x: Vector) -> Terms | None:
        q = np.clip(x[: self.n], self.low[: self.n], self.high[: self.n])
        return self.wall.terms(q, slopes=True)

    def objective(self, x: Vector) -> float:
        if self.bounded:
            return float(x[-1])
        terms = self._terms(x)
        if terms is None:
            cost = np.array([self.programme.cost(self.wall.last)])
            return float(self.wall.height(cost)[0])
        return self.programme.cost(terms)

    def objective_slope(self, x: Vector) -> Vector:
        if self.bounded:
            return np.append(np.zeros(self.n), 1.0)
        return self.programme.cost_slope(self._terms(x) or self.wall.last)

    def constraints(self) -> list[dict[str, Any]]:
        """SLSQP wants what is at least zero."""
        first = self._all(self.start)
        found: list[dict[str, Any]] = []
        if len(first.at_most):
            found.append(
                {
                    "type": "ineq",
                    "fun": lambda x: -self._all(x).at_most,
                    "jac": lambda x: -self._all(x).at_most_slopes,
                }
            )
        if len(first.equal):
            found.append(
                {
                    "type": "eq",
                    "fun": lambda x: self._all(x).equal,
                    "jac": lambda x: self._all(x).equal_slopes,
                }
            )
        return found

    def _all(self, x: Vector) -> Bounded:
        if self._last is not None and np.array_equal(x, self._last[0]):
            return self._last[1]
        terms = self._terms(x)
        alpha = float(x[-1]) if self.bounded else None
        found = bounded(terms or self.wall.last, alpha)
        if terms is None:
            found = replace(
                found,
                at_most=self.wall.height(found.at_most),
                equal=self.wall.height(found.equal),
            )
        self._last = x.copy(), found
        return found
