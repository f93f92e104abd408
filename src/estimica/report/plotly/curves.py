"""Plotly figures of curves and tables, all in one look."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from estimica.base.arrays import Vector
from estimica.base.thinning import thin_element
from estimica.base.view import (
    Across,
    Band,
    Curve,
    Curves,
    Listing,
    Panel,
    Ribbon,
    Table,
    name_with_unit,
)
from estimica.report.text import escape, printed
from estimica.report.time_axes import with_time_axes

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
#: of lines, by how often all colours were taken; dashes have a meaning of their own
LINE_STYLES = ("solid", "dashdot", "dot")
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
GRID = "#E4E8EC"
INK = "#24313C"

FEW = 100  # points that are drawn larger
DATES = 9  # at most along an axis: each is some eighty pixels wide
#: what stands at marks that lie so many milliseconds or months apart; the second line only where it
#: differs from that of the mark before
_TICKS = [
    {"dtickrange": span, "value": form}
    for span, form in (
        ([None, 1000], "%H:%M:%S.%L\n%Y-%m-%d"),
        ([1000, 60_000], "%H:%M:%S\n%Y-%m-%d"),
        ([60_000, 86_400_000], "%H:%M\n%Y-%m-%d"),
        ([86_400_000, "M1"], "%-d %b\n%Y"),
        (["M1", "M12"], "%b\n%Y"),
        (["M12", None], "%Y"),
    )
]
TIME_UNIT = re.compile(r"^time\b.* \[(\w+)\]")

# pixels
HOLE = "#ECECEC"  # times without data: light, so that bands and grid stay visible
GAP = 24  # between panels of a group
NEXT_GROUP = 62  # between groups: tick marks and a heading
HEADING = 26  # above the first group
BOTTOM = 54
AXIS_TITLE = 24  # where an axis between groups is named
DATE_LINE = 18  # dates have their year or day on a second line


def figure(curves: Curves) -> go.Figure:
    """Panels one below the other; those of one group move together along the horizontal axis."""
    curves = with_time_axes(thin_element(curves))
    panels = curves.panels
    heights = [p.height or curves.panel_height for p in panels]
    gaps = [_gap(curves, k) for k in range(len(panels) - 1)]
    top = (56 if curves.title else 24) + (HEADING if panels and panels[0].group else 0)
    inner = (sum(heights) or curves.panel_height) + sum(gaps)
    fig = go.Figure()
    upper = float(inner)
    for k, panel in enumerate(panels, start=1):
        domain = (max(0.0, (upper - heights[k - 1]) / inner), upper / inner)
        _draw(fig, panel, _axis_of(curves, k - 1), _number(k), domain)
        upper -= heights[k - 1] + (gaps[k - 1] if k <= len(gaps) else 0)
    bottom = BOTTOM + (_below(_axis_of(curves, len(panels) - 1)) if panels else 0)
    styled(fig, curves.title, top + inner + bottom, top)
    fig.update_layout(margin_b=bottom)
    _join_axes(fig, panels)
    if curves.whole:
        fig.update_xaxes(tickformat="d", **_unit_steps(panels))
    if curves.log_time:
        fig.update_xaxes(type="log", exponentformat="power")
    for k in range(len(panels)):
        _across(fig, curves, k)
    return fig


def _gap(curves: Curves, k: int) -> int:
    """Pixels below panel `k`."""
    if curves.panels[k].group == curves.panels[k + 1].group:
        return GAP
    axis = _axis_of(curves, k)
    return NEXT_GROUP + (AXIS_TITLE if _is_titled(curves, k) else 0) + _below(axis)


def _below(axis: Across) -> int:
    """Pixels that its marks take more than others do."""
    return DATE_LINE if axis.dates else 0


def _is_titled(curves: Curves, k: int) -> bool:
    """Whether the axis below panel `k` is named: at the end, and where another one follows.

    A plane of one scale stands for itself.
    """
    if k == len(curves.panels) - 1 or _axis_of(curves, k).equal:
        return True
    return _axis_of(curves, k) != _axis_of(curves, k + 1)


def _axis_of(curves: Curves, k: int) -> Across:
    return curves.panels[k].across or Across(curves.time_label)


def _across(fig: go.Figure, curves: Curves, k: int) -> None:
    """The horizontal axis of panel `k`, counted from 0."""
    number, axis = _number(k + 1), _axis_of(curves, k)
    told: dict[str, object] = {}
    if _is_titled(curves, k):
        told["title"] = {"text": escape(axis.label)}
    if axis.log:
        told |= {"type": "log", "exponentformat": "power"}
    if axis.dates:
        told |= {"type": "date", "tickangle": 0, "nticks": DATES, "tickformatstops": _TICKS}
    if axis.equal:
        told |= {"constrain": "domain"}
        scale = {"scaleanchor": f"x{number}", "scaleratio": 1, "constrain": "domain"}
        fig.update_layout({f"yaxis{number}": scale})
    fig.update_layout({f"xaxis{number}": told})


def _number(k: int) -> str:
    """The number in Plotly's names of axes and legends, where 1 is not written."""
    return "" if k == 1 else str(k)


def _unit_steps(panels: Sequence[Panel]) -> dict[str, int]:
    ends = [float(np.max(c.time)) for p in panels for c in p.curves if len(c.time)]
    return {"dtick": 1} if ends and max(ends) <= 20 else {}


def _join_axes(fig: go.Figure, panels: Sequence[Panel]) -> None:
    """Panels of a group move together, and only the last of them is numbered."""
    first = 1
    for k, panel in enumerate(panels, start=1):
        if k > 1 and panel.group != panels[k - 2].group:
            first = k
        axis: dict[str, object] = {}
        if k > first:
            axis["matches"] = f"x{_number(first)}"
        if k < len(panels) and panels[k].group == panel.group:
            axis["showticklabels"] = False
        fig.update_layout({f"xaxis{_number(k)}": axis})
        if panel.group and k == first:
            fig.add_annotation(
                text=f"<b>{escape(panel.group)}</b>",
                xref="paper",
                x=0,
                xanchor="left",
                yref=f"y{_number(k)} domain",
                y=1,
                yanchor="bottom",
                yshift=4,
                showarrow=False,
                font={"size": 14},
            )


def table_figure(table: Table) -> go.Figure:
    """A table as a figure."""
    cells = [[escape(printed(row[k])) for row in table.rows] for k in range(len(table.columns))]
    fig = go.Figure(
        go.Table(
            header={
                "values": list(map(escape, table.columns)),
                "align": "left",
                "fill_color": GRID,
            },
            cells={"values": cells, "align": "left", "fill_color": "white"},
        )
    )
    return styled(fig, table.title, 120 + 26 * len(table.rows))


def listing_figure(listing: Listing) -> go.Figure:
    """A text as a figure: a table of its lines."""
    lines = tuple((line,) for line in listing.text.splitlines())
    return table_figure(Table((listing.title,), lines))


def _draw(
    fig: go.Figure, panel: Panel, axis: Across, number: str, domain: tuple[float, float]
) -> None:
    legend = f"legend{number}"
    several = len(panel.curves) + len(panel.bands) + len(panel.ribbons) > 1
    for ribbon in (piece for r in panel.ribbons for piece in panel.pieces(r)):
        trace = _filled(ribbon, axis)
        fig.add_trace(trace.update(xaxis=f"x{number}", yaxis=f"y{number}", legend=legend))
    for k, curve in enumerate(panel.curves):
        colour = PALETTE[(k if curve.colour is None else curve.colour) % len(PALETTE)]
        style = "dash" if curve.dashed else LINE_STYLES[line_style(curve, k)]
        points = panel.broken(curve) if panel.gaps else (curve.time, curve.value)
        tint = lightened(colour, curve.strength)
        trace = _trace(curve, points, axis, tint, style, several and curve.listed)
        fig.add_trace(trace.update(xaxis=f"x{number}", yaxis=f"y{number}", legend=legend))
    for band in panel.bands:
        fig.add_shape(_shape(band, number))
    for begin, end in panel.gaps:
        left, right = _along(np.array([begin, end]), axis)
        fig.add_shape(
            _hole(str(left), str(right), number) if axis.dates else _hole(begin, end, number)
        )
    fig.update_layout(
        {
            f"xaxis{number}": {"anchor": f"y{number}", "domain": (0, 1)},
            f"yaxis{number}": {
                "anchor": f"x{number}",
                "domain": domain,
                "title": {"text": escape(panel.label)},
                "type": "log" if panel.log else "linear",
                **(_decades(panel) if panel.log else {}),
            },
            legend: {
                "y": domain[1],
                "yanchor": "top",
                "x": 1.01,
                "xanchor": "left",
                "font": {"size": 12},
            },
        }
    )


def _decades(panel: Panel) -> dict[str, int]:
    """Tick marks at powers of ten, where a logarithmic axis spans several."""
    ends = [np.log10([c.value.min(), c.value.max()]) for c in panel.curves if len(c.value)]
    span = float(np.max(ends) - np.min(ends)) if ends else 0.0
    return {"dtick": max(1, round(span / 6))} if span >= 2 else {}


def _shape(band: Band, number: str) -> dict[str, object]:
    return {
        "type": "rect",
        "xref": f"x{number} domain",
        "x0": 0,
        "x1": 1,
        "yref": f"y{number}",
        "y0": band.low,
        "y1": band.high,
        "fillcolor": lightened(PALETTE[5], 0.25),
        "line": {"width": 0},
        "layer": "below",
        "name": escape(band.name),
        "showlegend": bool(band.name),
        "legend": f"legend{number}",
    }


def _along(time: Vector, axis: Across) -> Vector | npt.NDArray[np.datetime64]:
    """What lies along an axis as Plotly takes it: instants where it has dates."""
    if not axis.dates:
        return time
    return np.round(time * 1e6).astype("datetime64[us]")


def _hole(begin: float | str, end: float | str, number: str) -> dict[str, object]:
    """A time without data."""
    return {
        "type": "rect",
        "xref": f"x{number}",
        "x0": begin,
        "x1": end,
        "yref": f"y{number} domain",
        "y0": 0,
        "y1": 1,
        "fillcolor": HOLE,
        "line": {"width": 0},
        "layer": "below",
    }


def _filled(ribbon: Ribbon, axis: Across) -> go.Scatter:
    return go.Scatter(
        x=_along(np.concatenate([ribbon.time, ribbon.time[::-1]]), axis),
        y=np.concatenate([ribbon.high, ribbon.low[::-1]]),
        name=escape(ribbon.name),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=lightened(PALETTE[ribbon.colour % len(PALETTE)], ribbon.strength),
        showlegend=ribbon.listed,
        hoverinfo="skip",
    )


def lightened(colour: str, strength: float) -> str:
    """A colour made lighter: 1 leaves it, 0 is white."""
    share = min(max(strength, 0.0), 1.0)
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - share * (255 - p)):02X}" for p in parts)


def line_style(curve: Curve, place: int) -> int:
    """Which style of line keeps curves of the same colour apart; `place` is that in its panel."""
    number = place if curve.colour is None else curve.colour
    return number // len(PALETTE) % len(LINE_STYLES)


def _trace(
    curve: Curve,
    points: tuple[Vector, Vector],
    axis: Across,
    colour: str,
    style: str,
    listed: bool,
) -> go.Scatter:
    label = escape(name_with_unit(curve.name, curve.unit))
    about = f"<br>{escape(curve.description)}" if curve.description else ""
    mode = "markers" if curve.dotted else "lines+markers" if curve.marked else "lines"
    return go.Scatter(
        x=_along(points[0], axis),
        y=points[1],
        name=escape(curve.name),
        mode=mode,
        line={
            "color": colour,
            "width": 1.8,
            "shape": "hv" if curve.stepped else "linear",
            "dash": style,
        },
        marker={"color": colour, "size": 4 if curve.dotted and len(curve.time) > FEW else 6},
        showlegend=listed,
        hovertemplate=f"{label} = %{{y:.6g}}<br>{_hovered(axis)}{about}<extra></extra>",
    )


def _hovered(axis: Across) -> str:
    """How a value along an axis is told: a date, or a time with its unit."""
    if axis.dates:
        return "%{x|%Y-%m-%d %H:%M:%S}"
    unit = TIME_UNIT.search(axis.label)
    return f"%{{x:.6g}} {unit[1]}" if unit else "%{x:.6g}"


def styled(fig: go.Figure, title: str, height: float, top: float = 56) -> go.Figure:
    """The look of all figures."""
    fig.update_layout(
        template="none",
        height=height,
        title={"text": escape(title), "x": 0.01, "xanchor": "left", "font": {"size": 17}}
        if title
        else None,
        font={"family": FONT, "size": 13, "color": INK},
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 70, "r": 30, "t": top, "b": BOTTOM},
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
    fig.update_yaxes(
        **axis, tickcolor=GRID, title_standoff=10, automargin=True, exponentformat="power"
    )
    return fig
