"""Events of members of a group: where the first of them is, who has one, and who must leave.

A group has one time. It stops where any of its members has an event, which that member meets in its
companion; the others go on from there.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.companions import member
from estimica.simulate.engine.events.location import SAMPLES, zeros_at
from estimica.simulate.engine.lanes.membership import leave
from estimica.simulate.engine.linear_algebra import fill
from estimica.simulate.engine.methods.dormand_prince import dense
from estimica.simulate.engine.point import begin, enter_piece
from estimica.simulate.engine.status import ALGEBRAIC, DONE
from estimica.simulate.engine.steps import lanes_left
from estimica.simulate.engine.units import Unit, engine_function, loop_function, part

Vector = Any
NEVER = 1e300
#: roots of the dense output closer to the first one than this part of the step are made exact, too:
#: which member is the first is known afterwards only (chosen: what they are moved by is far below)
CLOSE = 1e-3
#: a step of a group costs so many of one member, and this many steps are looked at before members
#: whose events come too thick for it leave. Measured with eight lanes of AVX2: an on-off controller
#: with one state breaks even at 1.7, a step of a boiler's sensitivities costs 2.4
GROUP_STEP, TRIED_STEPS = 1.7, 50


# ---------------------------------------------------------------- location


@loop_function
def _watch(n: int, zero: Vector, d: Vector, size: Vector, slack: Vector) -> float:
    """zero := `side` of all relations of all members; how many are beyond their surface."""
    count = 0.0
    for j in range(n):
        side = zero[j] * (2.0 * d[j] - 1.0)
        zero[j] = side
        size[j] = max(size[j], abs(side))
        count += 1.0 if side < -slack[j] else 0.0
    return count


@engine_function
def _is_beyond(iw: Vector, rw: Vector, lane: int) -> bool:
    """Whether a relation of this member is; one that has left is not asked again."""
    lanes = iw[at.LANES]
    gone = not rw[iw[at.O_LANE_ALIVE] + lane] > 0.0
    for i in range(iw[at.NG]):
        j = i * lanes + lane
        if rw[iw[at.O_ZERO] + j] < -rw[iw[at.O_SLACK] + j]:
            if not gone:
                return True
            rw[iw[at.O_SLACK] + j] = NEVER
    return False


@engine_function
def _find(iw: Vector, rw: Vector, t: float, h: float) -> bool:
    """The relation of each member that changes first and where; whether there is one."""
    found = False
    for lane in range(iw[at.LANES]):
        cause, when = -1, NEVER
        if _is_beyond(iw, rw, lane):
            c, own = member.numbers_of(iw, lane), member.memory_of(iw, lane)
            cause = member.look(iw, rw, t, h, lane, c, own)
            if cause >= 0:
                found, when = True, own[c[at.O_REPORT] + at.R_ROOT]
        rw[iw[at.O_LANE_CAUSE] + lane], rw[iw[at.O_LANE_WHEN] + lane] = cause, when
    return found


@engine_function
def _first(iw: Vector, rw: Vector) -> float:
    first, when = NEVER, iw[at.O_LANE_WHEN]
    for lane in range(iw[at.LANES]):
        first = min(first, rw[when + lane])
    return first


@engine_function
def _make_exact(iw: Vector, rw: Vector, t: float, h: float) -> None:
    """Moves roots that may be the first to where they are; of the others nothing is kept but that
    they are later."""
    when, cause = iw[at.O_LANE_WHEN], iw[at.O_LANE_CAUSE]
    done = 0  # bits
    for _ in range(iw[at.LANES]):
        first, moved = _first(iw, rw), False
        for lane in range(iw[at.LANES]):
            if rw[when + lane] <= first + CLOSE and not (done >> lane) & 1:
                c, own = member.numbers_of(iw, lane), member.memory_of(iw, lane)
                relation = int(rw[cause + lane])
                rw[when + lane] = member.move_to(t, h, c, own, relation)
                done |= 1 << lane
                moved = True
        if not moved:
            break
    first, near = _first(iw, rw), rw[iw[at.O_CLOCK] + at.BLUR] / h
    for lane in range(iw[at.LANES]):
        if not ((done >> lane) & 1 and rw[when + lane] <= first + near):
            rw[cause + lane] = -1.0
    rw[iw[at.O_REPORT] + at.R_ROOT] = first


@engine_function
def _locate(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """Whose relation changes first within the step: 0, or -1 if none does; where, to the report."""
    n = iw[at.NG] * iw[at.LANES]
    for sample in range(1, SAMPLES + 1):
        part_of_step = sample / SAMPLES
        w = iw[at.O_W1] if sample == SAMPLES else dense(iw, rw, h, part_of_step, iw[at.NX])
        zeros_at(iw, rw, t + part_of_step * h, w)
        beyond = _watch(n, part(rw, iw[at.O_ZERO]), part(rw, iw[at.O_D]),
                        part(rw, iw[at.O_WINDOW]), part(rw, iw[at.O_SLACK]))  # fmt: skip
        if beyond > 0.0 and _find(iw, rw, t, h):
            _make_exact(iw, rw, t, h)
            return 0
    return -1


# ---------------------------------------------------------------- arrival


@engine_function
def _go_on(iw: Vector, rw: Vector, t: float) -> int:
    """The next instant of the group, and its derivative; those without one leave."""
    next_instant = NEVER
    for lane in range(iw[at.LANES]):
        rw[iw[at.O_LANE_CAUSE] + lane] = -1.0
        if rw[iw[at.O_LANE_ALIVE] + lane] > 0.0:
            c, own = member.numbers_of(iw, lane), member.memory_of(iw, lane)
            next_instant = min(next_instant, member.instant_of(c, own))
    rw[iw[at.O_REPORT] + at.R_INSTANT] = next_instant
    status = begin(iw, rw, t)
    if status == ALGEBRAIC and lanes_left(iw, rw, t, at.LANE_COLLAPSE):
        status = begin(iw, rw, t)
    return status


@engine_function
def _begin(iw: Vector, rw: Vector, t: float) -> int:
    """The initial events of all members."""
    n = iw[at.NG] * iw[at.LANES]
    fill(n, part(rw, iw[at.O_WINDOW]), 0.0)
    fill(n, part(rw, iw[at.O_SLACK]), 0.0)
    iw[at.OWN_EVENTS] = 0
    for lane in range(iw[at.LANES]):
        if rw[iw[at.O_LANE_ALIVE] + lane] > 0.0:
            c, own = member.numbers_of(iw, lane), member.memory_of(iw, lane)
            if member.start(iw, rw, lane, c, own):
                member.take_point_back(iw, rw, lane, c, own)
            else:
                leave(iw, rw, lane)
    return _go_on(iw, rw, t)


@engine_function
def _is_too_thick(iw: Vector) -> bool:
    """Whether members would be quicker alone: there they would not stop at the others' events. The
    last one has no others, and goes on."""
    steps, alive = iw[at.STEPS], iw[at.ALIVE]
    alone = alive * (steps - iw[at.EVENTS]) + iw[at.OWN_EVENTS]
    return alive > 1 and steps > TRIED_STEPS and GROUP_STEP * steps > alone


@engine_function
def _arrive(iw: Vector, rw: Vector, t: float, blur: float, jumped: bool) -> int:
    """What is due for each member at the present time."""
    ends = iw[at.TERMINAL] != 0 and t >= rw[iw[at.O_SETTING] + at.END]
    iw[at.EVENTS] += 1
    for lane in range(iw[at.LANES]):
        if not rw[iw[at.O_LANE_ALIVE] + lane] > 0.0:
            continue
        c, own = member.numbers_of(iw, lane), member.memory_of(iw, lane)
        cause = int(rw[iw[at.O_LANE_CAUSE] + lane])
        timed = member.instant_of(c, own) <= t + blur
        if not (jumped or ends or timed or cause >= 0):
            continue
        iw[at.OWN_EVENTS] += 1
        if member.meet(iw, rw, t, lane, c, own, cause):
            member.take_point_back(iw, rw, lane, c, own)
        else:
            leave(iw, rw, lane)
    if jumped:
        enter_piece(iw, rw)
    if _is_too_thick(iw):
        for lane in range(iw[at.LANES]):
            leave(iw, rw, lane)
        return DONE
    return _go_on(iw, rw, t)


def _lane_events(iw: Vector, rw: Vector, t: float, h: float, task: int, argument: int) -> int:
    """One of the tasks at.EVENT_...; h is the step, or the blur of time."""
    if task == at.EVENT_LOCATE:
        return _locate(iw, rw, t, h)
    if task == at.EVENT_BEGIN:
        return _begin(iw, rw, t)
    return _arrive(iw, rw, t, h, argument != 0)


lane_events_unit = Unit(_lane_events)
