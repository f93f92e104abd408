"""Joining: tables that continue each other as one record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.data.calendar import Calendar
from estimica.data.cells import UncountedCells
from estimica.data.table import Data

#: usual steps after which a table that follows another still continues it (chosen: a logger that
#: begins a new file loses a sample or two)
NEXT = 5.0


def joined(tables: Sequence[Data], time: str | None = None) -> Data:
    """All rows in order of time; a column that a table has not is missing there.

    Dates count from the first of all. Tables that overlap, or that each begin anew at zero, are
    no parts of one record and refused.
    """
    name = tables[0].time_name(time)
    ordered = sorted(tables, key=lambda t: _begin(t, name, tables[0]))
    stamps = [_stamps(t, name, ordered[0]) for t in ordered]
    for k in range(1, len(ordered)):
        if stamps[k][0] <= stamps[k - 1][-1]:
            before, behind = ordered[k - 1].where, ordered[k].where
            raise DataError(
                "D062",
                f"{behind} begins at {stamps[k][0]:.10g} s, before {before} ends at "
                f"{stamps[k - 1][-1]:.10g} s, so they are not parts of one record; leave join out",
            )
    names = dict.fromkeys(n for t in ordered for n in t.columns)
    columns = {n: np.concatenate([_column(t, n) for t in ordered]) for n in names if n != name}
    units = {n: {t.units[n] for t in ordered if n in t.units} for n in names}
    for n, own in units.items():
        if len(own) > 1:
            told = " and ".join(sorted(own))
            raise DataError("D063", f"column '{n}' is in {told} in different files; leave join out")
    first = ordered[0]
    return Data(
        first.source,
        {name: np.concatenate(stamps), **columns},
        {n: own.pop() for n, own in units.items() if own},
        {n: o for n, o in first.origins.items() if n == name},
        {n: why for t in ordered for n, why in t.texts.items() if n not in names},
        {n: v for n, v in first.constants.items() if all(t.constants.get(n) == v for t in ordered)},
        tuple(dict.fromkeys(note for t in ordered for note in t.notes)),
        {n: m for n in names if (m := _marked(ordered, n)) is not None},
        parts=tuple(t.source for t in ordered),
    )


def is_continued(tables: Sequence[Data], time: str | None = None) -> bool:
    """Whether tables of the same columns follow each other without a pause."""
    if len(tables) < 2 or len({frozenset(t.columns) for t in tables}) > 1:
        return False
    try:
        name = tables[0].time_name(time)
        ordered = sorted(tables, key=lambda t: _begin(t, name, tables[0]))
        stamps = [_stamps(t, name, ordered[0]) for t in ordered]
    except DataError:
        return False
    if any(len(s) < 2 or not np.isfinite(s).all() for s in stamps):
        return False
    step = float(np.median(np.concatenate([np.diff(s) for s in stamps])))
    pauses = [b[0] - a[-1] for a, b in pairwise(stamps)]
    return step > 0 and all(0 < p <= NEXT * step for p in pauses)


def _begin(table: Data, name: str, first: Data) -> float:
    stamps = _stamps(table, name, first)
    return float(stamps[0]) if len(stamps) else 0.0


def _stamps(table: Data, name: str, first: Data) -> Vector:
    """The times of a table, counted as in the first one."""
    stamps, own, origin = table.column(name), table.origins.get(name), first.origins.get(name)
    if (own is None) != (origin is None):
        raise DataError(
            "D062", f"'{name}' holds dates in one of {first.where} and {table.where} only"
        )
    if own is None or origin is None:
        return stamps
    there, here = Calendar.of(own).origin, Calendar.of(origin).origin
    if (there.tzinfo is None) != (here.tzinfo is None):
        raise DataError(
            "D062", f"dates in one of {first.where} and {table.where} only have a time zone"
        )
    return np.asarray(stamps + (there - here).total_seconds(), np.float64)


def _column(table: Data, name: str) -> Vector:
    if name in table.columns:
        return table.columns[name]
    return np.full(len(table), np.nan)


def _marked(tables: Sequence[Data], name: str) -> UncountedCells | None:
    """Texts of a column that were taken for *not sampled*, in rows of all tables together."""
    texts: Counter[str] = Counter()
    first, rows = 0, 0
    for table in tables:
        own = table.marked.get(name)
        if own is not None:
            first = first or rows + own.first
            texts.update(own.texts)
        rows += len(table)
    return UncountedCells(first, dict(texts)) if texts else None
