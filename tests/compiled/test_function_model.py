"""Function models: how a function is called, how it is derived, and what goes wrong with it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import estimica as es
from estimica.simulate.function.derivatives import CentralDifferences
from estimica.simulate.function.model import FunctionModel, function_model_of_file

T = np.arange(300) * 0.1
U = np.where(np.mod(T + 1e-9, 8.0) < 4.0, 1.0, -1.0)
START = {"K": 1.5, "tau": 3.0}
Array = np.ndarray


def exact() -> Any:
    model = es.transfer_function("K/(1 + tau*s)", parameters=START)
    return model.response(T, {"u": (T, U)}, wrt=["K", "tau"]).at()


def by_filter(u: Array, t: Array, p: Array) -> Array:
    decay = np.exp(-(t[1] - t[0]) / p[1])
    return lfilter([0, p[0] * (1 - decay)], [1, -decay], u)


def by_name(u: Array, t: Array, p: Array) -> Array:
    return by_filter(u, t, np.array([p["K"], p["tau"]]))


def by_unpacking(u: Array, t: Array, p: Array) -> Array:
    K, tau = p
    return by_filter(u, t, [K, tau])


def by_mapping(u: Array, t: Array, p: Mapping[str, float]) -> Array:
    values = dict(p.items())
    return by_filter(u, t, [values["K"], values["tau"]])


def by_arguments(u: Array, t: Array, K: float = 1.5, tau: float = 3.0) -> Array:
    return by_filter(u, t, [K, tau])


def by_keywords(u: Array, t: Array, **p: float) -> Array:
    return by_filter(u, t, [p["K"], p["tau"]])


def by_loop(u: Array, t: Array, p: Array) -> list[Any]:
    """Plain arithmetic, which symbols go through."""
    x, y = 0.0, []
    for k in range(len(t)):
        y.append(x)
        if k + 1 < len(t):
            decay = np.exp(-(t[k + 1] - t[k]) / p["tau"])
            x = decay * x + p["K"] * (1 - decay) * u[k]
    return y


def by_rounding(u: Array, t: Array, p: Array) -> Array:
    """Noise, as that of an adaptive solver, but the same on every machine."""
    return np.round(by_filter(u, t, p), 6)


# --- calling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [by_filter, by_name, by_unpacking, by_mapping, by_keywords])
def test_parameters_are_taken_in_every_usual_way(f: Any) -> None:
    model = es.function_model(f, START)
    run = model.response(T, {"u": (T, U)}, wrt=["K", "tau"]).at()
    assert run.ok
    np.testing.assert_allclose(run.Y, exact().Y, atol=1e-12)
    np.testing.assert_allclose(run.YS, exact().YS, atol=1e-9)
    assert model.derivatives.startswith("by differences, off by about ")
    assert model.precision is not None
    assert model.precision < 1e-9


def test_arguments_of_their_own_bring_their_values() -> None:
    for model in (es.function_model(by_arguments), es.load_model(by_arguments)):
        assert model.values == START
        assert model.name == "by_arguments"
        found = model.simulate(T, {"u": (T, U)})
        np.testing.assert_allclose(found.value("y"), exact().Y[:, 0], atol=1e-12)


def test_the_first_argument_names_the_input() -> None:
    def divider(voltage: Array, t: Array, R: float) -> Array:
        return voltage / R

    model = es.function_model(divider, ["R"])
    assert model.input_names == ("voltage",)
    assert list(model.parameters["value"]) == [None]
    assert model.simulate([0.0, 1.0], {"voltage": 3.0}, {"R": 2.0}).value("y").tolist() == [
        1.5,
        1.5,
    ]


def test_several_inputs_and_outputs_are_columns() -> None:
    def both(u: Array, t: Array, p: Array) -> Array:
        assert u.shape == (3, 2)
        return np.column_stack([p["a"] * u[:, 0], u[:, 1] * p["a"] ** 2 + t])

    def pair(u: Array, t: Array, p: Array) -> tuple[Array, Array]:
        return p["a"] * u[:, 0], u[:, 1] * p["a"] ** 2 + t

    t = np.array([0.0, 1.0, 2.0])
    for f in (both, pair):
        model = es.function_model(f, {"a": 3.0}, inputs=["v", "w"], outputs=["x", "z"])
        run = model.response(t, {"v": (t, t), "w": 2.0}, wrt=["a"], outputs=["z", "x"]).at()
        assert run.ok, run.text
        np.testing.assert_allclose(run.Y, np.column_stack([18 + t, 3 * t]))
        np.testing.assert_allclose(run.YS[:, :, 0], np.column_stack([12 + 0 * t, t]), atol=1e-9)


def test_a_function_without_inputs_sees_the_times() -> None:
    def decay(u: Array, t: Array, p: Array) -> Array:
        assert u.shape == (len(t), 0)
        return p[0] * np.exp(-t)

    model = es.function_model(decay, {"a": 2.0}, inputs=[])
    np.testing.assert_allclose(model.simulate([0.0, 1.0]).value("y"), 2 * np.exp([-0.0, -1.0]))


def test_the_function_sees_all_stamps_of_the_inputs_whatever_is_sampled() -> None:
    model = es.function_model(by_filter, START)
    few = T[[7, 50, 51, 200]]
    found = model.simulate(few, {"u": (T, U)}, begin=0.0)
    np.testing.assert_allclose(found.value("y"), exact().Y[[7, 50, 51, 200], 0], atol=1e-12)


def test_a_function_may_change_what_it_was_given() -> None:
    def rude(u: Array, t: Array, p: Array) -> Array:
        u *= p[0]
        t += 1
        return u

    model = es.function_model(rude, {"a": 2.0})
    response = model.response(T, {"u": (T, U)}, wrt=["a"])
    np.testing.assert_array_equal(response.at().Y[:, 0], 2 * U)
    np.testing.assert_array_equal(response.at().Y[:, 0], 2 * U)


# --- deriving ------------------------------------------------------------------------------------


def test_casadi_goes_through_plain_arithmetic_and_gives_exact_derivatives() -> None:
    model = es.function_model(by_loop, START)
    assert model.derivatives == "not yet needed"
    run = model.response(T, {"u": (T, U)}, wrt=["K", "tau"]).at()
    assert model.derivatives == "exact, by CasADi"
    np.testing.assert_allclose(run.Y, exact().Y, atol=1e-12)
    np.testing.assert_allclose(run.YS, exact().YS, atol=1e-12)


def test_casadi_goes_through_array_arithmetic_of_several_outputs() -> None:
    def f(u: Array, t: Array, p: Array) -> tuple[Array, Array]:
        return p["a"] * np.exp(-t / p["b"]) + u, np.sin(p["b"] * t)

    model = es.function_model(f, {"a": 2.0, "b": 0.5}, outputs=["x", "z"])
    run = model.response(T, {"u": (T, U)}, wrt=["b", "a"]).at()
    assert model.derivatives == "exact, by CasADi"
    decay = np.exp(-T / 0.5)
    np.testing.assert_allclose(run.YS[:, 0, 0], 2 * T / 0.25 * decay, atol=1e-12)
    np.testing.assert_allclose(run.YS[:, 0, 1], decay, atol=1e-12)
    np.testing.assert_allclose(run.YS[:, 1, 0], T * np.cos(0.5 * T), atol=1e-12)
    assert not run.YS[:, 1, 1].any()


def test_jax_goes_through_functions_of_jax() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def scanned(u: Array, t: Array, p: Any) -> Any:
        decay = jnp.exp(-(t[1] - t[0]) / p["tau"])
        return jax.lax.scan(lambda x, now: (decay * x + p["K"] * (1 - decay) * now, x), 0.0, jnp.asarray(u))[1]  # fmt: skip

    def vectorial(u: Array, t: Array, p: Any) -> Any:
        return jnp.outer(jnp.asarray(t), p * 2).sum(axis=1)

    model = es.function_model(scanned, START)
    run = model.response(T, {"u": (T, U)}, wrt=["K", "tau"]).at()
    assert model.derivatives == "exact, by JAX"
    np.testing.assert_allclose(run.Y, exact().Y, atol=1e-12)  # single precision would show
    np.testing.assert_allclose(run.YS, exact().YS, atol=1e-12)
    model = es.function_model(vectorial, {"a": 1.0, "b": 2.0})
    run = model.response(T, {"u": 0.0}, wrt=["b"]).at()
    assert model.derivatives == "exact, by JAX"
    np.testing.assert_allclose(run.YS[:, 0, 0], 2 * T, atol=1e-13)


def test_loops_that_jax_would_compile_for_minutes_are_left_to_casadi() -> None:
    pytest.importorskip("jax")

    def long(u: Array, t: Array, p: Any) -> Any:
        x, y = 0.0, []
        for now in u:
            x = x + 0.1 * (p[0] * now - x) / p[1]
            y.append(x)
        return y

    model = es.function_model(long, START)
    assert model.response(T, {"u": (T, U)}, wrt=["tau"]).at().ok
    assert model.derivatives == "exact, by CasADi"


def test_a_trace_that_does_not_tell_the_truth_is_not_used() -> None:
    def two_faced(u: Array, t: Array, p: Any) -> Any:
        if isinstance(p[0], float):
            return p[0] ** 2 * t
        return p[0] * 1.0 * t  # the same value at 1, another derivative

    model = es.function_model(two_faced, {"a": 1.0})
    run = model.response(T, wrt=["a"]).at()
    assert model.derivatives.startswith("by differences")
    np.testing.assert_allclose(run.YS[:, 0, 0], 2 * T, atol=1e-8)


def test_differences_can_be_asked_for() -> None:
    model = es.function_model(by_loop, START, derivatives="differences")
    run = model.response(T, {"u": (T, U)}, wrt=["tau", "K"]).at()
    assert model.derivatives.startswith("by differences")
    np.testing.assert_allclose(run.YS[:, :, ::-1], exact().YS, atol=1e-9)


def test_steps_fit_the_noise_of_a_function() -> None:
    model = es.function_model(by_rounding, START)
    run = model.response(T, {"u": (T, U)}, wrt=["K", "tau"]).at()
    assert model.derivatives.startswith("by differences")
    assert model.precision is not None
    off = np.linalg.norm(run.YS - exact().YS, axis=0) / np.linalg.norm(exact().YS, axis=0)
    assert off.max() < 2 * model.precision
    assert 1e-8 < model.precision < 1e-4


@pytest.mark.parametrize("noise", [0.0, 1e-10, 1e-6, 1e-4])
def test_differences_know_their_own_error(noise: float) -> None:
    random = np.random.default_rng(7)

    def call(values: Array) -> Array:
        y = np.exp(values[0] * np.linspace(0, 1, 50)) + 1e3 * values[1]
        return (y + noise * random.standard_normal(50))[:, None]

    values = np.array([1.3, 0.0])
    stepped = CentralDifferences.at_start(call, (0, 1), np.array([1.3, 1e-3]), values)
    assert isinstance(stepped, CentralDifferences)
    x = np.linspace(0, 1, 50)
    found = stepped.at(values)[:, 0]
    truth = np.column_stack([x * np.exp(1.3 * x), np.full(50, 1e3)])
    off = np.linalg.norm(found - truth, axis=0) / np.linalg.norm(truth, axis=0)
    assert off.max() < max(20 * stepped.error, 1e-10)
    assert stepped.error < max(300 * noise, 1e-9)


def test_a_step_out_of_the_domain_is_shortened() -> None:
    def root(u: Array, t: Array, p: Array) -> Array:
        return np.array([math.sqrt(p[0] - 1.0)] * len(t))  # raises below 1

    model = es.function_model(root, {"a": 2.0})
    response = model.response([0.0, 1.0], wrt=["a"])
    assert response.at().ok
    near = response.at(np.array([1.001]))
    assert near.ok
    np.testing.assert_allclose(near.YS[:, 0, 0], 0.5 / math.sqrt(0.001), rtol=1e-3)


# --- failing -------------------------------------------------------------------------------------


def failing(u: Array, t: Array, p: Array) -> Any:
    match int(p[0]):
        case 0:
            return p[0] * t
        case 1:
            raise ValueError("no such thing")
        case 2:
            return np.where(t == 1.0, np.nan, t)
        case 3:
            return t[:2]
        case 4:
            return np.zeros((2, len(t), 2))
        case 5:
            return t * 1j
        case 6:
            return None
        case 7:
            return p["b"] * t
        case 8:
            return "text"
        case _:
            return t / 0.0


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (1, "failing raised ValueError: no such thing, with a = 1"),
        (2, "failing gave nan for 'y' at time 1, with a = 2"),
        (3, "failing returned shape (2,), not (3,), with a = 3"),
        (4, "failing returned shape (2, 3, 2), not (3,), with a = 4"),
        (5, "failing returned ndarray of complex128, not real numbers, with a = 5"),
        (6, "failing returned NoneType of object, not real numbers, with a = 6"),
        (7, "failing raised KeyError: \"no parameter 'b'\", with a = 7"),
        (8, "failing returned str of <U4, not real numbers, with a = 8"),
        (9, "failing gave nan for 'y' at time 0, with a = 9"),
    ],
)
def test_what_a_function_does_wrong_is_a_failed_evaluation(case: int, message: str) -> None:
    response = es.function_model(failing, {"a": 0.0}).response([0.0, 1.0, 2.0], wrt=["a"])
    run = response.at(np.array([float(case)]))
    assert not run.ok
    assert run.text == message
    assert run.Y.shape == (3, 1)
    assert run.YS.shape == (3, 1, 1)
    assert response.at(np.array([0.3])).ok


def test_a_transposed_result_is_recognised() -> None:
    model = es.function_model(lambda u, t, p: np.zeros((2, len(t))), ["a"], outputs=["x", "y"])
    run = model.response([0.0, 1.0, 2.0], wrt=["a"]).at(np.ones(1))
    assert run.text == "<lambda> returned shape (2, 3), not (3, 2); transpose it, with a = 1"


def test_a_simulation_raises_what_an_evaluation_tells() -> None:
    with pytest.raises(es.SimulationError, match="R004: 'failing': failing raised ValueError"):
        es.function_model(failing, {"a": 1.0}).simulate([0.0])


def test_wrong_uses_are_told() -> None:
    def g(u: Array, t: Array, K: float, tau: float) -> Array:
        return u

    def h(u: Array) -> Array:
        return u

    with pytest.raises(es.ModelError, match="M131: 'h' takes 1 arguments; a model is a function"):
        es.function_model(h, {"K": 1.0})
    with pytest.raises(es.ModelError, match="M132: 'g' takes no parameter 'T'"):
        es.function_model(g, {"K": 1.0, "T": 2.0})
    with pytest.raises(es.ModelError, match="M133: 'g' needs 'tau'; give it in parameters="):
        es.function_model(g, {"K": 1.0})
    with pytest.raises(es.ModelError, match="M134: 3 is not a function"):
        es.function_model(3)  # type: ignore[arg-type]
    with pytest.raises(es.ModelError, match="M135: 'by_filter': which parameters are there"):
        es.function_model(by_filter)
    with pytest.raises(es.ModelError, match="M136: derivatives 'magic' is none of auto, jax"):
        es.function_model(by_filter, START, derivatives="magic")  # type: ignore[arg-type]
    model = es.function_model(by_filter, {"K": 1.0, "tau": 2.0})
    with pytest.raises(es.ModelError, match="M137: a function has no state 'x'; leave start= out"):
        model.response([0.0], start={"x": 1.0})
    with pytest.raises(es.ModelError, match="M116: 'by_filter' has no parameter 'k'"):
        model.response([0.0], wrt=["k"])
    with pytest.raises(es.ModelError, match="M124: parameter 'b' of 'by_filter' has no value"):
        es.function_model(by_filter, ["b"]).response([0.0])
    with pytest.raises(es.ModelError, match="M122: the name 'y' is used twice"):
        es.function_model(by_filter, {"y": 1.0})
    with pytest.raises(es.ModelError, match="M119: 'K': nan is not finite"):
        es.function_model(by_filter, {"K": math.nan})


# --- files and travel ----------------------------------------------------------------------------


FILE = '''
from helper import twice
inputs = ["force"]
outputs = "speed"

def _unused(x):
    return x

def cart(u, t, m=2.0, d=0.5):
    """A cart with friction."""
    return twice(u) * t / m - d
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cart.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "helper.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    return tmp_path


def test_a_file_declares_its_model_and_brings_its_neighbours(folder: Path) -> None:
    for source in ("cart.py:cart", "cart.py"):
        model = function_model_of_file(source, folder, {"m": 4.0})
        assert (model.name, model.description) == ("cart", "A cart with friction.")
        assert model.input_names == ("force",)
        assert model.output_names() == ("speed",)
        assert model.values == {"m": 4.0, "d": 0.5}
        found = model.simulate([0.0, 1.0], {"force": 3.0}).value("speed")
        np.testing.assert_allclose(found, [-0.5, 1.0])


def test_a_function_of_a_file_travels_with_its_text(folder: Path) -> None:
    model = function_model_of_file("cart.py", folder)
    content = pickle.dumps(model)
    (folder / "cart.py").unlink()
    other = pickle.loads(content)
    assert other.simulate([2.0], {"force": 3.0}).value("speed")[0] == 5.5
    mine = es.function_model(by_filter, START)
    again = pickle.loads(pickle.dumps(mine))
    assert isinstance(again, FunctionModel)
    assert repr(again) == "<Function model by_filter: u to y, parameters K, tau>"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("crat.py:cart", "M140: there is no file '.*crat.py'; did you mean 'cart.py'"),
        ("cart.py:crat", "M141: 'cart.py' has no function 'crat'; did you mean 'cart'"),
        (
            "several.py",
            r"M141: 'several.py' holds several functions or none; write several.py:function \(there are a, b\)",
        ),
        ("broken.py", "M142: 'broken.py', line 2: "),
        ("raising.py", "M142: 'raising.py' raised ZeroDivisionError while it was read: division"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(folder: Path, source: str, message: str) -> None:
    (folder / "several.py").write_text("def a(u, t, p): ...\ndef b(u, t, p): ...\n")
    (folder / "broken.py").write_text("x = 1\ndef a(:\n")
    (folder / "raising.py").write_text("1 / 0\n")
    with pytest.raises(es.ModelError, match=message):
        function_model_of_file(source, folder)


def test_fix_names_parameters_only(folder: Path) -> None:
    with pytest.raises(es.ModelError, match="M116: 'cart' has no parameter 'M'; did you mean 'm'"):
        function_model_of_file("cart.py", folder, {"M": 1.0})
