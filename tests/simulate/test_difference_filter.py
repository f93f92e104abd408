"""Filters of FMUs and functions by differences: against the compiled filters of the same models."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.fmus.build import HERE, builder, built

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.simulate.engine.options import Options
from estimica.simulate.filter.ahead import predictions_ahead
from estimica.simulate.filter.differences.model import DifferenceFilter
from estimica.simulate.filter.differences.quadrature import lobatto, spans, spans_on_grid
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.draws import simulated_path, simulated_series
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.filter.response import FilterResponse
from estimica.simulate.filter.smoother import smoothed_states

needs_compiler = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")
TIGHT = Options(rtol=1e-10, atol=1e-12)

ROOM = """model Room
  parameter Real R = 0.01; parameter Real C = 1e5; parameter Real T0 = 20;
  input Real Ta; input Real Q;
  Real T(start = T0, fixed = true);
  Real q = (T - Ta)/R;
equation
  C*der(T) = Q - q;
end Room;"""


def room(u, t, p):  # type: ignore[no-untyped-def]
    """The exact steps of the room with inputs that are held; its state and the flow outside."""
    T = np.empty(len(t))
    T[0] = p["T0"]
    for k in range(len(t) - 1):
        F = np.exp(-(t[k + 1] - t[k]) / (p["R"] * p["C"]))
        T[k + 1] = F * T[k] + (1 - F) * (u[k, 0] + p["R"] * u[k, 1])
    return T, (T - u[:, 0]) / p["R"]


def room_model(**more: object) -> Model:
    values = {"R": 0.01, "C": 1e5, "T0": 20.0}
    settings: dict[str, object] = {"states": {"T": "T0"}, **more}
    return es.function_model(room, values, ["Ta", "Q"], ["T", "q"], **settings)  # type: ignore[arg-type]


TANKS = """model Tanks
  parameter Real a = 0.02; parameter Real b = 0.01; parameter Real h0 = 1; parameter Real g0 = 0.5;
  input Real q;
  Real h(start = h0, fixed = true); Real g(start = g0, fixed = true);
equation
  der(h) = q - a*sqrt(h);
  der(g) = a*sqrt(h) - b*sqrt(g);
end Tanks;"""


def tanks(u, t, a=0.02, b=0.01, h0=1.0, g0=0.5):  # type: ignore[no-untyped-def]
    """Two tanks by Runge and Kutta's method, some steps between two times."""
    x = np.empty((len(t), 2))
    x[0] = h0, g0

    def rate(x, q):  # type: ignore[no-untyped-def]
        out = a * np.sqrt(x[0])
        return np.array([q - out, out - b * np.sqrt(x[1])])

    for k in range(len(t) - 1):
        y, d = x[k], (t[k + 1] - t[k]) / 4
        for _ in range(4):
            k1 = rate(y, u[k])
            k2 = rate(y + d / 2 * k1, u[k])
            k3 = rate(y + d / 2 * k2, u[k])
            y = y + d / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + d * k3, u[k]))
        x[k + 1] = y
    return x


def both(
    compiled: Model,
    other: Model,
    noise: FilterNoise,
    experiment: Experiment,
    series: dict[str, Series],
) -> tuple[FilterResponse, DifferenceResponse]:
    exact = filtered(compiled, noise).respond(experiment, series)
    ours = filtered(other, noise).respond(experiment, series)
    assert isinstance(exact, FilterResponse)
    assert isinstance(ours, DifferenceResponse)
    return exact, ours


def compare(exact: FilterResponse, ours: DifferenceResponse, theta: Vector, to: float) -> None:
    """Innovations and variances in their own sizes, and slopes of both."""
    right, found = exact.at(theta), ours.at(theta)
    assert right.ok, right.text
    assert found.ok, found.text
    ny = len(ours.configuration.outputs)
    root = np.sqrt(right.Y[:, ny : 2 * ny])
    scale = np.hstack([root, root**2, root, root**2])
    assert np.abs((found.Y - right.Y) / scale).max() < to
    size = np.abs(right.YS / scale[:, :, None]).max(axis=(0, 1))
    off = np.abs((found.YS - right.YS) / scale[:, :, None]).max(axis=(0, 1))
    assert (off < to * size).all(), off / size


def room_data(n: int = 60) -> tuple[Experiment, dict[str, Series]]:
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(200, 900, n))
    Ta, Q = 5 + 5 * np.sin(t / 2e4), 1000.0 * (rng.random(n) > 0.5)
    T = 20 + np.cumsum(rng.normal(size=n)) * 0.1
    q = (T - Ta) / 0.01 + 20 * rng.normal(size=n)
    T[rng.random(n) < 0.3] = np.nan
    there = np.isfinite(T)
    experiment = Experiment(
        t, {"Ta": (t, Ta), "Q": {"time": t, "value": Q}}, {"s": 0.003, "sm": 0.1}, {},
        wrt=["R", "C", "s", "sm", "T"], begin=float(t[0]) - 300, options=TIGHT,
    )  # fmt: skip
    return experiment, {"T": Series(t[there], T[there]), "q": Series(t[::2], q[::2])}


ROOM_NOISE = FilterNoise(
    (("T", "s*(1 + Q/1000)"),), (("T", "0.5"),), (("T", "sm"), ("q", "20 + 1e-3*Ta"))
)
ROOM_THETA = np.array([0.011, 1.1e5, 0.004, 0.12, 19.0])


def test_a_function_is_filtered_as_the_same_equations_are() -> None:
    """Two outputs with stamps of their own, values missing, noise that goes with an input."""
    exact, ours = both(es.load_model(ROOM), room_model(), ROOM_NOISE, *room_data())
    compare(exact, ours, ROOM_THETA, 2e-6)
    assert ours.derivatives.startswith("filter by differences: slopes by the states off by about")
    assert ours.precision < 1e-6


def test_states_predictions_and_draws_of_a_function_are_those_of_its_equations() -> None:
    exact, ours = both(es.load_model(ROOM), room_model(), ROOM_NOISE, *room_data(40))
    right, found = smoothed_states(exact, ROOM_THETA), smoothed_states(ours, ROOM_THETA)
    np.testing.assert_array_equal(found.times, right.times)
    for name in ("predicted", "filtered", "smoothed", "added"):
        one, other = getattr(found, name), getattr(right, name)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-6)
        np.testing.assert_allclose(one.deviation, other.deviation, atol=1e-6)
    np.testing.assert_allclose(found.expected, right.expected, rtol=1e-6, atol=1e-12)
    one, other = predictions_ahead(ours, 3, ROOM_THETA), predictions_ahead(exact, 3, ROOM_THETA)
    np.testing.assert_allclose(one.outputs, other.outputs, rtol=1e-6)
    np.testing.assert_allclose(one.variances, other.variances, rtol=1e-5)
    np.testing.assert_allclose(one.sure, other.sure, rtol=1e-5, atol=1e-9)
    eps = np.random.default_rng(1).standard_normal((len(ours.times), 2))
    drawn = simulated_series(ours, 0, ROOM_THETA, eps)
    np.testing.assert_allclose(drawn, simulated_series(exact, 0, ROOM_THETA, eps), rtol=1e-6)
    path = simulated_path(ours, 1, ROOM_THETA)
    assert path.states.shape == (len(ours.times), 1)
    assert np.isfinite(path.measured).all()


def test_paths_scatter_as_the_covariance_says() -> None:
    """400 courses: their standard deviation at the end within four of its own errors."""
    experiment, series = room_data(8)
    noise = FilterNoise((("T", "s"),), (("T", "0.5"),), (("T", "sm"),))
    ours = filtered(room_model(), noise).respond(experiment, {"T": series["T"]})
    rng = np.random.default_rng(5)
    ends = np.array([simulated_path(ours, rng, ROOM_THETA).states[-1, 0] for _ in range(400)])
    empty = Series(series["T"].time, np.full(len(series["T"].time), np.nan))
    blind = filtered(es.load_model(ROOM), noise).respond(experiment, {"T": empty}, True)
    mean, variance = blind.at(ROOM_THETA).Y[-1, 4:6]
    assert abs(ends.mean() - mean) < 4 * np.sqrt(variance / 400)
    assert ends.std() == pytest.approx(np.sqrt(variance), rel=4 / np.sqrt(800))


def test_a_function_that_is_not_linear_is_filtered_as_the_same_equations_are() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(40) * 5.0
    q = 0.02 + 0.01 * (np.floor(t / 40) % 2)
    g = 0.6 + 0.02 * np.cumsum(rng.normal(size=40))
    noise = FilterNoise((("h", "s"), ("g", "0.002")), (("h", "0.1"),), (("g", "0.01"),))
    experiment = Experiment(
        t, {"q": (t, q)}, {"s": 0.005}, {}, wrt=["a", "b", "s", "g0"], options=TIGHT
    )
    function = es.function_model(
        tanks, inputs=["q"], outputs=["h", "g"], states={"h": "h0", "g": "g0"}
    )
    exact, ours = both(es.load_model(TANKS), function, noise, experiment, {"g": Series(t, g)})
    compare(exact, ours, np.array([0.022, 0.011, 0.004, 0.55]), 5e-6)


@needs_compiler
@pytest.mark.parametrize(("fmi", "interface"), [(2, "me"), (3, "me"), (2, "cs")])
def test_an_fmu_is_filtered_as_the_model_that_it_was_made_of(fmi: int, interface: str) -> None:
    pytest.importorskip("fmpy")
    rng = np.random.default_rng(1)
    t = np.arange(25) * 900.0
    inputs = {
        "T_out": {"time": t, "value": 278 + 5 * np.sin(t / 2e4), "hold": "linear"},
        "P_heat": (t, 2000.0 * (np.floor(t / 3600) % 2)),
        "sun": 100.0,
    }
    a = 293 + np.cumsum(rng.normal(size=25)) * 0.1
    b = 288 + np.cumsum(rng.normal(size=25)) * 0.05
    noise = FilterNoise(
        (("air.T", "s1"), ("wall.T", "0.002")), (("wall.T", "0.5"),),
        (("T_room", "sm"), ("T_wall", "0.1")),
    )  # fmt: skip
    # inputs of Co-Simulation are held over a communication step, of second order for ramps
    steps = {"communication_step": 30.0} if interface == "cs" else {}
    experiment = Experiment(
        t, inputs, {"s1": 0.003, "sm": 0.1}, {}, wrt=["wall.R", "s1", "sm", "air.T"], options=TIGHT
    )
    exact, ours = both(
        es.load_model(str(HERE / "rcThermal.mo")),
        es.load_model(built("rcThermal", fmi=fmi), interface=interface, **steps),  # type: ignore[arg-type]
        noise,
        experiment,
        {"T_room": Series(t, a), "T_wall": Series(t[::3], b[::3])},
    )
    compare(exact, ours, np.array([4.2e-3, 0.004, 0.12, 292.5]), 1e-6)


def test_rules_have_their_order_and_positive_weights() -> None:
    """∫ exp(-3 s) over [0, 1], of which the rule with s moves has order 2 s."""
    right = (1 - np.exp(-3.0)) / 3
    for moves in range(1, 9):
        nodes, weights = lobatto(moves)
        assert (weights > 0).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
        for power in range(2 * moves):  # exact up to the degree 2 s - 1
            assert weights @ nodes**power == pytest.approx(1 / (power + 1), abs=1e-13)
        errors = []
        for parts in (2, 4):
            found = spans(0.0, 1.0, parts, moves)
            errors.append(abs(sum(s.weights @ np.exp(-3 * s.nodes) for s in found) - right))
        if errors[1] > 1e-13:
            assert np.log2(errors[0] / errors[1]) == pytest.approx(2 * moves, abs=0.2)
    np.testing.assert_allclose(lobatto(2)[1], np.array([1, 4, 1]) / 6, rtol=1e-14)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 7, 10])
def test_rules_on_communication_points_are_exact_for_parabolas(steps: int) -> None:
    for parts in (1, 2, 3):
        found = spans_on_grid(2.0, 5.0, parts, steps)
        assert found[0].nodes[0] == 2.0
        assert found[-1].nodes[-1] == 5.0
        for one in found:
            assert (one.weights >= -1e-15).all()
            places = (one.nodes - 2) * steps / 3
            np.testing.assert_allclose(places, np.rint(places), atol=1e-9)
        if all(len(one.nodes) == 3 for one in found):
            value = sum(one.weights @ one.nodes**2 for one in found)
            assert value == pytest.approx((125 - 8) / 3)


def refused(model: Model, **more: object) -> str:
    experiment, series = room_data(10)
    settings: dict[str, object] = {
        "diffusion": (("T", "s"),),
        "spread": (),
        "sigmas": (("T", "sm"),),
        **more,
    }
    noise = FilterNoise(**settings)  # type: ignore[arg-type]
    try:
        filtered(model, noise).respond(experiment, {"T": series["T"]}).at(ROOM_THETA)
    except ModelError as error:
        return str(error)
    return "nothing is refused"


def forgetful(u, t, p):  # type: ignore[no-untyped-def]
    """Remembers more than its state: how often it has been called on."""
    T, q = room(u, t, p)
    return T + 0.05 * np.arange(len(t)), q


def shifted(u, t, p):  # type: ignore[no-untyped-def]
    T, q = room(u, t, p)
    return T + 1, q


@pytest.mark.parametrize(
    ("model", "more", "told"),
    [
        (lambda: room_model(states=None), {}, "M243: .*name its states, function_model"),
        (room_model, {"diffusion": (("Tt", "s"),)}, "M240: .*'Tt' is not a state.*mean 'T'"),
        (room_model, {"kind": "unscented"}, 'M247: kind = "unscented" .*kind = "extended"'),
        (room_model, {"stationary": True}, "M247: start_spread .*start_spread = { T = … }"),
        (room_model, {"sigmas": (("T", "0.1*x"),)}, "M244: sigma of output 'T': .*'x'"),
    ],
)
def test_what_cannot_be_followed_is_refused(model, more, told) -> None:  # type: ignore[no-untyped-def]
    assert re.match(told, refused(model(), **more)), refused(model(), **more)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (shifted, "M245: 'shifted' gives 20 for state 'T' at the first time, where 'T0' is 19"),
        (forgetful, "M246: the states T do not hold all of the model's past"),
    ],
)
def test_functions_whose_state_is_not_what_they_say_are_refused(function, told) -> None:  # type: ignore[no-untyped-def]
    values = {"R": 0.01, "C": 1e5, "T0": 20.0}
    model = es.function_model(function, values, ["Ta", "Q"], ["T", "q"], states={"T": "T0"})
    assert refused(model).startswith(told)


@needs_compiler
def test_an_fmu_that_remembers_more_than_its_states_is_refused() -> None:
    """A heater whose switch has a memory: begun anew it starts with its first pulse."""
    pytest.importorskip("fmpy")
    t = np.arange(0, 20, 0.5)
    noise = FilterNoise((("T", "0.1"),), (), (("T_out", "0.1"),))
    model = es.load_model(built("pulsed", fmi=2))
    response = filtered(model, noise).respond(
        Experiment(t, {}, {}, {}, wrt=["K"]), {"T_out": Series(t, np.zeros(len(t)))}
    )
    with pytest.raises(ModelError, match=r"M246: .* begun anew at .*use criterion 'ml'"):
        response.at(np.array([10.0]))


def fragile(u, t, p):  # type: ignore[no-untyped-def]
    if p["T0"] > 25:
        raise ValueError("too hot")
    return room(u, t, p)


def test_a_run_that_fails_is_told_with_its_place_and_its_parameters() -> None:
    values = {"R": 0.01, "C": 1e5, "T0": 20.0}
    model = es.function_model(fragile, values, ["Ta", "Q"], ["T", "q"], states={"T": "T0"})
    experiment, series = room_data(10)
    noise = FilterNoise((("T", "s"),), (), (("T", "sm"),))
    response = filtered(model, noise).respond(experiment, {"T": series["T"]})
    assert response.at(ROOM_THETA).ok
    run = response.at(np.array([0.011, 1.1e5, 0.004, 0.12, 30.0]))
    assert not run.ok
    assert run.text.startswith("fragile raised ValueError: too hot between ")
    assert "R = 0.011" in run.text
    assert "T0 = 30" in run.text


def test_a_function_that_needs_two_times_is_given_two() -> None:
    def impatient(u, t, p):  # type: ignore[no-untyped-def]
        assert len(t) > 1
        return room(u, t, p)

    values = {"R": 0.01, "C": 1e5, "T0": 20.0}
    model = es.function_model(impatient, values, ["Ta", "Q"], ["T", "q"], states={"T": "T0"})
    experiment, series = room_data(12)
    plain = filtered(room_model(), ROOM_NOISE).respond(experiment, series)
    ours = filtered(model, ROOM_NOISE).respond(experiment, series)
    np.testing.assert_allclose(ours.at(ROOM_THETA).Y, plain.at(ROOM_THETA).Y, rtol=1e-12)


def test_only_models_without_equations_go_by_differences() -> None:
    assert isinstance(filtered(room_model(), ROOM_NOISE), DifferenceFilter)
    assert not isinstance(filtered(es.load_model(ROOM), ROOM_NOISE), DifferenceFilter)
