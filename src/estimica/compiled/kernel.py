"""Kernel: the compiled functions of a HybridSystem that the engine calls, with their derivatives.

Every function takes the same table of arguments (`ARGUMENTS`), so that the engine fills one table
and calls any of them. Sensitivities are stored row-major: S (nx, m), V (nz + nh, m), yS (ny, m),
for m tuners. v = [z; w] stacks the algebraic unknowns and the delayed signals.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Flags, Indices
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.living import living, places, with_zeros
from estimica.compiled.llvm.call_expansion import calls_of, written_out
from estimica.compiled.llvm.machine_code import MachineCode, compile_functions
from estimica.compiled.llvm.operations.vector_math import register_lanes
from estimica.compiled.llvm.operations.width import PLAIN, Width
from estimica.compiled.sparse_plan import SparsePlan, sparse_plan
from estimica.compiled.sparsity import NO_PATTERN, SparsityPattern, Tangent

#: the argument table; k and Wk (a direction, [x; z] and its sensitivities) serve the stiff method
ARGUMENTS = (
    "t", "x", "v", "P", "u", "d", "x_pre", "d_pre", "flags",
    "S", "V", "xdot", "vdot", "udot", "dt", "S_pre", "k", "step", "w", "W",
)  # fmt: skip
#: places in that table: the run constants, and what is computed from them once for each run
RUN_CONSTANTS = ARGUMENTS.index("P")
SAVED, STIFF_SAVED = len(ARGUMENTS), len(ARGUMENTS) + 1
_S = ARGUMENTS.index("S")
#: members that are computed together have these in common
SHARED = frozenset(ARGUMENTS.index(name) for name in ("t", "u", "flags", "udot", "step"))
#: the functions, in the order of the table of addresses
FUNCTIONS = (
    "rhs",  # f
    "both",  # f, S' = f_x S + f_v V + f_P seed
    "linear",  # f and the nonzeros of f_x, f_v, f_P seed
    "output",  # y, yS
    "algebraic",  # g and the nonzeros of g_z
    "algebraic_sens",  # g_x S + g_w W + g_P seed, or the nonzeros of g_x, g_w, g_P seed
    "algebraic_total",  # ... + (g_t + g_u u') dt, or the nonzeros and g_t + g_u u'
    "algebraic_rate",  # g_t + g_x x' + g_w w' + g_u u'
    "zero",
    "zero_rate",  # its time derivative
    "instants",  # and their sensitivities
    "event",  # event_x, reinit_fired, event_l
    "event_sens",  # the total derivative of event_x, or the nonzeros and event_t + event_u u'
    "constraint",  # c, c_x
    "constraint_sens",  # c_x S + c_P seed
    "check",
    "delayed",  # and their sensitivities
    "delays",  # and their sensitivities
    "stiff_jacobian",  # F, nonzeros of F_w, F_t + F_u u' of F = [f; g], w = [x; z]
    "stiff_both",  # F, F_w W + F_P seed
    "stiff_second",  # (F_w k + step F_t)_w W + (F_w k + step F_t)_P seed
    "stiff_linear",  # F, nonzeros of F_w, F_P seed, and F_t + F_u u'
    "stiff_second_linear",  # nonzeros of (F_w k + step F_t)_w and of (...)_P seed
    "zero_sens",  # zero_x S + zero_v V + zero_P seed, or the nonzeros
)
#: further: the states after a piece of the inputs has begun, and their sensitivities or nonzeros
UPDATE = "update"
#: ... and what the beginning and the end of an event make of them, with total derivatives or the
#: nonzeros and what moves with the time of the event
BEFORE_EVENT, AFTER_EVENT = "before_event", "after_event"
#: what only events call: members of a group meet theirs one by one
AT_EVENTS = frozenset({
    "algebraic_total", "algebraic_rate", "zero_rate", "zero_sens", "instants", "event",
    "event_sens", BEFORE_EVENT, AFTER_EVENT,
})  # fmt: skip
#: what a step without events and algebraic unknowns computes from sensitivities
OF_SENSITIVITIES = frozenset({"both", "output"})
#: products nx * m above which sparse Jacobians beat one long expression
DIRECT_LIMIT = 400
#: ... and operations times m: some ten thousand instructions take a second to compile
DIRECT_OPERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class StiffFunctions:
    """What the Rosenbrock method needs besides; its vectors are ordered by `order`, so that the
    Jacobian has a narrow band where it can. `lower` < 0: use a dense factorisation."""

    order: Indices  # place in the stiff vector -> place in [x; z]
    jacobian: SparsityPattern
    tuners: SparsityPattern
    second: SparsityPattern
    second_tuners: SparsityPattern
    lower: int
    upper: int
    direct: bool
    addresses: Indices
    code: MachineCode
    plan: SparsePlan | None  # of M/(h gamma) - F_w: the nonzeros of F_w, then the diagonal of M


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled model for the engine. `m` tuners (0: no sensitivities), `ny` outputs."""

    hybrid: HybridSystem
    ny: int
    m: int
    direct: bool  # S' by one function, not by sparse products
    linear_algebraic: bool  # g is linear in z: one Newton step solves it
    zero_needs_z: bool
    constraint_needs_z: bool
    terminal: bool  # something waits for terminal()
    has_events: bool
    implicit_relations: tuple[bool, ...]  # state relations that need z, w or d
    decided_logicals: tuple[bool, ...]  # logicals in whose equation the mode of one of them stands
    silent_relations: tuple[bool, ...]  # state relations that f, g or events alone look at
    state_jacobian: SparsityPattern
    algebraic_jacobian: SparsityPattern
    z_jacobian: SparsityPattern
    tuner_jacobian: SparsityPattern
    tangents: dict[str, Tangent]  # of sensitivities that are written as nonzeros
    addresses: Indices
    code: MachineCode
    symbols: dict[str, ca.SX] = field(repr=False)
    functions: tuple[ca.Function, ...] = field(repr=False)  # all but the stiff ones
    width: Width = PLAIN
    alive: Flags | None = field(default=None, repr=False)  # entries of S (nx, m); None: all
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def z_plan(self) -> SparsePlan | None:
        """How g_z is factorised where it is large and sparse."""
        pattern = self.z_jacobian
        return sparse_plan(self.hybrid.nz, pattern.rows, pattern.columns, np.zeros(0, np.int64))

    @cached_property
    def stiff(self) -> StiffFunctions:
        """The stiff functions, compiled when a run first needs them."""
        with self._lock:
            if "stiff" in self.__dict__:
                return self.__dict__["stiff"]
            return _build_stiff(self.hybrid, self.symbols, self.m, self.width)

    def in_lanes(self, lanes: int, begun: Flags) -> Kernel:
        """The same model with functions that compute so many members at once; `begun` (nx, m) are
        the sensitivities that do not begin as zero."""
        width = Width(lanes, SHARED, min(lanes, register_lanes()))
        functions = tuple(f for f in self.functions if f.name() not in AT_EVENTS)
        alive = self._living(begun)
        if alive is not None:
            functions = tuple(
                with_zeros(f, _S, ~alive.ravel()) if f.name() in OF_SENSITIVITIES else f
                for f in functions
            )
        code = compile_functions(functions, (RUN_CONSTANTS, SAVED), width)
        return replace(
            self, addresses=_table(code), code=code, width=width, alive=alive,
            _lock=threading.Lock(),
        )  # fmt: skip

    def _living(self, begun: Flags) -> Flags | None:
        """The sensitivities that can differ from zero; None where all may, or where events and
        algebraic unknowns may bring them to life."""
        h = self.hybrid
        if not self.m or not self.direct or self.has_events or h.nz + h.nh:
            return None
        if h.update is not None or h.constraints.shape[0]:
            return None
        if any(calls_of(f) for f in self.functions if f.name() in OF_SENSITIVITIES):
            return None
        moved = ca.jacobian(h.f, h.P) @ ca.sparsify(h.seed)
        alive = living(places(ca.jacobian(h.f, h.x)), places(moved), begun)
        return None if alive.all() else alive


def build_kernel(hybrid: HybridSystem, outputs: ca.SX, sensitivities: bool = True) -> Kernel:
    """Compiles the model, the given outputs (functions of t, x, z, w, P, u, d) and derivatives."""
    m = hybrid.ntheta if sensitivities else 0
    symbols = _symbols(hybrid, m)
    outputs = ca.SX(outputs)
    builder = _Builder(hybrid, symbols, m)
    sparse = builder.continuous(outputs)
    builder.algebraic()
    builder.events()
    builder.rest()
    builder.update()
    functions = tuple(builder.functions.values())
    code = compile_functions(functions, (RUN_CONSTANTS, SAVED))
    v, flags = ca.vertcat(hybrid.z, hybrid.w), hybrid.flags
    decisions = ca.vertcat(hybrid.event_x, hybrid.reinit_fired, hybrid.event_l)
    implicit = _rows_with(hybrid.zero, ca.vertcat(v, hybrid.d))
    modes = ca.vertcat(*(hybrid.d[i] for i, needs in enumerate(implicit) if needs), ca.SX(0, 1))
    return Kernel(
        hybrid=hybrid,
        ny=outputs.shape[0],
        m=m,
        direct=builder.direct,
        linear_algebraic=_linear_in(hybrid.g, hybrid.z),
        zero_needs_z=hybrid.ng > 0 and bool(ca.depends_on(hybrid.zero, v)),
        constraint_needs_z=bool(ca.depends_on(hybrid.constraints, v)),
        terminal=bool(ca.depends_on(decisions, flags[1])),
        has_events=has_events(hybrid),
        implicit_relations=implicit,
        decided_logicals=_rows_with(hybrid.event_l, modes),
        silent_relations=_silent(hybrid, outputs),
        state_jacobian=sparse[0],
        algebraic_jacobian=sparse[1],
        tuner_jacobian=sparse[2],
        tangents=builder.tangents,
        z_jacobian=SparsityPattern.of(ca.jacobian(hybrid.g, hybrid.z)),
        addresses=_table(code),
        code=code,
        symbols=symbols,
        functions=functions,
    )


def has_events(h: HybridSystem) -> bool:
    """Whether anything can change at an instant."""
    return h.nd + h.n_memory > 0 or not ca.SX(h.reinit_fired).is_zero()


def _silent(h: HybridSystem, outputs: ca.SX) -> tuple[bool, ...]:
    """For every state relation whether its mode matters only through f, g, zero functions and
    event equations, where the engine sees what follows from its change."""
    others = ca.vertcat(outputs, h.instants, h.constraints, h.delayed, h.checks, h.endings)
    looked_at = set(ca.jacobian_sparsity(others, h.d).get_triplet()[1])
    return tuple(i not in looked_at for i in range(h.ng))


def _rows_with(column: ca.SX, symbols: ca.SX) -> tuple[bool, ...]:
    """For every element whether one of the symbols stands in it."""
    if not column.shape[0]:
        return ()
    rows = set(ca.jacobian_sparsity(column, symbols).get_triplet()[0])
    return tuple(i in rows for i in range(column.shape[0]))


def _linear_in(expression: ca.SX, unknowns: ca.SX) -> bool:
    if unknowns.shape[0] == 0:
        return True
    if not any(ca.which_depends(expression, unknowns, 2, True)):
        return True
    return not ca.depends_on(written_out(ca.jacobian(expression, unknowns)), unknowns)


def _table(code: MachineCode) -> Indices:
    return np.array([code.addresses.get(name, 0) for name in FUNCTIONS], np.int64)


def _symbols(h: HybridSystem, m: int) -> dict[str, ca.SX]:
    """The argument table as symbols; matrices are flat, row by row."""
    sym = ca.SX.sym
    nv, n = h.nz + h.nh, h.nx + h.nz
    table = {
        "t": h.t, "x": h.x, "v": ca.vertcat(h.z, h.w), "P": h.P, "u": h.u, "d": h.d,
        "x_pre": h.x_pre, "d_pre": h.d_pre, "flags": h.flags, "S": sym("S", h.nx * m),
        "V": sym("V", nv * m), "xdot": sym("xdot", h.nx), "vdot": sym("vdot", nv),
        "udot": h.udot, "dt": sym("dt", m), "S_pre": sym("S_pre", h.nx * m),
        "k": sym("k", n), "step": sym("step"), "w": sym("w", n), "W": sym("W", n * m),
    }  # fmt: skip
    assert tuple(table) == ARGUMENTS
    return table


def _rows(flat: ca.SX, rows: int, columns: int) -> ca.SX:
    """The matrix whose rows stand one after another in `flat`."""
    return ca.reshape(flat, columns, rows).T


def _flat(matrix: ca.SX) -> ca.SX:
    """The rows of a matrix one after another, zeros included."""
    return ca.densify(ca.vec(ca.SX(matrix).T))


def _push(expression: ca.SX, pairs: list[tuple[ca.SX, ca.SX]], columns: int) -> ca.SX:
    """sum of (d expression / d symbol) times direction, column by column."""
    pairs = [(s, ca.SX(direction)) for s, direction in pairs if s.shape[0] > 0]
    if not pairs or columns == 0 or expression.shape[0] == 0:
        return ca.SX(expression.shape[0], columns)
    symbols = ca.vertcat(*(s for s, _ in pairs))
    directions = ca.vertcat(*(direction for _, direction in pairs))
    return ca.jtimes(expression, symbols, ca.densify(directions))


def is_direct(function: ca.Function, rows: int, m: int) -> bool:
    """Whether sensitivities of so many rows are best written as one expression."""
    return rows * m <= DIRECT_LIMIT and function.n_instructions() * m <= DIRECT_OPERATIONS


class _Builder:
    """Collects the functions of a kernel, each over the whole table of arguments."""

    def __init__(self, h: HybridSystem, symbols: dict[str, ca.SX], m: int) -> None:
        self.h, self.m, self.s = h, m, symbols
        self.inputs = list(symbols.values())
        self.functions: dict[str, ca.Function] = {}
        nv = h.nz + h.nh
        self.seed = ca.densify(h.seed) if m else ca.SX(h.nP, 0)
        self.S = _rows(symbols["S"], h.nx, m)
        self.V = _rows(symbols["V"], nv, m)
        self.tangents: dict[str, Tangent] = {}
        self.direct = True

    def add(self, name: str, *results: ca.SX) -> None:
        """Results are written densely unless they are sparse on purpose (nonzeros only)."""
        self.functions[name] = ca.Function(name, self.inputs, list(results), {"cse": True})

    def is_direct(self, name: str) -> bool:
        """Whether the sensitivity of a function's result is best written as one expression."""
        function = self.functions[name]
        return is_direct(function, function.size1_out(0), self.m)

    def tangent(self, name: str, expression: ca.SX) -> ca.SX:
        """The nonzeros of its derivatives one after another; their places are kept by `name`."""
        s, h = self.s, self.h
        # its own unknowns are solved for: what they contribute is the solution's business
        own = h.nz if name == "algebraic_sens" else 0
        by_v = ca.jacobian(expression, s["v"])
        if own:
            by_v = ca.horzcat(ca.SX(by_v.shape[0], own), by_v[:, own:])
        parts = (
            ca.jacobian(expression, s["x"]),
            by_v,
            ca.jacobian(expression, s["x_pre"]),
            ca.jacobian(expression, s["P"]) @ ca.sparsify(h.seed),
        )
        a, b, c, d = (SparsityPattern.of(part) for part in parts)
        self.tangents[name] = Tangent(expression.shape[0], (a, b, c, d))
        return ca.vertcat(*(ca.vec(part.nz[:]) for part in parts))

    def tuned(self, expression: ca.SX) -> ca.SX:
        """The sensitivity of an expression at fixed time."""
        s = self.s
        pairs = [(s["x"], self.S), (s["v"], self.V), (s["P"], self.seed)]
        return _push(expression, pairs, self.m)

    def rate(self, expression: ca.SX) -> ca.SX:
        """The derivative of an expression along time."""
        s = self.s
        pairs = [
            (s["t"], ca.SX(1)), (s["x"], s["xdot"]), (s["v"], s["vdot"]), (s["u"], s["udot"]),
        ]  # fmt: skip
        return ca.densify(_push(expression, pairs, 1))

    def explicit_rate(self, expression: ca.SX) -> ca.SX:
        """The derivative along time with the states and unknowns held."""
        pairs = [(self.s["t"], ca.SX(1)), (self.s["u"], self.s["udot"])]
        return ca.densify(_push(expression, pairs, 1))

    def continuous(
        self, outputs: ca.SX
    ) -> tuple[SparsityPattern, SparsityPattern, SparsityPattern]:
        """The right-hand side and the outputs; comes back with the sparsities of `linear`."""
        h, s = self.h, self.s
        f = ca.densify(h.f)
        self.add("rhs", f)
        self.add("output", ca.densify(outputs), _flat(self.tuned(outputs)))
        if not self.m:
            return NO_PATTERN, NO_PATTERN, NO_PATTERN
        self.direct = self.is_direct("rhs")
        if self.direct:
            self.add("both", f, _flat(self.tuned(f)))
            return NO_PATTERN, NO_PATTERN, NO_PATTERN
        fx, fv = ca.jacobian(h.f, s["x"]), ca.jacobian(h.f, s["v"])
        fp = ca.jacobian(h.f, s["P"]) @ ca.sparsify(h.seed)
        self.add("linear", f, fx, fv, fp)
        return SparsityPattern.of(fx), SparsityPattern.of(fv), SparsityPattern.of(fp)

    def algebraic(self) -> None:
        """The equations of the algebraic unknowns."""
        h, s = self.h, self.s
        if not h.nz:
            return
        self.add("algebraic", ca.densify(h.g), ca.jacobian(h.g, h.z))
        W, rate = self.V[h.nz :, :], self.explicit_rate(h.g)
        if self.is_direct("algebraic"):
            plain = _push(h.g, [(s["x"], self.S), (h.w, W), (s["P"], self.seed)], self.m)
            self.add("algebraic_sens", _flat(plain))
            self.add("algebraic_total", _flat(plain + rate @ s["dt"].T))
        else:
            nonzeros = self.tangent("algebraic_sens", h.g)
            self.add("algebraic_sens", nonzeros)
            self.add("algebraic_total", nonzeros, rate)
        wdot = s["vdot"][h.nz :]
        pairs = [(s["t"], ca.SX(1)), (s["x"], s["xdot"]), (h.w, wdot), (s["u"], s["udot"])]
        self.add("algebraic_rate", ca.densify(_push(h.g, pairs, 1)))

    def events(self) -> None:
        """Relations, instants and the map that an event applies."""
        h, s = self.h, self.s
        if h.ng:
            self.add("zero", ca.densify(h.zero))
            self.add("zero_rate", self.rate(h.zero))
            if self.is_direct("zero"):
                self.add("zero_sens", _flat(self.tuned(h.zero)))
            else:
                self.add("zero_sens", self.tangent("zero_sens", h.zero))
        if h.nt:
            self.add("instants", ca.densify(h.instants), _flat(self.tuned(h.instants)))
        if not has_events(h):
            return
        parts = [ca.densify(e) for e in (h.event_x, h.reinit_fired, h.event_l)]
        self.add("event", *parts)
        self.passage(BEFORE_EVENT, h.before_event)
        self.passage(AFTER_EVENT, h.after_event)
        rate = self.explicit_rate(h.event_x)
        if not self.is_direct("event"):
            self.add("event_sens", self.tangent("event_sens", h.event_x), rate)
            return
        before = _rows(s["S_pre"], h.nx, self.m)
        jump = self.tuned(h.event_x) + _push(h.event_x, [(s["x_pre"], before)], self.m)
        self.add("event_sens", _flat(jump + rate @ s["dt"].T))

    def passage(self, name: str, states: ca.SX | None) -> None:
        """What an event makes of the states besides its equations."""
        if states is None:
            return
        self.add(name, ca.densify(states))
        if not self.m:
            return
        direct, rate = self.is_direct(name), self.explicit_rate(states)
        if direct:
            total = self.tuned(states) + rate @ self.s["dt"].T
            self.add(name, ca.densify(states), _flat(total))
        else:
            self.add(name, ca.densify(states), self.tangent(name, states), rate)

    def update(self) -> None:
        """What the beginning of a piece of the inputs makes of the states."""
        if self.h.update is None:
            return
        after = ca.densify(self.h.update)
        self.add(UPDATE, after)
        if not self.m:
            return
        if self.is_direct(UPDATE):
            self.add(UPDATE, after, _flat(self.tuned(after)))
        else:
            self.add(UPDATE, after, self.tangent(UPDATE, self.h.update))

    def rest(self) -> None:
        """Constraints, checks and delays."""
        h, s = self.h, self.s
        if h.constraints.shape[0]:
            self.add("constraint", ca.densify(h.constraints),
                     _flat(ca.jacobian(h.constraints, s["x"])))  # fmt: skip
            self.add("constraint_sens", _flat(self.tuned(h.constraints)))
        if h.checks.shape[0] or h.endings.shape[0]:
            self.add("check", ca.densify(ca.vertcat(h.checks, h.endings)))
        if h.nh:
            self.add("delayed", ca.densify(h.delayed), _flat(self.tuned(h.delayed)))
            self.add("delays", ca.densify(h.delays), _flat(self.tuned(h.delays)))


def _build_stiff(
    h: HybridSystem, symbols: dict[str, ca.SX], m: int, width: Width
) -> StiffFunctions:
    """F = [f; g] in the order of a narrow band, with first and second derivatives."""
    n, s = h.nx + h.nz, symbols
    plain = ca.vertcat(h.f, h.g)
    order, lower, upper = _band(ca.jacobian_sparsity(plain, ca.vertcat(h.x, h.z)))
    w = s["w"]
    place = np.argsort(order)
    mapped = [w[int(k)] for k in place]
    F = ca.substitute(plain, ca.vertcat(h.x, h.z), ca.vertcat(*mapped))[[int(k) for k in order]]
    jacobian = ca.jacobian(F, w)
    along = ca.densify(_push(F, [(h.t, ca.SX(1)), (h.u, s["udot"])], 1))
    second = ca.jtimes(F, w, s["k"]) + s["step"] * along
    inputs = list(symbols.values())
    functions: list[ca.Function] = []

    def add(name: str, *results: ca.SX) -> None:
        functions.append(ca.Function(name, inputs, list(results), {"cse": True}))

    tuners = second_w = second_tuners = ca.SX(n, 0)
    add("stiff_jacobian", ca.densify(F), jacobian, along)
    direct = is_direct(functions[0], n, m)
    W = _rows(s["W"], n, m)
    if direct:
        pairs = [(w, W), (h.P, ca.densify(h.seed) if m else ca.SX(h.nP, 0))]
        add("stiff_both", ca.densify(F), _flat(_push(F, pairs, m)))
        add("stiff_second", _flat(_push(second, pairs, m)))
    else:
        seed = ca.sparsify(h.seed)
        tuners = ca.jacobian(F, h.P) @ seed
        second_w, second_tuners = ca.jacobian(second, w), ca.jacobian(second, h.P) @ seed
        add("stiff_linear", ca.densify(F), jacobian, tuners, along)
        add("stiff_second_linear", second_w, second_tuners)
    code = compile_functions(functions, (RUN_CONSTANTS, STIFF_SAVED), width)
    pattern = SparsityPattern.of(jacobian)
    return StiffFunctions(
        order=order, jacobian=pattern, tuners=SparsityPattern.of(tuners),
        second=SparsityPattern.of(second_w),
        second_tuners=SparsityPattern.of(second_tuners), lower=lower,
        upper=upper, direct=direct, addresses=_table(code), code=code,
        plan=_stiff_plan(pattern, order, h.nx, lower, upper),
    )  # fmt: skip


def _stiff_plan(
    pattern: SparsityPattern, order: Indices, nx: int, lower: int, upper: int
) -> SparsePlan | None:
    """How M/(h gamma) - F_w is factorised where that is less work than the band or all of it."""
    n = len(order)
    diagonal = np.flatnonzero(order < nx)
    rows, columns = (np.concatenate([a, diagonal]) for a in (pattern.rows, pattern.columns))
    heavy = np.arange(len(pattern.rows), len(rows))
    band = float(n * lower * (lower + upper + 1)) if lower >= 0 else None
    return sparse_plan(n, rows, columns, heavy, band)


def _band(sparsity: ca.Sparsity) -> tuple[Indices, int, int]:
    """An order of the unknowns with a narrow band and its widths, or (as it is, -1, -1)."""
    n = sparsity.shape[0]
    rows, columns = (np.array(a, np.int64) for a in sparsity.get_triplet())
    natural = np.arange(n, dtype=np.int64)
    if n < 10:
        return natural, -1, -1
    # slow to import, and only larger models need them
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ones = np.ones(len(rows))
    pattern = csr_array((ones, (rows, columns)), shape=(n, n))
    candidates = [natural, reverse_cuthill_mckee(pattern + pattern.T, symmetric_mode=True)]
    best = min(candidates, key=lambda order: sum(_widths(order, rows, columns)))
    lower, upper = _widths(best, rows, columns)
    if lower + upper + 1 > n // 2:
        return natural, -1, -1
    return np.asarray(best, np.int64), lower, upper


def _widths(order: Indices, rows: Indices, columns: Indices) -> tuple[int, int]:
    place = np.argsort(order)
    distance = place[rows] - place[columns]
    return max(0, int(distance.max(initial=0))), max(0, int((-distance).max(initial=0)))
