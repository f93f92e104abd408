"""Many members of one model: every backend against the scalar engine, and whoever leaves a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.simulate.test_kept_functions import tank

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.simulate.engine.options import Options
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import (
    NO_START,
    EnsembleRun,
    Measured,
    normal_equations,
)
from estimica.simulate.load import load_model
from estimica.simulate.response import Response

ROOT = Path(__file__).parents[2]
RTOL = 1e-6
MEMBERS = 11  # a whole group of eight and a part of one

TEXTS = {
    "Mixed": """model Mixed
  parameter Real a = 0.7; parameter Real b = 1.3; parameter Real c = 2.2;
  Real x(start = 0.4, fixed = true); Real v(start = c/4, fixed = true);
  output Real y; output Real z;
equation
  der(x) = v*exp(-a*x*x) - 0.3*tanh(3*x);
  der(v) = sin(b*time) - (1 + x*x)^c + abs(x + 9) - 8 - noEvent(if x > 0.2 then a*(x - 0.2)^4 else 0);
  y = x + atan2(v, 2 + x); z = sqrt(1 + v*v) + log(1 + b*b);
end Mixed;""",
    "Blow": """model Blow
  parameter Real a = 0.5; Real x(start = 1, fixed = true); output Real y = x;
equation der(x) = a*x*x; end Blow;""",
    "Lag": """model Lag
  parameter Real k = 1; Real x(start = 0, fixed = true); output Real y = x;
equation der(x) = k*(cos(time) - x); end Lag;""",
    "Swing": """model Swing
  parameter Real w = 1; Real x(start = 1, fixed = true); Real v(start = 0, fixed = true);
  output Real y = x;
equation der(x) = w*v; der(v) = -w*x; end Swing;""",
    "Rest": """model Rest
  parameter Real a = 2; parameter Real b = 0.5; input Real u; Real x; output Real y = x*x;
initial equation der(x) = 0;
equation der(x) = u + a - sqrt(x) - b*x; end Rest;""",
    "Checked": """model Checked
  parameter Real a = 1; Real x(start = 1, fixed = true); output Real y = x;
equation der(x) = -a*x; assert(x > 0.2, "too small"); end Checked;""",
    "Late": """model Late
  parameter Real a = 1; Real x(start = 1, fixed = true); output Real y = x;
equation der(x) = -a*delay(x, 0.1); end Late;""",
}
#: times that a model is sampled at, its inputs, tuners, outputs
EXPERIMENTS: dict[str, tuple[Vector, dict[str, object], list[str], list[str]]] = {
    "Mixed": (np.linspace(0, 8, 41), {}, ["a", "b", "c"], ["y", "z"]),
    "Blow": (np.linspace(0, 1, 11), {}, ["a"], ["y"]),
    "Lag": (np.linspace(0, 6, 31), {}, ["k"], ["y"]),
    "Swing": (np.linspace(0, 12, 25), {}, ["w"], ["y"]),
    "Rest": (np.linspace(0, 3, 16), {"u": ([0.0, 1.0], [0.0, 1.0])}, ["a", "b"], ["y"]),
    "Checked": (np.linspace(0, 1, 6), {}, ["a"], ["y"]),
    "Late": (np.linspace(0, 1, 6), {}, ["a"], ["y"]),
}


@pytest.fixture(scope="module")
def text_response(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Response]:
    """A response of one of the models above."""
    folder = tmp_path_factory.mktemp("models")

    def respond(name: str, tuned: bool = True, **options: object) -> Response:
        file = folder / f"{name}.mo"
        file.write_text(TEXTS[name])
        times, inputs, wrt, outputs = EXPERIMENTS[name]
        return load_model(file).response(
            times,
            inputs,
            outputs=outputs,
            wrt=wrt if tuned else [],
            options=Options(rtol=RTOL, **options),
        )

    return respond


def boiler(tuned: bool = True) -> Response:
    """The drum boiler over a hundred samples."""
    rng, grid = np.random.default_rng(0), 2.0 * np.arange(100)
    inputs = {
        n: (grid[::10], rng.uniform(low, high, 10))
        for n, low, high in (("uc", 0.5, 0.9), ("fc", 15, 35))
    }
    wrt = ["T_D", "T_R", "A4", "w_E", "w_P", "x10", "x20"]
    model = load_model(ROOT / "src/estimica/apps/cli/demo/DrumBoiler.mo")
    return model.response(
        grid + 1, inputs, outputs=["E", "P"], wrt=wrt if tuned else [], options=Options(rtol=RTOL)
    )


def four_states(tuned: bool = True) -> Response:
    """Four states and twelve tuners."""
    wrt = [*["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40"]]
    inputs = {"u1": ([0.0, 5.0], [0.0, 1.0]), "u2": ([0.0, 25.0], [0.0, 1.0])}
    return load_model(ROOT / "examples/FourStates.mo").response(
        np.linspace(0.2, 40, 60),
        inputs,
        outputs=["x1", "x2", "x3", "x4"],
        wrt=wrt if tuned else [],
        begin=0.0,
        options=Options(rtol=RTOL),
    )


def circuit(tuned: bool = True) -> Response:
    """A circuit whose nonlinear resistor leaves an algebraic unknown."""
    level = np.random.default_rng(2).uniform(-5, 5, 10)
    return load_model(ROOT / "bench/models/ParallelCircuit.mo").response(
        np.linspace(0.1, 15, 50),
        {"u": (1.5 * np.arange(10), level)},
        outputs=["i", "v"],
        wrt=["R1", "R2", "C", "L", "RL", "v0"] if tuned else [],
        begin=0.0,
        options=Options(rtol=RTOL),
    )


def robertson(tuned: bool = True) -> Response:
    """Robertson's stiff reaction."""
    model = load_model(ROOT / "examples/Robertson.mo")
    states, wrt = list(model.system.states), ["k1", "k2", "k3"]
    return model.response(
        np.logspace(-3, 6, 25),
        {},
        outputs=states,
        wrt=wrt if tuned else [],
        begin=0.0,
        options=Options(rtol=RTOL, atol=(1e-13,) * len(states)),
    )


@cache
def pair_of(make: Callable[[], Response]) -> tuple[Response, Vector, EnsembleRun]:
    """A response, members around its tuners, and what the scalar engine makes of them."""
    response = make()
    thetas = scattered(response, MEMBERS)
    return response, thetas, Ensemble(response, "scalar").at(thetas)


def scattered(response: Response, members: int) -> Vector:
    """Members within some percent of a response's tuners."""
    noise = np.random.default_rng(1).standard_normal((members, len(response.tuners)))
    thetas: Vector = response.tuners * (1 + 0.03 * noise)
    return thetas


def assert_agree(run: EnsembleRun, known: EnsembleRun, factor: float = 10.0) -> None:
    """Within ten tolerances of the largest value that an output, or a derivative of it, has."""
    assert np.array_equal(run.status, known.status)
    for ours, theirs in ((run.Y, known.Y), (run.YS, known.YS)):
        size = np.max(np.nan_to_num(np.abs(theirs)), axis=1, keepdims=True, initial=0.0)
        miss = np.abs(ours - theirs) / np.maximum(size, 1e-300)
        assert np.nanmax(miss, initial=0.0) <= factor * RTOL
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))


MODELS = [boiler, four_states, circuit, robertson]


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("make", MODELS)
def test_members_of_groups_agree_with_the_scalar_engine(
    make: Callable[[], Response], lanes: int
) -> None:
    response, thetas, known = pair_of(make)
    ensemble = Ensemble(response, "vector", lanes=lanes)
    assert (ensemble.backend, ensemble.reason) == ("vector", "")
    run = ensemble.at(thetas)
    assert run.ok.all()
    assert not run.alone.any()
    assert_agree(run, known)


def test_functions_of_vectors_agree_with_plain_ones(
    text_response: Callable[..., Response],
) -> None:
    response = text_response("Mixed")
    thetas = scattered(response, MEMBERS)
    run = Ensemble(response, "vector").at(thetas)
    assert not run.alone.any()
    assert_agree(run, Ensemble(response, "scalar").at(thetas))


def test_functions_that_are_kept_are_called_for_lanes_one_by_one() -> None:
    response = tank().response(np.linspace(0, 1.5, 16), outputs=["x", "y"], wrt=["k", "x"])
    thetas = scattered(response, 5)
    run = Ensemble(response, "vector").at(thetas)
    root = np.sqrt(thetas[:, 1:]) - 0.5 * thetas[:, :1] * response.times
    np.testing.assert_allclose(run.Y[..., 0], root**2, rtol=1e-5)
    np.testing.assert_allclose(run.YS[..., 0, 0], -root * response.times, rtol=1e-4, atol=1e-6)
    assert not run.alone.any()


@pytest.mark.parametrize("make", [boiler, circuit, robertson])
def test_without_tuners_constants_are_moved(make: Callable[..., Response]) -> None:
    response = make(tuned=False)
    values = np.tile(response.values, (6, 1))
    values[:, values[0] != 0] *= np.linspace(0.98, 1.02, 6)[:, None]
    times = response.times[: len(response.times) // 2]
    run = Ensemble(response, "vector").at_values(values, times)
    known = Ensemble(response, "scalar").at_values(values, times)
    assert run.Y.shape == known.Y.shape
    assert run.YS.shape == (*run.Y.shape, 0)
    assert_agree(run, known)
    alone = response.at_values(values[3], times)
    np.testing.assert_array_equal(known.Y[3], alone.Y)


@pytest.mark.parametrize("make", [boiler, four_states])
def test_normal_equations_are_those_of_outputs_and_derivatives(
    make: Callable[[], Response],
) -> None:
    response, thetas, known = pair_of(make)
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.5, 2, known.Y.shape[1:])
    weight[::7, 0] = 0.0
    own = known.Y + 0.1 * rng.standard_normal(known.Y.shape)
    own[:, ::7, 0] = np.nan  # is not looked at
    some = np.where(rng.uniform(size=own.shape) < 0.7, weight, 0.0)  # every member has its own
    some[:, 3] = 0.0
    for value, weights in ((own, weight), (own[:1], weight), (own[:1], some), (own, some)):
        measured = Measured(value, weights)
        ensemble = Ensemble(response, "vector")
        found = ensemble.normal(thetas, measured)
        expected = normal_equations(ensemble.at(thetas), measured)
        assert found.ok.all()
        for name in ("square", "gradient", "information"):
            ours, theirs = getattr(found, name), getattr(expected, name)
            size = np.abs(theirs).max(axis=0, keepdims=True)
            assert np.max(np.abs(ours - theirs) / np.maximum(size, 1e-300)) < 1e-12
        plain = Ensemble(response, "scalar").normal(thetas, measured)
        np.testing.assert_allclose(found.square, plain.square, rtol=1e-4)


@pytest.mark.parametrize("make", [boiler, robertson])
def test_threads_change_no_bit(make: Callable[[], Response]) -> None:
    response = make()
    thetas = scattered(response, 301)
    one, two = (Ensemble(response, "vector", threads=n) for n in (1, 2))
    begun = one.at(thetas[:1]).Y
    shape = begun.shape[1:]
    some = np.random.default_rng(5).integers(0, 2, (301, *shape)).astype(float)
    for weight in (np.ones(shape), some):
        first, second = (e.normal(thetas, Measured(begun, weight)) for e in (one, two))
        assert np.array_equal(first.square, second.square)
        assert np.array_equal(first.information, second.information)
    runs = [e.at(thetas[:140]) for e in (one, two)]
    assert np.array_equal(runs[0].YS, runs[1].YS)
    # what a member's neighbours are is known from its place: whole groups before it change nothing
    assert np.array_equal(one.at(thetas[16:40]).Y, runs[0].Y[16:40])


def test_a_member_that_fails_leaves_and_its_neighbours_go_on(
    text_response: Callable[..., Response],
) -> None:
    response = text_response("Blow")
    a = np.array([0.5, 0.3, 2.0, 0.1, 0.6, np.nan, 0.2, 0.4, 0.7])[:, None]
    run = Ensemble(response, "vector").at(a)
    known = Ensemble(response, "scalar").at(a)
    assert list(np.flatnonzero(~run.ok)) == [2, 5]
    assert run.alone[[2, 5]].all()
    assert not run.alone[[0, 1, 3, 4, 6, 7, 8]].any()
    assert dict(run.failures) == dict(known.failures)
    assert "the step size collapsed" in run.failures[2]
    assert_agree(run, known)
    exact = 1 / (1 - a[run.ok] * response.times)
    np.testing.assert_allclose(run.Y[run.ok, :, 0], exact, rtol=1e-4)
    normal = Ensemble(response, "vector").normal(a, Measured(run.Y[:1], np.ones((11, 1))))
    assert np.isnan(normal.square[[2, 5]]).all()
    assert np.array_equal(normal.status, run.status)
    assert np.isfinite(normal.square[run.ok]).all()


def test_a_member_that_alone_is_stiff_goes_on_alone(
    text_response: Callable[..., Response],
) -> None:
    response = text_response("Lag")
    k = np.array([1.0, 2.0, 1e5, 0.5, 1.5, 0.8, 1.2, 3.0])[:, None]
    run = Ensemble(response, "vector").at(k)
    assert run.ok.all()
    assert list(np.flatnonzero(run.alone)) == [2]
    assert_agree(run, Ensemble(response, "scalar").at(k))


def test_a_member_that_holds_the_others_up_goes_on_alone(
    text_response: Callable[..., Response],
) -> None:
    response = text_response("Swing")
    w = np.array([1.0, 1.1, 0.9, 1.2, 60.0, 1.05, 0.95, 0.8])[:, None]
    run = Ensemble(response, "vector").at(w)
    assert list(np.flatnonzero(run.alone)) == [4]
    np.testing.assert_allclose(run.Y[..., 0], np.cos(w * response.times), atol=1e-3)


def test_stiff_members_are_stiff_together(text_response: Callable[..., Response]) -> None:
    response = text_response("Lag")
    k = np.linspace(1e4, 1e6, 8)[:, None]
    run = Ensemble(response, "vector").at(k)
    assert run.ok.all()
    assert not run.alone.any()
    # on the slow manifold x = k (k cos t + sin t)/(1 + k²), where the start has long been forgotten
    t = response.times[1:]
    exact = k * (k * np.cos(t) + np.sin(t)) / (1 + k**2)
    np.testing.assert_allclose(run.Y[:, 1:, 0], exact, atol=10 * RTOL)


@pytest.mark.parametrize("make", [boiler, robertson])
def test_members_are_no_farther_from_the_truth_than_the_scalar_engine(
    make: Callable[[], Response],
) -> None:
    """A group takes the steps that its worst member needs."""
    response, thetas, known = pair_of(make)
    c, options = response.configuration, response.options
    atol = tuple(1e-4 * np.broadcast_to(options.atol, c.kernel.hybrid.nx))
    tight = replace(options, rtol=1e-11, atol=atol)
    finely = Response(c, response.values, response.pieces, response.times, response.begin, tight)
    truth = Ensemble(finely, "scalar").at(thetas)
    run = Ensemble(response, "vector").at(thetas)
    for name in ("Y", "YS"):
        exact = getattr(truth, name)
        size = np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1e-300)
        ours, theirs = (np.max(np.abs(getattr(r, name) - exact) / size) for r in (run, known))
        assert ours <= max(theirs, RTOL)


def test_an_assertion_takes_a_member_out(text_response: Callable[..., Response]) -> None:
    response = text_response("Checked")
    run = Ensemble(response, "vector").at(np.array([[1.0], [2.0], [0.5], [1.2]]))
    assert list(run.ok) == [True, False, True, True]
    assert "too small" in run.failures[1]
    np.testing.assert_allclose(run.Y[[0, 2, 3], -1, 0], np.exp([-1.0, -0.5, -1.2]), rtol=1e-5)


def test_starts_from_equations(text_response: Callable[..., Response]) -> None:
    response = text_response("Rest")
    thetas = np.array([[2.0, 0.5], [1.5, 0.4], [2.0, np.nan], [2.5, 0.6], [1.0, 1.0]])
    run = Ensemble(response, "vector").at(thetas)
    known = Ensemble(response, "scalar").at(thetas)
    assert run.status[2] == NO_START == known.status[2]
    assert run.failures[2] == known.failures[2]
    assert_agree(run, known)


def test_members_begin_at_the_root_that_the_scalar_engine_takes() -> None:
    """y³ − 3y + a = 0 has three roots where |a| < 2; at a = 3, where the response is set up, it has
    only the one that no member with three of them takes."""
    model = load_model(
        "model Roots parameter Real a = 3; Real y(start = 2); Real x(start = 0, fixed = true); "
        "equation y^3 - 3*y + a = 0*x; der(x) = y - x; end Roots;"
    )
    response = model.response(np.linspace(0, 2, 5), outputs=["x", "y"], wrt=["a"])
    a = np.array([0.0, 0.5, 1.0, 1.5, 1.9, 2.5, 3.0, 4.0])
    run = Ensemble(response, "vector").at(a[:, None])
    largest = [np.roots([1, 0, -3, v]) for v in a]
    expected = [max(r.real[np.abs(r.imag) < 1e-9]) for r in largest]
    np.testing.assert_allclose(run.Y[:, -1, 1], expected, rtol=1e-6)


@pytest.mark.parametrize("backend", ["vector", "scalar", "auto"])
@pytest.mark.parametrize("members", [0, 1, 9])
def test_any_number_of_members(backend: str, members: int) -> None:
    response = boiler()
    thetas = scattered(response, members)
    ensemble = Ensemble(response, backend)
    run = ensemble.at(thetas)
    assert run.YS.shape == (members, 100, 2, 7)
    assert run.ok.all()
    normal = ensemble.normal(thetas, Measured(np.zeros((1, 100, 2)), np.ones((100, 2))))
    assert normal.information.shape == (members, 2, 7, 7)
    np.testing.assert_allclose(normal.square, (run.Y**2).sum(axis=1), rtol=1e-12)
    if members:
        np.testing.assert_allclose(run.Y[-1], response.at(thetas[-1]).Y, rtol=10 * RTOL)


def test_what_cannot_be_grouped_is_run_alone_and_says_why(
    text_response: Callable[..., Response],
) -> None:
    late = text_response("Late")
    ensemble = Ensemble(late, "vector")
    assert ensemble.backend == "scalar"
    assert ensemble.reason == "the model has delays"
    assert ensemble.at(np.ones((5, 1))).alone.all()
    limited = Ensemble(text_response("Lag", max_seconds=5.0))
    assert (limited.backend, limited.reason) == (
        "scalar",
        "max_seconds holds for each member alone",
    )
    steps = Ensemble(text_response("Lag", method="implicit-euler", step=0.1))
    assert steps.reason == "implicit Euler takes one member at a time"


def test_a_backend_that_is_not_known() -> None:
    with pytest.raises(ModelError) as error:
        Ensemble(boiler(), "vectors")
    assert error.value.code == "M067"
    assert error.value.message == (
        "backend 'vectors' is none of auto, scalar, vector, cuda; did you mean 'vector'?"
    )
