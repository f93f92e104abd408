"""External functions of the Modelica Standard Library that have a meaning here: tables, strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.interpreter.tables import Extrapolation, Smoothness, Table, interpolate
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
