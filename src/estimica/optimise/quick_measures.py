"""Values of criteria without gradients, all of one run in one call of compiled code.

The same measures as in trajectory_measures, on the same kind of panels. Panels are skipped that a
bound of their polynomial rules out, so that little more than the nodes is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from estimica.optimise.dense_signal import DERIVATIVE, GAUSS, WEIGHTS
from estimica.optimise.panels import NODES, TO_COEFFICIENTS

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
TAKEN, COARSE, OTHERWISE = range(3)

_PLACES = np.cos(np.linspace(np.pi, 0, 33))
_FINE = np.cos(np.outer(np.linspace(np.pi, 0, 33), np.arange(NODES))).T.copy()
_AT_GAUSS = np.cos(np.outer(np.arccos(GAUSS), np.arange(NODES))).T.copy()
_SIGNS = (-1.0) ** np.arange(NODES)
_FLAT = 1e-12
_STILL = 1e-9  # of its range: a reference that moves less is at rest
_MOVING = 1e-5  # and one that moves more is not

_inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


# -- one polynomial --------------------------------------------------------------------------------


@_inner
def _value(c: Vector, x: float) -> float:
    """By Clenshaw's recurrence."""
    a, b = 0.0, 0.0
    for k in range(NODES - 1, 0, -1):
        a, b = 2.0 * x * a - b + c[k], a
    return x * a - b + c[0]


@_inner
def _reach(c: Vector) -> float:
    """How far it can be from its mean coefficient."""
    total = 0.0
    for k in range(1, NODES):
        total += abs(c[k])
    return total


@_inner
def _ends(c: Vector) -> tuple[float, float]:
    """Its values at -1 and at 1."""
    low, high = 0.0, 0.0
    for k in range(NODES):
        low += _SIGNS[k] * c[k]
        high += c[k]
    return low, high


@_inner
def _rate(c: Vector, d: Vector) -> None:
    """d := the coefficients of the derivative of c."""
    for k in range(NODES):
        total = 0.0
        for j in range(k + 1, NODES):
            total += c[j] * DERIVATIVE[j, k]
        d[k] = total


@_inner
def _root(c: Vector, low: float, high: float, rising: bool) -> float:
    """The root in a bracket, by regula falsi (Illinois)."""
    a, b = _value(c, low), _value(c, high)
    side = 0
    for _ in range(100):
        x = (low * b - high * a) / (b - a) if b != a else (low + high) / 2
        if not low < x < high:
            x = (low + high) / 2
        z = _value(c, x)
        if (z > 0) == rising:
            if high - x < 1e-14:
                return x
            high, b = x, z
            if side == 1:
                a /= 2
            side = 1
        else:
            if x - low < 1e-14:
                return x
            low, a = x, z
            if side == -1:
                b /= 2
            side = -1
        if z == 0.0 or high - low < 1e-14:
            return x
    return (low + high) / 2


@_inner
def _roots(c: Vector, found: Vector) -> int:
    """found := where it changes its sign; how many there are."""
    if abs(c[0]) > _reach(c):
        return 0
    count = 0
    before = 0.0
    for j in range(len(_PLACES)):
        z = 0.0
        for k in range(NODES):
            z += c[k] * _FINE[k, j]
        if j and (z >= 0) != (before >= 0):
            found[count] = _root(c, _PLACES[j - 1], _PLACES[j], z >= 0)
            count += 1
        before = z
    return count


# -- signals: rows of coefficients -----------------------------------------------------------------


@_inner
def _highest(c: Vector, nodes: Vector, s: float) -> float:
    """The greatest of s·z."""
    best = -np.inf
    for p in range(len(c)):
        for k in range(NODES):
            best = max(best, s * nodes[p, k])
    d, x = np.empty(NODES), np.empty(40)
    for p in range(len(c)):
        if s * c[p, 0] + _reach(c[p]) <= best:
            continue
        _rate(c[p], d)
        for k in range(_roots(d, x)):
            best = max(best, s * _value(c[p], x[k]))
    return best


@_inner
def _wish(z: float, s: float) -> float:
    """s·z, or |z| where there is no direction."""
    return abs(z) if s == 0.0 else s * z


@_inner
def _turn(c: Vector, broken: Vector, s: float) -> float:
    """The greatest wish of a local extremum, kinks and jumps among them; -inf: none."""
    n = len(c)
    rates, x = np.empty((n, NODES)), np.empty(40)
    largest, steepest = 0.0, 0.0
    for p in range(n):
        _rate(c[p], rates[p])
        largest = max(largest, abs(c[p, 0]) + _reach(c[p]))
        steepest = max(steepest, abs(rates[p, 0]) + _reach(rates[p]))
    best = -np.inf
    for p in range(n):
        if p + 1 < n:
            left, right = _ends(c[p])[1], _ends(c[p + 1])[0]
            before, after = _ends(rates[p])[1], _ends(rates[p + 1])[0]
            jump = broken[p] and abs(right - left) > 1e-9 * largest
            if jump or np.sign(before) * np.sign(after) < 0:
                best = max(best, _wish(left, s))
            if jump:
                best = max(best, _wish(right, s))
        bound = _wish(c[p, 0], s) + _reach(c[p])
        flat = abs(rates[p, 0]) + _reach(rates[p]) <= _FLAT * steepest
        if flat or bound <= best:
            continue
        for k in range(_roots(rates[p], x)):
            best = max(best, _wish(_value(c[p], x[k]), s))
    return best


@_inner
def _crossing(c: Vector, low: Vector, high: Vector, level: float, last: bool) -> float:
    """The first or last time at which it passes a level; NaN: never."""
    n = len(c)
    own, x = np.empty(NODES), np.empty(40)
    for step in range(n):
        p = n - 1 - step if last else step
        edge = p if last else p - 1  # the boundary that is passed before this panel
        if 0 <= edge < n - 1:
            left, right = _ends(c[edge])[1] - level, _ends(c[edge + 1])[0] - level
            if np.sign(left) * np.sign(right) < 0:
                return high[edge]
        if abs(c[p, 0] - level) > _reach(c[p]):
            continue
        own[:] = c[p]
        own[0] -= level
        count = _roots(own, x)
        if count:
            place = x[count - 1] if last else x[0]
            return (low[p] + high[p] + place * (high[p] - low[p])) / 2
    return np.nan


@_inner
def _integral(c: Vector, low: Vector, high: Vector, power: int) -> float:
    """∫z dt or ∫z² dt."""
    total = 0.0
    for p in range(len(c)):
        own = 0.0
        for g in range(len(GAUSS)):
            z = 0.0
            for k in range(NODES):
                z += c[p, k] * _AT_GAUSS[k, g]
            own += WEIGHTS[g] * (z * z if power == 2 else z)
        total += own * (high[p] - low[p]) / 2
    return total


@_inner
def _size_integral(c: Vector, low: Vector, high: Vector, over_time: bool) -> float:
    """∫|z| dt, or ∫(t − begin)·|z| dt."""
    total, x = 0.0, np.empty(40)
    for p in range(len(c)):
        count = _roots(c[p], x)
        begin = -1.0
        for k in range(count + 1):
            end = x[k] if k < count else 1.0
            half, middle, own = (end - begin) / 2, (end + begin) / 2, 0.0
            for g in range(len(GAUSS)):
                place = middle + half * GAUSS[g]
                t = (low[p] + high[p] + place * (high[p] - low[p])) / 2 - low[0]
                own += WEIGHTS[g] * abs(_value(c[p], place)) * (t if over_time else 1.0)
            total += own * half * (high[p] - low[p]) / 2
            begin = end
    return total


# -- criteria --------------------------------------------------------------------------------------


@_inner
def _rise(y: Vector, nodes: Vector, low: Vector, high: Vector, target: float, a: float, b: float
          ) -> float:  # fmt: skip
    first = nodes[0, 0]
    step = target - first
    if step == 0.0:
        return 0.0
    s = 1.0 if step > 0 else -1.0
    begin = end = low[0]
    if a > 0.0:
        begin = _crossing(y, low, high, first + a * step, False)
    end = _crossing(y, low, high, first + b * step, False)
    if np.isnan(begin):
        begin = low[0]
    if not np.isnan(end):
        return end - begin
    missing = (first + b * step - s * _highest(y, nodes, s)) / step
    return high[-1] - begin + missing * (high[-1] - low[0])


@_inner
def _settling(e: Vector, low: Vector, high: Vector, band: float) -> float:
    length = high[-1] - low[0]
    outside = abs(_ends(e[-1])[1]) - band
    if outside > 0:
        return length + (outside / band if band else outside) * length
    above, below = _crossing(e, low, high, band, True), _crossing(e, low, high, -band, True)
    if np.isnan(above):
        above = low[0]
    if np.isnan(below):
        below = low[0]
    return max(above, below) - low[0]


@_inner
def _overshoot(e: Vector, nodes: Vector, broken: Vector, s: float, at_rest: bool) -> float:
    if not at_rest:
        return max(0.0, _highest(e, nodes, s))
    found = max(0.0, _turn(e, broken, 0.0))
    d = np.empty(NODES)
    _rate(e[-1], d)
    last = _ends(e[-1])[1]
    return max(found, abs(last)) if last * _ends(d)[1] > 0 else found


@_inner
def _measure(kind: int, y: Vector, e: Vector, ny: Vector, ne: Vector, low: Vector, high: Vector,
             broken: Vector, step: float, target: float, has: bool, whole: Vector, real: Vector
             ) -> float:  # fmt: skip
    """One criterion; NaN where it cannot be taken."""
    s = -1.0 if step < 0 else 1.0
    at_rest = whole[AT_REST] != 0
    if kind in (OVERSHOOT, SETTLING) and not has:
        e = y.copy()
        e[:, 0] -= target
        ne = ny - target
    if kind == OVERSHOOT:
        return _overshoot(e, ne, broken, s, at_rest)
    if kind == UNDERSHOOT:
        if at_rest:
            return max(0.0, _turn(e, broken, -s))
        return max(0.0, s * ny[0, 0] + _highest(y, ny, -s))
    if kind == RISE:
        return _rise(y, ny, low, high, target, real[LOW], real[HIGH])
    if kind == SETTLING:
        band = real[BAND]
        if np.isnan(band):
            if step == 0.0:
                return np.nan
            band = abs(step) * real[TOLERANCE]
        return _settling(e, low, high, band)
    if kind == PEAK:
        return max(_highest(e, ne, 1.0), _highest(e, ne, -1.0))
    if kind == FINAL:
        return ny[-1, -1]
    if kind == STEADY:
        return abs(ne[-1, -1])
    if kind == MAXIMUM:
        return _highest(e, ne, 1.0)
    if kind == MINIMUM:
        return -_highest(e, ne, -1.0)
    if kind in (IAE, ITAE):
        return _size_integral(e, low, high, kind == ITAE)
    if kind == ENERGY:
        return _integral(y, low, high, 2)
    if kind in (INTEGRAL, MEAN):
        total = _integral(e, low, high, 1)
        return total / (high[-1] - low[0]) if kind == MEAN else total
    square = _integral(e, low, high, 2)
    return np.sqrt(max(0.0, square) / (high[-1] - low[0])) if kind == RMS else square


@_inner
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


@_inner
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


@_inner
def _gather(z: Vector, column: int, places: Vector, out: Vector) -> float:
    """Values at the nodes; the largest size comes back."""
    size = 0.0
    for p in range(len(places)):
        for k in range(NODES):
            out[p, k] = z[places[p, k], column]
            size = max(size, abs(out[p, k]))
    return size


@_inner
def _coefficients(nodes: Vector, c: Vector) -> None:
    for p in range(len(nodes)):
        for k in range(NODES):
            total = 0.0
            for j in range(NODES):
                total += nodes[p, j] * TO_COEFFICIENTS[j, k]
            c[p, k] = total


@njit(cache=True, error_model="numpy", nogil=True)
def measure(z: Vector, places: Vector, low: Vector, high: Vector, broken: Vector, ranges: Vector,
            whole: Vector, real: Vector, rtol: float, coarse: Vector, out: Vector
            ) -> int:  # fmt: skip
    """out := every criterion of a run with signals `z` (samples, signals); TAKEN, or why not.

    COARSE: the panels marked in `coarse` are too long; OTHERWISE: the reference does not rest when
    it should, or there is no number.
    """
    status = TAKEN
    for i in range(len(whole)):
        kind, reference = whole[i, KIND], whole[i, REFERENCE]
        a, b = ranges[i, 0], ranges[i, 1]
        n, has = b - a, reference != NONE
        ny, y = np.empty((n, NODES)), np.empty((n, NODES))
        size = _gather(z, whole[i, OF], places[a:b], ny)
        _coefficients(ny, y)
        ne, e = ny, y
        step, target = ny[n - 1, NODES - 1] - ny[0, 0], ny[n - 1, NODES - 1]
        if reference == A_NUMBER:
            target = real[i, LEVEL]
            step = 0.0 if whole[i, AT_REST] else target - ny[0, 0]
            ne, e = ny - target, y.copy()
            e[:, 0] -= target
        elif has:
            r = np.empty((b, NODES))
            _gather(z, reference, places[:b], r)
            if whole[i, AT_REST] and not _at_rest(r, a, whole[i, MOVED] != 0):
                return OTHERWISE
            target = r[b - 1, NODES - 1]
            if whole[i, AT_REST]:
                step = z[len(z) - 1, reference] - z[0, reference]
            else:
                step = target - ny[0, 0]
            ne, e = ny - r[a:], np.empty((n, NODES))
            _coefficients(ne, e)
        own = kind == RISE or kind == FINAL or kind == ENERGY or (
            kind == UNDERSHOOT and whole[i, AT_REST] == 0)  # fmt: skip
        if _unresolved(y if own else e, ny if own else ne, size, rtol, coarse[a:b]):
            status = COARSE
        if status == TAKEN:
            out[i] = _measure(kind, y, e, ny, ne, low[a:b], high[a:b], broken[a:b], step, target,
                              has, whole[i], real[i])  # fmt: skip
            if not np.isfinite(out[i]):
                return OTHERWISE
    return status
