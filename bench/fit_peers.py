"""Those who take part in the benchmark of fits: each finds the tuners of a case in its own way."""

from __future__ import annotations

import importlib.util
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np
from engines import Missing
from fit_cases import ATOL, FitCase
from problems import RTOL, Vector
from scipy.integrate import odeint, solve_ivp
from scipy.optimize import least_squares

import estimica as es
from estimica.estimate.run.fit import fit
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Solver
from estimica.study.study import Study
from estimica.study.tuner import Tuner

TOLERANCE = 1e-8  # of cost and tuners, where a search ends
LONGEST = 300_000  # evaluations of a right-hand side, after which a simulation counts as failed


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search has ended, and what it has cost."""

    values: Vector
    cost: float
    simulations: int
    jacobians: int  # simulations with exact sensitivities, or iterations of a collocation
    wall: float
    cpu: float


class Peer(ABC):
    """Fits one case."""

    name: str
    prepare_s: float = 0.0

    @abstractmethod
    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, evaluations with a Jacobian."""

    def run(self) -> Found:
        """One fit from the start, with its times."""
        wall, cpu = time.perf_counter(), time.process_time()
        found = self.search()
        return Found(*found, time.perf_counter() - wall, time.process_time() - cpu)

    def close(self) -> None:
        """Let go of what it holds."""
        return


class Ours(Peer):
    """fit(study), with everything that it says of an estimate."""

    name = "estimica"

    def __init__(self, case: FitCase) -> None:
        begun = time.perf_counter()
        self.study = study_of(case)
        self.search()
        self.prepare_s = time.perf_counter() - begun

    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, evaluations with a Jacobian."""
        found = fit(self.study)
        assert found.outcome.ok, found.outcome.message
        e = found.evaluations
        return found.values, found.cost, e.simulations - e.sensitivities, e.sensitivities


def study_of(case: FitCase) -> Study:
    """The case as our users write it."""
    problem = case.problem
    starts, values = problem.pieces
    table: dict[str, object] = {n: (starts, values[:, k]) for k, n in enumerate(problem.inputs)}
    table |= {n: (case.times, case.data[:, k]) for k, n in enumerate(problem.outputs)}
    low, high = case.bounds
    return Study(
        es.load_model(problem.file, case.model_class),
        [Tuner(n, start=v, min=low, max=high) for n, v in case.start.items()],
        [
            Case(
                "run", table,
                inputs={n: n for n in problem.inputs} | (case.fixed_inputs or {}),
                outputs={n: OutputColumn(n, weight=1 / s) for n, s in case.sigma.items()},
                begin=0.0,
            )
        ],
        "oe",
        solver=Solver(rtol=RTOL, atol=ATOL),
    )  # fmt: skip


class _Endless(Exception):
    """A simulation at values where the model makes no sense."""


class Simulation:
    """y(θ) by SciPy's LSODA, restarted where inputs change; all samples through one call of y.

    The right-hand side is CasADi's, so that no slow Python function counts against it.
    """

    def __init__(self, case: FitCase, by_odeint: bool = False) -> None:
        self.case, self.by_odeint = case, by_odeint
        e = self.equations = case.problem.equations
        self._start = e.start
        self._output = ca.Function("y", [e.x, e.p, e.u], [ca.densify(e.y)])
        f = ca.Function("f", [e.x, e.p, e.u], [ca.densify(e.f)])
        self._kept, self._evaluate = f.buffer()
        self._x, self._p, self._u, self._f = (
            np.zeros(max(1, s.numel())) for s in (e.x, e.p, e.u, e.x)
        )
        for k, a in enumerate((self._x, self._p, self._u)):
            self._kept.set_arg(k, memoryview(a))
        self._kept.set_res(0, memoryview(self._f))
        self._stretches = self._split()
        starts, values = case.problem.pieces
        self._U = values[np.searchsorted(starts, case.times, side="right") - 1].T
        self.count = 0

    def _split(self) -> list[tuple[Vector, Vector, Vector, slice]]:
        """Inputs, times of a piece with both its ends, which of them are samples, and which."""
        starts, values = self.case.problem.pieces
        times, found = self.case.times, []
        ends = np.append(starts[1:], times[-1] * (1 + 1e-12))
        for u, begin, end in zip(values, starts, ends, strict=True):
            first, last = np.searchsorted(times, (begin, end), side="left")
            grid = np.unique(np.concatenate([[begin], times[first:last], [end]]))
            rows = np.searchsorted(grid, times[first:last])
            found.append((u, grid, rows, slice(int(first), int(last))))
        return found

    def states(self, theta: Vector) -> Vector:
        """All states at the samples (N, nx); NaN where the integration fails."""
        self._p[:] = theta
        x = np.array(self._start(theta)[0]).ravel()
        X = np.empty((len(self.case.times), len(x)))
        self.count += 1
        self._left = LONGEST
        for u, grid, rows, place in self._stretches:
            self._u[: len(u)] = u
            try:
                reached = (self._by_odeint if self.by_odeint else self._by_solve_ivp)(x, grid)
            except _Endless:
                reached = np.zeros((0, len(x)))
            if len(reached) < len(grid) or not np.isfinite(reached).all():
                X[place.start :] = np.nan
                break
            X[place] = reached[rows]
            x = reached[-1]
        return X

    def residuals(self, theta: Vector) -> Vector:
        """Weighted; large where the integration fails."""
        P = np.repeat(theta[:, None], len(self.case.times), axis=1)
        Y = np.array(self._output(self.states(theta).T, P, self._U)).T
        found = self.case.residuals(Y)
        return found if np.isfinite(found).all() else np.full_like(found, 1e6)

    def _by_solve_ivp(self, x: Vector, grid: Vector) -> Vector:
        band = self.case.problem.band
        options = {"lband": band, "uband": band} if band else {}
        found = solve_ivp(
            self._rhs, (grid[0], grid[-1]), x, method="LSODA", t_eval=grid, rtol=RTOL, atol=ATOL,
            **options,
        )  # fmt: skip
        return found.y.T

    def _by_odeint(self, x: Vector, grid: Vector) -> Vector:
        band = self.case.problem.band
        options = {"ml": band, "mu": band} if band else {}
        return np.asarray(
            odeint(self._rhs, x, grid, tfirst=True, rtol=RTOL, atol=ATOL, mxstep=100_000, **options)
        )

    def _rhs(self, t: float, x: Vector) -> Vector:
        self._left -= 1
        if self._left < 0:
            raise _Endless
        self._x[:] = x
        self._evaluate()
        return self._f.copy()


class Scipy(Peer):
    """scipy.optimize.least_squares around LSODA, with two-point differences."""

    def __init__(self, case: FitCase, by_odeint: bool = False) -> None:
        self.case = case
        self.simulation = Simulation(case, by_odeint)
        self.name = f"SciPy + {'odeint' if by_odeint else 'solve_ivp'}"

    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, evaluations with a Jacobian."""
        before = self.simulation.count
        found = least_squares(
            self.simulation.residuals, self.case.theta, x_scale=np.abs(self.case.theta),
            bounds=self.case.bounds, diff_step=self.case.step, ftol=TOLERANCE, xtol=TOLERANCE,
            gtol=TOLERANCE,
        )  # fmt: skip
        return found.x, 2 * found.cost, self.simulation.count - before, 0


class Lmfit(Peer):
    """lmfit.minimize around the same residuals."""

    name = "lmfit + solve_ivp"

    def __init__(self, case: FitCase) -> None:
        if importlib.util.find_spec("lmfit") is None:
            raise Missing("pip install lmfit")
        import lmfit

        self.case, self._lmfit = case, lmfit
        self.simulation = Simulation(case)

    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, evaluations with a Jacobian."""
        before = self.simulation.count
        low, high = self.case.bounds
        parameters = self._lmfit.Parameters()
        for k, value in enumerate(self.case.theta):
            parameters.add(f"p{k}", value, min=low, max=high)

        def residuals(given: object) -> Vector:
            return self.simulation.residuals(np.array(list(given.valuesdict().values())))  # type: ignore[attr-defined]

        found = self._lmfit.minimize(
            residuals, parameters, method="leastsq", ftol=TOLERANCE, xtol=TOLERANCE,
            gtol=TOLERANCE, epsfcn=self.case.step**2,
        )  # fmt: skip
        values = np.array(list(found.params.valuesdict().values()))
        return values, float(found.chisqr), self.simulation.count - before, 0


def exact_cost(case: FitCase, theta: Vector) -> float:
    """The cost at given values, simulated finely: one judge for all."""
    model = es.load_model(case.problem.file, case.model_class)
    starts, values = case.problem.pieces
    inputs: dict[str, object] = dict(case.fixed_inputs or {})
    inputs |= {n: (starts, values[:, k]) for k, n in enumerate(case.problem.inputs)}
    found = model.simulate(
        case.times, inputs=inputs, parameters=dict(zip(case.start, map(float, theta), strict=True)),
        outputs=case.problem.outputs, begin=0.0, options=es.Options(rtol=1e-10, atol=1e-12),
    )  # fmt: skip
    Y = np.column_stack([found.value(n) for n in case.problem.outputs])
    return float(np.sum(case.residuals(Y) ** 2))
