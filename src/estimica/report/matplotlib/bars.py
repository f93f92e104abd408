"""Bars in files."""

from __future__ import annotations

from matplotlib.figure import Figure

from estimica.base.view import Bars
from estimica.report.matplotlib.look import empty_figure, without_math
from estimica.report.plotly.bars import STRONG, WEAK, short_name
from estimica.report.plotly.curves import INK

THICK = 0.24  # inches


def bars_figure(bars: Bars) -> Figure:
    """Horizontal bars, the first one on top."""
    shown = [(group, bar) for group, members in bars.groups for bar in members]
    figure = empty_figure(0.9 + THICK * max(len(shown), 1))
    axes = figure.add_subplot()
    if bars.title:
        axes.set_title(without_math(bars.title), loc="left")
    margins = [b.margins for _, b in shown]
    axes.barh(
        range(len(shown)),
        [b.value - b.base for _, b in shown],
        0.7,
        left=[b.base for _, b in shown],
        color=[STRONG if b.strong else WEAK for _, b in shown],
        xerr=list(zip(*margins, strict=True)) if any(map(any, margins)) else None,
        error_kw={"ecolor": INK, "elinewidth": 0.8, "capsize": 2},
    )
    if bars.log:
        axes.set_xscale("log")
    names = [
        without_math(short_name(f"{group}: {b.name}" if group else b.name)) for group, b in shown
    ]
    axes.set_yticks(range(len(shown)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(without_math(bars.label))
    return figure
