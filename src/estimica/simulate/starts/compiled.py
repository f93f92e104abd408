"""CompiledStarts: the conditions of a start as machine code, with the memory to search in."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.compiled.llvm.machine_code import MachineCode, compile_functions
from estimica.simulate.engine.workspace import address_of
from estimica.simulate.roots.jacobian import LARGE
from estimica.simulate.roots.scalar import decades
from estimica.simulate.roots.search import SEARCHED, RootSearch
from estimica.simulate.starts import layout as at
from estimica.simulate.starts.member import starts_unit

#: instructions of all functions from which on compiling them, 50 to 150 µs for each, takes as long
#: as a start in Python
MOST_INSTRUCTIONS = 20_000


@dataclass(frozen=True, eq=False)
class StartProblem:
    """What a start is looked for with: `search` are the conditions, `theta` their derivatives by
    the tuners (rows of a matrix one after the other), `guess` and `prepare` functions of p."""

    search: RootSearch
    guess: ca.Function
    prepare: ca.Function
    theta: ca.Function | None
    modes: ca.Function | None  # settles them; None where there are none, or each round is more work
    open: Sequence[int]
    free: Sequence[int]
    nz: int
    nx: int
    nP: int
    m: int
    relations: int
    implicit: bool
    eased: bool  # the model offers a homotopy


@dataclass(frozen=True, eq=False)
class Begun:
    """Starts of members; those that were not found are to be looked for in another way."""

    values: Vector  # (L, independent constants), with free parameters as they were found
    P: Vector
    x: Vector
    S: Vector
    z: Vector
    d: Vector
    found: Flags


@dataclass(eq=False)
class CompiledStarts:
    """Finds starts by compiled code; every thread has its own memory for it."""

    problem: StartProblem
    _own: threading.local = field(default_factory=threading.local, repr=False)

    @staticmethod
    def of(problem: StartProblem) -> CompiledStarts | None:
        """None where conditions are not as many as unknowns, or too many."""
        n = len(problem.search.unknowns.names)
        rows, columns = problem.search.full.size_out(1)
        if not 0 < rows == columns < LARGE or n != rows:
            return None
        starts = CompiledStarts(problem)
        size = sum(f.n_instructions() for f in starts.functions)
        return starts if size <= MOST_INSTRUCTIONS else None

    @cached_property
    def functions(self) -> list[ca.Function]:
        """What every start needs."""
        p = self.problem
        some = p.search.full, p.search.true, p.theta, p.guess, p.prepare, p.modes
        return [f for f in some if f is not None]

    @cached_property
    def code(self) -> MachineCode:
        """The functions in memory."""
        return compile_functions(self.functions, hurried=True)

    @cached_property
    def slope(self) -> MachineCode:
        """The one that a search needs besides; most starts do without."""
        return compile_functions([self.problem.search.slope], hurried=True)

    def many(self, values: Vector, time: float, u: Vector, guess: Vector | None = None) -> Begun:
        """Starts of members, the rows of `values`; `guess` is (L, nz), where to look for z."""
        p, memory, many = self.problem, self._memory, len(values)
        begun = Begun(
            np.empty((many, values.shape[1])),
            np.empty((many, p.nP)),
            np.empty((many, p.nx)),
            np.empty((many, p.nx, p.m)),
            np.empty((many, p.nz)),
            np.empty((many, memory.nd)),
            np.zeros(many, np.bool_),
        )
        iw, found = memory.iw, np.zeros(many)
        memory.set_point(time, u)
        given = None if guess is None else np.ascontiguousarray(guess, np.float64)
        iw[at.GUESSED] = given is not None
        iw[at.ALL_GUESS] = 0 if given is None else address_of(given)
        for place, array in (
            (at.ALL_VALUES, begun.values), (at.ALL_P, begun.P), (at.ALL_X, begun.x),
            (at.ALL_S, begun.S), (at.ALL_Z, begun.z), (at.ALL_D, begun.d), (at.FOUND, found),
        ):  # fmt: skip
            iw[place] = address_of(array)
        begun.values[:] = values
        if memory.run(at.STARTS, many) == at.NEEDS_SLOPE:
            memory.add_slope(self.slope)
            begun.values[:] = values  # free parameters were put there
            memory.run(at.STARTS, many)
        begun.found[:] = found > 0
        return begun

    def root(self, U: Vector, values: Vector, time: float, u: Vector, d: Vector) -> Vector | None:
        """The unknowns near `U`, or None where they are to be looked for in another way."""
        memory = self._memory
        values = np.ascontiguousarray(values, np.float64)
        memory.set_point(time, u)
        memory.modes[:] = d
        memory.iw[at.VALUES] = address_of(values)
        memory.begun[: U.size] = U
        ended = memory.run(at.ROOT, 0)
        if ended == at.NEEDS_SLOPE:
            memory.add_slope(self.slope)
            ended = memory.run(at.ROOT, 0)
        return memory.now[: U.size].copy() if ended == at.DONE else None

    @property
    def _memory(self) -> _Memory:
        memory: _Memory | None = getattr(self._own, "memory", None)
        if memory is None:
            memory = self._own.memory = _Memory(self.problem, self.code)
        return memory


class _Memory:
    """The two arrays of the compiled search, for one thread."""

    def __init__(self, p: StartProblem, code: MachineCode) -> None:
        self.code = code  # lives as long as its addresses are used
        self.iw = _whole_numbers(p, code)
        sizes = _sizes(p)
        places = np.cumsum([0, *sizes.values()])
        self.rw = np.zeros(places[-1])
        for place, first in zip(sizes, places, strict=False):
            self.iw[place] = address_of(self.rw) + 8 * first
        self._where = {place: int(first) for place, first in zip(sizes, places, strict=False)}
        self.begun, self.now = (self._part(k, sizes[k]) for k in (at.W_BEGUN, at.W_NOW))
        self._set_ranges(p)
        self.nd = p.search.full.size1_in(4)
        self._given = np.zeros(max(1, p.search.full.size1_in(3)))
        modes = np.zeros(max(1, self.nd))
        self.modes = modes[: self.nd]
        self._time, self._homotopy = np.zeros(1), np.ones(1)
        for place, array in (
            (at.TIME, self._time), (at.INPUT, self._given), (at.MODES, modes),
            (at.HOMOTOPY, self._homotopy),
        ):  # fmt: skip
            self.iw[place] = address_of(array)
        self._at = int(self.iw.ctypes.data), address_of(self.rw)

    def _part(self, place: int, size: int) -> Vector:
        first = self._where[place]
        return self.rw[first : first + size]

    def _set_ranges(self, p: StartProblem) -> None:
        """What is known of the unknowns, and where a search looks for single ones."""
        u, n = p.search.unknowns, len(p.search.unknowns.names)
        for place, numbers in (
            (at.W_SIZES, u.scales), (at.W_LOW, u.low), (at.W_HIGH, u.high),
            (at.W_AWAY, decades()),
        ):  # fmt: skip
            self._part(place, len(numbers))[:] = numbers
        between = self._part(at.W_BETWEEN, n * at.BETWEEN).reshape(n, at.BETWEEN)
        for k in np.flatnonzero(np.isfinite(u.low) & np.isfinite(u.high)):
            between[k] = np.linspace(u.low[k], u.high[k], at.BETWEEN)

    def set_point(self, time: float, u: Vector) -> None:
        """Time and inputs."""
        self._time[0] = time
        self._given[: len(u)] = u

    def add_slope(self, code: MachineCode) -> None:
        """Now searches can be made."""
        self.slope = code
        (self.iw[at.SLOPE],) = code.addresses.values()

    def run(self, task: int, members: int) -> int:
        """Calls compiled code."""
        return starts_unit.run(*self._at, 0.0, 0.0, task, members)


def _sizes(p: StartProblem) -> dict[int, int]:
    """How many numbers each part of the working memory has."""
    n, nnz = len(p.search.unknowns.names), p.search.full.nnz_out(1)
    nd = p.search.full.size1_in(4)
    vectors = [*range(at.W_NOW, at.W_SIZE + 1), *range(at.W_SCALE, at.W_ALLOWED + 1)]
    sizes = dict.fromkeys([*vectors, at.W_SIZES, at.W_LOW, at.W_HIGH], n)
    sizes |= dict.fromkeys([at.W_J, at.W_J_TRIAL, at.W_J_HALF], nnz)
    sizes |= {
        at.W_SLOPE: p.search.slope.nnz_out(0), at.W_MATRIX: n * n, at.W_INVERSE: n * n,
        at.W_DU: n * p.m, at.W_LOGICAL: p.guess.nnz_out(1), at.W_BETWEEN: n * at.BETWEEN,
        at.W_AWAY: at.AWAY, at.W_POINTS: at.POINTS, at.W_VALUES_AT: at.POINTS,
        at.W_CENTRES: at.CENTRES, at.W_D_NEW: nd, at.W_D_KEPT: nd,
    }  # fmt: skip
    return {place: max(size, 1) for place, size in sizes.items()}


def _whole_numbers(p: StartProblem, code: MachineCode) -> Indices:
    """iw with sizes, function addresses and index vectors."""
    search, n = p.search, len(p.search.unknowns.names)
    blocks = search.blocks
    rows, columns = search.full.sparsity_out(1).get_triplet()
    slope_rows, slope_columns = search.slope.sparsity_out(0).get_triplet()
    vectors: dict[int, Sequence[int]] = {
        at.I_ROW: rows, at.I_COLUMN: columns, at.I_SLOPE_ROW: slope_rows,
        at.I_SLOPE_COLUMN: slope_columns, at.I_PIVOT: range(n), at.I_ALL: range(n),
        at.I_ROWS: [i for b in blocks for i in b.rows],
        at.I_COLUMNS: [j for b in blocks for j in b.columns],
        at.I_BLOCK: [0, *np.cumsum([len(b.rows) for b in blocks])],
        at.I_SINGLE: [len(b.columns) == 1 and b.curved for b in blocks],
        at.I_GIVEN: search.unknowns.given, at.I_ROW_AT: range(n), at.I_COLUMN_AT: range(n),
        at.I_OPEN: p.open, at.I_FREE: p.free, at.I_CURSOR: range(at.CENTRES + 1),
        at.I_NEAR: range(n),
    }  # fmt: skip
    iw = np.zeros(at.HEADER + sum(map(len, vectors.values())), np.int64)
    first = at.HEADER
    for place, numbers in vectors.items():
        iw[place] = first
        iw[first : first + len(numbers)] = numbers
        first += len(numbers)
    for place, size in {
        at.N: n, at.NNZ: len(rows), at.NNZ_SLOPE: len(slope_rows), at.N_OPEN: len(p.open),
        at.N_FREE: len(p.free), at.NZ: p.nz, at.M: p.m, at.N_VALUES: p.prepare.size1_in(0),
        at.NP: p.nP, at.NX: p.nx, at.N_BLOCKS: len(blocks), at.IMPLICIT: p.implicit,
        at.SEARCHED: n <= SEARCHED, at.EASED: p.eased, at.ND: search.full.size1_in(4),
        at.N_RELATIONS: p.relations,
    }.items():  # fmt: skip
        iw[place] = size
    for place, function in (
        (at.RESIDUAL, search.full), (at.TRUE, search.true), (at.THETA, p.theta),
        (at.GUESS, p.guess), (at.PREPARE, p.prepare),
        (at.SETTLE, p.modes),
    ):  # fmt: skip
        iw[place] = 0 if function is None else code.addresses[function.name()]
    return iw
