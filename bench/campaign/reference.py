"""Reference results: a folder for each class, with its curves and the signals to be compared.

Or one folder of texts: see `text_results`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from campaign import text_results
from campaign.comparison import ROUNDED, Curve, Vector, output_interval

SIGNALS = "comparisonSignals.txt"


@dataclass(frozen=True, eq=False)
class Reference:
    """What another tool has computed of one class."""

    rows: dict[str, Vector]  # by name without spaces; `time` is one of them
    wanted: tuple[str, ...]  # signals to be compared, those that the file has
    marks_events: bool = True  # whether an event is two rows; else a row at it may be either side

    @property
    def row_times(self) -> Vector:
        """Times of the rows; at events the same time stands there twice."""
        return self.rows["time"]

    @cached_property
    def times(self) -> Vector:
        """Every time once."""
        return np.unique(self.row_times)

    @cached_property
    def interval(self) -> float:
        """From one regular output to the next."""
        return output_interval(self.row_times)

    def curve(self, signal: str) -> Curve:
        """One of the signals."""
        return Curve.of(self.row_times, self.rows[signal])

    def without_events(self, curve: Curve, events: Vector) -> Curve:
        """The curve without rows at events of ours, where nobody knows which side a row is."""
        if self.marks_events or not len(events):
            return curve
        nearest = np.abs(curve.times[:, None] - np.asarray(events)[None, :]).min(axis=1)
        hidden = nearest <= ROUNDED * self.interval
        low, high = (np.where(hidden, np.nan, v) for v in (curve.low, curve.high))
        return Curve(curve.times, low, high) if not hidden.all() else curve


def classes(folder: Path) -> Iterator[str]:
    """The classes that a folder of reference results is about, sorted."""
    for path in sorted(folder.rglob(SIGNALS)):
        yield ".".join(path.parent.relative_to(folder).parts)
    yield from text_results.classes(folder)


def place(folder: Path, name: str) -> Path:
    """The table of a class; it need not exist."""
    text = text_results.place(folder, name)
    if text.is_file():
        return text
    parts = name.split(".")
    return folder.joinpath(*parts) / f"{parts[-1]}.csv"


def listed_signals(folder: Path, name: str) -> list[str]:
    """The signals that the authors want compared; a line that begins with // is a remark."""
    path = place(folder, name).with_name(SIGNALS)
    if not path.is_file():
        return []
    lines = (plain(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [n for n in lines if n and not n.startswith("//") and n.lower() != "time"]


def read_reference(folder: Path, name: str) -> Reference | None:
    """The curves of a class, or None where there is no table with rows."""
    import pandas as pd

    path = place(folder, name)
    if not path.is_file():
        return None
    if path.suffix == ".txt":
        rows = {plain(n): row for n, row in text_results.read_rows(path).items()}
        wanted = tuple(n for n in rows if n != "time")
        return Reference(rows, wanted, marks_events=False) if rows else None
    try:
        table = pd.read_csv(path, dtype=float)
    except ValueError:  # not a table of numbers: empty, or a note where to find it
        return None
    names = [plain(str(n)) for n in table.columns]
    if not len(table) or names[0].lower() != "time":
        return None
    columns = {n: np.ascontiguousarray(table.iloc[:, k]) for k, n in enumerate(names)}
    columns["time"] = columns[names[0]]
    listed = listed_signals(folder, name) or names[1:]
    return Reference(columns, tuple(dict.fromkeys(n for n in listed if n in columns)))


def plain(name: str) -> str:
    """A name without the spaces that some tools write between subscripts."""
    return "".join(name.split())
