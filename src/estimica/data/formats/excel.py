"""Excel: the first sheet that holds numbers, or the one that is asked for.

Neither what the archive nor what the sheet says of its size is believed: an archive is unpacked up
to the sizes it states, which are added up before, and the cells of a sheet are counted as they
come.
"""

from __future__ import annotations

import datetime
import xml.parsers.expat as expat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from estimica.base.errors import DataError
from estimica.base.files.read import open_file, size_text
from estimica.base.suggest import did_you_mean
from estimica.data.formats.layout import find_layout
from estimica.data.frames import data_from_columns
from estimica.data.headers import clean_unit
from estimica.data.reading import PLAIN, Reading
from estimica.data.requirements import (
    cell_limit,
    import_extra,
    require_bytes,
    require_cells,
    too_many_cells_error,
)
from estimica.data.table import Data

if TYPE_CHECKING:
    import pandas as pd


SAMPLE = 200  # rows that are looked at


def read_excel(path: Path, sheet: str | int | None, reading: Reading = PLAIN) -> Data:
    """The table of a sheet, given by name or by its number from 1."""
    with open_file(path) as file:
        packed = file.read(2) == b"PK"  # .xlsx and .xlsm are archives, .xls is not
        file.seek(0)
        if packed or path.suffix.lower() != ".xls":
            import_extra("openpyxl", path)
        try:
            return (_of_archive if packed else _of_old)(path, file, sheet, reading)
        except (DataError, MemoryError):
            raise
        except ImportError:
            raise DataError(
                "D017", f"reading '{path}' needs xlrd; save it as .xlsx, or: pip install xlrd"
            ) from None
        except Exception as error:  # a damaged file fails anywhere inside the library
            raise DataError("D002", f"cannot read '{path}' as Excel: {error}") from None


def _of_archive(path: Path, file: BinaryIO, sheet: str | int | None, reading: Reading) -> Data:
    require_small_archive(path, file)
    book = import_extra("openpyxl", path).load_workbook(
        file, read_only=True, data_only=True, keep_links=False
    )
    sheets = {s.title: s for s in book.worksheets}
    return _first_table(path, list(sheets), sheet, lambda name: _cells(path, sheets[name]), reading)


def _of_old(path: Path, file: BinaryIO, sheet: str | int | None, reading: Reading) -> Data:
    """A file of Excel 2003 or older: not packed, and of at most 65536 rows and 256 columns."""
    import pandas as pd

    require_bytes(path, path.stat().st_size, 1 / WEIGHT)
    if path.suffix.lower() != ".xls":
        raise ValueError("it is not a zip archive")
    with pd.ExcelFile(file, engine="xlrd") as book:
        names = [str(n) for n in book.sheet_names]
        return _first_table(
            path,
            names,
            sheet,
            lambda name: pd.read_excel(book, sheet_name=name, header=None),
            reading,
        )


def _first_table(
    path: Path,
    names: list[str],
    sheet: str | int | None,
    cells: Callable[[str], pd.DataFrame],
    reading: Reading,
) -> Data:
    wanted = names if sheet is None else [_sheet(path, names, sheet)]
    for name in wanted:
        data = _table(path, name, cells(name), reading)
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
    cells: pd.DataFrame = TextParser(rows, header=None, skip_blank_lines=False).read()
    return cells


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


def _table(path: Path, name: str, cells: pd.DataFrame, reading: Reading) -> Data | None:
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
        reading=reading,
    )


def _text(cell: object) -> str:
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else cell.isoformat()
    if cell is None or cell != cell:
        return ""
    return str(float(cell)) if isinstance(cell, bool) else str(cell)


#: cells as which one of a sheet counts: it is an object while it is read, and takes 10 to 20 µs,
#: a hundred times as long as one of a text
WEIGHT = 20
#: bytes of XML for each cell that may be read; one of a sheet takes 30 to 60
_BYTES = 3
#: bytes of all parts but the sheets: texts, styles, names; openpyxl makes objects of them that are
#: twenty times as large
_OTHERS = 40_000_000
#: rows that a sheet of Excel can have
ROWS = 1_048_576
_MEMBERS = 10_000  # parts of the archive; a book of 100 sheets with pictures has 500
_CHUNK = 1 << 16
_SHEETS, _MEDIA = "xl/worksheets/", "xl/media/"


def require_small_archive(path: Path, file: BinaryIO) -> None:
    """Refuse an archive that unpacks to too much, or whose texts define entities."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        total = sum(m.file_size for m in members)
        if total > _BYTES * cell_limit():
            raise too_many_cells_error(path, f"{size_text(total)} of content", total / _BYTES)
        others = sum(m.file_size for m in members if not m.filename.startswith((_SHEETS, _MEDIA)))
        if others > _OTHERS or len(members) > _MEMBERS:
            raise DataError(
                "D021",
                f"'{path}' unpacks to {size_text(others)} in {len(members)} parts besides its "
                f"sheets, and at most {size_text(_OTHERS)} in {_MEMBERS} are read; save it as .csv",
            )
        for member in members:
            if not member.filename.startswith(_MEDIA) and not member.is_dir():
                with archive.open(member) as part:
                    _require_no_entities(path, part)


def _require_no_entities(path: Path, part: Any) -> None:
    """No program writes a DOCTYPE into a book; its entities may stand for each other many times."""
    begun = False

    def refuse(*_: object) -> None:
        raise DataError("D002", f"cannot read '{path}' as Excel: its XML defines entities")

    def begin(*_: object) -> None:
        nonlocal begun
        begun = True

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    try:
        while not begun and (piece := part.read(_CHUNK)):
            parser.Parse(piece)
    except expat.ExpatError:
        return  # not XML, or damaged: whoever reads it says so


@dataclass(slots=True)
class SheetSize:
    """How large a sheet has become; `grow` refuses it as soon as it is too large."""

    path: Path
    rows: int = 0
    filled: int = 0  # up to the last row that holds something
    width: int = 0
    looked_at: int = 0

    def grow(self, cells: int, filled: int) -> None:
        """One more row of that many cells, of which so many up to the last that is not empty."""
        self.rows += 1
        self.looked_at += cells
        if filled:
            self.filled = self.rows
            self.width = max(self.width, filled)
            require_cells(self.path, self.filled, self.width, WEIGHT)
        if self.rows > ROWS or self.looked_at > cell_limit() / 5:
            shape = f"{self.rows} rows with {self.looked_at} cells, most of them empty"
            raise too_many_cells_error(self.path, shape, 5 * self.looked_at)
