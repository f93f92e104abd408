"""The root of one equation in one unknown that is nearest to its guess, as `roots/scalar.py` finds
it, where that is certain: no edge of a domain, and no dip through zero, is nearer."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.linear_algebra import copy
from estimica.simulate.engine.units import engine_function, part, reals_at
from estimica.simulate.starts import layout as at
from estimica.simulate.starts.newton import is_near_zero, true_residuals

Vector = Any
#: what Newton's method and the search between two points may differ by
ROUNDING = 1e-9
#: brackets and dips that are looked into in any case by the other search
LOOKED_AT = 8
#: as SciPy's brentq and bounded minimisation are asked there
RTOL, XTOL, BRENT_STEPS = 8.9e-16, 1e-300, 500
DIP_TOLERANCE, DIP_STEPS = 1e-5, 500


@engine_function
def value_at(iw: Vector, row: int, column: int, x: float) -> float:
    """The true residual, NaN outside of its domain; W_TRIAL has the other unknowns."""
    reals_at(iw[at.W_TRIAL])[column] = x
    true_residuals(iw, iw[at.W_TRIAL])
    E, size = reals_at(iw[at.W_E])[row], reals_at(iw[at.W_SIZE])[row]
    return E if np.isfinite(E) and size >= 0.0 else np.nan


@engine_function
def point_of(iw: Vector, column: int, centre: int, k: int) -> float:
    """Point k of those around a centre, or, behind the last centre, between min and max."""
    if centre == at.CENTRES:
        return reals_at(iw[at.W_BETWEEN])[column * at.BETWEEN + k]
    middle = reals_at(iw[at.W_CENTRES])[centre]
    away, scale = reals_at(iw[at.W_AWAY]), reals_at(iw[at.W_SIZES])[column]
    if k < at.AWAY:
        return middle - scale * away[at.AWAY - 1 - k]
    return middle if k == at.AWAY else middle + scale * away[k - at.AWAY - 1]


@engine_function
def points(iw: Vector, column: int, guess: float) -> int:
    """All points in ascending order, each once, to W_POINTS; how many."""
    x, cursor = reals_at(iw[at.W_POINTS]), part(iw, iw[at.I_CURSOR])
    centres, away = reals_at(iw[at.W_CENTRES]), 2 * at.AWAY + 1
    low, high = reals_at(iw[at.W_LOW])[column], reals_at(iw[at.W_HIGH])[column]
    centres[0], centres[1], centres[2], centres[3] = guess, 0.0, low, high
    for s in range(at.CENTRES):
        cursor[s] = 0 if np.isfinite(centres[s]) else away
    cursor[at.CENTRES] = 0 if np.isfinite(low) and np.isfinite(high) else at.BETWEEN
    count = 0
    while True:
        best, least = -1, np.inf
        for s in range(at.CENTRES + 1):
            if cursor[s] < (away if s < at.CENTRES else at.BETWEEN):
                value = point_of(iw, column, s, cursor[s])
                if value < least:
                    best, least = s, value
        if best < 0:
            return count
        cursor[best] += 1
        if count == 0 or least > x[count - 1]:
            x[count] = least
            count += 1


@engine_function
def brent(iw: Vector, row: int, column: int, low: float, high: float) -> float:
    """The root between two points of different sign (Brent 1973, as SciPy writes it); NaN where it
    is not found."""
    before, now, block = low, high, 0.0
    f_before, f_now = value_at(iw, row, column, low), value_at(iw, row, column, high)
    f_block, step_before, step = 0.0, 0.0, 0.0
    for _ in range(BRENT_STEPS):
        if not np.isfinite(f_now):
            return np.nan
        if f_before != 0.0 and f_now != 0.0 and (f_before < 0.0) != (f_now < 0.0):
            block, f_block = before, f_before
            step_before = step = now - before
        if abs(f_block) < abs(f_now):
            before, now, block = now, block, now
            f_before, f_now, f_block = f_now, f_block, f_now
        delta = (XTOL + RTOL * abs(now)) / 2
        half = (block - now) / 2
        if f_now == 0.0 or abs(half) < delta:
            return now
        trial = np.inf
        if abs(step_before) > delta and abs(f_now) < abs(f_before):
            if before == block:
                trial = -f_now * (now - before) / (f_now - f_before)
            else:
                d_before = (f_before - f_now) / (before - now)
                d_block = (f_block - f_now) / (block - now)
                trial = (
                    -f_now
                    * (f_block * d_block - f_before * d_before)
                    / (d_block * d_before * (f_block - f_before))
                )
        if 2 * abs(trial) < min(abs(step_before), 3 * abs(half) - delta):
            step_before, step = step, trial
        else:
            step_before = step = half
        before, f_before = now, f_now
        now += step if abs(step) > delta else (delta if half > 0 else -delta)
        f_now = value_at(iw, row, column, now)
    return np.nan


@engine_function
def height(iw: Vector, row: int, column: int, x: float, side: float) -> float:
    """How far the curve is from zero on one of its sides; infinite outside of its domain."""
    y = side * value_at(iw, row, column, x)
    return y if np.isfinite(y) else np.inf


@engine_function
def dips_through(iw: Vector, row: int, column: int, a: float, b: float, side: float) -> bool:
    """Whether the curve reaches zero between two points of one side, as far as Brent's bounded
    minimisation sees (Brent 1973, as SciPy writes it)."""
    share, root_eps = 0.5 * (3.0 - np.sqrt(5.0)), np.sqrt(2.2e-16)
    best = third = second = a + share * (b - a)
    least = height(iw, row, column, best, side)
    f_third = f_second = least
    step = span = 0.0
    for _ in range(DIP_STEPS - 1):
        middle = 0.5 * (a + b)
        least_step = root_eps * abs(best) + DIP_TOLERANCE / 3.0
        if least < 0.0 or abs(best - middle) <= 2.0 * least_step - 0.5 * (b - a):
            break
        golden = True
        if abs(span) > least_step:
            r = (best - second) * (least - f_third)
            q = (best - third) * (least - f_second)
            p = (best - third) * q - (best - second) * r
            q = 2.0 * (q - r)
            p = -p if q > 0.0 else p
            q, r, span = abs(q), span, step
            if abs(p) < abs(0.5 * q * r) and p > q * (a - best) and p < q * (b - best):
                golden = False
                step = p / q
                x = best + step
                if x - a < 2.0 * least_step or b - x < 2.0 * least_step:
                    step = least_step if middle >= best else -least_step
        if golden:
            span = a - best if best >= middle else b - best
            step = share * span
        x = best + (max(step, least_step) if step >= 0.0 else min(step, -least_step))
        found = height(iw, row, column, x, side)
        if found <= least:
            a, b = (best, b) if x >= best else (a, best)
            third, f_third, second, f_second = second, f_second, best, least
            best, least = x, found
        else:
            a, b = (x, b) if x < best else (a, x)
            if found <= f_second or second == best:
                third, f_third, second, f_second = second, f_second, x, found
            elif found <= f_third or third in (best, second):
                third, f_third = x, found
    return bool(least < 0.0)


@engine_function
def sampled(iw: Vector, row: int, column: int, first: int, last: int) -> bool:
    """Values at the points first ... last, to W_VALUES_AT; whether all are finite and no dip
    between them goes through zero."""
    x, values = reals_at(iw[at.W_POINTS]), reals_at(iw[at.W_VALUES_AT])
    for k in range(first, last + 1):
        values[k] = value_at(iw, row, column, x[k])
        if not np.isfinite(values[k]):
            return False
    for k in range(first + 1, last):
        v, left, right = values[k], values[k - 1], values[k + 1]
        same = (v > 0.0 and left > 0.0 and right > 0.0) or (v < 0.0 and left < 0.0 and right < 0.0)
        if same and abs(v) < abs(left) and abs(v) <= abs(right):
            side = 1.0 if v > 0.0 else -1.0
            if dips_through(iw, row, column, x[k - 1], x[k + 1], side):
                return False
    return True


@engine_function
def nearest(iw: Vector, row: int, column: int, first: int, last: int, guess: float) -> float:
    """The root nearest to the guess between the points first ... last; of two the larger. NaN where
    there is none, or where a bracket cannot be followed."""
    x, values = reals_at(iw[at.W_POINTS]), reals_at(iw[at.W_VALUES_AT])
    best, looked = np.nan, 0
    for k in range(first, last + 1):
        root = x[k]
        if values[k] != 0.0:
            if k == last or not values[k] * np.sign(values[k + 1]) < 0.0:
                continue
            looked += 1
            if looked > LOOKED_AT:
                return np.nan
            root = brent(iw, row, column, x[k], x[k + 1])
            if np.isnan(root):
                return np.nan
        value_at(iw, row, column, root)
        if is_near_zero(reals_at(iw[at.W_E])[row], reals_at(iw[at.W_SIZE])[row]):
            away, known = abs(root - guess), abs(best - guess)
            if np.isnan(best) or away < known or (away == known and root > best):
                best = root
    return best


@engine_function
def single_root(iw: Vector, row: int, column: int) -> bool:
    """Puts the root nearest to W_NOW there, and whether it is known to be that: no farther than the
    one that Newton's method has found, W_SOLVED, and all between is in sight."""
    now = reals_at(iw[at.W_NOW])
    guess = now[column]
    reach = (1.0 + ROUNDING) * abs(reals_at(iw[at.W_SOLVED])[column] - guess)
    copy(iw[at.N], reals_at(iw[at.W_TRIAL]), now)
    count, x = points(iw, column, guess), reals_at(iw[at.W_POINTS])
    first, last = 0, count - 1
    # two more on each side: a dip there may reach inside
    while first + 2 < count and x[first + 2] < guess - reach:
        first += 1
    while last >= 2 and x[last - 2] > guess + reach:
        last -= 1
    if not sampled(iw, row, column, first, last):
        return False
    root = nearest(iw, row, column, first, last, guess)
    if not abs(root - guess) <= reach:
        return False
    now[column] = root
    # without a start value positive roots may come first, wherever they are
    return bool(root >= 0.0 or part(iw, iw[at.I_GIVEN])[column])
