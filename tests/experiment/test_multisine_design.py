"""Multisine design: optimal powers against closed forms, other solvers and their own bounds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import estimica as es
from estimica.experiment.design.line_power import PowerShares, is_informative, share_power
from estimica.experiment.design.result import InputDesign

SETTINGS = {"kind": "multisine", "criterion": "D", "step": 0.1, "duration": 100, "sigma": 0.02}
FIRST = "K/(1 + tau*s)"
SECOND = "(b0 + b1*s)/(1 + a1*s + a2*s^2)"
NUMBERS = {"b0": 1.0, "b1": 0.5, "a1": 0.4, "a2": 2.0}


def designed(settings: dict[str, object], text: str = FIRST, **values: float) -> InputDesign:
    model = es.transfer_function(text)
    found = es.design_input(
        model, {**SETTINGS, **settings}, values=values or {"K": 1.0, "tau": 2.0}
    )
    assert isinstance(found, InputDesign)
    return found


def information(lines: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """(M_k, |G_k|²) of a second-order system with a zero."""
    model = es.transfer_function(SECOND, parameters=NUMBERS)
    omega = 2 * np.pi * 0.005 * np.arange(1, lines + 1)
    G, dG = model.frequency_sensitivities(omega, wrt=list(NUMBERS))
    dG = dG * np.array(list(NUMBERS.values()))
    return np.einsum("ki,kj->kij", dG.conj(), dG).real, np.abs(G) ** 2


def schur(M: np.ndarray, counted: int) -> np.ndarray:
    return np.linalg.inv(np.linalg.inv(M)[:counted, :counted])


def badness(criterion: str, M: np.ndarray, counted: int) -> float:
    """What the criterion is least for; S_min of M that is normed."""
    S = schur(M, counted)
    if criterion == "D":
        return -float(np.linalg.slogdet(S)[1])
    if criterion == "A":
        return math.log(np.trace(np.linalg.inv(S)))
    values = np.linalg.eigvalsh(S)
    return math.log(values[-1] / values[0]) if criterion == "R" else -math.log(values[0])


def joint(M: np.ndarray, g: np.ndarray, criterion: str, power: np.ndarray) -> np.ndarray:
    whole = np.tensordot(power, M, axes=1)
    return whole / float(power @ g) if criterion == "S_min" else whole


CASES = [(c, n) for c in ("D", "A", "E", "S_min", "R") for n in (4, 2) if (c, n) != ("R", 2)]


# --- the powers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "counted"), CASES)
def test_no_other_powers_are_better_than_the_bound_allows(criterion: str, counted: int) -> None:
    M, g = information()
    found = share_power(M, criterion, counted, g)
    assert found.power.sum() == pytest.approx(1)
    assert found.efficiency > 1 - 1e-4
    best = badness(criterion, joint(M, g, criterion, found.power), counted)
    rng = np.random.default_rng(1)
    for sharpness in (1.0, 0.1, 0.02):  # from flat spectra to few lines
        for p in rng.dirichlet(np.full(len(M), sharpness), size=200):
            assert badness(criterion, joint(M, g, criterion, p), counted) >= best - 1e-4


@pytest.mark.parametrize(("criterion", "counted"), CASES)
def test_a_general_solver_finds_no_better_powers(criterion: str, counted: int) -> None:
    M, g = information(30)
    found = share_power(M, criterion, counted, g)
    best = badness(criterion, joint(M, g, criterion, found.power), counted)

    def cost(x: np.ndarray) -> float:
        p = np.exp(x - x.max())
        return badness(criterion, joint(M, g, criterion, p / p.sum()), counted)

    start = np.log(0.9 * found.power + 0.1 / len(M))
    other = minimize(cost, start, method="L-BFGS-B", options={"maxiter": 300})
    assert other.fun >= best - 1e-4
    assert other.fun <= best + 0.5  # it looks in the right place


@pytest.mark.parametrize("criterion", ["D", "A"])
def test_the_equivalence_theorem_holds_at_the_optimum(criterion: str) -> None:
    M, g = information()
    found = share_power(M, criterion, 4, g)
    C = np.linalg.inv(np.tensordot(found.power, M, axes=1))
    if criterion == "D":
        gain = np.einsum("kij,ji->k", M, C) / 4  # tr(M_k M⁻¹) ≤ n
    else:
        gain = np.einsum("kij,ji->k", M, C @ C) / np.trace(C)  # tr(M_k M⁻²) ≤ tr M⁻¹
    np.testing.assert_allclose(found.gain, gain, rtol=1e-9)
    assert gain.max() <= 1 + 1e-5
    np.testing.assert_allclose(gain[found.power > 0], 1, atol=1e-4)
    assert np.count_nonzero(found.power) <= 4 * 5 // 2


def test_powers_away_from_the_optimum_are_bounded_truly() -> None:
    """1/max gain is a lower bound of det(M)^(1/n) relative to the best."""
    M, g = information()
    best = badness("D", joint(M, g, "D", share_power(M, "D", 4).power), 4)
    for p in np.random.default_rng(2).dirichlet(np.full(len(M), 0.3), size=50):
        whole = np.tensordot(p, M, axes=1)
        gain = np.einsum("kij,ji->k", M, np.linalg.inv(whole)) / 4
        efficiency = math.exp((best - badness("D", whole, 4)) / 4)
        assert 1 / gain.max() <= efficiency <= 1 + 1e-9


def test_first_order_d_optimum_is_a_sine_where_the_determinant_is_greatest() -> None:
    """det = x²/(1 + x²)⁴ with x = ωτ is greatest at x = 1/√3 (one line carries two tuners)."""
    model = es.transfer_function(FIRST, parameters={"K": 1.0, "tau": 2.0})
    x = np.array([0.2, 0.4, 1 / math.sqrt(3), 0.8, 1.5])
    _, dG = model.frequency_sensitivities(x / 2, wrt=["K", "tau"])
    dG = dG * np.array([1.0, 2.0])
    found = share_power(np.einsum("ki,kj->kij", dG.conj(), dG).real, "D", 2)
    np.testing.assert_allclose(found.power, [0, 0, 1, 0, 0], atol=1e-6)


def test_lines_that_tell_nothing_of_a_tuner_are_no_information() -> None:
    M = np.zeros((3, 2, 2))
    M[:, 0, 0] = 1.0
    assert not is_informative(M)
    assert not is_informative(np.full((3, 2, 2), np.nan))
    assert isinstance(share_power(np.ones((1, 1, 1)), "D", 1), PowerShares)


# --- the design ----------------------------------------------------------------------------------


def test_steady_state_measures_are_those_of_a_long_simulation() -> None:
    found = designed({"duration": 2000, "fundamental": 0.01}, SECOND, **NUMBERS)
    predicted = found.best.judgement
    simulated = found.tried[-1].judgement
    assert found.tried[-1].label == "the same over time"
    assert simulated.stderr == pytest.approx(predicted.stderr, rel=0.05)
    assert simulated.measures.S_min == pytest.approx(predicted.measures.S_min, rel=0.05)


@pytest.mark.parametrize("criterion", ["R", "S_min", "D", "A", "E"])
def test_the_design_is_at_least_as_good_as_every_sine_and_a_flat_spectrum(criterion: str) -> None:
    found = designed({"criterion": criterion})
    best = found.best.judgement.score(criterion)
    others = [c.judgement.score(criterion) for c in found.tried[:-2]]
    assert best <= min(others) + 1e-5
    assert found.tried[-3].label == "flat spectrum"
    assert found.spectrum.efficiency > 0.9999


def test_the_signal_has_the_power_and_the_crest_factor_that_are_told() -> None:
    found = designed({"energy": 2.0}, SECOND, **NUMBERS)
    u = found.signal.at(found.bench.times)
    assert np.mean(u**2) == pytest.approx(2.0, rel=1e-3)
    assert np.abs(u).max() / math.sqrt(2.0) == pytest.approx(found.spectrum.crest_factor, rel=0.02)
    assert found.spectrum.power.sum() == pytest.approx(2.0)
    assert found.notes[0].startswith("The crest factor is ")


def test_more_power_shrinks_the_errors_as_its_root() -> None:
    one, four = designed({"energy": 0.5}), designed({"energy": 2.0})
    assert one.best.judgement.stderr == pytest.approx(2 * four.best.judgement.stderr)


def test_modelica_models_are_designed_for_as_linear_ones() -> None:
    model = es.load_model(
        "model KTau\n parameter Real K = 1;\n parameter Real tau = 2;\n input Real u;\n"
        " output Real y(start = 0, fixed = true);\nequation\n tau*der(y) = K*u - y;\nend KTau;"
    )
    own = es.design_input(model, SETTINGS, values={"K": 1, "tau": 2})
    other = designed({})
    np.testing.assert_allclose(own.spectrum.power, other.spectrum.power, atol=1e-4)
    assert own.best.judgement.stderr == pytest.approx(other.best.judgement.stderr, rel=1e-5)


def test_several_outputs_are_counted_relative_to_their_size() -> None:
    study = es.read_study(Path(__file__).parents[2] / "examples/input_design/dc_motor.toml")
    settings = {"kind": "multisine", "fixed": {}, "duration": 20}
    found = es.design_input(study, {**settings, "criterion": "R"})
    others = [c.judgement.score("R") for c in found.tried[:-2]]
    assert found.best.judgement.score("R") <= min(others) + 1e-6
    assert found.best.judgement.measures.names == ("R", "K", "J", "B")


def test_the_best_for_one_tuner_treats_the_others_as_unknown() -> None:
    found = designed({"tuners": ["tau"]})
    both = designed({})
    assert found.best.judgement.stderr[0] < both.best.judgement.stderr[1]
    assert found.best.judgement.measures.names == ("tau",)


def test_report_and_json_tell_lines_and_bound(tmp_path: Path) -> None:
    found = designed({}, SECOND, **NUMBERS)
    told = found.to_dict()
    assert told["signal"] == "multisine"
    assert len(told["lines"]) == np.count_nonzero(found.spectrum.power)  # type: ignore[arg-type]
    assert told["spectrum"]["efficiency"] == pytest.approx(1, abs=1e-4)  # type: ignore[index]
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "share of the power" in page
    assert found.plot("spectrum").data


# --- messages ------------------------------------------------------------------------------------

WRONG = [
    ({"criterion": "R", "tuners": "tau"}, "W084: criterion R of a multisine counts all tuners"),
    ({"energy": "class"}, 'W085: energy = "class" is for free inputs; give the mean of u'),
    ({"fundamental": 9.0}, "W086: no line lies below half the sampling frequency, 5 Hz"),
    ({"fixed": {"amplitude": 2}}, "W088: fixed: a multisine is designed in all but its offset"),
    ({"fixed": {"offset": "a"}}, "W088: fixed: offset 'a' is not a number"),
    ({"lines": [0]}, "lines: 1: 0 is wrong, it must be at least 1"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_mistakes_are_told(settings: dict[str, object], message: str) -> None:
    with pytest.raises(es.EstimicaError, match=message):
        designed(settings)


def test_functions_have_no_frequency_response() -> None:
    model = es.function_model(lambda u, t, p: p[0] * u, ["K"])
    with pytest.raises(es.ModelError, match=r"M150: .*has no frequency response"):
        es.design_input(model, SETTINGS, values={"K": 1.0})


def test_tuners_that_no_line_tells_apart_leave_no_best() -> None:
    found = designed({}, "A/(1 + s*B/C)", A=1.0, B=2.0, C=1.0)
    assert found.outcome()[0] == "failed"
    assert "no candidate tells all tuners apart" in found.outcome()[1]


def test_periods_and_ends_of_the_lines_are_told() -> None:
    found = designed({"fundamental": 0.013, "lines": [1, 2, 3]})
    assert any("1.3 periods long" in n for n in found.notes)
    assert any("The highest line is used" in n for n in found.notes)
