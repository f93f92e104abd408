"""Criterion "prediction" for Python functions and FMUs: fits agree with those of the equations."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.test_prediction import MODEL, case, table
from tests.fmus.build import HERE, builder, built

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.study.check.run import check

FUNCTION = """
import numpy as np

parameters = {"R": 0.01, "C": 1e5, "T0": 20.0}
inputs = ["Ta", "Q"]
outputs = ["T"]
states = {"T": "T0"}


def room(u, t, p):
    T = np.empty(len(t))
    T[0] = p["T0"]
    for k in range(len(t) - 1):
        F = np.exp(-(t[k + 1] - t[k]) / (p["R"] * p["C"]))
        T[k + 1] = F * T[k] + (1 - F) * (u[k, 0] + p["R"] * u[k, 1])
    return T
"""


def model(folder: Path) -> es.Model:
    path = folder / "room.py"
    path.write_text(FUNCTION, encoding="utf-8")
    return es.load_model(f"{path}:room")


def study(model: es.Model, cases: list[es.Case], **more: object) -> es.Study:
    settings: dict[str, object] = {"process_noise": {"T": "s"}, **more}
    return es.Study(model, ["R", "C"], cases, "prediction", **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> tuple[es.Fit, es.Fit]:
    """(by equations, by differences): two cases, values missing, a start value free, a prior."""
    first, second = table(80, 1), table(60, 2)
    first.loc[20:24, "T"] = np.nan
    cases = [case(first, "a"), case(second, "b", free_start=["T"])]
    tuners = [es.Tuner("R", prior=es.Prior(0.01, 1e-3)), es.Tuner("C", min=5e4, max=2e5)]
    folder = tmp_path_factory.mktemp("room")
    found = [
        es.fit(es.Study(one, tuners, cases, "prediction", process_noise={"T": "s"}), progress=False)
        for one in (es.load_model(MODEL), model(folder))
    ]
    return found[0], found[1]


def test_a_fit_by_differences_is_that_of_the_equations_and_says_how_it_went(
    fits: tuple[es.Fit, es.Fit],
) -> None:
    right, ours = fits
    assert ours.outcome.status == "converged"
    assert ours.cost == pytest.approx(right.cost, abs=1e-4)
    errors = np.sqrt(np.diag(right.covariance))
    assert (np.abs(ours.values - right.values) < 1e-3 * errors).all()
    np.testing.assert_allclose(np.sqrt(np.diag(ours.covariance)), errors, rtol=1e-3)
    assert ours.derivatives.startswith("filter by differences: slopes by the states off by about")


def test_states_predictions_and_forecasts_go_by_differences_too(
    fits: tuple[es.Fit, es.Fit],
) -> None:
    right, ours = (es.states(f) for f in fits)
    for one, other in zip(ours.courses, right.courses, strict=True):
        np.testing.assert_allclose(one.smoothed, other.smoothed, atol=1e-3)
        np.testing.assert_allclose(one.filtered, other.filtered, atol=1e-3)
    right, ours = (es.predict(f, ahead=3) for f in fits)
    for one, other in zip(ours.outputs, right.outputs, strict=True):
        np.testing.assert_allclose(one.predicted, other.predicted, atol=1e-3)
        np.testing.assert_allclose(one.error, other.error, rtol=1e-3)
    right, ours = (es.forecast(f, case="a", until=80 * 300.0, hold="last", paths=2) for f in fits)
    for one, other in zip(ours.courses, right.courses, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-3)


def test_the_search_for_noise_finds_what_it_does_with_equations(tmp_path: Path) -> None:
    found = [
        es.find_noise(es.Study(one, ["R"], [case(table(40))], "ml"), progress=False)
        for one in (es.load_model(MODEL), model(tmp_path))
    ]
    assert found[0].found == found[1].found
    assert found[1].fit.cost == pytest.approx(found[0].fit.cost, abs=1e-4)


def test_an_output_may_be_a_formula_of_states(tmp_path: Path) -> None:
    frame = table(40)
    outputs = {"y": es.OutputColumn("T", expression="2*T + b")}
    frame["T"] = 2 * frame["T"] + 0.5
    cases = [es.Case("a", frame, inputs={"Ta": "Ta", "Q": "Q"}, outputs=outputs)]
    prior = es.Prior(0.5, 0.1)
    found = [
        es.fit(
            es.Study(
                one, ["R", es.Tuner("b", start=0.4, prior=prior)], cases, "prediction",
                process_noise={"T": "s"},
            ),
            progress=False,
        )
        for one in (es.load_model(MODEL), model(tmp_path))
    ]  # fmt: skip
    right, ours = found
    assert ours.cost == pytest.approx(right.cost, abs=1e-4)
    errors = np.sqrt(np.diag(right.covariance))
    assert (np.abs(ours.values - right.values) < 1e-2 * errors).all()


def test_a_gap_splits_the_record_of_a_function_with_states(tmp_path: Path) -> None:
    frame = table(60)
    frame = frame.drop(index=range(30, 40))
    own = study(model(tmp_path), [case(frame)])
    split = es.fit(own, progress=False)
    assert [u.name for u in split.unknowns.items].count("T") == 1
    assert len(split.stretches) == 2


def test_a_function_goes_to_another_process(tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(model(tmp_path)))
    assert again.start_states == ("T",)
    assert list(again.states.index) == ["T"]
    run = again.simulate([0.0, 100.0], {"Ta": 20.0, "Q": 0.0}, start={"T": 25.0})
    assert run.value("T")[0] == 25.0


def test_workers_find_the_same(tmp_path: Path) -> None:
    frame = table(40)
    own = study(model(tmp_path), [case(frame)])
    one = es.fit(own, progress=False, starts=2, seed=1, workers=1)
    two = es.fit(own, progress=False, starts=2, seed=1, workers=2)
    np.testing.assert_allclose(two.values, one.values, rtol=1e-6)


def test_a_study_file_says_it_all(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(FUNCTION, encoding="utf-8")
    table(40).to_csv(tmp_path / "data.csv", index=False)
    text = """
[model]
source = "room.py:room"

[estimate]
criterion = "prediction"

[process_noise]
T = "s"

[tune]
R = {}

[[case]]
name = "a"
data = "data.csv"
inputs = { Ta = "Ta", Q = "Q" }
outputs = { T = "T" }
"""
    (tmp_path / "room.toml").write_text(text, encoding="utf-8")
    fit = es.fit(es.read_study(tmp_path / "room.toml"), progress=False)
    assert fit.outcome.status == "converged"
    (tmp_path / "room.toml").write_text(text.replace('T = "s"', 'Tt = "s"'), encoding="utf-8")
    problems = check(es.read_study(tmp_path / "room.toml"))
    assert any(p.code == "Q243" and "did you mean 'T'?" in str(p) for p in problems)


def test_functions_without_states_are_told_how_to_name_them() -> None:
    def plain(u, t, p):  # type: ignore[no-untyped-def]
        return u[:, 0] * p["R"]

    one = es.function_model(plain, {"R": 1.0, "C": 1.0}, ["Ta", "Q"], ["T"])
    own = study(one, [case(table(20))], process_noise={})
    with pytest.raises(EstimicaError, match=r"M243: .*name its states"):
        es.fit(own, progress=False)


def test_a_monitor_is_refused(fits: tuple[es.Fit, es.Fit]) -> None:
    with pytest.raises(EstimicaError, match="I817"):
        es.Monitor(fits[1], case="a")


def test_states_of_a_function_are_named_and_checked() -> None:
    def f(u, t, p):  # type: ignore[no-untyped-def]
        return u + p["x0"]

    def made(states: object) -> None:
        es.function_model(f, {"x0": 1.0, "k": 2.0}, ["u"], ["x"], states=states)  # type: ignore[arg-type]

    for states in ({"z": "x0"}, {"x": "x1"}, ["x"]):
        with pytest.raises(EstimicaError, match="M139"):
            made(states)
    one = es.function_model(f, {"x0": 1.0, "k": 2.0}, ["u"], ["x"], states={"x": "x0"})
    with pytest.raises(EstimicaError, match="M138"):
        one.sensitivities([0.0, 1.0], wrt=["x", "x0"])
    found = one.sensitivities([0.0, 1.0], wrt=["x"])
    np.testing.assert_allclose(found.derivative("x", "x"), 1.0, rtol=1e-8)
    assert pd.Series(one.states["value"])["x"] == 1.0


@pytest.mark.skipif(not builder.compiler(), reason="no C compiler")
def test_a_fit_of_an_fmu_is_that_of_the_model_that_it_was_made_of() -> None:
    pytest.importorskip("fmpy")
    t, rng = np.arange(30) * 900.0, np.random.default_rng(1)
    heat = 2000.0 * (np.floor(t / 7200) % 2)
    compiled = es.load_model(str(HERE / "rcThermal.mo"))
    plain = compiled.simulate(t, {"P_heat": (t, heat)}).value("T_room")
    drifted = plain + np.cumsum(0.05 * rng.normal(size=30)) + 0.05 * rng.normal(size=30)
    frame = pd.DataFrame({"time": t, "P": heat, "T": drifted})
    cases = [es.Case("a", frame, inputs={"P_heat": "P"}, outputs={"T_room": "T"})]
    right, ours = (
        es.fit(
            es.Study(one, ["air.C"], cases, "prediction", process_noise={"air.T": "s"}),
            progress=False,
        )
        for one in (compiled, es.load_model(built("rcThermal")))
    )
    assert ours.outcome.status == "converged"
    assert ours.cost == pytest.approx(right.cost, abs=1e-4)
    errors = np.sqrt(np.diag(right.covariance))
    assert (np.abs(ours.values - right.values) < 1e-2 * errors).all()
    assert ours.derivatives.startswith("filter by differences")
