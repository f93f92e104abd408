"""Excel: the first sheet that holds numbers, or the one that is asked for."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.errors import DataError
from estimica.base.suggest import did_you_mean
from estimica.data.extras import needed
from estimica.data.frames import data_from_columns
from estimica.data.headers import clean_unit
from estimica.data.layout import find_layout
from estimica.data.table import Data

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 200  # rows that are looked at


def read_excel(path: Path, sheet: str | int | None) -> Data:
    """The table of a sheet, given by name or by its number from 1."""
    path.open("rb").close()
    if path.suffix.lower() != ".xls":
        needed("openpyxl", path)
    try:
        return _read(path, sheet)
    except (DataError, MemoryError):
        raise
    except ImportError:
        raise DataError(
            "D017", f"reading '{path}' needs xlrd; save it as .xlsx, or: pip install xlrd"
        ) from None
    except Exception as error:  # a damaged file fails anywhere inside the library
        raise DataError("D002", f"cannot read '{path}' as Excel: {error}") from None


def _read(path: Path, sheet: str | int | None) -> Data:
    import pandas as pd

    with pd.ExcelFile(path) as book:
        names = [str(n) for n in book.sheet_names]
        wanted = names if sheet is None else [_sheet(path, names, sheet)]
        for name in wanted:
            data = _table(path, name, pd.read_excel(book, sheet_name=name, header=None))
            if data is not None:
                return data
    where = f"sheet '{wanted[0]}' of '{path}'" if sheet is not None else f"'{path}'"
    raise DataError("D003", f"{where} holds no numbers")


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
