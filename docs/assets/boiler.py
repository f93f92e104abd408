"""Draws boiler.svg and fit.svg, the pictures of the first pages, from the demo's model and data.

It needs a Chromium on PATH: python docs/assets/boiler.py
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from drawing import draw

import estimica as es
from estimica.apps.cli.demo.boiler import write_demo
from estimica.base.view import Curve, Curves, Panel
from estimica.estimate.fit.pictures import picture
from estimica.estimate.fit.result import Fit
from estimica.report.plotly.curves import figure
from estimica.simulate.trajectory import sensitivity_panels

HERE = Path(__file__).resolve().parent


def derivatives(fit: Fit) -> Curves:
    """Power and pressure of the boiler, and their derivatives."""
    model = es.load_model(HERE.parents[1] / "src/estimica/apps/cli/demo/DrumBoiler.mo")
    record = fit.setup.records[0]
    time = record.outputs[0].time
    inputs = dict(record.inputs)
    result = model.sensitivities(time, inputs, wrt=["T_D", "T_R", "A4"], outputs=["E", "P"])
    values = [
        Panel(f"{n} [{result.units[n]}]", (Curve(n, time, result.value(n), result.units[n]),))
        for n in result.names
    ]
    pairs = [(n, result.units[n]) for n in result.names]
    tuners = list(zip(result.wrt, map(float, result.point), strict=True))
    return Curves((*values, *sensitivity_panels(time, result.jacobian, pairs, tuners).panels))


def main() -> None:
    """Draw both pictures."""
    with tempfile.TemporaryDirectory() as folder:
        fit = es.fit(es.read_study(write_demo(folder)))
    draw(figure(derivatives(fit)), HERE / "boiler.svg")
    draw(figure(replace(picture(fit, "iterations"), title="")), HERE / "fit.svg", height=560)


if __name__ == "__main__":
    main()
