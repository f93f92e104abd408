"""Tight references for the benchmark's problems: states and variational equations by SciPy.

DOP853 for the plain problems, Radau for Robertson's, the matrix exponential for the heat rod, which
is linear. Results are kept in the benchmark's folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from problems import Equations, Problem, Vector
from scipy.integrate import solve_ivp
from scipy.linalg import expm

VERSION = 1
RTOL = 1e-11


@dataclass(frozen=True, eq=False)
class Reference:
    """Samples (N, ny) and Jacobians (N, ny, m), by what a sample at an input jump sees."""

    samples: dict[str, Vector]  # "before", "after"
    jacobians: dict[str, Vector]

    def errors(self, Y: Vector, J: Vector, sees: str) -> tuple[float, float]:
        """The largest errors of a sample and of a derivative, each signal over its own size."""
        return _relative(Y, self.samples[sees]), _relative(J, self.jacobians[sees])


def _relative(found: Vector, true: Vector) -> float:
    size = np.abs(true).max(axis=0)
    error = np.abs(found - true).max(axis=0)
    if not np.isfinite(found).all():
        return float("inf")
    return float(np.max(np.where(size > 0, error / np.where(size > 0, size, 1), error)))


def reference(problem: Problem, folder: Path) -> Reference:
    """The reference of a problem, computed once."""
    e = problem.equations
    described = "|".join(
        map(str, (VERSION, RTOL, e.f, e.g, e.y, e.x0, problem.theta, problem.pieces, problem.grid))
    )
    digest = hashlib.sha256(described.encode()).hexdigest()[:12]
    file = folder / f"reference-{problem.name}-{digest}.npz"
    if not file.exists():
        states = _linear(problem) if problem.linear else _stepped(problem)
        found = {}
        for sees in ("before", "after"):
            found[f"Y_{sees}"], found[f"J_{sees}"] = _sampled(problem, states, sees)
        np.savez(file, **found)
    with np.load(file) as kept:
        return Reference(
            {sees: kept[f"Y_{sees}"] for sees in ("before", "after")},
            {sees: kept[f"J_{sees}"] for sees in ("before", "after")},
        )


def _sampled(problem: Problem, states: Vector, sees: str) -> tuple[Vector, Vector]:
    """Outputs and Jacobians from the states and sensitivities (N, nx (1 + m)) at the samples."""
    e = problem.equations.explicit()
    output = ca.Function(
        "output", [e.t, e.x, e.S, e.z, e.p, e.u], [ca.densify(e.y), e.rates(e.y)]
    )  # fmt: skip
    unknowns = unknowns_of(e, problem.theta)
    nx, m, n = e.x.numel(), e.p.numel(), len(problem.times)
    Y, J = np.empty((n, e.y.numel())), np.empty((n, e.y.numel(), m))
    for k, (t, w) in enumerate(zip(problem.times, states, strict=True)):
        u = problem.levels[min(k + 1, n - 1) if sees == "after" else k]
        x, S = w[:nx], w[nx:].reshape(nx, m) / problem.theta
        y, dy = output(t, x, S, unknowns(x, u), problem.theta, u)
        Y[k], J[k] = np.array(y).ravel(), np.array(dy)
    return Y, J


def unknowns_of(e: Equations, theta: Vector) -> Callable[[Vector, Vector], Vector]:
    """A function (x, u) -> z that starts from where it was."""
    if not e.z.numel():
        return lambda x, u: np.zeros(0)
    root = ca.rootfinder(
        "z", "newton", {"x": e.z, "p": ca.vertcat(e.x, e.p, e.u), "g": e.g}, {"abstol": 1e-13}
    )  # fmt: skip
    last = [e.z0]

    def solve(x: Vector, u: Vector) -> Vector:
        last[0] = np.array(root(last[0], np.concatenate([x, theta, u]))).ravel()
        return last[0]

    return solve


def _variational(
    problem: Problem,
) -> tuple[Vector, Callable[[float, Vector, Vector], Vector], Callable[..., Vector]]:
    """Start, right-hand side and its Jacobian of [x; S·diag(θ)] row by row."""
    e, theta = problem.equations.explicit(), problem.theta
    nx, m = e.x.numel(), e.p.numel()
    scaled = ca.SX.sym("scaled", nx * m)
    S = ca.reshape(scaled, m, nx).T / ca.repmat(e.p.T, nx, 1)
    rates = ca.substitute(e.rates(e.f), e.S, S) * ca.repmat(e.p.T, nx, 1)
    w = ca.vertcat(e.x, scaled)
    whole = ca.vertcat(ca.densify(e.f), ca.vec(rates.T))
    rhs = ca.Function("rhs", [e.t, w, e.z, e.p, e.u], [ca.densify(whole)], {"cse": True})
    jacobian = ca.Function("J", [e.t, w, e.z, e.p, e.u], [ca.jacobian(whole, w)], {"cse": True})
    unknowns = unknowns_of(e, theta)
    x0, S0 = (np.array(a) for a in e.start(theta))

    def evaluate(t: float, w: Vector, u: Vector) -> Vector:
        return np.array(rhs(t, w, unknowns(w[:nx], u), theta, u)).ravel()

    def differentiate(t: float, w: Vector, u: Vector) -> Vector:
        return np.array(jacobian(t, w, unknowns(w[:nx], u), theta, u))

    return np.concatenate([x0.ravel(), (S0 * theta).ravel()]), evaluate, differentiate


def _stepped(problem: Problem) -> Vector:
    """From sample to sample, so that no interpolation spoils it."""
    w, evaluate, differentiate = _variational(problem)
    rows = []
    for k, t in enumerate(problem.times):
        u = problem.levels[k]
        more = (
            {"method": "Radau", "jac": lambda t, w, u=u: differentiate(t, w, u)}
            if problem.stiff
            else {"method": "DOP853"}
        )
        solved = solve_ivp(
            lambda t, w, u=u: evaluate(t, w, u), (problem.grid[k], t), w,
            rtol=RTOL, atol=1e-16 if problem.stiff else 1e-12, **more,
        )  # fmt: skip
        assert solved.success, solved.message
        w = solved.y[:, -1]
        rows.append(w)
    return np.array(rows)


def _linear(problem: Problem) -> Vector:
    """x' = A x + b u: [x; θ_j dx/dθ_j; u] moves by a matrix exponential, tuner by tuner."""
    e, theta = problem.equations, problem.theta
    nx, m = e.x.numel(), e.p.numel()
    A, b = ca.jacobian(e.f, e.x), ca.jacobian(e.f, e.u)
    value = ca.Function("value", [e.p], [ca.densify(A), ca.densify(b)])
    slope = [
        ca.Function("slope", [e.p], [ca.densify(_by(A, e.p[j])), ca.densify(_by(b, e.p[j]))])
        for j in range(m)
    ]
    A0, b0 = (np.array(a) for a in value(theta))
    width = np.diff(problem.grid)
    assert np.allclose(width, width[0])
    moves = []
    for j in range(m):
        dA, db = (theta[j] * np.array(a) for a in slope[j](theta))
        M = np.zeros((2 * nx + 1, 2 * nx + 1))
        M[:nx, :nx], M[:nx, -1:] = A0, b0
        M[nx:-1, :nx], M[nx:-1, nx:-1], M[nx:-1, -1:] = dA, A0, db
        moves.append(expm(M * width[0]))
    rows = np.zeros((len(width), nx * (1 + m)))
    x, S = np.zeros(nx), np.zeros((nx, m))
    for k in range(len(width)):
        u = problem.levels[k]
        after = [move @ np.concatenate([x, S[:, j], u]) for j, move in enumerate(moves)]
        x, S = after[0][:nx], np.column_stack([a[nx:-1] for a in after])
        rows[k] = np.concatenate([x, S.ravel()])
    return rows


def _by(matrix: ca.SX, symbol: ca.SX) -> ca.SX:
    return ca.reshape(ca.jacobian(ca.vec(ca.densify(matrix)), symbol), *matrix.shape)
