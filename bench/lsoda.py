"""What people do: SciPy's LSODA with finite differences, restarted where inputs change."""

from __future__ import annotations

import time

import casadi as ca
import numpy as np
from engines import Engine
from problems import RTOL, Problem, Vector
from scipy.integrate import odeint

STEP = 1e-4  # relative, of each tuner


class Lsoda(Engine):
    """The right-hand side is CasADi's, so that no slow Python function counts against it."""

    name = "LSODA + differences"
    sees = "before"

    def __init__(self, problem: Problem) -> None:
        begun = time.perf_counter()
        self.problem = problem
        e = self.equations = problem.equations.explicit()
        if e.z.numel():
            rhs = ca.Function("rhs", [e.x, e.z, e.p, e.u], [ca.densify(e.f)])
            x, p, u = (ca.MX.sym("v", s.numel()) for s in (e.x, e.p, e.u))
            f = ca.Function("f", [x, p, u], [rhs(x, e.unknowns(x, p, u), p, u)])
        else:
            f = ca.Function("f", [e.x, e.p, e.u], [ca.densify(e.f)])
        self._output = ca.Function("y", [e.x, e.z, e.p, e.u], [ca.densify(e.y)])
        buffer, self._evaluate = f.buffer()
        self._x, self._p, self._u, self._f = (
            np.zeros(max(1, s.numel())) for s in (e.x, e.p, e.u, e.x)
        )
        for k, a in enumerate((self._x, self._p, self._u)):
            buffer.set_arg(k, memoryview(a))
        buffer.set_res(0, memoryview(self._f))
        self._kept = buffer
        self._stops = self._stretches()
        self.prepare_s = time.perf_counter() - begun

    def _stretches(self) -> list[tuple[Vector, Vector, slice]]:
        """Inputs, times from the start of the piece on, and which samples they are."""
        starts, values = self.problem.pieces
        times = self.problem.times
        found = []
        for q, begin in enumerate(starts):
            end = starts[q + 1] if q + 1 < len(starts) else times[-1]
            first, last = np.searchsorted(times, (begin, end), side="right")
            grid = np.concatenate([[begin], times[first:last]])
            found.append((values[q], grid, slice(int(first), int(last))))
        return found

    def _rhs(self, x: Vector, t: float) -> Vector:
        self._x[:] = x
        self._evaluate()
        return self._f

    def _simulate(self, theta: Vector) -> Vector:
        e, n = self.equations, len(self.problem.times)
        self._p[:] = theta
        x = np.array(e.start(theta)[0]).ravel()
        X = np.empty((n, len(x)))
        for u, grid, place in self._stops:
            self._u[: len(u)] = u
            band = {"ml": self.problem.band, "mu": self.problem.band} if self.problem.band else {}
            found = odeint(
                self._rhs, x, grid, rtol=RTOL, atol=self.problem.atol, mxstep=100_000, **band
            )
            X[place] = found[1:]
            x = found[-1]
        U = self.problem.levels.T
        P = np.repeat(theta[:, None], n, axis=1)
        Z = np.array(e.unknowns(X.T, P, U)) if e.z.numel() else np.zeros((0, n))
        return np.array(self._output(X.T, Z, P, U)).T

    def evaluate(self) -> None:
        """One run, and one more for each tuner."""
        theta = self.problem.theta
        self._Y = self._simulate(theta)
        columns = []
        for j, value in enumerate(theta):
            moved = theta.copy()
            moved[j] = value + STEP * abs(value)
            columns.append((self._simulate(moved) - self._Y) / (moved[j] - value))
        self._J = np.stack(columns, axis=2)

    def result(self) -> tuple[Vector, Vector]:
        """Samples and Jacobian of the last run."""
        return self._Y, self._J
