"""Simulated experiments against closed forms."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import ExperimentError, SimulationError
from estimica.simulate.formula import formula_model
from estimica.simulate.modelica.model import ModelicaModel

SOURCE = """
model FirstOrder "K/(1 + s*tau)"
  parameter Real K = 1;
  parameter Real tau(unit = "s") = 2;
  input Real u(unit = "V");
  output Real y(unit = "m", start = 0, fixed = true);
  output Real rate(unit = "m/s");
equation
  rate = (K*u - y)/tau;
  der(y) = rate;
end FirstOrder;
"""
GRID = es.signals.times(0.1, 1000)
SQUARE = es.signals.Square(0.05)


@cache
def first_order() -> ModelicaModel:
    return es.load_model(SOURCE, "FirstOrder")


def by_zero_order_hold(u: np.ndarray, step: float, tau: float) -> np.ndarray:
    y = np.zeros(len(u))
    a = np.exp(-step / tau)
    for k in range(len(u) - 1):
        y[k + 1] = a * y[k] + (1 - a) * u[k]
    return y


def test_truth_is_the_response_to_the_held_input_and_noise_has_its_sigma() -> None:
    data = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, noise={"y": 0.02}, outputs=["y"]
    )
    assert data.names == ("time", "u", "y")
    assert data.units == {"time": "s", "u": "V", "y": "m"}
    assert np.allclose(data.truth["y"], by_zero_order_hold(data.column("u"), 0.1, 2.0), atol=1e-5)
    assert np.std(data.column("y") - data.truth["y"]) == pytest.approx(0.02, rel=0.08)
    assert data.noise == {"y": 0.02}


def test_the_same_seed_gives_the_same_data_whatever_else_is_measured() -> None:
    one = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1, seed=3)
    again = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1, seed=3)
    alone = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, noise=0.1, seed=3, outputs=["y"]
    )
    other = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1, seed=4)
    assert (one.column("y") == again.column("y")).all()
    assert (one.column("y") == alone.column("y")).all()
    assert not (one.column("y") == other.column("y")).any()
    assert (
        abs(
            np.corrcoef(one.column("y") - one.truth["y"], one.column("rate") - one.truth["rate"])[
                0, 1
            ]
        )
        < 0.1
    )


def test_relative_noise_is_a_share_of_the_spread() -> None:
    data = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise="2 %")
    for name in ("y", "rate"):
        assert data.noise[name] == pytest.approx(0.02 * np.std(data.truth[name]))


def test_dropped_samples_are_missing_at_random_and_the_rest_stays() -> None:
    whole = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1)
    holed = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1, drop=0.3)
    missing = np.isnan(holed.column("y"))
    assert missing.mean() == pytest.approx(0.3, abs=0.05)
    assert (holed.column("y")[~missing] == whole.column("y")[~missing]).all()
    assert not np.isnan(holed.column("u")).any()


def test_an_exact_input_may_jump_between_samples() -> None:
    step = es.signals.Step(begin=0.55)
    t = np.array([0.0, 1.0, 2.0, 3.0])
    exact = es.simulate_experiment(first_order(), {"u": step}, t, hold="exact", outputs=["y"])
    assert np.allclose(exact.truth["y"][1:], 1 - np.exp(-(t[1:] - 0.55) / 2), atol=1e-5)
    assert exact.notes == (
        "u changes between the samples; the column holds its value at each sample",
    )
    held = es.simulate_experiment(first_order(), {"u": step}, t, outputs=["y"])
    assert np.allclose(held.truth["y"][1:], 1 - np.exp(-(t[1:] - 1) / 2), atol=1e-5)
    assert not held.notes


def test_parameters_start_values_and_plain_inputs_are_taken() -> None:
    t = np.linspace(0, 4, 9)
    data = es.simulate_experiment(
        first_order(), {"u": np.full(9, 2.0)}, t, {"K": 3, "tau": 1}, start={"y": 1}, outputs=["y"]
    )
    assert np.allclose(data.truth["y"], 6 - 5 * np.exp(-t), atol=1e-5)
    same = es.simulate_experiment(
        first_order(), {"u": 2.0}, t, {"K": 3, "tau": 1}, start={"y": 1}, outputs="y"
    )
    assert (same.truth["y"] == data.truth["y"]).all()


def test_a_fit_of_simulated_data_finds_the_truth_in_four_iterations() -> None:
    data = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, noise={"y": 0.02}, outputs=["y"]
    )
    fit = es.fit(
        es.Study(
            first_order(),
            tuners=[es.Tuner("K", start=1.5), es.Tuner("tau", start=3)],
            cases=[es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})],
            estimation=es.Estimation(method="gauss-newton"),
        )
    )
    assert fit.iterations[4].values == pytest.approx([1, 2], rel=5e-3)
    assert fit.parameters.value["tau"] == pytest.approx(2, rel=5e-3)


def test_a_formula_is_measured_point_by_point() -> None:
    model = formula_model({"y": "a*x + b"}, ["x"])
    x = np.linspace(0, 1, 50)
    data = es.simulate_experiment(model, {"x": x}, np.arange(50), {"a": 2, "b": 1}, noise=0.01)
    assert data.names == ("point", "x", "y")
    assert np.allclose(data.truth["y"], 2 * x + 1)


def test_simulated_data_are_written_and_read_back(tmp_path: Path) -> None:
    data = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1, drop=0.1)
    read = es.read_data(data.to_csv(tmp_path / "run.csv"))
    assert read.names == data.names
    assert dict(read.units) == dict(data.units)
    assert np.array_equal(read.column("y"), data.column("y"), equal_nan=True)


def test_simulated_data_travel_to_other_processes() -> None:
    data = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1)
    copy = pickle.loads(pickle.dumps(data))
    assert (copy.column("y") == data.column("y")).all()
    assert (copy.truth["y"] == data.truth["y"]).all()
    assert copy.noise == data.noise
    assert copy.inputs == ("u",)


def test_simulated_data_draw_points_and_truth() -> None:
    data = es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, noise=0.1)
    panels = data.curves().panels
    assert [p.label for p in panels] == ["u [V]", "y [m]", "rate [m/s]"]
    assert [c.name for c in panels[1].curves] == ["measured", "true"]
    assert data.plot() is not None
    assert repr(data).startswith(
        "Data from 'simulation of FirstOrder': 1000 rows of time [s], u [V]"
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"noise": {"P": 1}}, "W021: noise of 'P', which is not an output or input (outputs: y, rate)"),
        ({"noise": {"rat": 1}}, "W021: noise of 'rat', which is not an output or input; did you mean 'rate'?"),
        ({"noise": -1}, "W022: noise of 'y': -1 is not a standard deviation; give a number such as 0.02"),
        ({"noise": "2 percent"}, "W022: noise of 'y': '2 percent' is not a standard deviation"),
        ({"noise": 1, "colour": {"rat": 0.5}}, "W025: colour of 'rat', which has no noise; did you mean 'rate'?"),
        ({"noise": 1, "colour": 1.0}, "W026: colour of 'y': an AR coefficient is between -1 and 1, not 1.0; 0 is white"),
        ({"noise": 1, "colour": "1/(1 - s)"}, "W027: colour of 'y': '1/(1 - s)' is not stable"),
        ({"noise": 1, "colour": "1/(1 + s"}, "W027: colour of 'y': "),
        ({"noise": 1, "colour": "a/(1 + s)"}, "W027: colour of 'y': parameter 'a' of 'transfer function' has no value"),
        ({"drop": 1.0}, "W023: drop 1.0 is not a share of the samples, from 0 to below 1"),
        ({"outputs": ["u"]}, "W024: 'u' is a column already, the time or an input; leave it out"),
        ({"hold": "x"}, "W003: hold 'x' is none of previous, linear, spline"),
    ],
)  # fmt: skip
def test_a_wrong_experiment_is_told(given: dict[str, object], text: str) -> None:
    with pytest.raises(ExperimentError) as told:
        es.simulate_experiment(first_order(), {"u": SQUARE}, GRID, **given)  # type: ignore[arg-type]
    assert text in str(told.value)


def test_a_run_that_ends_early_is_told() -> None:
    model = es.load_model(
        "model B input Real u; Real x(start=1, fixed=true); equation der(x) = x^2 + u; end B;"
    )
    with pytest.raises(SimulationError):
        es.simulate_experiment(model, {"u": 0.0}, [0, 2])


def test_a_filter_needs_equal_steps_and_a_coefficient_does_not() -> None:
    grid = np.cumsum(np.random.default_rng(1).uniform(0.1, 0.2, 50))
    es.simulate_experiment(first_order(), {"u": 1.0}, grid, noise=0.1, colour=0.5)
    with pytest.raises(ExperimentError, match="W028: colour of 'y': a filter needs equal steps"):
        es.simulate_experiment(first_order(), {"u": 1.0}, grid, noise=0.1, colour="1/(1 + s)")


# --- every kind of model -------------------------------------------------------------------------


def lag(u: np.ndarray, t: np.ndarray, K: float = 1.0, tau: float = 2.0) -> np.ndarray:
    return K * by_zero_order_hold(u, t[1] - t[0], tau)


@pytest.mark.parametrize(
    "model",
    [es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 2}), es.load_model(lag)],
    ids=["linear", "function"],
)
def test_linear_and_function_models_are_measured_like_modelica(model: es.Model) -> None:
    data = es.simulate_experiment(model, {"u": SQUARE}, GRID, {"K": 1.5}, noise=0.02, seed=5)
    wanted = 1.5 * by_zero_order_hold(data.column("u"), 0.1, 2.0)
    np.testing.assert_allclose(data.truth["y"], wanted, atol=1e-9)
    same = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, {"K": 1.5}, noise=0.02, seed=5, outputs=["y"]
    )
    np.testing.assert_allclose(data.column("y"), same.column("y"), atol=1e-5)


def test_a_delay_between_samples_is_measured_exactly() -> None:
    model = es.transfer_function("exp(-T*s)/(1 + 2*s)")
    step = es.signals.Step(begin=1.0)
    data = es.simulate_experiment(model, {"u": step}, GRID, {"T": 0.237})
    wanted = -np.expm1(-np.maximum(GRID - 1.237, 0) / 2)
    np.testing.assert_allclose(data.column("y"), wanted, atol=1e-12)


# --- colour, and noise of inputs -----------------------------------------------------------------


def memory(noise: np.ndarray, shift: int) -> float:
    return float(np.mean(noise[shift:] * noise[:-shift]) / np.mean(noise**2))


@pytest.mark.parametrize(
    ("colour", "left"),
    [(0.9, 0.9), (-0.5, -0.5), ("1/(1 + 2*s)", np.exp(-0.05)), (0.0, 0.0)],
)
def test_coloured_noise_has_its_memory_and_keeps_its_sigma(
    colour: float | str, left: float
) -> None:
    grid = es.signals.times(0.1, 40_000)
    model = es.transfer_function("1/(1 + s)")
    data = es.simulate_experiment(model, {"u": 0.0}, grid, noise=0.3, colour=colour)
    noise = data.column("y") - data.truth["y"]
    assert np.std(noise) == pytest.approx(0.3, rel=0.08)
    for shift in (1, 2, 5):
        assert memory(noise, shift) == pytest.approx(left**shift, abs=0.05)
    spread = [
        es.simulate_experiment(
            model, {"u": 0.0}, grid[:50], noise=0.3, colour=colour, seed=k
        ).column("y")[0]
        for k in range(200)
    ]
    assert np.std(spread) == pytest.approx(0.3, rel=0.2)  # from the first sample on


def test_noise_of_an_input_is_in_the_data_and_not_in_the_model() -> None:
    noise = {"y": 0.02, "u": "5 %"}
    data = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, noise=noise, colour={"u": 0.8}, outputs=["y"]
    )
    plain = es.simulate_experiment(
        first_order(), {"u": SQUARE}, GRID, noise={"y": 0.02}, outputs=["y"]
    )
    assert (data.truth["u"] == plain.column("u")).all()
    assert (data.column("y") == plain.column("y")).all()
    error = data.column("u") - data.truth["u"]
    assert np.std(error) == pytest.approx(0.05, rel=0.15)
    assert memory(error, 1) == pytest.approx(0.8, abs=0.06)
    assert [p.label for p in data.curves().panels] == ["u [V]", "y [m]"]
    assert data.noise["u"] == pytest.approx(0.05)


def test_residuals_tell_coloured_noise_from_white() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1.5, "tau": 3})
    truth = {"K": 1.0, "tau": 2.0}
    told = []
    for colour in (0.0, 0.9):
        data = es.simulate_experiment(
            model, {"u": SQUARE}, GRID, truth, noise=0.05, colour=colour, seed=2
        )
        case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
        fit = es.fit(es.Study(model, ["K", "tau"], [case]))
        told.append(es.residuals(fit).coloured)
    assert told == [False, True]
