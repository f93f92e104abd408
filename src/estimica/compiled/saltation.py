"""EventPassage: what an event does to the uncertainty of states.

Where a relation g(x) changes, neighbouring courses change at times of their own: a small deviation
before the event is Ξ times itself after it, with the saltation matrix
    Ξ = J + (f⁺ − J f⁻ − ∂x⁺/∂t) (dg/dx) / (dg/dt),   J = ∂x⁺/∂x
(f before and after the event, J of reinit). Where neither f nor a state jumps, Ξ = I: |x|, max,
tables and saturation cost nothing. Instants that do not depend on states have J alone.

One event may take several rounds, in each of which states are set anew, and algebraic unknowns are
others in each of them. So three things are kept from its beginning on: the product J of all rounds,
what f⁻ has become by them, and (dg/dx)/(dg/dt) of the relation that has brought all of it about.
Slopes are those with the unknowns moving along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from estimica.compiled.hybrid import HybridSystem

#: f that differs by less across an event is the same: rounding of both sides
ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class EventPassage:
    """States of a hybrid system that do not move between events, and what events make of them."""

    states: ca.SX
    flags: ca.SX  # those of the model, and the cause
    before: ca.SX  # as an event begins
    after_round: ca.SX  # where `fired` is not zero
    fired: ca.SX
    matrix: ca.SX  # Ξ once all rounds are over


@dataclass(frozen=True, eq=False)
class Slopes:
    """How columns of the model move at the mean of its states."""

    by_states: Callable[[ca.SX], ca.SX]  # with the algebraic unknowns moving along
    by_time: Callable[[ca.SX], ca.SX]  # with the states held


def event_passage(h: HybridSystem, drift: ca.SX, slopes: Slopes) -> EventPassage | None:
    """Of the continuous states, whose mean moves by `drift`; None where no event reaches them."""
    n = h.nx - h.n_memory
    fired, value = (ca.vertsplit(ca.densify(e))[:n] for e in (h.reinit_fired, h.event_x))
    set_anew = [i for i in range(n) if not fired[i].is_zero()]
    if not h.ng and not set_anew:
        return None
    J, rate = ca.SX.sym("J", len(set_anew), n), ca.SX.sym("rate_before", n)
    toward, cause = ca.SX.sym("time_slope", 1, n), ca.SX.sym("cause")
    unit, whole = ca.SX.eye(n), ca.SX.eye(n)
    for k, i in enumerate(set_anew):
        whole[i, :] = J[k, :]
    begins = ca.vertcat(
        *(unit[i, :].T for i in set_anew), drift, _time_slope(h, drift, slopes, cause).T
    )
    # initial equations are no change of what is known of the start
    now = {i: ca.logic_and(fired[i] != 0, h.flags[0] == 0) for i in set_anew}
    new_J, new_rate, rate_fired = J, rate, ca.SX.zeros(n, 1)
    if set_anew:
        jump = ca.vertcat(*(value[i] for i in set_anew))
        rows = slopes.by_states(jump) + ca.jacobian(jump, h.x_pre[:n])
        new_J, rates = rows @ whole, rows @ rate + slopes.by_time(jump)
        new_rate = ca.SX(rate)
        for k, i in enumerate(set_anew):
            new_rate[i], rate_fired[i] = rates[k], now[i]
    kick = drift - rate
    kick = ca.if_else(ca.fabs(kick) > ALIKE * (ca.fabs(drift) + ca.fabs(rate)), kick, 0)
    return EventPassage(
        states=ca.vertcat(ca.vec(J.T), rate, toward.T),
        flags=ca.vertcat(h.flags, cause),
        before=ca.densify(begins),
        after_round=ca.densify(ca.vertcat(ca.vec(new_J.T), new_rate, toward.T)),
        fired=ca.densify(
            ca.vertcat(*(now[i] for i in set_anew for _ in range(n)), rate_fired, ca.SX.zeros(n, 1))
        ),
        matrix=whole + kick @ toward,
    )


def _time_slope(h: HybridSystem, drift: ca.SX, slopes: Slopes, cause: ca.SX) -> ca.SX:
    """(dg/dx)/(dg/dt) of the relation that brings the event about."""
    n = drift.shape[0]
    if not h.ng:
        return ca.SX.zeros(1, n)
    by_states, by_time = slopes.by_states(h.zero), slopes.by_time(h.zero)
    slope, rate = ca.SX.zeros(1, n), ca.SX(0)
    for i in range(h.ng):
        here = cause == i
        slope += ca.if_else(here, ca.densify(by_states[i, :]), 0)
        rate += ca.if_else(here, by_time[i] + by_states[i, :] @ drift, 0)
    return slope / ca.if_else(cause >= 0, rate, 1)
