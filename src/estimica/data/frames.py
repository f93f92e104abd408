"""A pandas table as Data: each column as numbers, seconds, two real columns, or a complaint."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.data.cells import (
    MARKS,
    MISSING,
    NANS,
    CellKind,
    UncountedCells,
    cell_kind,
    looks_grouped,
    short_cell,
)
from estimica.data.dates import (
    NotADate,
    is_clock,
    is_date,
    joined_stamps,
    read_dates,
    read_serial_dates,
    seconds_of,
    zoned_seconds,
)
from estimica.data.headers import column_names
from estimica.data.reading import PLAIN, Reading
from estimica.data.table import Data, time_column_among

if TYPE_CHECKING:
    import pandas as pd


class NotNumeric(ValueError):
    """A column that holds something else: the position of the first such cell, and what it is."""

    def __init__(self, row: int, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.row = row
        self.why = why
        self.advice = advice


def numbers_of(
    series: pd.Series | Vector, decimal: str = ".", reading: Reading = PLAIN
) -> tuple[Vector, str]:
    """A column as float64, and the origin of its seconds if it held dates."""
    if isinstance(series, np.ndarray):  # of numbers
        return series, ""
    from pandas.api import types

    if types.is_datetime64_any_dtype(series.dtype):
        if reading.timezone is not None:
            return zoned_seconds(series, reading.timezone)
        return seconds_of(series)
    if types.is_timedelta64_dtype(series.dtype):
        return series.dt.total_seconds().to_numpy(np.float64), ""
    if types.is_complex_dtype(series.dtype):
        raise NotNumeric(0, f"{series.iloc[0] if len(series) else ''} is complex")
    if types.is_numeric_dtype(series.dtype) or types.is_bool_dtype(series.dtype):
        return series.to_numpy(np.float64, na_value=np.nan), ""
    return _parsed(series, decimal, reading)


def data_from_columns(
    source: str,
    headers: Sequence[str],
    columns: Sequence[pd.Series | Vector],
    *,
    units: Sequence[str] = (),
    decimal: str = ".",
    place: Callable[[int], str] = lambda row: f"row {row + 1}",
    notes: Sequence[str] = (),
    reading: Reading = PLAIN,
) -> Data:
    """Data of columns under `headers`, of pandas or arrays of float64.

    `place` says where the user finds a row.
    """
    names, found_units, changed = column_names(headers)
    found_units |= {n: u for n, u in zip(names, units, strict=False) if u}
    joined, said = joined_stamps(source, dict(zip(names, columns, strict=True)), reading)
    numbers: dict[str, Vector] = {}
    origins: dict[str, str] = {}
    texts: dict[str, str] = {}
    marked: dict[str, UncountedCells] = {}
    stamps = reading.time or time_column_among(names)
    for name, series in joined.items():
        try:
            # a stamp that cannot be read is not one that was left out
            own = replace(reading, bad_cells=0.0) if name == stamps else reading
            values, origin = numbers_of(series, decimal, own)
            if name == stamps and not origin:
                values, origin = _stamps(source, name, values, found_units, reading)
            gaps = uncounted_cells_of(series, reading)
            numbers[name], gaps = _without_codes(values, gaps, reading)
            marked |= {name: gaps} if gaps else {}
        except (NotNumeric, NotADate) as bad:
            parts = real_and_imaginary(series)
            if parts is not None:
                for half, values in zip(real_and_imaginary_names(name), parts, strict=True):
                    numbers[half] = values
                    found_units |= {half: found_units[name]} if name in found_units else {}
                continue
            texts[name] = f"{bad.why} in {place(bad.row)}{bad.advice}"
            continue
        if origin:
            origins[name] = origin
    return Data(
        source,
        numbers,
        found_units,
        origins,
        texts,
        notes=(*notes, *changed, *said),
        marked=marked,
    )


#: days since 1900 that Excel writes for dates of 1954 to 2119
_SERIAL_DAYS = (20_000.0, 80_000.0)
_CALLED_DATES = ("date", "datum", "timestamp", "time stamp", "datetime", "date time", "zeitstempel")


def _stamps(
    source: str, name: str, values: Vector, units: Mapping[str, str], reading: Reading
) -> tuple[Vector, str]:
    """Stamps that are numbers: as they are, or dates where that is asked for."""
    if reading.dates in ("excel", "unix", "unix-ms"):
        return read_serial_dates(values, reading)
    there = values[np.isfinite(values)]
    low, high = _SERIAL_DAYS
    called = name.casefold() in _CALLED_DATES and name not in units
    if called and len(there) > 1 and (there > low).all() and (there < high).all():
        raise NotNumeric(
            0,
            f"'{values[0]:.10g}'",
            ', which looks like a date as Excel counts days; write dates = "excel" in [reading], '
            "or give the column a unit",
        )
    return values, ""


def _without_codes(
    values: Vector, gaps: UncountedCells | None, reading: Reading
) -> tuple[Vector, UncountedCells | None]:
    """Numbers that stand for *not sampled* are missing, and counted."""
    codes = [c for c in reading.missing or () if not isinstance(c, str)]
    coded = np.isin(values, codes) if codes else np.zeros(0, bool)
    if not coded.any():
        return values, gaps
    counts = {f"{c:g}": int(np.count_nonzero(values == c)) for c in codes}
    rows = [int(np.flatnonzero(coded)[0]) + 1] + ([gaps.first] if gaps else [])
    texts = {**(gaps.texts if gaps else {}), **{t: n for t, n in counts.items() if n}}
    return np.where(coded, np.nan, values), UncountedCells(min(rows), texts)


def uncounted_cells_of(
    series: pd.Series | Vector, reading: Reading = PLAIN
) -> UncountedCells | None:
    """Texts in a column of numbers that are taken for *not sampled*."""
    if isinstance(series, np.ndarray):  # of numbers
        return None
    import pandas as pd

    if not isinstance(series.dtype, pd.StringDtype) and series.dtype != object:
        return None
    cells = series.reset_index(drop=True)
    texts = cells[cells.map(_is_str).astype(bool)].map(str.strip)
    odd = texts[~texts.isin(("", *NANS)) & texts.map(_is_word)]
    marks = (*MARKS, *(c for c in reading.missing or () if isinstance(c, str)))
    odd = texts[texts.isin(marks) | texts.index.isin(odd.index)]
    counts = {str(t): int(n) for t, n in odd.value_counts().items()}
    return UncountedCells(int(odd.index[0]) + 1, counts) if counts else None


def _is_word(cell: str) -> bool:
    """Whether a cell is neither a number nor a date, in whatever way these are written."""
    return (
        cell_kind(cell) is CellKind.TEXT
        and cell_kind(cell, ",") is CellKind.TEXT
        and not looks_grouped(cell)
        and not is_clock(cell)
    )


def data_from_frame(source: str, frame: pd.DataFrame, reading: Reading = PLAIN) -> Data:
    """Data of a DataFrame; its index is the time if it carries one and no column does."""
    headers = [_header(c) for c in frame.columns]
    columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
    if time_column_among(column_names(headers)[0]) is None and is_time_index(frame.index):
        name = str(frame.index.name or "time")
        headers.insert(0, name if time_column_among([name]) else "time")
        columns.insert(0, frame.index.to_series())
    return data_from_columns(source, headers, columns, reading=reading)


def is_time_index(index: pd.Index) -> bool:
    """Whether an index holds numbers or dates that somebody gave, not mere row numbers."""
    import pandas as pd
    from pandas.api import types

    if isinstance(index, pd.MultiIndex):
        return False
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return not (index.start == 0 and index.step == 1)
    return bool(
        types.is_numeric_dtype(index.dtype)
        or types.is_datetime64_any_dtype(index.dtype)
        or types.is_timedelta64_dtype(index.dtype)
    )


def _header(label: object) -> str:
    return " ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _parsed(series: pd.Series, decimal: str, reading: Reading) -> tuple[Vector, str]:
    import pandas as pd

    series = series.reset_index(drop=True)
    if isinstance(series.dtype, pd.StringDtype) and series.notna().any():
        with contextlib.suppress(NotADate):  # the long way below says what is wrong, and where
            if is_date(series[series.first_valid_index()]):
                return read_dates(series, reading)
    cells = series.astype(object)
    texts = cells.map(lambda cell: _stripped(cell, reading))
    numbers = pd.to_numeric(_plain_digits(texts, decimal, reading.thousands), errors="coerce")
    bad = (numbers.isna() & texts.notna()).to_numpy()
    if not bad.any():
        return np.asarray(numbers, np.float64), ""
    row = int(np.argmax(bad))
    cell = texts[row]
    if row == int(texts.first_valid_index()):
        if isinstance(cell, str) and is_date(cell) and texts.dropna().map(_is_str).all():
            return read_dates(texts, reading)
        stamps = _instants(texts)
        if stamps is not None:
            return numbers_of(stamps, decimal, reading)
    _require_words(texts, bad, decimal, reading)
    return np.asarray(numbers, np.float64), ""


def _plain_digits(texts: pd.Series, decimal: str, thousands: str | None) -> pd.Series:
    """Numbers as Python writes them: no sign between thousands, a point before decimals."""
    if thousands is None and decimal != ",":
        return texts
    plain = texts
    words = texts.map(_is_str)
    if thousands is not None:
        for sign in (thousands, *(("\u00a0", "\u202f") if thousands == " " else ())):
            plain = plain.str.replace(sign, "", regex=False).where(words, plain)
    if decimal == ",":
        plain = plain.str.replace(",", ".", regex=False).where(words, plain)
    return plain


def _require_words(texts: pd.Series, bad: Flags, decimal: str, reading: Reading) -> None:
    """Refuse cells that are not numbers, but for a few words such as `Err`."""
    rows = [int(k) for k in np.flatnonzero(bad)]
    for row in rows:
        cell = texts[row]
        other = "." if decimal == "," else ","
        if not isinstance(cell, str) or _is_word(cell):
            continue
        advice = ""
        if cell_kind(cell, other) is CellKind.NUMBER and not looks_grouped(cell):
            advice = f'; if it is a number, write decimal = "{other}" in [reading]'
        elif looks_grouped(cell):
            sign = next(c for c in cell if not c.isdigit() and c not in "+-")
            advice = f'; for thousands, write thousands = "{sign}" in [reading]'
        raise NotNumeric(row, short_cell(cell), advice)
    first, count, filled = rows[0], len(rows), int(texts.notna().sum())
    if count <= reading.bad_cells * filled and _is_str(texts[first]):
        return
    share, advice = count / filled, ""
    if share < 0.5 and reading.bad_cells:  # more than half of words is no column of numbers
        limit = math.ceil(100 * share) / 100
        advice = (
            f" ({count} of {filled} cells are not numbers, at most {reading.bad_cells:.3g} of them "
            f"may be; write bad_cells = {limit:g} in [reading] to leave them out)"
        )
    raise NotNumeric(first, short_cell(texts[first]), advice)


def _instants(cells: pd.Series) -> pd.Series | None:
    """Cells that are date objects, as Excel sheets hold them."""
    import datetime

    import pandas as pd

    if not cells.dropna().map(lambda c: isinstance(c, (datetime.date, np.datetime64))).all():
        return None
    try:
        return pd.to_datetime(cells, errors="coerce")
    except (ValueError, TypeError):
        return None


def _stripped(cell: object, reading: Reading) -> object:
    if isinstance(cell, str):
        cell = cell.strip()
        return None if not cell or cell in MISSING or cell in (reading.missing or ()) else cell
    return cell


def _is_str(cell: object) -> bool:
    return isinstance(cell, str)


_IMAGINARY = re.compile(r"[ij]$", re.IGNORECASE)


def real_and_imaginary_names(name: str) -> tuple[str, str]:
    """What the two halves of a complex column are called."""
    return f"Re({name})", f"Im({name})"


def real_and_imaginary(series: pd.Series) -> tuple[Vector, Vector] | None:
    """Real and imaginary parts of a column of complex numbers; None where it holds others."""
    from pandas.api import types

    if types.is_complex_dtype(series.dtype):
        values = series.to_numpy(np.complex128)
        return np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)
    cells = [_complex(c) for c in series.tolist()]
    if not cells or any(c is None for c in cells):
        return None
    found = np.array(cells, np.complex128)
    return np.ascontiguousarray(found.real), np.ascontiguousarray(found.imag)


def _complex(cell: Any) -> complex | None:
    """A text such as `1.5-2j`, `(1.5-2j)` or `1.5 - 2i`; an empty cell is not sampled."""
    if isinstance(cell, complex):
        return cell
    if not isinstance(cell, str):
        return complex("nan") if cell is None or cell != cell else None
    text = re.sub(r"\s", "", cell).strip("()")
    if not _IMAGINARY.search(text):
        return None
    try:
        return complex(_IMAGINARY.sub("j", text))
    except ValueError:
        return None
