"""Delimited text: CSV and its relatives, read once: by NumPy where all cells are numbers and not
very many, which does not wait for pandas, else by pandas' C engine. Both give the nearest float."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.data.cells import COMMENTS, NANS, CellKind, cell_kind, is_comment, short_cell
from estimica.data.formats.dialect import (
    SPACES,
    Dialect,
    find_dialect,
    ragged_row_error,
    split_line,
)
from estimica.data.frames import data_from_columns
from estimica.data.reading import PLAIN, Reading
from estimica.data.requirements import cell_limit, require_bytes, require_cells
from estimica.data.table import Data

if TYPE_CHECKING:
    import pandas as pd


def read_delimited(path: Path, reading: Reading = PLAIN) -> Data:
    """The table of a text file, its separator, decimal sign, header and units found out."""
    dialect = find_dialect(path, reading)
    _require_room(path, len(dialect.kinds))
    data = _read(path, dialect, reading)
    if not dialect.sure_of_decimal and any(
        cell_kind(why.split("'")[1], ",") is CellKind.NUMBER for why in data.texts.values()
    ):
        return read_delimited(path, replace(reading, decimal=","))
    return data


def _require_room(path: Path, width: int) -> None:
    """Refuse a text of too many cells; every cell has a byte at least, and a row ends its line."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        require_bytes(path, size)
        require_cells(path, 0, width)
        if size > cell_limit():
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
            require_cells(path, lines, width)


def _read(path: Path, dialect: Dialect, reading: Reading) -> Data:
    def place(row: int) -> str:
        return f"line {_line_of(path, dialect, row)}"

    plain = _numbers(path, dialect)
    if plain is not None:
        return data_from_columns(
            str(path),
            dialect.headers,
            [np.ascontiguousarray(column) for column in plain.T],
            units=dialect.units,
            place=place,
            notes=dialect.notes,
            reading=reading,
        )
    frame = _frame(path, dialect)
    frame, below = _without_summary(frame, dialect)
    if not len(frame):
        raise DataError("D003", f"'{path}' holds no rows below its header")
    kept = [j for j in frame.columns if dialect.headers[j] or not frame[j].isna().all()]
    frame = _without_empty_end(frame)
    if dialect.separator == SPACES and frame[kept[-1]].isna().any():
        _refuse_short_rows(path, dialect, frame[kept[-1]])
    return data_from_columns(
        str(path),
        [dialect.headers[j] for j in kept],
        [frame[j] for j in kept],
        units=[dialect.units[j] if j < len(dialect.units) else "" for j in kept],
        decimal=dialect.decimal,
        place=place,
        notes=(*dialect.notes, *below),
        reading=reading,
    )


#: bytes; NumPy reads them in the time that the import of pandas takes, some 0.3 s, which is then
#: several times as quick
_SMALL = 4_000_000


def _numbers(path: Path, dialect: Dialect) -> Vector | None:
    """The cells of a small table of numbers without gaps (rows, columns); None: of any other."""
    if (
        dialect.comments
        or dialect.thousands
        or dialect.decimal != "."
        or dialect.separator == SPACES
        or any(kind is not CellKind.NUMBER for kind in dialect.kinds)
        or len(dialect.headers) != len(dialect.kinds)
        or path.stat().st_size > _SMALL
    ):
        return None
    try:
        with io.TextIOWrapper(open_file(path), encoding=dialect.encoding) as file:
            rows = list(islice(file, dialect.first_line, None))
        if not any(row.strip() for row in rows):
            return None
        cells = np.loadtxt(rows, np.float64, None, dialect.separator, ndmin=2)
    except ValueError:  # a cell that is not a number, a row of another length, another encoding
        return None
    if cells.shape[1] != len(dialect.kinds) or np.isnan(cells).any():
        return None
    return cells


#: lines below a table that may be a summary; more are part of it
_SUMMARY = 3


def _without_summary(frame: pd.DataFrame, dialect: Dialect) -> tuple[pd.DataFrame, list[str]]:
    """The rows without lines at the end that begin with a word, as `Mean` below a time."""
    if dialect.kinds[0] not in (CellKind.NUMBER, CellKind.DATE) or len(frame) <= _SUMMARY + 1:
        return frame, []
    first = frame[0].iloc[-_SUMMARY - 1 :].tolist()
    words = [isinstance(c, str) and cell_kind(c, dialect.decimal) is CellKind.TEXT for c in first]
    count = next(k for k, w in enumerate([*reversed(words), False]) if not w)
    if not count or count > _SUMMARY:
        return frame, []
    told = ", ".join(short_cell(c) for c in first[-count:])
    lines = "a line below the table is" if count == 1 else f"{count} lines below the table are"
    return frame.iloc[:-count], [f"{lines} left out: {told}"]


def _frame(path: Path, dialect: Dialect) -> pd.DataFrame:
    """The rows under the numbers of their columns, floats where the sample shows them."""
    if dialect.comments:
        return _parse(path, dialect, without_comments=True)
    try:
        frame = _parse(path, dialect)
    except DataError:
        if not _has_comments(path, dialect):
            raise
        return _parse(path, dialect, without_comments=True)
    if _marked(frame[0]):
        return _parse(path, dialect, without_comments=True)
    return frame


def _marked(cells: pd.Series) -> bool:
    """Whether some cell of the first column begins a comment."""
    import pandas as pd

    if not isinstance(cells.dtype, pd.StringDtype) and cells.dtype != object:
        return False
    return bool(cells.astype("str").str.lstrip().str.startswith(COMMENTS, na=False).any())


def _parse(path: Path, dialect: Dialect, without_comments: bool = False) -> pd.DataFrame:
    import pandas as pd

    def read(encoding: str, dtypes: Mapping[int, type]) -> pd.DataFrame:
        with open_file(path) as file:
            return parsed(
                _commentless(path, encoding) if without_comments else file, encoding, dtypes
            )

    def parsed(source: Any, encoding: str, dtypes: Mapping[int, type]) -> pd.DataFrame:
        return pd.read_csv(
            source,
            sep=dialect.separator,
            decimal=dialect.decimal,
            skiprows=dialect.first_line,
            header=None,
            names=range(len(dialect.kinds)),
            index_col=False,
            dtype=dtypes,
            na_values=["", *NANS],
            keep_default_na=False,  # other marks are counted, so they have to be seen
            skipinitialspace=True,
            encoding=encoding,
        )

    numeric: dict[int, type] = {
        j: np.float64 for j, k in enumerate(dialect.kinds) if k is CellKind.NUMBER
    }
    if dialect.thousands:  # whose sign pandas would take for the decimal one
        numeric = dict.fromkeys(range(len(dialect.kinds)), str)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # columns of mixed kind, which we look at ourselves
            try:
                return read(dialect.encoding, numeric)
            except UnicodeDecodeError:
                return read("latin-1", {})
            except pd.errors.ParserError:
                raise
            except ValueError:
                return read(dialect.encoding, {})
    except pd.errors.EmptyDataError:
        raise DataError("D003", f"'{path}' holds no rows below its header") from None
    except MemoryError:
        raise _too_large(path) from None
    except (ValueError, OverflowError) as error:  # a ParserError is a ValueError
        raise _complaint(path, dialect, str(error)) from None


def _complaint(path: Path, dialect: Dialect, error: str) -> DataError:
    counted = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error)
    if counted:
        expected, line, cells = map(int, counted.groups())
        return ragged_row_error(path, line, cells, expected, None)
    if "out of memory" in error:
        return _too_large(path)
    quoted = re.search(r"EOF inside string starting at row (\d+)", error)
    if quoted:
        line = _line_of(path, dialect, int(quoted[1]) - dialect.first_line)
        return DataError("D002", f"cannot read '{path}': a quote is not closed near line {line}")
    return DataError("D002", f"cannot read '{path}': {error.strip().splitlines()[-1]}")


def _too_large(path: Path) -> DataError:
    size = path.stat().st_size / 1e9
    return DataError(
        "D011",
        f"'{path}' ({size:.3g} GB) does not fit into memory; keep only the columns and rows "
        "that the study needs, or write it as .parquet",
    )


def _without_empty_end(frame: pd.DataFrame) -> pd.DataFrame:
    end = len(frame)
    while end > 1 and frame.iloc[end - 1].isna().all():
        end -= 1
    return frame if end == len(frame) else frame.iloc[:end]


def _refuse_short_rows(path: Path, dialect: Dialect, last: pd.Series) -> None:
    """Where blanks separate the cells, a missing one would move the others to the left."""
    for row in np.flatnonzero(last.isna().to_numpy()):
        line, text = _line(path, dialect, int(row))
        cells = split_line(text, SPACES)
        if len(cells) < len(dialect.kinds):
            raise ragged_row_error(path, line, len(cells), len(dialect.kinds), None)


def _line_of(path: Path, dialect: Dialect, row: int) -> int:
    return _line(path, dialect, row)[0]


def _line(path: Path, dialect: Dialect, row: int) -> tuple[int, str]:
    """The line of the file in which a row stands, counted from 1, and its text."""
    number, text = dialect.first_line, ""
    for number, text in enumerate(_texts(path, dialect.encoding), 1):
        if number > dialect.first_line and text.strip() and not is_comment(text):
            row -= 1
            if row < 0:
                break
    return number, text


def _has_comments(path: Path, dialect: Dialect) -> bool:
    return any(is_comment(line) for line in _texts(path, dialect.encoding))


def _commentless(path: Path, encoding: str) -> io.StringIO:
    """The text with lines of comment left empty, so that lines keep their numbers."""
    return io.StringIO(
        "".join("\n" if is_comment(line) else line for line in _texts(path, encoding))
    )


def _texts(path: Path, encoding: str) -> Iterator[str]:
    with io.TextIOWrapper(open_file(path), encoding=encoding, errors="replace") as file:
        yield from file
