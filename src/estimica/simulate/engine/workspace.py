"""The memory that compiled code works in: made once for a kernel, used again and again."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import AFTER_EVENT, BEFORE_EVENT, UPDATE, Kernel
from estimica.compiled.llvm.machine_code import SETUP
from estimica.compiled.sparsity import NO_TANGENT, SparsityPattern
from estimica.simulate.engine import layout as at
from estimica.simulate.engine.companions.events import lane_events_unit
from estimica.simulate.engine.events.history import history_unit
from estimica.simulate.engine.events.iteration import events_unit
from estimica.simulate.engine.lanes.newton import lane_newton_unit
from estimica.simulate.engine.lanes.stretches import row_stretches, stretches
from estimica.simulate.engine.lanes.unit import lanes_unit
from estimica.simulate.engine.methods.implicit_euler import euler_unit
from estimica.simulate.engine.methods.rosenbrock import stiff_unit
from estimica.simulate.engine.options import IMPLICIT_EULER, METHODS, Options, Pieces
from estimica.simulate.engine.result import LOG_SIZE, Rest
from estimica.simulate.engine.units import Unit
from estimica.simulate.engine.unknowns.algebraic import algebraic_unit
from estimica.simulate.engine.unknowns.projection import projection_unit

CACHE_LINE = 8  # numbers
FIRST_SEGMENTS = 1024  # steps that a model with delays remembers, doubled where they do not do


def address_of(array: Vector) -> int:
    """Where the data are; NumPy's own way takes microseconds."""
    if not array.size:
        return 0
    if array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


def _aligned(size: int) -> Vector:
    """Zeros that begin with a cache line: vectors of the processor then never cross one."""
    room = np.zeros(size + CACHE_LINE)
    first = -(room.ctypes.data // 8) % CACHE_LINE
    return room[first : first + size]


class Workspace:
    """The arrays of one run at a time. Everything compiled code touches is owned here."""

    def __init__(self, kernel: Kernel, stiff: bool, segments: int) -> None:
        self.stiff = stiff
        self.segments = segments
        sizes = _real_sizes(kernel, stiff, segments)
        self.iw = _whole_numbers(kernel, stiff, sizes, segments)
        self.rw = _aligned(sum(sizes.values()))
        self.log = np.zeros(LOG_SIZE * at.LOG_WIDTH if kernel.has_events or kernel.hybrid.nh else 0)
        self.iw_at, self.rw_at = self.iw.ctypes.data, self.rw.ctypes.data
        base = self.rw_at
        self.iw[at.BASE] = base
        for argument, offset in _ARGUMENT_PLACES:
            self.iw[argument] = base + 8 * self.iw[offset]
        h = kernel.hybrid
        part = self._part
        self.nx, self.nu, self.m, self.relations = h.nx, h.nu, kernel.m, h.ng
        self.lanes = kernel.width.lanes
        self.P, self.z, self.d = part(at.O_P, h.nP), part(at.O_V, h.nz), part(at.O_D, h.nd)
        n = self.nx * (1 + self.m)
        self.sizes = (h.nx, kernel.m, h.nz)
        size = at.N_REPORT + at.N_COUNTER + n + h.nz + h.nd + self.m
        self.summary = part(at.O_SUMMARY, size)
        self.messages = h.messages
        self.start_x, self.start_S = part(at.O_W0, n)[: self.nx], part(at.O_W0, n)[self.nx :]
        self.setting = part(at.O_SETTING, at.N_SETTING)
        self.atol = part(at.O_ATOL, n * self.lanes)
        self.window = part(at.O_WINDOW, at.N_WINDOW * h.ng).reshape(at.N_WINDOW, h.ng)
        part(at.O_Z_LOW, h.nz)[:], part(at.O_Z_HIGH, h.nz)[:] = h.z_low, h.z_high
        self.counters = self.iw[at.STEPS : at.STEPS + at.N_COUNTER]
        self.iw[at.LOG] = self.log.ctypes.data
        self.times: Vector | None = None
        self.pieces: Pieces | None = None
        self.options: Options | None = None
        self.companions: tuple[Workspace, ...] = ()  # of a group: one for each member

    def _part(self, place: int, size: int) -> Vector:
        start = int(self.iw[place])
        return self.rw[start : start + size]

    def rests(self) -> tuple[Rest, ...]:
        """The relations that were let rest further off their surface than the tolerances of the
        run, of the largest value that each has had and of the states, explain."""
        widest = self.window[at.WIDEST]
        if not widest.any() or self.options is None:
            return ()
        least = float(np.min(np.asarray(self.options.atol)))
        far = widest > np.maximum(self.options.rtol * self.window[at.SIZE], least)
        since = self.window[at.WIDEST_AT]
        return tuple(Rest(float(since[i]), int(i), float(widest[i])) for i in np.flatnonzero(far))

    def set_grid(self, times: Vector, pieces: Pieces) -> None:
        """Tells compiled code where times and inputs are; they often stay from run to run."""
        if times is self.times and pieces is self.pieces:
            return
        self.times, self.pieces = times, pieces  # kept alive as long as their addresses are here
        starts, n, values, slopes = pieces.addresses
        self.iw[at.TIMES : at.SLOPES + 1] = address_of(times), len(times), starts, n, values, slopes

    def set_options(self, options: Options) -> None:
        """Writes the options into the arrays."""
        # local errors shift the times of events, so models with relations are run more finely: a
        # tenth costs 10^(1/5) = 1.6 times the steps
        share = 0.1 if self.relations else 1.0
        self.setting[at.RTOL] = share * options.rtol
        self.setting[at.FIRST_STEP] = options.step or options.first_step
        self.setting[at.MAX_STEPS] = options.max_steps
        self.setting[at.LONGEST_STEP] = options.max_step
        atol = share * np.broadcast_to(np.asarray(options.atol), self.nx)
        # an assertion at its limit (x >= 0) must not fail by the error of integration, which adds
        # up over steps: ten tolerances are granted (chosen)
        self.setting[at.ATOL_CHECK] = 10.0 * np.max(options.atol)
        scales = np.asarray(options.tuner_scales if options.tuner_scales else 1.0)
        per_tuner = np.broadcast_to(1.0 / np.maximum(np.abs(scales), 1e-12), self.m)
        whole = np.concatenate([atol, np.outer(atol, per_tuner).ravel()])
        self.atol[:] = np.repeat(whole, self.lanes)
        self.setting[at.FIXED_STEP] = options.step
        self.iw[at.METHOD] = METHODS[options.method]
        if self.stiff:
            euler = options.method == IMPLICIT_EULER
            self.iw[at.UNIT_STIFF] = (euler_unit if euler else stiff_unit).address
        self.iw[at.ERROR_TEST] = options.sensitivities_in_error_test
        self.options = options


_ARGUMENT_PLACES = (
    (at.T, at.O_TIME), (at.V, at.O_V), (at.P, at.O_P), (at.U, at.O_INPUT), (at.D, at.O_D),
    (at.X_PRE, at.O_X_PRE), (at.D_PRE, at.O_D_PRE), (at.FLAGS, at.O_FLAGS), (at.VS, at.O_VS),
    (at.XDOT, at.O_XDOT), (at.VDOT, at.O_VDOT), (at.UDOT, at.O_UDOT), (at.DT, at.O_DT),
    (at.S_PRE, at.O_S_PRE), (at.SAVED, at.O_SAVED), (at.STIFF_SAVED, at.O_STIFF_SAVED),
    (at.STEP, at.O_SSTEP),
)  # fmt: skip


_TANGENTS = (
    ("algebraic_sens", at.O_TANGENT_Z, at.I_TANGENT_Z),
    ("zero_sens", at.O_TANGENT_ZERO, at.I_TANGENT_ZERO),
    ("event_sens", at.O_TANGENT_EVENT, at.I_TANGENT_EVENT),
    (UPDATE, at.O_TANGENT_UPDATE, at.I_TANGENT_UPDATE),
    (BEFORE_EVENT, at.O_TANGENT_BEFORE, at.I_TANGENT_BEFORE),
    (AFTER_EVENT, at.O_TANGENT_AFTER, at.I_TANGENT_AFTER),
)


def _real_sizes(kernel: Kernel, stiff: bool, segments: int) -> dict[int, int]:
    """How long each vector in rw is."""
    h, m = kernel.hybrid, kernel.m
    nx, nz, nv, nc, ng, nt = h.nx, h.nz, h.nz + h.nh, h.constraints.shape[0], h.ng, h.nt
    n = nx * (1 + m)
    sizes = {
        at.O_TIME: 1, at.O_INPUT: h.nu, at.O_UDOT: h.nu, at.O_BEGIN: 1, at.O_VALUE: h.nu,
        at.O_P: h.nP, at.O_D: h.nd, at.O_V: nv, at.O_VS: nv * m, at.O_V_GOOD: nv, at.O_G: nz,
        at.O_GZ: len(kernel.z_jacobian.rows), at.O_LUZ: nz * nz, at.O_DZ: nz, at.O_ROW_SIZE: nz,
        at.O_ROW_WORK: nz, at.O_SCALE: nz, at.O_Z_OLD: nz, at.O_Z_BEGIN: nz,
        at.O_Z_LOW: nz, at.O_Z_HIGH: nz, at.O_Z_FIRST: nz, at.O_G_FIRST: nz, at.O_TARGET: nz,
        at.O_Z_FOUND: nz,
        at.O_FX: len(kernel.state_jacobian.rows), at.O_FV: len(kernel.algebraic_jacobian.rows),
        at.O_FP: len(kernel.tuner_jacobian.rows), at.O_ATOL: n, at.O_ACC: m,
        at.O_SETTING: at.N_SETTING, at.O_REPORT: at.N_REPORT, at.O_CLOCK: at.N_CLOCK,
        at.O_X_PRE: nx, at.O_D_PRE: h.nd, at.O_FLAGS: 3, at.O_S_PRE: nx * m, at.O_XDOT: nx,
        at.O_VDOT: nv, at.O_DT: m, at.O_ZERO: ng, at.O_ZERO_LOW: ng, at.O_ZERO_RATE: ng,
        at.O_ZERO_S: ng * m, at.O_SLACK: ng, at.O_TRIGGERED: ng, at.O_INSTANT: nt,
        at.O_INSTANT_S: nt * m, at.O_EVENT_X: nx, at.O_FIRED: nx, at.O_EVENT_L: h.nl,
        at.O_EVENT_S: nx * m, at.O_W_START: n, at.O_D_START: h.nd, at.O_WINDOW: at.N_WINDOW * ng,
        at.O_C: nc,
        at.O_CX: nc * nx, at.O_CC: nc * nc, at.O_CS: nc * m, at.O_CHECK: _checks(h),
        at.O_SAVED: kernel.code.n_constants, at.O_STIFF_SAVED: 0,
        at.O_SPARSE_Z: at.sparse_reals(kernel.z_plan, m),
        at.O_SSTEP: 1, at.O_SUMMARY: at.N_REPORT + at.N_COUNTER + n + nz + h.nd + m,
    }  # fmt: skip
    for vector in range(at.O_W0, at.O_R5 + 1):
        sizes[vector] = n
    for name, place, _ in _TANGENTS:
        sizes[place] = kernel.tangents.get(name, NO_TANGENT).size
    sizes |= {at.O_MOVED_Z: nz, at.O_MOVED_EVENT: nx}
    changed = [e for e in (h.update, h.before_event, h.after_event) if e is not None]
    sizes[at.O_UPDATED] = n if changed else 0
    if h.nh:
        many = h.nh * (1 + m)
        sizes |= {
            at.O_Q: h.nh, at.O_QS: h.nh * m, at.O_TAU: h.nh, at.O_TAU_S: h.nh * m,
            at.O_W_AFTER: many, at.O_Q_MAX: h.nh, at.O_W_BEFORE: many, at.O_WEIGHT: 10,
            at.O_HISTORY: segments * (2 + 5 * many), at.O_BREAKS: segments * (3 + m),
        }  # fmt: skip
    if stiff:
        sizes |= _stiff_sizes(kernel)
    lanes = kernel.width.lanes
    if lanes > 1:
        sizes |= _lane_sizes(kernel)
    return {place: _padded(size * lanes) for place, size in sizes.items()}


def _lane_sizes(kernel: Kernel) -> dict[int, int]:
    """How many numbers of each member a group needs besides."""
    m, ny = kernel.m, kernel.ny
    return {
        at.O_LANE_ALIVE: 1, at.O_LANE_ERROR: 1, at.O_LANE_LOST: 1, at.O_LANE_RATE: 1,
        at.O_LANE_Y: ny, at.O_LANE_YS: ny * m, at.O_LANE_WORK: max(2, m), at.O_LANE_HELD: 1,
        at.O_LANE_CAUSE: 1, at.O_LANE_WHEN: 1,
        at.O_NORMAL: ny * (1 + m + m * m),
    }  # fmt: skip


def _checks(h: HybridSystem) -> int:
    """What is looked at: what must hold, and what ends a run."""
    return int(h.checks.shape[0] + h.endings.shape[0])


def _stiff_sizes(kernel: Kernel) -> dict[int, int]:
    """How long the vectors of the stiff method are."""
    part, n = kernel.stiff, kernel.hybrid.nx + kernel.hybrid.nz
    nw = n * (1 + kernel.m)
    dense = part.lower < 0 or kernel.width.lanes > 1
    width = n if dense else part.lower + part.upper + 1
    nnz, nnz_p = len(part.jacobian.rows), len(part.tuners.rows)
    return {
        at.O_SW0: nw, at.O_SWT: nw, at.O_SK: 8 * nw, at.O_SF: n, at.O_SFT: n, at.O_SJ: nnz,
        at.O_SJS: nnz, at.O_SJSP: nnz_p, at.O_SJ2: len(part.second.rows),
        at.O_SJ2P: len(part.second_tuners.rows), at.O_SA: max(n * width, nnz + n),
        at.O_STIFF_SIZE: n, at.O_STIFF_WORK: n,
        at.O_SPARSE_STIFF: at.sparse_reals(part.plan, kernel.m),
        at.O_SL: n * max(part.lower, 1), at.O_SC: nw + n, at.O_STIFF_SAVED: part.code.n_constants,
    }  # fmt: skip


def _padded(size: int) -> int:
    """Whole cache lines, so that vectors begin aligned and empty ones have an address."""
    return CACHE_LINE * max(1, -(-size // CACHE_LINE))


def _whole_numbers(kernel: Kernel, stiff: bool, sizes: dict[int, int], segments: int) -> Indices:
    """iw with sizes, switches, function addresses, offsets and index vectors filled in."""
    h, m, lanes = kernel.hybrid, kernel.m, kernel.width.lanes
    nc = h.constraints.shape[0]
    indices: dict[int, Iterable[int]] = {
        at.I_PIVOT: range(max(h.nz, nc) * kernel.width.lanes),
        at.I_GZ: kernel.z_jacobian.rows * h.nz + kernel.z_jacobian.columns,
        at.I_STRICT: map(int, h.strict),
        at.I_UNTIL: map(int, h.until),
        at.I_IMPLICIT: map(int, kernel.implicit_relations),
        at.I_DECIDED: map(int, kernel.decided_logicals),
        at.I_SILENT: map(int, kernel.silent_relations),
        at.I_ROWS: range(h.nz),
        at.I_COLUMNS: range(h.nz),
        at.I_BLOCK_END: _block_ends(h.nz, kernel.z_jacobian),
        at.I_VECTORS: range(at.O_K7 - at.O_W0 + 1),
        at.I_SIDE: range(h.nh),
        at.I_CURSOR: range(h.nh),
        at.I_COMPANIONS: range(2 * lanes if lanes > 1 else 0),
        at.I_SPARSE_Z: at.sparse_head(kernel.z_plan),
        at.I_SPARSE_STIFF: at.sparse_head(kernel.stiff.plan if stiff else None),
    }
    if lanes > 1:
        alive = np.ones((h.nx, m), bool) if kernel.alive is None else kernel.alive
        indices[at.I_STRETCH] = stretches(alive, lanes)
        indices[at.I_ROW_STRETCH] = row_stretches(alive, lanes)
    for name, _, place in _TANGENTS:
        indices[place] = at.tangent_head(kernel.tangents.get(name, NO_TANGENT))
    for place, triplet in (
        (at.I_FX_ROW, kernel.state_jacobian), (at.I_FV_ROW, kernel.algebraic_jacobian),
        (at.I_FP_ROW, kernel.tuner_jacobian),
    ):  # fmt: skip
        _add_triplet(indices, place, triplet)
    if stiff:
        _add_stiff(indices, kernel)
    vectors = {place: np.fromiter(v, np.int64) for place, v in indices.items()}
    iw = np.zeros(at.FIRST_INDEX + sum(len(v) + 1 for v in vectors.values()), np.int64)
    start = at.FIRST_INDEX
    for place, vector in vectors.items():
        iw[place] = start
        iw[start : start + len(vector)] = vector
        start += len(vector) + 1
    iw[at.N_STRETCH] = len(vectors.get(at.I_STRETCH, ())) // 2
    iw[at.N_ROW_STRETCH] = len(vectors.get(at.I_ROW_STRETCH, ())) // 3
    offset = 0
    for place, size in sizes.items():
        iw[place] = offset
        offset += size
    home = iw[at.I_VECTORS]
    iw[home : home + at.O_K7 - at.O_W0 + 1] = iw[at.O_W0 : at.O_K7 + 1]
    iw[at.SETUP] = kernel.code.addresses.get(SETUP, 0)
    for place, name in (
        (at.UPDATE, UPDATE), (at.BEFORE_EVENT, BEFORE_EVENT), (at.AFTER_EVENT, AFTER_EVENT),
    ):  # fmt: skip
        iw[place] = kernel.code.addresses.get(name, 0)
    iw[at.RHS : at.RHS + len(kernel.addresses)] = kernel.addresses
    for place, value in {
        at.LANES: lanes, at.NX: h.nx * lanes, at.NP: h.nP, at.NZ: h.nz * lanes, at.NH: h.nh,
        at.NV: (h.nz + h.nh) * lanes, at.NU: h.nu, at.ND: h.nd,
        at.NG: h.ng, at.NT: h.nt, at.NL: h.nl, at.NC: nc, at.NK: _checks(h),
        at.NE: h.checks.shape[0],
        at.NY: kernel.ny, at.M: m, at.N: h.nx * (1 + m) * lanes, at.NMEMORY: h.n_memory,
        at.NNZ_X: len(kernel.state_jacobian.rows), at.NNZ_V: len(kernel.algebraic_jacobian.rows),
        at.NNZ_P: len(kernel.tuner_jacobian.rows), at.NNZ_Z: len(kernel.z_jacobian.rows),
        at.DIRECT: kernel.direct, at.LINEAR_Z: kernel.linear_algebraic,
        at.ZERO_NEEDS_Z: kernel.zero_needs_z, at.CONSTRAINT_NEEDS_Z: kernel.constraint_needs_z,
        at.TERMINAL: kernel.terminal, at.HAS_EVENTS: kernel.has_events, at.LOG_SIZE: LOG_SIZE,
        at.SEGMENTS: segments, at.UNIT_ALGEBRAIC: _newton(lanes).address if h.nz else 0,
        at.UNIT_LANES: lanes_unit.address if lanes > 1 else 0,
        at.N_NORMAL: kernel.ny * (1 + m + m * m),
        at.UNIT_PROJECTION: projection_unit.address if nc else 0,
        at.UNIT_EVENTS: _events(lanes).address if kernel.has_events or h.nh else 0,
        at.UNIT_HISTORY: history_unit.address if h.nh else 0, at.BREAKS: segments,
    }.items():  # fmt: skip
        iw[place] = value
    if stiff:
        _fill_stiff(iw, kernel)
    return iw


def _newton(lanes: int) -> Unit:
    """What solves for algebraic unknowns."""
    return lane_newton_unit if lanes > 1 else algebraic_unit


def _events(lanes: int) -> Unit:
    """What knows about events."""
    return lane_events_unit if lanes > 1 else events_unit


def _block_ends(n: int, pattern: SparsityPattern) -> list[int]:
    """Behind the last unknown of the block that each unknown belongs to.

    Blocks stand in the order in which they are solved: an equation that needs a later unknown is in
    one block with it and with all between.
    """
    reach = list(range(n))
    for i, j in zip(pattern.rows, pattern.columns, strict=True):
        reach[i] = max(reach[i], int(j))
    ends: list[int] = []
    last = -1
    for k in range(n):
        last = max(last, reach[k])
        if last == k:
            ends += [k + 1] * (k + 1 - len(ends))
    return ends


def _add_stiff(indices: dict[int, Iterable[int]], kernel: Kernel) -> None:
    part = kernel.stiff
    indices[at.I_ORDER] = part.order
    indices[at.I_PIVOT_STIFF] = np.tile(part.order, kernel.width.lanes)
    indices[at.I_STIFF_ROWS], indices[at.I_STIFF_COLUMNS] = part.order, part.order
    for place, triplet in (
        (at.I_J_ROW, part.jacobian), (at.I_JP_ROW, part.tuners), (at.I_J2_ROW, part.second),
        (at.I_J2P_ROW, part.second_tuners),
    ):  # fmt: skip
        _add_triplet(indices, place, triplet)


def _fill_stiff(iw: Indices, kernel: Kernel) -> None:
    """Sizes and addresses of the stiff method."""
    part = kernel.stiff
    iw[at.STIFF_SETUP] = part.code.addresses.get(SETUP, 0)
    here = np.flatnonzero(part.addresses)
    iw[at.RHS + here] = part.addresses[here]
    for place, value in {
        at.NSTIFF: len(part.order) * kernel.width.lanes, at.STIFF_SIZE: len(part.order),
        at.LOWER: part.lower, at.UPPER: part.upper,
        at.NNZ_J: len(part.jacobian.rows), at.NNZ_JP: len(part.tuners.rows),
        at.NNZ_J2: len(part.second.rows), at.NNZ_J2P: len(part.second_tuners.rows),
        at.STIFF_DIRECT: part.direct, at.STIFF_READY: 1,
    }.items():  # fmt: skip
        iw[place] = value


def _add_triplet(indices: dict[int, Iterable[int]], place: int, triplet: SparsityPattern) -> None:
    indices[place], indices[place + 1] = triplet.rows, triplet.columns


@dataclass(eq=False)
class _Pool:
    """Workspaces of one kernel that no run is using."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    free: list[Workspace] = field(default_factory=list)
    stiff: bool = False
    segments: int = FIRST_SEGMENTS

    def take(self, kernel: Kernel) -> Workspace:
        with self.lock:
            if self.free:
                return self.free.pop()
        return Workspace(kernel, self.stiff, self.segments)

    def make_stiff(self) -> None:
        """From now on workspaces have room for the stiff method."""
        with self.lock:
            self.stiff = True
            self.free.clear()

    def grow(self, segments: int) -> None:
        """From now on workspaces remember more of the past."""
        with self.lock:
            self.segments = max(self.segments, segments)
            self.free.clear()

    def give(self, workspace: Workspace) -> None:
        with self.lock:
            if (workspace.stiff, workspace.segments) == (self.stiff, self.segments):
                self.free.append(workspace)


_pools: WeakKeyDictionary[Kernel, _Pool] = WeakKeyDictionary()
_pools_lock = threading.Lock()


def pool_of(kernel: Kernel) -> _Pool:
    """The workspaces of a kernel that are not in use."""
    pool = _pools.get(kernel)
    if pool is None:
        with _pools_lock:
            pool = _pools.setdefault(kernel, _Pool())
    return pool
