"""Plotly figures of curves and tables, all in one look."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from estimica.base.show import Curve, Curves, Panel, Table, labelled
from estimica.report.text import printed

# Okabe and Ito's colours, which the colour-blind can tell apart, and two more.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#6A3D9A",
    "#4D4D4D",
)
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
GRID = "#E4E8EC"
INK = "#24313C"

PANEL_HEIGHT = 190  # pixels
MOST_POINTS = 4000  # of one curve; more cannot be seen and make the page slow


def figure(curves: Curves) -> go.Figure:
    """Panels one below the other over one time axis."""
    count = max(len(curves.panels), 1)
    height = 110 + PANEL_HEIGHT * count
    fig = make_subplots(
        rows=count, cols=1, shared_xaxes=True, vertical_spacing=min(28 / height, 0.5 / count)
    )
    for row, panel in enumerate(curves.panels, start=1):
        _draw(fig, panel, row)
    fig.update_xaxes(title_text=curves.time_label, row=count, col=1)
    return _styled(fig, curves.title, height)


def table_figure(table: Table) -> go.Figure:
    """A table as a figure."""
    cells = [[printed(row[k]) for row in table.rows] for k in range(len(table.columns))]
    fig = go.Figure(
        go.Table(
            header={"values": list(table.columns), "align": "left", "fill_color": GRID},
            cells={"values": cells, "align": "left", "fill_color": "white"},
        )
    )
    return _styled(fig, table.title, 120 + 26 * len(table.rows))


def thinned(
    time: npt.NDArray[np.float64], value: npt.NDArray[np.float64], most: int = MOST_POINTS
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """At most about `most` samples that keep the ends and every extreme that can be seen."""
    n = len(time)
    if n <= most:
        return time, value
    width = int(np.ceil(2 * n / most))
    whole = n // width * width
    buckets = np.nan_to_num(value[:whole], nan=0.0).reshape(-1, width)
    first = np.arange(0, whole, width)
    keep = np.concatenate(
        [[0, n - 1], first + buckets.argmin(axis=1), first + buckets.argmax(axis=1)]
    )
    keep = np.unique(keep)
    return time[keep], value[keep]


def _draw(fig: go.Figure, panel: Panel, row: int) -> None:
    legend = "legend" if row == 1 else f"legend{row}"
    several = len(panel.curves) > 1
    for k, curve in enumerate(panel.curves):
        fig.add_trace(_trace(curve, PALETTE[k % len(PALETTE)], legend, several), row=row, col=1)
    axis = fig.get_subplot(row, 1).yaxis
    axis.title.text = panel.label
    fig.update_layout(
        {
            legend: {
                "y": axis.domain[1],
                "yanchor": "top",
                "x": 1.01,
                "xanchor": "left",
                "font": {"size": 12},
            }
        }
    )


def _trace(curve: Curve, colour: str, legend: str, listed: bool) -> go.Scatter:
    time, value = thinned(curve.time, curve.value)
    label = labelled(curve.name, curve.unit)
    about = f"<br>{curve.description}" if curve.description else ""
    return go.Scatter(
        x=time,
        y=value,
        name=curve.name,
        mode="markers" if curve.dotted else "lines",
        line={"color": colour, "width": 1.8, "shape": "hv" if curve.stepped else "linear"},
        marker={"color": colour, "size": 4},
        legend=legend,
        showlegend=listed,
        hovertemplate=f"{label} = %{{y:.6g}}<br>t = %{{x:.6g}}{about}<extra></extra>",
    )


def _styled(fig: go.Figure, title: str, height: int) -> go.Figure:
    fig.update_layout(
        template="none",
        height=height,
        title={"text": title, "x": 0.01, "xanchor": "left", "font": {"size": 17}}
        if title
        else None,
        font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 70, "r": 30, "t": 56 if title else 24, "b": 54},
        hovermode="closest",
    )
    axis = {
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": INK,
        "linewidth": 1,
        "ticks": "outside",
    }
    fig.update_xaxes(**axis, tickcolor=GRID)
    fig.update_yaxes(**axis, tickcolor=GRID, title_standoff=10, automargin=True)
    return fig
