"""Intervals: what an expression can be worth while its names lie within bounds.

Every value that the expression takes lies in the interval that is found, which may be too wide but
is never too narrow: rounding goes outwards, and what is not known here is everything.

R. E. Moore, R. B. Kearfott and M. J. Cloud, Introduction to Interval Analysis, SIAM, 2009.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

from estimica.flat.expression import RELATIONS, Expression, walk

#: (least, largest); the least is above the largest where there is no value at all
Interval = tuple[float, float]
EVERYTHING: Interval = (-math.inf, math.inf)
NOTHING: Interval = (math.inf, -math.inf)
TRUTH: Interval = (0.0, 1.0)
#: units in the last place by which results are widened: elementary functions of the usual
#: libraries are right to within one or two
ULPS = 4


def value_range(expression: Expression, names: Mapping[str, Interval]) -> Interval:
    """The interval that holds all values of an expression; names that are not given may be
    anything."""
    memo: dict[Expression, Interval] = {}
    for e in walk(expression):
        memo[e] = _leaf(e, names) if not e.operands else _node(e, [memo[a] for a in e.operands])
    return memo[expression]


def _leaf(e: Expression, names: Mapping[str, Interval]) -> Interval:
    if e.op == "const":
        return e.value, e.value
    return names.get(e.target, EVERYTHING) if e.op == "name" else EVERYTHING


def _node(e: Expression, arguments: list[Interval]) -> Interval:
    if e.op in RELATIONS or e.op in ("and", "or", "not"):
        return TRUTH
    if e.op == "if":
        return _either(*arguments[1:])
    if any(low > high for low, high in arguments):
        return NOTHING
    if e.op == "pow":
        return _power(*arguments)
    rule = _RULES.get(e.op)
    return EVERYTHING if rule is None else rule(*arguments)


def _either(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _widened(*values: float) -> Interval:
    """The interval of values, rounded outwards; what is not a number may be anything."""
    if any(math.isnan(v) for v in values):
        return EVERYTHING
    return _down(min(values)), _up(max(values))


def _down(value: float) -> float:
    """A little below; what is beyond all numbers is at least the largest."""
    return value - ULPS * math.ulp(value) if value < math.inf else sys.float_info.max


def _up(value: float) -> float:
    return -_down(-value)


def _add(a: Interval, b: Interval) -> Interval:
    return _widened(a[0] + b[0], a[1] + b[1])


def _neg(a: Interval) -> Interval:
    return -a[1], -a[0]


def _sub(a: Interval, b: Interval) -> Interval:
    return _add(a, _neg(b))


def _mul(a: Interval, b: Interval) -> Interval:
    # a bound of zero times an infinite one: the values themselves are finite, their product zero
    return _widened(*(0.0 if 0.0 in (x, y) else x * y for x in a for y in b))


def _div(a: Interval, b: Interval) -> Interval:
    low, high = b
    if low <= 0.0 <= high:
        if low == high:
            return NOTHING
        if low == 0.0:
            return _mul(a, (_down(1 / high), math.inf))
        if high == 0.0:
            return _mul(a, (-math.inf, _up(1 / low)))
        return EVERYTHING
    return _mul(a, _widened(1 / low, 1 / high))


def _power(a: Interval, b: Interval) -> Interval:
    if b[0] == b[1] and float(b[0]).is_integer() and abs(b[0]) <= 64:
        return _whole_power(a, int(b[0]))
    base = max(a[0], 0.0), a[1]  # of a negative number there is no such power
    if base[0] > base[1]:
        return NOTHING
    return _exp(_mul(b, _log(base)))


def _whole_power(a: Interval, n: int) -> Interval:
    if n < 0:
        return _div((1.0, 1.0), _whole_power(a, -n))
    if n == 0:
        return 1.0, 1.0
    low, high = _pow(a[0], n), _pow(a[1], n)
    if n % 2:
        return _widened(low, high)
    largest = _up(max(low, high))
    return (0.0, largest) if a[0] <= 0.0 <= a[1] else (max(_down(min(low, high)), 0.0), largest)


def _pow(x: float, n: int) -> float:
    try:
        return float(x**n)
    except OverflowError:
        return math.inf if x > 0 or n % 2 == 0 else -math.inf


def _rising(
    function: Callable[[float], float], low: float = -math.inf, high: float = math.inf
) -> Callable[[Interval], Interval]:
    """A function that rises, and is defined between `low` and `high`."""

    def rule(a: Interval) -> Interval:
        begin, end = max(a[0], low), min(a[1], high)
        if begin > end:
            return NOTHING
        return _widened(function(begin), function(end))

    return rule


def _exp_value(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log_value(x: float) -> float:
    return -math.inf if x == 0.0 else math.log(x)


def _exp(a: Interval) -> Interval:
    low, high = _rising(_exp_value)(a)
    return max(low, 0.0), high


_log = _rising(_log_value, 0.0)


def _abs(a: Interval) -> Interval:
    size = abs(a[0]), abs(a[1])
    return (0.0 if a[0] <= 0.0 <= a[1] else min(size)), max(size)


def _sqrt(a: Interval) -> Interval:
    low, high = _rising(math.sqrt, 0.0)(a)
    return (max(low, 0.0), high) if low <= high else NOTHING


def _wave(a: Interval) -> Interval:
    return -1.0, 1.0


_RULES: dict[str, Callable[..., Interval]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "abs": _abs,
    "sqrt": _sqrt,
    "exp": _exp,
    "log": _log,
    "log10": _rising(lambda x: -math.inf if x == 0.0 else math.log10(x), 0.0),
    "atan": _rising(math.atan),
    "tanh": _rising(math.tanh),
    "asin": _rising(math.asin, -1.0, 1.0),
    "sin": _wave,
    "cos": _wave,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "noEvent": lambda a: a,
    "sign": lambda a: (-1.0, 1.0),
    "floor": lambda a: (a[0] - 1.0, a[1]),
    "ceil": lambda a: (a[0], a[1] + 1.0),
}
