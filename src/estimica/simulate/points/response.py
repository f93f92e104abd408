"""PointResponse: operating points with tuners chosen, to be evaluated at many of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.numeric import failed_call, forget_failure
from estimica.simulate.engine.status import ALGEBRAIC, CHECK_VIOLATED, DONE, NOT_FINITE_OUTPUT
from estimica.simulate.points.search import PointSearch
from estimica.simulate.points.solution import PointSolution

_TOLD = 3


@dataclass(frozen=True)
class PointFailure:
    """A point without a solution: its number as the data count it, its inputs, and why."""

    number: int
    inputs: Mapping[str, float]
    reason: str

    @property
    def text(self) -> str:
        """The failure as half a sentence."""
        given = ", ".join(f"{n} = {v:g}" for n, v in self.inputs.items())
        return f"point {self.number}{f' ({given})' if given else ''}: {self.reason}"


@dataclass(frozen=True, eq=False)
class PointRun:
    """Outputs and derivatives at all points; those that failed hold NaN."""

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    unknowns: Vector  # (N, nz): states and algebraic unknowns
    status: int = DONE
    failures: tuple[PointFailure, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether every point was computed."""
        return self.status == DONE

    @property
    def text(self) -> str:
        """What happened, in words."""
        if self.ok:
            return "all points computed"
        shown = "; ".join(f.text for f in self.failures[:_TOLD])
        more = len(self.failures) - _TOLD
        return shown + (f"; and {more} more points" if more > 0 else "")


class PointResponse:
    """y(points; θ) and, where there are tuners, its exact Jacobian.

    Every evaluation begins from the solution at the first one, so that what comes out does not
    depend on what was asked before.
    """

    def __init__(
        self,
        search: PointSearch,
        times: Vector,
        u: Vector,
        values: Vector,
        names: Sequence[str],
    ) -> None:
        self.search = search
        self.times = times
        self.u = u
        self.values = values
        self._names = names  # of the inputs, those that are told
        tuning = search.system.tuning
        self._index = np.array([tuning.index[c.name] for c in tuning.wrt], dtype=int)
        self._sign = np.array([c.sign for c in tuning.wrt])
        self._known: tuple[Vector, PointSolution] | None = None

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up."""
        tuners: Vector = self.values[self._index] * self._sign
        return tuners

    def at(self, theta: Vector | None = None) -> PointRun:
        """Outputs and derivatives at tuner values `theta`."""
        theta = self.tuners if theta is None else np.asarray(theta, np.float64)
        return self.run(theta, self.u)

    def run(self, theta: Vector, u: Vector) -> PointRun:
        """The same at other inputs (N, nu)."""
        forget_failure()
        values = self.values.copy()
        values[self._index] = theta * self._sign
        P = self.search.system.constants(values, u[0])
        known = self._known
        if not self.search.system.nz or known is None:
            solution, problems = self.search.first(values, P, u)
        else:
            begun, reference = known
            solution, problems = self.search.near(
                values, P, reference, u, self._predicted(theta - begun, reference, u)
            )
        if known is None and not problems and self.search.system.nz:
            self._known = theta.copy(), solution
        return self._told(solution, problems)

    def _predicted(self, change: Vector, known: PointSolution, u: Vector) -> Vector:
        """The unknowns to first order in the tuners and moving inputs."""
        moving = self.search.system.moving
        if not moving:
            return known.Z + known.W @ change if len(change) else known.Z
        moves = np.hstack([np.tile(change, (len(u), 1)), (u - known.u)[:, list(moving)]])
        found: Vector = known.Z + np.einsum("kij,kj->ki", known.W, moves)
        return found

    def _told(self, solution: PointSolution, problems: dict[int, str]) -> PointRun:
        Y, YS = solution.Y, solution.YS
        status = ALGEBRAIC if problems else DONE
        checks = solution.checks()
        if checks.size:
            for k in map(int, np.flatnonzero((checks < 0).any(axis=1))):
                if k not in problems:
                    problems[k] = self._assertion(int(np.flatnonzero(checks[k] < 0)[0]))
                    status = CHECK_VIOLATED
        for k in problems:
            Y[k], YS[k] = np.nan, np.nan
        if not np.isfinite(Y.sum() + YS.sum()):  # one pass where nothing is wrong
            finite = np.isfinite(Y).all(axis=1) & np.isfinite(YS).all(axis=(1, 2))
            for k in map(int, np.flatnonzero(~finite)):
                if k not in problems:
                    problems[k] = self._not_finite(Y[k], YS[k])
                    status = NOT_FINITE_OUTPUT
        if problems and failed_call():
            problems[min(problems)] += f"; the last call that failed: {failed_call()}"
        failures = tuple(
            PointFailure(int(self.times[k]), self._inputs(solution.u[k]), problems[k])
            for k in sorted(problems)
        )
        return PointRun(self.times, Y, YS, solution.Z, status, failures)

    def _inputs(self, u: Vector) -> dict[str, float]:
        names = self.search.system.tuning.equations.system.inputs
        given = dict(zip(names, map(float, u), strict=True))
        return {n: given[n] for n in self._names}

    def _assertion(self, k: int) -> str:
        system = self.search.system.tuning.equations.system
        failing = [a for a in system.assertions if a.fails]
        return f"assertion violated: {failing[k].message}" if k < len(failing) else "assertion"

    def _not_finite(self, y: Vector, slopes: Vector) -> str:
        s = self.search.system
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            return f"output '{s.outputs[bad[0]]}' is not finite"
        row, column = np.argwhere(~np.isfinite(slopes))[0]
        names = [c.name for c in s.tuning.wrt]
        by = f" by '{names[column]}'" if column < len(names) else ""
        return f"the derivative of output '{s.outputs[row]}'{by} is not finite"


class PointInputResponse:
    """y(points; θ, u) with its exact derivatives by the tuners θ and by inputs u that move."""

    def __init__(self, inner: PointResponse) -> None:
        self._inner = inner

    def at(self, theta: Vector, inputs: Vector) -> PointRun:
        """Values and derivatives at tuner values `theta` and `inputs` (k, N)."""
        u = self._inner.u.copy()
        u[:, list(self._inner.search.system.moving)] = np.asarray(inputs, np.float64).T
        return self._inner.run(np.asarray(theta, np.float64), u)
