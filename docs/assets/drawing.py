"""Draws a Plotly figure as a picture for the pages, in a headless browser (Chromium on PATH)."""

from __future__ import annotations

import html
import re
import subprocess
import tempfile
from pathlib import Path

from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

PAGE = """<html><body><script>{plotly}</script><div id="figure"></div><script>
const f = {figure};
Plotly.newPlot("figure", f.data, f.layout)
  .then(gd => Plotly.toImage(gd, {{format: "svg", width: {width}, height: {height}}}))
  .then(url => document.body.textContent = "SVG" + decodeURIComponent(url.split(",")[1]));
</script></body></html>"""


def draw(fig: Figure, path: Path, width: int = 920, height: int = 620) -> None:
    """Write the SVG of a figure."""
    fig.update_layout(width=width, height=height)
    page = PAGE.format(
        plotly=get_plotlyjs(), figure=fig.to_json(engine="json"), width=width, height=height
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page, encoding="utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        dom = subprocess.run(
            [*command, "--virtual-time-budget=20000", source.as_uri()],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    svg = re.search(r"SVG(<svg.*</svg>)", html.unescape(dom), flags=re.DOTALL)
    assert svg, "the browser drew nothing"
    path.write_text(svg[1] + "\n", encoding="utf-8")
