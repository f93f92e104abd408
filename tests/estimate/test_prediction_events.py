"""Criterion "prediction" of models that switch: what they were simulated with is found again.

The data are courses with noise by small steps in NumPy, which look at relations after each step;
the filters know nothing of how they were made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.arrays import Vector
from estimica.compiled.experiment import Experiment
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise

Step = Callable[[float, Vector, dict[str, float], dict[str, bool]], Vector]


@dataclass(frozen=True)
class Switching:
    """A model, its truth, and the same in NumPy: rates, and what happens after a step."""

    text: str
    states: dict[str, float]  # and where they start
    measured: str
    truth: dict[str, float]
    noise: dict[str, str]
    rate: Step
    end: float
    samples: int
    passed: Step | None = None
    modes: dict[str, bool] = field(default_factory=dict)
    input: Callable[[Vector], Vector] | None = None
    fine: int = 200  # steps between samples


def _heat(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    return np.array([(p["power"] if on["on"] else 0.0) - p["k"] * (x[0] - 10)])


def _switch(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    on["on"] = bool(x[0] < 19.5 or (on["on"] and x[0] <= 20.5))
    return x


def _tank(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    q = 0.5 if np.floor(t / 10 + 1e-8) % 2 else 2.0
    return np.array([q - p["a"] * np.sqrt(x[0]) - p["b"] * max(0.0, x[0] - 1.5)])


def _sledge(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    force = 3 * np.sign(np.sin(t))  # it never sticks
    return np.array([force - p["Fc"] * np.sign(x[0]) - p["b"] * x[0]])


def _fall(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    return np.array([x[1], -p["g"]])


def _bounce(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    return np.array([x[0], -p["e"] * x[1]]) if x[0] < 0 and x[1] < 0 else x


def _diode(t: float, x: Vector, p: dict[str, float], on: dict[str, bool]) -> Vector:
    """(vin − u − R i − v(i))= 0 with v the inverse of the law of the diode, by Newton."""
    drop, i = 2 * np.sin(2 * t) - x[0], 0.0
    for _ in range(50):
        v = drop - p["R"] * i - 0.05 * i**3
        law, slope = (0.02 * v, 0.02) if v < 0.3 else (0.006 + 4 * (v - 0.3), 4.0)
        move = (law - i) / (1 + slope * (p["R"] + 0.15 * i**2))
        i += move
        if abs(move) < 1e-13:
            break
    return np.array([i - x[0] / p["RL"]])


MODELS = {
    "thermostat": Switching(
        """model Thermostat
  parameter Real power = 8; parameter Real k = 0.3;
  Real T(start = 20, fixed = true); Boolean on(start = false, fixed = true);
equation
  on = T < 19.5 or pre(on) and T <= 20.5;
  der(T) = (if on then power else 0) - k*(T - 10);
end Thermostat;""",
        {"T": 20.0},
        "T",
        {"power": 8.0, "k": 0.3, "s": 0.05, "sigma_T": 0.02},
        {"T": "s"},
        _heat,
        12.0,
        400,
        passed=_switch,
        modes={"on": False},
    ),
    "tank that overflows": Switching(
        """model Tank
  parameter Real a = 0.8; parameter Real b = 3; input Real q;
  Real h(start = 1, fixed = true);
equation
  der(h) = q - a*sqrt(h) - b*max(0, h - 1.5);
end Tank;""",
        {"h": 1.0},
        "h",
        {"a": 0.8, "b": 3.0, "s": 0.03, "sigma_h": 0.01},
        {"h": "s"},
        _tank,
        80.0,
        401,  # the input changes at stamps
        input=lambda t: np.where(np.floor(t / 10 + 1e-8) % 2, 0.5, 2.0),
    ),
    "dry friction": Switching(
        """model Sledge
  parameter Real Fc = 0.8; parameter Real b = 0.3;
  Real v(start = 1, fixed = true);
equation
  der(v) = (if sin(time) > 0 then 3 else -3) - (if v > 0 then Fc else -Fc) - b*v;
end Sledge;""",
        {"v": 1.0},
        "v",
        {"Fc": 0.8, "b": 0.3, "s": 0.05, "sigma_v": 0.02},
        {"v": "s"},
        _sledge,
        30.0,
        400,
    ),
    "bouncing ball": Switching(
        """model Ball
  parameter Real e = 0.9; parameter Real g = 9.81;
  Real h(start = 2, fixed = true); Real v(start = 0, fixed = true);
equation
  der(h) = v; der(v) = -g;
  when h < 0 and v < 0 then reinit(v, -e*pre(v)); end when;
end Ball;""",
        {"h": 2.0, "v": 0.0},
        "h",
        {"e": 0.9, "g": 9.81, "s": 0.1, "sigma_h": 0.02},
        {"v": "s"},
        _fall,
        6.0,
        300,
        passed=_bounce,
        fine=100,
    ),
    "diode with a loop": Switching(
        """model Diode
  parameter Real R = 0.5; parameter Real RL = 2;
  Real u(start = 0, fixed = true); Real i(start = 0); Real v;
equation
  v = 2*sin(2*time) - u - R*i - 0.05*i^3;
  i = if v < 0.3 then 0.02*v else 0.006 + 4*(v - 0.3);
  der(u) = i - u/RL;
end Diode;""",
        {"u": 0.0},
        "u",
        {"R": 0.5, "RL": 2.0, "s": 0.03, "sigma_u": 0.01},
        {"u": "s"},
        _diode,
        30.0,
        400,
        fine=20,
    ),
}


def table(m: Switching, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    stamps = np.linspace(0, m.end, m.samples)
    level = np.array([m.truth["s"] if n in m.noise else 0.0 for n in m.states])
    place = list(m.states).index(m.measured)
    x, modes, values, t = np.array(list(m.states.values())), dict(m.modes), [], 0.0
    dt = stamps[1] / m.fine
    for _ in stamps:
        values.append(x[place] + m.truth[f"sigma_{m.measured}"] * rng.normal())
        for _ in range(m.fine):
            first = m.rate(t, x, m.truth, modes)
            # inputs change at stamps, behind the last step before them
            second = m.rate(t + dt - 1e-6, x + dt * first, m.truth, modes)
            x = x + dt * (first + second) / 2 + level * np.sqrt(dt) * rng.normal(size=len(x))
            t += dt
            if m.passed is not None:
                x = m.passed(t, x, m.truth, modes)
    frame = pd.DataFrame({"time": stamps, m.measured: values})
    return frame.assign(q=m.input(stamps)) if m.input is not None else frame


def study(m: Switching, frame: pd.DataFrame, **more: object) -> es.Study:
    inputs: dict[str, str | float | es.InputColumn] = {"q": "q"} if m.input is not None else {}
    case = es.Case("a", frame, inputs=inputs, outputs={m.measured: m.measured})
    tuners = [n for n in m.truth if n != "s" and not n.startswith("sigma_")]
    settings = {"process_noise": m.noise, **more}
    return es.Study(es.load_model(m.text), tuners, [case], "prediction", **settings)  # type: ignore[arg-type]


QUICK = ("bouncing ball", "diode with a loop")


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in MODELS if n not in QUICK)],
)
def test_models_that_switch_are_found_again(name: str) -> None:
    m = MODELS[name]
    fit = es.fit(study(m, table(m, 1)), progress=False)
    assert fit.outcome.status == "converged"
    names = [u.name for u in fit.unknowns.items]
    errors = np.sqrt(np.diag(fit.covariance))
    for one, value, error in zip(names, fit.values, errors, strict=True):
        off = (value - m.truth[one]) / error
        if one == "s" or one.startswith("sigma_"):  # their errors hold on a logarithmic scale
            off = np.log(value / m.truth[one]) * value / error
        assert abs(off) < 3, (one, value, error)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bouncing ball", "diode with a loop"])
def test_scores_at_the_truth_have_mean_zero(name: str) -> None:
    """Over many records: a likelihood that is not that of the data has another mean of its slope.
    The innovations have the variances that are predicted."""
    m, many = MODELS[name], 25
    levels = (
        f"parameter Real s = {m.truth['s']}; parameter Real r = {m.truth[f'sigma_{m.measured}']};"
    )
    text = m.text.replace("parameter", f"{levels} parameter", 1)
    tuners = [*(n for n in m.truth if n != "s" and not n.startswith("sigma_")), "s", "r"]
    noise = FilterNoise(tuple(m.noise.items()), (), ((m.measured, "r"),))
    model = filtered(es.load_model(text), noise)
    slopes, sizes = [], []
    for seed in range(many):
        frame = table(replace(m, fine=50), 100 + seed)
        t = frame["time"].to_numpy()
        series = {m.measured: Series(t, frame[m.measured].to_numpy())}
        run = model.respond(Experiment(t, wrt=tuners, begin=0.0), series).at()
        assert run.ok, run.text
        e, s = run.Y[:, :1], run.Y[:, 1:2]
        slopes.append(np.sum(2 * e * run.YS[:, 0] / s + (1 / s - e**2 / s**2) * run.YS[:, 1], 0))
        sizes.append(np.mean(e**2 / s))
    error = np.std(slopes, axis=0, ddof=1) / np.sqrt(many)
    assert np.all(np.abs(np.mean(slopes, axis=0)) < 3.5 * error)
    assert np.mean(sizes) == pytest.approx(1, abs=4 * np.sqrt(2 / (many * m.samples)))


def test_friction_that_sticks_is_refused_with_what_to_do() -> None:
    text = """model Stick parameter Real Fc = 0.8; Real v(start = 1, fixed = true);
      equation der(v) = 0.5*sin(time) - (if v > 0 then Fc else -Fc); end Stick;"""
    t = np.linspace(0, 5, 50)
    case = es.Case("a", pd.DataFrame({"time": t, "v": np.exp(-t)}), outputs={"v": "v"})
    one = es.Study(es.load_model(text), ["Fc"], [case], "prediction", process_noise={"v": "s"})
    fit = es.fit(one, progress=False)
    assert fit.outcome.status == "failed"
    assert "tanh(v/v0)" in fit.outcome.message


def test_paths_of_a_forecast_go_on_in_the_mode_in_which_the_record_ends() -> None:
    """A thermostat that is off at its start and heats at the end, with next to no noise."""
    m = MODELS["thermostat"]
    quiet = replace(m, truth={**m.truth, "s": 0.0, "sigma_T": 1e-3}, fine=20)
    frame = table(quiet, 1)
    rising = np.flatnonzero(np.diff(frame["T"]) > 0.1)
    middle = rising[np.flatnonzero(np.diff(rising) > 1)[1] - 1]  # of the second rise
    part = frame.iloc[: middle + 1]
    fit = es.fit(study(m, part, process_noise={"T": 1e-4}), progress=False)
    found = es.forecast(fit, until=float(part["time"].iloc[-1]) + 0.1, paths=3)
    course = found.course("T")
    assert course.mean[-1] > part["T"].iloc[-1] + 0.1
    assert course.paths == pytest.approx(np.tile(course.mean, (3, 1)), abs=0.01)
