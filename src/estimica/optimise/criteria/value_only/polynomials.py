"""Compiled functions of polynomials in panels: values, roots, extrema, crossings, integrals.

A signal is rows of Chebyshev coefficients, one for each panel. Panels are skipped that a bound of
their polynomial rules out. Compiled callers are cached by their own file: touch quick_measures.py
after a change here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.compiled.llvm.numba import njit
from estimica.optimise.criteria.dense_signal import DERIVATIVE, GAUSS, WEIGHTS
from estimica.optimise.criteria.panels import NODES

Vector = Any
_PLACES = np.cos(np.linspace(np.pi, 0, 33))
_FINE = np.cos(np.outer(np.linspace(np.pi, 0, 33), np.arange(NODES))).T.copy()
_AT_GAUSS = np.cos(np.outer(np.arccos(GAUSS), np.arange(NODES))).T.copy()
_SIGNS = (-1.0) ** np.arange(NODES)
_FLAT = 1e-12

compiled = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


# -- one polynomial --------------------------------------------------------------------------------


@compiled
def _value(c: Vector, x: float) -> float:
    """By Clenshaw's recurrence."""
    a, b = 0.0, 0.0
    for k in range(NODES - 1, 0, -1):
        a, b = 2.0 * x * a - b + c[k], a
    return x * a - b + c[0]


@compiled
def _reach(c: Vector) -> float:
    """How far it can be from its mean coefficient."""
    total = 0.0
    for k in range(1, NODES):
        total += abs(c[k])
    return total


@compiled
def ends(c: Vector) -> tuple[float, float]:
    """Its values at -1 and at 1."""
    low, high = 0.0, 0.0
    for k in range(NODES):
        low += _SIGNS[k] * c[k]
        high += c[k]
    return low, high


@compiled
def rate(c: Vector, d: Vector) -> None:
    """d := the coefficients of the derivative of c."""
    for k in range(NODES):
        total = 0.0
        for j in range(k + 1, NODES):
            total += c[j] * DERIVATIVE[j, k]
        d[k] = total


@compiled
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


@compiled
def _roots(c: Vector, roots: Vector) -> int:
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
            roots[count] = _root(c, _PLACES[j - 1], _PLACES[j], z >= 0)
            count += 1
        before = z
    return count


# -- signals: rows of coefficients -----------------------------------------------------------------


@compiled
def highest(c: Vector, nodes: Vector, s: float) -> float:
    """The greatest of s·z."""
    best = -np.inf
    for p in range(len(c)):
        for k in range(NODES):
            best = max(best, s * nodes[p, k])
    d, x = np.empty(NODES), np.empty(40)
    for p in range(len(c)):
        if s * c[p, 0] + _reach(c[p]) <= best:
            continue
        rate(c[p], d)
        for k in range(_roots(d, x)):
            best = max(best, s * _value(c[p], x[k]))
    return best


@compiled
def _wish(z: float, s: float) -> float:
    """s·z, or |z| where there is no direction."""
    return abs(z) if s == 0.0 else s * z


@compiled
def turn(c: Vector, broken: Vector, s: float) -> float:
    """The greatest wish of a local extremum, kinks and jumps among them; -inf: none."""
    n = len(c)
    rates, x = np.empty((n, NODES)), np.empty(40)
    largest, steepest = 0.0, 0.0
    for p in range(n):
        rate(c[p], rates[p])
        largest = max(largest, abs(c[p, 0]) + _reach(c[p]))
        steepest = max(steepest, abs(rates[p, 0]) + _reach(rates[p]))
    best = -np.inf
    for p in range(n):
        if p + 1 < n:
            left, right = ends(c[p])[1], ends(c[p + 1])[0]
            before, after = ends(rates[p])[1], ends(rates[p + 1])[0]
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


@compiled
def crossing(c: Vector, low: Vector, high: Vector, level: float, last: bool) -> float:
    """The first or last time at which it passes a level; NaN: never."""
    n = len(c)
    own, x = np.empty(NODES), np.empty(40)
    for step in range(n):
        p = n - 1 - step if last else step
        edge = p if last else p - 1  # the boundary that is passed before this panel
        if 0 <= edge < n - 1:
            left, right = ends(c[edge])[1] - level, ends(c[edge + 1])[0] - level
            if np.sign(left) * np.sign(right) < 0:
                return high[edge]
        if abs(c[p, 0] - level) > _reach(c[p]):
            continue
        for k in range(NODES):
            own[k] = c[p, k]
        own[0] -= level
        count = _roots(own, x)
        if count:
            place = x[count - 1] if last else x[0]
            return (low[p] + high[p] + place * (high[p] - low[p])) / 2
    return np.nan


@compiled
def integral(c: Vector, low: Vector, high: Vector, power: int) -> float:
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


@compiled
def size_integral(c: Vector, low: Vector, high: Vector, over_time: bool) -> float:
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
