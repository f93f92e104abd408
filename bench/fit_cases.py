"""The fits of the benchmark: models, noisy data, starts and weights, the same for everybody.

Inputs change between two samples of an output that they enter directly, so that nobody's convention
about a sample at a jump matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import casadi as ca
import numpy as np
from problems import EXAMPLES, RTOL, Equations, Problem, Vector, boiler, four_states, heat_rod

import estimica as es

ATOL = 1e-8


@dataclass(frozen=True, eq=False)
class FitCase:
    """A problem whose tuners are to be found from samples with noise."""

    name: str
    title: str
    problem: Problem  # its tuners are the truth
    times: Vector  # of the samples
    start: dict[str, float]
    sigma: dict[str, float]  # of the noise, by output; weights are 1/sigma
    bounds: tuple[float, float] = (-np.inf, np.inf)  # of every tuner
    model_class: str | None = None
    fixed_inputs: dict[str, float] | None = None
    step: float = 1e-4  # relative, of finite differences
    graded: int = 0  # ever shorter elements after a jump of the inputs, for collocation
    halvings: int = 0  # of the intervals between samples, for collocation

    @cached_property
    def data(self) -> Vector:
        """Samples (N, ny): simulated finely at the truth, and noise."""
        model = es.load_model(self.problem.file, self.model_class)
        starts, values = self.problem.pieces
        inputs: dict[str, object] = dict(self.fixed_inputs or {})
        inputs |= {n: (starts, values[:, k]) for k, n in enumerate(self.problem.inputs)}
        found = model.simulate(
            np.concatenate([[0.0], self.times]), inputs=inputs, parameters=self.problem.tuners,
            outputs=self.problem.outputs, options=es.Options(rtol=1e-10, atol=1e-12),
        )  # fmt: skip
        exact = np.column_stack([found.value(n)[1:] for n in self.problem.outputs])
        noise = np.random.default_rng(3).standard_normal(exact.shape)
        return exact + noise * np.array([self.sigma[n] for n in self.problem.outputs])

    @property
    def weights(self) -> Vector:
        """By which residuals are multiplied."""
        return 1 / np.array([self.sigma[n] for n in self.problem.outputs])

    @property
    def theta(self) -> Vector:
        """Where the search begins."""
        return np.array(list(self.start.values()))

    def residuals(self, Y: Vector) -> Vector:
        """Weighted, in one row."""
        return ((Y - self.data) * self.weights).ravel()

    def write_study(self, folder: Path) -> Path:
        """A study file and its data, as a user would have them; comes back as its path."""
        low, high = self.bounds
        bounds = f", min = {low}, max = {high}" if np.isfinite(high) else ""
        inputs = {n: f'"{n}"' for n in self.problem.inputs}
        inputs |= {n: str(v) for n, v in (self.fixed_inputs or {}).items()}
        lines = ["[model]", f"source = '{self.problem.file}'"]
        lines += [f"class = '{self.model_class}'"] if self.model_class else []
        lines += ["[tune]"]
        lines += [f"'{n}' = {{ start = {v}{bounds} }}" for n, v in self.start.items()]
        lines += ["[[case]]", "name = 'run'", f"data = '{self.name}.csv'", "begin = 0.0"]
        lines += ["[case.inputs]", *(f"'{n}' = {v}" for n, v in inputs.items())]
        lines += ["[case.outputs]"]
        lines += [f"'{n}' = {{ column = '{n}', weight = {1 / s} }}" for n, s in self.sigma.items()]
        lines += ["[estimate]", "criterion = 'oe'", "[solver]", f"rtol = {RTOL}", f"atol = {ATOL}"]
        self._write_csv(folder / f"{self.name}.csv")
        study = folder / f"{self.name}.toml"
        study.write_text("\n".join(lines) + "\n")
        return study

    def _write_csv(self, path: Path) -> None:
        """Cells are empty where nothing was sampled."""
        starts, values = self.problem.pieces
        stamps = np.union1d(starts, self.times)
        table = np.full((len(stamps), 1 + values.shape[1] + self.data.shape[1]), np.nan)
        table[:, 0] = stamps
        table[np.searchsorted(stamps, starts), 1 : 1 + values.shape[1]] = values
        table[np.searchsorted(stamps, self.times), 1 + values.shape[1] :] = self.data
        heading = ",".join(f'"{n}"' for n in ("t", *self.problem.inputs, *self.problem.outputs))
        lines = [",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
        path.write_text("\n".join([heading, *lines]) + "\n")


def drum_boiler() -> FitCase:
    """500 samples of power and pressure, seven tuners."""
    known = boiler()
    grid = np.arange(1001.0)  # inputs change at odd seconds, samples are at even ones
    moved = {n: np.concatenate([np.repeat(v, 2)[1:], v[-1:]]) for n, v in known.inputs.items()}
    start = {"T_D": 200.0, "T_R": 30.0, "A4": 0.5, "w_E": 5.0, "w_P": -5.0, "x10": 100.0,
             "x20": 20.0}  # fmt: skip
    return FitCase(
        "boiler", "drum boiler", replace(known, grid=grid, inputs=moved), known.times, start,
        {"E": 0.7, "P": 3.0},
    )  # fmt: skip


def states() -> FitCase:
    """Four states, twelve unknowns, of which four are start values."""
    known = four_states()
    factors = (1.3, 0.8, 1.3, 0.8, 1.2, 0.8, 1.3, 0.7, 0.5, 1.5, 0.7, 1.4)
    start = {n: f * v for (n, v), f in zip(known.tuners.items(), factors, strict=True)}
    sigma = dict.fromkeys(known.outputs, 0.05)
    return FitCase("states", "four states", known, known.times, start, sigma)


def series_circuit() -> FitCase:
    """100 samples of the current, four tuners, all from 2."""
    sizes = {"t": 1, "x": 2, "z": 0, "p": 4, "u": 0}
    t, x, z, p, u = (ca.SX.sym(name, size) for name, size in sizes.items())
    R1, R2, C, L = ca.vertsplit(p)
    i, v = x[0], x[1]
    none = ca.SX(0, 1)
    equations = Equations(
        t, x, z, p, u, ca.vertcat((10 - v - R1 * i - R2 * i**5) / L, i / C), none, i,
        ca.SX.zeros(2), np.zeros(0),
    )  # fmt: skip
    problem = Problem(
        "Series", "nonlinear circuit", EXAMPLES / "NonlinearCircuit.mo",
        {"R1": 0.5, "R2": 1.0, "C": 0.5, "L": 1.0}, ("i",), equations, np.linspace(0, 20, 101), {},
    )  # fmt: skip
    # of the steps 1e-5 to 3e-3, two- and three-point, the one at which the peers come nearest to
    # the least cost: with smaller ones the noise of odeint decides where they stop
    return FitCase(
        "circuit", "nonlinear circuit", problem, problem.times, dict.fromkeys(problem.tuners, 2.0),
        {"i": 0.02}, bounds=(0.01, 10.0), model_class="NonlinearCircuit.Circuit",
        fixed_inputs={"u": 10.0}, halvings=2, step=1e-3,
    )  # fmt: skip


def rod() -> FitCase:
    """100 states, 20 conductivities, each with a temperature in the middle of its stretch."""
    known = heat_rod()
    outputs = tuple(f"T[{5 * k + 3}]" for k in range(20))
    problem = replace(
        known, outputs=outputs, equations=replace(known.equations, y=known.equations.x[2::5])
    )
    return FitCase(
        "rod", "heat rod, 100 states", problem, known.times, dict.fromkeys(known.tuners, 1.0),
        dict.fromkeys(outputs, 0.002), bounds=(0.05, 10.0), step=1e-3, graded=8,
    )  # fmt: skip


CASES: dict[str, Callable[[], FitCase]] = {
    "boiler": drum_boiler, "states": states, "circuit": series_circuit, "rod": rod,
}  # fmt: skip
