"""Frames: a pandas table turned into Data, each column into numbers, seconds or a complaint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.data.cells import MARKS, MISSING, short_cell
from estimica.data.complex_columns import real_and_imaginary, real_and_imaginary_names
from estimica.data.dates import NotADate, is_date, read_dates, seconds_of
from estimica.data.gaps import UncountedCells
from estimica.data.headers import column_names
from estimica.data.table import Data

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
    from estimica.data.table import time_column_among

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
