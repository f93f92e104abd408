"""The companion of a member: arrays of the scalar engine in which it meets its events.

Between events a member is a lane of its group. For an event its numbers are brought to its
companion, which has gone through all events of this run before, and back; so what happens there is
done by the code that does it for a run alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.arrivals import approach, arrive
from estimica.simulate.engine.events.location import locate
from estimica.simulate.engine.loop import prepare, start_run
from estimica.simulate.engine.units import engine_function, part, reals_at, wholes_at

Vector = Any


@engine_function
def numbers_of(iw: Vector, lane: int) -> Vector:
    """iw of a companion."""
    return wholes_at(iw[iw[at.I_COMPANIONS] + 2 * lane])


@engine_function
def memory_of(iw: Vector, lane: int) -> Vector:
    """rw of a companion."""
    return reals_at(iw[iw[at.I_COMPANIONS] + 2 * lane + 1])


@engine_function
def bring(iw: Vector, lane: int, n: int, target: Vector, source: Vector) -> None:
    """n numbers of a member from its lane."""
    lanes = iw[at.LANES]
    for j in range(n):
        target[j] = source[j * lanes + lane]


@engine_function
def take_back(iw: Vector, lane: int, n: int, target: Vector, source: Vector) -> None:
    """n numbers of a member to its lane."""
    lanes = iw[at.LANES]
    for j in range(n):
        target[j * lanes + lane] = source[j]


@engine_function
def bring_point(iw: Vector, rw: Vector, lane: int, c: Vector, own: Vector) -> None:
    """States, sensitivities and unknowns of the present point, and how large relations were."""
    bring(iw, lane, c[at.N], part(own, c[at.O_W0]), part(rw, iw[at.O_W0]))
    bring(iw, lane, c[at.NZ], part(own, c[at.O_V]), part(rw, iw[at.O_V]))
    bring(iw, lane, c[at.NZ], part(own, c[at.O_V_GOOD]), part(rw, iw[at.O_V]))
    ng = c[at.NG]
    bring(iw, lane, ng, part(own, c[at.O_WINDOW] + at.SIZE * ng), part(rw, iw[at.O_WINDOW]))


@engine_function
def take_point_back(iw: Vector, rw: Vector, lane: int, c: Vector, own: Vector) -> None:
    """What holds after an event."""
    take_back(iw, lane, c[at.N], part(rw, iw[at.O_W0]), part(own, c[at.O_W0]))
    take_back(iw, lane, c[at.NZ], part(rw, iw[at.O_V]), part(own, c[at.O_V]))
    take_back(iw, lane, c[at.NZ], part(rw, iw[at.O_V_GOOD]), part(own, c[at.O_V]))
    take_back(iw, lane, c[at.ND], part(rw, iw[at.O_D]), part(own, c[at.O_D]))
    take_back(iw, lane, c[at.NG], part(rw, iw[at.O_SLACK]), part(own, c[at.O_SLACK]))


@engine_function
def is_at_rest(c: Vector, own: Vector) -> bool:
    """Whether a relation rests on its surface, which groups do not know."""
    rest = c[at.O_WINDOW] + at.REST * c[at.NG]
    for i in range(c[at.NG]):  # noqa: SIM110 (Numba knows no any())
        if own[rest + i] > 0.0:
            return True
    return False


@engine_function
def start(iw: Vector, rw: Vector, lane: int, c: Vector, own: Vector) -> bool:
    """The start of a member and its initial event; False where it cannot be gone through."""
    bring(iw, lane, iw[at.NP], part(own, c[at.O_P]), part(rw, iw[at.O_P]))
    c[c[at.I_SPARSE_Z] + at.H_KNOWN] = c[c[at.I_SPARSE_STIFF] + at.H_KNOWN] = 0
    prepare(c, own)
    bring_point(iw, rw, lane, c, own)
    bring(iw, lane, c[at.ND], part(own, c[at.O_D]), part(rw, iw[at.O_D]))
    total = 0.0  # a member without a start has no numbers
    for j in range(c[at.NX]):
        total += own[c[at.O_W0] + j] * 0.0
    for j in range(c[at.ND]):
        total += own[c[at.O_D] + j] * 0.0
    return total == 0.0 and start_run(c, own) == 0 and not is_at_rest(c, own)


@engine_function
def meet(iw: Vector, rw: Vector, t: float, lane: int, c: Vector, own: Vector, cause: int) -> bool:
    """What is due at the present time, as `arrivals.arrive`; False where the member must leave."""
    bring_point(iw, rw, lane, c, own)
    own[c[at.O_CLOCK] + at.NOW] = t
    return arrive(c, own, cause) == 0 and not is_at_rest(c, own)


@engine_function
def look(iw: Vector, rw: Vector, t: float, h: float, lane: int, c: Vector, own: Vector) -> int:
    """The relation that changes first within a step of the group, or -1; where, to the report."""
    n = c[at.NX]
    for place in (at.O_W0, at.O_W1, at.O_K1, at.O_R2, at.O_R3, at.O_R4, at.O_R5):
        bring(iw, lane, n, part(own, c[place]), part(rw, iw[place]))
    bring(iw, lane, c[at.NZ], part(own, c[at.O_V]), part(rw, iw[at.O_V]))
    c[at.DENSE], c[at.STIFF] = n, iw[at.STIFF]
    clock, group = c[at.O_CLOCK], iw[at.O_CLOCK]
    own[clock + at.NOW], own[clock + at.BLUR] = t, rw[group + at.BLUR]
    return locate(c, own, t, h)


@engine_function
def move_to(t: float, h: float, c: Vector, own: Vector, cause: int) -> float:
    """The part of the step after which the relation that was found changes, exactly."""
    return approach(c, own, t, h, cause) / h


@engine_function
def instant_of(c: Vector, own: Vector) -> float:
    """The next instant of a member's time relations."""
    return own[c[at.O_REPORT] + at.R_INSTANT] if c[at.NT] else np.inf
