"""FilterStart: where a filter begins: the start of the model, and what is known of its states.

The stationary covariance is that which noise has made of the states after a long time at the first
inputs, A C + C Aᵀ + diag(σ²) = 0, with the model linearised at its start. Its derivatives by the
tuners are those of this equation, whose A and σ move with the start, the algebraic unknowns and the
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from scipy.linalg import eig

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.compiled.filter import FilterSystem
from estimica.compiled.kinks import KinkedSystem
from estimica.simulate.engine.run import RunStart
from estimica.simulate.initial import Initialiser, InitialPoint

#: an eigenvalue nearer to zero than this part of the largest one is zero: its rounding is some
#: 1e-15 of that, and a model whose modes are 10^12 apart cannot be told from one with an integrator
STILL = 1e-12


@dataclass(frozen=True, eq=False)
class Begun:
    """One start: the model's own, and all of the filter's states."""

    point: InitialPoint
    run: RunStart


class FilterStart:
    """Finds starts at values of the constants."""

    def __init__(
        self,
        initialiser: Initialiser,
        system: FilterSystem,
        states: tuple[str, ...],
        resting: FilterSystem | None = None,
        kinks: KinkedSystem | None = None,
    ) -> None:
        self.initialiser, self.system, self.states = initialiser, system, states
        self.kinks = kinks  # the model whose states these are
        self.resting = resting  # whose linear equation the stationary covariance solves

    def at(self, values: Vector, time: float, u: Vector) -> Begun:
        """The start with all inputs of the filter at `u`."""
        own = self.initialiser.equations.u.shape[0]
        start = self.initialiser.start(values, time, u[:own])
        rest, rates = (np.array(a) for a in self.system.start(start.P))
        n = len(self.states)
        x = np.concatenate([start.x[:n], rest[:, 0], start.x[n:]])
        S = np.vstack([start.S[:n], rates, start.S[n:]])
        modes = start.d
        if self.kinks is not None:
            modes = self.kinks.modes_at(time, start.x, start.z, start.P, u[:own], start.d)
        run = RunStart(x, S, self.system.unknowns_at(start.z), modes)
        if self.resting is not None and n:
            d = self.initialiser.settled(start, time, u[:own]) if len(start.d) else start.d
            run = self._settle(run, start, time, u, d)
        return Begun(start, run)

    def _settle(
        self, run: RunStart, start: InitialPoint, time: float, u: Vector, d: Vector
    ) -> RunStart:
        """The same start with the stationary covariance."""
        n, P = len(self.states), start.P
        size = n * (n + 1) // 2
        x, S, z = run.x.copy(), run.S.copy(), self._linear.unknowns_at(start.z)
        V = np.zeros((len(z), S.shape[1]))
        x[n : n + size] = 0.0
        if len(z):
            g, g_z, _ = self._unknowns(time, x, z, P, u, d, S)
            # linear in dz/dx, and z solves its equations already: one step
            z = z - np.linalg.solve(np.array(g_z), np.array(g)[:, 0])
            _, g_z, g_s = self._unknowns(time, x, z, P, u, d, S)
            V = -np.linalg.solve(np.array(g_z), np.array(g_s))
        A, L, rate, _ = self._lyapunov(time, x, z, P, u, d, S, V)
        self._require_stable(np.array(A))
        L = np.array(L)
        x[n : n + size] = np.linalg.solve(L, -np.array(rate)[:, 0])
        _, _, _, moved = self._lyapunov(time, x, z, P, u, d, S, V)
        S[n : n + size] = np.linalg.solve(L, -np.array(moved))
        return RunStart(x, S, run.z, run.d)

    @property
    def _linear(self) -> FilterSystem:
        assert self.resting is not None
        return self.resting

    @cached_property
    def _lyapunov(self) -> ca.Function:
        """A, d(rate)/dC, the rate of C and its derivatives by the tuners at given C."""
        s, h = self._linear, self._linear.hybrid
        n = len(self.states)
        rate = h.f[n : n + n * (n + 1) // 2]
        c = h.x[n : n + n * (n + 1) // 2]
        S, V = ca.SX.sym("S", h.nx, h.ntheta), ca.SX.sym("V", h.nz, h.ntheta)
        A = ca.jacobian(h.f[:n], s.mean)
        if h.nz:
            own = h.nz // (n + 1)
            A += ca.jacobian(h.f[:n], h.z[:own]) @ ca.reshape(h.z[own:], own, n)
        # what the tuners do to C itself is what is looked for
        held = ca.jacobian(rate, ca.vertcat(h.x[:n], h.x[n + n * (n + 1) // 2 :]))
        moved = held @ ca.vertcat(S[:n, :], S[n + n * (n + 1) // 2 :, :])
        moved += ca.jacobian(rate, h.z) @ V + ca.jacobian(rate, h.P) @ h.seed
        results = [ca.densify(a) for a in (A, ca.jacobian(rate, c), rate, moved)]
        return ca.Function("lyapunov", [h.t, h.x, h.z, h.P, h.u, h.d, S, V], results, {"cse": True})

    @cached_property
    def _unknowns(self) -> ca.Function:
        """The equations of the algebraic unknowns and of their slopes dz/dx, and derivatives."""
        h = self._linear.hybrid
        S = ca.SX.sym("S", h.nx, h.ntheta)
        moved = ca.jacobian(h.g, h.x) @ S + ca.jacobian(h.g, h.P) @ h.seed
        results = [ca.densify(a) for a in (h.g, ca.jacobian(h.g, h.z), moved)]
        return ca.Function("unknowns", [h.t, h.x, h.z, h.P, h.u, h.d, S], results, {"cse": True})

    def _require_stable(self, A: Vector) -> None:
        if not np.all(np.isfinite(A)):
            raise SimulationError("R003", "the model has no finite derivative at its start")
        found, left, right = eig(A, left=True, right=True)
        worst = int(np.argmax(found.real))
        if found[worst].real < -STILL * float(np.max(np.abs(found))):
            return
        # by how much states take part in a mode, whatever their units
        state = self.states[int(np.argmax(np.abs(left[:, worst] * right[:, worst])))]
        value = found[worst]
        text = f"{value.real:g}" if not value.imag else f"{value.real:g} ± {abs(value.imag):g}i"
        raise SimulationError(
            "R060",
            f"there is no stationary spread for the states to begin with: the eigenvalue {text} "
            f"1/s, mostly of state '{state}', does not come to rest; write start_spread = "
            f"{{ {state} = … }} in [filter]",
        )
