"""A collocation written by hand in CasADi: Radau points, IPOPT, a Gauss-Newton Hessian."""

from __future__ import annotations

import time

import casadi as ca
import numpy as np
from fit_cases import FitCase
from fit_peers import Peer, Simulation
from problems import Vector

DEGREE = 3


class Collocation(Peer):
    """All states at all points are unknowns; their equations are constraints."""

    name = "CasADi collocation"

    def __init__(self, case: FitCase) -> None:
        begun = time.perf_counter()
        self.case = case
        self.simulation = Simulation(case, by_odeint=True)
        starts, values = case.problem.pieces
        grid = np.unique(np.concatenate([[0.0], starts, case.times]))
        for _ in range(case.halvings):
            grid = np.sort(np.concatenate([grid, (grid[1:] + grid[:-1]) / 2]))
        after = [begin + (grid[grid > begin][0] - begin) * 0.5**k
                 for begin in starts for k in range(1, case.graded + 1)]  # fmt: skip
        grid = np.union1d(grid, after)
        self.grid = grid
        self.inputs = values[np.searchsorted(starts, grid[:-1], side="right") - 1]
        self.scale = np.abs(case.theta)
        self._build()
        self.prepare_s = time.perf_counter() - begun

    def _build(self) -> None:
        case, e = self.case, self.case.problem.equations
        nx, n, m = e.x.numel(), len(self.grid) - 1, len(self.scale)
        element = self._element()
        Q, X0, W = ca.MX.sym("Q", m), ca.MX.sym("X0", nx), ca.MX.sym("W", nx * DEGREE, n)
        theta = Q * self.scale
        before = ca.horzcat(X0, W[(DEGREE - 1) * nx :, :-1])
        G = element.map(n)(
            before, W, ca.repmat(theta, 1, n), ca.DM(self.inputs.T), ca.DM(np.diff(self.grid)).T
        )
        sampled = [int(k) for k in np.searchsorted(self.grid, case.times) - 1]
        y = ca.Function("y", [e.x, e.p, e.u], [ca.densify(e.y)])
        U = self._at_samples()
        Y = y.map(len(sampled))(
            W[(DEGREE - 1) * nx :, sampled], ca.repmat(theta, 1, len(sampled)), ca.DM(U.T)
        )
        R = ca.vec(
            (Y - ca.DM(case.data.T)) * ca.DM(np.repeat(case.weights[:, None], Y.shape[1], 1))
        )
        w = ca.vertcat(Q, X0, ca.vec(W))
        start = ca.Function("start", [e.p], [ca.densify(e.x0)])
        g = ca.vertcat(X0 - start(theta), ca.vec(G))
        J = ca.jacobian(R, w)
        factor, multiplier = ca.MX.sym("f"), ca.MX.sym("g", g.numel())
        hessian = ca.Function(
            "nlp_hess_l", [w, ca.MX(0, 1), factor, multiplier], [2 * factor * ca.triu(J.T @ J)],
            ["x", "p", "lam_f", "lam_g"], ["hess_gamma_x_x"],
        )  # fmt: skip
        self._solve = ca.nlpsol(
            "solve", "ipopt", {"x": w, "f": ca.sumsqr(R), "g": g},
            {"hess_lag": hessian, "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes",
             "ipopt.tol": 1e-8, "ipopt.max_iter": 200, "ipopt.max_wall_time": 120.0},
        )  # fmt: skip

    def _element(self) -> ca.Function:
        """The collocation equations of one element."""
        e = self.case.problem.equations
        nx = e.x.numel()
        C, _, _ = ca.collocation_coeff(ca.collocation_points(DEGREE, "radau"))
        f = ca.Function("f", [e.x, e.p, e.u], [ca.densify(e.f)])
        x, V, h = ca.SX.sym("x", nx), ca.SX.sym("V", nx * DEGREE), ca.SX.sym("h")
        slopes = ca.horzcat(x, ca.reshape(V, nx, DEGREE)) @ C
        rows = [
            slopes[:, j] - h * f(V[j * nx : (j + 1) * nx], e.p, e.u) for j in range(DEGREE)
        ]  # fmt: skip
        return ca.Function("element", [x, V, e.p, e.u, h], [ca.vertcat(*rows)])

    def _at_samples(self) -> Vector:
        starts, values = self.case.problem.pieces
        return values[np.searchsorted(starts, self.case.times, side="right") - 1]

    def search(self) -> tuple[Vector, float, int, int]:
        """From the states of a simulation at the start."""
        case = self.case
        theta = case.theta
        X = self.simulation.states(theta)
        first = np.array(case.problem.equations.start(theta)[0]).ravel()
        known = np.concatenate([[0.0], case.times])
        every = np.vstack([first, X])
        ends = np.column_stack([np.interp(self.grid[1:], known, x) for x in every.T])
        guess = np.concatenate([theta / self.scale, first, np.tile(ends, (1, DEGREE)).ravel()])
        low, high = (np.full(len(guess), b) for b in (-np.inf, np.inf))
        low[: len(theta)], high[: len(theta)] = (b / self.scale for b in case.bounds)
        found = self._solve(x0=guess, lbg=0, ubg=0, lbx=low, ubx=high)
        statistics = self._solve.stats()
        values = np.array(found["x"]).ravel()[: len(theta)] * self.scale
        return values, float(found["f"]), 1, int(statistics["iter_count"])
