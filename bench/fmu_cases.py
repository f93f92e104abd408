"""Fits of FMUs: the units, their data and where the search starts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

import estimica as es

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from tests.fmus.build import HERE, build  # noqa: E402

Vector = npt.NDArray[np.float64]
FINE = es.Options(rtol=1e-11, atol=1e-13)


@dataclass(frozen=True, eq=False)
class UnitCase:
    """One FMU with data that its Modelica twin made, and tuners away from the truth."""

    name: str
    title: str
    unit: str  # of tests.fmus
    truth: Mapping[str, float]
    start: Mapping[str, float]
    outputs: Mapping[str, float]  # their noise
    times: Vector
    inputs: Mapping[str, tuple[Vector, Vector]] = field(default_factory=dict)  # held until the next
    kind: str = "ModelExchange"
    directional: str = "right"
    tolerance: float = 1e-6
    seed: int = 5

    def build(self, folder: Path) -> Path:
        """The FMU, with both interfaces."""
        return build(self.unit, folder, directional=self.directional)

    def exact(self, values: Mapping[str, float]) -> Vector:
        """Outputs (N, ny) by the Modelica twin, finely."""
        twin = es.load_model(HERE / f"{self.unit}.mo", self.unit)
        inputs = {n: es.Signal(*points) for n, points in self.inputs.items()}
        run = twin.simulate(self.times, inputs, dict(values), options=FINE)
        return np.column_stack([run.value(n) for n in self.outputs])

    def data(self) -> Vector:
        """Outputs at the truth, with noise."""
        sigma = np.array(list(self.outputs.values()))
        exact = self.exact(self.truth)
        return exact + sigma * np.random.default_rng(self.seed).standard_normal(exact.shape)


def room(name: str, title: str, kind: str, directional: str = "right") -> UnitCase:
    """Two days of a heated room, a sample every five minutes."""
    hours = np.arange(0, 48.5, 0.5)
    random = np.random.default_rng(1)
    heater = 2000.0 * (random.random(hours.size) > 0.5)
    sun = 400 * np.maximum(0, np.sin(2 * np.pi * (hours - 6) / 24))
    outside = 278.15 + 5 * np.sin(2 * np.pi * (hours - 9) / 24)
    return UnitCase(
        name,
        f"a heated room, {title}, 5 tuners",
        "rcThermal",
        {"air.C": 4e5, "wall.C": 8e6, "wall.R": 4e-3, "wall.R_out": 1e-2, "window.A": 2.0},
        {"air.C": 8e5, "wall.C": 5e6, "wall.R": 8e-3, "wall.R_out": 7e-3, "window.A": 1.0},
        {"T_room": 0.1, "T_wall": 0.1},
        300.0 * np.arange(577),
        {
            "T_out": (3600 * hours, outside),
            "P_heat": (3600 * hours, heater),
            "sun": (3600 * hours, sun),
        },
        kind,
        directional,
    )


def oscillator() -> UnitCase:
    """Van der Pol's oscillator over three periods."""
    return UnitCase(
        "oscillator", "van der Pol, 2 tuners", "vanDerPol",
        {"mu": 2.0, "w": 1.2}, {"mu": 1.0, "w": 1.1}, {"x_out": 0.02, "power": 0.02},
        np.linspace(0, 20, 401),
    )  # fmt: skip


def stiff() -> UnitCase:
    """Robertson's reaction."""
    return UnitCase(
        "stiff", "Robertson's reaction, 3 tuners", "stiff",
        {"k1": 0.04, "k2": 3e7, "k3": 1e4}, {"k1": 0.06, "k2": 2e7, "k3": 1.5e4},
        {"a": 1e-3, "b": 1e-7, "c": 1e-3}, np.linspace(0, 40, 201),
    )  # fmt: skip


CASES: dict[str, Callable[[], UnitCase]] = {
    "room": lambda: room("room", "Model Exchange", "ModelExchange"),
    "room-plain": lambda: room(
        "room-plain", "Model Exchange without directional derivatives", "ModelExchange", "none"
    ),
    "room-cs": lambda: room("room-cs", "Co-Simulation", "CoSimulation"),
    "oscillator": oscillator,
    "stiff": stiff,
}
