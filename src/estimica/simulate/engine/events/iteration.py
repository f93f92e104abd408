"""The event iteration: from the values before an event to those after it.

At an event at time tau(theta) the total derivative of the state, S + x' dtau, goes through the
event map by the chain rule; S afterwards is what remains when the new x' dtau is taken off.

In a round the values before the event (pre) are held and everything else is found: algebraic
unknowns, modes of relations, logicals, memories. A sweep goes round in the order in which they need
each other: logicals that follow from others, unknowns, relations, logicals that relations decide.
Where all relations that are wrong change at once and that goes round in a circle, one changes at a
time, the first: ideal switches and diodes, whose equations are a linear complementarity problem,
then come to their solution (Murty 1974, Bard's scheme with the least index).
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import (
    add_moved,
    call,
    derivative,
    push,
    set_inputs,
    set_result,
)
from estimica.simulate.engine.events.departure import SOLVED, keep_start, shift
from estimica.simulate.engine.events.location import (  # fmt: skip
    FREE,
    before,
    due,
    failure,
    locate,
    next_instant,
    polish,
    rates,
)
from estimica.simulate.engine.events.passage import enter_event, leave_event, settle_total
from estimica.simulate.engine.status import CHATTERING, DONE, EVENT_ITERATION
from estimica.simulate.engine.units import Unit, engine_function, part

Vector = Any
#: rounds of the event iteration, and how often relations may take another side at one instant.
#: Chosen: chains of `when` clauses need one round a link, and nobody writes chains of 100;
#: relations that take turns a dozen times go on
OUTER_LIMIT, FLIP_LIMIT = 100, 12
#: sweeps of a round in which all relations change that are wrong, after which one changes at a time
#: for so many sweeps more and four for each relation. Chosen: chains need one sweep a link, and the
#: least index has been seen to need two changes a relation
JOINT_SWEEPS, SINGLE_SWEEPS = 20, 40
#: relations that go round in a circle this part of their largest value off their surface are on it:
#: as much as the chains of assignments of a block may amplify rounding (structure/graph/tearing.py)
RESOLVED = 1e-9
#: after an event a relation whose zero function moves so much slower than before it rests on its
#: surface, as a body that sticks: what is left of its slope is rounding
AT_REST = 1e-10
ALL, EXPLICIT, FIRST = range(3)  # relations that take their mode


@engine_function
def remember(iw: Vector, rw: Vector) -> None:
    """x_pre, d_pre, S_pre := x, d, S."""
    nx, w0 = iw[at.NX], iw[at.O_W0]
    for i in range(nx):
        rw[iw[at.O_X_PRE] + i] = rw[w0 + i]
    for i in range(nx * iw[at.M]):
        rw[iw[at.O_S_PRE] + i] = rw[w0 + nx + i]
    for i in range(iw[at.ND]):
        rw[iw[at.O_D_PRE] + i] = rw[iw[at.O_D] + i]


@engine_function
def change(rw: Vector, place: int, value: float) -> bool:
    """Assigns; whether that changed anything."""
    changed = rw[place] != value
    rw[place] = value
    return changed


@engine_function
def move(rw: Vector, place: int, value: float) -> bool:
    """Assigns; whether that changed more than the last digits of an unknown that is solved for."""
    changed = not abs(rw[place] - value) <= SOLVED * abs(value)
    rw[place] = value
    return changed


@engine_function
def update_modes(iw: Vector, rw: Vector, which: int) -> bool:
    """The modes at the point; on its surface a relation keeps its mode. The relations that have
    brought the event about are held at their new one there, and anywhere in the first round.

    `which` is ALL, EXPLICIT (those that need no algebraic unknown) or FIRST (of those that change).
    """
    ng, d, changed = iw[at.NG], iw[at.O_D], False
    if ng:
        set_result(iw, 0, iw[at.O_ZERO])
        call(iw, at.ZERO)
    for i in range(ng):
        if which == EXPLICIT and iw[iw[at.I_IMPLICIT] + i]:
            continue
        g, held = rw[iw[at.O_ZERO] + i], rw[iw[at.O_TRIGGERED] + i]
        near = abs(g) <= rw[iw[at.O_SLACK] + i]
        value = 1.0 if g > 0.0 else 0.0
        if held != FREE and (near or iw[at.FIRST_ROUND]):
            value = held
        elif near:
            value = rw[d + i]
        if change(rw, d + i, value):
            changed = True
            iw[at.INDEX] = i
            if which == FIRST and iw[iw[at.I_IMPLICIT] + i]:
                break
    return changed


@engine_function
def update_instants(iw: Vector, rw: Vector, t: float, blur: float) -> bool:
    """The modes of the time relations, whose instants may depend on what has just changed."""
    changed = False
    if iw[at.NT]:
        next_instant(iw, rw, t, blur)
    for i in range(iw[at.NT]):
        reached = rw[iw[at.O_INSTANT] + i] <= t + blur
        until = iw[iw[at.I_UNTIL] + i] != 0
        changed |= change(rw, iw[at.O_D] + iw[at.NG] + i, 1.0 if reached != until else 0.0)
    return changed


@engine_function
def settle_logic(iw: Vector, rw: Vector, t: float, blur: float) -> bool:
    """Time relations and logicals that no state relation decides, until they do not change."""
    any_changed, place = False, iw[at.O_D] + iw[at.NG] + iw[at.NT]
    for _ in range(iw[at.NL] + 2):  # a chain of all of them, and a look whether it has ended
        changed = update_instants(iw, rw, t, blur)
        set_result(iw, 0, iw[at.O_EVENT_X])
        set_result(iw, 1, iw[at.O_FIRED])
        set_result(iw, 2, iw[at.O_EVENT_L])
        call(iw, at.EVENT)
        for i in range(iw[at.NL]):
            if iw[iw[at.I_DECIDED] + i] == 0 and change(rw, place + i, rw[iw[at.O_EVENT_L] + i]):
                changed = True
                iw[at.INDEX] = iw[at.NG] + iw[at.NT] + i
        if not changed:
            break
        any_changed = True
    return any_changed


@engine_function
def begin_round(iw: Vector, rw: Vector, t: float, blur: float) -> None:
    """What follows from the values before the event, the states and the time alone."""
    remember(iw, rw)
    set_inputs(iw, rw, t)
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W0]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    settle_logic(iw, rw, t, blur)
    update_modes(iw, rw, EXPLICIT)
    settle_logic(iw, rw, t, blur)


@engine_function
def sweep(iw: Vector, rw: Vector, t: float, blur: float, which: int) -> int:
    """Once round: 0 where nothing changes, 1 where something does, or -1 less what failed."""
    code = settle_total(iw, rw, t)
    if code:
        return -1 - code
    changed = update_modes(iw, rw, which)
    changed |= apply_equations(iw, rw)
    changed |= settle_logic(iw, rw, t, blur)
    return 1 if changed else 0


@engine_function
def widen_surfaces(iw: Vector, rw: Vector, t: float, blur: float, all_of_them: bool) -> int:
    """How near is near, by the slopes that hold now, for the relations that have brought the event
    about or for all. A diode that blocks has a voltage where it had a current, and rounding of
    another size."""
    code = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], False)
    if code:
        return failure(code)
    rates(iw, rw, t, iw[at.O_K1])
    size = iw[at.O_WINDOW] + at.SIZE * iw[at.NG]
    for i in range(iw[at.NG]):
        slack = iw[at.O_SLACK] + i
        if all_of_them:
            rw[slack] = max(rw[slack], RESOLVED * rw[size + i])
        if all_of_them or rw[iw[at.O_TRIGGERED] + i] != FREE:
            rw[slack] = max(rw[slack], abs(rw[iw[at.O_ZERO_RATE] + i]) * blur)
    return DONE


@engine_function
def settle_round(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """Unknowns, modes, logicals and memories that fit the values before the event; a status."""
    for _ in range(JOINT_SWEEPS):
        outcome = sweep(iw, rw, t, blur, ALL)
        if outcome <= 0:
            return failure(-1 - outcome) if outcome else DONE
    # what goes round in a circle may be on its surface by the slope that it has in this
    # configuration, if not by the one that it had: a switch has a current or a voltage
    for _ in range(SINGLE_SWEEPS + 4 * iw[at.NG]):
        status = widen_surfaces(iw, rw, t, blur, True)
        if status:
            return status
        outcome = sweep(iw, rw, t, blur, FIRST)
        if outcome <= 0:
            return failure(-1 - outcome) if outcome else DONE
    return EVENT_ITERATION


@engine_function
def differentiate_event(iw: Vector, rw: Vector) -> None:
    """The total derivatives of what the event sets."""
    head, sens = iw[at.I_TANGENT_EVENT], part(rw, iw[at.O_EVENT_S])
    if iw[head + at.G_ROWS] == 0:
        set_result(iw, 0, iw[at.O_EVENT_S])
        call(iw, at.EVENT_SENS)
        return
    set_result(iw, 0, iw[at.O_TANGENT_EVENT])
    set_result(iw, 1, iw[at.O_MOVED_EVENT])
    call(iw, at.EVENT_SENS)
    push(iw, rw, head, part(rw, iw[at.O_TANGENT_EVENT]), sens)
    add_moved(iw, rw, iw[at.NX], part(rw, iw[at.O_MOVED_EVENT]), sens)


@engine_function
def apply_equations(iw: Vector, rw: Vector) -> bool:
    """New logicals and memories from the event equations, and the sensitivities of memories."""
    nx, m, memories = iw[at.NX], iw[at.M], iw[at.NMEMORY]
    w0, changed = iw[at.O_W0], False
    set_result(iw, 0, iw[at.O_EVENT_X])
    set_result(iw, 1, iw[at.O_FIRED])
    set_result(iw, 2, iw[at.O_EVENT_L])
    call(iw, at.EVENT)
    place = iw[at.O_D] + iw[at.NG] + iw[at.NT]
    for i in range(iw[at.NL]):
        if change(rw, place + i, rw[iw[at.O_EVENT_L] + i]):
            changed = True
            iw[at.INDEX] = iw[at.NG] + iw[at.NT] + i
    if m:
        differentiate_event(iw, rw)
    for i in range(nx - memories, nx):
        changed |= move(rw, w0 + i, rw[iw[at.O_EVENT_X] + i])
        for j in range(i * m, i * m + m):
            changed |= move(rw, w0 + nx + j, rw[iw[at.O_EVENT_S] + j])
    return changed


@engine_function
def reinitialise(iw: Vector, rw: Vector) -> None:
    """Assigns the reinit values that fire, with their sensitivities."""
    nx, m, w0 = iw[at.NX], iw[at.M], iw[at.O_W0]
    for i in range(nx - iw[at.NMEMORY]):
        if rw[iw[at.O_FIRED] + i] != 0.0:
            iw[at.JUMPED] = 1
            rw[w0 + i] = rw[iw[at.O_EVENT_X] + i]
            for j in range(i * m, i * m + m):
                rw[w0 + nx + j] = rw[iw[at.O_EVENT_S] + j]


@engine_function
def differs(iw: Vector, rw: Vector) -> bool:
    """Whether anything is not as it was at the start of this iteration."""
    for i in range(iw[at.NX]):
        if rw[iw[at.O_W0] + i] != rw[iw[at.O_X_PRE] + i]:
            return True
    for i in range(iw[at.ND]):  # noqa: SIM110 (Numba knows no any())
        if rw[iw[at.O_D] + i] != rw[iw[at.O_D_PRE] + i]:
            return True
    return False


@engine_function
def leave_surfaces(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """Relations on their surface take the side to which they move, and held ones that have left it
    the side where they are; -1: none changes, or which."""
    rates(iw, rw, t, iw[at.O_K1])
    changed = -1
    for i in range(iw[at.NG]):
        g, slope = rw[iw[at.O_ZERO] + i], rw[iw[at.O_ZERO_RATE] + i]
        slack = max(rw[iw[at.O_SLACK] + i], abs(slope) * blur)
        mode = rw[iw[at.O_D] + i]
        if abs(g) > slack:
            rw[iw[at.O_SLACK] + i] = 0.0
            rw[iw[at.O_TRIGGERED] + i] = FREE
            if (g > 0.0) != (mode > 0.5):
                changed = i
            continue
        rw[iw[at.O_SLACK] + i] = slack
        if abs(slope) > AT_REST * rw[iw[at.O_ZERO_LOW] + i]:
            wanted = 1.0 if slope > 0.0 else 0.0
        elif g == 0.0 and rw[iw[at.O_TRIGGERED] + i] == FREE:
            wanted = 0.0 if iw[iw[at.I_STRICT] + i] else 1.0
        else:
            wanted = mode
        if wanted != mode:
            rw[iw[at.O_TRIGGERED] + i] = wanted
            changed = i
    return changed


@engine_function
def moves_as_before(iw: Vector, rw: Vector) -> bool:
    """Whether x' in K1 is that of the last round but for rounding: the flips changed nothing."""
    largest, change = 0.0, 0.0
    for i in range(iw[at.NX]):
        rate = rw[iw[at.O_K1] + i]
        largest = max(largest, abs(rate))
        change = max(change, abs(rate - rw[iw[at.O_XDOT] + i]))
    return change <= SOLVED * largest


@engine_function
def release_moved(iw: Vector, rw: Vector, t: float, blur: float) -> None:
    """Lets go of relations whose surface moves away at the very instant at which they reach it.

    Where an instant has come together with them, it is gone through without them first: a threshold
    that is raised at the moment at which a signal comes up to it is not crossed.
    """
    held = False
    for i in range(iw[at.NG]):
        held |= rw[iw[at.O_TRIGGERED] + i] != FREE
    if not held or due(iw, rw, t, blur) < 0:
        return
    turn_back(iw, rw)
    begin_round(iw, rw, t, blur)
    settled = settle_round(iw, rw, t, blur) == DONE
    turn_back(iw, rw)
    for i in range(iw[at.NG]):
        g, mode = rw[iw[at.O_ZERO] + i], rw[iw[at.O_TRIGGERED] + i]
        if (
            settled
            and mode != FREE
            and abs(g) > rw[iw[at.O_SLACK] + i]
            and (g > 0.0) != (mode > 0.5)
        ):
            rw[iw[at.O_TRIGGERED] + i] = FREE
    for i in range(iw[at.NX]):
        rw[iw[at.O_W0] + i] = rw[iw[at.O_X_PRE] + i]
    for i in range(iw[at.NX] * iw[at.M]):
        rw[iw[at.O_W0] + iw[at.NX] + i] = rw[iw[at.O_S_PRE] + i]
    for i in range(iw[at.ND]):
        rw[iw[at.O_D] + i] = rw[iw[at.O_D_PRE] + i]
    for i in range(iw[at.NZ]):
        rw[iw[at.O_V] + i] = rw[iw[at.O_V_GOOD] + i]


@engine_function
def turn_back(iw: Vector, rw: Vector) -> None:
    """The relations that are held are held at their other mode."""
    for i in range(iw[at.NG]):
        if rw[iw[at.O_TRIGGERED] + i] != FREE:
            rw[iw[at.O_TRIGGERED] + i] = 1.0 - rw[iw[at.O_TRIGGERED] + i]


@engine_function
def iterate_events(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """The event iteration at t, from W0 and d before it to those after it; a status comes back."""
    w0, flips = iw[at.O_W0], 0
    iw[at.JUMPED], iw[at.FIRST_ROUND] = 0, 1
    keep_start(iw, rw)
    shift(iw, rw, 1.0, iw[at.O_XDOT])
    if not iw[at.HAS_EVENTS]:
        code = derivative(iw, rw, t, w0, iw[at.O_K1], False)
        shift(iw, rw, -1.0, iw[at.O_K1])
        return failure(code)
    if iw[at.NT] and rw[iw[at.O_FLAGS]] == 0.0:
        release_moved(iw, rw, t, blur)
    if iw[at.BEFORE_EVENT]:
        enter_event(iw, rw, t)
    for _ in range(OUTER_LIMIT):
        begin_round(iw, rw, t, blur)
        status = settle_round(iw, rw, t, blur)
        if status:
            return status
        if iw[at.FIRST_ROUND] and iw[at.NG]:
            status = widen_surfaces(iw, rw, t, blur, False)
            if status:
                return status
        iw[at.FIRST_ROUND] = 0
        reinitialise(iw, rw)
        if rw[iw[at.O_FLAGS]] != 0.0:
            rw[iw[at.O_FLAGS]] = 0.0  # pre is the start value in the first iteration only
            continue
        if differs(iw, rw):
            continue
        code = derivative(iw, rw, t, w0, iw[at.O_K1], False)
        if code:
            return failure(code)
        immaterial = flips > 0 and moves_as_before(iw, rw)
        flipped = leave_surfaces(iw, rw, t, blur)
        if flipped < 0:
            return leave_event(iw, rw, t)
        flips += 1
        if flips > FLIP_LIMIT:
            if immaterial:  # bodies that stick beside the one that moves: their slopes are rounding
                return leave_event(iw, rw, t)
            iw[at.INDEX] = flipped
            return CHATTERING
    return EVENT_ITERATION


def _events(iw: Vector, rw: Vector, t: float, h: float, task: int, index: int) -> int:
    """One of the tasks at.EVENT_...; h is the step, or the blur of time."""
    if task == at.EVENT_LOCATE:
        return locate(iw, rw, t, h)
    if task == at.EVENT_POLISH:
        rw[iw[at.O_REPORT] + at.R_ROOT] = polish(iw, rw, t, index)
    elif task == at.EVENT_BEFORE:
        return before(iw, rw, t, h, index)
    elif task == at.EVENT_SETTLE:
        return iterate_events(iw, rw, t, h)
    elif task == at.EVENT_NEXT:
        next_instant(iw, rw, t, h)
    return 0


events_unit = Unit(_events)
