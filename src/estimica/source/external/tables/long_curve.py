"""A curve through many points that are numbers: a function that searches its piece.

Written out, the weather of a year would be millions of nodes. Here all points stand in arrays of
the function, a call halves the range of pieces until one is left, and the derivative is that of the
piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    Choice,
    FlatFunction,
    Loop,
    Statement,
    flat_function,
    invoke,
)
from estimica.source.external.tables.points import Curve, Extrapolation, Smoothness
from estimica.source.external.tables.slopes import (
    akima_numbers,
    fritsch_butland,
    monotone_numbers,
    steffen,
)

Vector = NDArray[np.float64]

_HALF, _TWO, _THREE = ex.const(0.5), ex.const(2.0), ex.const(3.0)
_U, _KEY, _LOW, _HIGH, _MIDDLE = (f"${n}" for n in ("u", "key", "low", "high", "middle"))
_HELD, _WIDTH, _SECANT, _V, _Y = (f"${n}" for n in ("held", "width", "secant", "v", "y"))
#: arrays whose nodes are kept at hand: the places of a table serve all its columns
_ARRAYS = 8


@dataclass(frozen=True, slots=True, eq=False)
class LongLines:
    """Lines: piece k is values[k] + slopes[k]·(u - origins[k]).

    It holds from begins[k] on, up to begins[k+1]; the first one also before its begin.
    """

    begins: Vector
    origins: Vector
    values: Vector
    slopes: Vector
    jumps: int = 0  # points that stand there twice

    def value(self, u: Expression) -> Expression:
        """The curve at `u`."""
        return invoke(self._function((_U,), _U), [u])[0]

    def value_of(self, u: Expression, key: Expression) -> Expression:
        """The piece that holds at `key`, at `u`."""
        return invoke(self._function((_U, _KEY), _KEY), [u, key])[0]

    def ending(self, last: float) -> LongLines:
        """The same with pieces that are chosen by where they end, be that a little off.

        The last one ends at `last`.
        """
        ends = np.append(self.begins[1:], last)
        middles = 0.5 * (ends[:-1] + ends[1:])
        return replace(self, begins=np.append(self.begins[:1], middles))

    def _function(self, inputs: tuple[str, ...], key: str) -> FlatFunction:
        low = ex.name(_LOW)
        y = _element(low, self.values)
        rises = bool(self.slopes.any())
        if rises:
            along = ex.sub(ex.name(_U), _element(low, self.origins))
            y = ex.add(y, ex.mul(_element(low, self.slopes), along))
        return _function(self.begins, inputs, key, [Assign((_Y,), (y,))], rises=rises)


@dataclass(frozen=True, slots=True, eq=False)
class LongSpline:
    """Cubic between the points, with these slopes at them."""

    xs: Vector
    ys: Vector
    slopes: Vector
    extrapolation: Extrapolation
    jumps: int = 0

    def value(self, u: Expression) -> Expression:
        """The curve at `u`."""
        low = ex.name(_LOW)
        above = ex.add(low, ex.ONE)
        x, width, secant, v = (ex.name(n) for n in (_HELD, _WIDTH, _SECANT, _V))
        y0, y1 = _element(low, self.ys), _element(above, self.ys)
        left, right = _element(low, self.slopes), _element(above, self.slopes)
        quadratic = ex.sub(ex.sub(ex.mul(_THREE, secant), ex.mul(_TWO, left)), right)
        cubic = ex.mul(ex.sub(ex.add(left, right), ex.mul(_TWO, secant)), v)
        inner = ex.add(left, ex.mul(ex.add(quadratic, cubic), v))
        y = ex.add(ex.add(y0, ex.mul(ex.mul(inner, v), width)), self._beyond(x))
        x0 = _element(low, self.xs)
        body = [
            Assign((_WIDTH,), (ex.sub(_element(above, self.xs), x0),)),
            Assign((_SECANT,), (ex.div(ex.sub(y1, y0), width),)),
            Assign((_V,), (ex.div(ex.sub(x, x0), width),)),
            Assign((_Y,), (y,)),
        ]
        hold = Assign((_HELD,), (self._held(),))
        # the last point begins no piece
        return invoke(_function(self.xs[:-1], (_U,), _U, [hold, *body]), [u])[0]

    def _held(self) -> Expression:
        u = ex.name(_U)
        if self.extrapolation not in (Extrapolation.HOLD, Extrapolation.LAST_TWO_POINTS):
            return u
        first, last = ex.const(self.xs[0]), ex.const(self.xs[-1])
        above = ex.conditional(ex.relation("gt", u, last), last, u)
        return ex.conditional(ex.relation("lt", u, first), first, above)

    def _beyond(self, held: Expression) -> Expression:
        """What a straight line beyond the points adds."""
        if self.extrapolation is not Extrapolation.LAST_TWO_POINTS:
            return ex.ZERO
        u = ex.name(_U)
        left, right = ex.const(self.slopes[0]), ex.const(self.slopes[-1])
        before = ex.relation("lt", u, ex.const(self.xs[0]))
        return ex.mul(ex.conditional(before, left, right), ex.sub(u, held))


def _function(
    begins: Vector,
    inputs: tuple[str, ...],
    key: str,
    body: Sequence[Statement],
    *,
    rises: bool = True,
) -> FlatFunction:
    """Finds the last piece whose begin is not above the key, then does `body`."""
    low, high, middle = ex.name(_LOW), ex.name(_HIGH), ex.name(_MIDDLE)
    before = ex.relation("lt", ex.name(key), _element(middle, begins))
    search = Loop(
        ex.relation("gt", ex.sub(high, low), ex.ONE),
        (
            Assign((_MIDDLE,), (ex.call("floor", ex.mul(_HALF, ex.add(low, high))),)),
            Choice(before, (Assign((_HIGH,), (middle,)),), (Assign((_LOW,), (middle,)),)),
        ),
    )
    start = Assign((_LOW, _HIGH), (ex.ONE, ex.const(len(begins) + 1)))
    name = f"table of {len(begins)} pieces"
    jumps = () if rises else (0,)  # its only output
    return flat_function(name, inputs, (_Y,), (start, search, *body), whole=jumps)


def _element(index: Expression, values: Vector) -> Expression:
    return ex.shared("element", (index, *number_nodes(values)))


def number_nodes(values: Vector) -> tuple[Expression, ...]:
    """A column of numbers as nodes."""
    return _nodes_of(np.ascontiguousarray(values, dtype=float).tobytes())


@lru_cache(maxsize=_ARRAYS)
def _nodes_of(content: bytes) -> tuple[Expression, ...]:
    return tuple(map(ex.const, np.frombuffer(content).tolist()))


def long_curve(curve: Curve) -> LongLines | LongSpline | None:
    """The curve as numbers; None where one of its points is none."""
    xs, ys = _numbers(curve.xs), _numbers(curve.ys)
    if xs is None or ys is None:
        return None
    slopes = _slopes(curve, xs, ys)
    if slopes is not None:
        return LongSpline(xs, ys, slopes, curve.extrapolation)
    return None if curve.is_spline else _lines(curve, xs, ys)


def long_steps(values: Sequence[Expression], cuts: Sequence[Expression]) -> LongLines | None:
    """values[k+1] from cuts[k] on; None where one of them is no number."""
    levels, begins = _numbers(values), _numbers(cuts)
    if levels is None or begins is None:
        return None
    still = np.zeros(len(levels))
    return LongLines(np.append(begins[:1], begins), still, levels, still)


def _numbers(values: Sequence[Expression]) -> Vector | None:
    if any(v.op != "const" for v in values):
        return None
    return np.array([v.value for v in values])


def _slopes(curve: Curve, xs: Vector, ys: Vector) -> Vector | None:
    if curve.slopes is not None:
        return _numbers(curve.slopes)
    if not curve.is_spline:
        return None
    widths = np.diff(xs)
    secants = np.diff(ys) / widths
    match curve.smoothness:
        case Smoothness.FRITSCH_BUTLAND:
            return monotone_numbers(secants, widths, fritsch_butland)
        case Smoothness.STEFFEN:
            return monotone_numbers(secants, widths, steffen)
        case rule:
            return akima_numbers(secants, modified=rule is Smoothness.MODIFIED_AKIMA)


def _lines(curve: Curve, xs: Vector, ys: Vector) -> LongLines:
    constant = curve.smoothness is Smoothness.CONSTANT
    kept = np.flatnonzero(np.diff(xs) > 0.0)
    secants = np.zeros(len(kept)) if constant else np.diff(ys)[kept] / np.diff(xs)[kept]
    pieces = np.array([xs[kept], ys[kept], secants])
    left, right = _ends(curve, xs, ys)
    origins, values, slopes = np.concatenate([left, pieces, right], axis=1)
    return LongLines(origins, origins, values, slopes, int((np.diff(xs) == 0.0).sum()))


def _ends(curve: Curve, xs: Vector, ys: Vector) -> tuple[Vector, Vector]:
    """The pieces beyond the points (origin, value, slope); none where the neighbour goes on."""
    constant = curve.smoothness is Smoothness.CONSTANT
    none = np.empty((3, 0))

    def piece(end: int, slope: float) -> Vector:
        return np.array([[xs[end]], [ys[end]], [slope]])

    match curve.extrapolation:
        case Extrapolation.PERIODIC:
            return none, none
        case Extrapolation.HOLD:
            return piece(0, 0.0), piece(-1, 0.0)
        case Extrapolation.NONE:
            return none, piece(-1, 0.0) if constant else none
    found = []
    for end, a, b in ((0, 0, 1), (-1, -2, -1)):
        if xs[b] == xs[a]:
            found.append(piece(end, 0.0))
        else:
            secant = float((ys[b] - ys[a]) / (xs[b] - xs[a]))
            found.append(piece(end, secant) if constant else none)
    return found[0], found[1]
