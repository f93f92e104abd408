"""Twins of the functions of ModelicaStandardTables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Value, ValueMismatch, Written, make_array
from estimica.source.external.host import Host, Twin, scalar, whole
from estimica.source.external.tables.curve import interpolate
from estimica.source.external.tables.points import Curve, Events, Extrapolation, Smoothness
from estimica.source.external.tables.settings import (
    Settings,
    check_order,
    columns_of,
    handle,
    matrix_of,
    settings_of,
    shape_of,
)
from estimica.source.external.tables.surface import Surface, interpolate_surface
from estimica.source.external.tables.time_curve import next_time_event, time_value

_TWO = ex.const(2.0)


def _at(arguments: Sequence[Value], place: int, default: Value = None) -> Value:
    return arguments[place] if place < len(arguments) else default


# --- constructors ---


def _curve_table(host: Host, a: Sequence[Value]) -> Value:
    """fileName, tableName, table, rows, columns, columns[:], n, smoothness, [extrapolation, …]."""
    matrix = matrix_of(host, a[0], a[1], a[2], _at(a, 10, ","), _at(a, 11))
    check_order(host, matrix[:, 0], strictly=True, what="first column")
    columns = columns_of(host, a[5], matrix)
    return handle(Settings(matrix, columns, *shape_of(host, a[7], _at(a, 8))))


def _first_curve_table(host: Host, a: Sequence[Value]) -> Value:
    """tableName, fileName, table, rows, columns, columns[:], n, smoothness."""
    return _curve_table(host, [a[1], a[0], *a[2:8]])


def _surface_table(host: Host, a: Sequence[Value]) -> Value:
    """fileName, tableName, table, rows, columns, smoothness, [extrapolation, …]."""
    matrix = matrix_of(host, a[0], a[1], a[2], _at(a, 8, ","), _at(a, 9))
    if min(matrix.shape) < 2:
        raise ValueMismatch(f"a table of two variables needs at least 2×2 places: {matrix.shape}")
    check_order(host, matrix[1:, 0], strictly=True, what="first column")
    check_order(host, matrix[0, 1:], strictly=True, what="first row")
    return handle(Settings(matrix, (), *shape_of(host, a[5], _at(a, 6))))


def _first_surface_table(host: Host, a: Sequence[Value]) -> Value:
    """tableName, fileName, table, rows, columns, smoothness."""
    return _surface_table(host, [a[1], a[0], *a[2:6]])


def _time_table(host: Host, a: Sequence[Value]) -> Value:
    """fileName, tableName, table, rows, columns, startTime, columns[:], n, smoothness,
    extrapolation, [shiftTime, timeEvents, verbose, delimiter, header]."""
    matrix = matrix_of(host, a[0], a[1], a[2], _at(a, 13, ","), _at(a, 14))
    shape = shape_of(host, a[8], a[9])
    jumps_allowed = shape[0] in (Smoothness.LINEAR, Smoothness.CONSTANT)
    check_order(host, matrix[:, 0], strictly=not jumps_allowed, what="first column")
    events = Events(whole(host, _at(a, 11, ex.ONE), "it says where a table makes events"))
    start = scalar(a[5])
    shift = _at(a, 10)
    return handle(
        Settings(
            matrix, columns_of(host, a[6], matrix), *shape, start,
            start if shift is None else scalar(shift), events,
        )
    )  # fmt: skip


def _first_time_table(host: Host, a: Sequence[Value]) -> Value:
    """tableName, fileName, and as the later ones."""
    return _time_table(host, [a[1], a[0], *a[2:10]])


# --- one variable ---


def _curve(host: Host, table: Value, column: Value) -> Curve:
    settings = settings_of(table)
    position = whole(host, column, "it selects a column of a table") - 1
    if not 0 <= position < len(settings.columns):
        raise ValueMismatch(f"a table with {len(settings.columns)} outputs has no {position + 1}")
    xs, ys = settings.column(0), settings.column(settings.columns[position])
    return Curve(xs, ys, settings.smoothness, settings.extrapolation)


def _curve_value(host: Host, a: Sequence[Value]) -> Value:
    return interpolate(host, _curve(host, a[0], a[1]), scalar(a[2]))


def _curve_derivative(host: Host, a: Sequence[Value]) -> Value:
    curve = _unchecked(_curve(host, a[0], a[1]))
    return _first_derivative(lambda u: interpolate(host, curve, u), [a[2]], [a[3]])


def _curve_second_derivative(host: Host, a: Sequence[Value]) -> Value:
    curve = _unchecked(_curve(host, a[0], a[1]))

    def value(u: Expression) -> Expression:
        return interpolate(host, curve, u)

    return _second_derivative(value, [a[2]], [a[3]], [a[4]])


def _unchecked(curve: Curve) -> Curve:
    """For derivatives: the value itself says where the table ends."""
    if curve.extrapolation is not Extrapolation.NONE:
        return curve
    return replace(curve, extrapolation=Extrapolation.LAST_TWO_POINTS)


def _end(row: int) -> Twin:
    def find(host: Host, a: Sequence[Value]) -> Value:
        return settings_of(a[0]).at(row, 0)

    return find


# --- time ---


def _time_value(host: Host, a: Sequence[Value]) -> Value:
    """tableID, column, time, nextTimeEvent, its previous value."""
    curve = _curve(host, a[0], a[1])
    return time_value(host, settings_of(a[0]), curve, scalar(a[2]), _at(a, 3))


def _time_derivative(host: Host, a: Sequence[Value]) -> Value:
    """… and the derivative of the time."""
    curve, settings = _unchecked(_curve(host, a[0], a[1])), settings_of(a[0])

    def value(u: Expression) -> Expression:
        return time_value(host, settings, curve, u, a[3])

    return _first_derivative(value, [host.in_time(scalar(a[2]))], [a[5]])


def _second_time_derivative(host: Host, a: Sequence[Value]) -> Value:
    curve, settings = _unchecked(_curve(host, a[0], a[1])), settings_of(a[0])

    def value(u: Expression) -> Expression:
        return time_value(host, settings, curve, u, a[3])

    return _second_derivative(value, [host.in_time(scalar(a[2]))], [a[5]], [a[6]])


def _next_time_event(host: Host, a: Sequence[Value]) -> Value:
    return next_time_event(host, settings_of(a[0]), scalar(a[1]))


# --- two variables ---


def _surface(table: Value, *, checked: bool = True) -> Surface:
    settings = settings_of(table)
    matrix, beyond = settings.whole(), settings.extrapolation
    if not checked and beyond is Extrapolation.NONE:
        beyond = Extrapolation.LAST_TWO_POINTS
    xs, ys = tuple(matrix[1:, 0]), tuple(matrix[0, 1:])
    return Surface(xs, ys, matrix[1:, 1:], settings.smoothness, beyond)


def _surface_value(host: Host, a: Sequence[Value]) -> Value:
    return interpolate_surface(host, _surface(a[0]), scalar(a[1]), scalar(a[2]))


def _surface_derivative(host: Host, a: Sequence[Value]) -> Value:
    def value(u1: Expression, u2: Expression) -> Expression:
        return interpolate_surface(host, _surface(a[0], checked=False), u1, u2)

    return _first_derivative(value, a[1:3], a[3:5])


def _surface_second_derivative(host: Host, a: Sequence[Value]) -> Value:
    def value(u1: Expression, u2: Expression) -> Expression:
        return interpolate_surface(host, _surface(a[0], checked=False), u1, u2)

    return _second_derivative(value, a[1:3], a[3:5], a[5:7])


def _corner(row: int, column: int) -> Twin:
    """The first or last places of both variables, written to the second argument."""

    def find(host: Host, a: Sequence[Value]) -> Written:
        settings = settings_of(a[0])
        return Written({1: make_array([settings.at(row, 0), settings.at(0, column)])})

    return find


def _read(host: Host, a: Sequence[Value]) -> Value:
    """1: a table is read when it is constructed."""
    return ex.ONE


# --- derivatives ---


def _first_derivative(
    value: Callable[..., Expression], at: Sequence[Value], rates: Sequence[Value]
) -> Expression:
    """Σ ∂f/∂u·u' for f = value(u…)."""
    leaves = [ex.name(f"$u{k}") for k in range(len(at))]
    f = value(*leaves)
    slopes = [partial(f, leaf) for leaf in leaves]
    total = ex.total(ex.mul(s, scalar(r)) for s, r in zip(slopes, rates, strict=True))
    return _put(total, leaves, at)


def _second_derivative(
    value: Callable[..., Expression],
    at: Sequence[Value],
    rates: Sequence[Value],
    second_rates: Sequence[Value],
) -> Expression:
    """Σ ∂²f/∂u∂v·u'·v' + Σ ∂f/∂u·u''."""
    leaves = [ex.name(f"$u{k}") for k in range(len(at))]
    f = value(*leaves)
    slopes = [partial(f, leaf) for leaf in leaves]
    terms = [ex.mul(s, scalar(r)) for s, r in zip(slopes, second_rates, strict=True)]
    for slope, rate in zip(slopes, rates, strict=True):
        for leaf, other in zip(leaves, rates, strict=True):
            terms.append(ex.mul(partial(slope, leaf), ex.mul(scalar(rate), scalar(other))))
    return _put(ex.total(terms), leaves, at)


def _put(e: Expression, leaves: Sequence[Expression], values: Sequence[Value]) -> Expression:
    given = {leaf: scalar(v) for leaf, v in zip(leaves, values, strict=True)}
    return ex.rewrite([e], lambda leaf: given.get(leaf, leaf))[0]


_PREFIX = "ModelicaStandardTables_"
TABLE_TWINS: dict[str, Twin] = {
    f"{_PREFIX}{name}": twin
    for name, twin in {
        "CombiTable1D_init": _first_curve_table,
        "CombiTable1D_init2": _curve_table,
        "CombiTable1D_init3": _curve_table,
        "CombiTable1D_getValue": _curve_value,
        "CombiTable1D_getDerValue": _curve_derivative,
        "CombiTable1D_getDer2Value": _curve_second_derivative,
        "CombiTable1D_minimumAbscissa": _end(0),
        "CombiTable1D_maximumAbscissa": _end(-1),
        "CombiTable1D_read": _read,
        "CombiTable2D_init": _first_surface_table,
        "CombiTable2D_init2": _surface_table,
        "CombiTable2D_init3": _surface_table,
        "CombiTable2D_getValue": _surface_value,
        "CombiTable2D_getDerValue": _surface_derivative,
        "CombiTable2D_getDer2Value": _surface_second_derivative,
        "CombiTable2D_minimumAbscissa": _corner(1, 1),
        "CombiTable2D_maximumAbscissa": _corner(-1, -1),
        "CombiTable2D_read": _read,
        "CombiTimeTable_init": _first_time_table,
        "CombiTimeTable_init2": _time_table,
        "CombiTimeTable_init3": _time_table,
        "CombiTimeTable_getValue": _time_value,
        "CombiTimeTable_getDerValue": _time_derivative,
        "CombiTimeTable_getDer2Value": _second_time_derivative,
        "CombiTimeTable_nextTimeEvent": _next_time_event,
        "CombiTimeTable_minimumTime": _end(0),
        "CombiTimeTable_maximumTime": _end(-1),
        "CombiTimeTable_read": _read,
    }.items()
}
