"""External functions of the Modelica Standard Library that have a meaning here: tables, strings.

Tables of one variable are a choice of polynomial pieces between the points; smoothness and
extrapolation have the meaning (and numbers) of the Modelica Standard Library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.interpreter.values import Handle, Value, ValueMismatch, is_array

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Frame, Interpreter


#: what the library takes for infinity
_INFINITY = 1e60


def _handle(interpreter: Interpreter, arguments: Frame) -> Value:
    """The constructor of a table: its arguments are all there is to it."""
    for name in ("tableName", "fileName"):
        if arguments.get(name) not in ("NoName", "", None):
            interpreter.refuse(
                f"a table read from a file ('{arguments['fileName']}')",
                "put the values into the parameter 'table' and set tableOnFile = false",
            )
    table = arguments["table"]
    if not is_array(table) or table.ndim != 2 or table.size == 0:
        raise ValueMismatch("a table needs a matrix with at least one row")
    return Handle(dict(arguments))


def _column(interpreter: Interpreter, handle: Value, column: Value) -> Table:
    assert isinstance(handle, Handle)
    table, columns = handle.arguments["table"], handle.arguments["columns"]
    assert is_array(table)
    assert is_array(columns)
    why = "it selects a column of a table"
    position = int(interpreter.number(column, why)) - 1
    index = int(interpreter.number(columns[position], why)) - 1
    if not 0 <= index < table.shape[1]:
        raise ValueMismatch(f"a table of {table.shape[1]} columns has no column {index + 1}")
    return Table(tuple(table[:, 0]), tuple(table[:, index]), *_shape(interpreter, handle))


def _value(interpreter: Interpreter, arguments: Frame) -> Value:
    table = _column(interpreter, arguments["tableID"], arguments["icol"])
    u = arguments["u"]
    assert isinstance(u, Expression)
    return interpolate(interpreter, table, u)


def _time_value(interpreter: Interpreter, arguments: Frame) -> Value:
    """Zero before the start time, then the table over the shifted time."""
    handle = arguments["tableID"]
    assert isinstance(handle, Handle)
    table = _column(interpreter, handle, arguments["icol"])
    time = arguments["timeIn"]
    assert isinstance(time, Expression)
    time = interpreter.in_time(time)
    shift, start = handle.arguments["shiftTime"], handle.arguments["startTime"]
    assert isinstance(shift, Expression)
    assert isinstance(start, Expression)
    value = interpolate(interpreter, table, ex.sub(time, shift))
    earliest = interpreter.parameters.peek(start)
    if earliest is not None and earliest <= 0.0 and not ex.names_in(start):
        return value
    return ex.conditional(ex.relation("lt", time, start), ex.ZERO, value)


def _next_time_event(interpreter: Interpreter, arguments: Frame) -> Value:
    """Never: the choices between the pieces of a table make the events themselves."""
    interpreter.notes.append("time tables make their own events; nextTimeEvent stays at infinity")
    return ex.const(_INFINITY)


def _end(row: int) -> Callable[[Interpreter, Frame], Value]:
    def find(interpreter: Interpreter, arguments: Frame) -> Value:
        handle = arguments["tableID"]
        assert isinstance(handle, Handle)
        table = handle.arguments["table"]
        assert is_array(table)
        return table[row, 0]  # type: ignore[no-any-return]

    return find


def _plane_value(interpreter: Interpreter, arguments: Frame) -> Value:
    """A table of two variables: along the rows first, then between them."""
    handle, first, second = arguments["tableID"], arguments["u1"], arguments["u2"]
    assert isinstance(handle, Handle)
    assert isinstance(first, Expression)
    assert isinstance(second, Expression)
    table = handle.arguments["table"]
    assert is_array(table)
    smoothness, extrapolation = _shape(interpreter, handle)
    if smoothness not in (Smoothness.LINEAR, Smoothness.CONSTANT):
        interpreter.refuse("a smooth table of two variables", "use linear segments")
    columns = tuple(table[0, 1:])
    rows = [Table(columns, tuple(row[1:]), smoothness, extrapolation) for row in table[1:]]
    values = tuple(interpolate(interpreter, row, second) for row in rows)
    between = Table(tuple(table[1:, 0]), values, smoothness, extrapolation)
    return interpolate(interpreter, between, first)


def _shape(interpreter: Interpreter, handle: Handle) -> tuple[Smoothness, Extrapolation]:
    why = "it shapes a table"
    smoothness = int(interpreter.number(handle.arguments["smoothness"], why))
    # tables of two variables of older libraries go on as the last two points do
    extrapolation = handle.arguments.get("extrapolation", ex.const(2.0))
    return Smoothness(smoothness), Extrapolation(int(interpreter.number(extrapolation, why)))


def _text(arguments: Frame, name: str) -> str:
    value = arguments[name]
    if not isinstance(value, str):
        raise ValueMismatch("a text that is known only during the run")
    return value


def _length(interpreter: Interpreter, arguments: Frame) -> Value:
    return ex.const(len(_text(arguments, "string")))


def _skip_space(interpreter: Interpreter, arguments: Frame) -> Value:
    """The place of the first character from startIndex on that is not white space."""
    text = _text(arguments, "string")
    at = int(interpreter.number(arguments["startIndex"], "it is a place in a text"))
    while at <= len(text) and text[at - 1].isspace():
        at += 1
    return ex.const(at)


def _compare(interpreter: Interpreter, arguments: Frame) -> Value:
    """1, 2, 3 for less, equal, greater: the enumeration Types.Compare."""
    first, second = _text(arguments, "string1"), _text(arguments, "string2")
    if ex.is_const(_flag(arguments["caseSensitive"]), 0.0):
        first, second = first.lower(), second.lower()
    return ex.const(int(np.sign((first > second) - (first < second))) + 2)


def _flag(value: Value) -> Expression:
    assert isinstance(value, Expression)
    return value


FUNCTIONS: dict[str, Callable[[Interpreter, Frame], Value]] = {
    "ModelicaStandardTables_CombiTable1D_init2": _handle,
    "ModelicaStandardTables_CombiTable1D_init3": _handle,
    "ModelicaStandardTables_CombiTable1D_getValue": _value,
    "ModelicaStandardTables_CombiTable1D_minimumAbscissa": _end(0),
    "ModelicaStandardTables_CombiTable1D_maximumAbscissa": _end(-1),
    "ModelicaStandardTables_CombiTable2D_init2": _handle,
    "ModelicaStandardTables_CombiTable2D_init3": _handle,
    "ModelicaStandardTables_CombiTable2D_getValue": _plane_value,
    "ModelicaStandardTables_CombiTimeTable_init2": _handle,
    "ModelicaStandardTables_CombiTimeTable_init3": _handle,
    "ModelicaStandardTables_CombiTimeTable_getValue": _time_value,
    "ModelicaStandardTables_CombiTimeTable_nextTimeEvent": _next_time_event,
    "ModelicaStandardTables_CombiTimeTable_minimumTime": _end(0),
    "ModelicaStandardTables_CombiTimeTable_maximumTime": _end(-1),
    "ModelicaStrings_length": _length,
    "ModelicaStrings_compare": _compare,
    "ModelicaStrings_skipWhiteSpace": _skip_space,
}


#: a table with more points than this makes no events at its points
MAX_EVENTS = 60


class Smoothness(IntEnum):
    """How values between the points are found."""

    LINEAR = 1
    AKIMA = 2
    CONSTANT = 3
    FRITSCH_BUTLAND = 4
    STEFFEN = 5
    MODIFIED_AKIMA = 6


class Extrapolation(IntEnum):
    """What holds outside the points."""

    HOLD = 1
    LAST_TWO_POINTS = 2
    PERIODIC = 3
    NONE = 4


@dataclass(frozen=True, slots=True)
class Table:
    """Points (x, y) in the order of x, which are parameters or numbers."""

    xs: tuple[Expression, ...]
    ys: tuple[Expression, ...]
    smoothness: Smoothness
    extrapolation: Extrapolation


def interpolate(interpreter: Interpreter, table: Table, u: Expression) -> Expression:
    """The value of `table` at `u`.

    At a point where x stands twice (a jump) the later value holds from the point on.
    """
    if len(table.xs) == 1:
        return table.ys[0]
    x_first, x_last = table.xs[0], table.xs[-1]
    if table.extrapolation is Extrapolation.PERIODIC:
        span = ex.sub(x_last, x_first)
        u = ex.add(x_first, ex.call("mod", ex.sub(u, x_first), span))
    segments = _segments(interpreter, table)
    slopes = _slopes(interpreter, table)
    pieces = [_piece(table, slopes, k, u) for k in segments]
    cuts = [table.xs[k] for k in segments[1:]]
    left, right = _ends(interpreter, table, slopes, u)
    if left is not None:
        pieces, cuts = [left, *pieces], [x_first, *cuts]
    if right is not None:
        pieces, cuts = [*pieces, right], [*cuts, x_last]
    result = _chosen(u, cuts, pieces)
    if len(cuts) > MAX_EVENTS and ex.names_in(u):
        interpreter.notes.append(f"a table of {len(table.xs)} points makes no events at its points")
        return ex.node("noEvent", result)
    if table.smoothness is Smoothness.CONSTANT or result.op != "if":
        return result
    return ex.node("smooth", result, ex.const(0.0 if slopes is None else 1.0))


def _segments(interpreter: Interpreter, table: Table) -> list[int]:
    """The intervals that have a length."""
    kept = []
    for k in range(len(table.xs) - 1):
        width = interpreter.parameters.peek(ex.sub(table.xs[k + 1], table.xs[k]))
        if width is None or width > 0.0:
            kept.append(k)
    return kept or [0]


def _piece(table: Table, slopes: Sequence[Expression] | None, k: int, u: Expression) -> Expression:
    x0, x1, y0, y1 = table.xs[k], table.xs[k + 1], table.ys[k], table.ys[k + 1]
    if table.smoothness is Smoothness.CONSTANT:
        return y0
    if slopes is None:
        return _line(x0, x1, y0, y1, u)
    width = ex.sub(x1, x0)
    secant = ex.div(ex.sub(y1, y0), width)
    left, right = slopes[k], slopes[k + 1]
    v = ex.sub(u, x0)
    quadratic = ex.div(
        ex.sub(ex.sub(ex.mul(ex.const(3.0), secant), ex.mul(ex.const(2.0), left)), right), width
    )
    cubic = ex.div(ex.sub(ex.add(left, right), ex.mul(ex.const(2.0), secant)), ex.mul(width, width))
    inner = ex.add(ex.mul(ex.add(ex.mul(cubic, v), quadratic), v), left)
    return ex.add(y0, ex.mul(inner, v))


def _line(
    x0: Expression, x1: Expression, y0: Expression, y1: Expression, u: Expression
) -> Expression:
    slope = ex.div(ex.sub(y1, y0), ex.sub(x1, x0))
    return ex.add(y0, ex.mul(slope, ex.sub(u, x0)))


def _ends(
    interpreter: Interpreter, table: Table, slopes: Sequence[Expression] | None, u: Expression
) -> tuple[Expression | None, Expression | None]:
    """Pieces left and right of all points; None where the neighbouring piece goes on."""
    xs, ys = table.xs, table.ys
    match table.extrapolation:
        case Extrapolation.PERIODIC:
            return None, None
        case Extrapolation.HOLD:
            return ys[0], ys[-1]
        case Extrapolation.NONE:
            inside = ex.logical_and(ex.relation("ge", u, xs[0]), ex.relation("le", u, xs[-1]))
            interpreter.check(
                ex.node("noEvent", inside),
                "a table is asked for a value outside its points",
                False,
                interpreter.place,
            )
            return None, ys[-1] if table.smoothness is Smoothness.CONSTANT else None
    if slopes is not None:
        left = ex.add(ys[0], ex.mul(slopes[0], ex.sub(u, xs[0])))
        right = ex.add(ys[-1], ex.mul(slopes[-1], ex.sub(u, xs[-1])))
        return left, right
    if table.smoothness is Smoothness.CONSTANT:
        return _line(xs[0], xs[1], ys[0], ys[1], u), _line(xs[-2], xs[-1], ys[-2], ys[-1], u)
    width = interpreter.parameters.peek(ex.sub(xs[-1], xs[-2]))
    first = interpreter.parameters.peek(ex.sub(xs[1], xs[0]))
    return ys[0] if first == 0.0 else None, ys[-1] if width == 0.0 else None


def _chosen(u: Expression, cuts: Sequence[Expression], pieces: Sequence[Expression]) -> Expression:
    """The piece for `u`: piece k+1 holds from cut k on. A balanced tree of choices."""
    if len(pieces) == 1:
        return pieces[0]
    middle = len(cuts) // 2
    return ex.conditional(
        ex.relation("lt", u, cuts[middle]),
        _chosen(u, cuts[:middle], pieces[: middle + 1]),
        _chosen(u, cuts[middle + 1 :], pieces[middle + 1 :]),
    )


# --- slopes at the points ---


def _slopes(interpreter: Interpreter, table: Table) -> list[Expression] | None:
    """The derivative at every point for splines, as helper parameters; None for the others."""
    rules: dict[Smoothness, Callable[[list[Expression], list[Expression]], list[Expression]]] = {
        Smoothness.AKIMA: lambda d, w: _akima(d, modified=False),
        Smoothness.MODIFIED_AKIMA: lambda d, w: _akima(d, modified=True),
        Smoothness.FRITSCH_BUTLAND: lambda d, w: _monotone(d, w, _fritsch_butland),
        Smoothness.STEFFEN: lambda d, w: _monotone(d, w, _steffen),
    }
    rule = rules.get(table.smoothness)
    if rule is None or len(table.xs) <= 2:
        return None
    widths = [ex.sub(b, a) for a, b in zip(table.xs, table.xs[1:], strict=False)]
    secants = [
        ex.div(ex.sub(b, a), w) for a, b, w in zip(table.ys, table.ys[1:], widths, strict=False)
    ]
    return [_helper(interpreter, slope) for slope in rule(secants, widths)]


def _helper(interpreter: Interpreter, value: Expression) -> Expression:
    """A parameter with that value, so that it is computed once for a run."""
    if value.op in ("const", "name"):
        return value
    for name, binding in interpreter.helpers.items():
        if binding is value:
            return ex.name(name)
    name = f"$slope{len(interpreter.helpers) + 1}"
    interpreter.helpers[name] = value
    return ex.name(name)


def _akima(secants: list[Expression], *, modified: bool) -> list[Expression]:
    """Akima's weighted means of neighbouring secants (J. ACM 17(4), 1970), perhaps modified."""

    def extended(a: Expression, b: Expression, k: float) -> Expression:
        return ex.sub(ex.mul(ex.const(k), a), ex.mul(ex.const(k - 1.0), b))

    first, last = secants[:2], secants[-2:]
    d = [
        extended(first[0], first[1], 3.0),
        extended(first[0], first[1], 2.0),
        *secants,
        extended(last[1], last[0], 2.0),
        extended(last[1], last[0], 3.0),
    ]
    return [_akima_mean(*d[i : i + 4], modified=modified) for i in range(len(secants) + 1)]


def _akima_mean(
    a: Expression, b: Expression, c: Expression, d: Expression, *, modified: bool
) -> Expression:
    half = ex.const(0.5)
    left = ex.call("abs", ex.sub(b, a))
    right = ex.call("abs", ex.sub(d, c))
    if modified:
        left = ex.add(left, ex.mul(half, ex.call("abs", ex.add(b, a))))
        right = ex.add(right, ex.mul(half, ex.call("abs", ex.add(d, c))))
    weights = ex.add(left, right)
    mean = ex.div(ex.add(ex.mul(right, b), ex.mul(left, c)), weights)
    flat = ex.ZERO if modified else ex.mul(half, ex.add(b, c))
    return ex.conditional(ex.relation("gt", weights, ex.ZERO), mean, flat)


def _monotone(
    secants: list[Expression],
    widths: list[Expression],
    rule: Callable[[Expression, Expression, Expression, Expression], Expression],
) -> list[Expression]:
    inner = []
    for d0, d1, w0, w1 in zip(secants, secants[1:], widths, widths[1:], strict=False):
        same_sign = ex.relation("gt", ex.mul(d0, d1), ex.ZERO)
        inner.append(ex.conditional(same_sign, rule(d0, d1, w0, w1), ex.ZERO))
    return [secants[0], *inner, secants[-1]]


def _fritsch_butland(d0: Expression, d1: Expression, w0: Expression, w1: Expression) -> Expression:
    """A weighted harmonic mean of the secants (Fritsch and Butland, 1984)."""
    two, three = ex.const(2.0), ex.const(3.0)
    below = ex.add(ex.div(ex.add(w0, ex.mul(two, w1)), d0), ex.div(ex.add(w1, ex.mul(two, w0)), d1))
    return ex.div(ex.mul(three, ex.add(w0, w1)), below)


def _steffen(d0: Expression, d1: Expression, w0: Expression, w1: Expression) -> Expression:
    """The parabola's slope, limited to twice the smaller secant (Steffen, 1990)."""
    parabola = ex.div(ex.add(ex.mul(d0, w1), ex.mul(d1, w0)), ex.add(w0, w1))
    smaller = ex.call("min", ex.call("abs", d0), ex.call("abs", d1))
    limit = ex.mul(ex.const(2.0), smaller)
    limited = ex.conditional(ex.relation("gt", d0, ex.ZERO), limit, ex.neg(limit))
    steep = ex.relation("gt", ex.call("abs", parabola), limit)
    return ex.conditional(steep, limited, parabola)
