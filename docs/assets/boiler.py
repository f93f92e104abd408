"""Draws boiler.svg, the picture of the README, from a run of the demo's model.

It needs a Chromium on PATH: python docs/assets/boiler.py
"""

from __future__ import annotations

import html
import re
import subprocess
import tempfile
from pathlib import Path

from plotly.offline import get_plotlyjs

from estimica.apps.cli.demo_command import TIMES, load, steps
from estimica.base.show import Curve, Curves, Panel, sensitivities
from estimica.report.plots import figure

WIDTH, HEIGHT = 920, 620
PAGE = """<html><body><script>{plotly}</script><div id="figure"></div><script>
const f = {figure};
Plotly.newPlot("figure", f.data, f.layout)
  .then(gd => Plotly.toImage(gd, {{format: "svg", width: {width}, height: {height}}}))
  .then(url => document.body.textContent = "SVG" + decodeURIComponent(url.split(",")[1]));
</script></body></html>"""


def picture() -> Curves:
    """Power and pressure of the boiler, and the power's derivatives."""
    inputs = steps(seed=1)
    result = load().sensitivities(TIMES, inputs, wrt=["T_D", "T_R", "A4"], outputs=["E", "P"])
    values = [
        Panel(f"{n} [{result.units[n]}]", (Curve(n, TIMES, result.value(n), result.units[n]),))
        for n in result.names
    ]
    pairs = [(n, result.units[n]) for n in result.names]
    tuners = list(zip(result.wrt, map(float, result.point), strict=True))
    derivatives = sensitivities(TIMES, result.jacobian, pairs, tuners)
    return Curves((*values, *derivatives.panels))


def main() -> None:
    """Render the figure in a headless browser and keep its SVG."""
    fig = figure(picture()).update_layout(width=WIDTH, height=HEIGHT)
    page = PAGE.format(
        plotly=get_plotlyjs(), figure=fig.to_json(engine="json"), width=WIDTH, height=HEIGHT
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        dom = subprocess.run(
            [*command, "--virtual-time-budget=20000", path.as_uri()],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    svg = re.search(r"SVG(<svg.*</svg>)", html.unescape(dom), flags=re.DOTALL)
    assert svg, "the browser drew nothing"
    Path(__file__).with_suffix(".svg").write_text(svg[1] + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
