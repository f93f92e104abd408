"""What there is to see of a result: curves, tables, pages as plain values.

How they are drawn is the matter of `report`; the table in `presenters` leads there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.presenters import (
    FIGURE_WRITER,
    PAGE_WRITER,
    RENDERERS,
    SECTIONS,
    VERDICTS,
    presenter,
)

TIME_LABEL = "time [s]"


class Form(StrEnum):
    """The ways in which something can be shown."""

    FIGURE = "figure"  # an interactive figure
    HTML = "html"  # a fragment of a page, for notebooks
    TEXT = "text"  # plain text, for terminals


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line over time. `stepped` holds each value until the next stamp."""

    name: str
    time: Vector
    value: Vector
    unit: str = ""
    description: str = ""
    stepped: bool = False
    dotted: bool = False  # drawn as points: measurements
    marked: bool = False  # a line with a mark at each stamp
    dashed: bool = False
    colour: int | None = None  # which of the palette; by default the next one
    strength: float = 1.0  # from 0, invisible, to 1, the full colour
    listed: bool = True  # whether the legend has it where there is a legend


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A shaded stretch between two values, over the whole width."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Ribbon:
    """A shaded stretch between two curves, behind all lines."""

    name: str
    time: Vector
    low: Vector
    high: Vector
    colour: int = 5
    strength: float = 0.25
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Across:
    """A horizontal axis of its own: its label, logarithmic or not, of one scale with the other."""

    label: str
    log: bool = False
    equal: bool = False  # a unit is as long as on the vertical axis: the complex plane
    dates: bool = False  # what lies along it are seconds of a clock since 1970, shown as dates


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Curves that share one vertical axis; panels of one group share the horizontal one."""

    label: str
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...] = ()
    log: bool = False  # a logarithmic vertical axis
    group: str = ""  # written above its first panel
    ribbons: tuple[Ribbon, ...] = ()
    across: Across | None = None  # where its horizontal axis is not that of the others
    height: int = 0  # pixels, where it is not that of the others
    gaps: tuple[tuple[float, float], ...] = ()  # times without data, shaded: lines end there
    origin: str = ""  # the instant of 0 s where its time has dates, as `data/calendar` writes it

    def broken(self, curve: Curve) -> tuple[Vector, Vector]:
        """The points of a curve, with one that is no number in each gap where it is a line."""
        time, value = curve.time, curve.value
        if curve.dotted:
            return time, value
        for begin, end in self.gaps:
            middle = (begin + end) / 2
            k = int(np.searchsorted(time, middle))
            if 0 < k < len(time):
                time, value = np.insert(time, k, middle), np.insert(value, k, np.nan)
        return time, value

    def pieces(self, ribbon: Ribbon) -> Iterator[Ribbon]:
        """A ribbon as what there is of it between gaps."""
        edges = [(a + b) / 2 for a, b in self.gaps]
        places = [0, *np.searchsorted(ribbon.time, edges).tolist(), len(ribbon.time)]
        listed = ribbon.listed
        for a, b in pairwise(places):
            if a < b:
                part = (ribbon.time[a:b], ribbon.low[a:b], ribbon.high[a:b])
                yield Ribbon(ribbon.name, *part, ribbon.colour, ribbon.strength, listed)
                listed = False


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Panels one below the other."""

    panels: tuple[Panel, ...]
    title: str = ""
    time_label: str = TIME_LABEL  # figures show seconds in a unit that suits their length
    panel_height: int = 190  # pixels
    whole: bool = False  # the horizontal axis counts: 0, 1, 2, …
    log_time: bool = False  # a logarithmic horizontal axis: frequencies


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """A value over two others as colours and contours, with curves on top; NaN is a hole."""

    x: Vector
    y: Vector
    value: Vector  # (len(y), len(x))
    x_label: str
    y_label: str
    value_label: str
    curves: tuple[Curve, ...] = ()  # their `time` is along x
    title: str = ""
    #: what colours are drawn by, where the values themselves would show too little
    colour: Vector | None = None
    colour_label: str = ""
    #: names of what stands along both axes: cells are drawn instead of contours
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, its length, what is told of it, and whether it stands out."""

    name: str
    value: float
    about: str = ""
    strong: bool = False
    base: float = 0.0  # where it begins; it ends at its value
    margin: float = 0.0  # how far the interval around its end reaches upwards
    margin_below: float | None = None  # and downwards, where that differs

    @property
    def margins(self) -> tuple[float, float]:
        """How far the interval reaches below and above its end."""
        return self.margin if self.margin_below is None else self.margin_below, self.margin


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars one below the other, in groups."""

    groups: tuple[tuple[str, tuple[Bar, ...]], ...]
    label: str
    title: str = ""
    log: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Upright:
    """One of several vertical axes side by side, with the value of every line on it."""

    label: str
    value: Vector
    log: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Parallel:
    """Parallel coordinates: a line for each sample through its values on all axes."""

    axes: tuple[Upright, ...]
    good: Flags  # lines in the strong colour
    labels: tuple[str, str] = ("good", "not good")  # of lines that are, and that are not
    title: str = ""
    counts: tuple[int, int] | None = None  # of lines, where only some of them are here


@dataclass(frozen=True, slots=True, eq=False)
class CornerAxis:
    """One quantity of a corner plot: its values, the estimate, and the ends of its interval."""

    label: str
    values: Vector
    estimate: float
    interval: tuple[float, float] | None = None


class Rounded(float):
    """A number that is printed with so many decimals."""

    decimals: int

    def __new__(cls, value: float, decimals: int) -> Self:
        """Keep the whole value; only its print is short."""
        number = super().__new__(cls, value)
        number.decimals = decimals
        return number

    def __getnewargs__(self) -> tuple[float, int]:  # type: ignore[override]
        return float(self), self.decimals

    def __str__(self) -> str:
        return f"{float(self):z.{self.decimals}f}"  # z: no -0.00


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; numbers stay numbers until they are printed."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    note: str = ""

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


@dataclass(frozen=True, slots=True)
class Listing:
    """Text as it was typed: a file, a command. A folded one is opened by a click."""

    text: str
    title: str = ""
    folded: bool = False


ViewElement = Curves | Table | Heat | Bars | Parallel | Listing


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a few paragraphs, and what there is to see."""

    heading: str
    text: str = ""  # paragraphs have an empty line between them
    shown: tuple[ViewElement, ...] = ()
    chapter: bool = False  # a page within a document of several: its sections follow


@dataclass(frozen=True, slots=True)
class Page:
    """A page about a result."""

    title: str
    sections: tuple[Section, ...]
    lead: str = ""


def write(page: Page, path: str | PathLike[str]) -> Path:
    """Write a page and return where it is: self-contained HTML, or Markdown where it is an .md."""
    written: Path = presenter(PAGE_WRITER)(page, path)
    return written


def write_figures(page: Page, folder: str | PathLike[str], format: str = "svg") -> list[Path]:
    """Write every figure of a page into a folder, as svg, png or pdf, and return where they are."""
    written: list[Path] = presenter(FIGURE_WRITER)(page, folder, format)
    return written


def added_sections(result: str, value: object) -> list[Section]:
    """What rooms further down say of a result on its page."""
    return [section for name in SECTIONS.get(result, ()) for section in presenter(name)(value)]


def verdict(result: str, value: object) -> Any:
    """What a room further down concludes from what a result leaves unexplained."""
    return presenter(VERDICTS[result])(value)


def render(element: ViewElement, form: Form) -> Any:
    """What the presenter of its kind makes of `shown`."""
    return presenter(RENDERERS[type(element).__name__][form])(element)


def figure(element: ViewElement) -> Any:
    """An interactive Plotly figure."""
    return render(element, Form.FIGURE)


def html(element: ViewElement) -> str:
    """A fragment of HTML for notebooks."""
    return str(render(element, Form.HTML))


def text(element: ViewElement) -> str:
    """Plain text for terminals."""
    return str(render(element, Form.TEXT))


def trajectories(curves: Sequence[Curve], title: str = "") -> Curves:
    """One panel for each curve."""
    return Curves(tuple(Panel(name_with_unit(c.name, c.unit), (c,)) for c in curves), title)


def status_line(status: str, message: str) -> str:
    """How something ended and why, in one line; the reason may begin with the same word."""
    return message if message.startswith(status) else f"{status}: {message}"


def name_with_unit(name: str, unit: str) -> str:
    """A name with its unit in brackets, where it has one."""
    return f"{name} [{unit}]" if unit and unit != "1" else name


def percent_text(share: float) -> str:
    """A share in per cent, with the digits that it has: 99.5 %, not 100 %."""
    return f"{100 * share:.6g} %"


def without_empty(table: Table, *columns: str) -> Table:
    """The table without those of `columns` that hold nothing."""
    keep = [
        k
        for k, name in enumerate(table.columns)
        if name not in columns or any(row[k] not in ("", None) for row in table.rows)
    ]
    rows = tuple(tuple(row[k] for k in keep) for row in table.rows)
    return replace(table, columns=tuple(table.columns[k] for k in keep), rows=rows)
