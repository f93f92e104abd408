"""A pandas table as Data: each column as numbers, seconds, two real columns, or a complaint."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.data.cells import MARKS, MISSING, CellKind, UncountedCells, cell_kind, short_cell
from estimica.data.headers import column_names
from estimica.data.table import Data, time_column_among

if TYPE_CHECKING:
    import pandas as pd


class NotNumeric(ValueError):
    """A column that holds something else: the position of the first such cell, and what it is."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


def numbers_of(series: pd.Series, decimal: str = ".") -> tuple[Vector, str]:
    """A column as float64, and the origin of its seconds if it held dates."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(series.dtype):
        return seconds_of(series)
    if types.is_timedelta64_dtype(series.dtype):
        return series.dt.total_seconds().to_numpy(np.float64), ""
    if types.is_complex_dtype(series.dtype):
        raise NotNumeric(0, f"{series.iloc[0] if len(series) else ''} is complex")
    if types.is_numeric_dtype(series.dtype) or types.is_bool_dtype(series.dtype):
        return series.to_numpy(np.float64, na_value=np.nan), ""
    return _parsed(series, decimal)


def data_from_columns(
    source: str,
    headers: Sequence[str],
    columns: Sequence[pd.Series],
    *,
    units: Sequence[str] = (),
    decimal: str = ".",
    place: Callable[[int], str] = lambda row: f"row {row + 1}",
    notes: Sequence[str] = (),
) -> Data:
    """Data of pandas columns under `headers`; `place` says where the user finds a row."""
    names, found_units, changed = column_names(headers)
    found_units |= {n: u for n, u in zip(names, units, strict=False) if u}
    numbers: dict[str, Vector] = {}
    origins: dict[str, str] = {}
    texts: dict[str, str] = {}
    marked: dict[str, UncountedCells] = {}
    for name, series in zip(names, columns, strict=True):
        try:
            numbers[name], origin = numbers_of(series, decimal)
            gaps = uncounted_cells_of(series)
            marked |= {name: gaps} if gaps else {}
        except (NotNumeric, NotADate) as bad:
            parts = real_and_imaginary(series)
            if parts is not None:
                for half, values in zip(real_and_imaginary_names(name), parts, strict=True):
                    numbers[half] = values
                    found_units |= {half: found_units[name]} if name in found_units else {}
                continue
            texts[name] = f"{bad.why} in {place(bad.row)}"
            continue
        if origin:
            origins[name] = origin
    said = (*notes, *changed)
    return Data(source, numbers, found_units, origins, texts, notes=said, marked=marked)


def uncounted_cells_of(series: pd.Series) -> UncountedCells | None:
    """Texts in a column of numbers that are taken for *not sampled*."""
    import pandas as pd

    if not isinstance(series.dtype, pd.StringDtype) and series.dtype != object:
        return None
    cells = series.reset_index(drop=True)
    texts = cells[cells.map(_is_str).astype(bool)].map(str.strip)
    texts = texts[texts.isin(MARKS)]
    counts = {str(t): int(n) for t, n in texts.value_counts().items()}
    return UncountedCells(int(texts.index[0]) + 1, counts) if counts else None


def data_from_frame(source: str, frame: pd.DataFrame) -> Data:
    """Data of a DataFrame; its index is the time if it carries one and no column does."""
    headers = [_header(c) for c in frame.columns]
    columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
    if time_column_among(column_names(headers)[0]) is None and is_time_index(frame.index):
        name = str(frame.index.name or "time")
        headers.insert(0, name if time_column_among([name]) else "time")
        columns.insert(0, frame.index.to_series())
    return data_from_columns(source, headers, columns)


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


def _parsed(series: pd.Series, decimal: str) -> tuple[Vector, str]:
    import pandas as pd

    series = series.reset_index(drop=True)
    if isinstance(series.dtype, pd.StringDtype) and series.notna().any():
        with contextlib.suppress(NotADate):  # the long way below says what is wrong, and where
            if is_date(series[series.first_valid_index()]):
                return read_dates(series)
    cells = series.astype(object)
    texts = cells.map(_stripped)
    numbers = pd.to_numeric(
        texts.str.replace(",", ".").where(texts.map(_is_str), texts) if decimal == "," else texts,
        errors="coerce",
    )
    bad = (numbers.isna() & texts.notna()).to_numpy()
    if not bad.any():
        return np.asarray(numbers, np.float64), ""
    row = int(np.argmax(bad))
    cell = texts[row]
    if row == int(texts.first_valid_index()):
        if isinstance(cell, str) and is_date(cell) and texts.dropna().map(_is_str).all():
            return read_dates(texts)
        stamps = _instants(texts)
        if stamps is not None:
            return seconds_of(stamps)
    raise NotNumeric(row, short_cell(cell))


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


def _stripped(cell: object) -> object:
    if isinstance(cell, str):
        cell = cell.strip()
        return None if not cell or cell in MISSING else cell
    return cell


def _is_str(cell: object) -> bool:
    return isinstance(cell, str)


_PARTS = re.compile(
    r"(?P<a>\d{1,2})(?P<sign>[./-])(?P<b>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})"
    r"(?P<gap>[T ,]+)?(?P<clock>\d.*)?"
)
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


class NotADate(ValueError):
    """A cell among dates that is none: its position, and why."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


def seconds_of(stamps: pd.Series | pd.DatetimeIndex) -> tuple[Vector, str]:
    """Seconds since the first stamp that is there, and that stamp as ISO text."""
    import pandas as pd

    stamps = pd.Series(stamps)
    there = stamps.first_valid_index()
    if there is None:
        return np.full(len(stamps), np.nan), ""
    origin = stamps[there]
    elapsed = stamps - origin
    unit = np.datetime_data(elapsed.dtype)[0]
    seconds = np.asarray(elapsed.to_numpy().astype(np.int64), np.float64) / _PER_SECOND[unit]
    seconds[elapsed.isna().to_numpy()] = np.nan
    return seconds, origin.isoformat()


def is_date(cell: str) -> bool:
    """Whether a text is an instant that `read_dates` can make out."""
    return cell_kind(cell) is CellKind.DATE


def read_dates(texts: pd.Series) -> tuple[Vector, str]:
    """Seconds since the first stamp, and that stamp, from texts all written alike."""
    import pandas as pd

    texts = texts.reset_index(drop=True)
    first = texts[texts.first_valid_index()]
    form = _form(texts, first)
    aware = bool(re.search(r"(Z|UTC|[+-]\d{2}:?\d{2})$", first.split(":", 1)[-1]))
    stamps = pd.to_datetime(texts, format=form, errors="coerce", utc=aware)
    bad = (stamps.isna() & texts.notna()).to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise NotADate(row, f"{short_cell(texts[row])} is not a date like the first one, '{first}'")
    seconds, origin = seconds_of(stamps)
    if aware:
        origin = pd.Timestamp(first).isoformat()
    return seconds, origin


def _form(texts: pd.Series, first: str) -> str:
    """The format of dates that begin with the day or the month; others are ISO."""
    parts = _PARTS.fullmatch(first)
    if parts is None:
        return "ISO8601"
    sign, year = parts["sign"], "%Y" if len(parts["year"]) == 4 else "%y"
    date = f"%m{sign}%d" if _month_first(texts, sign) else f"%d{sign}%m"
    return f"{date}{sign}{year}{parts['gap'] or ''}{_clock(parts['clock'] or '')}"


def _month_first(texts: pd.Series, sign: str) -> bool:
    if sign == ".":
        return False
    numbers = texts.str.extract(r"^(\d{1,2})\D(\d{1,2})\D").astype("float64")
    day_first, month_first = (numbers[0] > 12).any(), (numbers[1] > 12).any()
    if not day_first and not month_first:
        raise NotADate(
            int(texts.first_valid_index()),
            f"'{texts[texts.first_valid_index()]}' may begin with the day or with the month; "
            "write dates as 2026-11-15",
        )
    return bool(month_first)


def _clock(text: str) -> str:
    if not text:
        return ""
    half = re.search(r"\s*[aApP][mM]", text)
    zone = re.search(r"\s*(Z|UTC|[+-]\d{2}:?\d{2})$", text)
    body = re.split(r"\s*(?:[aApP][mM]|Z|UTC|[+-])", text)[0]
    form = ("%I" if half else "%H") + ":%M" + (":%S" if body.count(":") == 2 else "")
    form += ".%f" if "." in body else ",%f" if "," in body else ""
    space = " " if half and half[0][0] == " " else ""
    form += f"{space}%p" if half else ""
    return form + ((" " if zone[0][0] == " " else "") + "%z" if zone else "")


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
