"""What a piece of text in a table is: a number, a date, nothing, or something that cannot count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.magnitude import is_usable

#: texts that say in so many words that there is no number
NANS = ("NaN", "nan", "NAN", "-nan", "-NaN", "1.#QNAN", "-1.#QNAN", "1.#IND", "-1.#IND")
#: texts that are taken for *not sampled* as well; how many there are is told
MARKS = (
    "-",
    "--",
    "---",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "<NA>",
    "null",
    "NULL",
    "None",
)
#: all that mean *not sampled*, beside the empty one
MISSING = (*NANS, *MARKS)
#: what a line of comment begins with
COMMENTS = ("#", "%", "//")

_MISSING = frozenset(MISSING)
# digits are taken whole (possessive), else a long row of them would be tried in all its divisions
_POINT = re.compile(r"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d++,?\d*+|,\d++)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([aApP][mM])?\s*(Z|UTC|[+-]\d{2}:?\d{2})?"
_DATE = re.compile(
    r"(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}([./-])\d{1,2}\2(\d{4}|\d{2}))"
    rf"([T ,]+{_CLOCK})?"
)


#: groups of three digits, as 1,234.5 or 1 234 567
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:([.,' \u00a0\u202f])\d{3})(?:\1\d{3})*+(?:[.,]\d+)?")


def looks_grouped(cell: str) -> bool:
    """Whether a cell looks like a number with signs between its thousands."""
    return _GROUPED.fullmatch(cell.strip()) is not None


class CellKind(StrEnum):
    """What a cell holds."""

    NUMBER = "number"
    DATE = "date"
    NOTHING = "nothing"
    TEXT = "text"


def cell_kind(cell: str, decimal: str = ".") -> CellKind:
    """What `cell` is where numbers are written with the sign `decimal`."""
    cell = cell.strip()
    if not cell or cell in _MISSING:
        return CellKind.NOTHING
    if (_COMMA if decimal == "," else _POINT).fullmatch(cell):
        return CellKind.NUMBER
    return CellKind.DATE if _DATE.fullmatch(cell) else CellKind.TEXT


def is_comment(line: str) -> bool:
    """Whether a whole line is a comment."""
    return line.lstrip().startswith(COMMENTS)


def short_cell(cell: object) -> str:
    """A cell as messages quote it: on one line, and not longer than needed."""
    text = " ".join(str(cell).split())
    return f"'{text[:40]}…'" if len(text) > 41 else f"'{text}'"


MOST_TOLD = 4  # different texts


@dataclass(frozen=True)
class UncountedCells:
    """How many cells, in which row the first of them stands (from 1), and what they hold."""

    first: int
    texts: Mapping[str, int] = field(default_factory=dict)  # as written, and how often
    infinite: int = 0  # infinite, or too large to compute with

    @property
    def count(self) -> int:
        """All of them."""
        return sum(self.texts.values()) + self.infinite

    @property
    def in_words(self) -> str:
        """Such as "3 cells hold no number: '-' twice, 'n/a' once; the first in row 7"."""
        parts = [f"{short_cell(t)} {_times(n)}" for t, n in list(self.texts.items())[:MOST_TOLD]]
        if len(self.texts) > MOST_TOLD:
            parts.append(f"{len(self.texts) - MOST_TOLD} other texts")
        if self.infinite:
            parts.append(f"infinite or too large {_times(self.infinite)}")
        cells = "1 cell does" if self.count == 1 else f"{self.count} cells do"
        where = f"in row {self.first}" if self.count == 1 else f"the first in row {self.first}"
        return f"{cells} not hold a number ({', '.join(parts)}), {where}"

    def with_infinite(self, values: Vector) -> UncountedCells | None:
        """The same with the infinite numbers of the column; None where there is nothing to tell."""
        endless = np.flatnonzero(~(is_usable(values) | np.isnan(values)))
        rows = [int(endless[0]) + 1] if len(endless) else []
        rows += [self.first] if self.texts else []
        return UncountedCells(min(rows), self.texts, len(endless)) if rows else None


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"
