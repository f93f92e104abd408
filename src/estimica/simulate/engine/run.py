"""integrate: runs a compiled model over given inputs and hands back outputs and sensitivities."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import ModelError
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import Kernel
from estimica.compiled.llvm.machine_code import SETUP
from estimica.compiled.sparsity import NO_TANGENT, SparsityPattern
from estimica.simulate.engine import layout as at
from estimica.simulate.engine import status as outcome
from estimica.simulate.engine.event_iteration import events_unit
from estimica.simulate.engine.history import history_unit
from estimica.simulate.engine.implicit_euler import euler_unit
from estimica.simulate.engine.loop import drive
from estimica.simulate.engine.options import DEFAULT, IMPLICIT_EULER, METHODS, Options, Pieces
from estimica.simulate.engine.rosenbrock import stiff_unit
from estimica.simulate.engine.status import Termination
from estimica.simulate.engine.unknowns.algebraic import algebraic_unit
from estimica.simulate.engine.unknowns.projection import projection_unit

LOG_SIZE = 4096  # events that are remembered one by one, 96 kB; further ones are counted
FIRST_SEGMENTS = 1024  # steps that a model with delays remembers, doubled where they do not do


@dataclass(frozen=True)
class Event:
    """Something that happened: `kind` is "state", "time", "input" or "delay"."""

    time: float
    kind: str
    index: int  # of the relation; -1 for inputs and delays


@dataclass(frozen=True)
class Rest:
    """A relation that changed again and again and was let rest near zero, from a time on."""

    time: float
    index: int  # of the relation
    width: float  # changes of its zero function within this were not followed


@dataclass(frozen=True)
class Statistics:
    """What a run has cost."""

    steps: int
    rejected: int
    evaluations: int
    newton: int
    events: int
    switches: int
    stiff_steps: int


@dataclass(frozen=True, eq=False)
class Run:
    """Samples at the wished times up to where the run came; the rest is NaN.

    `status` is a number of simulate.status; `index` names the state, equation, relation, check or
    output to blame, `tuner` the tuner whose sensitivity fails (-1: none).
    """

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    status: int
    summary: Vector = field(repr=False)  # report, counters, x, S, z, d, dt/dtheta where it ended
    sizes: tuple[int, int, int] = field(repr=False)  # nx, m, nz
    log: Vector = field(repr=False)
    termination: Termination | None = None  # where the model has ended the run by itself
    notes: tuple[str, ...] = ()  # what to know of its start
    rests: tuple[Rest, ...] = ()  # relations that were let rest further off than tolerances explain

    @property
    def ok(self) -> bool:
        """Whether all samples were computed."""
        if self.termination is not None:
            return self.samples == len(self.times)
        return self.status == outcome.DONE

    @property
    def text(self) -> str:
        """What happened, in words."""
        return self.termination.text if self.termination else outcome.TEXTS[self.status]

    @property
    def time(self) -> float:
        """Where the run ended."""
        return float(self.summary[at.R_TIME])

    @property
    def step(self) -> float:
        """The last step size."""
        return float(self.summary[at.R_STEP])

    def _counter(self, place: int) -> int:
        return int(self.summary[at.N_REPORT + place - at.STEPS])

    def _part(self, start: int, size: int) -> Vector:
        begin = at.N_REPORT + at.N_COUNTER + start
        return self.summary[begin : begin + size]

    @property
    def index(self) -> int:
        """What is to blame."""
        return self._counter(at.INDEX)

    @property
    def tuner(self) -> int:
        """Whose sensitivity is to blame, -1: none."""
        return self._counter(at.TUNER)

    @property
    def samples(self) -> int:
        """How many samples are valid."""
        return self._counter(at.EMITTED)

    @property
    def x(self) -> Vector:
        """The states where the run ended."""
        return self._part(0, self.sizes[0])

    @property
    def S(self) -> Vector:
        """Their sensitivities."""
        nx, m, _ = self.sizes
        return self._part(nx, nx * m).reshape(nx, m)

    @property
    def z(self) -> Vector:
        """The algebraic unknowns where the run ended."""
        nx, m, nz = self.sizes
        return self._part(nx * (1 + m), nz)

    @property
    def d(self) -> Vector:
        """The modes where the run ended."""
        nx, m, nz = self.sizes
        begin = at.N_REPORT + at.N_COUNTER + nx * (1 + m) + nz
        return self.summary[begin : len(self.summary) - m]

    @property
    def statistics(self) -> Statistics:
        """What the run has cost."""
        return Statistics(*(self._counter(at.STEPS + k) for k in range(7)))

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened when (the first few thousand)."""
        rows = self.log.reshape(-1, at.LOG_WIDTH)
        return tuple(Event(float(t), _KINDS[int(kind)], int(k)) for t, kind, k in rows)


_NO_LOG = np.zeros(0)
_KINDS = ("state", "time", "input", "delay")


class Workspace:
    """The arrays of one run at a time. Everything compiled code touches is owned here."""

    def __init__(self, kernel: Kernel, stiff: bool, segments: int) -> None:
        self.stiff = stiff
        self.segments = segments
        sizes = _real_sizes(kernel, stiff, segments)
        self.iw = _whole_numbers(kernel, stiff, sizes, segments)
        self.rw = np.zeros(sum(sizes.values()))
        self.log = np.zeros(LOG_SIZE * at.LOG_WIDTH if kernel.has_events or kernel.hybrid.nh else 0)
        self.iw_at, self.rw_at = self.iw.ctypes.data, self.rw.ctypes.data
        base = self.rw_at
        self.iw[at.BASE] = base
        for argument, offset in _ARGUMENT_PLACES:
            self.iw[argument] = base + 8 * self.iw[offset]
        h = kernel.hybrid
        part = self._part
        self.nx, self.nu, self.m, self.relations = h.nx, h.nu, kernel.m, h.ng
        self.P, self.z, self.d = part(at.O_P, h.nP), part(at.O_V, h.nz), part(at.O_D, h.nd)
        n = self.nx * (1 + self.m)
        self.sizes = (h.nx, kernel.m, h.nz)
        size = at.N_REPORT + at.N_COUNTER + n + h.nz + h.nd + self.m
        self.summary = part(at.O_SUMMARY, size)
        self.messages = h.messages
        self.start_x, self.start_S = part(at.O_W0, n)[: self.nx], part(at.O_W0, n)[self.nx :]
        self.setting = part(at.O_SETTING, at.N_SETTING)
        self.atol = part(at.O_ATOL, n)
        self.window = part(at.O_WINDOW, at.N_WINDOW * h.ng).reshape(at.N_WINDOW, h.ng)
        part(at.O_Z_LOW, h.nz)[:], part(at.O_Z_HIGH, h.nz)[:] = h.z_low, h.z_high
        self.counters = self.iw[at.STEPS : at.STEPS + at.N_COUNTER]
        self.iw[at.LOG] = self.log.ctypes.data
        self.times: Vector | None = None
        self.pieces: Pieces | None = None
        self.options: Options | None = None

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
        self.iw[at.TIMES : at.SLOPES + 1] = _address(times), len(times), starts, n, values, slopes

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
        self.atol[: self.nx] = atol
        self.atol[self.nx :] = np.outer(atol, per_tuner).ravel()
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
        at.O_X_PRE: nx, at.O_D_PRE: h.nd, at.O_FLAGS: 2, at.O_S_PRE: nx * m, at.O_XDOT: nx,
        at.O_VDOT: nv, at.O_DT: m, at.O_ZERO: ng, at.O_ZERO_LOW: ng, at.O_ZERO_RATE: ng,
        at.O_ZERO_S: ng * m, at.O_SLACK: ng, at.O_TRIGGERED: ng, at.O_INSTANT: nt,
        at.O_INSTANT_S: nt * m, at.O_EVENT_X: nx, at.O_FIRED: nx, at.O_EVENT_L: h.nl,
        at.O_EVENT_S: nx * m, at.O_S_OLD: nx * m, at.O_WINDOW: at.N_WINDOW * ng, at.O_C: nc,
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
    if h.nh:
        many = h.nh * (1 + m)
        sizes |= {
            at.O_Q: h.nh, at.O_QS: h.nh * m, at.O_TAU: h.nh, at.O_TAU_S: h.nh * m,
            at.O_W_AFTER: many, at.O_Q_MAX: h.nh, at.O_W_BEFORE: many, at.O_WEIGHT: 10,
            at.O_HISTORY: segments * (2 + 5 * many), at.O_BREAKS: segments * (3 + m),
        }  # fmt: skip
    if stiff:
        sizes |= _stiff_sizes(kernel)
    return {place: _padded(size) for place, size in sizes.items()}


def _checks(h: HybridSystem) -> int:
    """What is looked at: what must hold, and what ends a run."""
    return int(h.checks.shape[0] + h.endings.shape[0])


def _stiff_sizes(kernel: Kernel) -> dict[int, int]:
    """How long the vectors of the stiff method are."""
    part, n = kernel.stiff, kernel.hybrid.nx + kernel.hybrid.nz
    nw = n * (1 + kernel.m)
    width = n if part.lower < 0 else part.lower + part.upper + 1
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
    return 8 * max(1, -(-size // 8))


def _whole_numbers(kernel: Kernel, stiff: bool, sizes: dict[int, int], segments: int) -> Indices:
    """iw with sizes, switches, function addresses, offsets and index vectors filled in."""
    h, m = kernel.hybrid, kernel.m
    nc = h.constraints.shape[0]
    indices: dict[int, Iterable[int]] = {
        at.I_PIVOT: range(max(h.nz, nc)),
        at.I_GZ: kernel.z_jacobian.rows * h.nz + kernel.z_jacobian.columns,
        at.I_STRICT: map(int, h.strict),
        at.I_UNTIL: map(int, h.until),
        at.I_IMPLICIT: map(int, kernel.implicit_relations),
        at.I_DECIDED: map(int, kernel.decided_logicals),
        at.I_ROWS: range(h.nz),
        at.I_COLUMNS: range(h.nz),
        at.I_BLOCK_END: _block_ends(h.nz, kernel.z_jacobian),
        at.I_VECTORS: range(at.O_K7 - at.O_W0 + 1),
        at.I_SIDE: range(h.nh),
        at.I_CURSOR: range(h.nh),
        at.I_SPARSE_Z: at.sparse_head(kernel.z_plan),
        at.I_SPARSE_STIFF: at.sparse_head(kernel.stiff.plan if stiff else None),
    }
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
    offset = 0
    for place, size in sizes.items():
        iw[place] = offset
        offset += size
    home = iw[at.I_VECTORS]
    iw[home : home + at.O_K7 - at.O_W0 + 1] = iw[at.O_W0 : at.O_K7 + 1]
    iw[at.SETUP] = kernel.code.addresses.get(SETUP, 0)
    iw[at.RHS : at.RHS + len(kernel.addresses)] = kernel.addresses
    for place, value in {
        at.NX: h.nx, at.NZ: h.nz, at.NH: h.nh, at.NV: h.nz + h.nh, at.NU: h.nu, at.ND: h.nd,
        at.NG: h.ng, at.NT: h.nt, at.NL: h.nl, at.NC: nc, at.NK: _checks(h),
        at.NE: h.checks.shape[0],
        at.NY: kernel.ny, at.M: m, at.N: h.nx * (1 + m), at.NMEMORY: h.n_memory,
        at.NNZ_X: len(kernel.state_jacobian.rows), at.NNZ_V: len(kernel.algebraic_jacobian.rows),
        at.NNZ_P: len(kernel.tuner_jacobian.rows), at.NNZ_Z: len(kernel.z_jacobian.rows),
        at.DIRECT: kernel.direct, at.LINEAR_Z: kernel.linear_algebraic,
        at.ZERO_NEEDS_Z: kernel.zero_needs_z, at.CONSTRAINT_NEEDS_Z: kernel.constraint_needs_z,
        at.TERMINAL: kernel.terminal, at.HAS_EVENTS: kernel.has_events, at.LOG_SIZE: LOG_SIZE,
        at.SEGMENTS: segments, at.UNIT_ALGEBRAIC: algebraic_unit.address if h.nz else 0,
        at.UNIT_PROJECTION: projection_unit.address if nc else 0,
        at.UNIT_EVENTS: events_unit.address if kernel.has_events or h.nh else 0,
        at.UNIT_HISTORY: history_unit.address if h.nh else 0, at.BREAKS: segments,
    }.items():  # fmt: skip
        iw[place] = value
    if stiff:
        _fill_stiff(iw, kernel)
    return iw


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
    indices[at.I_ORDER], indices[at.I_PIVOT_STIFF] = part.order, part.order
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
        at.NSTIFF: len(part.order), at.LOWER: part.lower, at.UPPER: part.upper,
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


def _pool(kernel: Kernel) -> _Pool:
    pool = _pools.get(kernel)
    if pool is None:
        with _pools_lock:
            pool = _pools.setdefault(kernel, _Pool())
    return pool


@dataclass(frozen=True, eq=False)
class RunStart:
    """Where a run begins: states and their sensitivities (nx, m), unknowns, modes."""

    x: Vector
    S: Vector
    z: Vector
    d: Vector


def _address(array: Vector) -> int:
    """Where the data are; NumPy's own way takes microseconds."""
    if not array.size:
        return 0
    if array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return int(array.ctypes.data)


def integrate(
    kernel: Kernel,
    P: Vector,
    start: RunStart,
    pieces: Pieces,
    times: Vector,
    options: Options = DEFAULT,
) -> Run:
    """Simulates from the first piece's start to the last of the ascending times.

    A sample at a jump or an event sees the value after it.
    """
    times = np.ascontiguousarray(times, np.float64)
    n = len(times)
    Y, YS = np.empty((n, kernel.ny)), np.empty((n, kernel.ny, kernel.m))
    outputs = (_address(Y), _address(YS))
    pool = _pool(kernel)
    if options.method == IMPLICIT_EULER and kernel.hybrid.nh:
        raise ModelError(
            "M066",
            "implicit Euler takes no models with delays, whose past it knows at its steps only; "
            'take method "auto"',
        )
    if METHODS[options.method] >= at.IMPLICIT and not pool.stiff and kernel.hybrid.nh == 0:
        pool.make_stiff()
    while True:
        workspace = pool.take(kernel)
        _load(workspace, P, start, pieces, options)
        workspace.set_grid(times, pieces)
        workspace.iw[at.OUT], workspace.iw[at.OUT_S] = outputs
        code = _run(workspace, options.max_seconds)
        if code not in (outcome.NEEDS_STIFF, outcome.HISTORY_FULL):
            break
        if code == outcome.NEEDS_STIFF:
            pool.make_stiff()
        else:
            pool.grow(2 * workspace.segments)
    run = _collect(workspace, times, Y, YS, code)
    pool.give(workspace)
    return run


def _run(workspace: Workspace, seconds: float) -> int:
    """Lets the compiled loop run; a timer tells it to stop where there is a limit."""
    workspace.iw[at.ABORT] = 0
    if seconds > threading.TIMEOUT_MAX:  # 292 years: no timer can be set, none is needed
        return drive.run(workspace.iw_at, workspace.rw_at, 0.0, 0.0, 0, 0)
    timer = threading.Timer(seconds, workspace.iw.__setitem__, (at.ABORT, 1))
    timer.start()
    try:
        return drive.run(workspace.iw_at, workspace.rw_at, 0.0, 0.0, 0, 0)
    finally:
        timer.cancel()
        timer.join()


def _load(
    workspace: Workspace, P: Vector, start: RunStart, pieces: Pieces, options: Options
) -> None:
    """Puts everything about this run into the workspace."""
    assert pieces.values.shape[1] == workspace.nu
    iw = workspace.iw
    for head in (iw[at.I_SPARSE_Z], iw[at.I_SPARSE_STIFF]):
        iw[head + at.H_KNOWN] = 0  # a run does not depend on the pivots of the one before
    if options is not workspace.options and options != workspace.options:
        workspace.set_options(options)
    workspace.P[:] = P
    workspace.z[:] = start.z
    workspace.d[:] = start.d
    workspace.start_x[:] = start.x
    if workspace.m:
        workspace.start_S[:] = start.S.ravel()


def _collect(workspace: Workspace, times: Vector, Y: Vector, YS: Vector, code: int) -> Run:
    """The Run, with what was not reached set to NaN."""
    events = int(workspace.counters[at.EVENTS - at.STEPS])
    log = workspace.log[: at.LOG_WIDTH * min(events, LOG_SIZE)].copy() if events else _NO_LOG
    rests = workspace.rests() if workspace.relations else ()
    run = Run(times, Y, YS, code, workspace.summary.copy(), workspace.sizes, log, rests=rests)
    if code == outcome.DONE:
        return run
    if code == outcome.TERMINATED:
        run = replace(run, termination=_termination(workspace, run))
    Y[run.samples :] = np.nan
    YS[run.samples :] = np.nan
    return run


def _termination(workspace: Workspace, run: Run) -> Termination:
    """How the model has ended the run; the last point stands where the next sample would be."""
    row = min(run.samples, len(run.times) - 1)
    motion = run.summary[len(run.summary) - workspace.m :].copy()
    message = workspace.messages[run.index]
    return Termination(run.time, message, motion, run.Y[row].copy(), run.YS[row].copy())
