"""PointSearch: all operating points at given run constants, whatever it takes.

The first point by a search from its guess, the others by Newton's method from the nearest point
that is solved. Where that fails: continuation from solved points, the model's homotopy, a search
from the nearest solution, simulation until steady. Modes and logicals are settled in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.simulate.engine.options import Options
from estimica.simulate.initial import MODE_ROUNDS
from estimica.simulate.points import layout as at
from estimica.simulate.points.guess import Homotopy, PointGuess
from estimica.simulate.points.settling import Settling, SettlingResult
from estimica.simulate.points.solution import (
    Origins,
    PointSolution,
    as_order,
    follow_branches,
    is_far,
    keep_branches,
    nearest_order,
    single_order,
)
from estimica.simulate.points.system import PointSystem
from estimica.simulate.response import Configuration
from estimica.simulate.roots.search import SEARCHED

_TEXTS = {
    at.NOT_SOLVED: "the equations could not be solved",
    at.SINGULAR: "the equations are singular: they do not determine the point",
    at.NOT_FINITE: "the equations have no finite value",
    at.JUMPED: "the equations could not be solved",
}
#: of the way from a solved point to another: ten halvings (chosen; each costs a Newton solve)
_SMALLEST_STEP = 1.0 / 1024
#: points that may fail until the others are no longer searched for one by one: a search that finds
#: nothing takes up to a second; of points near a known solution one failure decides already
_FAILURES_FIRST, _FAILURES_NEAR = 20, 3


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
    guess: PointGuess | None = None

    def first(self, values: Vector, P: Vector, u: Vector) -> tuple[PointSolution, dict[int, str]]:
        """The points without any known solution, and what failed at which."""
        Z, d = self._guess(values, u)
        solution = PointSolution.of(self.system, P, u, Z, d)
        if self.mode == "simulate":
            return solution, self._simulated(solution, values)
        if not self.system.nz:
            solution.solve()
            return solution, self._finished(solution, values, _FAILURES_FIRST)
        order, parent = nearest_order(u)
        if not self.system.linear and self.system.nz <= SEARCHED:
            self._searched(solution, int(order[0]), *self._begin(solution, int(order[0])))
        solution.solve(order, parent)
        keep_branches(solution, order, parent)
        told = self._finished(solution, values, _FAILURES_FIRST)
        self._inside(solution)
        return solution, told

    def near(
        self, values: Vector, P: Vector, known: PointSolution, u: Vector, Z: Vector
    ) -> tuple[PointSolution, dict[int, str]]:
        """The points from guesses Z near a known solution at other run constants or inputs."""
        solution = PointSolution.of(self.system, P, u, Z.copy(), known.d.copy())
        if self.mode == "simulate":
            return solution, self._simulated(solution, values)
        solution.solve()
        self._back_to(known, solution)
        self._retry(solution, known)
        return solution, self._finished(solution, values, _FAILURES_NEAR)

    def _back_to(self, known: PointSolution, solution: PointSolution) -> None:
        """Points far from their known solution are reached in small steps instead."""
        if not self.system.nz or self.system.linear:
            return
        both = (solution.status == at.SOLVED) & (known.status == at.SOLVED)
        points = as_order(np.flatnonzero(is_far(solution.Z, known.Z, self.system.scales) & both))
        if len(points):
            ok, Z = follow_branches(solution, points, Origins.of(known, points))
            solution.Z[points[ok]] = Z[ok]
            solution.solve(as_order(points[ok]))
        solution.status[both & (solution.sign != known.sign)] = at.JUMPED

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

    def _begin(self, solution: PointSolution, k: int) -> tuple[Vector, Flags]:
        """Where the search for one point begins: its guess, moved to what the study says; and for
        which unknowns the guess says something."""
        known = np.array(self.system.search.unknowns.given, bool)
        if self.guess is None:
            return solution.Z[k].copy(), known
        constants = solution.P[: self.system.tuning.hybrid.nP]
        moved = self.guess.applied(solution.Z[k], solution.u[k], solution.d[k], constants)
        known[list(self.guess.decided)] = True
        return moved, known

    # -- what Newton's method did not solve at once ----------------------------------------------

    def _retry(self, solution: PointSolution, known: PointSolution) -> None:
        """From the known solution itself, then on the way of the run constants to it."""
        for k in map(int, np.flatnonzero(solution.status)):
            if known.status[k]:
                continue
            kept = solution.Z[k].copy()
            solution.Z[k] = known.Z[k]
            if solution.solve(single_order(k)) or solution.sign[k] != known.sign[k]:
                found = solution.status[k] == at.SOLVED
                on = solution.Z[k].copy()
                if not self._walk(solution, k, known.P, known.u[k], known.Z[k]):
                    # the branch ends here: another solution, if there is one
                    solution.Z[k] = on if found else kept
                    solution.solve(single_order(k))

    def _finished(self, solution: PointSolution, values: Vector, failures: int) -> dict[int, str]:
        """Rescue what failed and settle the modes; what still fails, in words."""
        problems: dict[int, str] = {}
        for _ in range(MODE_ROUNDS):
            self._rescue(solution, values, problems, failures)
            if not self.system.nd:
                return problems
            solved = as_order(np.flatnonzero(solution.status == at.SOLVED))
            implied = solution.implied_modes(solved)
            changed = np.flatnonzero((implied != solution.d).any(axis=1))
            changed = changed[solution.status[changed] == at.SOLVED]
            if not len(changed):
                return problems
            solution.d[changed] = implied[changed]
            solution.solve(as_order(changed))
        sure = np.ones(self.system.nz, bool)
        for k in map(int, changed):
            if not self._switched(solution, k, solution.Z[k].copy(), sure):
                solution.status[k] = at.NOT_SOLVED
                problems[k] = "a relation switches back and forth without end"
        return problems

    def _rescue(
        self, solution: PointSolution, values: Vector, problems: dict[int, str], failures: int
    ) -> None:
        """Each point that failed; what is found helps those that are left."""
        failed = 0
        for k in self._left(solution, problems):
            status = int(solution.status[k])
            if failed >= failures:
                problems[k] = f"{_TEXTS[status]}; not searched for, since {failed} others failed"
                continue
            why = self._rescued(solution, k, values)
            if why:
                problems[k] = why
                failed += 1
            else:
                self._spread(solution, k, problems)

    def _left(self, solution: PointSolution, problems: dict[int, str]) -> Iterator[int]:
        for k in map(int, np.flatnonzero(solution.status)):
            if k not in problems and solution.status[k]:  # one before it may have helped
                yield k

    def _rescued(self, solution: PointSolution, k: int, values: Vector) -> str:
        """Everything that may solve point k, in turn; why nothing did."""
        status, kept = int(solution.status[k]), solution.Z[k].copy()
        if self._from_neighbours(solution, k):
            return ""
        if status == at.JUMPED:  # no way leads here on one branch: the solution of another one
            solution.Z[k] = kept
            return "" if not solution.solve(single_order(k)) else _TEXTS[status]
        if self._by_homotopy(solution, k, values):
            return ""
        if self.left_open:
            return self.left_open
        found = self._searched(solution, k, *self._nearest(solution, k, values))
        if not found or self._from_rest(solution, k, values):
            return ""
        ended = int(solution.status[k])
        return _TEXTS[ended] if ended == at.SINGULAR else found

    def _spread(self, solution: PointSolution, k: int, problems: dict[int, str]) -> None:
        """From a point that was found to those that are left, nearest first."""
        left = np.array([k, *self._left(solution, problems)])
        if len(left) > 1 and self.system.nz:
            order, parent = nearest_order(solution.u[left])
            parents = np.full(len(solution.u), -1, np.int64)
            parents[left] = np.where(parent >= 0, left[parent], -1)
            solution.solve(as_order(left[order[1:]]), parents)

    def _from_neighbours(self, solution: PointSolution, k: int) -> bool:
        """Continuation of the inputs from the nearest points that are solved."""
        if not self.system.nz:
            return False
        for j in self._solved_near(solution, k)[:3]:
            solution.d[k] = solution.d[j]
            if self._walk(solution, k, solution.P, solution.u[j], solution.Z[j]):
                return True
        return False

    def _solved_near(self, solution: PointSolution, k: int) -> Indices:
        """Points that are solved, the nearest first."""
        solved = np.flatnonzero(solution.status == at.SOLVED)
        spread = np.ptp(solution.u, axis=0)
        away = (((solution.u[solved] - solution.u[k]) / np.where(spread, spread, 1)) ** 2).sum(1)
        return as_order(solved[np.argsort(away, kind="stable")])

    def _nearest(self, solution: PointSolution, k: int, values: Vector) -> tuple[Vector, Flags]:
        """Where to search from: the solution of the nearest point, else the guess."""
        near = self._solved_near(solution, k)
        if len(near):
            return solution.Z[near[0]].copy(), np.ones(self.system.nz, bool)
        Z, d = self._guess(values, solution.u[k : k + 1])
        solution.Z[k], solution.d[k] = Z[0], d[0]
        return self._begin(solution, k)

    def _walk(self, solution: PointSolution, k: int, P: Vector, u: Vector, Z: Vector) -> bool:
        """From a solved point (P, u, Z) to point k in steps that Newton's method can take without
        leaving the branch."""
        done, step, z, sign = 0.0, 0.5, Z, 0
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
            if trial.solve() or (sign and trial.sign[0] != sign):
                step *= 0.5
                if step < _SMALLEST_STEP:
                    return False
                continue
            done, z, step, sign = share, trial.Z[0], 2 * step, int(trial.sign[0])
        solution.Z[k] = z
        return not solution.solve(single_order(k))

    def _searched(self, solution: PointSolution, k: int, guess: Vector, begun: Flags) -> str:
        """By a search in all directions from a guess; why it found nothing."""
        if not self.system.nz:
            return _TEXTS[int(solution.status[k])]
        if self._switched(solution, k, guess, begun):
            return ""
        result = self.system.search.find(
            guess, solution.u[k], solution.d[k], solution.P, begun=begun
        )
        if result.U is None:
            solution.Z[k] = guess
            return result.text
        solution.Z[k] = result.U
        return "" if not solution.solve(single_order(k)) else _TEXTS[int(solution.status[k])]

    def _switched(self, solution: PointSolution, k: int, guess: Vector, begun: Flags) -> bool:
        """By a search in which relations switch with the unknowns; their modes go along."""
        search, kept = self.system.switching, solution.d[k].copy()
        if search is None:
            return False
        found = search.find(guess, solution.u[k], kept, solution.P, begun=begun)
        if found.U is None:
            return False
        solution.Z[k] = found.U
        solution.d[k] = solution.implied_modes(single_order(k))[k]
        solution.solve(single_order(k))
        implied = solution.implied_modes(single_order(k))[k]
        if solution.status[k] == at.SOLVED and np.array_equal(implied, solution.d[k]):
            return True
        solution.d[k] = kept
        return False

    def _inside(self, solution: PointSolution) -> None:
        """Solutions inside min and max for points that are not, where there are such."""
        left = [int(k) for k in np.flatnonzero(solution.outside())]
        for k in left[:_FAILURES_NEAR]:
            found = self.system.search.find(solution.Z[k], solution.u[k], solution.d[k], solution.P)
            if found.U is None:
                continue
            trial = solution.only_at(np.array(left))
            trial.Z[left.index(k)] = found.U
            order, parent = nearest_order(trial.u, left.index(k))
            trial.solve(order, parent)
            better = (trial.status == at.SOLVED) & ~trial.outside()
            if self.system.nd:
                better &= (trial.implied_modes(order) == trial.d).all(axis=1)
            chosen = np.array(left)[better]
            solution.Z[chosen] = trial.Z[better]
            solution.solve(as_order(chosen))
            left = [j for j in left if j not in set(map(int, chosen))]
            if not left:
                return

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
        return not solution.solve(single_order(k))

    def _from_rest(self, solution: PointSolution, k: int, values: Vector) -> bool:
        """Newton's method from where a simulation comes to rest, or from consistent starts."""
        s = self.system
        if not s.n_states:
            return False
        at_rest = self._settled(solution, k, values)
        if len(at_rest.x) < s.n_states:
            return False
        solution.Z[k] = np.concatenate([at_rest.x[: s.n_states], at_rest.z])
        solution.d[k] = at_rest.d
        return not solution.solve(single_order(k))

    # -- simulation ------------------------------------------------------------------------------

    def _settled(self, solution: PointSolution, k: int, values: Vector) -> SettlingResult:
        s = self.system
        guess = None
        if self.guess is not None:
            Z, d = self._guess(values, solution.u[k : k + 1])
            solution.Z[k], solution.d[k] = Z[0], d[0]
            guess = self._begin(solution, k)[0][s.n_states :]
        return self.settling.settle(
            self.plain, values, solution.u[k], s.scales[: s.n_states], self.options, guess
        )

    def _simulated(self, solution: PointSolution, values: Vector) -> dict[int, str]:
        """Each point simulated until it is at rest."""
        problems: dict[int, str] = {}
        times: dict[int, float] = {}
        s = self.system
        for k in range(len(solution.u)):
            at_rest = self._settled(solution, k, values)
            if not at_rest.ok:
                problems[k] = at_rest.text
                continue
            solution.Z[k] = np.concatenate([at_rest.x[: s.n_states], at_rest.z])
            solution.d[k], times[k] = at_rest.d, at_rest.time
        solution.evaluate(as_order([k for k in range(len(solution.u)) if k not in problems]))
        if s.tuning.hybrid.n_memory:  # which only a run knows
            solution.status[:] = at.SINGULAR
        for k in map(int, np.flatnonzero(solution.status)):
            if k in times and solution.status[k] == at.SINGULAR and self.full is not None:
                Y, YS = self.settling.differentiated(
                    self.full(), values, solution.u[k], times[k], self.options
                )
                solution.Y[k], solution.YS[k], solution.status[k] = Y, YS, at.SOLVED
            else:
                problems.setdefault(k, _TEXTS[int(solution.status[k])])
        return problems
