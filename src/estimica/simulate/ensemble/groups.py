"""Groups of neighbouring members, stepped together by the engine in compiled code.

Member k is in lane k mod lanes of group k div lanes, however many threads there are: they take
whole groups, so that results are the same to the bit.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.compiled.kernel import Kernel
from estimica.compiled.llvm.machine_code import MachineCode, compile_functions
from estimica.compiled.llvm.operations.width import Width
from estimica.simulate.engine import layout as at
from estimica.simulate.engine.lanes.groups import groups_unit
from estimica.simulate.engine.loop import drive
from estimica.simulate.engine.options import IMPLICIT_EULER, METHODS
from estimica.simulate.engine.result import LOG_SIZE
from estimica.simulate.engine.workspace import Workspace, address_of, pool_of
from estimica.simulate.ensemble.members import Members
from estimica.simulate.response import Configuration, Response

#: groups that a thread takes at a time (chosen: milliseconds of work, and no thread waits long for
#: the last one), where there are so many of them for each
GROUPS_AT_ONCE = 16
#: unknowns of the stiff method from which on dense matrices of all lanes are more work than the
#: scalar engine's band or sparse ones (chosen)
MOST_UNKNOWNS = 40
#: groups all of whose members may have as many events as are remembered, for which there is room
#: (3 MB) before it is emptied; where events are few it is for all (chosen)
LOGS = 4


@dataclass(frozen=True, eq=False)
class LaneModel:
    """A kernel whose numbers are vectors, and the function that prepares its runs."""

    kernel: Kernel
    alone: Kernel  # of one member, for its events
    preparation: MachineCode
    name: str

    @property
    def lanes(self) -> int:
        """Members of a group."""
        return self.kernel.width.lanes


_models: WeakKeyDictionary[Configuration, dict[int, LaneModel]] = WeakKeyDictionary()
_lock = threading.Lock()


def lane_model(configuration: Configuration, lanes: int) -> LaneModel:
    """The model in lanes, compiled once."""
    with _lock:
        known = _models.setdefault(configuration, {})
        if lanes not in known:
            function = configuration.tuning.preparation
            kernel = configuration.kernel.in_lanes(lanes, _begun(configuration))
            width = Width(lanes, frozenset(), kernel.width.step)
            known[lanes] = LaneModel(
                kernel,
                configuration.kernel,
                compile_functions([function], None, width),
                function.name(),
            )
        return known[lanes]


def _begun(configuration: Configuration) -> Flags:
    """Which sensitivities (nx, m) may begin as something else than zero."""
    if configuration.initialiser.implicit:
        return np.ones((configuration.kernel.hybrid.nx, configuration.kernel.m), bool)
    return configuration.tuning.begun


def why_not_in_groups(response: Response) -> str:
    """Why members of this model cannot step together; nothing where they can."""
    kernel, options = response.configuration.kernel, response.options
    h = kernel.hybrid
    if h.nx == 0:
        return "the model has no states"
    if h.nh:
        return "the model has delays"
    if h.constraints.shape[0]:
        return "the model has constraints between its states"
    if h.update is not None:
        return "inputs set states of the model"
    if h.nz > MOST_UNKNOWNS or "algebraic_sens" in kernel.tangents:
        return f"the model has too many algebraic unknowns ({h.nz})"
    if options.method == IMPLICIT_EULER:
        return "implicit Euler takes one member at a time"
    if np.isfinite(options.max_seconds):
        return "max_seconds holds for each member alone"
    return ""


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of all members: from independent constants or starts, at which times, and where
    the results go (`normal` None: outputs)."""

    response: Response
    times: Vector
    constants: Vector | None  # (L, n independent)
    members: Members | None
    unknowns: Vector  # (L, nz), where they are looked for; with constants only
    modes: Vector  # (L, nd), before the initial event; with constants only
    Y: Vector
    YS: Vector
    normal: Vector | None = None  # (L, ny, 1 + m + m²)
    value: Vector | None = None  # (1 or L, N, ny)
    weight: Vector | None = None  # (1 or L, N, ny)
    logs: dict[int, Vector] = field(default_factory=dict)  # of events, filled in with outputs

    def __len__(self) -> int:
        given = self.members if self.constants is None else self.constants
        assert given is not None
        return len(given)


def run_groups(model: LaneModel, task: Task, threads: int) -> Flags:
    """Runs all members; which of them have come to their end in their group."""
    ended = np.zeros(len(task))
    groups = -(-len(task) // model.lanes)
    size = model.lanes * min(GROUPS_AT_ONCE, -(-groups // max(threads, 1)))
    starts = range(0, len(task), size)
    if threads <= 1 or len(starts) <= 1:
        _run_some(model, task, ended, 0, len(task))
    else:
        with ThreadPoolExecutor(threads) as pool:
            ends = [min(s + size, len(task)) for s in starts]
            list(pool.map(lambda a, b: _run_some(model, task, ended, a, b), starts, ends))
    come: Flags = ended > 0
    return come


def _run_some(model: LaneModel, task: Task, ended: Vector, first: int, last: int) -> None:
    """Members first ... last - 1, in one go of compiled code but for the change to stiffness and
    for what is remembered of events."""
    kernel, options = model.kernel, task.response.options
    pool = pool_of(kernel)
    dense = kernel.hybrid.nx + kernel.hybrid.nz <= MOST_UNKNOWNS
    if METHODS[options.method] == at.IMPLICIT and not pool.stiff and dense:
        pool.make_stiff()
    while first < last:
        workspace = pool.take(kernel)
        if options != workspace.options:
            workspace.set_options(options)
        workspace.set_grid(task.times, task.response.pieces)
        log = _accompany(workspace, model, task) if kernel.has_events else None
        rates = _point_to(workspace, model, task, ended)
        begun = first
        first = groups_unit.run(workspace.iw_at, workspace.rw_at, 0.0, 0.0, first, last)
        del rates  # was needed until here
        needs_stiff = first < last and (log is None or not log.is_full(workspace))
        if log is not None:
            log.hand_over(task.logs, begun, first)
        pool.give(workspace)
        if needs_stiff:
            if not dense:
                return
            if not pool.stiff:
                pool.make_stiff()


@dataclass(frozen=True, eq=False)
class _Log:
    """What members have gone through, one after the other."""

    rows: Vector
    counts: Vector  # (L,)

    def is_full(self, workspace: Workspace) -> bool:
        """Whether another group might not find room."""
        iw = workspace.iw
        return bool(iw[at.LOGGED] + iw[at.LANES] * iw[at.LOG_SIZE] > iw[at.LOG_ROOM])

    def hand_over(self, logs: dict[int, Vector], first: int, last: int) -> None:
        """What of it is of members first ... last - 1."""
        ends = np.cumsum(self.counts[first:last]).astype(int) * at.LOG_WIDTH
        for k in np.flatnonzero(self.counts[first:last]).tolist():
            start = ends[k - 1] if k else 0
            logs[first + k] = self.rows[start : ends[k]].copy()


def _accompany(workspace: Workspace, model: LaneModel, task: Task) -> _Log:
    """Gives every lane the companion in which it meets its events, and room to remember them."""
    if not workspace.companions:
        workspace.companions = tuple(
            Workspace(model.alone, workspace.stiff, workspace.segments) for _ in range(model.lanes)
        )
    iw, options = workspace.iw, task.response.options
    for k, own in enumerate(workspace.companions):
        place = iw[at.I_COMPANIONS] + 2 * k
        iw[place], iw[place + 1] = own.iw_at, own.rw_at
        if options != own.options:
            own.set_options(options)
            own.setting[at.FIRST_STEP] = 1.0  # takes no steps: any will do
        own.set_grid(task.times, task.response.pieces)
    room = LOGS * model.lanes * LOG_SIZE
    log = _Log(np.empty(room * at.LOG_WIDTH), np.zeros(len(task)))
    iw[at.LOG_ROWS], iw[at.LOG_COUNTS] = address_of(log.rows), address_of(log.counts)
    iw[at.LOGGED], iw[at.LOG_ROOM] = 0, room
    return log


def _point_to(workspace: Workspace, model: LaneModel, task: Task, ended: Vector) -> Vector:
    """Tells compiled code where everything of the members is."""
    iw, tuning = workspace.iw, task.response.configuration.tuning
    lanes, m = model.lanes, model.kernel.m
    rates = np.zeros((tuning.n_free * m + len(tuning.independent) + 1) * lanes)
    members, constants = task.members, task.constants
    iw[at.UNIT_DRIVE] = drive.address
    iw[at.ENDED] = address_of(ended)
    iw[at.ALL_Y], iw[at.ALL_YS] = address_of(task.Y), address_of(task.YS)
    iw[at.SINK] = at.TO_OUTPUTS if task.normal is None else at.TO_NORMAL
    if task.normal is not None:
        assert task.value is not None
        assert task.weight is not None
        iw[at.ALL_NORMAL] = address_of(task.normal)
        iw[at.MEASURED], iw[at.WEIGHT] = address_of(task.value), address_of(task.weight)
        iw[at.MEASURED_STRIDE] = task.value[0].size if len(task.value) > 1 else 0
        iw[at.WEIGHT_STRIDE] = task.weight[0].size if len(task.weight) > 1 else 0
    iw[at.PREPARE] = 0
    if constants is not None:
        iw[at.PREPARE] = model.preparation.addresses[model.name]
        iw[at.CONSTANTS], iw[at.N_CONSTANTS] = address_of(constants), constants.shape[1]
        iw[at.GIVEN] = address_of(rates) + 8 * tuning.n_free * m * lanes
        iw[at.GIVEN_RATES] = address_of(rates)
        iw[at.START_Z], iw[at.START_D] = address_of(task.unknowns), address_of(task.modes)
    else:
        assert members is not None
        for place, array in (
            (at.START_P, members.P), (at.START_X, members.x), (at.START_S, members.S),
            (at.START_Z, members.z), (at.START_D, members.d),
        ):  # fmt: skip
            iw[place] = address_of(array)
    return rates
