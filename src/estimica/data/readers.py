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
from estimica.data.table import Data

if TYPE_CHECKING:
    import pandas as pd

TEXTS = (".csv", ".tsv", ".txt", ".dat", ".asc", ".prn", ".z", ".data")


def read_data(
    path: str | os.PathLike[str],
    *,
    sheet: str | int | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Data:
    """The table in a file: CSV and other text, Parquet, Excel, MATLAB, or a simulation result.

    Files of impedance analysers (.z, .mpt, .DTA) have columns `frequency`, `Re(Z)` and `Im(Z)`.

    `sheet` chooses one of an Excel file, `separator` and `decimal` say how a text file writes its
    cells where that cannot be found out.
    """
    path = Path(path)
    try:
        if os.path.isdir(path):
            raise DataError("D001", f"'{path}' is a folder; name a file in it")
        data = _reader(path, sheet, separator, decimal)(path)
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
    return data


def read_signal(path: str | Path, column: str | None, prefer: str = "") -> tuple[Vector, Vector]:
    """Times and values of one column.

    Without `column` it is the one named `prefer`, or the only one besides the time. The time is
    the column `time` or `t` or the like, or else the first one.
    """
    data = read_data(path)
    names = [*data.columns, *data.texts]
    time = data.named_time() or names[0]
    chosen = _chosen(data, [n for n in names if n != time], column, prefer)
    return data.column(time), data.column(chosen)


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


def _reader(
    path: Path, sheet: str | int | None, separator: str | None, decimal: str | None
) -> Callable[[Path], Data]:
    suffix = path.suffix.lower()
    if suffix in (*TEXTS, *SUFFIXES) or not suffix:
        from estimica.data.formats.delimited import read_delimited

        plain = suffix not in SUFFIXES
        return lambda p: (
            (None if plain else read_impedance_file(p)) or read_delimited(p, separator, decimal)
        )
    if suffix in (".parquet", ".pq"):
        from estimica.data.formats.parquet import read_parquet

        return read_parquet
    if suffix in (".xlsx", ".xlsm", ".xls"):
        from estimica.data.formats.excel import read_excel

        return lambda p: read_excel(p, sheet)
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
