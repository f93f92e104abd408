"""The look of figures in files: fonts, colours and grid as in the interactive ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from estimica.report.plotly.curves import GRID, INK

WIDTH = 8.0  # inches
PIXELS = 110  # of an interactive figure in an inch of paper
SETTINGS: dict[Any, object] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "estimica",
    "svg.fonttype": "none",
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
    "text.usetex": False,
}


@contextmanager
def matplotlib_style() -> Iterator[None]:
    """Figures that are made here look alike, whatever a user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def without_math(text: str) -> str:
    """A text that holds no formula, whatever it is made of."""
    return text.replace("$", r"\$")


def empty_figure(height: float) -> Figure:
    """An empty figure, `height` inches high; no window, no state."""
    return Figure(figsize=(WIDTH, height), layout="constrained")


def legend(axes: Axes) -> None:
    """A legend to the right, where anything is named."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.02))
