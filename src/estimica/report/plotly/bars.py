"""Bars: lengths to compare, the ones that stand out in the strong colour."""

from __future__ import annotations

import plotly.graph_objects as go

from estimica.base.view import Bars
from estimica.report.plotly.curves import INK, PALETTE, lightened, styled
from estimica.report.text import escape

STRONG, WEAK = PALETTE[1], lightened(PALETTE[7], 0.45)
THICK, AROUND = 26, 130  # pixels of a bar, and of what is around all of them
LONGEST = 48  # characters of a name


def figure(bars: Bars) -> go.Figure:
    """Horizontal bars, the first one on top."""
    shown = [(group, bar) for group, members in bars.groups for bar in members]
    names = [
        escape(short_name(f"{group}: {bar.name}" if group else bar.name)) for group, bar in shown
    ]
    fig = go.Figure(
        go.Bar(
            x=[bar.value - bar.base for _, bar in shown],
            base=[bar.base for _, bar in shown] if any(bar.base for _, bar in shown) else None,
            y=list(range(len(shown))),
            orientation="h",
            marker={"color": [STRONG if bar.strong else WEAK for _, bar in shown]},
            customdata=[f"{escape(bar.name)}<br>{escape(bar.about)}" for _, bar in shown],
            hovertemplate=f"%{{customdata}}<br>{escape(bars.label)} %{{x:.6g}}<extra></extra>",
            width=0.7,
            error_x=_margins([bar.margins for _, bar in shown]),
        )
    )
    styled(fig, bars.title, AROUND + THICK * len(shown), 56 if bars.title else 40)
    fig.update_xaxes(
        title={"text": escape(bars.label)},
        type="log" if bars.log else "linear",
        dtick=1 if bars.log else None,
    )
    fig.update_yaxes(
        tickvals=list(range(len(shown))), ticktext=names, autorange="reversed", automargin=True
    )
    return fig


def _margins(each: list[tuple[float, float]]) -> dict[str, object] | None:
    if not any(map(any, each)):
        return None
    below, above = zip(*each, strict=True)
    return {
        "type": "data",
        "symmetric": False,
        "array": list(above),
        "arrayminus": list(below),
        "color": INK,
        "thickness": 1,
        "width": 4,
    }


def short_name(name: str) -> str:
    """A name that fits beside a bar."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
