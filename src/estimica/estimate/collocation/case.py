"""Collocated case: the equations of one case at all collocation points, as CasADi expressions.

The unknowns of a case are, in sizes of their own: the states at the beginning, states and
algebraic unknowns at the points of every element, and the algebraic unknowns at the stamps (after
a jump of the inputs there). Every function is written once and mapped over elements or stamps; the
places of its nonzeros are known, so that a long record costs memory in proportion to its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import FitError
from estimica.base.signals import Signal
from estimica.compiled.equations import Equations, translate
from estimica.estimate.collocation.elements import Elements, Radau, divided, elements, intervals
from estimica.estimate.objective.predictor import CasePredictor
from estimica.estimate.shooting.segments import nominal_sizes
from estimica.estimate.unknowns import Unknowns
from estimica.flat.expression import Expression
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.response import Response


@dataclass(frozen=True, eq=False)
class Entries:
    """Nonzeros of a matrix: where they are, and what they are."""

    rows: Indices
    columns: Indices
    values: ca.MX


class CollocatedCase:
    """One case; `first` is where its unknowns begin in the vector of all."""

    def __init__(
        self,
        model: ModelicaModel,
        predictor: CasePredictor,
        unknowns: Unknowns,
        scheme: Radau,
        least: int | None = None,
    ) -> None:
        require_smooth(model.equations)
        response = predictor.response
        assert isinstance(response, Response)
        self.model = model
        self.predictor = predictor
        self.response = response
        self.scheme = scheme
        e = self.equations = model.equations
        self.nx, self.nz, self.n = e.x.shape[0], e.z.shape[0], len(unknowns)
        self.ny = len(predictor.record.outputs)
        given, level = predictor.record.inputs, response.pieces.values[0]
        signals = [
            given[name] if name in given else Signal.constant(float(level[k]))
            for k, name in enumerate(e.system.inputs)
        ]
        self._signals = signals
        bounds = intervals(response.begin, predictor.times, signals)
        if len(bounds) == 1:
            raise FitError(
                "F043",
                f"case '{predictor.record.case.name}': all samples are at its beginning, "
                f"{response.begin:g}, so there is nothing to collocate; "
                "use transcription = 'shooting'",
            )
        even = -(-(least or 1) // max(len(bounds) - 1, 1))
        self._bounds = divided(bounds, np.full(len(bounds) - 1, even))
        self.width = self.nx + self.nz  # of a point
        self.degree = len(scheme.points)
        implicit = response.configuration.initialiser.implicit
        self.n_begin = self.nx + (self.nz if implicit else 0)
        self.first = 0
        self.grid: Elements = elements(self._bounds, predictor.times, signals, scheme)
        self.q = ca.SX.sym("q", self.n)
        self.P = self._constants(unknowns)
        self.x_scale, self.z_scale = np.ones(self.nx), np.ones(self.nz)

    def refine(self, parts: Indices) -> None:
        """Cut each element into so many equal ones."""
        self._bounds = divided(self._bounds, parts)
        times = self.predictor.times
        self.grid = elements(self._bounds, times, self._signals, self.scheme)

    def states(self, w: Vector) -> Vector:
        """(M + 1, nx): the states at the bounds of the elements."""
        return w[self._end_places()].T * self.x_scale

    @property
    def size(self) -> int:
        """How many unknowns it has of its own."""
        points = self.degree * self.width * self.grid.count
        return int(self.n_begin + points + self.nz * len(self.grid.stamps))

    @property
    def nominal(self) -> Vector:
        """Nominal values of states and algebraic unknowns; 0 where there are none."""
        e = self.equations
        return nominal_sizes(e, (*e.system.states, *e.torn))

    def built(self, x_scale: Vector, z_scale: Vector) -> None:
        """Write the functions of an element, of a stamp and of the beginning."""
        self.x_scale, self.z_scale = x_scale, z_scale
        self._element = self._element_function()
        self._stamp = self._stamp_function()
        self._begin = self._begin_function()

    # -- expressions -----------------------------------------------------------------------------

    def _constants(self, unknowns: Unknowns) -> ca.SX:
        """All run constants as expressions of the coordinates."""
        p, values = self.predictor, []
        for k, u in enumerate(unknowns.items):
            values.append(ca.exp(self.q[k]) if u.log else u.scale * self.q[k])
        tuners = [values[k] for k in p.places.tuners]
        theta = [*p.links.written(tuners, _written), *(values[k] for k in p.places.starts.values())]
        tuning = self.response.configuration.tuning
        own = [ca.SX(float(v)) for v in self.response.values]
        for c, value in zip(tuning.wrt, theta, strict=True):
            own[tuning.index[c.name]] = c.sign * value
        self.values = values
        return tuning.values_of(ca.vertcat(*own) if own else ca.SX(0, 1))

    def _with_numbers(self, expression: ca.SX, x: ca.SX, z: ca.SX, t: ca.SX, u: ca.SX) -> ca.SX:
        e = self.equations
        old = ca.vertcat(e.x, e.x_pre, e.z, e.P, e.t, e.u, e.homotopy)
        new = ca.vertcat(x, x, z, self.P, t, u, ca.SX(1))
        return ca.substitute(ca.densify(expression), old, new)

    def _element_function(self) -> ca.Function:
        """(states before, points, q, times, inputs, length) → defects and their Jacobian."""
        e, d, nx, nz = self.equations, self.degree, self.nx, self.nz
        before, V = ca.SX.sym("before", nx), ca.SX.sym("V", self.width * d)
        t, h = ca.SX.sym("t", d), ca.SX.sym("h")
        u = ca.SX.sym("u", e.u.shape[0] * d)
        sx, sz = ca.DM(self.x_scale), ca.DM(self.z_scale)
        width, nu = self.width, e.u.shape[0]
        states = [before] + [_part(V, j * width, j * width + nx) for j in range(d)]
        defects = []
        for j in range(d):
            x = sx * states[j + 1]
            z = sz * _part(V, j * width + nx, (j + 1) * width)
            here = _part(u, j * nu, (j + 1) * nu)
            f = self._with_numbers(ca.vertcat(e.f, e.g), x, z, t[j], here)
            slope = sum(float(self.scheme.slopes[r, j]) * states[r] for r in range(d + 1))
            defects += [slope - h * _part(f, 0, nx) / sx, _part(f, nx, nx + nz)]
        defect = ca.densify(ca.vertcat(*defects))
        jacobians = [ca.jacobian(defect, v) for v in (self.q, before, V)]
        arguments = [before, V, self.q, t, u, h]
        return ca.Function("element", arguments, [defect, *jacobians], {"cse": True})

    def _stamp_function(self) -> ca.Function:
        """(v = states and z, q, time, inputs, slopes, weights) → y, g, and what follows from y."""
        e = self.equations
        v, t, u = ca.SX.sym("v", self.width), ca.SX.sym("t"), ca.SX.sym("u", e.u.shape[0])
        x = ca.DM(self.x_scale) * _part(v, 0, self.nx)
        z = ca.DM(self.z_scale) * _part(v, self.nx, self.width)
        written = [e.value(n) for n in self.response.configuration.outputs]
        both = self._with_numbers(ca.vertcat(*written, e.g), x, z, t, u)
        y, g = _part(both, 0, self.ny), _part(both, self.ny, self.ny + self.nz)
        extra = [ca.SX(0) if k is None else self.values[k] for k in self.predictor.extras]
        y = y + ca.vertcat(*extra)
        self._output = ca.Function("output", [v, self.q, t, u], [ca.densify(y)], {"cse": True})
        slope, weight = ca.SX.sym("slope", self.ny), ca.SX.sym("weight", self.ny)
        by_v, by_q = ca.jacobian(y, v), ca.jacobian(y, self.q)
        scaled_v, scaled_q = ca.diag(weight) @ by_v, ca.diag(weight) @ by_q
        return ca.Function(
            "stamp",
            [v, self.q, t, u, slope, weight],
            [
                ca.densify(y),
                g,
                ca.jacobian(g, v),
                ca.jacobian(g, self.q),
                ca.densify(by_v.T @ slope),
                ca.densify(by_q.T @ slope),
                ca.triu(by_v.T @ scaled_v),
                by_q.T @ scaled_v,
                ca.densify(by_q.T @ scaled_q),
                by_v,
                by_q,
            ],
            {"cse": True},
        )

    def _begin_function(self) -> ca.Function:
        """(states and z at the beginning, q) → conditions and their Jacobian."""
        e, initialiser = self.equations, self.response.configuration.initialiser
        v = ca.SX.sym("v", self.n_begin)
        x = ca.DM(self.x_scale) * _part(v, 0, self.nx)
        z = ca.SX.zeros(self.nz)
        if initialiser.implicit:
            z = ca.DM(self.z_scale) * _part(v, self.nx, self.width)
        first = len(e.system.parameters)
        open_ = set(initialiser.open) if initialiser.implicit else set()
        parts = [
            (x[i] - self.P[first + i]) / self.x_scale[i] for i in range(self.nx) if i not in open_
        ]
        if initialiser.implicit:
            u = ca.DM(self.response.pieces.values[0])
            parts.append(
                self._with_numbers(initialiser.residuals, x, z, ca.SX(self.response.begin), u)
            )
        conditions = ca.densify(ca.vertcat(*parts))
        jacobians = [ca.jacobian(conditions, s) for s in (v, self.q)]
        return ca.Function("begin", [v, self.q], [conditions, *jacobians], {"cse": True})

    # -- as parts of the whole problem -----------------------------------------------------------

    def _begun(self, w: ca.MX) -> ca.MX:
        return w[self.first : self.first + self.n_begin]

    def _points(self, w: ca.MX) -> ca.MX:
        a = self.first + self.n_begin
        rows = self.degree * self.width
        return ca.reshape(w[a : a + rows * self.grid.count], rows, self.grid.count)

    def _point_places(self) -> Indices:
        """(rows, M): where the points stand among all unknowns."""
        rows = self.degree * self.width
        places = np.arange(rows * self.grid.count).reshape(-1, rows).T
        return np.asarray(self.first + self.n_begin + places, np.int64)

    def _end_places(self) -> Indices:
        """(nx, M + 1): where the states at the bounds of the elements stand."""
        last = (self.degree - 1) * self.width
        ends = self._point_places()[last : last + self.nx]
        return np.hstack([self.first + np.arange(self.nx)[:, None], ends])

    def _stamp_places(self) -> Indices:
        """(width, S): where states and algebraic unknowns at the stamps stand."""
        S = len(self.grid.stamps)
        a = self.first + self.size - self.nz * S
        own = a + np.arange(self.nz * S).reshape(S, self.nz).T
        return np.vstack([self._end_places()[:, self.grid.places], own])

    def _mapped_elements(self, w: ca.MX, q: ca.MX) -> list[ca.MX]:
        grid, M = self.grid, self.grid.count
        before = ca.reshape(w[_flat(self._end_places()[:, :-1])], self.nx, M)
        inputs = grid.inputs.transpose(1, 0, 2).reshape(-1, M)
        return list(
            self._element.map(M).call(
                [before, self._points(w), ca.repmat(q, 1, M), ca.DM(grid.times), ca.DM(inputs),
                 ca.DM(np.diff(grid.bounds)[None, :])]
            )
        )  # fmt: skip

    def mapped_stamps(self, w: ca.MX, q: ca.MX, slope: ca.MX, weight: ca.MX) -> list[ca.MX]:
        """The results of the stamp's function, stamp by stamp."""
        S = len(self.grid.stamps)
        v = ca.reshape(w[_flat(self._stamp_places())], self.width, S)
        return list(
            self._stamp.map(S).call(
                [v, ca.repmat(q, 1, S), ca.DM(self.grid.stamps[None, :]), ca.DM(self.grid.seen),
                 slope, weight]
            )
        )  # fmt: skip

    def outputs(self, w: ca.MX, q: ca.MX) -> ca.MX:
        """(ny, S): the outputs at the stamps, disturbances included."""
        S = len(self.grid.stamps)
        v = ca.reshape(w[_flat(self._stamp_places())], self.width, S)
        stamps, seen = ca.DM(self.grid.stamps[None, :]), ca.DM(self.grid.seen)
        return self._output.map(S).call([v, ca.repmat(q, 1, S), stamps, seen])[0]

    def conditions(self, w: ca.MX, q: ca.MX) -> ca.MX:
        """What must vanish: at the beginning, in the elements, at the stamps."""
        begin = self._begin(self._begun(w), q)[0]
        defects = ca.vec(self._mapped_elements(w, q)[0])
        if not self.nz:
            return ca.vertcat(begin, defects)
        none = ca.MX.zeros(self.ny, len(self.grid.stamps))
        stamps = self.mapped_stamps(w, q, none, none)[1]
        return ca.vertcat(begin, defects, ca.vec(ca.densify(stamps)))

    def jacobian(self, w: ca.MX, q: ca.MX, first_row: int) -> list[Entries]:
        """The nonzeros of the Jacobian of `conditions`."""
        M, S = self.grid.count, len(self.grid.stamps)
        none = ca.MX.zeros(self.ny, S)
        unknowns = np.arange(self.n)[:, None]
        begin = self._begin(self._begun(w), q)
        f = self._begin
        places = self.first + np.arange(self.n_begin)[:, None]
        entries = [
            _entries(begin[1], f.sparsity_out(1), places, 1, first_row),
            _entries(begin[2], f.sparsity_out(2), unknowns, 1, first_row),
        ]
        row = first_row + f.size1_out(0)
        f, results = self._element, self._mapped_elements(w, q)
        every = np.broadcast_to(unknowns, (self.n, M))
        for k, columns in enumerate((every, self._end_places()[:, :-1], self._point_places()), 1):
            entries.append(_entries(results[k], f.sparsity_out(k), columns, M, row))
        row += f.size1_out(0) * M
        if self.nz:
            f, results = self._stamp, self.mapped_stamps(w, q, none, none)
            every = np.broadcast_to(unknowns, (self.n, S))
            for k, columns in ((2, self._stamp_places()), (3, every)):
                entries.append(_entries(results[k], f.sparsity_out(k), columns, S, row))
        return entries

    @property
    def n_conditions(self) -> int:
        """How many conditions there are."""
        begin, element = self._begin.size1_out(0), self._element.size1_out(0)
        return int(begin + element * self.grid.count + self.nz * len(self.grid.stamps))

    def gradient(self, results: list[ca.MX]) -> tuple[Indices, ca.MX, ca.MX]:
        """(places, values) by the case's own unknowns and the part by q."""
        return _flat_array(self._stamp_places()), ca.vec(results[4]), ca.sum2(results[5])

    def hessian(self, results: list[ca.MX]) -> list[Entries]:
        """The nonzeros of the upper triangle of Jᵀ W J but for its part by q alone."""
        f, S = self._stamp, len(self.grid.stamps)
        places = self._stamp_places()
        every = np.broadcast_to(np.arange(self.n)[:, None], (self.n, S))
        return [
            _entries(results[6], f.sparsity_out(6), places, S, 0, places),
            _entries(results[7], f.sparsity_out(7), places, S, 0, every),
        ]

    def hessian_of_unknowns(self, results: list[ca.MX]) -> ca.MX:
        """The part of Jᵀ W J by q alone, (n, n)."""
        S = len(self.grid.stamps)
        return ca.reshape(ca.sum2(ca.reshape(results[8], self.n**2, S)), self.n, self.n)

    def output_jacobian(self, results: list[ca.MX], first_row: int) -> list[Entries]:
        """The nonzeros of the Jacobian of the outputs, stamp by stamp."""
        f, S = self._stamp, len(self.grid.stamps)
        every = np.broadcast_to(np.arange(self.n)[:, None], (self.n, S))
        return [
            _entries(results[9], f.sparsity_out(9), self._stamp_places(), S, first_row),
            _entries(results[10], f.sparsity_out(10), every, S, first_row),
        ]

    def start(self, begin: Vector, points: Vector, stamps: Vector) -> Vector:
        """The case's own unknowns from values: (nx + nz,), (d, M, nx + nz), (S, nz)."""
        scale = np.concatenate([self.x_scale, self.z_scale])
        return np.concatenate(
            [
                (begin / scale)[: self.n_begin],
                (points / scale).transpose(1, 0, 2).ravel(),
                (stamps / self.z_scale).ravel(),
            ]
        )


def _written(expression: Expression, known: Mapping[str, ca.SX | float]) -> ca.SX:
    """A formula of tuners as a CasADi expression."""

    def leaf(e: Expression) -> ca.SX:
        return ca.SX(e.value) if e.op == "const" else ca.SX(known[e.target])

    return translate([expression], leaf)[0]


def _part(column: ca.SX, begin: int, end: int) -> ca.SX:
    """Rows of a column; plain slicing of CasADi has its own idea of an empty slice."""
    return column[begin:end] if end > begin else ca.SX(0, 1)


def _flat(places: Indices) -> list[int]:
    return [int(k) for k in places.T.ravel()]


def _flat_array(places: Indices) -> Indices:
    return np.ascontiguousarray(places.T).ravel()


def _entries(
    values: ca.MX,
    sparsity: ca.Sparsity,
    columns: Indices,
    count: int,
    first_row: int,
    rows: Indices | None = None,
) -> Entries:
    """Nonzeros of a mapped matrix; rows follow one another, or stand where `rows` says."""
    r, c = (np.array(a, np.int64) for a in sparsity.get_triplet())
    height = sparsity.size1()
    if rows is None:
        own = (first_row + r[:, None] + height * np.arange(count)).T.ravel()
    else:
        own = rows[r].T.ravel()
    return Entries(own, columns[c].T.ravel(), ca.vec(values.nz[:]) if values.nnz() else ca.MX(0, 1))


def require_smooth(equations: Equations) -> None:
    """Refuse models whose equations change on the way or remember more than their states."""
    system = equations.system
    reason = ""
    if not system.states:
        reason = "it has no states"
    elif system.delays:
        reason = "it delays a signal"
    elif system.memories or system.reinits:
        name = (*system.memories, *(r.state for r in system.reinits))[0]
        reason = f"'{name}' changes at events"
    elif system.relations or system.logicals:
        reason = "it has events: relations outside noEvent, Booleans or Integers"
    elif system.free_parameters:
        reason = f"'{system.free_parameters[0]}' is found by the initial equations (fixed = false)"
    if reason:
        raise FitError(
            "F040",
            f"collocation cannot write down '{system.flat.name}': {reason}; use transcription = "
            "'shooting', or 'multiple-shooting' where a single simulation runs away",
        )
