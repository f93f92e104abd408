"""Draws the pictures of the tutorial, from what its chapters compute.

It needs a Chromium on PATH: python docs/assets/tutorial.py [NAME ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from drawing import draw

import estimica as es
from estimica.base.view import Curve, Curves, Heat, Panel
from estimica.experiment.design.present import picture as design_picture
from estimica.infer.criterion_map.present import picture as map_picture
from estimica.report.plotly.curves import figure
from estimica.report.plotly.heat import figure as heat_figure
from examples import thinned

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
LAG = es.transfer_function("K/(1 + tau*s)")
TRUTH = {"K": 1.0, "tau": 2.0}


def fitted(model: es.Model, data: object, starts: dict[str, float]) -> es.Fit:
    """A fit of one record."""
    case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
    tuners = [es.Tuner(n, start=v) for n, v in starts.items()]
    return es.fit(es.Study(model, tuners, [case], estimation=es.Estimation(method="gauss-newton")))


def loudspeaker() -> Curves:
    """Displacement and current under a staircase, with and without a falling force factor."""
    times = es.signals.times(5e-5, 1000)
    runs = {}
    for class_, name in (("Linear", "constant Bl"), ("Nonlinear", "falling Bl(x)")):
        model = es.load_model(EXAMPLES / "loudspeaker" / "Loudspeaker.mo", f"Loudspeaker.{class_}")
        stairs = es.signals.Staircase(4, 0.05, amplitude=8)
        options = es.Options(atol=1e-11)
        runs[name] = es.simulate_experiment(model, {"u": stairs}, times, options=options)
    panels = []
    for label, name, scale in (("displacement [mm]", "x", 1e3), ("current [A]", "i", 1.0)):
        curves = tuple(
            Curve(about, 1e3 * times, scale * run.truth[name], colour=k, listed=not panels)
            for k, (about, run) in enumerate(runs.items())
        )
        panels.append(Panel(label, curves))
    return Curves(tuple(panels), time_label="time [ms]")


def guess() -> Curves:
    """A step response with its construction lines."""
    data = es.simulate_experiment(
        es.transfer_function("K*exp(-T*s)/(1 + tau*s)"),
        {"u": es.signals.Step(begin=2.0, amplitude=2)},
        es.signals.times(0.05, 500),
        {"K": 1.5, "tau": 3.0, "T": 0.8},
        noise=0.1,
    )
    return es.first_guess(data, "u", "y").curves()


def landscape() -> Heat:
    """The cost over gain and time constant."""
    data = es.simulate_experiment(
        LAG, {"u": es.signals.Square(0.05)}, es.signals.times(0.1, 1000), TRUTH, noise=0.02, seed=9
    )
    fit = fitted(LAG, data, {"K": 1.5, "tau": 3})
    ranges = {"K": (0.7, 1.6), "tau": (1.0, 4.0)}
    shown = map_picture(es.criterion_map(fit, "K", "tau", ranges=ranges, points=41), "map")
    assert isinstance(shown, Heat)
    path = np.array([i.values for i in fit.iterations])
    steps = Curve("Gauss-Newton", path[:, 0], path[:, 1], marked=True, colour=1)
    return replace(shown, curves=(*shown.curves, steps), title="")


def ellipses() -> Curves:
    """Sensitivity ellipses for four frequencies."""
    curves = []
    for k, omega in enumerate((0.063, 0.31, 0.79, 4.0)):
        period = 2 * np.pi / omega
        data = es.simulate_experiment(
            LAG,
            {"u": es.signals.Sine(1 / period)},
            es.signals.times(period / 50, 2000),
            TRUTH,
            noise=0.02,
        )
        ring = es.measures(fitted(LAG, data, TRUTH)).measures.ellipse("K", "tau", points=1081)
        curves.append(Curve(f"{omega:g} rad/s", ring[:, 0], ring[:, 1], colour=k))
    return Curves((Panel("relative tau", tuple(curves)),), time_label="relative K")


def warming() -> Curves:
    """The current of a loudspeaker that warms up, at the beginning and in the end."""
    fit = es.fit(es.read_study(EXAMPLES / "loudspeaker" / "warming.toml"))
    current = fit.case("warming")["i"]
    panels = []
    for label, begin in (("first 40 ms", 0.0), ("last 40 ms", 0.96)):
        inside = (current.time >= begin) & (current.time < begin + 0.04)
        t = 1e3 * (current.time[inside] - begin)
        lines = (
            Curve(
                "measured", t, current.measured[inside], dotted=True, colour=5, listed=not panels
            ),
            Curve("constant R", t, current.simulated[inside], colour=0, listed=not panels),
        )
        panels.append(Panel(f"i [A], {label}", lines))
    return Curves(tuple(panels), time_label="time [ms]")


def bode() -> Curves:
    """Measured sines, and fits with one lag and with two."""
    process = es.transfer_function("1/((1 + 2*s)*(1 + 0.4*s))")
    two = es.transfer_function("K/((1 + tau*s)*(1 + tau2*s))")
    w = np.geomspace(0.05, 20, 60)
    random = np.random.default_rng(1)
    noise = 0.01 * (random.standard_normal(60) + 1j * random.standard_normal(60))
    measured = process.frequency_response(w) + noise
    case = es.Case("sines", {"w": w, "G": measured}, angular_frequency="w", outputs={"y": "G"})
    answers = {}
    for name, model, starts in (
        ("one lag", LAG, {"K": 1, "tau": 3}),
        ("two lags", two, {"K": 1, "tau": 3, "tau2": 0.1}),
    ):
        tuners = [es.Tuner(n, start=v) for n, v in starts.items()]
        fit = es.fit(es.Study(model, tuners, [case]))
        answers[name] = model.frequency_response(w, dict(zip(starts, fit.values, strict=True)))
    panels = []
    parts: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
        ("magnitude [dB]", lambda g: 20 * np.log10(np.abs(g))),
        ("phase [deg]", lambda g: np.degrees(np.unwrap(np.angle(g)))),
    )
    for label, part in parts:
        lines = [Curve("measured", w, part(measured), dotted=True, colour=5, listed=not panels)]
        for k, (name, answer) in enumerate(answers.items()):
            lines.append(Curve(name, w, part(answer), colour=1 - k, listed=not panels))
        panels.append(Panel(label, tuple(lines)))
    return Curves(tuple(panels), time_label="frequency [rad/s]", log_time=True)


def design() -> Curves:
    """Sensitivity measures over the frequency of a square wave."""
    frequencies = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5]
    settings = {"signal": "square", "step": 0.1, "duration": 100}
    found = es.design_input(LAG, {**settings, "vary": {"frequency": frequencies}}, values=TRUTH)
    shown = design_picture(found, "measures")
    assert isinstance(shown, Curves)
    return shown


#: picture: its maker, width, height
PICTURES: dict[str, tuple[Callable[[], Curves | Heat], int, int]] = {
    "loudspeaker": (loudspeaker, 920, 480),
    "guess": (guess, 920, 420),
    "landscape": (landscape, 760, 520),
    "ellipses": (ellipses, 720, 560),
    "warming": (warming, 920, 480),
    "bode": (bode, 920, 520),
    "design": (design, 920, 640),
}


def main(names: list[str]) -> None:
    """Draw the named pictures, or all of them."""
    for name in names or PICTURES:
        make, width, height = PICTURES[name]
        shown = make()
        drawn = heat_figure(shown) if isinstance(shown, Heat) else figure(thinned(shown))
        draw(drawn, HERE / f"tutorial_{name}.svg", width, height)


if __name__ == "__main__":
    main(sys.argv[1:])
