"""Channels: rows of a table, as they arrive, in the units of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.magnitude import LARGEST
from estimica.base.signals import Hold
from estimica.base.suggest import did_you_mean
from estimica.data.calendar import Calendar, NotAnInstant
from estimica.study.case import InputColumn, OutputColumn, Sigma
from estimica.study.record.samples import Record, data_of
from estimica.study.record.stamps import time_scale


@dataclass(frozen=True)
class Channel:
    """A column, and how its numbers become those of the model."""

    column: str
    scale: float = 1.0
    offset: float = 0.0
    missing: frozenset[float] = frozenset()  # numbers that stand for "not sampled"

    def value(self, cell: object) -> float:
        """NaN where the cell holds no number that can be computed with."""
        number = as_number(cell)
        if number in self.missing:
            return math.nan
        number = number * self.scale + self.offset
        return number if abs(number) <= LARGEST else math.nan


@dataclass(frozen=True, eq=False)
class Row:
    """One row as it arrived: inputs and outputs in the order of the filter, NaN where missing; its
    time is NaN where it could not be read. `position` is where the next one begins in its file."""

    time: float
    inputs: Vector
    outputs: Vector
    position: int = -1


class Channels:
    """What a monitor reads of a row."""

    def __init__(self, record: Record, inputs: Sequence[str], held: Vector) -> None:
        case, data = record.case, data_of(record.case)
        where = f"case '{case.name}'"
        self.time = data.time_name(case.time)
        self.time_scale = time_scale(case, data, self.time)
        self.calendar = Calendar.of(record.origin) if record.origin else None
        own = case.columns_of_inputs
        said = case.reading.missing if case.reading is not None else None
        missing = frozenset(float(c) for c in said or () if not isinstance(c, str))
        self.inputs = [_input(where, n, own[n], missing) if n in own else None for n in inputs]
        self.linear = np.array(
            [isinstance(c := own.get(n), InputColumn) and c.hold is Hold.LINEAR for n in inputs],
            bool,
        )
        self.held = held
        self.outputs = [
            _output(where, m.name, case.columns_of_outputs[m.name], missing) for m in record.outputs
        ]
        self.output_names = tuple(m.name for m in record.outputs)
        read = (*self.inputs, *self.outputs)
        self.columns = tuple(dict.fromkeys(c.column for c in read if c is not None))

    def row(self, cells: Mapping[str, object], position: int = -1) -> Row:
        """A row by the names of its columns; columns that it lacks are missing values."""
        if self.time not in cells and position < 0:
            raise InferError(
                "I804",
                f"a row has no '{self.time}', the column of the time"
                f"{did_you_mean(self.time, [str(n) for n in cells])}",
            )
        inputs = self.held.copy()
        for k, channel in enumerate(self.inputs):
            if channel is not None:
                inputs[k] = channel.value(cells.get(channel.column))
        outputs = np.array([c.value(cells.get(c.column)) for c in self.outputs])
        return Row(self.seconds(cells.get(self.time)), inputs, outputs, position)

    def seconds(self, cell: object) -> float:
        """The time of a row on the clock of the study; NaN where it cannot be read."""
        if self.calendar is not None and isinstance(cell, str | date):
            return self._since(cell)
        return as_number(cell) * self.time_scale

    def _since(self, cell: str | date) -> float:
        assert self.calendar is not None
        try:
            return self.calendar.seconds(cell)
        except NotAnInstant:
            pass
        try:
            import pandas as pd

            from estimica.data.dates import NotADate, read_dates

            try:
                _, origin = read_dates(pd.Series([str(cell)]))
            except NotADate:
                return math.nan
            return self.calendar.seconds(origin.partition("[")[0])
        except (NotAnInstant, ValueError):
            return math.nan


def as_number(cell: object) -> float:
    """The number in a cell, NaN where there is none."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _input(
    where: str, name: str, given: float | InputColumn, missing: frozenset[float]
) -> Channel | None:
    if not isinstance(given, InputColumn):
        return None
    if given.hold is Hold.SPLINE:
        raise InferError(
            "I805",
            f"{where}, input '{name}': a spline needs values that have not come yet; use hold = "
            "'linear' or 'previous'",
        )
    _refuse_angle(where, "input", name, given)
    return _channel(given, missing)


def _output(where: str, name: str, given: OutputColumn, missing: frozenset[float]) -> Channel:
    _refuse_angle(where, "output", name, given)
    if isinstance(given.sigma, Sigma) and given.sigma.column is not None:
        raise InferError(
            "I806",
            f"{where}, output '{name}': a monitor does not read standard deviations from a column "
            f"('{given.sigma.column}'); give sigma as a number or a formula, or leave it out",
        )
    return _channel(given, missing)


def _refuse_angle(where: str, word: str, name: str, given: InputColumn | OutputColumn) -> None:
    if given.unwrap is not None:
        raise InferError(
            "I807",
            f"{where}, {word} '{name}': unwrap looks at all samples of an angle at once, which a "
            "monitor does not have; unwrap it where it is measured",
        )


def _channel(given: InputColumn | OutputColumn, missing: frozenset[float]) -> Channel:
    scale = 1.0 if given.scale is None else given.scale
    offset = 0.0 if given.offset is None else given.offset
    return Channel(given.column, scale, offset, missing)
