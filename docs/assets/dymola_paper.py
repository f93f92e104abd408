"""Draws the pictures of the page about the examples of Elmqvist and others (2005).

It needs the Modelica Standard Library on MODELICAPATH and a Chromium on PATH:
python docs/assets/dymola_paper.py [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from drawing import draw
from plotly.graph_objects import Figure

import estimica as es
from estimica.base.view import Band, Curve, Curves, Panel
from estimica.estimate.fit.pictures import picture
from estimica.infer.criterion_map.present import picture as map_picture
from estimica.optimise.assess.pictures import picture as assessment_picture
from estimica.report.plotly.curves import figure
from estimica.report.plotly.heat import figure as heat_figure
from examples import thinned

HERE = Path(__file__).resolve().parent
FURUTA = HERE.parents[1] / "examples" / "furuta_library"
ROBOT = HERE.parents[1] / "examples" / "robot"
#: kp2, ks2, Ts2 of the paper's three designs
DESIGNS = {
    "start": (2.0, 1.0, 0.1),
    "first optimum of the paper": (3.0776, 2.5089, 0.08896),
    "second optimum of the paper": (4.0722, 4.8897, 0.070565),
}
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


def robot() -> Figure:
    """Axis 2 of the full robot in the case Low 2, with the paper's three designs."""
    study = es.read_study(ROBOT / "robot.toml")
    (case,) = [c for c in study.cases if c.name == "Low 2"]
    outputs = ["mechanics.r2.w", "pathPlanning.path.qd[2]"]
    outputs += ["mechanics.r2.phi", "pathPlanning.path.q[2]"]
    time = np.linspace(0, 1.1, 441)
    shown = time >= 0.4  # before it the curves lie on each other
    speeds, deviations = [], []
    for k, (name, values) in enumerate(DESIGNS.items()):
        given = dict(case.fix) | dict(zip(("kp2", "ks2", "Ts2"), values, strict=True))
        run = study.model.simulate(
            time, parameters=given, outputs=outputs, options=es.Options(rtol=1e-8)
        )
        w, w_wanted, phi, phi_wanted = (run.value(o)[shown] for o in outputs)
        speeds.append(Curve(name, time[shown], w - w_wanted, colour=k))
        deviations.append(
            Curve(name, time[shown], 1e3 * (phi - phi_wanted), colour=k, listed=False)
        )
    panels = (
        Panel(
            "speed − reference [rad/s]", tuple(speeds), (Band("within 0.01 rad/s", -0.01, 0.01),)
        ),
        Panel("angle − reference [mrad]", tuple(deviations), (Band("within 3 mrad", -3, 3),)),
    )
    return figure(Curves(panels, "Axis 2 of the full robot, case Low 2"))


def axis_sweep() -> Figure:
    """Criteria of one axis along the gain of its speed controller."""
    found = es.sweep(es.read_study(ROBOT / "axis_assessment.toml"))
    print(found)
    shown = assessment_picture(found, "curves", ("overshoot", "settling time"))
    (panel,) = shown.panels
    lines = tuple(replace(c, colour=k) for k, c in enumerate(panel.curves))  # a colour for each
    return figure(replace(shown, panels=(replace(panel, curves=lines),)))


def axis_montecarlo() -> Figure:
    """The signals of one axis whose load, gear and friction vary."""
    found = es.montecarlo(es.read_study(ROBOT / "axis_assessment.toml"))
    print(found)
    drawn = figure(assessment_picture(found, "families", ("settling time",)))
    drawn.update_yaxes(range=[-0.1, 0.1])  # the motions themselves go to 3 rad/s
    for k, rest in enumerate((1.0, 1.0, 0.46, 0.46)):  # s: where the reference comes to rest
        drawn.layout[f"xaxis{k + 1 if k else ''}"].range = [rest - 0.05, rest + 0.25]
    return drawn


#: picture: what draws it, height
PICTURES: dict[str, tuple[Callable[[], Figure], int]] = {
    "furuta": (furuta, 1100),
    "valley": (valley, 520),
    "robot": (robot, 620),
    "axis_sweep": (axis_sweep, 480),
    "axis_montecarlo": (axis_montecarlo, 1000),
}


def main(names: list[str]) -> None:
    """Draw the named pictures, or all of them."""
    for name in names or PICTURES:
        make, height = PICTURES[name]
        draw(make(), HERE / f"paper_{name}.svg", height=height)


if __name__ == "__main__":
    main(sys.argv[1:])
