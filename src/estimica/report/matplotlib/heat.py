"""Maps in files: colours with contours, or cells."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from estimica.base.view import Heat
from estimica.report.matplotlib.look import empty_figure, without_math
from estimica.report.plotly.curves import PALETTE
from estimica.report.plotly.heat import LEVELS, MOST_NUMBERS, cell_text, is_logarithmic


def heat_figure(heat: Heat) -> Figure:
    """Colours and contours, or cells; points without a value stay white."""
    figure = empty_figure(5.2 if not heat.ticks else max(3.0, 1.2 + 0.34 * len(heat.ticks)))
    axes = figure.add_subplot()
    if heat.title:
        axes.set_title(without_math(heat.title), loc="left")
    if heat.ticks:
        _cells(figure, axes, heat)
    else:
        _contours(figure, axes, heat)
    return figure


def _contours(figure: Figure, axes: Axes, heat: Heat) -> None:
    colour = np.ma.masked_invalid(heat.value if heat.colour is None else heat.colour)
    drawn: QuadContourSet | QuadMesh
    if colour.count() and colour.max() > colour.min():
        drawn = axes.contourf(heat.x, heat.y, colour, LEVELS, cmap="viridis_r")
        axes.contour(heat.x, heat.y, colour, LEVELS, colors="white", linewidths=0.4, alpha=0.5)
    else:
        drawn = axes.pcolormesh(heat.x, heat.y, colour, cmap="viridis_r", shading="nearest")
    figure.colorbar(drawn, ax=axes, label=without_math(heat.colour_label or heat.value_label))
    for k, c in enumerate(heat.curves):
        tint = PALETTE[(k if c.colour is None else c.colour) % len(PALETTE)]
        name = without_math(c.name) if c.listed else None
        if c.dotted:
            axes.plot(c.time, c.value, "X", color=tint, markeredgecolor="white", label=name)
        else:
            style = "--" if c.dashed else "-"
            axes.plot(c.time, c.value, style, color=tint, linewidth=1.5, label=name)
    if is_logarithmic(heat.x):
        axes.set_xscale("log")
    if is_logarithmic(heat.y):
        axes.set_yscale("log")
    axes.set(xlabel=without_math(heat.x_label), ylabel=without_math(heat.y_label))
    axes.set(xlim=(heat.x[0], heat.x[-1]), ylim=(heat.y[0], heat.y[-1]))
    axes.grid(visible=False)
    _legend_below(axes)


def _legend_below(axes: Axes) -> None:
    """A legend below the map, where anything on it is named."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4)


def _cells(figure: Figure, axes: Axes, heat: Heat) -> None:
    """A matrix between −1 and 1."""
    drawn = axes.imshow(heat.value, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    figure.colorbar(drawn, ax=axes, label=without_math(heat.value_label))
    every, names = range(len(heat.ticks)), list(map(without_math, heat.ticks))
    axes.set_xticks(every, names, rotation=40, ha="right")
    axes.set_yticks(every, names)
    axes.grid(visible=False)
    if len(heat.ticks) <= MOST_NUMBERS:
        for i, row in enumerate(heat.value):
            for j, v in enumerate(row):
                tint = "white" if abs(v) > 0.6 else "black"
                axes.text(j, i, cell_text(v), ha="center", va="center", color=tint, fontsize=7.5)
