"""Layout: where in a grid of cells the header, the row of units and the first numbers stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from estimica.data.cells import CellKind, cell_kind
from estimica.data.headers import is_unit_row

Row = Sequence[str]
#: rows at the end of the sample that tell what a row of numbers looks like; chosen: so
#: many that some with gaps do not outvote the others
TAIL = 60


@dataclass(frozen=True)
class Layout:
    """The index of the header and of the units, if there are any, and of the first row of data."""

    header: int | None
    units: int | None
    first: int
    kinds: tuple[CellKind, ...]  # what each column mostly holds


def find_layout(rows: Sequence[Row], decimal: str = ".") -> Layout | None:
    """Where things stand in `rows`, or None if no row holds a number or a date."""
    kinds = usual_kinds(rows, decimal)
    if not any(k in (CellKind.NUMBER, CellKind.DATE) for k in kinds):
        return None
    first = next((i for i, row in enumerate(rows) if _is_data(row, kinds, decimal)), None)
    if first is None:
        return None
    above = first
    while above > 0 and row_fits(rows[above - 1], kinds):
        above -= 1
    texts = [i for i in range(above, first) if _is_text(rows[i], decimal)]
    if not texts:
        named = first > above and _names_with_numbers(rows[first - 1], decimal)
        return Layout(first - 1 if named else None, None, first if named else above, kinds)
    last = texts[-1]
    if last - 1 in texts and is_unit_row([c.strip() for c in rows[last]]):
        return Layout(last - 1, last, last + 1, kinds)
    return Layout(last, None, last + 1, kinds)


def usual_width(rows: Sequence[Row], last: int | None = None) -> int:
    """The number of cells that most of the `last` rows have."""
    everywhere = Counter(len(row) for row in rows)
    counts = Counter(len(row) for row in rows[-(last or len(rows)) :])
    return max(counts, key=lambda n: (counts[n], everywhere[n], n), default=0)


def usual_kinds(rows: Sequence[Row], decimal: str) -> tuple[CellKind, ...]:
    """What the cells of each column mostly are, judged by the last rows."""
    last = min(TAIL, (len(rows) + 1) // 2)  # in a short file the upper half may be no data
    width = usual_width(rows, last)
    tail = [row for row in rows[-last:] if len(row) == width]
    return tuple(_most([cell_kind(row[j], decimal) for row in tail]) for j in range(width))


def row_fits(row: Row, kinds: Sequence[CellKind]) -> bool:
    """Whether a row has as many cells as the rows of data, an empty last one not counted."""
    wide = len(row) - (len(row) > 1 and not row[-1].strip())
    usual = len(kinds) - (len(kinds) > 1 and kinds[-1] is CellKind.NOTHING)
    return len(row) == len(kinds) or wide == usual


def _most(kinds: Sequence[CellKind]) -> CellKind:
    counts = Counter(k for k in kinds if k is not CellKind.NOTHING)
    if not counts:
        return CellKind.NOTHING
    if counts[CellKind.NUMBER] + counts[CellKind.DATE] >= counts[CellKind.TEXT]:
        return (
            CellKind.NUMBER if counts[CellKind.NUMBER] >= counts[CellKind.DATE] else CellKind.DATE
        )
    return CellKind.TEXT


def _is_data(row: Row, kinds: Sequence[CellKind], decimal: str) -> bool:
    if not row_fits(row, kinds):
        return False
    own_kinds = [cell_kind(cell, decimal) for cell in row]
    clash = any(
        f is CellKind.TEXT and k in (CellKind.NUMBER, CellKind.DATE)
        for f, k in zip(own_kinds, kinds, strict=False)
    )
    return not clash and any(f in (CellKind.NUMBER, CellKind.DATE) for f in own_kinds)


def _is_text(row: Row, decimal: str) -> bool:
    kinds = [cell_kind(cell, decimal) for cell in row]
    return all(k in (CellKind.TEXT, CellKind.NOTHING) for k in kinds) and CellKind.TEXT in kinds


def _names_with_numbers(row: Row, decimal: str) -> bool:
    """A header such as `time,1,2`: its first cell a word, the others whole numbers."""
    rest = [c.strip() for c in row[1:]]
    return row[0].strip().isalpha() and all(
        c.isdigit() or cell_kind(c) is CellKind.TEXT for c in rest
    )
