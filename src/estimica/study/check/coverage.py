"""Coverage: whether the data of a case reach as far as they must, in units that agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from estimica.base.problems import Problem
from estimica.base.quantities import Quantity
from estimica.base.signals import Hold, Signal
from estimica.base.suggest import did_you_mean
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.check.names import FIXED
from estimica.study.record.samples import Record, data_of
from estimica.study.units import AmbiguousUnit, UnknownUnit, conversion, known_units


def check_coverage(record: Record) -> list[Problem]:
    """Inputs that begin after the simulation does, or end long before the last sample."""
    last = max((float(m.time[-1]) for m in record.outputs if len(m.time)), default=record.begin)
    found: list[Problem] = []
    for name, signal in record.inputs.items():
        if isinstance(record.case.columns_of_inputs.get(name), InputColumn):
            found += _ends(record, name, signal, last)
    return found


def _ends(record: Record, name: str, signal: Signal, last: float) -> Iterator[Problem]:
    where = f"case '{record.case.name}'"
    first, end = float(signal.time[0]), float(signal.time[-1])
    if first > record.begin:
        yield Problem(
            "C027",
            where,
            f"input '{name}' has its first sample at {first:g}, after the simulation begins at "
            f"{record.begin:g}",
            f"write begin = {first:g}, or fill the column",
        )
    interval = float(np.median(np.diff(signal.time))) if len(signal.time) > 1 else 0.0
    if end + interval * (1 + 1e-9) < last:
        yield Problem(
            "C028",
            where,
            f"input '{name}' has its last sample at {end:g}, but the outputs go on until {last:g}",
            f"write to = {end:g}, or fill the column",
            # a column of steps may say so once and then nothing, and that is not a mistake
            warning=signal.hold is Hold.PREVIOUS,
        )


def check_units(case: Case, known: Mapping[str, Quantity]) -> list[Problem]:
    """Columns whose unit is another one than the model's."""
    units = data_of(case).units
    found: list[Problem] = []
    given: dict[str, InputColumn | OutputColumn] = {
        n: c for n, c in case.columns_of_inputs.items() if isinstance(c, InputColumn)
    }
    for word, columns in (("input", given), ("output", case.columns_of_outputs)):
        for name, column in columns.items():
            quantity = known.get(name)
            if (
                quantity is None
                or quantity.role in FIXED
                or (quantity.role == "input") != (word == "input")
            ):
                continue  # told elsewhere
            unit, wanted = units.get(column.column, ""), quantity.unit
            silent = column.scale, column.offset, column.unit
            if unit and wanted and all(s is None for s in silent):
                found += _disagreement(case, f"{word} '{name}'", column.column, unit, wanted)
    return found


def _disagreement(case: Case, what: str, column: str, unit: str, wanted: str) -> Iterator[Problem]:
    where = f"case '{case.name}'"
    message = f"{what}: column '{column}' is in {unit}, the model wants {wanted}"
    try:
        change = conversion(unit, wanted)
    except UnknownUnit as unknown:
        advice = f'write unit = "{wanted}" where they are the same, or scale and offset'
        if isinstance(unknown, AmbiguousUnit):
            message += ": that may mean the same, or turns where radians are wanted (2π)"
        else:
            message += f", and '{unknown}' is not a unit known here"
            message += did_you_mean(str(unknown), known_units())
        yield Problem("C030", where, message, advice, warning=True)
        return
    if change is None:
        advice = f'take another column, or write unit = "{wanted}" where the file is wrong'
        yield Problem("C029", where, f"{message}, which measures something else", advice)
    elif not change.is_nothing:
        advice = f'write {{ column = "{column}", {change.text} }}'
        yield Problem("C029", where, message, advice)
