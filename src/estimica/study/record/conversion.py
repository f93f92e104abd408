"""Conversion: columns whose unit is known are brought to the model's, and what that means is told.

The unit of a column is what the study says (`unit`), what its header says, or how its name ends
(`n_rpm`), in this order. A column with `scale` or `offset` and without `unit` is in the model's
unit already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from estimica.base.problems import Fix, Problem
from estimica.base.quantities import Quantity
from estimica.base.suggest import close_names, did_you_mean
from estimica.data.table import Data
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.units import (
    AmbiguousUnit,
    Conversion,
    UnknownUnit,
    conversion,
    known_units,
    meant_unit,
    normalised_spelling,
    unit_of_name,
)

Column = InputColumn | OutputColumn
FIXED = ("parameter", "constant")
#: what to do where a time that is called minutes is one of seconds, or the model counts in minutes
KEEP_TIME = "write time_scale = 1 to keep the numbers"
C = TypeVar("C", InputColumn, OutputColumn)
#: names of what may be a difference of temperatures
_DIFFERENCE = re.compile(r"(^|[._ ])(d_?T|[dD]elta_?T|ΔT)(?![a-z])|[dD]iff")


@dataclass(frozen=True)
class UnitChange:
    """A column that is converted: from which unit to which, and how its unit is known."""

    variable: str
    column: str
    given: str
    wanted: str
    change: Conversion
    by_name: bool = False

    @property
    def text(self) -> str:
        """Such as "column 'temp' is converted from degC to K (+ 273.15) for 'T'"."""
        how = f" (its name ends with {self.given})" if self.by_name else ""
        return (
            f"column '{self.column}' is converted from {self.given} to {self.wanted}{how} for "
            f"'{self.variable}': {self.change.text}"
        )


@dataclass(frozen=True)
class ConvertedCase:
    """A case in the model's units: its columns have the scale and offset that this takes."""

    case: Case
    changes: tuple[UnitChange, ...] = ()
    problems: tuple[Problem, ...] = ()


def in_model_units(case: Case, data: Data, known: Mapping[str, Quantity]) -> ConvertedCase:
    """The case with every column converted that has a known unit other than the model's."""
    if not known or case.is_frequency:
        return ConvertedCase(case)
    work = _Conversions(case, data, known)
    inputs = {
        n: work.converted("input", n, c) if isinstance(c, InputColumn) else c
        for n, c in case.columns_of_inputs.items()
    }
    outputs = {n: work.converted("output", n, c) for n, c in case.columns_of_outputs.items()}
    work.tell_without_unit()
    told = (*work.problems, *(_note(work.where, c) for c in work.changes))
    if not work.changes:
        return ConvertedCase(case, (), told)
    return ConvertedCase(
        replace(
            case,
            inputs={n: inputs[n] if c != case.inputs[n] else c for n, c in inputs.items()},
            outputs={**case.outputs, **outputs},
        ),
        tuple(work.changes),
        told,
    )


def _note(where: str, change: UnitChange) -> Problem:
    return Problem("C130", where, change.text, warning=True, note=True)


class _Conversions:
    """The columns of a case, one after the other, with what there is to tell of them."""

    def __init__(self, case: Case, data: Data, known: Mapping[str, Quantity]) -> None:
        self.where = f"case '{case.name}'"
        self.data, self.known = data, known
        self.changes: list[UnitChange] = []
        self.problems: list[Problem] = []
        # of the input or output that is looked at
        self._word, self._name, self._scaled = "", "", False
        self.without: dict[str, str] = {}  # variables that have no unit, and the column's

    def _fix(self, label: str, **changes: object) -> Fix:
        return Fix(label, self._word, self._name, tuple(changes.items()))

    def converted(self, word: str, name: str, column: C) -> C:
        """The column with the scale and offset that its unit asks for."""
        self._word, self._name = word, name
        self._scaled = column.scale is not None or column.offset is not None
        quantity = self.known.get(name)
        measured_input = word == "output" and quantity is not None and quantity.role == "input"
        if quantity is None or quantity.role in FIXED or measured_input:
            return column  # told elsewhere
        unit, by_name = self._unit(f"{word} '{name}'", column, quantity.unit)
        if not unit:
            return column
        if not quantity.unit:
            if normalised_spelling(unit) != "1" and not by_name:
                self.without[name] = unit
            return column
        change = self._change(f"{word} '{name}'", column.column, unit, quantity, by_name)
        if change is None or change.is_nothing:
            return column
        self.changes.append(UnitChange(name, column.column, unit, quantity.unit, change, by_name))
        scale = change.scale * (1.0 if column.scale is None else column.scale)
        offset = change.scale * (column.offset or 0.0) + change.offset
        return replace(column, scale=scale, offset=offset or None, unit=quantity.unit)

    def tell_without_unit(self) -> None:
        """Variables of the model that have no unit: their columns stay as they are."""
        if not self.without:
            return
        listed = ", ".join(f"'{n}' ({u} in the data)" for n, u in self.without.items())
        message = f"the model gives no unit for {listed}; the numbers are taken as they are"
        self.problems.append(Problem("C131", self.where, message, warning=True, note=True))

    def _unit(self, what: str, column: Column, wanted: str) -> tuple[str, bool]:
        """The unit of a column after its own scaling, and whether only its name says so."""
        header = self.data.units.get(column.column, "")
        scaled = column.scale is not None or column.offset is not None
        if column.unit is not None:
            if header and not scaled and not _same(header, column.unit):
                message = (
                    f"{what}: the file says that column '{column.column}' is in {header}, the "
                    f"study says {column.unit}; the study is followed"
                )
                advice = f'leave out unit, or write unit = "{header}", if the file is right'
                right = not wanted or _measures(header, wanted)  # else it is no way out
                fixes = (self._fix(f"Take it as {header}", unit=header),) if right else ()
                self.problems.append(
                    Problem("C132", self.where, message, advice, warning=True, fixes=fixes)
                )
            return column.unit, False
        if scaled:
            return "", False
        return (header, False) if header else (unit_of_name(column.column), True)

    def _change(
        self, what: str, column: str, unit: str, quantity: Quantity, by_name: bool
    ) -> Conversion | None:
        wanted, difference = quantity.unit, quantity.difference
        try:
            change = conversion(unit, wanted, difference=bool(difference))
        except UnknownUnit as unknown:
            if not by_name:
                self.problems.append(self._unknown(what, column, unit, wanted, unknown))
            return None
        if change is None:
            if not by_name:
                self.problems.append(self._contradiction(what, column, unit, wanted))
            return None
        if change.offset and difference is None and may_be_difference(quantity, column):
            message = (
                f"{what}: column '{column}' is in {unit}, the model wants {wanted}: that may be a "
                "temperature, or a difference of two"
            )
            rate = conversion(unit, wanted, difference=True)
            plain = "scale = 1" if rate is None or rate.is_nothing else rate.text
            advice = f"write {change.text} for a temperature, {plain} for a difference"
            factor = 1.0 if rate is None else rate.scale
            fixes: tuple[Fix, ...] = (
                self._fix("It is a temperature", unit=None, scale=factor, offset=change.offset),
                self._fix("It is a difference", unit=None, scale=factor),
            )
            fixes = () if self._scaled else fixes  # whoever has scaled it knows how it goes on
            self.problems.append(Problem("C133", self.where, message, advice, fixes=fixes))
            return None
        return change

    def _unknown(
        self, what: str, column: str, unit: str, wanted: str, unknown: UnknownUnit
    ) -> Problem:
        message = f"{what}: column '{column}' is in {unit}, the model wants {wanted}"
        advice = f'write unit = "{wanted}" where they are the same, or scale and offset'
        if isinstance(unknown, AmbiguousUnit):
            message += ": that may mean the same, or turns where radians are wanted (2π)"
        else:
            message += f", and '{unknown}' is not a unit known here"
            message += did_you_mean(str(unknown), known_units())
        near = [u for u in close_names(str(unknown), known_units()) if _measures(u, wanted)][:1]
        if isinstance(unknown, AmbiguousUnit):
            near = []
        fixes = [self._fix(f"Take it as {u}", unit=u) for u in dict.fromkeys([*near, wanted])]
        return Problem("C030", self.where, message, advice, warning=True, fixes=tuple(fixes))

    def _contradiction(self, what: str, column: str, unit: str, wanted: str) -> Problem:
        message = (
            f"{what}: column '{column}' is in {unit}, the model wants {wanted}, which measures "
            "something else"
        )
        advice = f'take another column, or write unit = "{wanted}" where the file is wrong'
        meant = meant_unit(unit, wanted)
        if meant is not None:
            advice = f'write unit = "{meant}" if that is what {unit} stands for'
        fix = self._fix(f"Take it as {meant or wanted}", unit=meant or wanted)
        return Problem("C029", self.where, message, advice, fixes=(fix,))


def _measures(unit: str, wanted: str) -> bool:
    """Whether a unit can be converted to the wanted one."""
    try:
        return conversion(unit, wanted) is not None
    except UnknownUnit:
        return False


def _same(one: str, other: str) -> bool:
    try:
        change = conversion(one, other)
    except UnknownUnit:
        return False
    return change is not None and change.is_nothing


def may_be_difference(quantity: Quantity, column: str) -> bool:
    """Whether the names or the description speak of a difference of temperatures."""
    called = any(_DIFFERENCE.search(n) for n in (quantity.name, column))
    return called or "difference" in quantity.description.lower()


def time_change(case: Case, data: Data, name: str) -> UnitChange | None:
    """How the stamps of a case become seconds, where neither it nor dates say so already."""
    if case.time_scale is not None or name in data.origins:
        return None
    header = data.units.get(name, "")
    unit = header or unit_of_name(name)
    try:
        change = conversion(unit, "s") if unit else None
    except UnknownUnit:
        return None
    if change is None or change.is_nothing:
        return None
    return UnitChange("time", name, unit, "s", change, not header)


def time_problems(case: Case, data: Data, name: str) -> list[Problem]:
    """What is to be said of the unit of the stamps."""
    where = f"case '{case.name}'"
    change = time_change(case, data, name)
    if change is not None:
        return [Problem("C019", where, change.text, KEEP_TIME, warning=True, note=True)]
    unit = data.units.get(name, "")
    if not unit or name in data.origins or case.time_scale is not None:
        return []
    try:
        if conversion(unit, "s") is not None:
            return []
        message = f"time '{name}' of {data.where} is in {unit}, which is not a time"
        advice = "name another column with time, or write time_scale = 1 where the file is wrong"
        spectral = conversion(unit, "Hz") is not None
        if spectral:
            advice = f'for a frequency response write frequency = "{name}" in place of time'
        return [Problem("C019", where, message, advice, warning=spectral)]
    except UnknownUnit as unknown:
        hint = did_you_mean(str(unknown), ["s", "ms", "min", "h", "d"])
        message = f"time '{name}' of {data.where} is in {unit}, which is not a unit known here"
        advice = "write time_scale, the seconds in one of it"
        return [Problem("C030", where, f"{message}{hint}", advice, warning=True)]


def deviation_factor(data: Data, name: str, column: str) -> float:
    """The factor from the unit of a column of deviations to that of the column they belong to."""
    change = _between(data, name, column, difference=True)
    return 1.0 if change is None else change.scale


def _between(data: Data, name: str, column: str, *, difference: bool) -> Conversion | None:
    own, of_column = data.units.get(name, ""), data.units.get(column, "")
    try:
        return conversion(own, of_column, difference=difference) if own and of_column else None
    except UnknownUnit:
        return None


def limit_change(data: Data, name: str, column: str) -> Conversion:
    """From the unit of a column of limits to that of the column that they limit."""
    return _between(data, name, column, difference=False) or Conversion(1.0, 0.0)
