"""Cells: what a single piece of text in a table is, a number, a date, nothing or something else."""

from __future__ import annotations

import re
from enum import StrEnum

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
