"""Draws the way of a fit through the rooms: `python docs/assets/way_of_a_fit.py` writes the SVG."""

from __future__ import annotations

from html import escape
from pathlib import Path

#: room, what it does, what it hands on; from top to bottom as the data flow
STEPS = (
    ("source", "Modelica text, SBML, formulas", "flat system"),
    ("structure", "matching, index, events, causality", "sorted system"),
    ("compiled", "machine code with exact derivatives", "model"),
    ("simulate", "engine, points, linear, FMUs, functions", "response: outputs and sensitivities"),
    ("estimate", "criterion, search, shooting, collocation", "fit"),
    ("infer", "bootstrap, profile, posterior, residuals …", "results"),
    ("report", "figures, pages, text", "HTML, Markdown, PNG"),
)
#: what joins from the side, and at which step
SIDE = (
    ("data", "tables and their formats", "columns", 3),
    ("study", "tuners, cases, criteria; the study file", "study", 4),
    ("execute", "workers, stored runs, checkpoints", "workers", 5),
)
BOX, HEIGHT, STEP, LEFT, RIGHT = 330, 46, 84, 20, 430  # pixels
STYLE = """
  .box { fill: #e0f2f1; stroke: #00796b; stroke-width: 1.2 }
  .side { fill: #fff8e1; stroke: #b28704; stroke-width: 1.2 }
  text { font: 14px sans-serif; fill: #1b2a2a }
  .what { font-size: 12px; fill: #445 }
  .hands { font-size: 12px; fill: #00695c; font-style: italic }
  path { stroke: #557; stroke-width: 1.4; fill: none; marker-end: url(#tip) }
  @media (prefers-color-scheme: dark) { .hands { fill: #80cbc4 } path { stroke: #99a } }
"""


def box(x: int, y: int, name: str, what: str, kind: str) -> str:
    """A room with what it does."""
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6"/>'
        f'<text x="{x + 12}" y="{y + 19}" font-weight="bold">{escape(name)}</text>'
        f'<text class="what" x="{x + 12}" y="{y + 37}">{escape(what)}</text>'
    )


def main() -> None:
    """Write the figure beside this script."""
    parts = []
    for k, (name, what, hands) in enumerate(STEPS):
        y = 16 + k * STEP
        parts.append(box(LEFT, y, name, what, "box"))
        if k + 1 < len(STEPS):
            x = LEFT + 60
            parts.append(f'<path d="M{x} {y + HEIGHT} V{y + STEP - 3}"/>')
            parts.append(f'<text class="hands" x="{x + 12}" y="{y + HEIGHT + 23}">{hands}</text>')
    for name, what, hands, step in SIDE:
        y = 16 + step * STEP
        parts.append(box(RIGHT, y, name, what, "side"))
        if name == "data":
            below = y + STEP - 3
            parts.append(f'<path d="M{RIGHT + 60} {y + HEIGHT} V{below}"/>')
            parts.append(f'<text class="hands" x="{RIGHT + 72}" y="{below - 12}">{hands}</text>')
        else:
            middle = y + HEIGHT // 2
            parts.append(f'<path d="M{RIGHT} {middle} H{LEFT + BOX + 3}"/>')
            parts.append(
                f'<text class="hands" x="{LEFT + BOX + 8}" y="{middle - 8}">{hands}</text>'
            )
    width, height = RIGHT + BOX + 20, 16 + len(STEPS) * STEP
    marker = (
        '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" style="fill:#557;stroke:none;marker-end:none"/>'
        "</marker>"
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="The way of a fit through the rooms"><style>{STYLE}</style>'
        f"<defs>{marker}</defs>{''.join(parts)}</svg>\n"
    )
    Path(__file__).with_name("way-of-a-fit.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
