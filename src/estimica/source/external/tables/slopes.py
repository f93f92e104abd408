"""Slopes of cubic splines at their points, from the secants between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.vectorised import ArrayProgram

Vector = NDArray[np.float64]

_HALF, _TWO, _THREE = ex.const(0.5), ex.const(2.0), ex.const(3.0)
_FOUR = tuple(ex.name(f"${k}") for k in range(4))


def akima(secants: Sequence[Expression], *, modified: bool) -> list[Expression]:
    """Akima's weighted means of neighbouring secants (J. ACM 17(4), 1970), perhaps modified."""
    first, last = secants[:2], secants[-2:]
    d = [
        _extended(first[0], first[1], 3.0),
        _extended(first[0], first[1], 2.0),
        *secants,
        _extended(last[1], last[0], 2.0),
        _extended(last[1], last[0], 3.0),
    ]
    return [_akima_mean(*d[i : i + 4], modified=modified) for i in range(len(secants) + 1)]


def _extended(a: Expression, b: Expression, k: float) -> Expression:
    """k·a - (k-1)·b: the secants beyond the ends lie on a line."""
    return ex.sub(ex.mul(ex.const(k), a), ex.mul(ex.const(k - 1.0), b))


def _akima_mean(
    a: Expression, b: Expression, c: Expression, d: Expression, *, modified: bool
) -> Expression:
    left = ex.call("abs", ex.sub(b, a))
    right = ex.call("abs", ex.sub(d, c))
    if modified:
        left = ex.add(left, ex.mul(_HALF, ex.call("abs", ex.add(b, a))))
        right = ex.add(right, ex.mul(_HALF, ex.call("abs", ex.add(d, c))))
    weights = ex.add(left, right)
    mean = ex.div(ex.add(ex.mul(right, b), ex.mul(left, c)), weights)
    level = ex.ZERO if modified else ex.mul(_HALF, ex.add(b, c))
    return ex.conditional(ex.relation("gt", weights, ex.ZERO), mean, level)


def monotone(
    secants: Sequence[Expression],
    widths: Sequence[Expression],
    rule: Callable[[Expression, Expression, Expression, Expression], Expression],
) -> list[Expression]:
    """Slopes that never overshoot: 0 where the secants change their sign, else by `rule`."""
    inner = []
    for d0, d1, w0, w1 in zip(secants, secants[1:], widths, widths[1:], strict=False):
        same_sign = ex.relation("gt", ex.mul(d0, d1), ex.ZERO)
        inner.append(ex.conditional(same_sign, rule(d0, d1, w0, w1), ex.ZERO))
    return [secants[0], *inner, secants[-1]]


def fritsch_butland(d0: Expression, d1: Expression, w0: Expression, w1: Expression) -> Expression:
    """A weighted harmonic mean of the secants (Fritsch and Butland, 1984)."""
    below = ex.add(
        ex.div(ex.add(w0, ex.mul(_TWO, w1)), d0), ex.div(ex.add(w1, ex.mul(_TWO, w0)), d1)
    )
    return ex.div(ex.mul(_THREE, ex.add(w0, w1)), below)


def steffen(d0: Expression, d1: Expression, w0: Expression, w1: Expression) -> Expression:
    """The parabola's slope, limited to twice the smaller secant (Steffen, 1990)."""
    parabola = ex.div(ex.add(ex.mul(d0, w1), ex.mul(d1, w0)), ex.add(w0, w1))
    smaller = ex.call("min", ex.call("abs", d0), ex.call("abs", d1))
    limit = ex.mul(_TWO, smaller)
    limited = ex.conditional(ex.relation("gt", d0, ex.ZERO), limit, ex.neg(limit))
    steep = ex.relation("gt", ex.call("abs", parabola), limit)
    return ex.conditional(steep, limited, parabola)


# --- the same for columns of numbers, which may be long ---


def akima_numbers(secants: Vector, *, modified: bool) -> Vector:
    """`akima` of numbers."""
    first, last = secants[:2], secants[-2:]
    before = [3.0 * first[0] - 2.0 * first[1], 2.0 * first[0] - first[1]]
    behind = [2.0 * last[1] - last[0], 3.0 * last[1] - 2.0 * last[0]]
    d = np.concatenate([before, secants, behind])
    mean = _akima_mean(*_FOUR, modified=modified)
    return _applied(mean, [d[k : len(d) - 3 + k] for k in range(4)])


def monotone_numbers(
    secants: Vector,
    widths: Vector,
    rule: Callable[[Expression, Expression, Expression, Expression], Expression],
) -> Vector:
    """`monotone` of numbers."""
    d0, d1, w0, w1 = secants[:-1], secants[1:], widths[:-1], widths[1:]
    inner = np.where(d0 * d1 > 0.0, _applied(rule(*_FOUR), [d0, d1, w0, w1]), 0.0)
    return np.concatenate([secants[:1], inner, secants[-1:]])


def _applied(rule: Expression, columns: Sequence[Vector]) -> Vector:
    result = np.empty((1, len(columns[0])))
    ArrayProgram([rule], _FOUR, [True] * len(_FOUR)).run(list(columns), result)
    return result.ravel()
