"""Tables and small pictures in plain text, by rich."""

from __future__ import annotations

import html
import io
import math
from datetime import datetime
from importlib.metadata import version

import numpy as np
import rich.table
from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.text import Text

from estimica.base.arrays import Vector
from estimica.base.view import Bars, Curve, Curves, Heat, Listing, Parallel, Rounded, Table
from estimica.base.visible import visible

BARS = "▁▂▃▄▅▆▇█"


def escape(text: str) -> str:
    """A text for a figure: Plotly reads marks as <b>, but not how HTML writes quotation marks.

    Every text of a figure that is not our own passes here: a mark may be a link.
    """
    return html.escape(visible(text), quote=False)


def printed(value: object) -> str:
    """A cell as text: numbers with six digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Rounded) and math.isfinite(value):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


#: characters that a column of words needs at least, so that numbers beside it stay whole
FEWEST = 8


class _Fitted:
    """A table that keeps its numbers in one line where the screen is wide enough for them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.cells = [[printed(cell) for cell in row] for row in table.rows]
        self.numeric = [
            any(isinstance(row[k], (int, float, np.number)) for row in table.rows)
            for k in range(len(table.columns))
        ]

    def _least(self) -> int:
        """The width with all numbers whole, borders included."""
        total = 1
        for k, column in enumerate(self.table.columns):
            widest = max([len(column), *(len(row[k]) for row in self.cells)])
            total += 3 + (widest if self.numeric[k] else min(widest, FEWEST))
        return total

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = self._least() <= options.max_width
        drawn = rich.table.Table(
            title=Text(self.table.title) if self.table.title else None,
            title_justify="left",
            title_style="bold",
            header_style="bold",
        )
        for column, numeric in zip(self.table.columns, self.numeric, strict=True):
            side: JustifyMethod = "right" if numeric else "left"
            # a number that does not fit is folded, never cut
            drawn.add_column(Text(column), justify=side, overflow="fold", no_wrap=numeric and whole)
        for row in self.cells:
            drawn.add_row(*map(Text, row))
        yield drawn


def rich_table(table: Table) -> RenderableType:
    """A table for a rich console: names to the left, numbers to the right."""
    drawn = _Fitted(table)
    return Group(drawn, Text(table.note, style="dim")) if table.note else drawn


def table_text(table: Table) -> str:
    """A table as plain text."""
    return plain(rich_table(table))


def listing_text(listing: Listing) -> str:
    """A text as it is, below its title."""
    return f"{listing.title}\n{listing.text}" if listing.title else listing.text


def curves_text(curves: Curves) -> str:
    """One line for each curve: its range, its end, and its course in miniature."""
    rows = [_summary(curve) for panel in curves.panels for curve in panel.curves]
    columns = ("name", "unit", "smallest", "largest", "at the end", "course")
    return table_text(Table(columns, tuple(rows), curves.title))


def sparkline(value: Vector, width: int = 24) -> str:
    """The course of a signal in one line of blocks; a gap where it is not a number."""
    if len(value) == 0:
        return ""
    sampled = value[np.linspace(0, len(value) - 1, min(width, len(value))).astype(int)]
    finite = np.isfinite(sampled)
    if not finite.any():
        return " " * len(sampled)
    low, high = float(sampled[finite].min()), float(sampled[finite].max())
    share = np.zeros(len(sampled)) if high == low else (sampled - low) / (high - low)
    level = np.where(finite, np.nan_to_num(share) * (len(BARS) - 1), 0).round().astype(int)
    return "".join(BARS[k] if ok else " " for k, ok in zip(level, finite, strict=True))


def plain(renderable: RenderableType, width: int = 100) -> str:
    """What rich would print, without colours."""
    # not Jupyter's: there rich would show the text beside handing it back
    console = Console(
        file=io.StringIO(),
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
    )
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rstrip("\n")


def _summary(curve: Curve) -> tuple[object, ...]:
    finite = curve.value[np.isfinite(curve.value)]
    if len(finite) == 0:
        return curve.name, curve.unit, None, None, None, ""
    low, high, end = float(finite.min()), float(finite.max()), float(finite[-1])
    return curve.name, curve.unit, low, high, end, sparkline(curve.value)


def provenance() -> str:
    """A line for the end of a report."""
    return f"estimica {version('estimica')}, {datetime.now():%Y-%m-%d %H:%M}"


def heat_text(heat: Heat) -> str:
    """The ranges in plain text."""
    missing = int(np.isnan(heat.value).sum())
    rows = tuple(
        (label, float(np.nanmin(v)) if np.isfinite(v).any() else None,
         float(np.nanmax(v)) if np.isfinite(v).any() else None)
        for label, v in (
            (heat.x_label, heat.x), (heat.y_label, heat.y), (heat.value_label, heat.value)
        )
    )  # fmt: skip
    note = f"{missing} points without a value" if missing else ""
    return table_text(Table(("name", "smallest", "largest"), rows, heat.title, note))


def bars_text(bars: Bars) -> str:
    """The bars as a table."""
    every = [(group, b) for group, members in bars.groups for b in members]
    if any(b.base for _, b in every):
        ranges = tuple((group, b.name, b.base, b.value) for group, b in every)
        return table_text(Table(("", "", bars.label, "to"), ranges, bars.title))
    rows = tuple((group, b.name, b.value) for group, b in every)
    return table_text(Table(("", "", bars.label), rows, bars.title))


def parallel_text(parallel: Parallel) -> str:
    """The range on each axis, of all lines and of the good ones."""
    rows = []
    for axis in parallel.axes:
        own = axis.value[parallel.good]
        ends = (float(own.min()), float(own.max())) if len(own) else (None, None)
        rows.append((axis.label, float(axis.value.min()), float(axis.value.max()), *ends))
    word = parallel.labels[0]
    columns = ("axis", "smallest", "largest", f"smallest, {word}", f"largest, {word}")
    note = f"{int(parallel.good.sum())} of {len(parallel.good)} are {word}."
    return table_text(Table(columns, tuple(rows), parallel.title, note))
