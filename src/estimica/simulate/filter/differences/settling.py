"""Settling: what is found out about a filter by differences before its first run, and kept.

Sizes of the states and whether they hold all of the past, from a plain simulation; steps of
differences; and how finely intervals are divided for the noise that comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import ModelError
from estimica.simulate.filter.differences.course import Course
from estimica.simulate.filter.differences.function import FunctionMover
from estimica.simulate.filter.differences.mover import StoppedError

#: intervals that are looked at, spread over the record
TRIED = 4
CHECKED = 30
#: of the size of a state: how far it may be off where a model is begun anew. Chosen: far above
#: errors of simulating, far below what another course would be
APART = 1e-3
#: relative error of the variances that noise brings. Chosen: below the tolerances of
#: simulations, since rules of higher order cost little
ENOUGH = 1e-7
#: moves of rules that are tried. Chosen: each has half the error of the one before or far less,
#: and beyond eight it is cheaper to divide
RULES = (2, 3, 4, 5, 6, 8)
FINEST = 64  # parts of an interval at most; chosen: what needs more is stiff within it

#: states (K, n) at the knots of a record by a plain simulation at values of the tuners; none where
#: it fails
Simulated = Callable[[Vector], Vector | None]


@dataclass(frozen=True, eq=False)
class Settled:
    """Sizes of the states, the rule for the noise that comes in and how long its parts are."""

    sizes: Vector
    longest: float = np.inf
    moves: int = 2


def settle(course: Course, simulated: Simulated, theta: Vector) -> Settled:
    """Find out; a model that a filter cannot begin anew is refused."""
    mover, knots = course.mover, course.pieces.starts
    rows = theta[None]
    x = simulated(theta)
    is_whole = x is not None
    if x is None:  # it may diverge where nothing is measured of it
        x = np.repeat(mover.begun(rows), len(knots), axis=0)
    largest = np.abs(x).max(axis=0)
    sizes = np.where(largest > 0, largest, 1.0)
    if len(knots) < 2:
        return Settled(sizes)
    tried = _spread(len(knots) - 1 if is_whole else 1, TRIED)
    stretches = [(float(knots[k]), float(knots[k + 1])) for k in tried]
    if isinstance(mover, FunctionMover):
        wrong = mover.wrong_start(mover.begun(rows), rows, *stretches[0])
        if wrong:
            raise ModelError("M245", f"{wrong}; a state is what the function begins with")
    mover.prepare(sizes, stretches, x[tried], rows)
    if is_whole:
        _require_known(course, x, sizes, rows)
    return Settled(sizes, *_division(course, x, tried, rows))


def _spread(count: int, wanted: int) -> Indices:
    found: Indices = np.unique(np.linspace(0, count - 1, wanted).astype(np.int64))
    return found


def _require_known(course: Course, x: Vector, sizes: Vector, rows: Vector) -> None:
    """Refuse a model whose states do not hold all of its past."""
    mover, knots = course.mover, course.pieces.starts
    for k in _spread(len(knots) - 1, CHECKED):
        begin, end = float(knots[k]), float(knots[k + 1])
        try:
            found = mover.moved(begin, end, x[k : k + 1], rows).value[0]
        except StoppedError as stopped:
            raise ModelError(
                "M246",
                f"the model cannot be begun anew at {begin:g} s, which a filter by differences "
                f"does at each sample: {stopped.text}; use criterion 'ml', or a Modelica model",
            ) from None
        off = np.abs(found - x[k + 1]) / sizes
        worst = int(np.argmax(off))
        if off[worst] > APART:
            raise ModelError(
                "M246",
                f"the states {', '.join(mover.states)} do not hold all of the model's past: begun "
                f"anew at {begin:g} s, '{mover.states[worst]}' is {found[worst]:g} at {end:g} s, "
                f"and {x[k + 1, worst]:g} in one simulation; a filter by differences begins anew "
                "at each sample: use criterion 'ml', or a Modelica model",
            )


def _division(course: Course, x: Vector, tried: Indices, rows: Vector) -> tuple[float, int]:
    """(longest part, moves in it) that are enough for the noise that comes in."""
    width = np.diff(course.pieces.starts)
    diffusion = course.diffusion.over_time(rows)
    none = np.zeros((1, x.shape[1], x.shape[1]))

    def grown(k: int, parts: int, moves: int) -> Vector:
        """What noise has made of the covariance over an interval."""
        division = (parts, moves)
        return course.over(k, x[k : k + 1], none, rows, diffusion, False, division)[1][0]

    # the rule by intervals of usual length, the parts by the longest one where it is known
    own = tried[np.argsort(width[tried], kind="stable")]
    typical, longest = int(own[len(own) // 2]), int(np.argmax(width))
    moves, found = RULES[0], grown(typical, 1, RULES[0])
    for finer in RULES[1:]:
        better = grown(typical, 1, finer)
        if _apart(found, better) <= ENOUGH:
            break
        moves, found = finer, better

    def parts_of(k: int) -> int:
        parts, found = 1, grown(k, 1, moves)
        while parts < FINEST:
            better = grown(k, 2 * parts, moves)
            if _apart(found, better) <= ENOUGH:
                break
            parts, found = 2 * parts, better
        return parts

    usual = float(width[typical]) / parts_of(typical)
    if len(tried) < 2:
        return usual, moves
    # what is enough for usual intervals is so for them, however long others are
    return max(usual, float(width[longest]) / parts_of(longest)), moves


def _apart(one: Vector, other: Vector) -> float:
    """The largest difference of two covariances, in standard deviations of their states."""
    root = np.sqrt(np.maximum(np.diag(other), 0.0))
    scale = np.outer(root, root)
    off = np.abs(one - other)[scale > 0] / scale[scale > 0]
    return float(off.max(initial=0.0))
