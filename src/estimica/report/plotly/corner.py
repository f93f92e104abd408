"""Corner plots: a histogram of each quantity on the diagonal, each against each below it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from estimica.base.view import CornerAxis
from estimica.report.plotly.curves import PALETTE, styled
from estimica.report.text import escape

DRAWN = 2000  # points of a panel: more make no other picture
PANEL = 150  # pixels
BARS = 30  # of a histogram
GREY = "#4D4D4D"


def figure(axes: Sequence[CornerAxis], title: str) -> go.Figure:
    """Below the diagonal row i, column j has quantity i over quantity j."""
    n = len(axes)
    fig = make_subplots(n, n, horizontal_spacing=0.12 / n, vertical_spacing=0.12 / n)
    for i, vertical in enumerate(axes):
        for j, horizontal in enumerate(axes[: i + 1]):
            place = {"row": i + 1, "col": j + 1}
            if i == j:
                _histogram(fig, vertical, place)
            else:
                _cloud(fig, horizontal, vertical, place)
            _axes(fig, axes, i, j, place)
    size = max(340, PANEL * n)
    styled(fig, title, size + 130, 60)
    fig.update_layout(showlegend=False, bargap=0.02, margin={"l": 80, "b": 70})
    return fig


def _histogram(fig: go.Figure, axis: CornerAxis, place: dict[str, int]) -> None:
    heights, edges = np.histogram(axis.values, bins=min(BARS, max(5, len(axis.values) // 10)))
    middle, name = (edges[1:] + edges[:-1]) / 2, escape(axis.label)
    fig.add_trace(
        go.Bar(x=middle, y=heights, marker_color=PALETTE[0], opacity=0.7, name=name,
               hovertemplate="%{x:.5g}: %{y}<extra></extra>"),
        **place,
    )  # fmt: skip
    top = float(heights.max(initial=1))
    ends = [e for e in axis.interval or () if np.isfinite(e)]
    for x, colour, dash in [
        (axis.estimate, PALETTE[1], "solid"),
        *((e, GREY, "dash") for e in ends),
    ]:
        fig.add_trace(
            go.Scatter(x=[x, x], y=[0, top], mode="lines", hoverinfo="skip",
                       line={"color": colour, "dash": dash, "width": 1.5}),
            **place,
        )  # fmt: skip


def _cloud(fig: go.Figure, x: CornerAxis, y: CornerAxis, place: dict[str, int]) -> None:
    step = max(1, len(x.values) // DRAWN)
    fig.add_trace(
        go.Scattergl(x=x.values[::step], y=y.values[::step], mode="markers",
                     marker={"size": 3, "color": PALETTE[0], "opacity": 0.4},
                     hovertemplate="%{x:.5g}, %{y:.5g}<extra></extra>"),
        **place,
    )  # fmt: skip
    fig.add_trace(
        go.Scatter(x=[x.estimate], y=[y.estimate], mode="markers", hoverinfo="skip",
                   marker={"size": 9, "color": PALETTE[1], "symbol": "x"}),
        **place,
    )  # fmt: skip


def _axes(
    fig: go.Figure, axes: Sequence[CornerAxis], i: int, j: int, place: dict[str, int]
) -> None:
    """Panels of a column share their horizontal axis, those of a row their vertical one."""
    last, first = i == len(axes) - 1, j == 0 and i > 0
    n = len(axes)
    bottom = (n - 1) * n + j + 1
    x: dict[str, object] = {"showticklabels": last, "nticks": 4, "tickangle": 0}
    if last:
        x["title"] = {"text": escape(axes[j].label)}
    else:
        x["matches"] = f"x{bottom}" if bottom > 1 else "x"
    y: dict[str, object] = {"showticklabels": first, "nticks": 4}
    if first:
        y["title"] = {"text": escape(axes[i].label)}
    elif i != j:
        y["matches"] = f"y{i * n + 1}"
    fig.update_xaxes(**x, **place)
    fig.update_yaxes(**y, **place)
