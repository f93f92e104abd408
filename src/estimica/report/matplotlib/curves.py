"""Curves in files: panels one below the other."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from estimica.base.view import Across, Curve, Curves, Panel
from estimica.report.matplotlib.look import PIXELS, empty_figure, legend, without_math
from estimica.report.plotly.curves import FEW, PALETTE, lightened

HIGHEST = 60.0  # inches


def curves_figure(curves: Curves) -> Figure:
    """Every panel with its own axes; those of a group share the horizontal one."""
    panels = curves.panels
    heights = [(p.height or curves.panel_height) / PIXELS for p in panels] or [1.0]
    whole = min(sum(heights) + 0.25 * len(heights) + 0.9, HIGHEST)
    figure = empty_figure(whole)
    if curves.title:
        figure.suptitle(without_math(curves.title), x=0.02, ha="left", fontsize=11)
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    first: Axes | None = None
    for k, panel in enumerate(panels):
        new = k == 0 or panel.group != panels[k - 1].group or panel.across is not None
        axes = figure.add_subplot(grid[k], sharex=None if new else first)
        first = axes if new else first
        _draw(axes, panel)
        if panel.group and (k == 0 or panel.group != panels[k - 1].group):
            axes.set_title(without_math(panel.group), loc="left", fontweight="bold")
        _across(axes, curves, k)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    several = len(panel.curves) + len(panel.bands) + len(panel.ribbons) > 1
    for band in panel.bands:
        tint = lightened(PALETTE[5], 0.25)
        axes.axhspan(
            band.low, band.high, color=tint, lw=0, label=without_math(band.name) or None, zorder=0.5
        )
    for r in panel.ribbons:
        tint = lightened(PALETTE[r.colour % len(PALETTE)], r.strength)
        name = without_math(r.name) if r.listed else None
        axes.fill_between(r.time, r.low, r.high, color=tint, lw=0, label=name, zorder=0.6)
    for k, curve in enumerate(panel.curves):
        colour = PALETTE[(k if curve.colour is None else curve.colour) % len(PALETTE)]
        _line(axes, curve, lightened(colour, curve.strength), several and curve.listed)
    if panel.log:
        axes.set_yscale("log")
    axes.set_ylabel(without_math(panel.label))
    if several:
        legend(axes)


def _line(axes: Axes, curve: Curve, colour: str, listed: bool) -> None:
    many = len(curve.time) > FEW
    style = "none" if curve.dotted else "--" if curve.dashed else "-"
    marker = "o" if curve.dotted or curve.marked else None
    size = (1.6 if many else 3.2) if curve.dotted else 3.0
    axes.plot(
        curve.time,
        curve.value,
        color=colour,
        linestyle=style,
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
