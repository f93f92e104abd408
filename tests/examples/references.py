"""Independent solutions of the examples: right-hand sides written by hand, SciPy and closed forms.

Everything works on complex numbers, so that derivatives come from a complex step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

Parameters = dict[str, complex]


@dataclass(frozen=True)
class Reference:
    """An example, how to run it, and its independent solution y(times, p) -> (N, ny)."""

    file: str
    class_: str
    times: np.ndarray
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    solution: Callable[[np.ndarray, Parameters], np.ndarray]
    parameters: dict[str, float]
    inputs: dict[str, object] = field(default_factory=dict)
    differences: bool = False  # derivatives of the reference by central differences
    tolerances: float = 10.0  # how many relative tolerances the trajectory may be off

    def values(self) -> np.ndarray:
        return self.solution(self.times, dict(self.parameters)).real

    def jacobian(self) -> np.ndarray:
        columns = [self._difference(n) if self.differences else self._step(n) for n in self.wrt]
        return np.stack(columns, axis=-1)

    def _step(self, name: str) -> np.ndarray:
        step = 1e-30 * max(abs(self.parameters[name]), 1e-3)
        moved = dict(self.parameters) | {name: self.parameters[name] + 1j * step}
        return self.solution(self.times, moved).imag / step

    def _difference(self, name: str) -> np.ndarray:
        """Central differences with one Richardson extrapolation."""
        value = self.parameters[name]
        size = 1e-3 * max(abs(value), 1e-3)

        def slope(h: float) -> np.ndarray:
            up = self.solution(self.times, dict(self.parameters) | {name: value + h})
            down = self.solution(self.times, dict(self.parameters) | {name: value - h})
            return (up - down).real / (2 * h)

        return (4 * slope(size / 2) - slope(size)) / 3


def integrate(
    f: Callable[[float, np.ndarray], Sequence[complex]],
    x0: Sequence[complex],
    times: np.ndarray,
    jumps: Sequence[float] = (),
    method: str = "DOP853",
    tolerance: float = 1e-12,
) -> np.ndarray:
    """x at `times` (begin at 0), restarted at the jumps of the inputs."""
    stops = sorted({0.0, *jumps, float(times[-1])})
    stops = [s for s in stops if 0 <= s <= times[-1]]
    x = np.asarray(x0, complex)
    rows = np.empty((len(times), len(x)), complex)
    rows[times == 0.0] = x
    for a, b in pairwise(stops):
        inside = (times > a) & (times <= b)
        grid = np.unique(np.append(times[inside], b))
        middle = 0.5 * (a + b)  # inputs are constant between jumps: ask for them inside
        solved = solve_ivp(
            lambda t, y, m=middle: np.asarray(f(m, y)),
            (a, b), x, method=method, t_eval=grid, rtol=tolerance, atol=1e-14,
        )  # fmt: skip
        assert solved.success
        rows[inside] = solved.y[:, np.searchsorted(grid, times[inside])].T
        x = solved.y[:, -1]
    return rows


def held(stamps: Sequence[float], values: Sequence[float]) -> Callable[[float], float]:
    def at(t: float) -> float:
        return float(np.asarray(values)[max(np.searchsorted(stamps, t, side="right") - 1, 0)])

    return at


# -- drum boiler ---------------------------------------------------------------------------------

BOILER_STAMPS = np.arange(0, 1000, 100.0)
BOILER_UC = np.random.default_rng(3).uniform(0.5, 0.9, 10)
BOILER_FC = np.random.default_rng(4).uniform(15, 35, 10)


def boiler(times: np.ndarray, p: Parameters) -> np.ndarray:
    uc, fc = held(BOILER_STAMPS, BOILER_UC), held(BOILER_STAMPS, BOILER_FC)

    def f(t, x):
        steam = 3.3 * uc(t) * x[0]
        return [0.3 / p["T_D"] * (14 * fc(t) - steam), 0.064 / p["T_R"] * (steam - 15 * x[1])]

    x = integrate(f, [p["x10"], p["x20"]], times, BOILER_STAMPS)
    steam = 3.3 * np.array([uc(t) for t in times]) * x[:, 0]
    E = 0.32 * (p["A4"] * steam + (1 - p["A4"]) * 15 * x[:, 1]) + p["w_E"]
    return np.column_stack([E, x[:, 0] + p["w_P"]])


# -- nonlinear circuits ----------------------------------------------------------------------------


def series_circuit(times: np.ndarray, p: Parameters) -> np.ndarray:
    def f(t, x):
        i, v = x
        return [(10 - v - p["R1"] * i - p["R2"] * i**5) / p["L"], i / p["C"]]

    return integrate(f, [0, 0], times)[:, :1]


def parallel_circuit(times: np.ndarray, p: Parameters) -> np.ndarray:
    def current(v: complex) -> complex:
        i = complex(np.sign((10 - v).real) * min(abs(10 - v), 1.5))
        for _ in range(60):
            i -= (p["R1"] * i + p["R2"] * i**5 - (10 - v)) / (p["R1"] + 5 * p["R2"] * i**4)
        return i

    def f(t, x):
        v, iL = x
        return [(current(v) - iL) / p["C"], v / p["L"]]

    return integrate(f, [0, 0], times)[:, 1:]


def dead_zone(times: np.ndarray, p: Parameters) -> np.ndarray:
    """Integrated from edge to edge, with the crossing times moved by the complex step."""

    def f(mode: int):
        offset = {1: -p["d"], 0: 0.0, -1: p["d"]}[mode]

        def rhs(t, x):
            uR = p["R"] * (x[0] + offset) if mode else 0.0
            return np.array([(5 - uR - x[1]) / p["L"], x[0] / p["C"]])

        return rhs

    return switched(times, f, _dead_zone_edges(p), np.zeros(2, complex), 0)[:, :1]


def _dead_zone_edges(p: Parameters):
    d = p["d"]
    return {
        0: [(lambda t, x: x[0] - d, 1, 1, None), (lambda t, x: x[0] + d, -1, -1, None)],
        1: [(lambda t, x: x[0] - d, -1, 0, None)],
        -1: [(lambda t, x: x[0] + d, 1, 0, None)],
    }


def switched(times, f, edges, x, mode, begin=0.0):
    """A switched ODE. edges[mode]: (g(t, x), direction, next mode, jump or None).

    The crossing is found in the real parts, then its complex part follows from g = 0.
    """
    rows = np.empty((len(times), len(x)), complex)
    t, k, end = complex(begin), 0, float(times[-1])
    while k < len(times) and times[k] <= begin:
        rows[k] = x
        k += 1
    while k < len(times):
        rhs = f(mode)
        events = []
        for g, direction, _, _ in edges[mode]:

            def event(s, y, g=g):
                return g(s, y).real

            event.terminal, event.direction = True, direction
            events.append(event)
        shift = 1j * t.imag  # the clock of this stretch started a little off the real axis
        solved = solve_ivp(
            lambda s, y, rhs=rhs: rhs(s, y), (t.real, end + 1e-9), x, method="DOP853",
            events=events, rtol=1e-12, atol=1e-14, dense_output=True, max_step=0.2 * (end - begin) / 10,
        )  # fmt: skip
        assert solved.success
        fired = [(solved.t_events[j][0], j) for j in range(len(events)) if len(solved.t_events[j])]
        stop = min(fired)[0] if fired else np.inf
        while k < len(times) and times[k] < stop:
            base = solved.sol(times[k])
            rows[k] = base - shift * rhs(times[k], base)
            k += 1
        if not fired or k >= len(times):
            break
        stop, j = min(fired)
        g, _, following, jump = edges[mode][j]
        y = solved.sol(stop)
        for _ in range(3):  # polish the real root and find its imaginary part
            h = 1e-6
            slope = (g(stop + h, y + h * rhs(stop, y)) - g(stop - h, y - h * rhs(stop, y))) / (
                2 * h
            )
            delta = -g(stop, y) / slope
            y = y + delta * rhs(stop, y)
            stop = stop + delta
        t = stop + shift
        x = y if jump is None else jump(y)
        mode = following
    return rows


# -- pendulums -------------------------------------------------------------------------------------


def pendulum(times: np.ndarray, p: Parameters) -> np.ndarray:
    def f(t, x):
        phi, w = x
        return [w, -p["g"] / p["L"] * np.sin(phi) - p["d"] / p["m"] * w]

    phi = integrate(f, [p["phi0"], 0], times)[:, 0]
    return np.column_stack([p["L"] * np.sin(phi), -p["L"] * np.cos(phi)])


FURUTA_STAMPS = np.array([0.0, 1.0, 2.0, 3.0])
FURUTA_TAU = np.array([0.02, -0.03, 0.01, 0.0])


def furuta(times: np.ndarray, p: Parameters) -> np.ndarray:
    """From the Lagrangian, mass matrix solved by hand."""
    tau = held(FURUTA_STAMPS, FURUTA_TAU)

    def f(t, x):
        _, th, wp, wt = x
        s, c = np.sin(th), np.cos(th)
        b = p["Jp"] + p["m"] * p["l"] ** 2
        m11 = p["J"] + p["m"] * p["r"] ** 2 + b * s**2
        m12 = p["m"] * p["r"] * p["l"] * c
        q1 = (
            tau(t)
            - p["d_phi"] * wp
            - 2 * b * s * c * wp * wt
            + p["m"] * p["r"] * p["l"] * s * wt**2
        )
        q2 = -p["d_theta"] * wt + b * s * c * wp**2 + p["m"] * p["g"] * p["l"] * s
        det = m11 * b - m12**2
        return [wp, wt, (b * q1 - m12 * q2) / det, (m11 * q2 - m12 * q1) / det]

    return integrate(f, [0, p["theta0"], 0, 0], times, FURUTA_STAMPS)[:, :2]


# -- events with closed forms ----------------------------------------------------------------------


def ball(times: np.ndarray, p: Parameters) -> np.ndarray:
    rows = []
    for t in times:
        begin, h, v = 0.0 * p["g"], p["h0"], p["v0"]
        while True:
            hit = begin + (v + np.sqrt(v * v + 2 * p["g"] * h + 0j)) / p["g"]
            if np.real(hit) > t:
                break
            v = -p["e"] * (v - p["g"] * (hit - begin))
            begin, h = hit, 0.0 * p["g"]
        s = t - begin
        rows.append([h + v * s - p["g"] * s * s / 2])
    return np.array(rows)


def thermostat(times: np.ndarray, p: Parameters) -> np.ndarray:
    rows = []
    for t in times:
        begin, T, on = 0.0 * p["tau"], p["T0"], True
        while True:
            goal = p["T_out"] + (p["P"] if on else 0.0)
            edge = p["T_high"] if on else p["T_low"]
            switch = begin + p["tau"] * np.log((goal - T) / (goal - edge) + 0j)
            if np.real(switch) > t:
                break
            begin, T, on = switch, edge, not on
        rows.append([goal + (T - goal) * np.exp(-(t - begin) / p["tau"])])
    return np.array(rows)


MOTOR_STAMPS = np.array([0.0, 1.0, 2.0, 3.0])
MOTOR_U = np.array([6.0, -4.0, 0.2, 3.0])


def motor(times: np.ndarray, p: Parameters) -> np.ndarray:
    """Stretch by stretch of constant voltage; stick and slip by hand."""
    rows = np.empty((len(times), 2), complex)
    x, mode = np.zeros(2, complex), 0  # [i, w]
    stops = np.append(MOTOR_STAMPS, times[-1] + 1e-3)
    for a, b, u in zip(stops[:-1], stops[1:], MOTOR_U, strict=True):
        inside = np.flatnonzero((times >= a) & (times < b))
        grid = np.append(times[inside], b)

        def f(m, u=u):
            def rhs(t, y):
                tau = p["k"] * y[0]
                friction = tau if m == 0 else m * p["tau_c"] + p["d"] * y[1]
                return np.array(
                    [(u - p["R"] * y[0] - p["k"] * y[1]) / p["L"], (tau - friction) / p["J"]]
                )

            return rhs

        def stop(y):
            return np.array([y[0], 0.0 * y[1]])

        edges = {
            0: [(lambda t, y: p["k"] * y[0] - p["tau_s"], 1, 1, None),
                (lambda t, y: p["k"] * y[0] + p["tau_s"], -1, -1, None)],
            1: [(lambda t, y: y[1], -1, 0, stop)],
            -1: [(lambda t, y: y[1], 1, 0, stop)],
        }  # fmt: skip
        found, mode = switched_with_mode(grid, f, edges, x, mode, a)
        rows[inside] = found[:-1]
        x = found[-1]
    return np.column_stack([rows[:, 1], rows[:, 0]])


def switched_with_mode(grid, f, edges, x, mode, begin):
    """Like `switched`, for real numbers, handing the last mode on."""
    rows = np.empty((len(grid), len(x)), complex)
    t, k = begin, 0
    x = x.real.astype(float)
    end = float(grid[-1])
    while k < len(grid) and grid[k] <= begin:
        rows[k] = x
        k += 1
    while k < len(grid):
        events = []
        for g, direction, _, _ in edges[mode]:

            def event(s, y, g=g):
                return np.real(g(s, y))

            event.terminal, event.direction = True, direction
            events.append(event)
        rhs = f(mode)
        solved = solve_ivp(
            lambda s, y, rhs=rhs: np.real(rhs(s, y)), (t, end), x, method="DOP853", events=events,
            rtol=1e-12, atol=1e-14, dense_output=True, max_step=0.01,
        )  # fmt: skip
        assert solved.success
        fired = [(solved.t_events[j][0], j) for j in range(len(events)) if len(solved.t_events[j])]
        stop = min(fired)[0] if fired else np.inf
        while k < len(grid) and grid[k] < stop:
            rows[k] = solved.sol(grid[k])
            k += 1
        if not fired:
            break
        stop, j = min(fired)
        _, _, mode_next, jump = edges[mode][j]
        y = solved.sol(stop)
        x, t, mode = (y if jump is None else np.real(jump(y))), stop, mode_next
        # a rotor that stops under more than the break-away torque turns on at once
        if mode == 0:
            for g, direction, following, _ in edges[0]:
                if direction * np.real(g(t, x)) > 0:
                    mode = following
    return rows, mode


# -- stiff and large -------------------------------------------------------------------------------


def robertson(times: np.ndarray, p: Parameters) -> np.ndarray:
    """By Radau with the variational equations: complex steps need a real method."""

    def f(t, w):
        x, S = w[:3], w[3:].reshape(3, 3)
        k1, k2, k3 = (np.real(p[n]) for n in ("k1", "k2", "k3"))
        r = np.array([k1 * x[0], k2 * x[1] ** 2, k3 * x[1] * x[2]])
        N = np.array([[-1, 0, 1], [1, -1, -1], [0, 1, 0]])
        J = np.array([[k1, 0, 0], [0, 2 * k2 * x[1], 0], [0, k3 * x[2], k3 * x[1]]])
        rp = np.diag([x[0], x[1] ** 2, x[1] * x[2]])
        return np.concatenate([N @ r, (N @ (J @ S + rp)).ravel()])

    w0 = np.concatenate([[1, 0, 0], np.zeros(9)])
    solved = solve_ivp(f, (0, times[-1]), w0, method="Radau", t_eval=times, rtol=1e-10, atol=1e-16)
    assert solved.success
    x, S = solved.y[:3].T, solved.y[3:].T.reshape(-1, 3, 3)
    direction = np.array([np.imag(p[n]) for n in ("k1", "k2", "k3")])
    return x + 1j * S @ direction


def four_states(times: np.ndarray, p: Parameters) -> np.ndarray:
    u1, u2 = held([0, 5], [0, 1]), held([0, 25], [0, 1])

    def f(t, x):
        return [
            -p["a1"] * x[0] * x[2] + p["a2"] * x[1] + x[2],
            -p["b1"] * x[0] - p["b2"] * x[1] + x[3],
            -p["c1"] * x[2] + p["c2"] * x[3] + u1(t),
            -p["d1"] * x[2] - p["d2"] * x[2] * x[3] + u2(t),
        ]

    return integrate(f, [p["x10"], p["x20"], p["x30"], p["x40"]], times, [5, 25])


def _rod(k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T' = A T + b u of the rod."""
    kc = np.repeat(k, 5)
    g = np.concatenate([[2 * kc[0]], 2 / (1 / kc[:-1] + 1 / kc[1:]), [2 * kc[-1]]]) * 1e4
    A = np.diag(-(g[:-1] + g[1:])) + np.diag(g[1:-1], 1) + np.diag(g[1:-1], -1)
    b = np.zeros(100, g.dtype)
    b[0] = g[0]
    return A, b


def heat_rod(times: np.ndarray, p: Parameters) -> np.ndarray:
    """Exact: [T; dT/dθ; u] is linear, so one matrix exponential carries it over a grid step.

    The direction θ is the imaginary part of the parameters, so that a complex step asks for it.
    """
    k = np.array([p[f"k[{i + 1}]"] for i in range(20)])
    (A, b), size = _rod(k.real), max(np.abs(k.imag).max(), 1e-300)
    moved, forced = _rod(k.real + 1e-30j * k.imag / size)
    dA, db = moved.imag / 1e-30, forced.imag / 1e-30
    M = np.zeros((201, 201))
    M[:100, :100] = M[100:200, 100:200] = A
    M[100:200, :100] = dA
    M[:100, 200], M[100:200, 200] = b, db
    step = float(times[1] - times[0])
    carry = expm(M * step)
    state = np.zeros(201)
    rows = np.empty((len(times), 10), complex)
    for j, t in enumerate(times):
        rows[j] = state[:100][4::10] + 1j * size * state[100:200][4::10]
        middle = t + step / 2
        state[200] = 1.0 if middle < 1 else 2.0 if middle < 2.5 else 0.5
        state = carry @ state
    return rows


REFERENCES = {
    "drum boiler": Reference(
        "DrumBoiler.mo", "DrumBoiler", np.linspace(0, 1000, 101), ("E", "P"),
        ("T_D", "T_R", "A4", "w_E", "w_P", "x10", "x20"), boiler,
        {"T_D": 285, "T_R": 19, "A4": 0.26, "w_E": 10, "w_P": -10, "x10": 148, "x20": 28},
        {"uc": (BOILER_STAMPS, BOILER_UC), "fc": (BOILER_STAMPS, BOILER_FC)},
    ),
    "nonlinear circuit": Reference(
        "NonlinearCircuit.mo", "NonlinearCircuit.Circuit", np.linspace(0, 20, 101), ("i",),
        ("R1", "R2", "C", "L"), series_circuit, {"R1": 0.5, "R2": 1, "C": 0.5, "L": 1}, {"u": 10.0},
    ),
    "parallel circuit": Reference(
        "NonlinearCircuit.mo", "NonlinearCircuit.ParallelCircuit", np.linspace(0, 10, 51), ("i",),
        ("R1", "R2", "C", "L"), parallel_circuit, {"R1": 0.5, "R2": 1, "C": 0.5, "L": 1}, {"u": 10.0},
    ),
    "dead zone with events": Reference(
        "DeadZoneCircuit.mo", "DeadZoneCircuit.WithEvents", np.linspace(0, 20, 101), ("i",),
        ("R", "d", "C", "L"), dead_zone, {"R": 0.5, "d": 0.4, "C": 0.8, "L": 1}, {"u": 5.0},
    ),
    "dead zone without events": Reference(
        "DeadZoneCircuit.mo", "DeadZoneCircuit.WithoutEvents", np.linspace(0, 20, 101), ("i",),
        ("R", "d", "C", "L"), dead_zone, {"R": 0.5, "d": 0.4, "C": 0.8, "L": 1}, {"u": 5.0},
        # a step over a kink is only as good as its error estimate, which assumes smoothness
        tolerances=50.0,
    ),
    "pendulum": Reference(
        "Pendulum.mo", "Pendulum", np.linspace(0, 10, 101), ("x", "y"),
        ("L", "m", "g", "d", "phi0"), pendulum, {"L": 1, "m": 1, "g": 9.81, "d": 0.1, "phi0": 1.2},
    ),
    "Furuta pendulum": Reference(
        "FurutaPendulum.mo", "FurutaPendulum", np.linspace(0, 4, 81), ("phi", "theta"),
        ("r", "l", "m", "Jp", "J", "d_phi", "d_theta", "theta0"), furuta,
        {"r": 0.25, "l": 0.2, "m": 0.15, "Jp": 0.002, "J": 0.01, "d_phi": 0.002, "d_theta": 0.0005,
         "g": 9.81, "theta0": 2.0},
        {"tau": (FURUTA_STAMPS, FURUTA_TAU)},
    ),
    "bouncing ball": Reference(
        "BouncingBall.mo", "BouncingBall.Ball", np.linspace(0, 3, 150), ("h",),
        ("g", "e", "h0", "v0"), ball, {"g": 9.81, "e": 0.8, "h0": 1, "v0": 0},
    ),
    "thermostat": Reference(
        "Thermostat.mo", "Thermostat", np.linspace(0, 3600, 121), ("T",),
        ("tau", "P", "T_out", "T_low", "T_high", "T0"), thermostat,
        {"tau": 600, "P": 25, "T_out": 5, "T_low": 19, "T_high": 21, "T0": 15},
    ),
    "motor with Coulomb friction": Reference(
        "CoulombMotor.mo", "CoulombMotor", np.linspace(0, 4, 101), ("w", "i"),
        ("R", "L", "k", "J", "d", "tau_c", "tau_s"), motor,
        {"R": 1.5, "L": 0.01, "k": 0.08, "J": 5e-4, "d": 1e-4, "tau_c": 0.02, "tau_s": 0.03},
        {"u": (MOTOR_STAMPS, MOTOR_U), "load": 0.0}, differences=True,
    ),
    "Robertson": Reference(
        "Robertson.mo", "Robertson", np.concatenate([[0], np.logspace(-5, 5, 31)]), ("A", "B", "C"),
        ("k1", "k2", "k3"), robertson, {"k1": 0.04, "k2": 3e7, "k3": 1e4},
    ),
    "four states": Reference(
        "FourStates.mo", "FourStates", np.linspace(0, 40, 101), ("x1", "x2", "x3", "x4"),
        ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40"), four_states,
        {"a1": 1, "a2": 3, "b1": 0.5, "b2": 0.9, "c1": 0.8, "c2": 1, "d1": 0.7, "d2": 0.3,
         "x10": 1, "x20": 1, "x30": 1, "x40": 1},
        {"u1": ([0, 5], [0, 1]), "u2": ([0, 25], [0, 1])},
    ),
    "heat rod": Reference(
        "HeatRod.mo", "HeatRod", np.linspace(0, 4, 41), tuple(f"y[{j + 1}]" for j in range(10)),
        tuple(f"k[{i + 1}]" for i in range(20)), heat_rod,
        {f"k[{i + 1}]": v for i, v in enumerate(
            [1.0, 0.9, 1.1, 1.2, 0.8, 0.7, 1.3, 1.4, 0.6, 1.0, 1.1, 0.9, 0.8, 1.2, 1.0, 1.3, 0.7, 0.9, 1.1, 1.0])},
        {"u": ([0, 1, 2.5], [1, 2, 0.5])},
    ),
}  # fmt: skip
