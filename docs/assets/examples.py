"""Draws the pictures of the example pages from the fits of their study files.

tanks.csv and lab.txt must lie where the pages of the two real examples put them; it needs a
Chromium on PATH: python docs/assets/examples.py [NAME ...]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from drawing import draw

import estimica as es
from estimica.base.view import Curves
from estimica.estimate.fit.pictures import picture
from estimica.report.plotly.curves import figure

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
#: picture: study file, kind of plot, height
PICTURES = {
    "nonlinear_circuit": ("nonlinear_circuit/nonlinear_circuit.toml", "iterations", 420),
    "dead_zone_circuit": ("dead_zone_circuit/dead_zone_circuit.toml", "iterations", 420),
    "drum_boiler": ("drum_boiler/boiler.toml", "fit", 560),
    "furuta_pendulum": ("furuta_pendulum/furuta_pendulum.toml", "fit", 900),
    "cascaded_tanks": ("cascaded_tanks/overflow.toml", "fit", 700),
    "temperature_lab": ("temperature_lab/temperature_lab.toml", "fit", 560),
}
MOST = 250  # points of a measured curve


def thinned(curves: Curves) -> Curves:
    """Fewer measured points, so that the picture stays small."""
    panels = []
    for panel in curves.panels:
        kept = []
        for curve in panel.curves:
            step = -(-len(curve.time) // MOST) if curve.dotted else 1
            kept.append(replace(curve, time=curve.time[::step], value=curve.value[::step]))
        panels.append(replace(panel, curves=tuple(kept)))
    return replace(curves, panels=tuple(panels))


def main(names: list[str]) -> None:
    """Draw the named pictures, or all of them."""
    for name in names or PICTURES:
        study, kind, height = PICTURES[name]
        fit = es.fit(es.read_study(EXAMPLES / study))
        draw(figure(thinned(picture(fit, kind))), HERE / f"{name}.svg", height=height)


if __name__ == "__main__":
    main(sys.argv[1:])
