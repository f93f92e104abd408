"""Uncertainty through events: against how start values move the states behind them, against Monte
Carlo of the model itself, and derivatives against differences."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from tests.simulate.test_filter import TIGHT

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.signals import Hold, Signal
from estimica.compiled.experiment import Experiment
from estimica.simulate.engine.result import Run
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.filter.smoother import smoothed_states

FilterKind = Literal["extended", "unscented"]

MODELS = {
    "bouncing mass": (
        """model Ball
  parameter Real e = 0.8; parameter Real g = 9.81;
  Real h(start = 1, fixed = true); Real v(start = 0.3, fixed = true);
equation
  der(h) = v; der(v) = -g - 0.1*v;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;""",
        ("h", "v"),
        {"e": 0.8, "g": 9.81},
        1.5,
    ),
    "thermostat": (
        """model Thermostat
  parameter Real power = 3; parameter Real k = 0.5;
  Real T(start = 20.5, fixed = true); Real W(start = 18, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  on = T < 20 or pre(on) and T <= 21;
  der(T) = (if on then power else 0) - k*(T - W);
  der(W) = 0.1*(T - W) - 0.1*(W - 5);
end Thermostat;""",
        ("T", "W"),
        {"power": 3.0, "k": 0.5},
        4.0,
    ),
    "bang-bang": (
        """model Bang
  parameter Real a = 1; parameter Real b = 2;
  Real x(start = 1, fixed = true); Real y(start = -1, fixed = true);
equation
  der(x) = y; der(y) = (if x > 0.1*y then -a else b) - 0.2*y;
end Bang;""",
        ("x", "y"),
        {"a": 1.0, "b": 2.0},
        3.0,
    ),
    "nothing that jumps": (
        """model Smooth
  parameter Real a = 1; parameter Real b = 2;
  Real x(start = 1, fixed = true); Real y(start = 0, fixed = true);
equation
  der(x) = y; der(y) = -a*x - (if y > 0 then b*y^2 else -b*y^2) - (if x > 0.5 then x - 0.5 else 0);
end Smooth;""",
        ("x", "y"),
        {"a": 1.0, "b": 2.0},
        6.0,
    ),
    "one jump brings another": (
        """model Cascade
  parameter Real a = 0.8; parameter Real b = 3;
  Real x(start = 1, fixed = true); Real v(start = -1, fixed = true);
  Real w(start = 0.5, fixed = true);
equation
  der(x) = v; der(v) = -0.3*v; der(w) = -w + v;
  when x < 0 then reinit(v, -a*pre(v) + 0.1*pre(x)); end when;
  when v > 0.2 then reinit(w, 2*pre(w) + b*pre(v)); end when;
  when w > 1 then reinit(x, pre(x) + 0.1*pre(w)^2); end when;
end Cascade;""",
        ("x", "v", "w"),
        {"a": 0.8, "b": 3.0},
        2.5,
    ),
    "a jump in a later round": (
        """model Later
  parameter Real a = 0.8; parameter Real b = 2;
  Real x(start = 1, fixed = true); Real v(start = -1, fixed = true);
  Boolean hit(start = false, fixed = true);
equation
  der(x) = v; der(v) = -0.3*v + (if hit then b*x else 0);
  when x < 0 then hit = true; end when;
  when pre(hit) then reinit(v, -a*pre(v)); end when;
end Later;""",
        ("x", "v"),
        {"a": 0.8, "b": 2.0},
        2.5,
    ),
    "a reset that depends on time": (
        """model Timed
  parameter Real a = 2; parameter Real b = 0.5;
  Real x(start = 1, fixed = true); Real v(start = -1, fixed = true);
equation
  der(x) = v; der(v) = -0.3*v + 0.2*sin(time);
  when x < 0 then reinit(v, 1 + a*time^2 + b*pre(v)); end when;
  when x > 1.1 then reinit(v, -v); end when;
end Timed;""",
        ("x", "v"),
        {"a": 2.0, "b": 0.5},
        2.5,
    ),
    "unknowns": (
        """model Unknowns
  parameter Real a = 1; parameter Real b = 2;
  Real x(start = 1, fixed = true); Real y(start = -0.4, fixed = true); Real z(start = 1);
equation
  z + z^3 = a*x + 0.3*y + 0.2*sin(2*time);
  der(x) = y - 0.1*z; der(y) = (if z > 0.3 then -b*z else 0.2*y - 0.2) - 0.1*time*x;
  when z < 0 then reinit(y, 0.5*pre(y) + 2*z + 0.6 + 0.1*x); end when;
end Unknowns;""",
        ("x", "y"),
        {"a": 1.0, "b": 2.0},
        4.0,
    ),
    "unknowns that switch": (
        """model Diode
  parameter Real R = 1; parameter Real Vs = 0.2;
  Real u(start = 0.1, fixed = true); Real i(start = 0.2, fixed = true);
  Real iD; Real v; Real vD; Boolean off;
equation
  off = vD < 0.1;
  iD = if off then 0.01*vD else 5*(vD - 0.1) + 0.001;
  v = vD + R*iD;
  v + 0.1*v^3 = u - Vs*iD;
  der(u) = i - iD; der(i) = -u + 0.4*sin(3*time);
end Diode;""",
        ("u", "i"),
        {"R": 1.0, "Vs": 0.2},
        6.0,
    ),
}
SPREADS = (0.03, 0.02, 0.01)


def variances(
    name: str,
    values: dict[str, float],
    level: str = "0",
    wrt: tuple[str, ...] = (),
    kind: FilterKind = "extended",
) -> tuple[Vector, Vector, Run]:
    """Of all states at the end, where nothing was measured before; derivatives; the run."""
    text, states, _, end = MODELS[name]
    noise = FilterNoise(
        tuple((s, level) for s in states),
        tuple((s, repr(v)) for s, v in zip(states, SPREADS, strict=False)),
        tuple((s, "1e-6") for s in states),
        kind=kind,
    )
    model = filtered(es.load_model(text), noise)
    t = np.array([end])
    series = {s: Series(t, np.zeros(1)) for s in states}
    experiment = Experiment(t, parameters=values, wrt=wrt, begin=0.0, options=TIGHT)
    run = model.respond(experiment, series).at()
    assert run.ok, run.text
    own = slice(3 * len(states), 4 * len(states))
    return run.Y[0, own], run.YS[0, own], run


@pytest.mark.parametrize("name", MODELS)
def test_spread_start_values_are_followed_through_events(name: str) -> None:
    """Φ C Φᵀ with Φ = dx/dx₀, which runs of the model itself have through their events."""
    text, states, values, end = MODELS[name]
    found, _, run = variances(name, values)
    assert len(run.events) >= 1
    experiment = Experiment(
        np.array([end]), parameters=values, wrt=states, begin=0.0, outputs=states, options=TIGHT
    )
    flow = es.load_model(text).respond(experiment).at()
    exact = flow.YS[0] @ np.diag(np.square(SPREADS[: len(states)])) @ flow.YS[0].T
    assert found == pytest.approx(np.diag(exact) + 1e-12, rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_go_through_the_jump_of_the_covariance(name: str) -> None:
    values = MODELS[name][2]
    _, slopes, _ = variances(name, values, "0.01", tuple(values))
    for k, tuner in enumerate(values):
        h = 1e-4 * values[tuner]
        high, low = (
            variances(name, {**values, tuner: values[tuner] + q}, "0.01")[0] for q in (h, -h)
        )
        assert slopes[:, k] == pytest.approx((high - low) / (2 * h), rel=2e-5, abs=1e-9)


def test_noise_in_the_states_passes_a_bounce_as_in_monte_carlo() -> None:
    rng = np.random.default_rng(1)
    n, steps, end = 40_000, 3000, 0.8
    h, v = 1 + 0.03 * rng.normal(size=n), 0.3 + 0.02 * rng.normal(size=n)
    dt, bounced = end / steps, np.zeros(n, bool)
    for _ in range(steps):
        old_h, old_v = h, v
        v = v + dt * (-9.81 - 0.1 * v) + 0.05 * np.sqrt(dt) * rng.normal(size=n)
        h = h + dt * (old_v + v) / 2 + 0.05 * np.sqrt(dt) * rng.normal(size=n)
        down = (h < 0) & ~bounced
        share = np.where(down, old_h / np.where(down, old_h - h, 1), 1)
        hit = old_v + share * (v - old_v)
        v = np.where(down, -0.8 * hit + (1 - share) * (v - old_v), v)
        h = np.where(down, (1 - share) * dt * v, h)
        bounced |= down
    assert bounced.all()
    text, states, values, _ = MODELS["bouncing mass"]
    noise = FilterNoise(
        (("h", "0.05"), ("v", "0.05")),
        (("h", "0.03"), ("v", "0.02")),
        tuple((s, "1e-6") for s in states),
    )
    t = np.array([end])
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, parameters=values, begin=0.0, options=TIGHT)
    run = model.respond(experiment, {s: Series(t, np.zeros(1)) for s in states}).at()
    # of 40 000 draws a standard deviation is known to 0.35 %; the law bends within the spread
    assert np.sqrt(run.Y[0, 6:8]) == pytest.approx([h.std(), v.std()], rel=0.03)


def course_with_unknowns(x: Vector, begin: float, end: float, flown: bool, low: bool) -> Vector:
    """The states of "unknowns" at the end, by SciPy; `flown`: z was below 0, `low`: z <= 0.3."""

    def z(t: float, x: Vector) -> float:
        right = x[0] + 0.3 * x[1] + 0.2 * np.sin(2 * t)
        return float(brentq(lambda z: z + z**3 - right, -10, 10, xtol=1e-15, rtol=1e-15))

    def rate(t: float, x: Vector, low: bool) -> list[float]:
        own = z(t, x)
        return [x[1] - 0.1 * own, (0.2 * x[1] - 0.2 if low else -2 * own) - 0.1 * t * x[0]]

    def crossing(level: float, sense: int):  # type: ignore[no-untyped-def]
        def g(t: float, x: Vector, low: bool) -> float:
            return z(t, x) - level

        g.terminal, g.direction = True, sense  # type: ignore[attr-defined]
        return g

    while begin < end:
        events = [crossing(0.3, 1 if low else -1), crossing(0.0, 1 if flown else -1)]
        run = solve_ivp(
            rate, (begin, end), x, "DOP853", events=events, args=(low,), rtol=1e-11, atol=1e-12
        )
        begin, x = run.t[-1], run.y[:, -1]
        if len(run.t_events[0]):
            low = not low
        elif len(run.t_events[1]):
            flown = not flown
            if flown:
                x = np.array([x[0], 0.5 * x[1] + 2 * z(begin, x) + 0.6 + 0.1 * x[0]])
                flown, low = z(begin, x) < 0, z(begin, x) <= 0.3  # it has jumped with y
    return x


@pytest.mark.slow
def test_noise_passes_events_with_unknowns_as_it_moves_courses_of_scipy() -> None:
    """C = Φ C₀ Φᵀ + ∫ Φ diag(σ²) Φᵀ ds with Φ(end, s) by differences of courses that begin at s:
    neither the engine nor a saltation matrix has a part in it."""
    text, states, values, end = MODELS["unknowns"]
    found, _, run = variances("unknowns", values, "0.01")
    model = es.load_model(text)
    cuts = [0.0, *(e.time for e in run.events), end]
    C = np.zeros((2, 2))

    def flow(s: float) -> Vector:
        ask = Experiment(np.array([s]), begin=0.0, outputs=(*states, "z"), options=TIGHT)
        *x, z = model.respond(ask).at().Y[0] if s else (1.0, -0.4, 1.0)
        moved = [
            [course_with_unknowns(np.array(x) + q * e, s, end, z < 0, z <= 0.3) for q in (h, -h)]
            for h in (1e-5,)
            for e in np.eye(2)
        ]
        return np.array([(a - b) / 2e-5 for a, b in moved]).T

    nodes, weights = np.polynomial.legendre.leggauss(6)
    for a, b in pairwise(cuts):
        for node, weight in zip(nodes, weights, strict=True):
            Phi = flow((a + b) / 2 + (b - a) / 2 * node)
            C += weight * (b - a) / 2 * 1e-4 * Phi @ Phi.T
    Phi = flow(0.0)
    C += Phi @ np.diag(np.square(SPREADS[:2])) @ Phi.T
    assert found == pytest.approx(np.diag(C) + 1e-12, rel=1e-5)


STRAIGHT = ("bouncing mass", "thermostat", "bang-bang", "a jump in a later round")


@pytest.mark.parametrize("name", STRAIGHT)
def test_points_around_the_mean_pass_events_of_straight_laws_as_the_linearised(name: str) -> None:
    values = MODELS[name][2]
    tuners = tuple(values)
    linear, by_linear, _ = variances(name, values, "0.01", tuners)
    found, by_found, _ = variances(name, values, "0.01", tuners, "unscented")
    assert found == pytest.approx(linear, rel=1e-7)
    assert by_found == pytest.approx(by_linear, rel=1e-5, abs=1e-9)


def test_points_around_the_mean_pass_events_of_bent_laws() -> None:
    """With little noise as the linearised, with unknowns; derivatives against differences."""
    values = MODELS["unknowns"][2]
    linear, _, _ = variances("unknowns", values)
    found, slopes, _ = variances("unknowns", values, "0", tuple(values), "unscented")
    assert found == pytest.approx(linear, rel=0.05)
    for k, tuner in enumerate(values):
        h = 1e-4 * values[tuner]
        high, low = (
            variances("unknowns", {**values, tuner: values[tuner] + q}, kind="unscented")[0]
            for q in (h, -h)
        )
        assert slopes[:, k] == pytest.approx((high - low) / (2 * h), rel=2e-5, abs=1e-9)


@pytest.mark.parametrize("unknown", [False, True])
def test_a_threshold_that_an_input_moves(unknown: bool) -> None:
    """Inputs that are interpolated linearly move the time at which a relation changes."""
    level = "z" if unknown else "0.5*u + 0.1*time"
    text = f"""model A
      input Real u; parameter Real a = 1; Real x(start = 1, fixed = true);
      Real z(start = 0) = {"0.5*u + 0.1*time - 0.1*sin(z)" if unknown else "0"};
    equation der(x) = if x > {level} then -a*(1 + x) else 0.3*a; end A;"""
    t, states = np.array([2.0]), ("x",)
    ramp = {"u": Signal(np.array([0.0, 2.0]), np.array([0.0, 2.0]), Hold.LINEAR)}
    noise = FilterNoise((), (("x", "0.03"),), (("x", "1e-6"),))
    experiment = Experiment(t, inputs=ramp, wrt=["a"], begin=0.0, options=TIGHT)
    run = filtered(es.load_model(text), noise).respond(experiment, {"x": Series(t, np.zeros(1))})
    flow = Experiment(t, inputs=ramp, wrt=states, begin=0.0, outputs=states, options=TIGHT)
    Phi = es.load_model(text).respond(flow).at().YS[0, 0, 0]
    found = run.at()
    assert len(found.events) == 1
    assert found.Y[0, 3] == pytest.approx(0.03**2 * Phi**2 + 1e-12, rel=1e-6)
    high, low = (run.at(np.array([a])).Y[0, 3] for a in (1.0001, 0.9999))
    assert found.YS[0, 3, 0] == pytest.approx((high - low) / 2e-4, rel=1e-5)


def test_a_schedule_of_the_model_needs_nothing_of_this() -> None:
    text = """model A parameter Real k = 0.3; Real x(start = 2, fixed = true);
      equation der(x) = -(if time < 3 then k else 4*k)*x; end A;"""
    noise = FilterNoise((("x", "0.1"),), (("x", "0.2"),), (("x", "0.1"),))
    t = np.array([5.0])
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, wrt=["k"], begin=0.0, options=TIGHT)
    run = model.respond(experiment, {"x": Series(t, np.ones(1))}).at()

    def variance(k: float) -> float:
        def after(C: float, k: float, h: float) -> float:
            return float(np.exp(-2 * k * h) * C + 0.01 * (1 - np.exp(-2 * k * h)) / (2 * k))

        return after(after(0.04, k, 3), 4 * k, 2) + 0.01

    assert run.Y[0, 1] == pytest.approx(variance(0.3), rel=1e-9)
    slope = (variance(0.3001) - variance(0.2999)) / 2e-4
    assert run.YS[0, 1, 0] == pytest.approx(slope, rel=1e-6)


def test_a_value_that_moves_the_mean_across_a_threshold_switches_the_equations() -> None:
    text = """model A Real x(start = 0, fixed = true);
      equation der(x) = if x > 1 then -1 else 1; end A;"""
    noise = FilterNoise((), (("x", "1"),), (("x", "0.001"),))
    t = np.array([0.5, 1.0])
    model = filtered(es.load_model(text), noise)
    series = {"x": Series(t, np.array([3.0, 2.5]))}
    run = model.respond(Experiment(t, begin=0.0, options=TIGHT), series).at()
    assert run.Y[1, 2] == pytest.approx(2.5, abs=1e-4)  # predicted: down from 3, not up from it


def test_smoothed_states_see_events() -> None:
    """One value behind a bounce tells of the start as Φ does."""
    text, states, values, _ = MODELS["bouncing mass"]
    noise = FilterNoise((), (("h", "0.03"), ("v", "0.02")), (("h", "0.01"),))
    t = np.array([0.8])
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, parameters=values, begin=0.0, options=TIGHT)
    response = model.respond(experiment, {"h": Series(t, np.array([1.0]))})
    start = smoothed_states(response).smoothed.mean[0]
    flow = Experiment(t, parameters=values, wrt=states, outputs=states, begin=0.0, options=TIGHT)
    run = es.load_model(text).respond(flow).at()
    Phi, C = run.YS[0], np.diag([0.03**2, 0.02**2])
    gain = C @ Phi[0] / (Phi[0] @ C @ Phi[0] + 0.01**2)
    assert start == pytest.approx([1, 0.3] + gain * (1.0 - run.Y[0, 0]), rel=1e-5)


def test_what_cannot_be_followed_is_refused() -> None:
    text = """model A Real x; discrete Real m; equation der(x) = -x + m;
      when sample(0, 1) then m = x; end when; end A;"""
    with pytest.raises(ModelError) as error:
        filtered(es.load_model(text), FilterNoise((("x", "1"),), (), ()))
    assert error.value.code == "M242"
    assert "remember" in error.value.message


BENT = {
    "abs": "b*abs(v) + 0.1*v",
    "abs of a square": "b*abs(v)*v",
    "max": "b*max(0, x - 0.2)",
    "min of unknowns": "b*min(z, 0.1*a) + 0.1*v",
    "kinks within kinks": "b*abs(max(x, -0.3) - 0.4)",
    "noEvent": "b*noEvent(if x > 0.2 then x - 0.2 else 0)",
    "a table": "b*noEvent(if x > 0.5 then 2*x - 0.6 elseif x > 0.1 then x - 0.1 else 0)",
    "a jump without event": "b*noEvent(if x > 0.2 then 1 else 0)",
    "a root that is guarded": "b*sqrt(max(x, -0.5) + 2)",
}


def likelihood(law: str, wrt: tuple[str, ...], values: Vector) -> tuple[float, Vector, Run]:
    """−2 log L but for a constant of an oscillator with such a force, samples all along."""
    z = "z + z^3 = x + 0.1*a;" if "z" in law else "z = 0;"
    text = f"""model A
      parameter Real a = 1; parameter Real b = 0.7;
      Real x(start = 1, fixed = true); Real v(start = 0, fixed = true); Real z(start = 0.5);
    equation {z} der(x) = v; der(v) = -a*x - ({law}); end A;"""
    noise = FilterNoise((("v", "0.1"),), (("x", "0.1"), ("v", "0.1")), (("x", "0.05"),))
    t = np.linspace(0.3, 6, 20)
    y = 0.9 * np.cos(t) + 0.05 * np.random.default_rng(0).normal(size=20)
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, wrt=wrt, begin=0.0, options=TIGHT)
    run = model.respond(experiment, {"x": Series(t, y)}).at(values)
    assert run.ok, run.text
    e, s = run.Y[:, :1], run.Y[:, 1:2]
    slope = np.sum(2 * e * run.YS[:, 0] / s + (1 / s - e**2 / s**2) * run.YS[:, 1], axis=0)
    return float(np.sum(e**2 / s + np.log(s))), slope, run


@pytest.mark.parametrize("name", BENT)
def test_gradients_know_how_kinks_move(name: str) -> None:
    tuners, values, h = ("a", "b"), np.array([1.0, 0.7]), 1e-4
    _, slope, run = likelihood(BENT[name], tuners, values)
    assert (len(run.events) > 0) == (name != "a root that is guarded")
    for k, step in enumerate(h * np.eye(2)):
        far, near = (
            likelihood(BENT[name], tuners, values + q * step)[0]
            - likelihood(BENT[name], tuners, values - q * step)[0]
            for q in (2, 1)
        )
        # what is left alone leaves the gradient off by how its kink moves
        loose = 0.05 if name == "a root that is guarded" else 1e-6
        assert slope[k] == pytest.approx((8 * near - far) / (12 * h), rel=loose)


def test_laws_that_jump_without_an_event_are_followed_as_with_one() -> None:
    tuners, values = ("a", "b"), np.array([1.0, 0.7])
    law = BENT["a jump without event"]
    found, by_found, _ = likelihood(law, tuners, values)
    plain, by_plain, _ = likelihood(law.replace("noEvent", ""), tuners, values)
    assert found == pytest.approx(plain, rel=1e-9)
    assert by_found == pytest.approx(by_plain, rel=1e-8)
