"""Expressions in s that are known over frequencies only."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import ModelError

OMEGA = np.logspace(-3, 2, 30)
RANDLES = "R0 + R1/(1 + R1*C1*s) + 1/(C2*s + 1/(R2 + Z0/(sqrt(s*T)*tanh(sqrt(s*T)))))"
VALUES = {"R0": 0.0165, "R1": 0.0087, "C1": 3.32, "C2": 0.22, "R2": 0.0054, "Z0": 0.0631, "T": 233}


def test_a_warburg_element_is_what_its_formula_says() -> None:
    model = es.frequency_function("Z0*tanh(sqrt(s*T))/sqrt(s*T)", parameters={"Z0": 2, "T": 3})
    x = np.sqrt(3j * OMEGA)
    assert model.frequency_response(OMEGA) == pytest.approx(2 * np.tanh(x) / x, rel=1e-13)


@pytest.mark.parametrize("text", [RANDLES, "R0 + Q*s^(-n)", "K*exp(-d*s)*(1 + tau*s)/(1 + a*s^2)"])
def test_derivatives_are_those_of_central_differences(text: str) -> None:
    model = es.frequency_function(text)
    rng = np.random.default_rng(1)
    names = model.parameter_names
    values = {n: VALUES.get(n, float(rng.uniform(0.3, 0.8))) for n in names}
    experiment = model.frequency_experiment(OMEGA, None, values, transfers=[("y", "u")], wrt=names)
    run = experiment.at()
    assert run.ok
    for k, name in enumerate(names):
        step = 1e-6 * values[name]
        high, low = (
            model.frequency_response(OMEGA, {**values, name: values[name] + d})
            for d in (step, -step)
        )
        slope = (high - low) / (2 * step)
        found = run.YS[:, 0, k] + 1j * run.YS[:, 1, k]
        assert found == pytest.approx(slope, rel=1e-6, abs=1e-7 * float(np.abs(slope).max()))


def test_it_equals_the_linear_model_where_there_is_one() -> None:
    text = "K*exp(-T*s)/(1 + tau*s)"
    values = {"K": 2.0, "T": 0.3, "tau": 1.5}
    linear = es.transfer_function(text, parameters=values)
    other = es.frequency_function(text, parameters=values)
    names = ["tau", "K", "T"]
    runs = [
        m.frequency_experiment(OMEGA, transfers=[("y", "u")], wrt=names).at()
        for m in (linear, other)
    ]
    assert pytest.approx(runs[1].Y, rel=1e-12) == runs[0].Y
    assert pytest.approx(runs[1].YS, rel=1e-11, abs=1e-13) == runs[0].YS


def test_a_start_value_does_not_move_a_linear_response() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 2, "tau": 1})
    run = model.frequency_experiment(OMEGA, transfers=[("y", "u")], wrt=["K", "x1"]).at()
    assert not run.YS[:, :, 1].any()
    assert run.YS[:, 0, 0] == pytest.approx(run.Y[:, 0] / 2)


def test_it_travels_to_another_process() -> None:
    model = es.frequency_function(RANDLES, parameters=VALUES, input="i", output="v")
    other = pickle.loads(pickle.dumps(model))
    assert (other.frequency_response(OMEGA) == model.frequency_response(OMEGA)).all()


def test_a_response_that_is_not_finite_is_told() -> None:
    model = es.frequency_function("1/(C*s)", parameters={"C": 2})
    run = model.frequency_experiment([0.0, 1.0], transfers=[("y", "u")]).at()
    assert not run.ok
    assert run.text == "the frequency response is not finite at 0 rad/s, with C = 2"
    with pytest.raises(ModelError, match="not finite at 0 rad/s"):
        model.frequency_response([0.0])


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("abs(s)*K", {}, r"abs\(\.\.\.\) has no meaning for complex numbers"),
        ("K*sqrt(s)", {"k": 1}, r"'k' is not in 'K\*sqrt\(s\)'; did you mean 'K'\?"),
        ("u*sqrt(s)", {}, "the name 'u' is used twice"),
    ],
)
def test_what_is_no_frequency_function_is_refused(
    text: str, given: dict[str, float], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        es.frequency_function(text, parameters=given)


def test_it_has_no_response_over_time() -> None:
    model = es.frequency_function("K*sqrt(s)", parameters={"K": 1})
    with pytest.raises(ModelError, match=r"'K\*sqrt\(s\)' is known over frequencies only"):
        model.response([0.0, 1.0])


@pytest.mark.parametrize(
    ("transfers", "more", "message"),
    [
        ([("z", "u")], {}, "has no output 'z'"),
        ([("y", "i")], {}, "has no input 'i'"),
        ([("y", "u")], {"wrt": ["L"]}, "has no parameter 'L'"),
        ([("y", "u")], {"parameters": {}}, "parameter 'K' of 'frequency function' has no value"),
        ([("y", "u")], {"start": {"x": 1.0}}, r"has no state 'x' \(states: none\)"),
    ],
)
def test_unknown_names_are_told(
    transfers: list[tuple[str, str]], more: dict[str, object], message: str
) -> None:
    model = es.frequency_function("K*sqrt(s)")
    with pytest.raises(ModelError, match=message):
        model.frequency_experiment(
            [1.0], transfers=transfers, **({"parameters": {"K": 1.0}} | more)
        )


def test_frequencies_must_be_numbers_from_zero_on() -> None:
    model = es.transfer_function("1/(1 + s)")
    for omega, message in (([], "no frequencies"), ([1, -1], "-1 rad/s must be finite and ≥ 0")):
        with pytest.raises(ModelError, match=message):
            model.frequency_experiment(omega, transfers=[("y", "u")])


def test_a_function_over_time_says_what_has_a_frequency_response() -> None:
    def gain(u: object, t: object, K: float = 1.0) -> object:
        return u

    model = es.function_model(gain)
    with pytest.raises(ModelError, match="model 'gain' has no frequency response: only linear"):
        model.frequency_experiment([1.0], transfers=[("y", "u")])
