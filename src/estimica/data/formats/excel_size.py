"""Size of an Excel file: what its archive unpacks to, and how large a sheet becomes, row by row.

Neither what the archive nor what the sheet says of its size is believed: an archive is unpacked up
to the sizes it states, which are added up before, and the cells of a sheet are counted as they
come.
"""

from __future__ import annotations

import xml.parsers.expat as expat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from estimica.base.errors import DataError
from estimica.base.files.read import size_text
from estimica.data.size import cell_limit, require_cells, too_many_cells_error

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
