"""Readers: tables of measurements from files, and single signals out of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from estimica.base.errors import DataError
from estimica.base.suggest import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

TIME_NAMES = ("time", "t")


def read_csv(path: str | Path) -> pd.DataFrame:
    """A CSV or TSV file with a header line, its separator found out; empty cells are NaN."""
    import pandas as pd

    path = Path(path)
    try:
        table = pd.read_csv(path, sep=None, engine="python", skipinitialspace=True, comment="#")
    except FileNotFoundError:
        raise DataError("D001", f"there is no file '{path}'") from None
    except (OSError, ValueError, csv.Error) as error:
        raise DataError("D002", f"cannot read '{path}': {error}") from None
    table.columns = [str(c).strip() for c in table.columns]
    if table.empty:
        raise DataError("D003", f"'{path}' holds no rows below its header")
    return table


def read_signal(
    path: str | Path, column: str | None, prefer: str = ""
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Times and values of one column.

    Without `column` it is the one named `prefer`, or the only one besides the time. The time is
    the column `time` or `t`, or else the first one.
    """
    table = read_csv(path)
    names = list(table.columns)
    time = next((n for n in names if n.lower() in TIME_NAMES), names[0])
    column = _chosen(path, [n for n in names if n != time], column, prefer)
    return _numbers(path, table, time), _numbers(path, table, column)


def _chosen(path: str | Path, names: Sequence[str], column: str | None, prefer: str) -> str:
    if column is not None:
        if column not in names:
            hint = did_you_mean(column, names) or f"; there are {', '.join(names)}"
            raise DataError("D004", f"no column '{column}' in '{path}'{hint}")
        return column
    if prefer in names:
        return prefer
    if len(names) != 1:
        raise DataError(
            "D005",
            f"'{path}' has no column '{prefer}'; say which to take, as in '{path}:COLUMN' "
            f"(there are {', '.join(names) or 'none besides the time'})",
        )
    return names[0]


def _numbers(path: str | Path, table: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(table[column], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("D006", f"column '{column}' of '{path}' is not numeric: {error}") from None
