"""Figures in files: curves in panels, bars, maps and parallel coordinates."""

from __future__ import annotations

from datetime import UTC

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.contour import QuadContourSet
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from estimica.base.arrays import Vector
from estimica.base.thinning import thin_element
from estimica.base.view import Across, Bars, Curve, Curves, Heat, Panel, Parallel, Upright
from estimica.report.matplotlib.look import PIXELS, empty_figure, legend, without_math
from estimica.report.plotly.bars import STRONG, WEAK, short_name
from estimica.report.plotly.curves import FEW, HOLE, INK, PALETTE, lightened, line_style
from estimica.report.plotly.heat import LEVELS, MOST_NUMBERS, cell_text, is_logarithmic
from estimica.report.plotly.parallel import GOOD, OTHER
from estimica.report.time_axes import with_time_axes

HIGHEST = 60.0  # inches
STYLES = ("-", "-.", ":")  # as LINE_STYLES of the interactive ones


def curves_figure(curves: Curves) -> Figure:
    """Every panel with its own axes; those of a group share the horizontal one."""
    curves = with_time_axes(curves)
    panels = curves.panels
    heights = [(p.height or curves.panel_height) / PIXELS for p in panels] or [1.0]
    whole = min(sum(heights) + 0.25 * len(heights) + 0.9, HIGHEST)
    figure = empty_figure(whole)
    if curves.title:
        figure.suptitle(without_math(curves.title), x=0.02, ha="left", fontsize=11)
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    first: Axes | None = None
    for k, panel in enumerate(panels):
        new = k == 0 or panel.group != panels[k - 1].group or _is_alone(panel, panels[k - 1])
        axes = figure.add_subplot(grid[k], sharex=None if new else first)
        first = axes if new else first
        _draw(axes, panel)
        if panel.group and (k == 0 or panel.group != panels[k - 1].group):
            axes.set_title(without_math(panel.group), loc="left", fontweight="bold")
        _across(axes, curves, k)
    return figure


def _is_alone(panel: Panel, before: Panel) -> bool:
    """Whether it does not share its horizontal axis with the panel above; dates are shared."""
    own = panel.across
    return own is not None and not (own.dates and own == before.across)


def _along(panel: Panel, time: Vector) -> Vector:
    """Values along the horizontal axis as Matplotlib takes them: days where they are dates."""
    if panel.across is None or not panel.across.dates:
        return time
    days: Vector = date2num(np.round(time * 1e6).astype("datetime64[us]"))  # type: ignore[no-untyped-call]
    return days


def _draw(axes: Axes, panel: Panel) -> None:
    several = len(panel.curves) + len(panel.bands) + len(panel.ribbons) > 1
    for band in panel.bands:
        tint = lightened(PALETTE[5], 0.25)
        axes.axhspan(
            band.low, band.high, color=tint, lw=0, label=without_math(band.name) or None, zorder=0.5
        )
    for begin, end in panel.gaps:
        edges = _along(panel, np.array([begin, end]))
        axes.axvspan(*edges.tolist(), color=HOLE, lw=0, zorder=0.4)
    for r in (piece for ribbon in panel.ribbons for piece in panel.pieces(ribbon)):
        tint = lightened(PALETTE[r.colour % len(PALETTE)], r.strength)
        name = without_math(r.name) if r.listed else None
        along = _along(panel, r.time)
        axes.fill_between(along, r.low, r.high, color=tint, lw=0, label=name, zorder=0.6)
    for k, curve in enumerate(panel.curves):
        colour = PALETTE[(k if curve.colour is None else curve.colour) % len(PALETTE)]
        tint = lightened(colour, curve.strength)
        style = "--" if curve.dashed else STYLES[line_style(curve, k)]
        time, value = panel.broken(curve)
        points = (_along(panel, time), value)
        _line(axes, curve, points, tint, style, several and curve.listed)
    if panel.log:
        axes.set_yscale("log")
    axes.set_ylabel(without_math(panel.label))
    if several:
        legend(axes)


def _line(
    axes: Axes, curve: Curve, points: tuple[Vector, Vector], colour: str, style: str, listed: bool
) -> None:
    many = len(curve.time) > FEW
    marker = "o" if curve.dotted or curve.marked else None
    size = (1.6 if many else 3.2) if curve.dotted else 3.0
    axes.plot(
        *points,
        color=colour,
        linestyle="none" if curve.dotted else style,
        linewidth=1.2,
        marker=marker,
        markersize=size,
        markeredgewidth=0,
        drawstyle="steps-post" if curve.stepped else "default",
        label=without_math(curve.name) if listed else None,
        zorder=2 if curve.dotted else 2.1,
    )


def _across(axes: Axes, curves: Curves, k: int) -> None:
    """The horizontal axis, named where the next panel has another one or none follows."""
    own = curves.panels[k].across or Across(curves.time_label, curves.log_time)
    following = curves.panels[k + 1 : k + 2]
    same = following and following[0].group == curves.panels[k].group
    if own.log:
        axes.set_xscale("log")
    if own.dates:
        # the values are those of a clock; no setting of Matplotlib moves them
        locator = AutoDateLocator(tz=UTC)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    if own.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if curves.whole and not own.log:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not same or own != (following[0].across or Across(curves.time_label, curves.log_time)):
        axes.set_xlabel(without_math(own.label))
    else:
        axes.tick_params(labelbottom=False)
    if not any(np.isfinite(c.value).any() for c in curves.panels[k].curves):
        axes.set_yticks([])


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


def parallel_figure(parallel: Parallel) -> Figure:
    """Every axis from its smallest to its largest value, with both ends named."""
    counts = parallel.counts or (int(parallel.good.sum()), int((~parallel.good).sum()))
    parallel = thin_element(parallel)
    figure = empty_figure(4.0)
    axes = figure.add_subplot()
    if parallel.title:
        figure.suptitle(without_math(parallel.title), x=0.02, ha="left", fontsize=11)
    heights = np.array([_shares(a) for a in parallel.axes]).T
    places = np.arange(len(parallel.axes), dtype=float)
    for is_good, colour in ((False, OTHER), (True, GOOD)):
        lines = [np.column_stack([places, h]) for h in heights[parallel.good == is_good]]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=0.6, alpha=0.7))
    for x, axis in zip(places, parallel.axes, strict=True):
        axes.axvline(x, color=INK, linewidth=0.8)
        finite = axis.value[np.isfinite(axis.value)]
        ends = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
        axes.text(x, -0.03, f"{ends[0]:.4g}", ha="center", va="top", fontsize=7.5)
        axes.text(x, 1.02, f"{ends[1]:.4g}", ha="center", va="bottom", fontsize=7.5)
    axes.set(xlim=(-0.3, len(places) - 0.7), ylim=(-0.1, 1.1))
    labels = [without_math(a.label) for a in parallel.axes]
    axes.set_xticks(places, labels, rotation=20, ha="right")
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    keys = [Line2D([], [], color=c) for c in (GOOD, OTHER)]
    words = [without_math(f"{w} ({n})") for w, n in zip(parallel.labels, counts, strict=True)]
    axes.legend(keys, words, loc="lower right", bbox_to_anchor=(1, 1.02), ncols=2)
    return figure


def _shares(axis: Upright) -> Vector:
    """Values between 0 and 1 along the axis."""
    value = np.log10(axis.value) if axis.log and (axis.value > 0).all() else axis.value
    low, high = np.nanmin(value), np.nanmax(value)
    return np.asarray((value - low) / (high - low if high > low else 1.0), np.float64)
