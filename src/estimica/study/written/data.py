"""Data of cases as a study file names them: their files, or a file of their own beside it."""

from __future__ import annotations

import re
import tempfile
from decimal import Decimal
from os import PathLike
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, StudyError
from estimica.base.files.read import read_bytes
from estimica.data.joining import joined
from estimica.data.readers import read_table
from estimica.data.table import Data
from estimica.data.writers import write_csv
from estimica.study.case import Case
from estimica.study.reading import Reading
from estimica.study.written.places import StudyPlace
from estimica.study.written.values import Table, table_of

_ZONED = re.compile(r"(.*)\[(.+)\]\Z")  # an origin in a time zone, as `data.dates` writes it
#: how finely dates are written, by the digits of a second that they need; pandas knows no finer
_GRAINS = {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}


class CaseData:
    """The data of the cases of one study; what several cases share is written once."""

    def __init__(self, place: StudyPlace) -> None:
        self._place = place
        self._known: dict[int, tuple[str, Reading | None]] = {}
        self._read: dict[tuple[object, ...], Data | None] = {}

    def table(self, case: Case) -> Table:
        """The keys of a case that say where its data are, and how they are read."""
        data = case.data
        if data is None:
            return self._table(case, None)
        if isinstance(data, (str, PathLike)):
            return self._table(case, self._place.named(data))
        if isinstance(data, tuple):
            return self._table(case, [self._place.named(f) for f in data])
        assert isinstance(data, Data)
        if self._is_in_files(case, data):
            parts = [self._place.named(f) for f in data.parts]
            return self._table(case, parts or self._place.named(data.source))
        if id(data) not in self._known:
            self._known[id(data)] = self._beside(case, data)
        name, reading = self._known[id(data)]
        return {"data": name} | (_reading(reading, case) if reading else {})

    def _table(self, case: Case, data: str | list[str] | None) -> Table:
        table: Table = {} if data is None else {"data": data}
        table |= {"join": True} if case.join else {}
        table |= {"sheet": case.sheet} if case.sheet is not None else {}
        return table | (_reading(case.reading, case) if case.reading is not None else {})

    def _is_in_files(self, case: Case, data: Data) -> bool:
        """Whether reading its files as the case says gives the same table again."""
        if data.parts and not case.join:
            return False
        sources = data.parts or (data.source,)
        reading = (case.reading or Reading()).options(case.time)
        key = (sources, case.sheet, reading)
        if key not in self._read:
            try:
                pieces = [read_table(Path(f), case.sheet, reading) for f in sources]
                self._read[key] = joined(pieces, case.time) if data.parts else pieces[0]
            except (EstimicaError, OSError):
                self._read[key] = None
        again = self._read[key]
        return again is not None and is_same_table(data, again, case.time)

    def _beside(self, case: Case, data: Data) -> tuple[str, Reading | None]:
        """The name of a new file that holds the table, and how it is to be read."""
        name = self._place.unused_name(case.name, ".csv")
        zoned = [m for o in data.origins.values() if (m := _ZONED.match(o))]
        reading = Reading(timezone=zoned[0][2]) if zoned else None
        try:
            with tempfile.TemporaryDirectory() as folder:
                draft = Path(folder) / name
                texts = {n: _dates(data.columns[n], o) for n, o in data.origins.items()}
                numbers = {n: v for n, v in data.columns.items() if n not in texts}
                write_csv(draft, numbers, units=data.units, texts=texts)
                again = read_table(draft, None, (reading or Reading()).options(case.time))
                content = read_bytes(draft, draft.stat().st_size + 1)  # our own, of any size
            why = "" if is_same_table(data, again, case.time) else "it reads back differently"
        except EstimicaError as error:
            why = error.message.replace(str(draft), name)
        if why:
            raise StudyError(
                "Q182",
                f"case '{case.name}': its data cannot be written as '{name}': {why}; save them to "
                "a file yourself and give the case its path",
            )
        return self._place.put(name, content), reading


def is_same_table(one: Data, other: Data, time: str | None) -> bool:
    """Whether two tables hold the same, to the last bit: columns, units, dates and time."""
    if one.columns.keys() != other.columns.keys() or dict(one.origins) != dict(other.origins):
        return False
    if _units(one) != _units(other) or _time(one, time) != _time(other, time):
        return False
    return all(np.array_equal(v, other.columns[n], equal_nan=True) for n, v in one.columns.items())


def _units(data: Data) -> dict[str, str]:
    return {n: u for n, u in data.units.items() if u and n in data.columns}


def _time(data: Data, given: str | None) -> str | None:
    try:
        return data.time_name(given)
    except EstimicaError:
        return None  # tables of frequencies and of points have none


def _reading(reading: Reading, case: Case) -> Table:
    return {"reading": table_of(reading, (f"case '{case.name}'", "reading"))}


def _dates(seconds: Vector, origin: str) -> list[str]:
    """Seconds since an origin as dates, all written alike."""
    import pandas as pd

    zoned = _ZONED.match(origin)
    begin = pd.Timestamp(zoned[1] if zoned else origin)
    # by their decimal digits: the product of two floats would be some nanoseconds off
    exact = [None if s != s else Decimal(repr(s)) for s in seconds.tolist()]
    stamps = [
        None if s is None else begin + pd.Timedelta(int((s * 10**9).to_integral_value()), "ns")
        for s in exact
    ]
    nanoseconds = [t.microsecond * 1000 + t.nanosecond for t in stamps if t is not None]
    grain = next(
        word for n, word in _GRAINS.items() if all(ns % 10 ** (9 - n) == 0 for ns in nanoseconds)
    )
    return ["" if t is None else t.isoformat(timespec=grain) for t in stamps]
