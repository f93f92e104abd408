"""Dialect: how a text file writes its table, found out from its beginning."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from estimica.base.errors import DataError
from estimica.base.files.read import open_file
from estimica.data.cells import COMMENTS, CellKind, cell_kind, is_comment, looks_grouped
from estimica.data.formats.layout import TAIL, Layout, find_layout, row_fits, usual_width
from estimica.data.headers import clean_unit
from estimica.data.reading import PLAIN, Reading

SAMPLE = 1 << 16  # bytes that are looked at
SPACES = r"\s+"
SEPARATORS = (";", "\t", ",", "|", SPACES)
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """All that is to be known before the rows are read."""

    encoding: str
    separator: str
    decimal: str
    sure_of_decimal: bool
    headers: tuple[str, ...]
    units: tuple[str, ...]
    first_line: int  # lines above the first row of data
    kinds: tuple[CellKind, ...]
    comments: bool  # whether there are lines of comment among the rows
    notes: tuple[str, ...]
    thousands: str = ""


@dataclass(frozen=True)
class _Lines:
    """The lines of the sample that are not comments and not empty, with their positions."""

    texts: tuple[str, ...]
    numbers: tuple[int, ...]
    comments: tuple[tuple[int, str], ...]


def find_dialect(path: Path, reading: Reading = PLAIN) -> Dialect:
    """How `path` writes its table; what the user has said is taken as it is."""
    separator, decimal = reading.separator, reading.decimal
    text, encoding, whole = _sample(path)
    lines = _lines(text, whole)
    if lines.texts and (hint := re.fullmatch(r"sep=(.)", lines.texts[0].strip())):
        separator = separator or hint[1]
        lines = _Lines(lines.texts[1:], lines.numbers[1:], lines.comments)
    if not lines.texts:
        raise DataError("D003", f"'{path}' holds no rows, only empty lines or comments")
    if separator is None:
        separator = max(SEPARATORS, key=lambda s: _score(lines.texts, s, decimal))
    elif separator.isspace() and separator != "\t":
        separator = SPACES
    rows = [split_line(line, separator) for line in lines.texts]
    if reading.thousands is not None:
        decimal = decimal or ("," if reading.thousands == "." else ".")
        rows = [[_without_groups(c, reading.thousands) for c in row] for row in rows]
    sign, sure = (decimal, True) if decimal else _decimal(rows, separator)
    layout = find_layout(rows, sign)
    if layout is None:
        raise _without_numbers(path, rows)
    found = _dialect(path, encoding, separator, (sign, sure), lines, rows, layout)
    return replace(found, thousands=reading.thousands or "")


def _without_groups(cell: str, sign: str) -> str:
    return cell.replace(sign, "") if looks_grouped(cell) else cell


def split_line(line: str, separator: str) -> list[str]:
    """The cells of one line, without quotes."""
    if separator == SPACES:
        return [c.strip('"') for c in re.findall(r'"[^"]*"|\S+', line)]
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return line.split(separator)


def _dialect(
    path: Path,
    encoding: str,
    separator: str,
    decimal: tuple[str, bool],
    lines: _Lines,
    rows: Sequence[list[str]],
    layout: Layout,
) -> Dialect:
    first = layout.first
    headers = rows[layout.header] if layout.header is not None else None
    above = layout.header if layout.header is not None else first
    if headers is None:
        headers, above = _other_header(path, lines, rows, layout, separator)
    units = rows[layout.units] if layout.units is not None else []
    notes = [f"{above} lines above the table are skipped"] if above else []
    width = len(layout.kinds)
    headers = [h.strip() for h in headers] + [""] * (width - len(headers))
    return Dialect(
        encoding,
        separator,
        *decimal,
        tuple(headers[:width]),
        tuple(clean_unit(u) for u in units),
        lines.numbers[first],
        layout.kinds,
        any(number > lines.numbers[first] for number, _ in lines.comments),
        tuple(notes),
    )


def _other_header(
    path: Path, lines: _Lines, rows: Sequence[list[str]], layout: Layout, separator: str
) -> tuple[list[str], int]:
    """A header whose cells do not stand apart like those of the rows, or that is a comment."""
    first, width = layout.first, len(layout.kinds)
    start = lines.numbers[first]
    commented = [text for number, text in lines.comments if number < start]
    if commented and not first:
        bare = commented[-1].lstrip().lstrip("".join(COMMENTS)).strip()
        cells = _split_header(bare, separator, width)
        if len(cells) == width and all(cell_kind(c) is CellKind.TEXT for c in cells):
            return cells, 0
    if not first:
        return [], 0
    cells = _split_header(lines.texts[first - 1], separator, width)
    if len(cells) == width and all(cell_kind(c) is CellKind.TEXT for c in cells):
        return cells, first - 1
    if separator != SPACES and len(cells) > 1 and all(cell_kind(c) is CellKind.TEXT for c in cells):
        raise ragged_row_error(path, start + 1, width, len(cells), lines.numbers[first - 1] + 1)
    return [], first


def ragged_row_error(
    path: Path, line: int, cells: int, expected: int, header: int | None
) -> DataError:
    """The complaint about a row that is longer or shorter than it should be."""
    where = f"the header in line {header} has" if header else "the lines above have"
    return DataError(
        "D008",
        f"'{path}', line {line}: {cells} cells where {where} {expected}; "
        "put cells that hold the separator into quotes, or say which separator it is",
    )


def _split_header(text: str, separator: str, width: int) -> list[str]:
    cells = split_line(text, separator)
    if separator == SPACES and len(cells) != width:
        # `time [s]  T [degC]`: a unit belongs to the name before it
        cells = [
            c.replace("\0", " ") for c in split_line(re.sub(r"\s+(?=[\[(])", "\0", text), SPACES)
        ]
    return cells


def _sample(path: Path) -> tuple[str, str, bool]:
    """The beginning of the file as text, its encoding, and whether that is all of it."""
    with open_file(path) as file:
        raw = file.read(SAMPLE)
        whole = not file.read(1)
    if not raw:
        raise DataError("D002", f"cannot read '{path}': the file is empty")
    encoding = next((e for mark, e in _BOMS if raw.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in raw:
        raise DataError("D009", f"'{path}' is not a text: it holds zero bytes; {_known()}")
    try:
        return raw.decode(encoding, "strict" if whole else "ignore"), encoding, whole
    except UnicodeDecodeError:
        return raw.decode("latin-1"), "latin-1", whole


def _known() -> str:
    return "the endings .parquet, .xlsx, .xls and .mat tell other kinds of file"


def _lines(text: str, whole: bool) -> _Lines:
    everything = _LINE_ENDS.split(text)
    if not whole and len(everything) > 1:
        everything.pop()  # it may be cut off
    full = [(k, line) for k, line in enumerate(everything) if line.strip()]
    plain = [(k, line) for k, line in full if not is_comment(line)]
    comments = tuple((k, line) for k, line in full if is_comment(line))
    return _Lines(tuple(t for _, t in plain), tuple(k for k, _ in plain), comments)


def _score(lines: Sequence[str], separator: str, decimal: str | None) -> float:
    """How well a separator explains the last lines: rows alike, cells numbers or dates."""
    rows = [split_line(line, separator) for line in lines[-TAIL:]]
    rows = rows[1:] if len(rows) == len(lines) and len(rows) > 1 else rows
    width = usual_width(rows)
    alike = [row for row in rows if len(row) == width]
    sign = decimal or _decimal(alike, separator)[0]
    kinds = [k for row in alike for c in row if (k := cell_kind(c, sign)) is not CellKind.NOTHING]
    told = sum(k is not CellKind.TEXT for k in kinds) / len(kinds) if kinds else 0.0
    share = len(alike) / len(rows) * (told + 1e-3)
    return share if width > 1 else 0.5 * share


def _decimal(rows: Sequence[Sequence[str]], separator: str) -> tuple[str, bool]:
    """The decimal sign, and whether some cell shows it."""
    if separator not in (";", "\t"):
        return ".", True
    cells = [c.strip() for row in rows for c in row]
    comma = sum("," in c and cell_kind(c, ",") is CellKind.NUMBER for c in cells)
    point = sum("." in c and cell_kind(c, ".") is CellKind.NUMBER for c in cells)
    return ("," if comma > point else "."), comma + point > 0


def _without_numbers(path: Path, rows: Sequence[Sequence[str]]) -> DataError:
    if len(rows) == 1 or all(not row_fits(row, [CellKind.TEXT] * len(rows[0])) for row in rows[1:]):
        return DataError("D003", f"'{path}' holds no rows below its header")
    shown = ", ".join(rows[1])[:60]
    return DataError("D003", f"'{path}' holds no numbers; its second row is '{shown}'")
