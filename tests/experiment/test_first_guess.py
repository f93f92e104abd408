"""First guesses from step responses, over many seeded realisations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import ExperimentError
from estimica.data.table import Data

AT, BEFORE, SIZE, REST = 2.0, 1.0, 2.0, 5.0


def recorded(
    share: object, gain: float, span: float, sigma: float, seed: int, n: int = 300
) -> Data:
    """A step of 2 at 2 s, the output at rest at 5, at irregular times, with noise."""
    random = np.random.default_rng(seed)
    t = np.sort(random.uniform(0, span, n))
    t[0], t[1] = 0.0, 0.01
    t[np.searchsorted(t, AT)] = AT
    u = np.where(t >= AT, BEFORE + SIZE, BEFORE)
    y = REST + gain * SIZE * share(np.maximum(t - AT, 0))  # type: ignore[operator]
    y += sigma * abs(gain * SIZE) * random.standard_normal(n)
    return Data("run.csv", {"time": t, "u": u, "y": y}, {"time": "s", "y": "m"})


def first_order(tau: float, delay: float) -> object:
    return lambda t: -np.expm1(-np.maximum(t - delay, 0) / tau)


def second_order(damping: float, w: float, delay: float) -> object:
    def share(t: np.ndarray) -> np.ndarray:
        e, wd = np.maximum(t - delay, 0), w * np.sqrt(1 - damping**2)
        return 1 - np.exp(-damping * w * e) * (np.cos(wd * e) + damping * w / wd * np.sin(wd * e))

    return share


@pytest.mark.parametrize(
    ("gain", "tau", "delay", "span", "sigma"),
    [(2, 3, 0.5, 25, 0.02), (2, 3, 0, 25, 0.05), (-1, 3, 3, 30, 0.03), (0.1, 0.3, 0.1, 50, 0.001)],
)
def test_first_order_is_found_within_bounds_in_noisy_records(
    gain: float, tau: float, delay: float, span: float, sigma: float
) -> None:
    for seed in range(25):
        n = 300 if span < 40 else 3000
        guess = es.first_guess(
            recorded(first_order(tau, delay), gain, span, sigma, seed, n), "u", "y"
        )
        assert guess.gain == pytest.approx(gain, rel=0.05)
        assert guess.tau == pytest.approx(tau, rel=0.25)
        assert guess.delay == pytest.approx(delay, abs=0.2 * tau)
        assert guess.tangent.tau == pytest.approx(tau, rel=0.4)
        assert guess.tangent.delay == pytest.approx(delay, abs=0.3 * tau)
        assert guess.second_order is None


def test_without_noise_both_methods_are_exact() -> None:
    t = np.linspace(0, 30, 3001)
    data = {"t": t, "u": (t >= 2).astype(float), "y": first_order(3, 0.7)(np.maximum(t - 2, 0))}  # type: ignore[operator]
    guess = es.first_guess(data, "u", "y")
    assert guess.gain == pytest.approx(1, rel=1e-3)
    assert guess.tau == pytest.approx(3, rel=5e-3)
    assert guess.delay == pytest.approx(0.7, abs=0.02)
    assert guess.tangent.tau == pytest.approx(3, rel=0.02)
    assert guess.tangent.delay == pytest.approx(0.7, abs=0.06)
    assert guess.parameters == {"gain": guess.gain, "tau": guess.tau, "delay": guess.delay}


def test_small_time_constants_count_as_delay() -> None:
    t = np.linspace(0, 60, 2001)
    model = es.load_model(
        "model Three input Real u; output Real y; Real a(start=0, fixed=true); Real b(start=0, fixed=true);"
        " Real c(start=0, fixed=true); equation 5*der(a) = u - a; 0.4*der(b) = a - b; 0.4*der(c) = b - c; y = c; end Three;",
        "Three",
    )
    data = es.simulate_experiment(model, {"u": es.signals.Step(begin=5.0)}, t, noise=0.01)
    guess = es.first_guess(data, "u", "y")
    assert guess.delay == pytest.approx(0.8, abs=0.3)
    assert guess.tau == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize(
    ("damping", "w", "delay", "span", "sigma"),
    [
        (0.3, 2, 0.3, 15, 0.02),
        (0.1, 2, 0, 40, 0.03),
        (0.5, 2, 0.2, 15, 0.02),
        (0.05, 2, 0, 60, 0.02),
    ],
)
def test_second_order_is_found_within_bounds_in_noisy_records(
    damping: float, w: float, delay: float, span: float, sigma: float
) -> None:
    for seed in range(25):
        data = recorded(second_order(damping, w, delay), 1.5, span, sigma, seed, 400)
        guess = es.first_guess(data, "u", "y")
        two = guess.second_order
        assert two is not None
        assert guess.gain == pytest.approx(1.5, rel=0.05)
        assert two.damping == pytest.approx(damping, abs=0.08)
        assert two.natural_frequency == pytest.approx(w, rel=0.15)
        assert two.delay == pytest.approx(delay, abs=0.3)
        assert guess.parameters["damping"] == two.damping


def test_a_record_that_has_not_settled_is_prolonged_and_says_so() -> None:
    guess = es.first_guess(recorded(first_order(3, 0), 2, 9.5, 0.003, 1), "u", "y")
    assert guess.gain == pytest.approx(2, rel=0.1)
    assert "still moves at the end" in guess.notes[0]
    short = es.first_guess(recorded(first_order(30, 0), 2, 9, 0.001, 1), "u", "y")
    assert short.notes == ("the output has not settled: the gain is too small, record for longer",)


def test_of_several_steps_the_one_with_the_longest_rest_is_taken() -> None:
    t = np.linspace(0, 60, 1201)
    u = np.select([t < 5, t < 12, t < 45], [0.0, 1.0, -1.0], 2.0)
    y = np.zeros(len(t))
    for k in range(len(t) - 1):
        y[k + 1] = y[k] + 0.05 / 1.5 * (3 * u[k] - y[k])
    guess = es.first_guess(pd.DataFrame({"t": t, "valve": u, "level": y}), "valve", "level")
    assert guess.record.at == 12
    assert guess.record.size == -2
    assert guess.record.time[-1] < 45
    assert guess.gain == pytest.approx(3, rel=0.02)
    assert guess.tau == pytest.approx(1.5, rel=0.1)


def test_a_step_that_the_data_do_not_show_can_be_given() -> None:
    t = np.linspace(0, 20, 400)
    data = {"t": t, "u": np.full(400, 3.0), "y": 6 * -np.expm1(-t / 2)}
    guess = es.first_guess(data, "u", "y", at=0.0, size=3.0)
    assert guess.gain == pytest.approx(2, rel=0.01)
    assert guess.tau == pytest.approx(2, rel=0.03)
    assert "no sample before the step" in guess.notes[-1]
    alone = es.first_guess({"t": t, "y": data["y"]}, None, "y", at=0.0, size=3.0, until=15.0)
    assert alone.gain == pytest.approx(2, rel=0.01)


def test_a_noisy_input_still_shows_its_step_and_missing_samples_do_not_matter() -> None:
    data = recorded(first_order(3, 0.5), 2, 25, 0.02, 5, 600)
    random = np.random.default_rng(1)
    columns = {n: v.copy() for n, v in data.columns.items()}
    columns["u"] += 0.03 * random.standard_normal(600)
    columns["y"][random.random(600) < 0.3] = np.nan
    columns["u"][random.random(600) < 0.1] = np.nan
    guess = es.first_guess(columns, "u", "y")
    assert guess.gain == pytest.approx(2, rel=0.05)
    assert guess.tau == pytest.approx(3, rel=0.2)


def test_the_guess_draws_its_construction_lines() -> None:
    guess = es.first_guess(recorded(first_order(3, 0.5), 2, 25, 0.02, 1), "u", "y")
    step, answer = guess.curves().panels
    assert step.label == "u − before"
    names = [c.name for c in answer.curves]
    assert names[:3] == ["measured", "smooth curve", "first guess"]
    assert names[3].startswith("initial value ")
    assert names[5].startswith("63 % after delay")
    assert names[6].startswith("tangent: τ ")
    touch, end = answer.curves[6].time[1:]
    assert end - touch == pytest.approx(guess.tangent.tau)
    assert guess.plot() is not None
    assert "63 %" in repr(guess)
    assert "<table" in guess._repr_html_()


def test_an_oscillating_guess_draws_overshoot_and_half_a_period() -> None:
    guess = es.first_guess(recorded(second_order(0.3, 2, 0.3), 2, 15, 0.01, 1), "u", "y")
    names = [c.name for c in guess.curves().panels[1].curves]
    assert names[5].startswith("overshoot 3")
    assert names[6].startswith("half a period, 1.6")
    t = guess.record.time
    assert np.std(guess.response(t) - guess.record.value) < 0.1 * np.std(guess.record.value)
    assert "overshoot" in repr(guess)


def test_the_sentence_says_it_in_one_line() -> None:
    guess = es.first_guess(recorded(first_order(3, 0.5), 2, 25, 1e-5, 1, 2000), "u", "y")
    assert guess.sentence == "a step of u suggests for y: gain 2, time constant 3 s, delay 0.5 s"
    two = es.first_guess(recorded(second_order(0.3, 2, 0.3), 2, 25, 1e-5, 1, 2000), "u", "y")
    assert two.sentence.startswith(
        "a step of u suggests for y: gain 2, damping 0.3, natural frequency "
    )


T = np.linspace(0, 10, 101)


@pytest.mark.parametrize(
    ("columns", "arguments", "text"),
    [
        ({"u": np.ones(101)}, {}, "W033: input 'u' of table never changes; if it stepped before or at"),
        ({"u": T}, {}, "W034: input 'u' of table has no clear step: a jump of more than 30 % of its range"),
        ({"u": np.sin(3 * T)}, {}, "W034: input 'u' of table has no clear step"),
        ({"u": (T >= 9.5).astype(float)}, {}, "W032: 'y' has 6 samples after the step at 9.5; at least 8 are needed"),
        ({"u": (T >= 2).astype(float)}, {}, "W035: 'y' does not answer the step of u at 2: it goes from"),
        ({"u": (T >= 2).astype(float)}, {"at": 2.0, "size": 0.0}, "W031: a step of 0 at 2 is none"),
        ({"u": (T >= 2).astype(float)}, {"input": None}, "W030: say which column steps, or when (at=)"),
    ],
)  # fmt: skip
def test_data_without_a_step_are_refused(
    columns: dict[str, object], arguments: dict[str, object], text: str
) -> None:
    noise = np.random.default_rng(1).standard_normal(101)
    with pytest.raises(ExperimentError) as told:
        es.first_guess(
            {"time": T, "y": noise, **columns}, **({"input": "u", "output": "y"} | arguments)
        )  # type: ignore[arg-type]
    assert text in str(told.value)
