"""Twenty dirty logger files of one and the same record, each with one kind of dirt.

The truth is a day and a bit of a room: temperature, power and a counter, every ten minutes. Files
that cannot be read as they are name the setting that helps; with it they hold the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

STEP = 600.0  # seconds
COUNT = 150
BERLIN = ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class Truth:
    """The record: instants, and a value of each column; NaN where nothing was sampled."""

    instants: list[datetime]  # UTC
    columns: dict[str, np.ndarray[Any, np.dtype[np.float64]]]

    @property
    def time(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([(t - self.instants[0]).total_seconds() for t in self.instants])


def truth(begin: datetime = datetime(2025, 2, 3, 23, tzinfo=UTC)) -> Truth:
    """The record as it was, with three digits as loggers write them."""
    rng = np.random.default_rng(2025)
    time = STEP * np.arange(COUNT)
    room = np.round(20 + 3 * np.sin(time / 9000) + rng.normal(0, 0.05, COUNT), 2)
    power = np.round(1500 + 900 * np.sign(np.sin(time / 5000)) + rng.normal(0, 3, COUNT), 1)
    meter = np.round(12_345.6 + np.cumsum(power) * STEP / 3.6e6, 1)
    instants = [begin + timedelta(seconds=float(t)) for t in time]
    return Truth(instants, {"room": room, "power": power, "meter": meter})


Row = tuple[datetime, dict[str, float]]
Write = Callable[[Truth], bytes]


@dataclass(frozen=True)
class DirtyFile:
    """A file, what is wrong with it, and what makes it readable."""

    dirt: str
    write: Write
    #: words of the message where it is refused; empty where it is read as it is
    refused: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: cells that are missing on purpose: {column: rows}
    lost: Mapping[str, list[int]] = field(default_factory=dict)
    begin: datetime = datetime(2025, 2, 3, 23, tzinfo=UTC)
    name: str = "log.csv"

    def put(self, folder: Path) -> tuple[Path, Truth]:
        """Write it, and say what it holds."""
        record = truth(self.begin)
        path = folder / self.name
        path.write_bytes(self.write(record))
        for column, rows in self.lost.items():
            record.columns[column][rows] = np.nan
        return path, record


def lines(
    record: Truth,
    *,
    separator: str = ",",
    decimal: str = ".",
    stamp: str = "%Y-%m-%d %H:%M",
    zone: Any = UTC,
    header: str = "time{s}room [°C]{s}power [W]{s}meter [kWh]",
    cell: Callable[[str, int, str], str] = lambda text, row, name: text,
) -> list[str]:
    """The table as text; `cell` changes single cells."""
    written = [header.replace("{s}", separator)] if header else []
    for k, instant in enumerate(record.instants):
        shown = instant.astimezone(zone).strftime(stamp)
        cells = [cell(shown, k, "time")]
        for name, values in record.columns.items():
            text = f"{values[k]:.2f}" if name == "room" else f"{values[k]:.1f}"
            cells.append(cell(text.replace(".", decimal), k, name))
        written.append(separator.join(cells))
    return written


def encoded(rows: list[str], encoding: str = "utf-8") -> bytes:
    return ("\n".join(rows) + "\n").encode(encoding)


def plain(**given: Any) -> Write:
    return lambda record: encoded(lines(record, **given))


ERRORS = [17, 60, 111]


def _coded(code: str, rows: list[int]) -> Callable[[str, int, str], str]:
    return lambda text, k, name: code if name == "room" and k in rows else text


def _grouped(text: str, k: int, name: str) -> str:
    if name == "time":
        return text
    whole, _, part = text.partition(".")
    return f'"{int(whole):,}.{part}"'


def _grouped_german(text: str, k: int, name: str) -> str:
    if name == "time":
        return text
    whole, _, part = text.partition(",")
    return f"{int(whole):,}".replace(",", ".") + f",{part}"


def _doubled(record: Truth) -> bytes:
    rows = lines(record)
    # row 40 is written twice, the second time with a power that was not measured
    again = rows[41].split(",")
    again[2] = "0.0"
    return encoded([*rows[:42], ",".join(again), *rows[42:]])


def _shuffled(record: Truth) -> bytes:
    rows = lines(record)
    return encoded([*rows[:21], *rows[81:101], *rows[21:81], *rows[101:]])


def _excel_days(record: Truth) -> bytes:
    zero = datetime(1899, 12, 30, tzinfo=UTC)
    days = [(t - zero).total_seconds() / 86400 for t in record.instants]
    header = "Date{s}room [°C]{s}power [W]{s}meter [kWh]"
    return encoded(
        lines(record, header=header, cell=lambda c, k, n: f"{days[k]:.8f}" if n == "time" else c)
    )


def _two_columns(record: Truth) -> bytes:
    header = "Date{s}Time{s}room [°C]{s}power [W]{s}meter [kWh]"
    return encoded(lines(record, header=header, stamp="%d.%m.%Y;%H:%M:%S", separator=";"))


def _mixed(record: Truth) -> bytes:
    """A header in UTF-8, and a line of Latin-1 among the comments."""
    rows = encoded(lines(record))
    return b"# K\xfcche, Erdgescho\xdf\n" + rows


def _milliseconds(record: Truth) -> bytes:
    return encoded(
        lines(
            record, stamp="%Y-%m-%dT%H:%M:%S.%f", cell=lambda c, k, n: c[:-3] if n == "time" else c
        )
    )


DIRTY = (
    DirtyFile("a byte order mark", lambda r: b"\xef\xbb\xbf" + encoded(lines(r))),
    DirtyFile("semicolons and decimal commas", plain(separator=";", decimal=",")),
    DirtyFile(
        "a row of units below the names",
        lambda r: encoded(
            ["time;room;power;meter", "-;°C;W;kWh", *lines(r, separator=";", header="")]
        ),
    ),
    DirtyFile(
        "two header lines, and a title",
        lambda r: encoded(["Logger 4711", "", ";Ground floor;;", *lines(r, separator=";")]),
    ),
    DirtyFile("Err cells", plain(cell=_coded("Err", ERRORS)), lost={"room": ERRORS}),
    DirtyFile(
        "a tenth of the cells Err",
        plain(cell=_coded("Err", list(range(30, 45)))),
        refused="write bad_cells = 0.1 in [reading]",
        settings={"bad_cells": 0.1},
        lost={"room": list(range(30, 45))},
    ),
    DirtyFile(
        "-9999 for not sampled",
        plain(cell=_coded("-9999", ERRORS)),
        refused='write missing = [-9999] in [reading]',
        settings={"missing": [-9999]},
        lost={"room": ERRORS},
    ),
    DirtyFile(
        "a stamp twice",
        _doubled,
        refused='write duplicates = "first"',
        settings={"duplicates": "first"},
    ),
    DirtyFile(
        "rows out of order",
        _shuffled,
        refused='write unordered = "sort" in [reading]',
        settings={"unordered": "sort"},
    ),
    DirtyFile(
        "the doubled hour of autumn",
        plain(zone=BERLIN),
        refused='timezone = "Europe/Berlin"',
        settings={"timezone": "Europe/Berlin"},
        begin=datetime(2025, 10, 25, 18, tzinfo=UTC),
    ),
    DirtyFile(
        "the missing hour of spring",
        plain(zone=BERLIN, header="time{s}room [°C]{s}power [W]{s}meter [kWh]"),
        refused='timezone = "Europe/Berlin"',
        settings={"timezone": "Europe/Berlin"},
        begin=datetime(2025, 3, 29, 18, tzinfo=UTC),
    ),
    DirtyFile("date and time in two columns", _two_columns),
    DirtyFile(
        "thousands separators",
        plain(cell=_grouped),
        refused='write thousands = "," in [reading]',
        settings={"thousands": ","},
    ),
    DirtyFile(
        "thousands separators with decimal commas",
        plain(cell=_grouped_german, separator=";", decimal=","),
        refused='write thousands = "." in [reading]',
        settings={"thousands": "."},
    ),
    DirtyFile(
        "a summary below the table",
        lambda r: encoded([*lines(r), "Mean,20.1,1500.0,", "Max,23.2,2409.1,"]),
    ),
    DirtyFile("two encodings in one file", _mixed),
    DirtyFile("Latin-1", lambda r: encoded(lines(r), "latin-1")),
    DirtyFile(
        "empty columns",
        lambda r: encoded([f"{row},,".replace("power", ",power", 0) for row in lines(r)]),
    ),
    DirtyFile(
        "quoted numbers", plain(cell=lambda c, k, n: f'"{c}"'),
    ),
    DirtyFile(
        "days as Excel counts them",
        _excel_days,
        refused='write dates = "excel" in [reading]',
        settings={"dates": "excel"},
    ),
    DirtyFile(
        "a clock of twelve hours",
        plain(stamp="%m/%d/%Y %I:%M:%S %p", separator="\t"),
        begin=datetime(2025, 2, 13, 23, tzinfo=UTC),
    ),
    DirtyFile(
        "days or months first",
        plain(stamp="%d/%m/%Y %H:%M"),
        refused='write dates = "day-first" or "month-first" in [reading]',
        settings={"dates": "day-first"},
    ),
    DirtyFile("milliseconds", _milliseconds),
    DirtyFile("offsets in the stamps", plain(stamp="%Y-%m-%dT%H:%M:%S%z", zone=BERLIN)),
    DirtyFile("tabs", plain(separator="\t", decimal=",")),
    DirtyFile(
        "comment lines among the rows",
        lambda r: encoded([*lines(r)[:50], "# door was open", *lines(r)[50:]]),
    ),
    DirtyFile(
        "UTF-16 with lines of Windows",
        lambda r: ("\r\n".join(lines(r, separator="\t")) + "\r\n").encode("utf-16"),
    ),
)  # fmt: skip
