"""Parallel coordinates: many samples as lines through all their values, the good ones on top."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from estimica.base.show import Parallel, Table, Upright
from estimica.report.plots import PALETTE, mixed, styled
from estimica.report.text import table_text

GOOD, OTHER = PALETTE[2], mixed(PALETTE[7], 0.35)
MOST = 1500  # lines; more only make a carpet
HEIGHT = 460


def figure(parallel: Parallel) -> go.Figure:
    """Lines that can be picked by dragging along an axis."""
    kept = thinned_lines(parallel, MOST)
    good = parallel.good[kept]
    order = np.argsort(good, kind="stable")  # the good ones are drawn last
    fig = go.Figure(
        go.Parcoords(
            line={
                "color": good[order].astype(float),
                "cmin": 0,
                "cmax": 1,
                "colorscale": [[0, OTHER], [0.5, OTHER], [0.5, GOOD], [1, GOOD]],
            },
            dimensions=[_dimension(a, kept[order]) for a in parallel.axes],
            labelside="top",
            labelangle=-18 if len(parallel.axes) > 6 else 0,
            domain={"y": [0, 0.86]},
        )
    )
    styled(fig, parallel.title, HEIGHT, 104 if parallel.title else 60)
    words = zip(
        parallel.labels,
        (GOOD, PALETTE[7]),
        (parallel.good.sum(), (~parallel.good).sum()),
        strict=True,
    )
    told = "   ".join(
        f'<span style="color:{c}">▬</span> {escape(w)} ({n})' for w, c, n in words if n
    )
    fig.add_annotation(
        text=told, xref="paper", yref="paper", x=0, y=1.1, showarrow=False, xanchor="left"
    )
    fig.update_layout(margin={"l": 70, "r": 70, "b": 30})
    fig.update_xaxes(visible=False)
    fig.update_yaxes(visible=False)
    return fig


def thinned_lines(parallel: Parallel, most: int) -> npt.NDArray[np.int64]:
    """Numbers of at most about `most` lines: the extremes of every axis, others from all over."""
    n = len(parallel.good)
    if n <= most:
        return np.arange(n)
    keep = {0, n - 1}
    each = max(1, most // (20 * len(parallel.axes)))
    for axis in parallel.axes:
        order = np.argsort(np.nan_to_num(axis.value))
        keep |= set(order[:each].tolist()) | set(order[-each:].tolist())
    rest = most - len(keep)
    keep |= set(
        np.floor(np.arange(1, rest + 1) * 0.6180339887498949 % 1.0 * n).astype(int).tolist()
    )
    return np.array(sorted(keep), np.int64)


def _dimension(axis: Upright, kept: npt.NDArray[np.int64]) -> dict[str, object]:
    values = axis.value[kept]
    told: dict[str, object] = {"label": escape(axis.label), "values": values}
    if axis.log and (axis.value > 0).all():
        logs = np.log10(values)
        low, high = np.floor(logs.min()), np.ceil(logs.max())
        marks = np.arange(low, high + 1)
        told |= {"values": logs, "tickvals": marks, "ticktext": [f"{10**m:g}" for m in marks]}
    return told


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
