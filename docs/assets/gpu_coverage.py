"""Draws how often 95 % intervals held the truth in a million experiments each.

`python docs/assets/gpu_coverage.py` writes the SVG from gpu_coverage.json, whose numbers come from
bench/gpu/bootstrap_fits.py.
"""

from __future__ import annotations

import json
from pathlib import Path

from drawing import draw
from plotly.graph_objects import Scatter
from plotly.subplots import make_subplots

HERE = Path(__file__).parent
MODELS = {
    "boiler": "drum boiler, 1000 samples",
    "enzyme": "enzyme, 16 samples",
}
KINDS = {
    "coverage": ("t quantiles (what a fit prints)", "#00796b", "circle"),
    "coverage_of_normal_quantiles": ("± 1.96 standard errors", "#b28704", "diamond"),
}


def main() -> None:
    """Both models side by side."""
    counted = json.loads((HERE / "gpu_coverage.json").read_text(encoding="utf-8"))
    figure = make_subplots(
        1, 2, subplot_titles=list(MODELS.values()), column_widths=[0.65, 0.35],
        horizontal_spacing=0.09,
    )  # fmt: skip
    for column, model in enumerate(MODELS, 1):
        own = counted[model]
        for key, (name, colour, symbol) in KINDS.items():
            figure.add_scatter(
                x=list(own[key]),
                y=[100 * v for v in own[key].values()],
                # four standard errors, so that they can be seen at all
                error_y={"type": "constant", "value": 400 * own["error_of_coverage"]},
                mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9},
                name=name,
                showlegend=column == 1,
                row=1,
                col=column,
            )
        figure.add_hline(y=95, line={"color": "#888", "dash": "dash"}, row=1, col=column)
    assert all(isinstance(trace, Scatter) for trace in figure.data)
    figure.update_yaxes(title_text="intervals that hold the truth [%]", row=1, col=1)
    figure.update_layout(
        template="plotly_white",
        legend={"orientation": "h", "y": -0.15},
        margin={"l": 70, "r": 20, "t": 40, "b": 60},
    )
    draw(figure, HERE / "gpu_coverage.svg", 920, 420)


if __name__ == "__main__":
    main()
