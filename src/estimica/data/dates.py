"""Dates: stamps as seconds since the first of them, in whatever way a file writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import DataError
from estimica.base.suggest import did_you_mean
from estimica.data.cells import CellKind, cell_kind, short_cell
from estimica.data.reading import PLAIN, Reading, zone_of

if TYPE_CHECKING:
    import pandas as pd

_PARTS = re.compile(
    r"(?P<a>\d{1,2})(?P<sign>[./-])(?P<b>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})"
    r"(?P<gap>[T ,]+)?(?P<clock>\d.*)?"
)
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


class NotADate(ValueError):
    """A cell among dates that is none: its position, and why."""

    def __init__(self, row: int, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.row = row
        self.why = why
        self.advice = advice


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


def read_dates(texts: pd.Series, reading: Reading = PLAIN) -> tuple[Vector, str]:
    """Seconds since the first stamp, and that stamp, from texts all written alike."""
    import pandas as pd

    texts = texts.reset_index(drop=True)
    first = texts[texts.first_valid_index()]
    form = _form(texts, first, reading)
    aware = bool(re.search(r"(Z|UTC|[+-]\d{2}:?\d{2})$", first.split(":", 1)[-1]))
    stamps = pd.to_datetime(texts, format=form, errors="coerce", utc=aware)
    bad = (stamps.isna() & texts.notna()).to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        raise NotADate(row, f"{short_cell(texts[row])} is not a date like the first one, '{first}'")
    if reading.timezone is not None:
        return zoned_seconds(stamps, reading.timezone)
    seconds, origin = seconds_of(stamps)
    if aware:
        origin = pd.Timestamp(first).isoformat()
    return seconds, origin


def read_serial_dates(values: Vector, reading: Reading) -> tuple[Vector, str]:
    """Seconds and origin of stamps that are numbers: Excel's days, or seconds since 1970."""
    import pandas as pd

    per_unit = {"excel": 86_400_000.0, "unix": 1e3, "unix-ms": 1.0}[str(reading.dates)]
    # to the millisecond, which is all that a day number of eleven digits holds
    whole = pd.Series(np.round(values * per_unit)).astype("Int64", errors="ignore")
    begin = pd.Timestamp("1899-12-30" if reading.dates == "excel" else "1970-01-01T00:00:00Z")
    stamps = begin + pd.to_timedelta(whole, unit="ms")
    if reading.timezone is not None:
        return zoned_seconds(stamps, reading.timezone)
    return seconds_of(stamps)


def zoned_seconds(stamps: pd.Series, name: str) -> tuple[Vector, str]:
    """Seconds and origin of stamps in a time zone; those without one are of its clocks."""
    zone = zone_of(name)
    aware = stamps.dt.tz_convert(zone) if stamps.dt.tz is not None else _localised(stamps, zone)
    seconds, origin = seconds_of(aware)
    return seconds, f"{origin}[{zone}]" if origin and isinstance(zone, ZoneInfo) else origin


def _localised(stamps: pd.Series, zone: tzinfo) -> pd.Series:
    """Stamps of a clock as instants: of the hour that it shows twice the earlier rows come first.

    That is certain only where the rows of that hour go back once, and only then it is done.
    """
    stamps = stamps.reset_index(drop=True)
    some = np.ones(len(stamps), bool)
    there = stamps.notna()
    placed = stamps.dt.tz_localize(zone, ambiguous=some, nonexistent="NaT")
    lost = np.flatnonzero((placed.isna() & there).to_numpy())
    if len(lost):
        raise NotADate(
            int(lost[0]),
            f"'{stamps[lost[0]]}' does not exist in {zone}, where the clocks went forward",
            '; if the logger keeps winter time, write its offset, as in timezone = "+01:00" in '
            "[reading]",
        )
    twice = stamps.dt.tz_localize(zone, ambiguous="NaT", nonexistent="NaT").isna() & there
    summer = some
    for first, last in _runs(twice.to_numpy()):
        clock = stamps.iloc[first:last].to_numpy()
        jumps = np.flatnonzero(np.diff(clock) <= np.timedelta64(0))
        if len(jumps) != 1:
            raise NotADate(
                first,
                f"'{stamps[first]}' is there twice in {zone}, and rows do not tell which is meant",
                "; if the logger does not change its clock, write its offset, as in timezone = "
                '"+01:00" in [reading]',
            )
        summer[first + int(jumps[0]) + 1 : last] = False
    return stamps.dt.tz_localize(zone, ambiguous=summer, nonexistent="raise")


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Begin and end of the stretches that are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([aApP][mM])?")


def is_clock(cell: object) -> bool:
    """Whether a cell is a time of day alone."""
    return isinstance(cell, str) and _OF_DAY.fullmatch(cell.strip()) is not None


def is_day(cell: object) -> bool:
    """Whether a cell is a date without a time of day."""
    return isinstance(cell, str) and is_date(cell.strip()) and ":" not in cell


def joined_stamps(
    source: str, columns: Mapping[str, pd.Series], reading: Reading
) -> tuple[dict[str, pd.Series], list[str]]:
    """The columns with date and time of day joined where they stand in two, and a note of it.

    Both columns then hold the whole stamp, so that either may be named as the time.
    """
    joined = dict(columns)
    days = [n for n, c in columns.items() if _all_are(c, is_day)]
    clocks = [n for n, c in columns.items() if _all_are(c, is_clock)]
    if reading.clock is not None:
        if reading.clock not in columns:
            hint = did_you_mean(reading.clock, columns)
            raise DataError("D073", f"no column '{reading.clock}' in '{source}'{hint}, for clock")
        clocks = [reading.clock] if reading.clock in clocks else []
        days = [n for n in days if n == reading.time] or days
        if not clocks or not days:
            what = "times of day" if not clocks else "dates to go with it"
            raise DataError(
                "D073", f"'{source}': clock = '{reading.clock}' does not help: there are no {what}"
            )
    if not days or not clocks or (reading.clock is None and len(days) + len(clocks) > 2):
        return joined, []
    whole = with_clock(columns[days[0]], columns[clocks[0]])
    joined[days[0]] = joined[clocks[0]] = whole
    return joined, [f"'{days[0]}' and '{clocks[0]}' are read together as one time stamp"]


def _all_are(cells: pd.Series | Vector, kind: Callable[[object], bool]) -> bool:
    """Whether all cells that hold something are of a kind; most columns fail at the first."""
    if isinstance(cells, np.ndarray):  # of numbers
        return False
    import pandas as pd

    if not isinstance(cells.dtype, pd.StringDtype) and cells.dtype != object:
        return False
    there = cells.dropna()
    return bool(len(there) and kind(there.iloc[0]) and there.map(kind).all())


def with_clock(days: pd.Series, clock: pd.Series) -> pd.Series:
    """Dates and times of day as one text each; missing where one of them is."""
    return days.astype("str").str.strip() + " " + clock.astype("str").str.strip()


def _form(texts: pd.Series, first: str, reading: Reading) -> str:
    """The format of dates that begin with the day or the month; others are ISO."""
    parts = _PARTS.fullmatch(first)
    if parts is None:
        return "ISO8601"
    sign, year = parts["sign"], "%Y" if len(parts["year"]) == 4 else "%y"
    date = f"%m{sign}%d" if _month_first(texts, sign, reading) else f"%d{sign}%m"
    return f"{date}{sign}{year}{parts['gap'] or ''}{_clock(parts['clock'] or '')}"


def _month_first(texts: pd.Series, sign: str, reading: Reading) -> bool:
    if reading.dates in ("day-first", "month-first"):
        return reading.dates == "month-first"
    if sign == ".":
        return False
    numbers = texts.str.extract(r"^(\d{1,2})\D(\d{1,2})\D").astype("float64")
    day_first, month_first = (numbers[0] > 12).any(), (numbers[1] > 12).any()
    if not day_first and not month_first:
        raise NotADate(
            int(texts.first_valid_index()),
            f"'{texts[texts.first_valid_index()]}' may begin with the day or with the month",
            '; write dates = "day-first" or "month-first" in [reading]',
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
