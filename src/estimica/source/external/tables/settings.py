"""The external object of a table: its matrix, from the model or from a file, and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Array, Handle, Value, ValueMismatch, is_array
from estimica.source.external.host import Host, constants, numbers, text, whole
from estimica.source.external.matrix_files import Matrix, read_matrix
from estimica.source.external.resources import file_path
from estimica.source.external.tables.long_curve import number_nodes
from estimica.source.external.tables.points import Events, Extrapolation, Smoothness

_WHY = "it shapes a table"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all tables have."""

    matrix: Array | Matrix  # numbers where it was read from a file
    columns: tuple[int, ...]
    smoothness: Smoothness
    extrapolation: Extrapolation
    start: Expression = ex.ZERO
    shift: Expression = ex.ZERO
    events: Events = Events.ALWAYS

    def at(self, row: int, column: int) -> Expression:
        """One of the values."""
        return _expressions(self.matrix[row : row + 1 or None, column])[0]

    def column(self, number: int) -> tuple[Expression, ...]:
        """The values of a column."""
        return _expressions(self.matrix[:, number])

    def whole(self) -> Array:
        """All values."""
        return constants(self.matrix) if self.matrix.dtype == float else self.matrix


def _expressions(values: Array | Matrix) -> tuple[Expression, ...]:
    return number_nodes(values) if values.dtype == float else tuple(values)


def handle(settings: Settings) -> Handle:
    """The external object that holds `settings`."""
    return Handle({"settings": settings})  # type: ignore[dict-item]


def settings_of(value: Value) -> Settings:
    """The settings of an external object."""
    settings = value.arguments.get("settings") if isinstance(value, Handle) else None
    if not isinstance(settings, Settings):
        raise ValueMismatch("a table is needed here; construct it with its external object")
    return settings


def matrix_of(
    host: Host, file: Value, name: Value, given: Value, delimiter: Value = ",", header: Value = None
) -> Array | Matrix:
    """The matrix of a table: `given`, or read from a file where one is named."""
    wanted, path = text(name), text(file)
    if not _is_given(wanted):
        if _is_given(path):
            raise ValueMismatch(f"a table on the file '{path}' needs the name of a matrix")
        if not is_array(given) or given.ndim != 2 or given.size == 0:
            raise ValueMismatch("a table needs a matrix with at least one row")
        return given
    if not _is_given(path):
        host.refuse(
            f"the table '{wanted}' that a function of the user supplies (usertab)",
            "put the values into the parameter 'table' or on a file",
        )
    lines = whole(host, header, _WHY) if header is not None else 0
    return read_matrix(file_path(host, path), wanted, text(delimiter), lines)


def _is_given(name: str) -> bool:
    """Whether a name is one: 'NoName' and white space stand for none."""
    return bool(name.strip()) and name.strip() != "NoName"


def columns_of(host: Host, value: Value, matrix: Array | Matrix) -> tuple[int, ...]:
    """The columns that are interpolated, counted from 0."""
    found = tuple(int(c) - 1 for c in np.atleast_1d(numbers(host, value, "it selects a column")))
    for column in found:
        if not 0 <= column < matrix.shape[1]:
            raise ValueMismatch(f"a table of {matrix.shape[1]} columns has no column {column + 1}")
    return found


def shape_of(
    host: Host, smoothness: Value, extrapolation: Value | None
) -> tuple[Smoothness, Extrapolation]:
    """How a table is interpolated; older tables of two variables go on as the last two points."""
    rule = Smoothness(whole(host, smoothness, _WHY))
    if extrapolation is None:
        return rule, Extrapolation.LAST_TWO_POINTS
    return rule, Extrapolation(whole(host, extrapolation, _WHY))


def check_order(host: Host, places: Array | Matrix, *, strictly: bool, what: str) -> None:
    """Refuse a table whose abscissae do not rise."""
    plain = places.dtype == float
    values = places.tolist() if plain else [host.parameters.peek(x) for x in places]
    for k, (a, b) in enumerate(pairwise(values)):
        if a is not None and b is not None and (b < a or (strictly and b == a)):
            rise = "strictly increasing" if strictly else "increasing"
            raise ValueMismatch(
                f"the {what} of a table is not {rise}: {a:g} is followed by {b:g} "
                f"(places {k + 1} and {k + 2}); sort the table"
            )
