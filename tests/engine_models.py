"""Small models written directly as HybridSystems, with closed forms where they have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import Kernel, build_kernel
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import RunStart, integrate

t = ca.SX.sym("t")


def sym(name: str, n: int = 1) -> ca.SX:
    return ca.SX.sym(name, n)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, what it is run with, and the exact solution y(times, theta) where there is one."""

    hybrid: HybridSystem
    outputs: ca.SX
    theta: Vector
    times: Vector
    pieces: Pieces
    exact: Callable[[Vector, npt.NDArray[np.complex128]], npt.NDArray[np.complex128]] | None = None

    def kernel(self, sensitivities: bool = True) -> Kernel:
        return build_kernel(self.hybrid, self.outputs, sensitivities)

    def start(self, kernel: Kernel, theta: Vector | None = None) -> RunStart:
        h, values = self.hybrid, self.theta if theta is None else theta
        sens = ca.jtimes(h.x0, h.P, ca.densify(h.seed)) if kernel.m else ca.SX(h.nx, 0)
        x, S = ca.Function("start", [h.P], [h.x0, sens])(values)
        return RunStart(np.array(x).ravel(), np.array(ca.densify(S)), h.z0, h.d0)

    def run(
        self, kernel: Kernel | None = None, options: Options | None = None, theta: Vector | None = None,
        times: Vector | None = None,
    ) -> Run:  # fmt: skip
        kernel = kernel or self.kernel()
        values = self.theta if theta is None else theta
        options = options or Options(rtol=1e-8, atol=1e-10)
        wished = self.times if times is None else times
        return integrate(kernel, values, self.start(kernel, values), self.pieces, wished, options)

    def reference(self) -> tuple[Vector, Vector]:
        """Values and derivatives of the closed form, the latter by complex step."""
        assert self.exact is not None
        y = self.exact(self.times, self.theta.astype(complex)).real
        J = np.empty((*y.shape, len(self.theta)))
        for j in range(len(self.theta)):
            moved = self.theta.astype(complex)
            moved[j] += 1e-30j
            J[:, :, j] = self.exact(self.times, moved).imag / 1e-30
        return y, J


def errors(run: Run, y: Vector, J: Vector) -> tuple[float, float]:
    """Largest errors, relative to the largest value of each output (and tuner)."""
    size = np.maximum(np.abs(y).max(axis=0), 1e-300)
    sens = np.maximum(np.abs(J).max(axis=0), 1e-8 * max(1e-300, np.abs(J).max()))
    return float((np.abs(run.Y - y) / size).max()), float((np.abs(run.YS - J) / sens).max())


def ball(restitution: float = 0.8, end: float = 3.0) -> Problem:
    """h'' = -g; when h <= 0, v := -e pre(v)."""
    x, P, d = sym("x", 2), sym("P", 3), sym("d")
    x_pre, d_pre = sym("xp", 2), sym("dp")
    g, e, h0 = ca.vertsplit(P)
    hit = ca.logic_and(d, ca.logic_not(d_pre))
    hybrid = HybridSystem(
        t=t, x=x, P=P, d=d, x_pre=x_pre, d_pre=d_pre, f=ca.vertcat(x[1], -g),
        x0=ca.vertcat(h0, 0), zero=-x[0], strict=(False,),
        event_x=ca.vertcat(x[0], -e * x_pre[1]), reinit_fired=ca.vertcat(0, hit),
        seed=ca.SX.eye(3), d0=np.zeros(1),
    )  # fmt: skip

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        g, e, h0 = theta
        rows = []
        for time in times:
            begin, v = np.sqrt(2 * h0 / g), e * np.sqrt(2 * g * h0)
            if time < begin.real:
                rows.append((h0 - g * time**2 / 2, -g * time))
                continue
            while (begin + 2 * v / g).real <= time:
                begin, v = begin + 2 * v / g, e * v
            s = time - begin
            rows.append((v * s - g * s**2 / 2, v - g * s))
        return np.array(rows, complex)

    times = np.linspace(0.01, end, 300)
    return Problem(hybrid, x, np.array([9.81, restitution, 1.0]), times, Pieces.none(), exact)


def thermostat() -> Problem:
    """x' = -a x + b on; on becomes true below lo, false above hi."""
    x, P, d, d_pre = sym("x"), sym("P", 4), sym("d", 3), sym("dp", 3)
    a, b, lo, hi = ca.vertsplit(P)
    cold, hot, on = ca.vertsplit(d)
    hybrid = HybridSystem(
        t=t, x=x, P=P, d=d, d_pre=d_pre, f=-a * x + b * on, x0=ca.SX(1.2),
        zero=ca.vertcat(lo - x, x - hi), strict=(True, True),
        event_l=ca.logic_or(cold, ca.logic_and(d_pre[2], ca.logic_not(hot))),
        seed=ca.SX.eye(4), d0=np.zeros(3),
    )  # fmt: skip

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        a, b, lo, hi = theta
        rows = []
        for time in times:
            begin, level, on = 0 * a, 1.2 + 0 * a, 0
            while True:
                rest = b / a * on
                goal = hi if on else lo
                after = begin + np.log((level - rest) / (goal - rest)) / a
                if after.real > time:
                    break
                begin, level, on = after, goal, 1 - on
            rows.append((rest + (level - rest) * np.exp(-a * (time - begin)), on))
        return np.array(rows, complex)

    theta = np.array([0.5, 2.0, 1.0, 2.0])
    times = np.linspace(0.05, 12, 240)
    return Problem(hybrid, ca.vertcat(x, on), theta, times, Pieces.none(), exact)


def switched() -> Problem:
    """x' = -a x + b (time >= ts): the switching time is a parameter."""
    x, P, d = sym("x"), sym("P", 3), sym("d")
    a, b, ts = ca.vertsplit(P)
    hybrid = HybridSystem(
        t=t, x=x, P=P, d=d, f=-a * x + b * d, x0=ca.SX(1), instants=ts, until=(False,),
        seed=ca.SX.eye(3), d0=np.zeros(1),
    )  # fmt: skip

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        a, b, ts = theta
        on = times >= ts.real
        y = np.exp(-a * times) + on * b / a * (1 - np.exp(-a * (times - ts) * on))
        return np.stack([y, y * 0 + on], axis=1)

    times = np.unique(np.append(np.linspace(0.05, 6, 120), 2.345))
    return Problem(
        hybrid, ca.vertcat(x, d), np.array([0.7, 2.0, 2.345]), times, Pieces.none(), exact
    )


def sampled_control() -> Problem:
    """A sampled PI controller, r = 1, whose sampling interval T is a tuner; the plant x' = -x + u.

    At t = k T: m_I := m_I + Ki T (1 - x), u := Kp (1 - x) + m_I.
    """
    x, P = sym("x", 3), sym("P", 3)  # plant; memories: integral, output
    d, d_pre, x_pre = sym("d", 2), sym("dp", 2), sym("xp", 3)  # due, count
    Kp, Ki, T = ca.vertsplit(P)
    tick = t + 1e-9 * T >= T * (d_pre[1] + 1)
    integral = ca.if_else(tick, x_pre[1] + Ki * T * (1 - x[0]), x_pre[1])
    output = ca.if_else(tick, Kp * (1 - x[0]) + x[1], x_pre[2])
    hybrid = HybridSystem(
        t=t, x=x, P=P, d=d, d_pre=d_pre, x_pre=x_pre, f=ca.vertcat(-x[0] + x[2], 0, 0),
        x0=ca.SX.zeros(3), instants=T * (d[1] + 1), until=(False,),
        event_x=ca.vertcat(x[0], integral, output), event_l=ca.if_else(tick, d_pre[1] + 1, d_pre[1]),
        n_memory=2, seed=ca.SX.eye(3), d0=np.zeros(2),
    )  # fmt: skip

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        Kp, Ki, T = theta
        rows = []
        for time in times:
            k, level, integral, u = 0, 0 * T, 0 * T, 0 * T
            while ((k + 1) * T).real <= time + 1e-12:
                level = u + (level - u) * np.exp(-T)
                integral = integral + Ki * T * (1 - level)
                u = Kp * (1 - level) + integral
                k += 1
            rows.append((u + (level - u) * np.exp(-(time - k * T)), integral, u))
        return np.array(rows, complex)

    theta = np.array([0.8, 0.5, 0.3])
    return Problem(hybrid, x, theta, np.linspace(0.0, 5.0, 101) + 0.013, Pieces.none(), exact)


def relay_of_input() -> Problem:
    """x' = -a x + b (u > c), u jumps; and a memory takes x when the relay closes."""
    x, P, u = sym("x", 2), sym("P", 3), sym("u")
    d, d_pre, x_pre = sym("d"), sym("dp"), sym("xp", 2)
    a, b, c = ca.vertsplit(P)
    closes = ca.logic_and(d, ca.logic_not(d_pre))
    hybrid = HybridSystem(
        t=t, x=x, P=P, u=u, d=d, d_pre=d_pre, x_pre=x_pre, f=ca.vertcat(-a * x[0] + b * d, 0),
        x0=ca.vertcat(1, 0), zero=u - c, strict=(True,),
        event_x=ca.vertcat(x[0], ca.if_else(closes, x[0], x_pre[1])), n_memory=1,
        seed=ca.SX.eye(3), d0=np.zeros(1),
    )  # fmt: skip
    pieces = Pieces.of([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [0.2], [0.8]])

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        a, b, _ = theta
        rows = []
        for time in times:
            level, memory, begin = 1 + 0 * a, 0 * a, 0.0
            for on, until in ((0, 1.0), (1, 2.0), (0, 3.0), (1, 9.0)):
                if on:
                    memory = level
                rest, stop = on * b / a, min(time, until)
                level = rest + (level - rest) * np.exp(-a * (stop - begin))
                begin = stop
                if time < until - 1e-9:
                    break
            rows.append((level, memory))
        return np.array(rows, complex)

    return Problem(hybrid, x, np.array([0.7, 2.0, 0.5]), np.linspace(0.1, 4.0, 40), pieces, exact)


def cascade() -> Problem:
    """A ball that falls on a plate switches a motor (an event caused by another event's jump).

    y'' = -g; at y <= 0, v := -e v; the motor runs (w' = k) from the moment v exceeds c > 0.
    """
    x, P = sym("x", 3), sym("P", 4)
    d, d_pre, x_pre = sym("d", 3), sym("dp", 3), sym("xp", 3)
    g, e, c, k = ca.vertsplit(P)
    hit = ca.logic_and(d[0], ca.logic_not(d_pre[0]))
    hybrid = HybridSystem(
        t=t, x=x, P=P, d=d, d_pre=d_pre, x_pre=x_pre,
        f=ca.vertcat(x[1], -g, k * d[2]), x0=ca.vertcat(1, 0, 0),
        zero=ca.vertcat(-x[0], x[1] - c), strict=(False, True),
        event_x=ca.vertcat(x[0], -e * x_pre[1], x[2]), reinit_fired=ca.vertcat(0, hit, 0),
        event_l=ca.logic_or(d_pre[2], d[1]), seed=ca.SX.eye(4), d0=np.zeros(3),
    )  # fmt: skip

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        g, e, _, k = theta
        hit, v = np.sqrt(2 / g), e * np.sqrt(2 * g)
        s = times - hit
        after = times >= hit.real
        y = np.where(after, v * s - g * s**2 / 2, 1 - g * times**2 / 2)
        return np.stack([y, np.where(after, v - g * s, -g * times), after * k * s], axis=1)

    theta = np.array([9.81, 0.8, 1.0, 2.0])
    return Problem(hybrid, x, theta, np.linspace(0.02, 1.0, 50), Pieces.none(), exact)


def delayed_decay() -> Problem:
    """x' = -a x(t - T), x(0) = x0 and constant before: a polynomial on each interval of length T."""
    x, w, P = sym("x"), sym("w"), sym("P", 3)
    a, T, x0 = ca.vertsplit(P)
    hybrid = HybridSystem(
        t=t, x=x, w=w, P=P, f=-a * w, x0=x0, delayed=x, delays=T, seed=ca.SX.eye(3)
    )

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        a, T, x0 = theta
        rows = []
        for time in times:
            total, k, factorial = 0 * a, 0, 1.0
            while k == 0 or ((k - 1) * T).real <= time:
                total = total + (-a * (time - (k - 1) * T)) ** k / factorial
                k += 1
                factorial *= k
            rows.append((x0 * total,))
        return np.array(rows, complex)

    return Problem(
        hybrid, x, np.array([0.8, 0.7, 1.3]), np.linspace(0.05, 5, 100), Pieces.none(), exact
    )


def delayed_input() -> Problem:
    """x' = -a x + u(t - T), u a jump and a ramp: the jump comes at a time that is a tuner."""
    x, w, P, u = sym("x"), sym("w"), sym("P", 2), sym("u")
    a, T = ca.vertsplit(P)
    hybrid = HybridSystem(
        t=t, x=x, w=w, P=P, u=u, f=-a * x + w, x0=ca.SX(0), delayed=u, delays=T, seed=ca.SX.eye(2)
    )
    pieces = Pieces.of([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]], [[0.0], [0.0], [0.4]])

    def exact(times: Vector, theta: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        a, T = theta
        rows = []
        for time in times:
            s = time - T
            y = 0 * a
            for at, jump, kink in ((1.0, 1.0, 0.0), (2.0, -0.5, 0.4)):
                since = s - at
                if since.real >= 0:
                    rise = 1 - np.exp(-a * since)
                    y = y + jump / a * rise + kink * (since / a - rise / a**2)
            rows.append((y,))
        return np.array(rows, complex)

    return Problem(hybrid, x, np.array([0.9, 0.35]), np.linspace(0.0, 4, 81) + 0.011, pieces, exact)


# ---------------------------------------------------------------- models for speed and accuracy


def held(rng: np.random.Generator, low: float, high: float, n: int, hold: int) -> Vector:
    """Random levels, each held for so many samples."""
    return np.repeat(rng.uniform(low, high, -(-n // hold)), hold)[:n]


def pieces_of(grid: Vector, levels: Vector) -> Pieces:
    """Pieces from one level (row) for each interval of the grid, equal neighbours merged."""
    new = np.append(True, np.any(np.diff(levels, axis=0) != 0, axis=1))
    return Pieces.of(grid[:-1][new], levels[new])


def boiler(n: int = 500, hold: int = 10) -> Problem:
    """Drum boiler: two states, seven tuners, two inputs that change every `hold` samples."""
    x, P, u = sym("x", 2), sym("P", 7), sym("u", 2)
    TD, TR, A4, wE, wP, x1, x2 = ca.vertsplit(P)
    flow = 3.3 * u[0] * x[0]
    f = ca.vertcat(0.3 / TD * (14 * u[1] - flow), 0.064 / TR * (flow - 15 * x[1]))
    y = ca.vertcat(0.32 * (A4 * flow + (1 - A4) * 15 * x[1]) + wE, x[0] + wP)
    hybrid = HybridSystem(t=t, x=x, P=P, u=u, f=f, x0=ca.vertcat(x1, x2), seed=ca.SX.eye(7))
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 2.0 * n, n + 1)
    levels = np.stack([held(rng, 0.5, 0.9, n, hold), held(rng, 15, 35, n, hold)], axis=1)
    theta = np.array([285, 19, 0.26, 10, -10, 148, 28.0])
    return Problem(hybrid, y, theta, grid[1:], pieces_of(grid, levels))


def four_states(n: int = 300) -> Problem:
    """A nonlinear model with four states, all start values tuned, two steps."""
    x, P, u = sym("x", 4), sym("P", 12), sym("u", 2)
    a1, a2, b1, b2, c1, c2, d1, d2 = ca.vertsplit(P[:8])
    x1, x2, x3, x4 = ca.vertsplit(x)
    f = ca.vertcat(
        -a1 * x1 * x3 + a2 * x2 + x3, -b1 * x1 - b2 * x2 + x4, -c1 * x3 + c2 * x4 + u[0],
        -d1 * x3 - d2 * x3 * x4 + u[1],
    )  # fmt: skip
    hybrid = HybridSystem(t=t, x=x, P=P, u=u, f=f, x0=P[8:], seed=ca.SX.eye(12))
    grid = np.linspace(0, 40, n + 1)
    levels = np.stack([grid[:-1] >= 5 - 1e-9, grid[:-1] >= 25 - 1e-9], axis=1).astype(float)
    theta = np.array([1, 3, 0.5, 0.9, 0.8, 1, 0.7, 0.3, 1, 1, 1, 1.0])
    return Problem(hybrid, x, theta, grid[1:], pieces_of(grid, levels))


def robertson(n: int = 60) -> Problem:
    """Robertson's kinetics, stiff over ten decades of time."""
    x, P = sym("x", 3), sym("P", 3)
    r1, r2, r3 = P[0] * x[0], P[1] * x[1] ** 2, P[2] * x[1] * x[2]
    hybrid = HybridSystem(
        t=t, x=x, P=P, f=ca.vertcat(r3 - r1, r1 - r2 - r3, r2), x0=ca.SX([1, 0, 0]),
        seed=ca.SX.eye(3),
    )  # fmt: skip
    theta = np.array([0.04, 3e7, 1e4])
    return Problem(hybrid, x, theta, np.logspace(-5, 5, n), Pieces.none())


def heat_rod(n: int = 100, tuners: int = 20, samples: int = 200) -> Problem:
    """Heat conduction in a rod of n cells, conductivities tuned in groups."""
    x, P, u = sym("x", n), sym("P", tuners), sym("u")
    k = [P[i * tuners // n] for i in range(n)]
    flow = [k[0] * (u - x[0]) * 2 * n]
    flow += [2 / (1 / k[i] + 1 / k[i + 1]) * (x[i] - x[i + 1]) * n for i in range(n - 1)]
    flow += [k[-1] * x[n - 1] * 2 * n]
    f = ca.vertcat(*((flow[i] - flow[i + 1]) * n for i in range(n)))
    hybrid = HybridSystem(t=t, x=x, P=P, u=u, f=f, x0=ca.SX.zeros(n), seed=ca.SX.eye(tuners))
    grid = np.linspace(0, 4, samples + 1)
    levels = np.where(grid[:-1] < 1, 1.0, np.where(grid[:-1] < 2.5, 2.0, 0.5))[:, None]
    theta = np.random.default_rng(1).uniform(0.5, 1.5, tuners)
    return Problem(hybrid, x[4:n:10], theta, grid[1:], pieces_of(grid, levels))


def circuit(n: int = 300) -> Problem:
    """A nonlinear resistor u = R1 i + R2 i^5 that must be solved for i, with C and L."""
    x, z, P, u = sym("x", 2), sym("z"), sym("P", 6), sym("u")
    R1, R2, C, L, RL, v0 = ca.vertsplit(P)
    hybrid = HybridSystem(
        t=t, x=x, z=z, P=P, u=u, f=ca.vertcat((z - x[1]) / C, (x[0] - RL * x[1]) / L),
        g=u - x[0] - (R1 * z + R2 * z**5), x0=ca.vertcat(v0, 0), z0=np.array([0.1]),
        seed=ca.SX.eye(6),
    )  # fmt: skip
    grid = np.linspace(0, 30, n + 1)
    levels = held(np.random.default_rng(2), -5, 5, n, 15)[:, None]
    theta = np.array([1, 0.5, 0.3, 0.5, 2, 0.2])
    return Problem(hybrid, ca.vertcat(z, x[0]), theta, grid[1:], pieces_of(grid, levels))


def pendulum(n: int = 200, constrained: bool = True) -> Problem:
    """A planar pendulum in Cartesian coordinates, its rod force linear in the algebraic equation."""
    x, z, P = sym("x", 4), sym("z"), sym("P", 4)
    L, g, b, phi = ca.vertsplit(P)
    X, Y, vx, vy = ca.vertsplit(x)
    ax, ay = -z * X - b * vx, -z * Y - g - b * vy
    hybrid = HybridSystem(
        t=t, x=x, z=z, P=P, f=ca.vertcat(vx, vy, ax, ay), g=vx**2 + vy**2 + X * ax + Y * ay,
        x0=ca.vertcat(L * ca.sin(phi), -L * ca.cos(phi), 0, 0), z0=np.array([5.0]),
        constraints=ca.vertcat(X**2 + Y**2 - L**2, X * vx + Y * vy) if constrained else ca.SX(0, 1),
        seed=ca.SX.eye(4),
    )  # fmt: skip
    theta = np.array([1, 9.81, 0.1, 1.2])
    return Problem(hybrid, ca.vertcat(X, Y, z), theta, np.linspace(0, 10, n + 1)[1:], Pieces.none())


def witness(problem: Problem, tol: float = 1e-12) -> tuple[Vector, Vector]:
    """Outputs and sensitivities by CVODES, restarted at every piece of the inputs.

    States, algebraic unknowns (by the derivative of their equations) and the sensitivities of both
    are integrated as one large system.
    """
    h, m = problem.hybrid, problem.hybrid.ntheta
    n = h.nx + h.nz
    x, S = ca.vertcat(h.x, h.z), ca.SX.sym("S", n, m)
    level, slope, start = (
        ca.SX.sym(k, size) for k, size in (("u0", h.nu), ("du", h.nu), ("at", 1))
    )

    def sens(e: ca.SX) -> ca.SX:
        return ca.densify(ca.jacobian(e, x) @ S + ca.jacobian(e, h.P) @ h.seed)

    def at_point(e: ca.SX) -> ca.SX:
        values = ca.vertcat(ca.DM(problem.theta), level + slope * (h.t - start))
        return ca.substitute(ca.densify(e), ca.vertcat(h.P, h.u), values)

    moving = [ca.jacobian(h.g, s) for s in (h.t, h.x, h.u)]
    push = moving[0] + moving[1] @ h.f + moving[2] @ slope
    f = ca.vertcat(h.f, -ca.solve(ca.jacobian(h.g, h.z), push)) if h.nz else h.f
    w, p = ca.vertcat(x, ca.vec(S)), ca.vertcat(level, slope, start)
    dae = {"t": h.t, "x": w, "p": p, "ode": at_point(ca.vertcat(f, ca.vec(sens(f))))}
    output = ca.Function(
        "y", [h.t, w, p], [at_point(problem.outputs), at_point(sens(problem.outputs))]
    )
    if h.nz:
        g = at_point(ca.vertcat(h.g, ca.vec(sens(h.g))))
        unknown = ca.vertcat(h.z, ca.vec(S[h.nx :, :]))
        known = ca.vertcat(h.t, h.x, ca.vec(S[: h.nx, :]), p)
        newton = ca.rootfinder("N", "newton", {"x": unknown, "p": known, "g": g})
    begun = problem.start(problem.kernel())
    X, Z = np.column_stack([begun.x, begun.S]), np.column_stack([h.z0, np.zeros((h.nz, m))])
    settings = {"reltol": tol, "abstol": tol * 1e-4, "max_num_steps": 1_000_000}
    pieces, last, rows, slopes = problem.pieces, problem.times[-1], [], []
    for q, begin in enumerate(pieces.starts):
        if begin > last:
            break
        stop = pieces.starts[q + 1] if q + 1 < len(pieces.starts) else np.inf
        inside = problem.times[(problem.times >= begin) & (problem.times < stop)]
        grid = np.unique(np.append(inside, min(stop, last)))
        grid = grid[grid > begin]
        constants = np.concatenate([pieces.values[q], pieces.slopes[q], [begin]])
        if h.nz:
            now = np.concatenate([[begin], X.ravel(order="F"), constants])
            Z = np.array(newton(Z.ravel(order="F"), now)).reshape(h.nz, m + 1, order="F")
        points = {begin: np.vstack([X, Z]).ravel(order="F")}
        if len(grid):
            run = ca.integrator("I", "cvodes", dae, begin, grid.tolist(), settings)
            ends = np.array(run(x0=points[begin], p=constants)["xf"])
            points |= {time: ends[:, i] for i, time in enumerate(grid)}
            matrix = ends[:, -1].reshape(n, m + 1, order="F")
            X, Z = matrix[: h.nx], matrix[h.nx :]
        for time in inside:
            value, sensitivity = output(time, points[time], constants)
            rows.append(np.array(value).ravel())
            slopes.append(np.array(sensitivity))
    return np.array(rows), np.array(slopes)
