"""Draws the pictures of the page about the examples of Elmqvist and others (2005).

It needs the Modelica Standard Library on MODELICAPATH and a Chromium on PATH:
python docs/assets/dymola_paper.py [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from drawing import draw
from plotly.graph_objects import Figure

import estimica as es
from estimica.estimate.fit.pictures import picture
from estimica.infer.criterion_map.present import picture as map_picture
from estimica.report.plotly.curves import figure
from estimica.report.plotly.heat import figure as heat_figure
from examples import thinned

HERE = Path(__file__).resolve().parent
FURUTA = HERE.parents[1] / "examples" / "furuta_library"
#: what the panels are called: the names in the model are longer than a panel is high
NAMES = {"armAngle.phi [rad]": "arm [rad]", "pendulumAngle.phi [rad]": "pendulum [rad]"}


def furuta() -> Figure:
    """Measured and simulated angles of the three experiments."""
    shown = thinned(picture(es.fit(es.read_study(FURUTA / "furuta_library.toml")), "fit"))
    panels = tuple(replace(p, label=NAMES[p.label]) for p in shown.panels)
    return figure(replace(shown, panels=panels))


def valley() -> Figure:
    """The cost over mass and inertia of the arm."""
    ranges = {"J_c": (0.0005, 0.003), "m_arm": (0.05, 0.3)}
    fit = es.fit(es.read_study(FURUTA / "valley.toml"))
    found = es.criterion_map(fit, "J_c", "m_arm", points=25, ranges=ranges)
    print(found)
    return heat_figure(map_picture(found))


#: picture: what draws it, height
PICTURES: dict[str, tuple[Callable[[], Figure], int]] = {
    "furuta": (furuta, 1100),
    "valley": (valley, 520),
}


def main(names: list[str]) -> None:
    """Draw the named pictures, or all of them."""
    for name in names or PICTURES:
        make, height = PICTURES[name]
        draw(make(), HERE / f"paper_{name}.svg", height=height)


if __name__ == "__main__":
    main(sys.argv[1:])
