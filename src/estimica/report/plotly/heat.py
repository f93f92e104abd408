"""Maps: a value over two others as colours with contours, and what lies on them."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from estimica.base.view import Heat
from estimica.report.plotly.curves import PALETTE, lightened, styled
from estimica.report.text import escape

HEIGHT = 560
LEVELS = 14  # contours
HOLE = "#FFFFFF"
MOST_NUMBERS = 16  # cells in a row that are still labelled


def figure(heat: Heat) -> go.Figure:
    """Colours and contours, or cells; points without a value stay white."""
    if heat.ticks:
        return _cells(heat)
    colour = heat.value if heat.colour is None else heat.colour
    fig = go.Figure(
        go.Contour(
            x=heat.x,
            y=heat.y,
            z=colour,
            customdata=heat.value,
            colorscale="Viridis",
            reversescale=True,
            connectgaps=False,
            ncontours=LEVELS,
            line={"width": 0.7, "color": "rgba(255,255,255,0.5)"},
            colorbar={"title": {"text": escape(heat.colour_label or heat.value_label)}},
            hovertemplate=(
                f"{escape(heat.x_label)} = %{{x:.5g}}<br>{escape(heat.y_label)} = %{{y:.5g}}<br>"
                f"{escape(heat.value_label)} = %{{customdata:.7g}}<extra></extra>"
            ),
            showscale=True,
        )
    )
    for k, curve in enumerate(heat.curves):
        tint = lightened(PALETTE[(k if curve.colour is None else curve.colour) % len(PALETTE)], 1.0)
        fig.add_trace(
            go.Scatter(
                x=curve.time,
                y=curve.value,
                name=escape(curve.name),
                mode="markers" if curve.dotted else "lines",
                line={"color": tint, "width": 2, "dash": "dash" if curve.dashed else "solid"},
                marker={"color": tint, "size": 9, "symbol": "x" if curve.dotted else "circle"},
                hovertext=escape(curve.description),
                showlegend=curve.listed,
            )
        )
    styled(fig, heat.title, HEIGHT, 84 if heat.title else 50)
    fig.update_layout(
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        plot_bgcolor=HOLE,
    )
    fig.update_xaxes(title={"text": escape(heat.x_label)}, **_ends(heat.x))
    fig.update_yaxes(title={"text": escape(heat.y_label)}, **_ends(heat.y))
    return fig


def _cells(heat: Heat) -> go.Figure:
    """A matrix between −1 and 1."""
    names = list(map(escape, heat.ticks))
    few = len(names) <= MOST_NUMBERS
    fig = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=heat.value,
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            reversescale=True,
            text=[[cell_text(v) for v in row] for row in heat.value],
            texttemplate="%{text}" if few else "",
            hovertemplate="%{y} and %{x}: %{z:.4f}<extra></extra>",
            colorbar={"title": {"text": escape(heat.value_label)}},
        )
    )
    styled(fig, heat.title, max(320, 60 + 34 * len(names)), 60 if heat.title else 30)
    fig.update_yaxes(autorange="reversed")
    fig.update_xaxes(automargin=True)
    return fig


def cell_text(value: float) -> str:
    """Two decimals, more where they would make it one."""
    if np.isnan(value):
        return ""
    short = f"{value:.2f}" if abs(value) < 0.995 or 1 - abs(value) < 5e-7 else f"{value:.4f}"
    return short.replace("-", "−")


def is_logarithmic(axis: np.ndarray) -> bool:
    """Whether the grid is evenly spaced in the logarithm."""
    return len(axis) > 2 and axis[0] > 0 and bool(
        np.allclose(np.diff(np.log(axis)), np.log(axis[1] / axis[0]))
    )  # fmt: skip


def _ends(axis: np.ndarray) -> dict[str, object]:
    """A logarithmic axis where the grid is one."""
    logarithmic = is_logarithmic(axis)
    ends = np.array([axis[0], axis[-1]])
    return {
        "type": "log" if logarithmic else "linear",
        "range": list(np.log10(ends) if logarithmic else ends),
    }
