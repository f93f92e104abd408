"""Excel: the first sheet that holds numbers, or the one that is asked for."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.base.suggest import did_you_mean
from estimica.data.extras import import_extra
from estimica.data.formats.excel_size import WEIGHT, SheetSize, require_small_archive
from estimica.data.formats.layout import find_layout
from estimica.data.frames import data_from_columns
from estimica.data.headers import clean_unit
from estimica.data.size import require_bytes
from estimica.data.table import Data

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 200  # rows that are looked at


def read_excel(path: Path, sheet: str | int | None) -> Data:
    """The table of a sheet, given by name or by its number from 1."""
    with open_file(path) as file:
        packed = file.read(2) == b"PK"  # .xlsx and .xlsm are archives, .xls is not
        file.seek(0)
        if packed or path.suffix.lower() != ".xls":
            import_extra("openpyxl", path)
        try:
            return _of_archive(path, file, sheet) if packed else _of_old(path, file, sheet)
        except (DataError, MemoryError):
            raise
        except ImportError:
            raise DataError(
                "D017", f"reading '{path}' needs xlrd; save it as .xlsx, or: pip install xlrd"
            ) from None
        except Exception as error:  # a damaged file fails anywhere inside the library
            raise DataError("D002", f"cannot read '{path}' as Excel: {error}") from None


def _of_archive(path: Path, file: BinaryIO, sheet: str | int | None) -> Data:
    require_small_archive(path, file)
    book = import_extra("openpyxl", path).load_workbook(
        file, read_only=True, data_only=True, keep_links=False
    )
    sheets = {s.title: s for s in book.worksheets}
    return _first_table(path, list(sheets), sheet, lambda name: _cells(path, sheets[name]))


def _of_old(path: Path, file: BinaryIO, sheet: str | int | None) -> Data:
    """A file of Excel 2003 or older: not packed, and of at most 65536 rows and 256 columns."""
    import pandas as pd

    require_bytes(path, path.stat().st_size, 1 / WEIGHT)
    if path.suffix.lower() != ".xls":
        raise ValueError("it is not a zip archive")
    with pd.ExcelFile(file, engine="xlrd") as book:
        names = [str(n) for n in book.sheet_names]
        return _first_table(
            path, names, sheet, lambda name: pd.read_excel(book, sheet_name=name, header=None)
        )


def _first_table(
    path: Path, names: list[str], sheet: str | int | None, cells: Callable[[str], pd.DataFrame]
) -> Data:
    wanted = names if sheet is None else [_sheet(path, names, sheet)]
    for name in wanted:
        data = _table(path, name, cells(name))
        if data is not None:
            return data
    where = f"sheet '{wanted[0]}' of '{path}'" if sheet is not None else f"'{path}'"
    raise DataError("D003", f"{where} holds no numbers")


def _cells(path: Path, sheet: Any) -> pd.DataFrame:
    """The cells of a sheet, as pandas reads them, but never more than may be."""
    import pandas as pd
    from pandas.io.parsers import TextParser

    sheet.reset_dimensions()  # what it says of itself may be wrong
    size = SheetSize(path)
    rows: list[list[Any]] = []
    for row in sheet.rows:
        values = [_value(cell) for cell in row]
        while values and values[-1] == "":
            values.pop()
        size.grow(len(row), len(values))
        rows.append(values)
    rows = [r + [""] * (size.width - len(r)) for r in rows[: size.filled]]
    if not rows:
        return pd.DataFrame()
    found: pd.DataFrame = TextParser(rows, header=None, skip_blank_lines=False).read()
    return found


def _value(cell: Any) -> Any:
    if cell.value is None:
        return ""
    if cell.data_type == "e":  # an error, such as #DIV/0!
        return float("nan")
    if cell.data_type == "n":
        whole = int(cell.value)
        return whole if whole == cell.value else float(cell.value)
    return cell.value


def _sheet(path: Path, names: list[str], sheet: str | int) -> str:
    if isinstance(sheet, int) and 1 <= sheet <= len(names):
        return names[sheet - 1]
    if sheet in names:
        return str(sheet)
    hint = did_you_mean(str(sheet), names) or f"; there are {', '.join(names)}"
    raise DataError("D018", f"no sheet '{sheet}' in '{path}'{hint}")


def _table(path: Path, name: str, cells: pd.DataFrame) -> Data | None:
    cells = cells.dropna(axis="index", how="all").dropna(axis="columns", how="all")
    lines = [int(k) + 1 for k in cells.index]
    sample = cells.head(SAMPLE)
    layout = find_layout([[_text(c) for c in row] for row in sample.itertuples(index=False)])
    if layout is None:
        return None

    def row(index: int | None) -> list[str]:
        return [_text(c) for c in cells.iloc[index]] if index is not None else []

    columns = [cells.iloc[layout.first :, j].infer_objects() for j in range(cells.shape[1])]
    headers = row(layout.header) or [""] * len(columns)
    above = layout.header if layout.header is not None else layout.first
    return data_from_columns(
        str(path),
        headers,
        columns,
        units=[clean_unit(u) for u in row(layout.units)],
        place=lambda k: f"row {lines[layout.first + k]} of sheet '{name}'",
        notes=[f"{above} rows above the table are skipped"] if above else [],
    )


def _text(cell: object) -> str:
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else cell.isoformat()
    if cell is None or cell != cell:
        return ""
    return str(float(cell)) if isinstance(cell, bool) else str(cell)
