"""Members of groups that have events: each meets its own, and all agree with the scalar engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from tests.simulate.test_ensemble import MEMBERS, RTOL, assert_agree, scattered

from estimica.base.arrays import Vector
from estimica.simulate.engine.options import Options
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import EnsembleRun, Measured, normal_equations
from estimica.simulate.load import load_model
from estimica.simulate.response import Response

LEVELS = np.random.default_rng(2).uniform(0, 1, 10)


@dataclass(frozen=True)
class Case:
    """A model with events and what is asked of it."""

    text: str
    times: Vector
    tuners: list[str]
    outputs: list[str] = field(default_factory=lambda: ["y"])
    inputs: dict[str, object] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)

    def response(self, tuned: bool = True) -> Response:
        model = load_model(self.text)
        return model.response(
            self.times,
            self.inputs,
            outputs=self.outputs,
            wrt=self.tuners if tuned else [],
            options=Options(rtol=RTOL, **self.options),
        )


def case(
    name: str, declarations: str, equations: str, times: Vector, tuners: str, outputs: str = "y",
    **more: object,
) -> Case:  # fmt: skip
    """A model whose states begin at zero or as they are declared."""
    text = f"model {name} {declarations} equation {equations} end {name};"
    return Case(text, times, tuners.split(), outputs.split(), **more)


STATE = "Real x(start = 0, fixed = true); output Real y = x;"
CASES = {
    "step": case(
        "Servo",
        f"parameter Real k = 2; parameter Real Ti = 0.8; parameter Real T = 0.5; {STATE}"
        "Real v(start = 0, fixed = true); Real xi(start = 0, fixed = true); Real e;",
        "e = (if time < 1 then 0 else 1) - x; der(xi) = e/Ti; der(x) = v;"
        "der(v) = (k*(e + xi) - (if time < 5 then 0 else 0.5) - x - 0.3*v)/T^2;",
        np.linspace(0, 8, 41),
        "k Ti T",
    ),
    "limiter": case(
        "Limited",
        f"parameter Real k = 4; parameter Real T = 0.5; parameter Real lim = 1.3; {STATE}"
        "Real v(start = 0, fixed = true); Real xi(start = 0, fixed = true); Real e; Real c; Real u;",
        "e = (if time < 1 then 0 else 1) - x; c = k*(e + xi); der(xi) = e/0.8 + u - c;"
        "u = if c > lim then lim elseif c < -lim then -lim else c;"
        "der(x) = v; der(v) = (u - x - 0.6*T*v)/T^2;",
        np.linspace(0, 8, 41),
        "k T lim",
    ),
    "hysteresis": case(
        "OnOff",
        f"parameter Real h = 0.5; parameter Real P = 10; parameter Real ref = 5; {STATE}"
        "Real w(start = 0, fixed = true); Boolean on(start = true, fixed = true);",
        "on = if pre(on) then x < ref + h else x < ref - h;"
        "5*der(w) = (if on then P else 0) - w; der(x) = w - x;",
        np.linspace(0, 25, 76),
        "h P ref",
        "y w",
    ),
    "instants of a tuner": case(
        "Late",
        f"parameter Real t0 = 1; parameter Real a = 1; {STATE} Real n(start = 0, fixed = true);",
        "der(x) = if time < t0 then 1 else -a*x; der(n) = if time >= 2*t0 then x else 0;",
        np.linspace(0, 4, 41),
        "t0 a",
        "y n",
    ),
    "reinit": case(
        "Ball",
        "parameter Real e = 0.8; parameter Real g = 9.81; Real v(start = 0, fixed = true);"
        "Real x(start = 1, fixed = true); output Real y = x; Integer n(start = 0, fixed = true);",
        "der(x) = v; der(v) = -g;when x < 0 then reinit(v, -e*pre(v)); n = pre(n) + 1; end when;",
        np.linspace(0, 2, 41),
        "e g",
        "y v n",
    ),
    "sampled controller": case(
        "Sampled",
        f"parameter Real k = 1.5; parameter Real T = 0.7; {STATE}"
        "discrete Real u(start = 0, fixed = true);",
        "when sample(0, 0.25) then u = 1 - k*x; end when; T*der(x) = u + sin(time);",
        np.linspace(0, 4, 33),
        "k T",
        "y u",
    ),
    "members in other branches": case(
        "Branches",
        "parameter Real a = 1; Real x(start = a, fixed = true); output Real y = x;",
        "der(x) = if x > 1 then -0.5*x elseif x > 0.97 then 0.5 - 2*x else 0.3 - x;",
        np.linspace(0, 3, 31),
        "a",
    ),
    "inputs that jump": case(
        "Jumps",
        f"parameter Real a = 1; input Real u; {STATE} Real n(start = 0, fixed = true);",
        "der(x) = a*(u - x); der(n) = if x > 0.4 then 1 else 0;",
        np.linspace(0, 10, 51),
        "a",
        "y n",
        inputs={"u": (np.arange(10.0), LEVELS)},
    ),
    "inputs that rise": case(
        "Rises",
        f"parameter Real a = 1; input Real u; {STATE}",
        "der(x) = a*((if u > 0.5 then 1 else u) - x);",
        np.linspace(0, 3, 31),
        "a",
        inputs={"u": {"time": [0.0, 2.0, 3.0], "value": [0.0, 1.0, 0.0], "hold": "linear"}},
    ),
    "linear unknowns": case(
        "Bridge",
        f"parameter Real R = 2; parameter Real k = 0.6; input Real u; {STATE} Real i; Real j;",
        "i + j = u - x; R*i = (if i > 0.3 then 2*j else j) + k*x;"
        "der(x) = i - (if x > 0.8 then k*(x - 0.8) else 0);",
        np.linspace(0, 6, 61),
        "R k",
        "y i",
        inputs={"u": (np.arange(6.0), 3 * LEVELS[:6])},
    ),
    "nonlinear unknowns": case(
        "Cubic",
        f"parameter Real a = 1; parameter Real b = 0.4; {STATE} Real z(start = 1);",
        "z + b*z^3 = 2 + sin(3*time) - x; der(x) = if z > 1.2 then a*z else a*(z - 0.5*x);",
        np.linspace(0, 6, 31),
        "a b",
        "y z",
    ),
    "stiff": case(
        "Stiff",
        f"parameter Real k = 1e4; parameter Real s = 0.5; {STATE} Real n(start = 0, fixed = true);",
        "der(x) = k*((if time < 1 then cos(time) else 0.3*time) - x);"
        "der(n) = if x > s then 1 - n else -n;",
        np.linspace(0, 3, 31),
        "k s",
        "y n",
    ),
    "stiff method": case(
        "Lag",
        f"parameter Real k = 3; parameter Real s = 0.4; {STATE}",
        "der(x) = k*((if x > s then 0.5 else 1) - x) + (if time > 1.5 then 1 else 0);",
        np.linspace(0, 3, 31),
        "k s",
        options={"method": "implicit"},
    ),
    "at a sample": case(
        "Same",
        f"parameter Real a = 1; {STATE} Real p(start = 0, fixed = true);",
        "der(p) = 1; der(x) = if p > 0.5 then -a else a;",
        np.array([0.0, 0.5, 1.0]),
        "a",
    ),
    "at the end": case(
        "Ends",
        "parameter Real a = 1; Real x(start = 0, fixed = true); output Real y;"
        "discrete Real m(start = 0, fixed = true);",
        "der(x) = a; y = if time >= 1 then 2*x else x; when terminal() then m = x; end when;",
        np.array([0.0, 0.5, 1.0]),
        "a",
        "y m",
    ),
    "at the start": case(
        "Begins",
        f"parameter Real a = 1; {STATE} discrete Real m(start = 3, fixed = true);",
        "der(x) = if x >= 0 then a else -a;"
        "when {initial(), time >= 0.5} then m = pre(m) + a; end when;",
        np.linspace(0, 1, 11),
        "a",
        "y m",
    ),
}


@cache
def pair_of(name: str) -> tuple[Response, Vector, EnsembleRun]:
    """A response, members around its tuners, and what the scalar engine makes of them."""
    response = CASES[name].response()
    thetas = scattered(response, MEMBERS)
    return response, thetas, Ensemble(response, "scalar").at(thetas)


@pytest.mark.parametrize("name", CASES)
def test_members_with_events_agree_with_the_scalar_engine(name: str) -> None:
    response, thetas, known = pair_of(name)
    ensemble = Ensemble(response, "vector")
    assert (ensemble.backend, ensemble.reason) == ("vector", "")
    run = ensemble.at(thetas)
    assert run.ok.all()
    assert not run.alone.any()
    assert_agree(run, known)
    assert set(run.logs) == set(known.logs)
    for member, log in known.logs.items():
        ours, theirs = (a.reshape(-1, 3) for a in (run.logs[member], log))
        np.testing.assert_array_equal(ours[:, 1:], theirs[:, 1:])  # kinds and relations
        np.testing.assert_allclose(ours[:, 0], theirs[:, 0], atol=10 * RTOL * response.times[-1])


@pytest.mark.parametrize("name", ["step", "limiter", "sampled controller", "stiff"])
def test_normal_equations_of_members_with_events(name: str) -> None:
    response, thetas, known = pair_of(name)
    measured = Measured(known.Y[:1] + 0.1, np.ones(known.Y.shape[1:]))
    ensemble = Ensemble(response, "vector")
    found = ensemble.normal(thetas, measured)
    expected = normal_equations(ensemble.at(thetas), measured)
    assert found.ok.all()
    for part in ("square", "gradient", "information"):
        ours, theirs = getattr(found, part), getattr(expected, part)
        size = np.abs(theirs).max(axis=0, keepdims=True)
        assert np.max(np.abs(ours - theirs) / np.maximum(size, 1e-300)) < 1e-12


@pytest.mark.parametrize("name", ["limiter", "reinit", "stiff"])
def test_threads_change_no_bit_of_members_with_events(name: str) -> None:
    response = CASES[name].response()
    thetas = scattered(response, 150)
    runs = [Ensemble(response, "vector", threads=n).at(thetas) for n in (1, 2)]
    assert np.array_equal(runs[0].YS, runs[1].YS)
    assert all(np.array_equal(log, runs[1].logs[k]) for k, log in runs[0].logs.items())
    # a group does not depend on those before it
    again = Ensemble(response, "vector").at(thetas[16:40])
    assert np.array_equal(again.Y, runs[0].Y[16:40])


@pytest.mark.parametrize("name", ["limiter", "hysteresis"])
def test_members_with_events_without_tuners(name: str) -> None:
    response = CASES[name].response(tuned=False)
    values = np.tile(response.values, (9, 1)) * np.linspace(0.97, 1.03, 9)[:, None]
    run = Ensemble(response, "vector").at_values(values, response.times)
    assert not run.alone.any()
    assert_agree(run, Ensemble(response, "scalar").at_values(values, response.times))


def test_members_that_are_alike_have_their_events_together() -> None:
    response, thetas, _ = pair_of("limiter")
    run = Ensemble(response, "vector").at(np.tile(thetas[0], (8, 1)))
    assert np.array_equal(run.YS, np.tile(run.YS[:1], (8, 1, 1, 1)))


def test_a_bouncing_ball_has_its_closed_solution() -> None:
    """After n bounces vₙ = eⁿ √(2gh), and a bounce takes 2vₙ/g."""
    response = CASES["reinit"].response()
    e, g = np.linspace(0.6, 0.9, 8), np.linspace(9, 11, 8)
    run = Ensemble(response, "vector").at(np.column_stack([e, g]))
    t, v0 = response.times, np.sqrt(2 * g)
    first, second = v0 / g, v0 / g * (1 + 2 * e)
    for k in range(8):
        falls, flies = t < first[k], (t > first[k]) & (t < second[k])
        since = t[flies] - first[k]
        np.testing.assert_allclose(run.Y[k, falls, 0], 1 - g[k] / 2 * t[falls] ** 2, atol=1e-9)
        height = e[k] * v0[k] * since - g[k] / 2 * since**2
        np.testing.assert_allclose(run.Y[k, flies, 0], height, atol=1e-9)
        np.testing.assert_allclose(run.YS[k, flies, 0, 0], v0[k] * since, atol=1e-8)


def test_members_whose_events_pile_up_or_end_a_run_go_on_alone() -> None:
    chatter = case(
        "Chatter", f"parameter Real a = 1; {STATE}", "der(x) = if x > 0.1 then -a else a;",
        np.linspace(0, 1, 5), "a",
    )  # fmt: skip
    response = chatter.response()
    thetas = scattered(response, 8)
    run, known = (Ensemble(response, b).at(thetas) for b in ("vector", "scalar"))
    assert run.alone.all()
    assert dict(run.failures) == dict(known.failures)
    stop = case(
        "Stop",
        "parameter Real a = 1; Real x(start = 1, fixed = true); output Real y = x;",
        'der(x) = -a*x; when x < 0.2 then terminate("low"); end when;',
        np.linspace(0, 1.6, 9),
        "a",
    )
    response = stop.response()
    a = np.linspace(0.8, 1.2, 9)[:, None]
    run, known = (Ensemble(response, b).at(a) for b in ("vector", "scalar"))
    assert_agree(run, known)
    assert 0 < run.alone.sum() < 9
    assert not run.ok[a[:, 0] > np.log(5) / 1.6].any()


def test_a_member_that_is_no_number_leaves_and_says_the_same() -> None:
    response, thetas, _ = pair_of("sampled controller")
    thetas = thetas.copy()
    thetas[3, 0] = np.nan
    run, known = (Ensemble(response, b).at(thetas) for b in ("vector", "scalar"))
    assert list(np.flatnonzero(run.alone)) == [3]
    assert dict(run.failures) == dict(known.failures)
    assert_agree(run, known)


def test_members_leave_where_events_come_too_thick() -> None:
    thick = case(
        "Thick",
        f"parameter Real h = 0.05; {STATE} Boolean on(start = true, fixed = true);",
        "on = if pre(on) then x < 5 + h else x < 5 - h; der(x) = (if on then 10 else 0) - x;",
        np.linspace(0, 5, 6),
        "h",
    )
    response = thick.response()
    thetas = scattered(response, 9)
    run = Ensemble(response, "vector").at(thetas)
    # the last one is alone in its group, where nobody else's events are in its way
    assert list(run.alone) == [True] * 8 + [False]
    assert_agree(run, Ensemble(response, "scalar").at(thetas))


def test_logicals_that_begin_as_constants_say() -> None:
    text = """model Begins parameter Real a = 1; Real x(start = 0, fixed = true); output Real y = x;
      Boolean on(start = a > 1, fixed = true);
    equation when x > 0.5 then on = not pre(on); end when; der(x) = if on then 1 else 2; end Begins;"""
    response = load_model(text).response(np.linspace(0, 1, 11), outputs=["y"], wrt=["a"])
    thetas = np.array([[0.5], [1.5], [0.9], [1.1], [2.0]])
    run = Ensemble(response, "vector").at(thetas)
    assert not run.alone.any()
    assert_agree(run, Ensemble(response, "scalar").at(thetas))
    np.testing.assert_allclose(run.Y[:, 5, 0], np.where(thetas[:, 0] > 1, 0.5, 0.75), rtol=1e-6)
