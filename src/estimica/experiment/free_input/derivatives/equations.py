"""Equations written down for a search of inputs: states and sensitivities, step by step.

Each step is a map x⁺ = Φ(x, θ, u); the sensitivities of what is computed are exact, with
S⁺ = Φ_x S + Φ_θ, and so are their derivatives by the inputs, which CasADi takes backwards through
all steps. Φ is a Runge-Kutta step of fourth order, or a Radau step of fifth order where the model
is stiff or keeps algebraic unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.free_input.derivatives.steps import (
    SymbolicEquations,
    at_numbers,
    output_function,
    radau,
    runge_kutta,
    with_sensitivities,
)
from estimica.experiment.free_input.derivatives.walk import (
    CasadiStepChain,
    CompiledStepChain,
    CompiledSteps,
    StepChain,
    StepSchedule,
)
from estimica.experiment.free_input.problem.plan import Plan
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.response import Response

#: over the whole record. Chosen: each is a node of a graph with its derivatives, held in memory
MOST_STEPS = 40_000
#: Runge-Kutta steps between two nodes above which a model is taken as stiff. Chosen: fewer implicit
#: ones are as exact then, though each costs more
MOST_EXPLICIT = 32
#: relative error of sensitivities that steps may leave: a standard error is read to two digits, and
#: all that is told is computed by the engine
TRUSTED = 2e-4
ORDER = {False: 4, True: 5}  # of Runge and Kutta's steps, and of Radau's with three points


def obstacle(model: ModelicaModel) -> str:
    """Why a model cannot be written down at all times; empty where it can."""
    system = model.equations.system
    if not system.states:
        return "it has no states"
    if system.delays:
        return "it delays a signal"
    if system.memories or system.reinits:
        return f"'{(*system.memories, *(r.state for r in system.reinits))[0]}' changes at events"
    if system.relations or system.logicals:
        return "it has events"
    if system.free_parameters:
        return f"'{system.free_parameters[0]}' is found by initial equations"
    return ""


class Equations:
    """A Modelica model under piecewise constant inputs, at one set of values of the unknowns.

    Steps are as many as the sensitivities under the inputs `trial` ask for; `accuracy` is the
    relative error that they are left with there. What is compiled is shared with another one,
    `like`, at other values.
    """

    way = "exact, by the sensitivity equations written down"

    def __init__(
        self,
        plan: Plan,
        values: Vector,
        limited: Sequence[str] = (),
        *,
        trial: Vector,
        like: Equations | None = None,
    ) -> None:
        assert isinstance(plan.model, ModelicaModel)
        self.plan = plan
        self.theta, _ = plan.theta(values)
        response = plan.response(plan.signals(trial))
        assert isinstance(response, Response)
        self._response = response
        self._limited = tuple(limited)
        self._nodes = np.unique(np.concatenate([plan.times, plan.stamps, [plan.end]]))
        self._close = 1e-6 * float(np.diff(self._nodes).min())
        self._w: SymbolicEquations = like._w if like else SymbolicEquations(response)
        w = self._w
        self._seen: ca.Function = (
            like._seen
            if like
            else with_sensitivities(output_function(w, w.outputs(plan.outputs)), w)
        )
        self._compiled: CompiledSteps | None = like._compiled if like else None
        self._first = w.first(self._guess())
        self._jumps = self._w.jumps(limited)
        names = plan.model.equations.system.inputs
        self._places = [names.index(n) for n in plan.designed]
        self._ny = len(plan.outputs)
        self.implicit = bool(self._w.nz)
        self.accuracy = np.inf
        self._refine(trial)

    # -- what a search needs ---------------------------------------------------------------------

    def rows(self, u: Vector) -> Vector | None:
        """(N, ny, p): derivatives of the outputs at the samples; None where they are not finite."""
        rows = self._walk.rows(self._stepped(u))
        if not np.isfinite(rows).all():
            return None
        return rows.reshape(-1, self._w.p, self._ny).transpose(0, 2, 1)

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        seeds = bar.transpose(0, 2, 1).reshape(len(bar), -1)
        by_steps = self._walk.pulled(self._stepped(u), seeds)
        gradient = np.zeros((len(self._places), len(self.plan.stamps)))
        for k, place in enumerate(self._places):
            np.add.at(gradient[k], self._pieces, by_steps[place])
        return gradient.ravel()

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits at the nodes, after and before a jump there."""
        if not self._limited:
            return np.zeros((0, 0))
        return np.array(self._courses(self._stepped(u)), float).T

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives by the free numbers."""
        K, pieces = len(self._widths), len(self.plan.stamps)
        A, B, C, D = (np.array(part, float) for part in self._linear(self._stepped(u)))
        nx, nl, nu = self._w.nx, len(self._limited), len(self._places)
        A, B = A.reshape(nx, K, nx), B.reshape(nx, K, self._w.nu)[:, :, self._places]
        moved = np.zeros((K + 1, nx, nu, pieces))
        for k in range(K):
            moved[k + 1] = np.tensordot(A[:, k], moved[k], 1)
            moved[k + 1, :, :, self._pieces[k]] += B[:, k]
        count = len(self._states_seen)
        C, D = C.reshape(nl, count, nx), D.reshape(nl, count, self._w.nu)[:, :, self._places]
        slopes: Vector = np.einsum("lki,kiup->klup", C, moved[self._states_seen])
        rows = np.arange(count)
        slopes[rows, :, :, self._pieces[self._inputs_seen]] += D.transpose(1, 0, 2)
        return np.asarray(slopes.reshape(count, nl, nu * pieces), np.float64)

    # -- steps -----------------------------------------------------------------------------------

    def _refine(self, trial: Vector) -> None:
        """Take as many steps between two nodes as the sensitivities ask for."""
        count, before = 1, None
        while True:
            self._build(count)
            now = self.rows(trial)
            if now is not None and before is not None:
                # the finer of the two is better by the order of the method
                self.accuracy = _apart(before, now) / 2 ** ORDER[self.implicit]
                if self.accuracy <= TRUSTED:
                    return
            before = now
            if not self.implicit and 2 * count > MOST_EXPLICIT:
                self.implicit, count, before = True, 1, None
                continue
            if 2 * count * (len(self._nodes) - 1) > MOST_STEPS or count >= MOST_EXPLICIT:
                return
            count *= 2

    def _build(self, count: int) -> None:
        parts = np.diff(self._nodes) / count
        self._widths = np.repeat(parts, count)
        number = np.tile(np.arange(count), len(parts))
        self._begins = np.repeat(self._nodes[:-1], count) + number * self._widths
        early = self._begins + self._close
        self._pieces = np.searchsorted(self.plan.stamps, early, side="right") - 1
        given = self._response.pieces
        k = np.clip(np.searchsorted(given.starts, early, side="right") - 1, 0, None)
        self._rises = given.slopes[k].T.copy()
        self._rises[self._places] = 0.0
        since = self._begins - given.starts[k]
        self._other = (given.values[k] + given.slopes[k] * since[:, None]).T.copy()
        first = count * np.arange(len(parts))
        # after each node, and just before the next where a variable jumps with the input
        self._states_seen, self._inputs_seen = first + count, first + count - 1
        if self._jumps:
            self._states_seen = np.concatenate([first, self._states_seen])
            self._inputs_seen = np.concatenate([first, self._inputs_seen])
        step = radau(self._w) if self.implicit else runge_kutta(self._w)
        self._program(step)

    def _stepped(self, u: Vector) -> Vector:
        """Inputs where each step begins, (nu, steps)."""
        inputs = self._other.copy()
        inputs[self._places] = self.plan.shaped(u)[:, self._pieces]
        return inputs

    # -- the program -----------------------------------------------------------------------------

    def _program(self, step: ca.Function) -> None:
        at = np.searchsorted(self._begins, self.plan.times - self._close)
        course = StepSchedule(self._begins, self._widths, self._rises, at)
        if self.implicit:
            rated = with_sensitivities(step, self._w, self._w.nx)
            self._walk: StepChain = CasadiStepChain(
                self._first, rated, self._seen, self.theta, course
            )
        else:
            if self._compiled is None:
                self._compiled = CompiledSteps(
                    with_sensitivities(step, self._w, self._w.nx), self._seen
                )
            self._walk = CompiledStepChain(self._first, self._compiled, self.theta, course)
        if self._limited:
            self._limited_program(step)

    def _limited_program(self, step: ca.Function) -> None:
        """Courses of variables with limits, and the matrices of all steps."""
        w, K = self._w, len(self._widths)
        U = ca.MX.sym("U", w.nu, K)
        t, h, rise = ca.DM(self._begins).T, ca.DM(self._widths).T, ca.DM(self._rises)
        plain = at_numbers(step, self.theta)
        v, _ = self._first(ca.DM(self.theta), U[:, 0])
        V = ca.horzcat(v, plain.mapaccum("courses", K, 1)(v, t, h, U, rise))
        y = at_numbers(output_function(w, w.outputs(self._limited)), self.theta)
        states, inputs = [int(k) for k in self._states_seen], [int(k) for k in self._inputs_seen]
        late = self._nodes[1:]
        if self._jumps:
            late = np.concatenate([self._nodes[:-1], late])
        passed = late - self._begins[self._inputs_seen]
        here = U[:, inputs] + rise[:, inputs] * ca.repmat(ca.DM(passed).T, w.nu, 1)
        seen = (V[:, states], ca.DM(late).T, here)
        self._courses = ca.Function("courses", [U], [y.map(len(late))(*seen)])
        A, B = _partials(plain, w.nx, 3)
        C, D = _partials(y, w.nx, 2)
        steps = (V[:, :K], t, h, U, rise)
        matrices = [m.map(K)(*steps) for m in (A, B)] + [m.map(len(late))(*seen) for m in (C, D)]
        self._linear = ca.Function("linear", [U], matrices)

    def _guess(self) -> Vector:
        """States and algebraic unknowns where the run begins under the inputs of a trial."""
        values = self._response.values.copy()
        tuning = self._response.configuration.tuning
        for c, value in zip(tuning.wrt, self.theta, strict=True):
            values[tuning.index[c.name]] = c.sign * value
        r = self._response
        begun = r.configuration.initialiser.start(values, r.begin, r.pieces.values[0])
        return np.concatenate([begun.x, begun.z])


def _partials(function: ca.Function, nx: int, place: int) -> tuple[ca.Function, ca.Function]:
    """∂/∂x and ∂/∂u of what comes out, each as functions of the same arguments."""
    kind = ca.SX if function.is_a("SXFunction") else ca.MX
    inputs = [kind.sym(f"a{i}", *function.size_in(i)) for i in range(function.n_in())]
    values = function(*inputs)
    rows = nx if place == 3 else values.shape[0]
    by_x = ca.jacobian(values[:rows], inputs[0])[:, :nx]
    by_u = ca.jacobian(values[:rows], inputs[place])
    return (
        ca.Function("by_x", inputs, [ca.densify(by_x)]),
        ca.Function("by_u", inputs, [ca.densify(by_u)]),
    )


def _apart(one: Vector, other: Vector) -> float:
    """Largest relative distance of the derivatives by each number."""
    size = np.sqrt((other**2).sum(axis=(0, 1)))
    off = np.sqrt(((one - other) ** 2).sum(axis=(0, 1)))
    return float(np.max(off / np.where(size > 0, size, 1.0), initial=0.0))
