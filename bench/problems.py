"""The seven problems of the benchmark.

Each is given twice: as Modelica text, which our engine takes through its front door, and as CasADi
expressions, from which the other engines and the reference are set up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import casadi as ca
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
DEMO = HERE.parent / "src" / "estimica" / "apps" / "cli" / "demo"
RTOL = 1e-6


@dataclass(frozen=True, eq=False)
class Equations:
    """x' = f, 0 = g, y = y(t, x, z, p, u), x(0) = x0(p), in CasADi's symbols."""

    t: ca.SX
    x: ca.SX
    z: ca.SX
    p: ca.SX
    u: ca.SX
    f: ca.SX
    g: ca.SX
    y: ca.SX
    x0: ca.SX
    z0: Vector  # a guess

    @cached_property
    def S(self) -> ca.SX:
        """The symbol of dx/dp."""
        return ca.SX.sym("S", self.x.numel(), self.p.numel())

    @cached_property
    def Z(self) -> ca.SX:
        """dz/dp by the implicit function theorem."""
        if not self.z.numel():
            return ca.SX(0, self.p.numel())
        g_x, g_z, g_p = (ca.jacobian(self.g, v) for v in (self.x, self.z, self.p))
        return -ca.solve(g_z, g_x @ self.S + g_p)

    def rates(self, expression: ca.SX) -> ca.SX:
        """The total derivative of an expression with respect to p."""
        by_x, by_z, by_p = (ca.jacobian(expression, v) for v in (self.x, self.z, self.p))
        return ca.densify(by_x @ self.S + by_z @ self.Z + by_p)

    @property
    def start(self) -> ca.Function:
        """p -> x(0), dx(0)/dp."""
        return ca.Function(
            "start", [self.p], [ca.densify(self.x0), ca.densify(ca.jacobian(self.x0, self.p))]
        )

    @cached_property
    def unknowns(self) -> ca.Function:
        """(x, p, u) -> z by Newton's method from the guess."""
        given = ca.vertcat(self.x, self.p, self.u)
        root = ca.rootfinder("root", "fast_newton", {"x": self.z, "p": given, "g": self.g})
        x, p, u = (ca.MX.sym("v", s.numel()) for s in (self.x, self.p, self.u))
        return ca.Function("unknowns", [x, p, u], [root(self.z0, ca.vertcat(x, p, u))])

    def explicit(self) -> Equations:
        """Without the algebraic unknowns, where the equations are linear in them."""
        if not self.z.numel() or any(ca.which_depends(self.g, self.z, 2, True)):
            return self
        matrix = ca.jacobian(self.g, self.z)
        rest = ca.substitute(self.g, self.z, ca.SX.zeros(self.z.numel()))
        solved = -ca.solve(matrix, rest)
        f, y = ca.substitute([self.f, self.y], [self.z], [solved])
        none = ca.SX(0, 1)
        return Equations(
            self.t, self.x, none, self.p, self.u, f, none, y, self.x0, np.zeros(0)
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its tuners with their values, its inputs and the samples that are wanted."""

    name: str
    title: str
    file: Path
    tuners: dict[str, float]
    outputs: tuple[str, ...]
    equations: Equations
    grid: Vector  # inputs hold from grid[k] on; samples at all but the first
    inputs: dict[str, Vector]  # one value for each interval of the grid
    atol: float = 1e-8
    stiff: bool = False
    band: int = 0  # half the width of a banded df/dx; 0: dense
    linear: bool = False  # f is linear in x

    @property
    def times(self) -> Vector:
        """Of the samples."""
        return self.grid[1:]

    @property
    def theta(self) -> Vector:
        """Values of the tuners."""
        return np.array(list(self.tuners.values()))

    @cached_property
    def pieces(self) -> tuple[Vector, Vector]:
        """Where the inputs change, and their values from there on (nq, nu)."""
        n = len(self.grid) - 1
        columns = list(self.inputs.values())
        levels = np.column_stack(columns) if columns else np.zeros((n, 0))
        changed = np.flatnonzero(np.any(levels[1:] != levels[:-1], axis=1)) + 1
        keep = np.concatenate([[0], changed])
        return np.ascontiguousarray(self.grid[keep]), np.ascontiguousarray(levels[keep])

    @property
    def levels(self) -> Vector:
        """The inputs in each interval of the grid (n, nu)."""
        columns = list(self.inputs.values())
        return np.column_stack(columns) if columns else np.zeros((len(self.grid) - 1, 0))


def _symbols(nx: int, nz: int, n_tuners: int, nu: int) -> list[ca.SX]:
    sizes = {"t": 1, "x": nx, "z": nz, "p": n_tuners, "u": nu}
    return [ca.SX.sym(name, size) for name, size in sizes.items()]


def _held(rng: np.random.Generator, low: float, high: float, n: int, hold: int) -> Vector:
    """Random levels, each held for some samples."""
    return np.repeat(rng.uniform(low, high, -(-n // hold)), hold)[:n]


BOILER = {
    "T_D": 285.0, "T_R": 19.0, "A4": 0.26, "w_E": 10.0, "w_P": -10.0, "x10": 148.0, "x20": 28.0,
}  # fmt: skip


def boiler(name: str = "A", samples: int = 500, hold: int = 10) -> Problem:
    """The drum boiler, sampled every 2 s."""
    t, x, z, p, u = _symbols(2, 0, 7, 2)
    T_D, T_R, A4, w_E, w_P, x10, x20 = ca.vertsplit(p)
    uc, fc = ca.vertsplit(u)
    steam = 3.3 * uc * x[0]
    f = ca.vertcat(0.3 / T_D * (14 * fc - steam), 0.064 / T_R * (steam - 15 * x[1]))
    y = ca.vertcat(0.32 * (A4 * steam + (1 - A4) * 15 * x[1]) + w_E, x[0] + w_P)
    none = ca.SX(0, 1)
    rng = np.random.default_rng(0)
    return Problem(
        name,
        f"drum boiler, inputs change every {hold} samples" if hold > 1
        else "drum boiler, inputs change at every sample",
        DEMO / "DrumBoiler.mo",
        BOILER,
        ("E", "P"),
        Equations(t, x, z, p, u, f, none, y, ca.vertcat(x10, x20), np.zeros(0)),
        2.0 * np.arange(samples + 1),
        {"uc": _held(rng, 0.5, 0.9, samples, hold), "fc": _held(rng, 15, 35, samples, hold)},
    )  # fmt: skip


def four_states() -> Problem:
    """Four states, twelve tuners, two steps of the inputs."""
    t, x, z, p, u = _symbols(4, 0, 12, 2)
    a1, a2, b1, b2, c1, c2, d1, d2 = ca.vertsplit(p)[:8]
    x1, x2, x3, x4 = ca.vertsplit(x)
    f = ca.vertcat(
        -a1 * x1 * x3 + a2 * x2 + x3,
        -b1 * x1 - b2 * x2 + x4,
        -c1 * x3 + c2 * x4 + u[0],
        -d1 * x3 - d2 * x3 * x4 + u[1],
    )
    names = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40")
    values = (1, 3, 0.5, 0.9, 0.8, 1, 0.7, 0.3, 1, 1, 1, 1)
    grid = np.linspace(0, 40, 301)
    inputs = {n: (grid[:-1] >= at).astype(float) for n, at in (("u1", 5), ("u2", 25))}
    return Problem(
        "B",
        "four states, twelve tuners",
        EXAMPLES / "FourStates.mo",
        dict(zip(names, map(float, values), strict=True)),
        ("x1", "x2", "x3", "x4"),
        Equations(t, x, z, p, u, f, ca.SX(0, 1), x, p[8:], np.zeros(0)),
        grid,
        inputs,
    )


def robertson() -> Problem:
    """Robertson's reaction over ten decades of time."""
    t, x, z, p, u = _symbols(3, 0, 3, 0)
    r1, r2, r3 = p[0] * x[0], p[1] * x[1] ** 2, p[2] * x[1] * x[2]
    f = ca.vertcat(-r1 + r3, r1 - r2 - r3, r2)
    return Problem(
        "Rob",
        "Robertson's reaction, stiff",
        EXAMPLES / "Robertson.mo",
        {"k1": 0.04, "k2": 3e7, "k3": 1e4},
        ("A", "B", "C"),
        Equations(t, x, z, p, u, f, ca.SX(0, 1), x, ca.SX([1, 0, 0]), np.zeros(0)),
        np.concatenate([[0.0], np.logspace(-5, 5, 60)]),
        {},
        atol=1e-10,
        stiff=True,
    )


def heat_rod() -> Problem:
    """A rod of 100 cells in 20 stretches of unknown conductivity."""
    n, stretches = 100, 20
    t, x, z, p, u = _symbols(n, 0, stretches, 1)
    dx = 1 / n
    k = ca.vertcat(*(p[i * stretches // n] for i in range(n)))
    between = 2 / (1 / k[:-1] + 1 / k[1:]) * (x[:-1] - x[1:]) / dx
    q = ca.vertcat(2 * k[0] * (u[0] - x[0]) / dx, between, 2 * k[-1] * x[-1] / dx)
    grid = np.linspace(0, 4, 201)
    rng = np.random.default_rng(1)
    level = np.where(grid[:-1] < 1, 1.0, np.where(grid[:-1] < 2.5, 2.0, 0.5))
    return Problem(
        "Heat",
        "heat rod, 100 states, 20 tuners, stiff",
        EXAMPLES / "HeatRod.mo",
        {f"k[{i + 1}]": float(v) for i, v in enumerate(rng.uniform(0.5, 1.5, stretches))},
        tuple(f"y[{j + 1}]" for j in range(10)),
        Equations(
            t, x, z, p, u, (q[:-1] - q[1:]) / dx, ca.SX(0, 1), x[4::10], ca.SX.zeros(n), np.zeros(0)
        ),
        grid,
        {"u": level},
        stiff=True,
        band=1,
        linear=True,
    )


def circuit() -> Problem:
    """A circuit whose nonlinear resistor leaves an algebraic unknown."""
    t, x, z, p, u = _symbols(2, 1, 6, 1)
    R1, R2, C, L, RL, v0 = ca.vertsplit(p)
    v, iL, i = x[0], x[1], z[0]
    grid = np.linspace(0, 30, 301)
    return Problem(
        "Circ",
        "nonlinear circuit, a DAE",
        HERE / "models" / "ParallelCircuit.mo",
        {"R1": 1.0, "R2": 0.5, "C": 0.3, "L": 0.5, "RL": 2.0, "v0": 0.2},
        ("i", "v"),
        Equations(
            t,
            x,
            z,
            p,
            u,
            ca.vertcat((i - iL) / C, (v - RL * iL) / L),
            u[0] - v - (R1 * i + R2 * i**5),
            ca.vertcat(i, v),
            ca.vertcat(v0, 0),
            np.array([0.1]),
        ),
        grid,
        {"u": _held(np.random.default_rng(2), -5, 5, 300, 15)},
    )


def pendulum() -> Problem:
    """The index-reduced pendulum: four states and the pull of the rod."""
    t, x, z, p, u = _symbols(4, 1, 4, 0)
    L, g, d, phi0 = ca.vertsplit(p)
    X, Y, vx, vy = ca.vertsplit(x)
    ax, ay = -z[0] * X - d * vx, -z[0] * Y - g - d * vy
    return Problem(
        "Pend",
        "index-reduced pendulum, a DAE",
        HERE / "models" / "ReducedPendulum.mo",
        {"L": 1.0, "g": 9.81, "d": 0.1, "phi0": 1.2},
        ("x", "y", "lambda"),
        Equations(
            t,
            x,
            z,
            p,
            u,
            ca.vertcat(vx, vy, ax, ay),
            vx**2 + vy**2 + X * ax + Y * ay,
            ca.vertcat(X, Y, z),
            ca.vertcat(L * ca.sin(phi0), -L * ca.cos(phi0), 0, 0),
            np.array([5.0]),
        ),
        np.linspace(0, 10, 201),
        {},
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "A": boiler,
    "A1": lambda: boiler("A1", hold=1),
    "B": four_states,
    "Rob": robertson,
    "Heat": heat_rod,
    "Circ": circuit,
    "Pend": pendulum,
}
