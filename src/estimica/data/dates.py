"""Dates: columns of instants as seconds since their first one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.data.cells import CellKind, cell_kind, short_cell

if TYPE_CHECKING:
    import pandas as pd

_PARTS = re.compile(
    r"(?P<a>\d{1,2})(?P<sign>[./-])(?P<b>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})"
    r"(?P<gap>[T ,]+)?(?P<clock>\d.*)?"
)
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


class NotADate(ValueError):
    """A cell among dates that is none: its position, and why."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


def seconds_of(stamps: pd.Series | pd.DatetimeIndex) -> tuple[Vector, str]:
    """Seconds since the first stamp that is there, and that stamp as ISO text."""
    import pandas as pd

    stamps = pd.Series(stamps)
    there = stamps.first_valid_index()
    if there is None:
        return np.full(len(stamps), np.nan), ""
    origin = stamps[there]
    elapsed = stamps - origin
    unit = np.datetime_data(elapsed.dtype)[0]
    seconds = np.asarray(elapsed.to_numpy().astype(np.int64), np.float64) / _PER_SECOND[unit]
    seconds[elapsed.isna().to_numpy()] = np.nan
    return seconds, origin.isoformat()


def is_date(cell: str) -> bool:
    """Whether a text is an instant that `read_dates` can make out."""
    return cell_kind(cell) is CellKind.DATE


def read_dates(texts: pd.Series) -> tuple[Vector, str]:
    """Seconds since the first stamp, and that stamp, from texts all written alike."""
    import pandas as pd

    texts = texts.reset_index(drop=True)
    first = texts[texts.first_valid_index()]
    form = _form(texts, first)
    aware = bool(re.search(r"(Z|UTC|[+-]\d{2}:?\d{2})$", first.split(":", 1)[-1]))
    stamps = pd.to_datetime(texts, format=form, errors="coerce", utc=aware)
    bad = (stamps.isna() & texts.notna()).to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise NotADate(row, f"{short_cell(texts[row])} is not a date like the first one, '{first}'")
    seconds, origin = seconds_of(stamps)
    if aware:
        origin = pd.Timestamp(first).isoformat()
    return seconds, origin


def _form(texts: pd.Series, first: str) -> str:
    """The format of dates that begin with the day or the month; others are ISO."""
    parts = _PARTS.fullmatch(first)
    if parts is None:
        return "ISO8601"
    sign, year = parts["sign"], "%Y" if len(parts["year"]) == 4 else "%y"
    date = f"%m{sign}%d" if _month_first(texts, sign) else f"%d{sign}%m"
    return f"{date}{sign}{year}{parts['gap'] or ''}{_clock(parts['clock'] or '')}"


def _month_first(texts: pd.Series, sign: str) -> bool:
    if sign == ".":
        return False
    numbers = texts.str.extract(r"^(\d{1,2})\D(\d{1,2})\D").astype("float64")
    day_first, month_first = (numbers[0] > 12).any(), (numbers[1] > 12).any()
    if not day_first and not month_first:
        raise NotADate(
            int(texts.first_valid_index()),
            f"'{texts[texts.first_valid_index()]}' may begin with the day or with the month; "
            "write dates as 2026-11-15",
        )
    return bool(month_first)


def _clock(text: str) -> str:
    if not text:
        return ""
    half = re.search(r"\s*[aApP][mM]", text)
    zone = re.search(r"\s*(Z|UTC|[+-]\d{2}:?\d{2})$", text)
    body = re.split(r"\s*(?:[aApP][mM]|Z|UTC|[+-])", text)[0]
    form = ("%I" if half else "%H") + ":%M" + (":%S" if body.count(":") == 2 else "")
    form += ".%f" if "." in body else ",%f" if "," in body else ""
    space = " " if half and half[0][0] == " " else ""
    form += f"{space}%p" if half else ""
    return form + ((" " if zone[0][0] == " " else "") + "%z" if zone else "")
