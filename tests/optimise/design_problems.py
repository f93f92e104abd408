"""Random design problems: loops of second and third order, and a second opinion of their criteria.

The witness solves the linear loops by their eigenvalues on a dense grid, with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import estimica as es
from estimica.base.arrays import Vector

GRID = 4001  # times of the witness; crossings and extrema lie between them
MISSED = 1e-6  # of a demand: a limit that counts as kept

_HEAD = """
model {name}
  parameter Real k = 1; parameter Real d = 1; parameter Real i = 0;
  parameter Real m = 1; parameter Real c = 0; parameter Real s = 0; parameter Real T = 1;
  Real x(start = 0, fixed = true); Real v(start = 0, fixed = true); Real w(start = 0, fixed = true);
  Real u;
equation
  der(x) = v;
"""
#: a mass with damper and spring: with a controller PD, PID, and PD through a slow actuator
MODELS = {
    "Direct": "  m*der(v) = u - c*v - s*x;\n  der(w) = 0;\n  u = k*(1 - x) - d*v;\n",
    "Integral": "  m*der(v) = u - c*v - s*x;\n  der(w) = 1 - x;\n  u = k*(1 - x) - d*v + i*w;\n",
    "Lagging": "  m*der(v) = w - c*v - s*x;\n  T*der(w) = u - w;\n  u = k*(1 - x) - d*v;\n",
}


@dataclass(frozen=True)
class Asked:
    """One criterion of a problem."""

    kind: str  # settling-time, overshoot, rise-time, peak
    demand: float
    limit: bool = False
    band: float = 0.02


@dataclass(frozen=True)
class DesignProblem:
    """A loop, what is asked of it, and where a search begins."""

    number: int
    loop: str
    plant: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    start: Mapping[str, float]
    asked: tuple[Asked, ...]
    stop: float

    @property
    def tuners(self) -> tuple[str, ...]:
        """What is searched."""
        return tuple(self.bounds)


# -- the witness ---------------------------------------------------------------------------------


def step_response(problem: DesignProblem, values: Vector) -> tuple[Vector, Vector, Vector]:
    """Times, x and u of the closed loop, by its eigenvalues."""
    own = {"i": 0.0, **problem.plant, **dict(zip(problem.tuners, values, strict=True))}
    k, d, i, m, c, s = (own[n] for n in ("k", "d", "i", "m", "c", "s"))
    if problem.loop == "Lagging":
        T = own["T"]
        A = np.array([[0, 1, 0], [-s / m, -c / m, 1 / m], [-k / T, -d / T, -1 / T]])
        b, row, direct = np.array([0, 0, k / T]), np.array([-k, -d, 0]), k
    elif problem.loop == "Integral":
        A = np.array([[0, 1, 0], [-(s + k) / m, -(c + d) / m, i / m], [-1, 0, 0]])
        b, row, direct = np.array([0, k / m, 1]), np.array([-k, -d, i]), k
    else:
        A = np.array([[0, 1], [-(s + k) / m, -(c + d) / m]])
        b, row, direct = np.array([0, k / m]), np.array([-k, -d]), k
    t = np.linspace(0, problem.stop, GRID)
    n = len(A)
    # the constant input is a state of its own, so that no inverse of A is needed
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = A + 1e-9 * np.diag(np.arange(n)), b
    rates, modes = np.linalg.eig(whole)
    shares = np.linalg.solve(modes, np.append(np.zeros(n), 1.0))
    with np.errstate(all="ignore"):
        z = np.exp(np.outer(t, rates)) @ (modes * shares).T[:, :n]
    z = np.real(z)
    return t, z[:, 0], z @ row + direct


def _extrema(y: Vector) -> Vector:
    """Values at local extrema, by parabolas, and at the ends."""
    left, middle, right = y[:-2], y[1:-1], y[2:]
    turns = (middle - left) * (right - middle) < 0
    a, b = (right + left) / 2 - middle, (right - left) / 2
    with np.errstate(all="ignore"):
        tops = middle - b * b / (4 * a)
    return np.concatenate([tops[turns], y[[0, -1]]])


def _crossing(t: Vector, y: Vector, level: float) -> float | None:
    """The first time at which y passes the level from below."""
    over = np.flatnonzero(y >= level)
    if not len(over):
        return None
    k = int(over[0])
    if k == 0:
        return float(t[0])
    return float(t[k - 1] + (level - y[k - 1]) / (y[k] - y[k - 1]) * (t[k] - t[k - 1]))


def measured(asked: Asked, t: Vector, x: Vector, u: Vector) -> float:
    """The value of a criterion; far above its demand where it cannot be taken."""
    if not np.isfinite(x).all() or np.abs(x).max() > 1e12:
        return 1e12
    if asked.kind == "overshoot":
        return max(0.0, float(_extrema(x).max()) - 1)
    if asked.kind == "peak":
        return float(np.abs(_extrema(u)).max())
    if asked.kind == "rise-time":
        low, high = _crossing(t, x, 0.1), _crossing(t, x, 0.9)
        return high - low if low is not None and high is not None else 1e3 * float(t[-1])
    e = np.abs(x - 1)
    if e[-1] > asked.band:
        return float(t[-1]) * (1 + float(e[-1]))
    outside = np.flatnonzero(e > asked.band)
    if not len(outside):
        return 0.0
    k = int(outside[-1])
    swing = _late_extremum(x - 1, k, asked.band)
    if swing is not None:
        return float(t[swing])
    share = (e[k] - asked.band) / (e[k] - e[k + 1])
    return float(t[k] + share * (t[k + 1] - t[k]))


def _late_extremum(e: Vector, k: int, band: float) -> int | None:
    """A swing after place k that leaves the band between two times of the grid."""
    late = e[k + 1 :]
    if len(late) < 3:
        return None
    left, middle, right = late[:-2], late[1:-1], late[2:]
    a, b = (right + left) / 2 - middle, (right - left) / 2
    with np.errstate(all="ignore"):
        tops = np.abs(middle - b * b / (4 * a))
    over = np.flatnonzero(((middle - left) * (right - middle) < 0) & (tops > band))
    return k + 2 + int(over[-1]) if len(over) else None


def witnessed(problem: DesignProblem, values: Vector, *, wider: float = 0.0) -> tuple[float, float]:
    """(largest criterion/demand, how far the worst limit is exceeded), with bands that are wider by
    a share of them."""
    response = step_response(problem, values)
    asked = [replace(a, band=a.band * (1 + wider)) for a in problem.asked]
    shares = [(a.limit, measured(a, *response) / a.demand) for a in asked]
    cost = max(w for limit, w in shares if not limit)
    return cost, max([0.0, *(w - 1 for limit, w in shares if limit)])


# -- problems ------------------------------------------------------------------------------------


def drawn(seed: int, count: int) -> list[DesignProblem]:
    """Seeded problems; each has a design that keeps its limits, which is not the start."""
    rng = np.random.default_rng(seed)
    found: list[DesignProblem] = []
    while len(found) < count:
        problem = _drawn(rng, len(found))
        if problem is not None:
            found.append(problem)
    return found


def _drawn(rng: np.random.Generator, number: int) -> DesignProblem | None:
    loop = str(rng.choice(list(MODELS)))
    m, w0 = float(np.exp(rng.uniform(-1, 1))), float(np.exp(rng.uniform(-0.7, 2.3)))
    k0 = m * w0**2
    plant = {
        "m": m,
        "c": float(rng.uniform(0, 0.3)) * m * w0,
        "s": float(rng.uniform(0.2, 1.0)) * k0 if loop == "Integral" and rng.random() < 0.5 else 0,
        "T": float(rng.uniform(0.05, 0.4)) / w0,
    }
    wide = float(np.exp(rng.uniform(1.0, 3.0)))
    bounds = {"k": (k0 / wide, k0 * wide), "d": (0.01 * m * w0, 2 * wide * m * w0)}
    if loop == "Integral":
        bounds["i"] = (0.01 * k0 * w0, wide * k0 * w0)
    stop = float(rng.uniform(12, 40)) / w0
    weak = rng.random() < 0.5
    zeta = rng.uniform(0.02, 0.15) if weak else rng.uniform(0.2, 1.5)
    start = {"k": k0 * np.exp(rng.uniform(-0.7, 0.7)), "d": 2 * zeta * m * w0}
    if loop == "Integral":
        start["i"] = 0.3 * k0 * w0 * float(np.exp(rng.uniform(-1.5, 0.5)))
    start = {n: float(np.clip(v, *bounds[n])) for n, v in start.items()}
    problem = DesignProblem(number, loop, plant, bounds, start, (), stop)
    asked = _asked(rng, problem)
    return None if asked is None else replace(problem, asked=asked)


def _asked(rng: np.random.Generator, problem: DesignProblem) -> tuple[Asked, ...] | None:
    """Demands that some drawn design meets, as tight as luck has it."""
    band = float(rng.choice([0.01, 0.02, 0.05, 0.1]))
    low, high = np.array(list(problem.bounds.values())).T
    for _ in range(200):
        known = np.exp(rng.uniform(np.log(low), np.log(high)))
        t, x, u = step_response(problem, known)
        settling, over, rise, effort = (
            measured(Asked(kind, 1.0, band=band), t, x, u)
            for kind in ("settling-time", "overshoot", "rise-time", "peak")
        )
        if settling < 0.6 * problem.stop and over < 0.3:
            break
    else:
        return None
    ease = rng.uniform(1.0, 1.4, 4)
    over = max(over, float(rng.choice([0.02, 0.05, 0.1])))
    demand = {
        "settling-time": settling * ease[0],
        "overshoot": over * ease[1],
        "rise-time": rise * ease[2],
        "peak": effort * ease[3],
    }
    sets = (
        ("settling-time", "overshoot!", "peak!"),
        ("settling-time", "overshoot", "peak!"),
        ("settling-time", "peak!"),
        ("rise-time", "overshoot!", "peak!"),
        ("settling-time", "overshoot", "rise-time", "peak!"),
        ("settling-time", "rise-time", "overshoot"),
        ("peak", "settling-time!", "overshoot!"),
        ("settling-time", "peak"),
    )
    kinds = sets[int(rng.integers(len(sets)))]
    return tuple(
        Asked(k.rstrip("!"), float(demand[k.rstrip("!")]), k.endswith("!"), band) for k in kinds
    )


# -- as a study ----------------------------------------------------------------------------------


@cache
def _model(folder: Path, loop: str) -> es.Model:
    path = folder / f"{loop}.mo"
    text = _HEAD.format(name=loop) + MODELS[loop]
    path.write_text(f"{text}end {loop};\n", encoding="utf-8")
    return es.load_model(path)


def study_of(problem: DesignProblem, folder: Path) -> es.Study:
    """The problem as a user writes it."""
    tuners = [
        es.Tuner(n, start=problem.start[n], min=low, max=high)
        for n, (low, high) in problem.bounds.items()
    ]
    criteria = [
        es.Criterion(
            a.kind,
            "u" if a.kind == "peak" else "x",
            a.kind,  # type: ignore[arg-type]
            reference=None if a.kind == "peak" else 1.0,
            demand=a.demand,
            role="at-most" if a.limit else "minimise",
            band=a.band if a.kind == "settling-time" else None,
        )
        for a in problem.asked
    ]
    case = es.Case("step", fix=dict(problem.plant), stop=problem.stop)
    return es.Study(_model(folder, problem.loop), tuners, [case], criteria=criteria)
