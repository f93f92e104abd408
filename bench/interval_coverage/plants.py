"""Plants: six models of different kinds whose truth is known, each with two measured outputs.

Every one has an unknown that above all its second output tells of, so that few samples of that
output are felt, and one that is correlated with the others, whose bound is felt by them. What a
plant gives without noise is computed by SciPy or in closed form, not by the engine under test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import estimica as es
from estimica.simulate.formula import formula_model

Outputs = tuple[np.ndarray, np.ndarray]
CIRCUIT = """model Circuit
  parameter Real R1 = 1.0; parameter Real R2 = 2.0; parameter Real C2 = 0.5;
  input Real u; output Real v1(start = 0, fixed = true); output Real v2(start = 0, fixed = true);
equation
  der(v1) = (u - v1)/R1 - (v1 - v2)/R2;
  C2*der(v2) = (v1 - v2)/R2;
end Circuit;
"""
ENZYME = """model Enzyme
  parameter Real V = 1.0; parameter Real K = 0.7; parameter Real g = 1.5;
  output Real s(start = 2, fixed = true); output Real p;
equation
  der(s) = -V*s/(K + s);
  p = g*(2 - s);
end Enzyme;
"""
GROWTH = """model Growth
  parameter Real r = 0.9; parameter Real K = 3.0; parameter Real q = 0.4;
  output Real x(start = 0.2, fixed = true); output Real density;
equation
  der(x) = r*x*(1 - x/K);
  density = q*x;
end Growth;
"""
ROOM = """model Room
  parameter Real Ri = 1.0; parameter Real Ro = 2.0; parameter Real C = 0.8;
  input Real P; output Real Ti(start = 20, fixed = true); output Real Tw(start = 18, fixed = true);
equation
  C*der(Ti) = P - (Ti - Tw)/Ri;
  3*der(Tw) = (Ti - Tw)/Ri - (Tw - 10)/Ro;
end Room;
"""


@dataclass(frozen=True, eq=False)
class Plant:
    """A model, its truth, the noise of its outputs and how it is fitted."""

    model: Any
    exact: Callable[[np.ndarray], Outputs]  # outputs without noise, at the places of a grid
    horizon: float
    truth: Mapping[str, float]  # of tuners, then of start values
    sigma: Mapping[str, float]  # standard deviations of the two outputs' noise
    criterion: str
    bounded: str  # the tuner that gets a bound near to its truth
    profiled: str  # the unknown whose profile is walked
    place: str = "time"  # the column of the grid
    corners: tuple[float, ...] = ()  # where an input jumps
    inputs: Mapping[str, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict)
    tuning: Mapping[str, Any] = field(default_factory=dict)  # of every tuner
    free_start: tuple[str, ...] = ()

    @property
    def tuners(self) -> dict[str, float]:
        """What is found beside start values, with its truth."""
        return {n: v for n, v in self.truth.items() if n not in self.free_start}


def _loaded(text: str) -> Any:
    """The model of a Modelica text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{text.split()[1]}.mo"
        path.write_text(text, encoding="utf-8")
        return es.load_model(path)


def _solved(
    slope: Callable[[float, np.ndarray], list[float]],
    start: tuple[float, ...],
    corners: tuple[float, ...] = (),
) -> Callable[[np.ndarray], np.ndarray]:
    """States over a grid by SciPy, begun anew where the input jumps."""

    def states(grid: np.ndarray) -> np.ndarray:
        found = np.empty((len(start), len(grid)))
        state, ends = np.array(start), [*[c for c in corners if c < grid[-1]], grid[-1]]
        begin = 0.0
        for end in ends:
            inside = (grid >= begin) & (grid <= end)
            # the jump itself belongs to the stretch behind it
            run = solve_ivp(
                lambda t, x, b=begin: slope(max(t, b), x), (begin, end), state,
                method="DOP853", rtol=1e-11, atol=1e-12, dense_output=True, max_step=0.5,
            )  # fmt: skip
            found[:, inside] = run.sol(grid[inside]) if end > begin else state[:, None]
            state, begin = run.y[:, -1], end
        return found

    return states


def decay() -> Plant:
    """Two exponentials of one rate: formulas, fitted to points."""

    def exact(x: np.ndarray) -> Outputs:
        return 2.0 * np.exp(-0.8 * x), 1.5 * (1 - np.exp(-0.8 * x))

    return Plant(
        formula_model({"y": "A*exp(-k*x)", "z": "B*(1 - exp(-k*x))"}, inputs=["x"]),
        exact, 4.0, {"A": 2.0, "k": 0.8, "B": 1.5}, {"y": 0.06, "z": 0.06},
        criterion="ml", bounded="k", profiled="B", place="x",
    )  # fmt: skip


def circuit() -> Plant:
    """A linear Modelica model: two stages of resistor and capacitor behind a square wave."""
    corners = (2.0, 4.0)

    def wave(t: np.ndarray) -> np.ndarray:
        return np.where((t >= corners[0]) & (t < corners[1]), 0.0, 1.0)

    def slope(t: float, v: np.ndarray) -> list[float]:
        between = (v[0] - v[1]) / 2.0
        return [float(wave(np.array(t))) - v[0] - between, between / 0.5]

    states = _solved(slope, (0.0, 0.0), corners)
    return Plant(
        _loaded(CIRCUIT), lambda t: tuple(states(t)), 6.0,
        {"R1": 1.0, "R2": 2.0, "C2": 0.5}, {"v1": 0.01, "v2": 0.01},
        criterion="ml", bounded="R2", profiled="C2", inputs={"u": wave}, corners=corners,
    )  # fmt: skip


def enzyme() -> Plant:
    """A nonlinear equation: a reaction after Michaelis and Menten, its product scaled."""
    states = _solved(lambda _, s: [-s[0] / (0.7 + s[0])], (2.0,))

    def exact(t: np.ndarray) -> Outputs:
        s = states(t)[0]
        return s, 1.5 * (2 - s)

    return Plant(
        _loaded(ENZYME), exact, 5.0, {"V": 1.0, "K": 0.7, "g": 1.5}, {"s": 0.03, "p": 0.04},
        criterion="oe", bounded="K", profiled="g",
    )  # fmt: skip


def growth() -> Plant:
    """Logistic growth with tuners on a logarithmic scale."""

    def exact(t: np.ndarray) -> Outputs:
        x = 3.0 / (1 + (3.0 / 0.2 - 1) * np.exp(-0.9 * t))
        return x, 0.4 * x

    return Plant(
        _loaded(GROWTH), exact, 8.0, {"r": 0.9, "K": 3.0, "q": 0.4}, {"x": 0.15, "density": 0.08},
        criterion="ml", bounded="K", profiled="q", tuning={"scale": "log"},
    )  # fmt: skip


def room() -> Plant:
    """A heated room and its wall, whose temperature at the start is estimated as well."""
    corners = (2.0, 4.0)

    def heating(t: np.ndarray) -> np.ndarray:
        return np.where((t >= corners[0]) & (t < corners[1]), 0.0, 4.0)

    def slope(t: float, T: np.ndarray) -> list[float]:
        inner = T[0] - T[1]
        return [(float(heating(np.array(t))) - inner) / 0.8, (inner - (T[1] - 10) / 2.0) / 3]

    states = _solved(slope, (20.0, 18.0), corners)
    return Plant(
        _loaded(ROOM), lambda t: tuple(states(t)), 6.0,
        {"Ri": 1.0, "Ro": 2.0, "C": 0.8, "Tw": 18.0}, {"Ti": 0.1, "Tw": 0.1},
        criterion="oe", bounded="Ri", profiled="Tw", inputs={"P": heating},
        corners=corners, free_start=("Tw",),
    )  # fmt: skip


def _filling(u: np.ndarray, t: np.ndarray, tau: float = 1.5, gain: float = 2.0, lift: float = 0.5):
    """Level of a tank after a step of its inflow, and what its gauge shows."""
    level = gain * (1 - np.exp(-t / tau)) * u
    return np.stack([level, lift + 0.7 * level], axis=1)


def tank() -> Plant:
    """A Python function, whose derivatives are differences or traced."""

    def exact(t: np.ndarray) -> Outputs:
        both = _filling(np.ones(len(t)), t)
        return both[:, 0], both[:, 1]

    return Plant(
        es.function_model(_filling, inputs=["u"], outputs=["level", "gauge"], name="tank"),
        exact, 6.0, {"tau": 1.5, "gain": 2.0, "lift": 0.5}, {"level": 0.05, "gauge": 0.05},
        criterion="oe", bounded="tau", profiled="lift", inputs={"u": np.ones_like},
    )  # fmt: skip


PLANTS: dict[str, Callable[[], Plant]] = {
    "decay": decay,
    "circuit": circuit,
    "enzyme": enzyme,
    "growth": growth,
    "room": room,
    "tank": tank,
}
