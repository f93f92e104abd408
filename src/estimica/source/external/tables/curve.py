"""A table of one variable as an expression: a choice of polynomial pieces between the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.external.host import Host
from estimica.source.external.tables.long_curve import long_curve
from estimica.source.external.tables.points import Curve, Events, Extrapolation, Smoothness
from estimica.source.external.tables.slopes import akima, fritsch_butland, monotone, steffen

#: a table with more places than this at which an event is due makes none of its own: every one
#: is a relation that the solver watches
MAX_EVENTS = 60
#: straight lines through more points than this are kept as one node instead of a choice, and all
#: curves through so many numbers as a function
MAX_LINES = 60

_TWO, _THREE = ex.const(2.0), ex.const(3.0)


#: what adds a piece behind the last point of a spline
_WITH_RIGHT_END = (Extrapolation.HOLD, Extrapolation.LAST_TWO_POINTS)
#: for a cut of the u axis, left of which another piece holds: whether u lies left of it
Side = Callable[[Expression], Expression]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The parts of a curve: part k+1 holds from cut k on; `jumps` says where the value leaps."""

    parts: list[Expression]
    cuts: list[Expression]
    jumps: list[bool]


def interpolate(host: Host, curve: Curve, u: Expression) -> Expression:
    """The value of `curve` at `u`.

    At a point where x stands twice (a jump) the later value holds from the point on.
    """
    if len(curve.xs) == 1:
        return curve.ys[0]
    if curve.extrapolation is Extrapolation.NONE:
        _check_inside(host, curve, u)
    due = curve.events if not curve.is_spline else Events.NONE
    if curve.extrapolation is Extrapolation.PERIODIC:
        u = wrapped(curve, u)
    found = _searched(host, curve, u, due) if u.op != "const" else None
    if found is not None:
        return found
    if u.op != "const" and _is_long_line(host, curve):
        return _long_line(curve, u)
    pieces = pieces_of(host, curve, u)
    noisy = [due is Events.ALWAYS or (due is Events.JUMPS and jump) for jump in pieces.jumps]
    if sum(noisy) > MAX_EVENTS:
        if ex.names_in(u):
            host.notes.append(f"a table of {len(curve.xs)} points makes no events at its points")
        return ex.node("noEvent", choice(pieces, [_lesser(u)] * len(noisy)))
    if not any(noisy):
        sides = [_lesser(u)] * len(noisy)
        if curve.is_spline and curve.closed and curve.extrapolation in _WITH_RIGHT_END:
            sides[-1] = _not_greater(u)
        result = choice(pieces, sides)
        if result.op != "if":
            return result
        return ex.node("smooth", result, ex.const(1.0 if curve.is_spline else 0.0))
    return choice(pieces, [_lesser(u) if n else _silently_lesser(u) for n in noisy])


def wrapped(curve: Curve, u: Expression) -> Expression:
    """`u` in the range of a periodic curve."""
    first, last = curve.xs[0], curve.xs[-1]
    return ex.add(first, ex.call("mod", ex.sub(u, first), ex.sub(last, first)))


def choice(pieces: Pieces, sides: Sequence[Side]) -> Expression:
    """The piece that holds, by a balanced tree of choices; `sides` says which side of each cut."""

    def chosen(first: int, last: int) -> Expression:
        if first == last:
            return pieces.parts[first]
        middle = (first + last) // 2
        condition = sides[middle](pieces.cuts[middle])
        return ex.conditional(condition, chosen(first, middle), chosen(middle + 1, last))

    return chosen(0, len(pieces.parts) - 1)


def _lesser(u: Expression) -> Side:
    return lambda cut: ex.relation("lt", u, cut)


def _not_greater(u: Expression) -> Side:
    return lambda cut: ex.relation("le", u, cut)


def _silently_lesser(u: Expression) -> Side:
    def side(cut: Expression) -> Expression:
        condition = ex.relation("lt", u, cut)
        return condition if ex.is_const(condition) else ex.node("noEvent", condition)

    return side


def _check_inside(host: Host, curve: Curve, u: Expression) -> None:
    inside = ex.logical_and(ex.relation("ge", u, curve.xs[0]), ex.relation("le", u, curve.xs[-1]))
    if ex.is_const(inside, 1.0):
        return
    host.check(
        inside if ex.is_const(inside) else ex.node("noEvent", inside),
        "a table is asked for a value outside its points; extend the table or choose another "
        "extrapolation",
        False,
        host.place,
    )


# --- pieces ---


def pieces_of(host: Host, curve: Curve, u: Expression) -> Pieces:
    """The parts of a curve of at least two points, u within the period of a periodic one."""
    intervals = _intervals(host, curve)
    slopes = slopes_of(host, curve)
    constant = curve.smoothness is Smoothness.CONSTANT and slopes is None
    parts = [_part(curve, slopes, k, u) for k in intervals]
    cuts = [curve.xs[k] for k in intervals[1:]]
    jumps = [constant or k - 1 != before for before, k in pairwise(intervals)]
    left, right = _ends(host, curve, slopes, u)
    if left is not None:
        parts, cuts, jumps = [left, *parts], [curve.xs[0], *cuts], [intervals[0] > 0, *jumps]
    if right is not None:
        jump = constant or intervals[-1] < len(curve.xs) - 2
        parts, cuts, jumps = [*parts, right], [*cuts, curve.xs[-1]], [*jumps, jump]
    return Pieces(parts, cuts, jumps)


def _intervals(host: Host, curve: Curve) -> list[int]:
    """The intervals that have a length."""
    kept = []
    for k in range(len(curve.xs) - 1):
        width = host.parameters.peek(ex.sub(curve.xs[k + 1], curve.xs[k]))
        if width is None or width > 0.0:
            kept.append(k)
    return kept or [0]


def _part(curve: Curve, slopes: Sequence[Expression] | None, k: int, u: Expression) -> Expression:
    x0, x1, y0, y1 = curve.xs[k], curve.xs[k + 1], curve.ys[k], curve.ys[k + 1]
    if slopes is None:
        return y0 if curve.smoothness is Smoothness.CONSTANT else _line(x0, x1, y0, y1, u)
    width = ex.sub(x1, x0)
    secant = ex.div(ex.sub(y1, y0), width)
    left, right = slopes[k], slopes[k + 1]
    v = ex.sub(u, x0)
    quadratic = ex.div(ex.sub(ex.sub(ex.mul(_THREE, secant), ex.mul(_TWO, left)), right), width)
    cubic = ex.div(ex.sub(ex.add(left, right), ex.mul(_TWO, secant)), ex.mul(width, width))
    inner = ex.add(ex.mul(ex.add(ex.mul(cubic, v), quadratic), v), left)
    return ex.add(y0, ex.mul(inner, v))


def _line(
    x0: Expression, x1: Expression, y0: Expression, y1: Expression, u: Expression
) -> Expression:
    slope = ex.div(ex.sub(y1, y0), ex.sub(x1, x0))
    return ex.add(y0, ex.mul(slope, ex.sub(u, x0)))


def _ends(
    host: Host, curve: Curve, slopes: Sequence[Expression] | None, u: Expression
) -> tuple[Expression | None, Expression | None]:
    """Pieces left and right of all points; None where the neighbouring piece goes on."""
    xs, ys = curve.xs, curve.ys
    constant = curve.smoothness is Smoothness.CONSTANT and slopes is None
    match curve.extrapolation:
        case Extrapolation.PERIODIC:
            return None, None
        case Extrapolation.HOLD:
            return ys[0], ys[-1]
        case Extrapolation.NONE:
            return None, ys[-1] if constant else None
    if slopes is not None:
        left = ex.add(ys[0], ex.mul(slopes[0], ex.sub(u, xs[0])))
        right = ex.add(ys[-1], ex.mul(slopes[-1], ex.sub(u, xs[-1])))
        return left, right
    first = host.parameters.peek(ex.sub(xs[1], xs[0])) == 0.0
    last = host.parameters.peek(ex.sub(xs[-1], xs[-2])) == 0.0
    if constant:
        return (
            ys[0] if first else _line(xs[0], xs[1], ys[0], ys[1], u),
            ys[-1] if last else _line(xs[-2], xs[-1], ys[-2], ys[-1], u),
        )
    return ys[0] if first else None, ys[-1] if last else None


# --- many points ---


def _searched(host: Host, curve: Curve, u: Expression, due: Events) -> Expression | None:
    """A long curve of numbers by a search for the piece; None where it is none.

    Nor where a few of its points are due to make events.
    """
    long = long_curve(curve) if len(curve.xs) > MAX_LINES else None
    if long is None:
        return None
    at_jumps = len(curve.xs) if curve.smoothness is Smoothness.CONSTANT else long.jumps
    noisy = {Events.ALWAYS: len(curve.xs), Events.JUMPS: at_jumps, Events.NONE: 0}[due]
    if 0 < noisy <= MAX_EVENTS:
        return None
    if noisy:
        if ex.names_in(u):
            host.notes.append(f"a table of {len(curve.xs)} points makes no events at its points")
        return ex.node("noEvent", long.value(u))
    return ex.node("smooth", long.value(u), ex.const(1.0 if curve.is_spline else 0.0))


def _is_long_line(host: Host, curve: Curve) -> bool:
    """Whether straight lines through many points, without jumps, make up the curve."""
    if curve.smoothness is not Smoothness.LINEAR or curve.slopes is not None:
        return False
    return len(curve.xs) > MAX_LINES and len(_intervals(host, curve)) == len(curve.xs) - 1


def _long_line(curve: Curve, u: Expression) -> Expression:
    """One node for all lines; it goes straight on beyond both ends, so u is held where y is."""
    if curve.extrapolation is Extrapolation.HOLD:
        u = ex.call("min", ex.call("max", u, curve.xs[0]), curve.xs[-1])
    points = (e for point in zip(curve.xs, curve.ys, strict=True) for e in point)
    return ex.node("noEvent", ex.node("table", u, *points))


# --- slopes at the points ---


def slopes_of(host: Host, curve: Curve) -> Sequence[Expression] | None:
    """The derivative at every point for splines, as helper parameters; None for the others."""
    if curve.slopes is not None:
        return curve.slopes
    if not curve.is_spline:
        return None
    widths = [ex.sub(b, a) for a, b in zip(curve.xs, curve.xs[1:], strict=False)]
    secants = [
        ex.div(ex.sub(b, a), w) for a, b, w in zip(curve.ys, curve.ys[1:], widths, strict=False)
    ]
    return as_helpers(host, _RULES[curve.smoothness](secants, widths))


_RULES: dict[Smoothness, Callable[[list[Expression], list[Expression]], list[Expression]]] = {
    Smoothness.AKIMA: lambda d, w: akima(d, modified=False),
    Smoothness.MODIFIED_AKIMA: lambda d, w: akima(d, modified=True),
    Smoothness.FRITSCH_BUTLAND: lambda d, w: monotone(d, w, fritsch_butland),
    Smoothness.STEFFEN: lambda d, w: monotone(d, w, steffen),
}


def as_helpers(host: Host, values: Sequence[Expression]) -> list[Expression]:
    """Parameters with these values, so that each is computed once for a run."""
    known = {binding: name for name, binding in host.helpers.items()}
    result = []
    for value in values:
        if value.op not in ("const", "name"):
            if value not in known:
                known[value] = f"$slope{len(host.helpers) + 1}"
                host.helpers[known[value]] = value
            value = ex.name(known[value])
        result.append(value)
    return result
