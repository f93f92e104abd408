"""Parallel coordinates in files: lines through the values of samples, the good ones on top."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from estimica.base.arrays import Vector
from estimica.base.thinning import thin_element
from estimica.base.view import Parallel, Upright
from estimica.report.matplotlib.look import empty_figure, without_math
from estimica.report.plotly.curves import INK
from estimica.report.plotly.parallel import GOOD, OTHER


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
