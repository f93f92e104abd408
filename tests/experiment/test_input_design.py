"""Input design within a class: published optima, closed forms, choices and messages."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.experiment.design.result import InputDesign
from estimica.infer.sensitivity.result import of_hessian
from estimica.study.tables.input_design import Span, input_design_table, values_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "input_design"
FREQUENCIES = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
SQUARE = {"step": 0.1, "duration": 100, "vary": {"frequency": FREQUENCIES}}
TRUTH = {"K": 1.0, "tau": 2.0}


def first_order() -> es.Model:
    return es.transfer_function("K/(1 + tau*s)")


def designed(settings: dict[str, object], model: es.Model | None = None, **more: object):  # type: ignore[no-untyped-def]
    values = more.pop("values", TRUTH)
    found = es.design_input(model or first_order(), settings, values=values, **more)  # type: ignore[arg-type]
    assert isinstance(found, InputDesign)
    return found


# --- the course of Senstools ---------------------------------------------------------------------


def test_example_17_the_best_square_wave_is_at_a_twentieth_hertz() -> None:
    found = designed(SQUARE)
    assert found.best.settings == {"frequency": 0.05}
    m = found.best.judgement.measures
    assert pytest.approx(2.51, abs=0.005) == m.R
    assert m.S_min == pytest.approx(0.42, abs=0.005)
    assert m.R_i[0] == pytest.approx(m.R_i[1])
    ratios = found.candidates["R_i[K]"]
    assert (np.diff(ratios[1:]) > 0).all()  # higher frequencies, more correlation


@pytest.mark.parametrize("file", ["kutau.toml", "kutau_function.toml"])
def test_example_18_the_best_amplitude_is_six(file: str) -> None:
    found = es.design_input(es.read_study(EXAMPLES / file))
    assert found.best.settings == {"amplitude": 6}
    table = found.candidates.set_index("amplitude")
    assert table.R[6] == pytest.approx(5.46, abs=0.005)
    assert table.S_min[6] == pytest.approx(0.2, abs=0.005)
    least = table[["S_i_min[k0]", "S_i_min[k1]", "S_i_min[tau]"]].min(axis=1)
    assert least.idxmax() in (5, 6)


def test_example_12_over_the_frequency_is_the_closed_form() -> None:
    omega = np.array([0.04, 0.2, 0.5, 1.0, 4.0])
    step, periods = 2 * np.pi / 0.04 / 8000, 8  # whole periods of all
    settings = {"signal": "sine", "hold": "exact", "step": step, "duration": 8000 * periods * step}
    found = designed({**settings, "vary": {"frequency": (omega / 2 / np.pi).tolist()}})
    for w, c in zip(omega, found.tried, strict=True):
        q = (2 * w) ** 2 / (1 + (2 * w) ** 2)
        exact = of_hessian([[1, -q], [-q, q]])
        m = c.judgement.measures
        near = 0.03 if w > 1 else 0.01  # the transient counts more where the output is small
        assert m.S_min == pytest.approx(exact.S_min, rel=near)
        assert m.S_i_min == pytest.approx(exact.S_i_min, rel=near)
        assert pytest.approx(exact.R, rel=near) == m.R
        assert m.R_i == pytest.approx(exact.R_i, rel=near)
        assert pytest.approx(exact.D, rel=2 * near) == m.D


@pytest.mark.slow
def test_example_12_the_best_sine_minimises_the_closed_form() -> None:
    settings = {"signal": "sine", "hold": "exact", "step": 0.2, "duration": 2000, "refine": True}
    grid = {"from": 0.01, "to": 0.4, "count": 9, "spacing": "log"}
    found = designed({**settings, "vary": {"frequency": grid}})
    x = 2 * 2 * np.pi * found.best.settings["frequency"]
    # λ of [[1, −q], [−q, q]]: R is least where (1 + q)²/(q − q²) is, at q = 1/3
    assert x**2 / (1 + x**2) == pytest.approx(1 / 3, abs=0.01)
    assert pytest.approx(1 + math.sqrt(2), rel=5e-3) == found.best.judgement.measures.R


#: printed ω: S_min, S_i,min, R, R_i; they hold at π/2 times the printed frequency
TABLE_6_2 = {
    0.04: (0.13, (0.98, 0.13), 7.9, 1.03),
    0.2: (0.42, (0.86, 0.44), 2.5, 1.2),
    0.5: (0.37, (0.56, 0.46), 3.3, 1.8),
}


def test_table_6_2_holds_for_frequencies_half_as_large_again() -> None:
    frequencies = [w / 4 for w in TABLE_6_2]
    settings = {"signal": "sine", "step": 0.1, "duration": 1000}
    found = designed({**settings, "vary": {"frequency": frequencies}})
    for (S_min, S_i_min, R, R_i), c in zip(TABLE_6_2.values(), found.tried, strict=True):
        m = c.judgement.measures
        assert m.S_min == pytest.approx(S_min, abs=0.012)
        assert m.S_i_min == pytest.approx(S_i_min, abs=0.025)
        assert pytest.approx(R, rel=0.07) == m.R
        assert m.R_i == pytest.approx([R_i] * 2, rel=0.05)


# --- one model, three kinds ----------------------------------------------------------------------

KTAU = """
model KTau
  parameter Real K = 1;
  parameter Real tau = 2;
  input Real u(unit = "V");
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) = K*u - y;
end KTau;
"""


def by_function(u: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    from scipy.signal import lfilter

    K, tau = p
    decay = np.exp(-(t[1] - t[0]) / tau)
    return lfilter([0, K * (1 - decay)], [1, -decay], u)


def test_modelica_linear_and_function_models_are_judged_alike() -> None:
    settings = {**SQUARE, "sigma": 0.02}
    models = [es.load_model(KTAU), es.function_model(by_function, {"K": 1.0, "tau": 2.0})]
    expected = designed(settings).candidates.drop(columns=["candidate", "best", "error"])
    for model in models:
        own = designed(settings, model).candidates.drop(columns=["candidate", "best", "error"])
        np.testing.assert_allclose(own, expected, rtol=2e-4)


# --- what chooses --------------------------------------------------------------------------------


def test_expected_standard_errors_are_those_of_fits_to_simulated_data() -> None:
    found = designed({**SQUARE, "vary": {"frequency": [0.05]}, "sigma": 0.02})
    expected = found.best.judgement.stderr
    times = found.bench.times
    estimates = []
    for seed in range(60):
        data = es.simulate_experiment(
            first_order(), {"u": found.signal}, times, TRUTH, noise=0.02, seed=seed
        )
        case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
        tuners = [es.Tuner(n, start=v) for n, v in TRUTH.items()]
        fit = es.fit(es.Study(first_order(), tuners, [case]))
        estimates.append(fit.values)
        if seed == 0:
            np.testing.assert_allclose(fit.accuracy.stderr, expected, rtol=0.1)
    np.testing.assert_allclose(np.std(estimates, axis=0), expected, rtol=0.3)


@pytest.mark.parametrize("criterion", ["R", "S_min", "D", "A", "E"])
@pytest.mark.parametrize("sigma", [None, 0.1])
def test_the_best_has_the_best_value_of_its_criterion(criterion: str, sigma: float | None) -> None:
    settings = {**SQUARE, "criterion": criterion} | ({} if sigma is None else {"sigma": sigma})
    found = designed(settings)
    values = [c.judgement.value(criterion) for c in found.tried]
    best = min(values) if criterion in ("R", "A") else max(values)
    assert found.best.judgement.value(criterion) == best
    if sigma is not None and criterion == "A":
        errors = found.best.judgement.stderr / np.array([1.0, 2.0])
        assert best == pytest.approx(float(np.sum(errors**2)))


def test_weights_stretch_the_sensitivity_of_a_tuner() -> None:
    plain = designed(SQUARE).tried[3].judgement.measures
    weighted = designed({**SQUARE, "weights": {"tau": 3.0}}).tried[3].judgement.measures
    W = np.diag([1.0, 3.0])
    exact = of_hessian(W @ plain.hessian @ W)
    assert weighted.S_min == pytest.approx(exact.S_min)
    assert weighted.S_i_min == pytest.approx(exact.S_i_min)
    assert weighted.R_i == pytest.approx(plain.R_i)


def test_tuners_that_do_not_count_are_unknown_all_the_same() -> None:
    both = designed({**SQUARE, "sigma": 0.02}).tried[3].judgement
    alone = designed({**SQUARE, "sigma": 0.02, "tuners": "tau"}).tried[3].judgement
    assert alone.measures.names == ("tau",)
    assert alone.measures.S_min == pytest.approx(both.measures.S_i_min[1])
    assert alone.stderr == pytest.approx(both.stderr[1:])


def test_free_start_values_of_the_case_are_found_along() -> None:
    times = np.arange(0, 20, 0.1)
    data = pd.DataFrame({"time": times, "u": 1.0, "y": 1 - np.exp(-times / 2)})
    model = es.load_model(KTAU.replace("fixed = true", "fixed = false"))
    tuners = [es.Tuner("K", start=1), es.Tuner("tau", start=2)]
    columns = {"inputs": {"u": "u"}, "outputs": {"y": "y"}}
    settings = {"vary": {"frequency": [0.05, 0.1]}, "sigma": 0.02}
    errors = []
    for free in ({}, {"free_start": {"y": 0.0}}):
        case = es.Case("run", data, **columns, **free)  # type: ignore[arg-type]
        found = es.design_input(es.Study(model, tuners, [case]), settings)
        assert found.bench.step == pytest.approx(0.1)  # as in the data
        assert len(found.bench.times) == len(times)
        errors.append(found.tried[0].judgement.stderr)
    assert (errors[1] > errors[0]).all()


def test_refinement_goes_between_the_grid_points() -> None:
    coarse, fine = designed(SQUARE), designed({**SQUARE, "refine": True})
    assert fine.best.judgement.measures.R < coarse.best.judgement.measures.R
    assert 0.02 < fine.best.settings["frequency"] < 0.1
    assert fine.best.settings["frequency"] not in FREQUENCIES
    assert len(fine.tried) == len(coarse.tried) + 1


def test_two_parameters_are_refined_together_and_drawn_as_a_map() -> None:
    grid = {
        "frequency": {"from": 0.02, "to": 0.2, "count": 4, "spacing": "log"},
        "duty": [0.3, 0.5],
    }
    found = designed({**SQUARE, "vary": grid, "refine": True})
    assert len(found.tried) == 9
    on_grid = min(c.judgement.measures.R for c in found.tried[:8])
    assert on_grid > found.best.judgement.measures.R
    assert found.plot().data[0].type == "contour"


def test_measures_of_two_outputs_are_the_mean_of_those_of_each() -> None:
    study = es.read_study(EXAMPLES / "dc_motor.toml")
    settings = {"vary": {"frequency": [0.2]}, "refine": False, "duration": 10}
    H = {}
    for outputs in ("i", "w", ["i", "w"]):
        sigma = dict.fromkeys(np.atleast_1d(outputs), 1.0)
        found = es.design_input(study, {**settings, "outputs": outputs, "sigma": sigma})
        H[str(outputs)] = found.tried[0].judgement.measures.hessian
    np.testing.assert_allclose(H["['i', 'w']"], (H["i"] + H["w"]) / 2, rtol=1e-6)


def test_other_inputs_keep_their_values_and_signals() -> None:
    model = es.load_model(
        "model Two\n parameter Real a = 1;\n parameter Real b = 2;\n input Real u;\n input Real d;\n"
        " output Real y(start = 0, fixed = true);\nequation\n der(y) = -a*y + b*d*u + d;\nend Two;"
    )
    base = {"input": "u", "step": 0.05, "duration": 20, "vary": {"frequency": [0.1]}}
    values = {"a": 1.0, "b": 2.0}
    one = designed({**base, "others": {"d": 1.0}}, model, values=values)
    two = designed({**base, "others": {"d": 2.0}}, model, values=values)
    assert np.abs(two.Y - 2 * one.Y).max() < 1e-4
    third = designed(
        {**base, "others": {"d": {"signal": "square", "frequency": 0.2}}}, model, values=values
    )
    assert pytest.approx(one.best.judgement.measures.R) != third.best.judgement.measures.R


# --- values --------------------------------------------------------------------------------------


def test_values_of_a_fit_and_its_noise_are_taken() -> None:
    times = es.signals.times(0.1, 1000)
    model = first_order()
    truth = {"K": 3.0, "tau": 0.5}
    data = es.simulate_experiment(model, {"u": es.signals.Square(0.1)}, times, truth, noise=0.05)
    case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
    tuners = [es.Tuner("K", start=1), es.Tuner("tau", start=1)]
    fit = es.fit(es.Study(model, tuners, [case], criterion="ml"))
    found = es.design_input(fit, {"vary": {"frequency": [0.05, 0.1, 0.2, 0.4]}})
    np.testing.assert_allclose(found.bench.values, fit.values)
    assert found.bench.sigma == pytest.approx([0.05], rel=0.1)
    np.testing.assert_allclose(found.tried[1].judgement.stderr, fit.accuracy.stderr, rtol=0.05)


def test_a_frequency_response_leaves_the_times_open() -> None:
    f = np.geomspace(0.01, 1, 20)
    G = 1 / (1 + 2j * np.pi * f * 2)
    data = pd.DataFrame({"f": f, "Re": G.real, "Im": G.imag})
    columns = {"y": {"real": "Re", "imag": "Im", "input": "u", "sigma": 0.1}}
    case = es.Case("spectrum", data, frequency="f", outputs=columns)  # type: ignore[arg-type]
    tuners = [es.Tuner(n, start=v) for n, v in TRUTH.items()]
    study = es.Study(first_order(), tuners, [case])
    with pytest.raises(es.ExperimentError, match="W068"):
        es.design_input(study, {"vary": {"frequency": [0.05]}})
    found = es.design_input(study, SQUARE)
    assert found.best.settings == {"frequency": 0.05}
    assert found.bench.sigma is None  # that of the case is of the response


# --- the result ----------------------------------------------------------------------------------


def test_the_designed_signal_reads_back_from_csv(tmp_path: Path) -> None:
    found = designed({**SQUARE, "sigma": 0.02}, es.load_model(KTAU))
    data = es.read_data(found.write_csv(tmp_path / "input.csv"))
    wave = es.signals.Square(0.05).samples(es.signals.times(0.1, 1000))
    np.testing.assert_array_equal(data.column("u"), wave)
    assert data.units["u"] == "V"
    np.testing.assert_array_equal(found.signal.at(found.bench.times), wave)
    assert list(found.samples.columns) == ["time", "u", "y"]
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Sensitivity measures" in page
    assert "Standard errors to be expected" in page
    assert "least R" in repr(found)
    for kind in ("measures", "outputs"):
        assert found.plot(kind).data


def test_a_candidate_that_fails_is_told_and_the_others_count() -> None:
    found = designed({**SQUARE, "vary": {"frequency": [0.05, 6.0, -1.0]}})
    assert found.best.settings == {"frequency": 0.05}
    assert "half the sampling frequency" in found.tried[1].error
    assert "not positive" in found.tried[2].error
    assert found.outcome() == (
        "done",
        "the best is square with frequency 0.05: R 2.512, S_min 0.4183; 2 of 3 candidates failed",
    )
    assert found.to_dict()["failed"] == 2


def test_a_simulation_that_fails_is_the_candidates_own_failure() -> None:
    model = es.load_model(
        "model Burst\n parameter Real a = 1;\n input Real u;\n"
        " output Real y(start = 1, fixed = true);\nequation\n der(y) = a*u*y^2;\nend Burst;"
    )
    settings = {"signal": "step", "step": 0.01, "duration": 1, "vary": {"amplitude": [0.5, 3.0]}}
    found = designed(settings, model, values={"a": 1.0})
    assert found.best.settings == {"amplitude": 0.5}
    assert found.tried[1].error


def test_tuners_that_cannot_be_told_apart_leave_no_best() -> None:
    model = es.transfer_function("A/(1 + s*B/C)")
    found = designed(SQUARE, model, values={"A": 1, "B": 2, "C": 1})
    assert found.outcome() == (
        "failed",
        "no candidate tells all tuners apart; look at S_i,min of each, or fix one",
    )
    assert found.tried[0].judgement.measures.S_i_min[1:] == pytest.approx([0, 0])
    with pytest.raises(es.ExperimentError, match="W080: there is no best input"):
        _ = found.best


def test_the_end_of_the_grid_is_told() -> None:
    found = designed({**SQUARE, "vary": {"frequency": [0.1, 0.2]}})
    assert found.notes == (
        "The best frequency 0.1 is at the end of those tried: try values beyond it",
    )


def test_workers_find_the_same_as_one() -> None:
    one = designed({**SQUARE, "sigma": 0.02})
    two = designed({**SQUARE, "sigma": 0.02}, workers=2)
    pd.testing.assert_frame_equal(one.candidates, two.candidates)


def test_interrupted_work_keeps_what_was_tried() -> None:
    def stop(progress: object) -> None:
        if progress.done == 4:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    found = designed(SQUARE, progress=stop)
    assert len(found.tried) == 4
    status, message = found.outcome()
    assert status == "interrupted"
    assert f"after {len(found.tried)} candidates, there may be better ones" in message
    nothing = replace(found, tried=(), chosen=None).outcome()
    assert tuple(nothing) == ("interrupted", "interrupted before any candidate was tried")
    assert found.best.settings == {"frequency": 0.05}


def test_whole_number_parameters_stay_whole() -> None:
    grid = {"registers": {"from": 5, "to": 8, "count": 4}}
    settings = {"signal": "prbs", "fixed": {"clock": 2.0}, "vary": grid, "refine": True}
    found = designed({"step": 0.1, "duration": 100, **settings})
    assert len(found.tried) == 4
    assert all(c.judgement for c in found.tried)


def test_a_span_has_both_ends() -> None:
    assert Span(from_=1, to=100, count=3, spacing="log").values() == pytest.approx((1, 10, 100))
    assert Span(from_=1, to=2, count=1).values() == (1,)
    assert values_of((1.0, 2.0)) == (1.0, 2.0)


# --- messages ------------------------------------------------------------------------------------

WRONG = [
    ({"signal": "sqare"}, "W009: there is no signal 'sqare'; did you mean 'square'?"),
    (
        {"vary": {"freqency": [1]}},
        "W010: square: no parameter 'freqency'; did you mean 'frequency'?",
    ),
    ({"fixed": {"dutty": 1}}, "W010: square: no parameter 'dutty'; did you mean 'duty'?"),
    ({"vary": {}}, "W011: square: say what frequency is: under vary with values to be"),
    ({"vary": {"frequency": []}}, "Q032: .*frequency: the list is empty; give values to be tried"),
    ({"vary": {"frequency": [-1.0]}}, "W002: square: frequency -1 Hz is not positive"),
    ({"fixed": {"frequency": 1.0}}, "W077: 'frequency' stands in vary and in fixed; leave one out"),
    (
        {"vary": {"frequency": [1], "duty": [0.5], "amplitude": [1]}},
        "W076: vary: frequency, duty, amplitude: one or two parameters can be varied",
    ),
    (
        {"vary": {k: {"from": 0.1, "to": 0.9, "count": 500} for k in ("frequency", "duty")}},
        "W078: vary: 250000 candidates are too many",
    ),
    (
        {"vary": {"frequency": {"from": 1, "to": 2, "count": 10**12}}},
        r"frequency: count: 1e\+12 is wrong, it must be at most 200000",
    ),
    ({"input": "v"}, r"W066: input: 'transfer function' has no input 'v' \(inputs: u\)"),
    ({"others": {"u": 1}}, "W071: others: 'u' is the input that is designed"),
    ({"others": {"v": 1}}, r"W066: others: 'transfer function' has no input 'v'"),
    ({"tuners": ["taw"]}, "W070: tuners: there is no active tuner 'taw'; did you mean 'tau'?"),
    ({"weights": {"k": 2}}, "W070: weights: there is no active tuner 'k'; did you mean 'K'?"),
    ({"sigma": {"z": 1}}, r"W073: sigma: 'z' is not an output \(outputs: y\)"),
    ({"case": "run"}, r"W063: case: there is no case 'run' \(cases: none\)"),
    (
        {"step": 200},
        "W069: duration 100 s with a step of 200 s makes 0 samples; take a shorter step",
    ),
    ({"duration": 1e12}, r"W069: .* makes 1e\+13 samples; take a longer step: \S+ is the most"),
    ({"outputs": ["z"]}, r"W093: outputs: 'transfer function' has no variable 'z' \(there are"),
    ({"criterion": "r"}, "criterion: 'r' is none of 'R', 'S_min', 'D', 'A', 'E'"),
    ({"vari": {}}, r"unknown key 'vari'; did you mean 'vary'\?"),
    ({"vary": {"frequency": {"from": 0, "to": 1, "spacing": "log"}}}, "Q030: .*two positive ends"),
    ({"limits": {"y": {"min": 2, "max": 1}}}, "Q031: .*min 2 is not below max 1; swap them"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_mistakes_are_told_with_what_to_write(settings: dict[str, object], message: str) -> None:
    with pytest.raises(es.EstimicaError, match=message):
        designed({**SQUARE, **settings})


def test_keys_of_another_kind_are_told() -> None:
    free = {"min": -1.0, "pieces": 5}
    assert 'Not used for kind = "class": min, pieces' in designed({**SQUARE, **free}).notes
    sines = {**SQUARE, "kind": "multisine", "lines": [1, 3, 9000]}
    notes = designed(sines).notes
    assert 'Not used for kind = "multisine": vary' in notes
    assert "Lines that are not below half the sampling frequency, 5 Hz, are left out (1)" in notes


def test_a_model_without_input_is_told() -> None:
    model = es.load_model("model M\n parameter Real a = 1;\n Real x(start = 1, fixed = true);\n"
                          "equation\n der(x) = -a*x;\nend M;")  # fmt: skip
    with pytest.raises(
        es.ExperimentError, match="W065: 'M' has no input, so that there is nothing"
    ):
        designed(SQUARE, model, values={"a": 1})


def test_several_inputs_must_be_told_apart() -> None:
    model = es.load_model("model M\n parameter Real a = 1;\n input Real u;\n input Real v;\n"
                          " output Real y;\nequation\n y = a*u + v;\nend M;")  # fmt: skip
    with pytest.raises(es.ExperimentError, match=r'W067: .*\(u, v\); say which .*input = "u"'):
        designed(SQUARE, model, values={"a": 1})
    with pytest.raises(es.ExperimentError, match="W075: a class of signals is for one input"):
        designed({**SQUARE, "input": ["u", "v"]}, model, values={"a": 1})


def test_a_model_needs_to_know_what_is_to_be_found() -> None:
    with pytest.raises(
        es.ExperimentError, match="W082: say which parameters of 'transfer function'"
    ):
        es.design_input(first_order(), SQUARE)
    study = es.Study(first_order(), [es.Tuner("K", start=1, active=False),
                                     es.Tuner("tau", start=2, active=False)], [])  # fmt: skip
    with pytest.raises(es.ExperimentError, match=r"W061: study .* has no active tuner"):
        es.design_input(study, SQUARE)


def test_values_of_unknown_tuners_are_told() -> None:
    study = es.Study(first_order(), [es.Tuner("K", start=1), es.Tuner("tau", start=2)], [])
    with pytest.raises(es.ExperimentError, match="W064: values: there is no tuner 'taw'; did you"):
        es.design_input(study, SQUARE, values={"taw": 2})


def test_step_and_duration_are_asked_for_without_data() -> None:
    with pytest.raises(es.ExperimentError, match="W068: say what step and duration is, in seconds"):
        designed({"vary": {"frequency": [1]}})


def test_formulas_have_no_course_of_an_input() -> None:
    study = es.Study(_formula(), [es.Tuner("a", start=1)], [])
    with pytest.raises(es.ExperimentError, match=r"W060: .* has no time"):
        es.design_input(study, SQUARE)


def _formula() -> es.Model:
    from estimica.simulate.formula import formula_model

    return formula_model({"y": "a*x"}, inputs=["x"])


def test_pictures_that_do_not_exist_are_told() -> None:
    with pytest.raises(
        es.ExperimentError, match="W081: there is no picture 'measure'; did you mean"
    ):
        designed(SQUARE).plot("measure")


def test_the_table_is_read_with_its_defaults() -> None:
    table = input_design_table({})
    assert (table.kind, table.criterion, table.signal) == ("class", "R", "square")


# --- what least R costs ---------------------------------------------------------------------------


def _amplitudes(criterion: str, **more: object) -> es.Result:
    settings = {
        "signal": "square",
        "step": 0.1,
        "duration": 100,
        "fixed": {"frequency": 0.05},
        "vary": {"amplitude": [1.0, 4.0]},
        "criterion": criterion,
        **more,
    }
    model = es.transfer_function("K/(1 + tau*s)")
    return es.design_input(model, settings, values={"K": 1, "tau": 2})


def test_least_r_says_when_it_costs_accuracy() -> None:
    """Of a linear model R is the same for every amplitude; errors are not."""
    design = _amplitudes("R", sigma=0.02)
    assert design.best.settings == {"amplitude": 1.0}
    small, large = (c.judgement.relative for c in design.tried)
    np.testing.assert_allclose(small, 4 * large, rtol=1e-9)
    note = design.notes[0]
    assert note.startswith(
        "Least R costs accuracy: compared with amplitude = 4 standard errors are K"
    )
    assert f"K {100 * small[0]:.3g} % instead of {100 * large[0]:.3g} %" in note
    assert note.endswith("criterion A chooses the smallest errors")
    told = design.to_dict()
    assert told["most_exact"] == {"index": 1, "candidate": "amplitude = 4", "amplitude": 4.0}
    page = design.page()
    (section,) = [s for s in page.sections if s.heading == "What the choice costs"]
    rows = section.shown[0].rows
    assert [row[1] for row in rows] == ["amplitude = 1", "amplitude = 4"]


def test_the_smallest_errors_cost_nothing() -> None:
    design = _amplitudes("A", sigma=0.02)
    assert design.best.settings == {"amplitude": 4.0}
    assert not any("costs accuracy" in n for n in design.notes)
    # without a noise level, errors are in per cent of the output: the amplitude does not count
    assert not any("costs accuracy" in n for n in _amplitudes("R").notes)


def test_a_sine_of_least_r_is_nearly_the_most_exact() -> None:
    """R is least at q = 1/3, the mean square error at q = (√17 − 3)/4, only 1 % smaller."""
    omega = [np.sqrt(q / (1 - q)) / 2 for q in (0.05, 0.2808, 1 / 3, 0.8)]
    settings = {
        "signal": "sine",
        "step": 0.05,
        "duration": 2000,
        "sigma": 0.02,
        "vary": {"frequency": [w / (2 * np.pi) for w in omega]},
    }
    model = es.transfer_function("K/(1 + tau*s)")
    design = es.design_input(model, settings, values={"K": 1, "tau": 2})
    assert design.best.settings["frequency"] == pytest.approx(omega[2] / (2 * np.pi))
    assert design.to_dict()["most_exact"]["index"] == 1
    assert not any("costs accuracy" in n for n in design.notes)
