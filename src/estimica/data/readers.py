"""Readers: tables of measurements from files and objects, and single signals out of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.data.formats.impedance import SUFFIXES, read_impedance_file
from estimica.data.reading import (
    BAD_CELLS,
    PLAIN,
    Dates,
    Duplicates,
    Reading,
    Unordered,
)
from estimica.data.table import Data
from estimica.data.tidy import tidied

if TYPE_CHECKING:
    import pandas as pd

TEXTS = (".csv", ".tsv", ".txt", ".dat", ".asc", ".prn", ".z", ".data")


def read_data(
    path: str | os.PathLike[str],
    *,
    sheet: str | int | None = None,
    time: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    missing: Sequence[float | str] | None = None,
    bad_cells: float = BAD_CELLS,
    dates: Dates | None = None,
    clock: str | None = None,
    timezone: str | None = None,
    duplicates: Duplicates = "replicates",
    unordered: Unordered = "error",
) -> Data:
    """The table in a file: CSV and other text, Parquet, Excel, MATLAB, or a simulation result.

    Files of impedance analysers (.z, .mpt, .DTA) have columns `frequency`, `Re(Z)` and `Im(Z)`.

    `sheet` chooses one of an Excel file, `time` names the column of the time stamps. The others say
    what cannot be found out: `separator`, `decimal` and `thousands` are signs of a text file,
    `missing` are codes for *not sampled* such as -9999 or "Err", `bad_cells` is the share of cells
    of a column that may hold words, which are left out; `dates` is "day-first", "month-first",
    "excel", "unix" or "unix-ms", `clock` the column with the time of day beside one of dates,
    `timezone` a name such as "Europe/Berlin" or an offset; `duplicates` ("replicates", "error",
    "first", "last", "mean") is for rows of one time stamp, `unordered` ("error", "sort") for rows
    that go back.
    """
    reading = Reading(
        time=time,
        separator=separator,
        decimal=decimal,
        thousands=thousands,
        missing=None if missing is None else tuple(missing),
        bad_cells=bad_cells,
        dates=dates,
        clock=clock,
        timezone=timezone,
        duplicates=duplicates,
        unordered=unordered,
    )
    return read_table(Path(path), sheet, reading)


def read_table(path: Path, sheet: str | int | None = None, reading: Reading = PLAIN) -> Data:
    """The table in a file, read as `reading` says."""
    try:
        if os.path.isdir(path):
            raise DataError("D001", f"'{path}' is a folder; name a file in it")
        data = _reader(path, sheet, reading)(path)
    except FileNotFoundError:
        raise DataError("D001", f"there is no file '{path}'{did_you_mean_file(path)}") from None
    except MemoryError:
        raise DataError("D011", f"'{path}' does not fit into memory") from None
    except OSError as error:
        raise DataError("D002", f"cannot read '{path}': {error.strerror or error}") from None
    names = [*data.columns, *data.texts]
    if len(names) == 1:
        raise DataError(
            "D012",
            f"'{path}' has only one column, '{names[0]}', and a table needs a time or an input "
            "beside it; if something unusual separates the cells, say separator=…",
        )
    return tidied(data, reading)


def read_signal(
    path: str | Path, column: str | None, prefer: str = ""
) -> tuple[Vector, Vector, str]:
    """Times and values of one column, and the instant of 0 s where the times are dates, else "".

    Without `column` it is the one named `prefer`, or the only one besides the time. The time is
    the column `time` or `t` or the like, or else the first one.
    """
    data = read_data(path)
    names = [*data.columns, *data.texts]
    time = data.named_time() or names[0]
    chosen = _chosen(data, [n for n in names if n != time], column, prefer)
    return data.column(time), data.column(chosen), data.origins.get(time, "")


def _chosen(data: Data, names: Sequence[str], column: str | None, prefer: str) -> str:
    if column is not None:
        if column not in names:
            hint = did_you_mean(column, names) or f"; there are {', '.join(names)}"
            raise DataError("D004", f"no column '{column}' in {data.where}{hint}")
        return column
    if prefer in names:
        return prefer
    if len(names) != 1:
        raise DataError(
            "D005",
            f"{data.where} has no column '{prefer}'; say which to take, as in "
            f"'{data.source}:COLUMN' (there are {', '.join(names) or 'none besides the time'})",
        )
    return names[0]


def _reader(path: Path, sheet: str | int | None, reading: Reading) -> Callable[[Path], Data]:
    suffix = path.suffix.lower()
    if suffix in (*TEXTS, *SUFFIXES) or not suffix:
        from estimica.data.formats.delimited import read_delimited

        plain = suffix not in SUFFIXES
        return lambda p: (None if plain else read_impedance_file(p)) or read_delimited(p, reading)
    if suffix in (".parquet", ".pq"):
        from estimica.data.formats.parquet import read_parquet

        return lambda p: read_parquet(p, reading)
    if suffix in (".xlsx", ".xlsm", ".xls"):
        from estimica.data.formats.excel import read_excel

        return lambda p: read_excel(p, sheet, reading)
    if suffix == ".mat":
        from estimica.data.formats.matlab import read_mat

        return read_mat
    open_file(path).close()  # a missing file is told before a strange ending
    raise DataError(
        "D013",
        f"'{path}': files that end in '{suffix}' are not known; there are "
        f"{', '.join(TEXTS[:4])}, .parquet, .xlsx, .xls and .mat",
    )


def as_data(given: Data | pd.DataFrame | Mapping[str, Any] | str | os.PathLike[str]) -> Data:
    """Data of what is given: a path, a DataFrame, or a mapping of names to series.

    In a mapping, arrays stand side by side; a Series, a Signal, `(times, values)` or a mapping of
    stamps to values brings its own stamps: the table has all of them, NaN where one has no sample.
    """
    if isinstance(given, Data):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read_data(given)
    from estimica.data.objects import data_of_object

    return data_of_object(given)
