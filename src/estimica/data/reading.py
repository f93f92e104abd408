"""Reading: what a file does not say of itself: its signs, its codes, its dates, its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

from estimica.base.errors import DataError
from estimica.base.suggest import did_you_mean

Dates = Literal["day-first", "month-first", "excel", "unix", "unix-ms"]
Duplicates = Literal["replicates", "error", "first", "last", "mean"]
Unordered = Literal["error", "sort"]
#: share of the cells of a column that may hold a word in place of a number (chosen: a logger that
#: loses more is worth a look)
BAD_CELLS = 0.05
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table is read where that cannot be found out; by default everything is found out.

    `time` is the column with the time stamps. `separator`, `decimal` and `thousands` are signs of a
    text file. `missing` are numbers and texts that stand for *not sampled*, beside the usual ones.
    `bad_cells` is the share of cells of a column of numbers that may hold other texts, which count
    as not sampled. `dates` says how dates are written, `clock` which column holds the time of day
    beside one of dates, `timezone` where the clock hung. `duplicates` says what becomes of rows
    with one time stamp, `unordered` of rows that go back in time.
    """

    time: str | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[float | str, ...] | None = None
    bad_cells: float = BAD_CELLS
    dates: Dates | None = None
    clock: str | None = None
    timezone: str | None = None
    duplicates: Duplicates = "replicates"
    unordered: Unordered = "error"

    def __post_init__(self) -> None:
        for key, kinds in (("dates", Dates), ("duplicates", Duplicates), ("unordered", Unordered)):
            value, known = getattr(self, key), get_args(kinds)
            if value is not None and value not in known:
                hint = did_you_mean(str(value), known) or f"; there are {', '.join(known)}"
                raise DataError("D070", f"{key} = '{value}' is not known{hint}")
        if not 0 <= self.bad_cells <= 1:
            raise DataError("D070", f"bad_cells = {self.bad_cells:g} is a share, from 0 to 1")
        if self.thousands is not None and self.thousands == self.decimal:
            raise DataError(
                "D070", f"thousands and decimal are both '{self.decimal}'; one must be another"
            )
        if self.timezone is not None:
            zone_of(self.timezone)

    @property
    def is_default(self) -> bool:
        """Whether everything is to be found out."""
        return all(getattr(self, f.name) == f.default for f in fields(self))


PLAIN = Reading()


def zone_of(name: str) -> tzinfo:
    """A time zone from its name ("Europe/Berlin", "UTC") or its offset ("+01:00")."""
    text = name.strip()
    if text in ("UTC", "Z", "GMT"):
        return UTC
    offset = _OFFSET.fullmatch(text)
    if offset:
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours <= 14 and minutes < 60:  # zones reach from -12:00 to +14:00
            sign = -1 if offset[1] == "-" else 1
            return timezone(sign * timedelta(hours=hours, minutes=minutes))
    elif text in available_timezones():
        return ZoneInfo(text)
    known = [z for z in available_timezones() if "/" in z]
    by_city = [z for z in sorted(known) if z.rpartition("/")[2].casefold() == text.casefold()]
    hint = f"; did you mean '{by_city[0]}'?" if by_city else did_you_mean(text, known)
    raise DataError(
        "D071",
        f"timezone '{name}' is not known{hint or ''}; write a name such as 'Europe/Berlin', 'UTC', "
        "or an offset such as '+01:00'",
    )
