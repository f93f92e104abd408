"""Values of criteria without gradients, all of one run in one call of compiled code.

The same measures as in trajectory_measures, on the same kind of panels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.compiled.llvm.numba import njit
from estimica.optimise.criteria.panels import NODES, TO_COEFFICIENTS
from estimica.optimise.criteria.value_only.polynomials import (
    compiled,
    crossing,
    ends,
    highest,
    integral,
    rate,
    size_integral,
    turn,
)

Vector = Any
KINDS = (
    "overshoot", "undershoot", "rise-time", "settling-time", "peak", "final",
    "steady-state-error", "rms", "iae", "ise", "itae", "maximum", "minimum", "mean", "integral",
    "energy",
)  # fmt: skip
(
    OVERSHOOT, UNDERSHOOT, RISE, SETTLING, PEAK, FINAL, STEADY, RMS, IAE, ISE, ITAE, MAXIMUM,
    MINIMUM, MEAN, INTEGRAL, ENERGY,
) = range(len(KINDS))  # fmt: skip
#: columns of the whole numbers of a criterion
KIND, OF, REFERENCE, AT_REST, MOVED, N_WHOLE = range(6)
#: columns of its real numbers; the reference where it is a number
BAND, TOLERANCE, LOW, HIGH, LEVEL, N_REAL = range(6)
#: REFERENCE where it is a number, or where there is none
A_NUMBER, NONE = -1, -2
#: what comes back
TAKEN, COARSE, OTHERWISE, UNTRIED = range(4)

_STILL = 1e-9  # of its range: a reference that moves less is at rest
_MOVING = 1e-5  # and one that moves more is not


@compiled
def _rise(y: Vector, nodes: Vector, low: Vector, high: Vector, target: float, a: float, b: float,
          least: Vector) -> float:  # fmt: skip
    first = nodes[0, 0]
    step = target - first
    if step == 0.0:
        return 0.0
    s = 1.0 if step > 0 else -1.0
    begin = end = low[0]
    if a > 0.0:
        begin = crossing(y, low, high, first + a * step, False)
    end = crossing(y, low, high, first + b * step, False)
    begun = begin
    if np.isnan(begin):
        begin, begun = low[0], high[-1]  # what has not begun may be short
    if not np.isnan(end):
        return end - begin
    least[0] = high[-1] - begun
    missing = (first + b * step - s * highest(y, nodes, s)) / step
    return high[-1] - begin + missing * (high[-1] - low[0])


@compiled
def _settling(e: Vector, low: Vector, high: Vector, band: float, least: Vector) -> float:
    length = high[-1] - low[0]
    outside = abs(ends(e[-1])[1]) - band
    if outside > 0:
        least[0] = length
        return length + (outside / band if band else outside) * length
    above, below = crossing(e, low, high, band, True), crossing(e, low, high, -band, True)
    if np.isnan(above):
        above = low[0]
    if np.isnan(below):
        below = low[0]
    return max(above, below) - low[0]


@compiled
def _overshoot(e: Vector, nodes: Vector, broken: Vector, s: float, at_rest: bool) -> float:
    if not at_rest:
        return max(0.0, highest(e, nodes, s))
    peak = max(0.0, turn(e, broken, 0.0))
    d = np.empty(NODES)
    rate(e[-1], d)
    last = ends(e[-1])[1]
    return max(peak, abs(last)) if last * ends(d)[1] > 0 else peak


@compiled
def _measure(kind: int, c: Vector, nodes: Vector, low: Vector, high: Vector, broken: Vector,
             step: float, target: float, at_rest: bool, real: Vector, least: Vector
             ) -> float:  # fmt: skip
    """One criterion of what it looks at; NaN where it cannot be taken.

    Where the window ends before there is a value, `least` takes what it is at least.
    """
    s = -1.0 if step < 0 else 1.0
    if kind == OVERSHOOT:
        return _overshoot(c, nodes, broken, s, at_rest)
    if kind == UNDERSHOOT:
        far = turn(c, broken, -s) if at_rest else s * nodes[0, 0] + highest(c, nodes, -s)
        return max(0.0, far)
    if kind == RISE:
        return _rise(c, nodes, low, high, target, real[LOW], real[HIGH], least)
    if kind == SETTLING:
        band = real[BAND]
        if np.isnan(band):
            band = abs(step) * real[TOLERANCE] if step else np.nan
        return _settling(c, low, high, band, least)
    if kind == PEAK:
        return max(highest(c, nodes, 1.0), highest(c, nodes, -1.0))
    if kind == FINAL:
        return nodes[-1, -1]
    if kind == STEADY:
        return abs(nodes[-1, -1])
    if kind == MAXIMUM:
        return highest(c, nodes, 1.0)
    if kind == MINIMUM:
        return -highest(c, nodes, -1.0)
    if kind in (IAE, ITAE):
        return size_integral(c, low, high, kind == ITAE)
    length = high[-1] - low[0]
    if kind in (INTEGRAL, MEAN):
        total = integral(c, low, high, 1)
        return total / length if kind == MEAN else total
    square = integral(c, low, high, 2)
    return np.sqrt(max(0.0, square) / length) if kind == RMS else square


@compiled
def _at_rest(r: Vector, first: int, moved: bool) -> bool:
    """Whether a reference rests from panel `first` on, and moved just before."""
    end = r[-1, -1]
    least, most = np.inf, -np.inf
    for p in range(len(r)):
        for k in range(NODES):
            least, most = min(least, r[p, k]), max(most, r[p, k])
    span = most - least if most > least else 1.0
    for p in range(first, len(r)):
        for k in range(NODES):
            if abs(r[p, k] - end) > _STILL * span:
                return False
    if not moved:
        return True
    far = 0.0
    for k in range(NODES):
        far = max(far, abs(r[first - 1, k] - end))
    return far > _MOVING * span


@compiled
def _unresolved(c: Vector, nodes: Vector, size: float, rtol: float, coarse: Vector) -> bool:
    """Marks panels whose last coefficients are too large beside the signal."""
    least, most = np.inf, -np.inf
    for p in range(len(c)):
        for k in range(NODES):
            least, most = min(least, nodes[p, k]), max(most, nodes[p, k])
    allowed = rtol * max(most - least, 0.1 * size)
    any_ = False
    for p in range(len(c)):
        if not max(abs(c[p, NODES - 1]), abs(c[p, NODES - 2])) <= allowed:
            coarse[p] = True
            any_ = True
    return any_


@compiled
def _gather(z: Vector, column: int, places: Vector, out: Vector) -> float:
    """Values at the nodes; the largest size comes back."""
    size = 0.0
    for p in range(len(places)):
        for k in range(NODES):
            out[p, k] = z[places[p, k], column]
            size = max(size, abs(out[p, k]))
    return size


@compiled
def _coefficients(nodes: Vector, c: Vector) -> None:
    for p in range(len(nodes)):
        for k in range(NODES):
            c[p, k] = nodes[p, 0] * TO_COEFFICIENTS[0, k]
        for j in range(1, NODES):
            for k in range(NODES):
                c[p, k] += nodes[p, j] * TO_COEFFICIENTS[j, k]


@compiled
def _reference(z: Vector, places: Vector, column: int, number: float, r: Vector) -> bool:
    """r := the reference at the nodes of all panels so far; whether it is one of the run."""
    if column >= 0:
        _gather(z, column, places, r)
        return True
    for p in range(len(r)):
        for k in range(NODES):
            r[p, k] = number if column == A_NUMBER else 0.0
    return False


@njit(cache=True, error_model="numpy", nogil=True)
def measure(z: Vector, places: Vector, low: Vector, high: Vector, broken: Vector, ranges: Vector,
            whole: Vector, real: Vector, rtol: float, coarse: Vector, out: Vector, least: Vector
            ) -> int:  # fmt: skip
    """out := every criterion of a run with signals `z` (samples, signals); TAKEN, or why not.

    least := what a criterion is at least that was not reached, otherwise NaN.

    COARSE: the panels marked in `coarse` are too long; OTHERWISE: the reference does not rest when
    it should, or there is no number.
    """
    status = TAKEN
    for i in range(len(whole)):
        kind, column, at_rest = whole[i, KIND], whole[i, REFERENCE], whole[i, AT_REST] != 0
        a, b = ranges[i, 0], ranges[i, 1]
        n = b - a
        r, nodes, c = np.empty((b, NODES)), np.empty((n, NODES)), np.empty((n, NODES))
        size = _gather(z, whole[i, OF], places[a:b], nodes)
        target, level = nodes[n - 1, NODES - 1], real[i, LEVEL]
        if column == NONE and kind in (OVERSHOOT, SETTLING):
            column, level = A_NUMBER, target
        moves = _reference(z, places[:b], column, level, r)
        if at_rest and moves and not _at_rest(r, a, whole[i, MOVED] != 0):
            return OTHERWISE
        if column != NONE:
            target = r[b - 1, NODES - 1]
        step = target - nodes[0, 0]
        if at_rest:
            step = z[len(z) - 1, column] - z[0, column] if moves else 0.0
        if not (kind in (RISE, FINAL, ENERGY) or (kind == UNDERSHOOT and not at_rest)):
            for p in range(n):
                for k in range(NODES):
                    nodes[p, k] -= r[a + p, k]
        _coefficients(nodes, c)
        if _unresolved(c, nodes, size, rtol, coarse[a:b]):
            status = COARSE
        if status == TAKEN:
            least[i] = np.nan
            out[i] = _measure(kind, c, nodes, low[a:b], high[a:b], broken[a:b], step, target,
                              at_rest, real[i], least[i : i + 1])  # fmt: skip
            if not np.isfinite(out[i]):
                return OTHERWISE
    return status


@njit(cache=True, error_model="numpy", nogil=True)
def measure_all(z: Vector, tried: Vector, places: Vector, low: Vector, high: Vector,
                broken: Vector, ranges: Vector, whole: Vector, real: Vector, rtol: float,
                coarse: Vector, out: Vector, least: Vector, status: Vector) -> None:  # fmt: skip
    """The same of many runs that share their panels: z is (runs, samples, signals).

    Only those are looked at that are to be tried; the others keep their status.
    """
    for k in range(len(z)):
        if tried[k]:
            status[k] = measure(z[k], places, low, high, broken, ranges, whole, real, rtol,
                                coarse[k], out[k], least[k])  # fmt: skip
