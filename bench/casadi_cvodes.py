"""CasADi's cvodes with sensitivities, in the variant that is fastest here.

A function that never crosses zero makes it restart where inputs change; without that it integrates
over the jumps and loses its accuracy. Algebraic unknowns are solved for inside the right-hand side:
idas finds no consistent values after a jump of the circuit's input.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from engines import ACCEPTED, Engine, Missing
from problems import RTOL, Equations, Problem, Vector
from reference import Reference

METHODS: dict[str, dict[str, object]] = {
    "BDF": {},
    "Adams": {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"},
}
COMPILED = {
    "jit": True,
    "compiler": "shell",
    "jit_options": {"flags": ["-O3", "-march=native"], "verbose": False},
}
Settings = dict[str, object]
Maker = Callable[[Problem, Equations, Settings], tuple[ca.Function, bool]]


@dataclass(frozen=True, eq=False)
class Variant:
    """A CasADi function of θ: samples (ny, N), Jacobian."""

    name: str
    function: ca.Function
    flat: bool  # Jacobian as (N ny, m) of stacked outputs; otherwise (ny, N m) side by side


class Cvodes(Engine):
    """One of the two methods of cvodes, each in its fastest variant."""

    sees = "before"

    def __init__(self, problem: Problem, method: str, reference: Reference, folder: Path) -> None:
        if problem.stiff and method == "Adams":
            raise Missing("no method for stiff problems")
        begun = time.perf_counter()
        self.problem, self.method = problem, method
        self.name = f"CasADi cvodes {method}"
        with chdir(folder), _silent():
            self._bind(self._contest(reference))
            self.evaluate()
        self.prepare_s = time.perf_counter() - begun

    def _contest(self, reference: Reference) -> Variant:
        """The fastest variant that is accurate enough."""
        times: dict[float, Variant] = {}
        failures = []
        for name, maker, settings in self._variants():
            try:
                self._bind(Variant(name, *self._make(maker, settings)))
                self.evaluate()
                error = reference.errors(*self.result(), self.sees)[1]
                if not error <= ACCEPTED:
                    failures.append(f"{name}: Jacobian off by {error:.0e}")
                    continue
                times[min(self.batch(2) for _ in range(3))] = self.variant
            except RuntimeError as failed:
                failures.append(f"{name}: {str(failed).strip().splitlines()[-1][-90:]}")
        if not times:
            raise Missing("; ".join(failures))
        return times[min(times)]

    def _variants(self) -> Iterator[tuple[str, Maker, Settings]]:
        e = self.problem.equations.explicit()
        yield "forward sensitivities", _forward, {}
        if e.x.numel() * e.p.numel() <= 500 and not e.z.numel():
            yield "one system", _augmented, {}
            if shutil.which("gcc"):
                yield "one system, compiled", _augmented, COMPILED

    def _make(self, maker: Maker, settings: Settings) -> tuple[ca.Function, bool]:
        common = {"reltol": RTOL, "abstol": self.problem.atol, "max_num_steps": 100_000}
        e = self.problem.equations.explicit()
        return maker(self.problem, e, common | METHODS[self.method] | settings)

    def _bind(self, variant: Variant) -> None:
        self.variant = variant
        buffer, self._evaluate = variant.function.buffer()
        self._theta = self.problem.theta
        self._Y, self._J = (np.zeros(variant.function.size_out(k), order="F") for k in range(2))
        buffer.set_arg(0, memoryview(self._theta))
        buffer.set_res(0, memoryview(self._Y.reshape(-1, order="F")))
        buffer.set_res(1, memoryview(self._J.reshape(-1, order="F")))
        self._buffer = buffer

    def evaluate(self) -> None:
        """One run."""
        self._evaluate()
        if self._buffer.ret():
            raise RuntimeError("the integrator failed")

    def result(self) -> tuple[Vector, Vector]:
        """Samples and Jacobian of the last run."""
        ny, n = self._Y.shape
        m = len(self._theta)
        if self.variant.flat:
            return self._Y.T, self._J.reshape(ny, n, m, order="F").transpose(1, 0, 2)
        return self._Y.T, self._J.reshape(ny, m, n, order="F").transpose(2, 0, 1)

    @property
    def note(self) -> str:
        """Which variant was the fastest."""
        return self.variant.name


@contextmanager
def _silent() -> Iterator[None]:
    """CasADi prints warnings, and the arguments of failed runs, past Python."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for k in (1, 2):
            os.dup2(nowhere, k)
        yield
    finally:
        for k, old in enumerate(kept, start=1):
            os.dup2(old, k)
            os.close(old)
        os.close(nowhere)


def _states(
    problem: Problem, dae: dict[str, ca.SX | ca.MX], start: ca.MX, theta: ca.MX, options: Settings
) -> ca.MX:
    """The states at the samples (nx, N)."""
    dae["zero"] = 1 + 0 * dae["x"][0]
    grid = list(map(float, problem.grid))
    run = ca.integrator("run", "cvodes", dae, grid[0], grid[1:], options)
    given = {"x0": start, "p": theta}
    if "u" in dae:
        given["u"] = ca.DM(problem.levels.T)
    return run(**given)["xf"]


def _dae(e: Equations, x: ca.SX, f: ca.SX) -> dict[str, ca.SX | ca.MX]:
    """For the integrator, with the unknowns solved for where there are any."""
    dae = {"x": x, "p": e.p, "ode": f}
    if e.u.numel():
        dae["u"] = e.u
    if not e.z.numel():
        return dae
    rhs = ca.Function("rhs", [e.x, e.z, e.p, e.u], [ca.densify(e.f)])
    point = [ca.MX.sym(n, s.numel()) for n, s in (("x", e.x), ("p", e.p), ("u", e.u))]
    ode = rhs(point[0], e.unknowns(*point), *point[1:])
    return dict(zip(("x", "p", "u", "ode"), (*point, ode), strict=True))


def _forward(problem: Problem, e: Equations, options: Settings) -> tuple[ca.Function, bool]:
    """By cvodes' own forward sensitivities, with a direction for each tuner."""
    m, n, ny = e.p.numel(), len(problem.times), e.y.numel()
    theta = ca.MX.sym("theta", m)
    x = _states(problem, _dae(e, e.x, e.f), e.start(theta)[0], theta, options)
    output = ca.Function("output", [e.x, e.z, e.p, e.u], [ca.densify(e.y)])
    many, u = ca.repmat(theta, 1, n), ca.DM(problem.levels.T)
    z = e.unknowns.map(n)(x, many, u) if e.z.numel() else ca.DM(0, n)
    samples = ca.Function("samples", [theta], [output.map(n)(x, z, many, u)])
    Y = samples(theta)
    swept = samples.forward(m)(theta, Y, ca.DM.eye(m))  # (ny, N m): tuner by tuner
    rates = ca.horzcat(*(ca.vec(swept[:, j * n : (j + 1) * n]) for j in range(m)))
    assert rates.shape == (ny * n, m)
    return ca.Function("forward", [theta], [Y, rates]), True


def _augmented(problem: Problem, e: Equations, options: Settings) -> tuple[ca.Function, bool]:
    """Sensitivities as further states of one system."""
    m, n = e.p.numel(), len(problem.times)
    w = ca.vertcat(e.x, ca.vec(e.S))
    f = ca.vertcat(e.f, ca.vec(e.rates(e.f)))
    theta = ca.MX.sym("theta", m)
    x0, S0 = e.start(theta)
    found = _states(problem, _dae(e, w, f), ca.vertcat(x0, ca.vec(S0)), theta, options)
    output = ca.Function("output", [w, e.p, e.u], [ca.densify(e.y), e.rates(e.y)])
    Y, J = output.map(n)(found, ca.repmat(theta, 1, n), ca.DM(problem.levels.T))
    return ca.Function("augmented", [theta], [Y, J]), False
