"""Parallel coordinates: many samples as lines through all their values, the good ones on top."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from estimica.base.arrays import Indices
from estimica.base.thinning import thin_element
from estimica.base.view import Parallel, Upright
from estimica.report.plotly.curves import PALETTE, lightened, styled
from estimica.report.text import escape

GOOD, OTHER = PALETTE[2], lightened(PALETTE[7], 0.35)
HEIGHT = 460


def figure(parallel: Parallel) -> go.Figure:
    """Lines that can be picked by dragging along an axis."""
    parallel = thin_element(parallel)
    good = parallel.good
    order = np.argsort(good, kind="stable")  # the good ones are drawn last
    fig = go.Figure(
        go.Parcoords(
            line={
                "color": good[order].astype(float),
                "cmin": 0,
                "cmax": 1,
                "colorscale": [[0, OTHER], [0.5, OTHER], [0.5, GOOD], [1, GOOD]],
            },
            dimensions=[_dimension(a, order) for a in parallel.axes],
            labelside="top",
            labelangle=-18 if len(parallel.axes) > 6 else 0,
            domain={"y": [0, 0.86]},
        )
    )
    styled(fig, parallel.title, HEIGHT, 104 if parallel.title else 60)
    words = zip(
        parallel.labels,
        (GOOD, PALETTE[7]),
        parallel.counts or (parallel.good.sum(), (~parallel.good).sum()),
        strict=True,
    )
    legend = "   ".join(
        f'<span style="color:{c}">▬</span> {escape(w)} ({int(n)})' for w, c, n in words if n
    )
    fig.add_annotation(
        text=legend, xref="paper", yref="paper", x=0, y=1.1, showarrow=False, xanchor="left"
    )
    fig.update_layout(margin={"l": 70, "r": 70, "b": 30})
    fig.update_xaxes(visible=False)
    fig.update_yaxes(visible=False)
    return fig


def _dimension(axis: Upright, kept: Indices) -> dict[str, object]:
    values = axis.value[kept]
    dimension: dict[str, object] = {"label": escape(axis.label), "values": values}
    if axis.log and (axis.value > 0).all():
        logs = np.log10(values)
        low, high = np.floor(logs.min()), np.ceil(logs.max())
        marks = np.arange(low, high + 1)
        dimension |= {"values": logs, "tickvals": marks, "ticktext": [f"{10**m:g}" for m in marks]}
    return dimension
