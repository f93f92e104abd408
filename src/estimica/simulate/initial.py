"""Consistent initial values and their sensitivities.

Fixed start values are taken as they stand. Initial equations, fixed values of algebraic variables,
constraints between states and parameters with fixed=false make a nonlinear system R(U; p) = 0,
solved by a damped Newton method, with continuation where that fails; dU/dθ follows from the
implicit function theorem. Where the conditions are too few, start values are held in addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.numeric import failed_call, forget_failure
from estimica.base.errors import SimulationError
from estimica.compiled.tuning import Tuning
from estimica.simulate.initial_conditions import (
    guess_function,
    initial_conditions,
    mode_function,
    written,
)
from estimica.simulate.ranges import beyond, moved_inside, outside_notes
from estimica.simulate.roots import newton
from estimica.simulate.roots.jacobian import Jacobian, dense, jacobian_of
from estimica.simulate.roots.ordered import Part, parts_of, solve_in_order
from estimica.simulate.roots.search import NESTED, SEARCHED, RootResult, RootSearch, unknowns_of
from estimica.simulate.starts.compiled import Begun, CompiledStarts, StartProblem
from estimica.simulate.undetermined import OpenValues

Given = tuple[Vector, float, Vector, Vector]  # constants, time, inputs, modes
#: modes follow from the values and these from the modes: a chain of so many relations may settle
#: one after the other (chosen); what goes round in a circle is told as such
MODE_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class InitialPoint:
    """Where a run begins: independent constants (free parameters found), P, x, S, z, modes."""

    values: Vector
    P: Vector
    x: Vector
    S: Vector
    z: Vector
    d: Vector
    notes: tuple[str, ...] = ()  # of unknowns outside of min and max


class Initialiser:
    """Finds the start of a run for one choice of tuners."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning
        e = self.equations = tuning.equations
        self._guess = guess_function(tuning)
        self.logicals_vary = self._guess.jac_sparsity(1, 0).nnz() > 0  # their starts, by constants
        conditions = initial_conditions(tuning, lambda values: self.guesses(values)[0])
        self.residuals, self.labels = conditions.residuals, conditions.labels
        self.open = conditions.open
        self.n_carried = len(e.system.states) + len(e.system.memories)
        self.free = [tuning.index[n] for n in e.system.free_parameters]
        self.implicit = bool(self.residuals.shape[0] > e.z.shape[0] or self.free)
        self._modes = mode_function(tuning)
        self.n_modes, self.n_unknowns = e.d.shape[0], e.z.shape[0]
        self.has_modes = self.n_modes > 0
        self.guessed = bool(self.n_unknowns or e.system.logicals)
        if self.implicit or self.n_unknowns:
            self._build()

    # -- the system R(U; p) ----------------------------------------------------------------------

    def _build(self) -> None:
        e, tuning = self.equations, self.tuning
        p = ca.SX.sym("p", len(tuning.independent))
        values = tuning.values_of(p)
        first = len(e.system.parameters)
        held = [i for i in range(self.n_carried) if i not in self.open]
        unknowns = [ca.SX.sym("U") for _ in range(len(self.open) + len(self.free) + e.z.shape[0])]
        U = ca.vertcat(*unknowns, ca.SX(0, 1))
        n_open, n_free = len(self.open), len(self.free)
        x = ca.SX(self.n_carried, 1)
        for k, i in enumerate(self.open):
            x[i] = U[k]
        for i in held:
            x[i] = values[first + i]
        for k, i in enumerate(self.free):
            values = ca.substitute(values, p[i], U[n_open + k])
            x = ca.substitute(x, p[i], U[n_open + k])
        old = ca.vertcat(e.x, e.x_pre, e.z, e.P)
        new = ca.vertcat(x, x, *unknowns[n_open + n_free :], values)

        def in_unknowns(column: ca.SX) -> ca.SX:
            column = ca.substitute(column, old, new)
            if not e.w.shape[0]:
                return column
            # before its duration has passed a delayed signal is its first value
            return ca.substitute(column, e.w, ca.substitute(e.delayed, old, new))

        R = in_unknowns(self.residuals)
        arguments = [U, p, e.t, e.u, e.d, e.homotopy]
        forward = {"allow_reverse": False}
        self._R = ca.Function("R", arguments, [R, ca.jacobian(R, U, forward)], {"cse": True})
        self._written = in_unknowns
        self._search = self._search_of(R, U, arguments[1:])
        algebraic = ca.vertcat(*unknowns[n_open + n_free :], ca.SX(0, 1))
        self._symbols = R, (x, algebraic, values), arguments
        if tuning.wrt:
            self._R_theta = self._theta(R)

    def _theta(self, column: ca.SX) -> ca.Function:
        """The derivatives of a column of conditions by the tuners."""
        p, tuning = self._symbols[2][1], self.tuning
        wrt = ca.vertcat(*(p[tuning.index[c.name]] for c in tuning.wrt))
        rates = ca.jacobian(column, wrt, {"allow_reverse": False})
        signs = ca.repmat(ca.DM([c.sign for c in tuning.wrt]).T, column.shape[0], 1)
        return ca.Function("theta", self._symbols[2], [rates * signs])

    @cached_property
    def _open_values(self) -> OpenValues:
        e = self.equations
        starts = {n: written(e, start) for n, start in e.system.starts.items()}
        return OpenValues(e, starts, self._written, self._symbols[2])

    @cached_property
    def _open_values_theta(self) -> ca.Function:
        return self._theta(self._open_values.column)

    def _search_of(self, R: ca.SX, U: ca.SX, given: list[ca.SX]) -> RootSearch:
        """The search for the unknowns where Newton's method fails; it also judges what is true."""
        e = self.equations
        carried = e.system.states + e.system.memories
        names = (*(carried[i] for i in self.open), *e.system.free_parameters, *e.torn)
        return RootSearch.of(unknowns_of(e.system, names, self.labels), R, U, given)

    @cached_property
    def _switching(self) -> RootSearch:
        """The search with relations that switch as the unknowns move: with held modes a law such as
        `if x > 0 then x^2 else -x^2` has no solution on the other side."""
        R, (x, z, P), arguments = self._symbols
        U, _, t, u, d, _ = arguments
        # behind the constants of the model stand those of the sensitivities; no relation has them
        P = ca.vertcat(P, ca.SX.zeros(self.tuning.hybrid.P.shape[0] - P.shape[0]))
        for _ in range(NESTED):
            R = ca.substitute(R, d, self._modes(t, x, z, P, u, d, x, d))
        return self._search_of(R, U, arguments[1:])

    @cached_property
    def _compiled(self) -> CompiledStarts | None:
        """What does in compiled code what is tried first; None where that cannot be."""
        if not (self.implicit or self.n_unknowns):
            return None
        h, m, arguments = self.tuning.hybrid, len(self.tuning.wrt), self._symbols[2]
        theta = None
        if m and self.implicit:
            rows = ca.densify(self._R_theta(*arguments)).T
            theta = ca.Function("theta", arguments, [rows], {"cse": True})
        functions = self._search, self._guess, self.tuning.preparation, theta
        modes = self._modes if self.has_modes and not self.implicit else None
        sizes = self.n_unknowns, h.nx, h.nP, m, len(self.equations.system.relations)
        return CompiledStarts.of(
            StartProblem(
                *functions, modes, self.open, self.free, *sizes, self.implicit, self._has_homotopy
            )
        )

    # -- one start -------------------------------------------------------------------------------

    def starts(
        self, values: Vector, time: float, u: Vector, guess: Vector | None = None
    ) -> Begun | None:
        """The starts of many members (rows of `values`) as far as they are found at once; None
        where each is to be looked for by `start`."""
        if self._compiled is None or (self.has_modes and self.implicit):
            return None
        return self._compiled.many(values, time, u, guess)

    def start(
        self, values: Vector, time: float, u: Vector, guess: Vector | None = None
    ) -> InitialPoint:
        """The consistent start for values of the independent constants; `guess` is where to look
        for the algebraic unknowns instead of their start attributes."""
        forget_failure()
        begun = self.starts(values[None], time, u, None if guess is None else guess[None])
        if begun is not None and begun.found[0]:
            b = begun
            return InitialPoint(b.values[0], b.P[0], b.x[0], b.S[0], b.z[0], b.d[0])
        e = self.equations
        d = np.zeros(self.n_modes)
        z = np.zeros(0)
        if self.guessed:
            z, logical = self.guesses(values)
            d[len(e.system.relations) :] = logical
            z = z if guess is None else guess
        P, x, S = self.tuning.prepare(values)
        if not (self.implicit or z.size):
            return InitialPoint(values, P, x, S, z, d)
        if not self.implicit:
            z, modes = self._consistent_z(values, time, u, d, x, z, P)
            notes = outside_notes(self._search.unknowns, z)
            return InitialPoint(values, P, x, S, z, self._before_the_event(modes, d), notes)
        d_pre = d.copy()
        U = guessed = np.concatenate([x[self.open], values[self.free], z])
        for _ in range(MODE_ROUNDS):
            U = self._solve(U, values, time, u, d)
            U, added = self._with_open_values(U, guessed, (values, time, u, d))
            U = newton.at_guess(self._evaluate((values, time, u, d)), U, guessed)
            found = self._start_from(U, values, d, time, u, added)
            new = self._settled_modes(found, d_pre, time, u)
            if np.array_equal(new, d):
                break
            d = new
        notes = outside_notes(self._search.unknowns, U)
        return replace(found, d=self._before_the_event(d, d_pre), notes=notes)

    def _with_open_values(
        self, U: Vector, guess: Vector, given: Given
    ) -> tuple[Vector, Sequence[int]]:
        """The root at which states have their start values that nothing determines in these modes
        (other modes, on the way here, may have determined them), and which these are."""
        if not self.has_modes or not self.open:
            return U, ()
        plain = self._evaluate(given)
        added = self._open_values.missing(dense(plain(U)[1]), len(self.open), U, *given, 1.0)
        if not added:
            return U, ()

        def evaluate(point: Vector) -> tuple[Vector, Vector]:
            R, J = plain(point)
            H, H_U = (np.array(a)[added] for a in self._open_values.offered(point, *given, 1.0))
            return np.concatenate([R, H.ravel()]), np.vstack([dense(J), H_U])

        found = newton.solve(evaluate, guess, size=1.0)
        found = newton.solve(evaluate, U, size=1.0) if found is None else found
        return (U, ()) if found is None else (found, added)

    def _before_the_event(self, d: Vector, d_pre: Vector) -> Vector:
        """The initial event must find the start values of the logicals as their previous ones."""
        n_modes = len(self.equations.system.relations)
        return np.concatenate([d[:n_modes], d_pre[n_modes:]])

    def guesses(self, values: Vector) -> tuple[Vector, Vector]:
        """Start attributes of the algebraic unknowns and of the logicals."""
        z, logical = (np.array(g, float).ravel() for g in self._guess(values))
        return z, logical

    def operating_point(self, values: Vector, time: float, u: Vector) -> InitialPoint:
        """Like `start`, with modes and logicals settled as the initial event leaves them."""
        found = self.start(values, time, u)
        d = self._settled_modes(found, found.d, time, u)
        return InitialPoint(found.values, found.P, found.x, found.S, found.z, d)

    def settled(self, start: InitialPoint, time: float, u: Vector) -> Vector:
        """Modes and logicals that agree with the given values."""
        return self._settled_modes(start, start.d, time, u)

    def _consistent_z(
        self, values: Vector, time: float, u: Vector, d: Vector, x: Vector, z: Vector, P: Vector
    ) -> tuple[Vector, Vector]:
        """Algebraic unknowns at the start, and the modes that they imply."""
        d_pre = d.copy()
        for _ in range(MODE_ROUNDS):
            z = self._solve(z, values, time, u, d)
            new = self._settled_modes(
                InitialPoint(values, P, x, np.zeros((0, 0)), z, d), d_pre, time, u
            )
            if np.array_equal(new, d):
                break
            d = new
        return z, d

    def _start_from(
        self,
        U: Vector,
        values: Vector,
        d: Vector,
        time: float,
        u: Vector,
        added: Sequence[int] = (),
    ) -> InitialPoint:
        n_open, n_free = len(self.open), len(self.free)
        values = values.copy()
        values[self.free] = U[n_open : n_open + n_free]
        rates = np.zeros((U.size, len(self.tuning.wrt)))
        if rates.size:
            arguments = (U, values, time, u, d, 1.0)
            J = jacobian_of(self._R(*arguments)[1])
            R_theta = np.array(self._R_theta(*arguments))
            if added:
                kept = list(added)
                H_U = np.array(self._open_values.offered(*arguments)[1])[kept]
                J = np.vstack([dense(J), H_U])
                R_theta = np.vstack([R_theta, np.array(self._open_values_theta(*arguments))[kept]])
            rates = newton.newton_step(J, R_theta, U)
        P, x, S = self.tuning.prepare(values, rates[n_open : n_open + n_free])
        x[self.open] = U[:n_open]
        S[self.open] = rates[:n_open]
        return InitialPoint(values, P, x, S, U[n_open + n_free :].copy(), d)

    def _settled_modes(self, start: InitialPoint, d_pre: Vector, time: float, u: Vector) -> Vector:
        if not self.has_modes:
            return start.d
        d = start.d
        for _ in range(MODE_ROUNDS):
            new = np.array(
                self._modes(time, start.x, start.z, start.P, u, d, start.x, d_pre)
            ).ravel()
            if np.array_equal(new, d):
                return new
            d = new
        return d

    # -- Newton ----------------------------------------------------------------------------------

    def _solve(self, U: Vector, values: Vector, time: float, u: Vector, d: Vector) -> Vector:
        """A root that keeps to min and max of the unknowns; where none is found, one outside."""
        given = (values, time, u, d)
        found = None if self._compiled is None else self._compiled.root(U, *given)
        if found is not None:
            return found
        solution = self._nearest(U, given)
        if not beyond(self._search.unknowns, solution).any():
            return solution
        inside = self._inside(U, solution, given)
        return solution if inside is None else inside

    def _inside(self, guess: Vector, solution: Vector, given: Given) -> Vector | None:
        """A root that keeps to min and max, where Newton's method has found one that does not."""
        unknowns = self._search.unknowns
        for begun in (guess, solution):
            for moved in moved_inside(unknowns, begun):
                found = None if np.array_equal(moved, guess) else self._near(moved, given)
                if found is not None and not beyond(unknowns, found).any():
                    return found
        if guess.size > SEARCHED:
            return None
        searched = self._searched(np.clip(guess, unknowns.low, unknowns.high), given).U
        return searched if searched is not None and not beyond(unknowns, searched).any() else None

    def _nearest(self, U: Vector, given: Given) -> Vector:
        """The root near the guess `U`; where a zero of the guess spoils it, near a one instead.

        Unknowns of another sign than their guess are looked at twice: Newton's method may have
        stepped over a pole. Small systems are searched at once.
        """
        small = U.size <= SEARCHED
        solution = self._near(U, given)
        if solution is None:
            solution = self._in_order(U, given)
        if solution is not None and not (small and (U * solution < 0).any()):
            return solution
        root = self._searched(U, given) if small else RootResult(None)
        solution = root.U if root.U is not None else solution
        if solution is None:
            solution = self._from_far(U, given)
        if solution is None and not small:
            root = self._searched(U, given)
            solution = root.U
        if solution is None and self.has_modes and self._is_square(U):
            solution = self._switching.find(U, *given, 1.0).U
        if solution is None:
            self._fail(U, given, root.text)
            raise AssertionError
        return solution

    def _near(self, guess: Vector, given: Given) -> Vector | None:
        """By the model's homotopy, which leads to the solution that is meant where there are
        several, or by Newton's method."""
        found = self._by_homotopy(guess, given) if self._has_homotopy else None
        return self._newton(guess, given) if found is None else found

    @cached_property
    def _has_homotopy(self) -> bool:
        return bool(ca.depends_on(self.residuals, self.equations.homotopy))

    def _in_order(self, U: Vector, given: Given) -> Vector | None:
        """By Newton's method from where its parts, solved one after the other, lead."""
        begun = solve_in_order(self._evaluate(given), U, self._parts)
        return None if np.array_equal(begun, U) else self._near(begun, given)

    @cached_property
    def _parts(self) -> list[Part]:
        sparsity = self._R.sparsity_out(1)
        rows: list[list[int]] = [[] for _ in range(sparsity.size1())]
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            rows[row].append(column)
        return parts_of(rows, sparsity.size2())

    def _from_far(self, U: Vector, given: Given) -> Vector | None:
        """By continuation from the guess, or all of this from ones in place of its zeros."""
        ones = np.where(U == 0.0, 1.0, U)
        evaluate, holds = self._evaluate(given), self._holds(given)
        found = newton.solve_by_continuation(evaluate, U, holds)
        found = self._near(ones, given) if found is None else found
        return newton.solve_by_continuation(evaluate, ones, holds) if found is None else found

    def _searched(self, U: Vector, given: Given) -> RootResult:
        return self._search.find(U, *given, 1.0) if self._is_square(U) else RootResult(None)

    def _is_square(self, U: Vector) -> bool:
        return bool(self.residuals.shape[0] == U.size)

    def _evaluate(self, given: Given, homotopy: float = 1.0) -> newton.Evaluate:
        def evaluate(point: Vector) -> tuple[Vector, Jacobian]:
            R, J = self._R(point, *given, homotopy)
            return np.array(R).ravel(), jacobian_of(J)

        return evaluate

    def _holds(self, given: Given) -> newton.Holds:
        def holds(point: Vector) -> bool:
            E, size = (np.array(a).ravel() for a in self._search.true(point, *given, 1.0))
            return newton.is_near_zero(E, size)

        return holds

    def _newton(self, U: Vector, given: Given, homotopy: float = 1.0) -> Vector | None:
        """Damped Newton (least-norm steps where J is singular); None where it does not converge."""
        evaluate = self._evaluate(given, homotopy)
        if not self._is_square(U):
            # conditions that follow from others hold to rounding, which may be that of terms far
            # larger than their own: unknowns that are zero count as one
            return newton.solve(evaluate, U, size=1.0)
        if homotopy < 1.0:
            return newton.solve(evaluate, U)
        return newton.solve(evaluate, U, self._holds(given))

    def _by_homotopy(self, U: Vector, given: Given) -> Vector | None:
        """From the simplified equations that the model offers to the actual ones."""
        begun = self._newton(U, given, 0.0)
        if begun is None:
            return None
        return newton.continue_root(lambda V, share: self._newton(V, given, share), begun)

    def _fail(self, U: Vector, given: Given, why: str) -> None:
        R = np.array(self._R(U, *given, 1.0)[0]).ravel()
        worst = int(np.argmax(np.where(np.isfinite(R), np.abs(R), np.inf)))
        told = f"{why}; there " if why else ""
        call = failed_call()
        advice = "give start values nearer to the solution"
        advice = f"the last call that failed: {call}" if call else advice
        raise SimulationError(
            "R001",
            f"no consistent initial values found at time {given[1]:g}: {told}{self.labels[worst]} "
            f"is off by {R[worst]:g}; {advice}",
        )
