"""PointSearch: all operating points at given run constants, whatever it takes.

Newton's method from point to nearest point; where that fails, continuation from a point that is
solved, then simulation until steady; modes and logicals are settled in rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.simulate import point_layout as at
from estimica.simulate.engine import Options
from estimica.simulate.initial import MODE_ROUNDS
from estimica.simulate.point_homotopy import Homotopy
from estimica.simulate.point_settling import Settled, Settling
from estimica.simulate.point_solution import PointSolution, as_order, chain, only
from estimica.simulate.point_system import PointSystem
from estimica.simulate.response import Configuration

Vector = npt.NDArray[np.float64]
_TEXTS = {
    at.NOT_SOLVED: "the equations could not be solved",
    at.SINGULAR: "the equations are singular: they do not determine the point",
    at.NOT_FINITE: "the equations have no finite value",
}
_SMALLEST_STEP = 1.0 / 1024


@dataclass(frozen=True, eq=False)
class PointSearch:
    """How the points of one response are solved; `mode` is static, steady or simulate."""

    system: PointSystem
    mode: str
    settling: Settling
    options: Options
    plain: Configuration  # for simulations: the same constants, no derivatives
    #: for points that their equations do not determine: derivatives along the simulation
    full: Callable[[], Configuration] | None = None
    homotopy: Homotopy | None = None
    left_open: str = ""  # what the equations do not determine, in words

    def first(self, values: Vector, P: Vector, u: Vector) -> tuple[PointSolution, dict[int, str]]:
        """The points without any known solution, and what failed at which."""
        Z, d = self._guess(values, u)
        solution = PointSolution.of(self.system, P, u, Z, d)
        if self.mode == "simulate":
            return solution, self._simulated(solution, values)
        order, parent = chain(u) if self.system.nz else (None, None)
        solution.solve(order, parent)
        return solution, self._finished(solution, values)

    def near(
        self, values: Vector, P: Vector, known: PointSolution, u: Vector, Z: Vector
    ) -> tuple[PointSolution, dict[int, str]]:
        """The points from guesses Z near a known solution at other run constants or inputs."""
        solution = PointSolution.of(self.system, P, u, Z.copy(), known.d.copy())
        if self.mode == "simulate":
            return solution, self._simulated(solution, values)
        if solution.solve():
            self._retry(solution, known)
        return solution, self._finished(solution, values)

    # -- guesses ---------------------------------------------------------------------------------

    def _guess(self, values: Vector, u: Vector) -> tuple[Vector, Vector]:
        """Start values of the states and guesses of the unknowns, the same for all points."""
        n, s = len(u), self.system
        guess, logical = self.plain.initialiser.guesses(values)
        _, x, _ = s.tuning.prepare(values)
        Z = np.concatenate([x[: s.n_states], guess])
        d = np.zeros(s.nd)
        d[s.nd - len(logical) :] = logical
        return np.tile(Z, (n, 1)), np.tile(d, (n, 1))

    # -- what Newton's method did not solve at once ----------------------------------------------

    def _retry(self, solution: PointSolution, known: PointSolution) -> None:
        """From the known solution itself, then on the way of the run constants to it."""
        for k in np.flatnonzero(solution.status):
            solution.Z[k] = known.Z[k]
            if not known.status[k] and solution.solve(only(int(k))):
                self._walk(solution, int(k), known.P, known.u[k], known.Z[k])

    def _finished(self, solution: PointSolution, values: Vector) -> dict[int, str]:
        """Rescue what failed and settle the modes; what still fails, in words."""
        told: dict[int, str] = {}
        for _ in range(MODE_ROUNDS):
            self._rescue(solution, values, told)
            if not self.system.nd:
                return told
            solved = as_order(np.flatnonzero(solution.status == at.SOLVED))
            implied = solution.implied_modes(solved)
            changed = np.flatnonzero((implied != solution.d).any(axis=1))
            changed = changed[solution.status[changed] == at.SOLVED]
            if not len(changed):
                return told
            solution.d[changed] = implied[changed]
            solution.solve(as_order(changed))
        for k in changed:
            solution.status[k] = at.NOT_SOLVED
            told[int(k)] = "a relation switches back and forth without end"
        return told

    def _rescue(self, solution: PointSolution, values: Vector, told: dict[int, str]) -> None:
        for k in map(int, np.flatnonzero(solution.status)):
            if k in told:
                continue
            why = self.left_open or _TEXTS[int(solution.status[k])]
            if not (
                self._from_neighbours(solution, k)
                or self._by_homotopy(solution, k, values)
                or self._from_rest(solution, k, values)
            ):
                told[k] = why

    def _from_neighbours(self, solution: PointSolution, k: int) -> bool:
        """Continuation of the inputs from the nearest points that are solved."""
        solved = np.flatnonzero(solution.status == at.SOLVED)
        if not len(solved) or not self.system.nz:
            return False
        spread = np.ptp(solution.u, axis=0)
        away = (((solution.u[solved] - solution.u[k]) / np.where(spread, spread, 1)) ** 2).sum(1)
        for j in solved[np.argsort(away, kind="stable")[:3]]:
            solution.d[k] = solution.d[j]
            if self._walk(solution, k, solution.P, solution.u[j], solution.Z[j]):
                return True
        return False

    def _walk(self, solution: PointSolution, k: int, P: Vector, u: Vector, Z: Vector) -> bool:
        """From a solved point (P, u, Z) to point k in steps that Newton's method can take."""
        done, step, z = 0.0, 0.5, Z
        target_P, target_u, d = solution.P, solution.u[k], solution.d[k]
        while done < 1.0:
            share = min(done + step, 1.0)
            trial = PointSolution.of(
                self.system,
                P + share * (target_P - P),
                (u + share * (target_u - u))[None, :],
                z[None, :].copy(),
                d[None, :].copy(),
            )
            if trial.solve():
                step *= 0.5
                if step < _SMALLEST_STEP:
                    return False
                continue
            done, z, step = share, trial.Z[0], 2 * step
        solution.Z[k] = z
        return not solution.solve(only(k))

    def _by_homotopy(self, solution: PointSolution, k: int, values: Vector) -> bool:
        """From the simplified equations that the model offers."""
        if self.homotopy is None:
            return False
        Z, d = self._guess(values, solution.u[k : k + 1])
        P = self.system.tuning.prepare(values)[0]
        found = self.homotopy.solve(Z[0], solution.u[k], d[0], P)
        if found is None:
            return False
        solution.Z[k], solution.d[k] = found, d[0]
        return not solution.solve(only(k))

    def _from_rest(self, solution: PointSolution, k: int, values: Vector) -> bool:
        """Newton's method from where a simulation comes to rest, or from consistent starts."""
        s = self.system
        if not s.n_states or self.left_open:
            return False
        at_rest = self._settled(solution, k, values)
        if len(at_rest.x) < s.n_states:
            return False
        solution.Z[k] = np.concatenate([at_rest.x[: s.n_states], at_rest.z])
        solution.d[k] = at_rest.d
        return not solution.solve(only(k))

    # -- simulation ------------------------------------------------------------------------------

    def _settled(self, solution: PointSolution, k: int, values: Vector) -> Settled:
        s = self.system
        return self.settling.settle(
            self.plain, values, solution.u[k], s.scales[: s.n_states], self.options
        )

    def _simulated(self, solution: PointSolution, values: Vector) -> dict[int, str]:
        """Each point simulated until it is at rest."""
        told: dict[int, str] = {}
        times: dict[int, float] = {}
        s = self.system
        for k in range(len(solution.u)):
            at_rest = self._settled(solution, k, values)
            if not at_rest.ok:
                told[k] = at_rest.text
                continue
            solution.Z[k] = np.concatenate([at_rest.x[: s.n_states], at_rest.z])
            solution.d[k], times[k] = at_rest.d, at_rest.time
        solution.evaluate(as_order([k for k in range(len(solution.u)) if k not in told]))
        if s.tuning.hybrid.n_memory:  # which only a run knows
            solution.status[:] = at.SINGULAR
        for k in map(int, np.flatnonzero(solution.status)):
            if k in times and solution.status[k] == at.SINGULAR and self.full is not None:
                Y, YS = self.settling.differentiated(
                    self.full(), values, solution.u[k], times[k], self.options
                )
                solution.Y[k], solution.YS[k], solution.status[k] = Y, YS, at.SOLVED
            else:
                told.setdefault(k, _TEXTS[int(solution.status[k])])
        return told
