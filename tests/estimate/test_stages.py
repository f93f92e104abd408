"""Steady starts, doses and switches, against closed forms and differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.estimate.test_output_formulas import TIGHT, jacobian_error

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.data.table import Data
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.setup import prepare
from estimica.study.check.run import check_file
from estimica.study.stages import Beginning, Change, Steady

DRUG = """
model Drug
  parameter Real k = 0.2;
  parameter Real V = 5;
  parameter Real F = 0.8;
  Real A(start = 0, fixed = true);
  Real c = A/V;
equation
  der(A) = -k*A;
end Drug;
"""
TANK = """
model Tank
  parameter Real k = 0.5;
  parameter Real b = 1;
  input Real u(start = 1);
  Real x(start = 0.3, fixed = true);
  Real y(start = 0.1, fixed = true);
equation
  der(x) = b*u - k*x^2;
  der(y) = x - y;
end Tank;
"""
STAMPS = np.linspace(0, 48, 49)
DOSES = (Change(0.0, add={"A": "F*dose"}), Change(24.0, add={"A": 50.0}))


def drug(t: np.ndarray, k: float, V: float, F: float, dose: float) -> np.ndarray:
    first = F * dose * np.exp(-k * t)
    return np.asarray((first + np.where(t >= 24, 50.0 * np.exp(-k * (t - 24)), 0.0)) / V)


def dosed(**more: object) -> es.Case:
    noise = 0.02 * np.random.default_rng(3).standard_normal(len(STAMPS))
    data = Data("test", {"t": STAMPS, "c": drug(STAMPS, 0.15, 4.0, 0.8, 100) + noise})
    given = {"change": DOSES, "fix": {"F": 0.8}, **more}
    return es.Case("patient", data, time="t", outputs={"c": "c"}, **given)  # type: ignore[arg-type]


TUNERS = [es.Tuner("k", 0.2, scale="log"), es.Tuner("V", 5.0), es.Tuner("dose", 80.0)]


def predicted(study: es.Study) -> list[np.ndarray]:
    cases = prepare(study).calibration()
    found = cases.predict(np.array([u.start for u in cases.unknowns.items]))
    assert not isinstance(found, Failure), found
    return [p.value for p in found]


def test_doses_agree_with_the_closed_form() -> None:
    study = es.Study(es.load_model(DRUG), TUNERS, [dosed()], solver=TIGHT)
    assert np.allclose(predicted(study)[0], drug(STAMPS, 0.2, 5, 0.8, 80), rtol=1e-8)
    assert jacobian_error(study) < 2e-6


def test_a_fit_with_doses_is_that_of_an_independent_solver() -> None:
    from scipy.optimize import curve_fit

    case = dosed()
    fit = es.fit(es.Study(es.load_model(DRUG), TUNERS, [case]))
    law = lambda t, k, V, dose: drug(t, k, V, 0.8, dose)  # noqa: E731
    data = case.data
    assert isinstance(data, Data)
    values, covariance = curve_fit(law, STAMPS, data.columns["c"], p0=[0.2, 5, 80])
    assert np.allclose(fit.values, values, rtol=1e-4)
    assert np.allclose(fit.accuracy.stderr, np.sqrt(np.diag(covariance)), rtol=5e-3)


def test_a_switched_parameter_and_a_set_state() -> None:
    changes = (
        Change(10.0, set={"k": "k_late"}),  # type: ignore[call-arg]
        Change(20.0, set={"A": "2*A + dose"}),  # type: ignore[call-arg]
    )
    case = dosed(change=changes, fix={"A": "dose"})
    tuners = [*TUNERS, es.Tuner("k_late", 0.05)]
    study = es.Study(es.load_model(DRUG), tuners, [case], solver=TIGHT)
    t = STAMPS
    at_10 = 80 * np.exp(-0.2 * 10)
    at_20 = 2 * at_10 * np.exp(-0.05 * 10) + 80
    expected = np.where(t < 10, 80 * np.exp(-0.2 * t), at_10 * np.exp(-0.05 * (t - 10)))
    expected = np.where(t < 20, expected, at_20 * np.exp(-0.05 * (t - 20))) / 5
    assert np.allclose(predicted(study)[0], expected, rtol=1e-8)
    assert jacobian_error(study) < 2e-6


def tank(begin: object, u: np.ndarray, **more: object) -> es.Case:
    t = np.linspace(0, 10, 21)
    data = Data("test", {"t": t, "u": u, "x": np.ones(21), "y": np.ones(21)})
    given = {"inputs": {"u": "u"}, "outputs": {"x": "x", "y": "y"}, "begin": begin, **more}
    return es.Case("tank", data, time="t", **given)  # type: ignore[arg-type]


TANK_TUNERS = [es.Tuner("k", 0.5), es.Tuner("b", 1.3)]


def test_a_steady_start_is_that_of_the_first_inputs_with_its_derivatives() -> None:
    u = np.where(np.arange(21) < 5, 2.0, 3.0)
    study = es.Study(es.load_model(TANK), TANK_TUNERS, [tank("steady", u)], solver=TIGHT)
    x, y = predicted(study)
    level = np.sqrt(1.3 * 2 / 0.5)
    assert np.allclose([x[:6], y[:6]], level, rtol=1e-8)
    assert x[-1] == pytest.approx(np.sqrt(1.3 * 3 / 0.5), rel=1e-3)
    assert jacobian_error(study) < 5e-6


def test_a_steady_state_at_other_conditions_comes_before() -> None:
    before = Beginning(steady=Steady(inputs={"u": 4.0}, fix={"k": "k_before"}))
    tuners = [*TANK_TUNERS, es.Tuner("k_before", 0.8)]
    study = es.Study(es.load_model(TANK), tuners, [tank(before, np.full(21, 2.0))], solver=TIGHT)
    x, _ = predicted(study)
    assert x[0] == pytest.approx(np.sqrt(1.3 * 4 / 0.8), rel=1e-9)
    assert x[-1] == pytest.approx(np.sqrt(1.3 * 2 / 0.5), rel=1e-4)
    assert jacobian_error(study) < 5e-6


def test_what_is_conserved_at_rest_keeps_its_amount() -> None:
    text = """
    model Pair
      parameter Real k = 2; parameter Real r = 1; parameter Real total = 3;
      Real a(start = total, fixed = true); Real b(start = 0, fixed = true);
    equation
      der(a) = -k*a + r*b; der(b) = k*a - r*b;
    end Pair;
    """
    t = np.linspace(0, 4, 9)
    data = Data("test", {"t": t, "a": np.ones(9)})
    case = es.Case(
        "c", data, time="t", outputs={"a": "a"}, begin="steady",
        change=(Change(1.0, set={"k": 5.0}),),  # type: ignore[call-arg]
    )  # fmt: skip
    tuners = [es.Tuner("k", 2.0), es.Tuner("r", 1.0), es.Tuner("total", 3.0)]
    study = es.Study(es.load_model(text), tuners, [case], solver=TIGHT)
    a = predicted(study)[0]
    assert np.allclose(a[:2], 3 * 1 / 3, rtol=1e-8)
    assert a[-1] == pytest.approx(3 / 6 + (1 - 0.5) * np.exp(-6 * 3), rel=1e-7)
    assert jacobian_error(study) < 5e-6


def test_no_steady_state_is_told_in_words() -> None:
    text = "model Up parameter Real k = 1; Real x(start = 0, fixed = true); equation der(x) = exp(k*x); end Up;"
    data = Data("test", {"t": np.arange(5.0), "x": np.ones(5)})
    case = es.Case("rising", data, time="t", outputs={"x": "x"}, begin="steady")
    fit = es.fit(es.Study(es.load_model(text), [es.Tuner("k", 1.0)], [case]))
    assert not fit.outcome.ok
    assert "no steady state" in fit.outcome.message


def test_doses_work_with_relations_of_the_model() -> None:
    text = """
    model Limited
      parameter Real k = 0.5; Real x(start = 2, fixed = true);
    equation
      der(x) = if x > 1 then -k*x else -0.1*k*x;
    end Limited;
    """
    t = np.linspace(0, 6, 13)
    data = Data("test", {"t": t, "x": np.ones(13)})
    case = es.Case(
        "c", data, time="t", outputs={"x": "x"}, change=(Change(3.0, add={"x": "more"}),)
    )
    tuners = [es.Tuner("k", 0.5), es.Tuner("more", 4.0)]
    study = es.Study(es.load_model(text), tuners, [case], solver=TIGHT)
    (x,) = predicted(study)
    at_1 = np.log(2) / 0.5
    before = np.exp(-0.05 * (3 - at_1))
    assert x[6] == pytest.approx(before + 4, rel=1e-7)
    assert x[8] == pytest.approx((before + 4) * np.exp(-0.5 * 1), rel=1e-7)
    assert jacobian_error(study) < 1e-5


def test_when_clauses_that_a_dose_would_set_off_are_refused() -> None:
    text = """
    model Counting
      Real x(start = 2, fixed = true); parameter Real k = 1; discrete Real n(start = 0, fixed = true);
    equation
      der(x) = -k*x;
      when x > 3 then n = pre(n) + 1; end when;
    end Counting;
    """
    data = Data("test", {"t": np.arange(5.0), "x": np.ones(5)})
    case = es.Case("c", data, time="t", outputs={"x": "x"}, change=(Change(2.0, add={"x": 4.0}),))
    with pytest.raises(EstimicaError, match="when-clauses"):
        es.fit(es.Study(es.load_model(text), [es.Tuner("k", 0.5)], [case]))


def test_profile_and_bootstrap_go_through_doses() -> None:
    fit = es.fit(es.Study(es.load_model(DRUG), TUNERS, [dosed()]))
    assert es.bootstrap(fit, 10, seed=1)
    assert es.profile(fit, "k")


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_other_transcriptions_refuse_stages(transcription: str) -> None:
    way = es.Estimation(transcription=transcription)  # type: ignore[arg-type]
    with pytest.raises(EstimicaError, match="transcription = 'shooting'"):
        es.fit(es.Study(es.load_model(DRUG), TUNERS, [dosed()], estimation=way))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[[case.change]]\ntime = 2\nadd = { AA = 1 }", "did you mean 'A'"),
        ("[[case.change]]\ntime = 2\nadd = { A = 'dse' }", "did you mean 'dose'"),
        ("[[case.change]]\ntime = 2\nadd = { A = '2*(dose' }", "'A'"),
        ("[[case.change]]\ntime = -2\nadd = { A = 1 }", "before the simulation begins"),
    ],
)
def test_mistakes_are_told(lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "Drug.mo").write_text(DRUG)
    rows = "\n".join(f"{t},{y}" for t, y in zip(STAMPS, STAMPS, strict=True))
    (tmp_path / "d.csv").write_text(f"t,c\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Drug.mo"\n[tune]\nk = 0.5\ndose = 3\n[[case]]\nname = "a"\n'
        'data = "d.csv"\ntime = "t"\noutputs = { c = "c" }\nfix = { A = "dose" }\n' + lines
    )
    problems = check_file(tmp_path / "s.toml")
    assert any(said in f"{p.message} {p.suggestion}" for p in problems), problems


def test_a_study_file_with_doses_is_checked_and_fitted(tmp_path: Path) -> None:
    (tmp_path / "Drug.mo").write_text(DRUG)
    truth = drug(STAMPS, 0.15, 5.0, 0.8, 100)
    rows = "\n".join(f"{t},{y}" for t, y in zip(STAMPS, truth, strict=True))
    (tmp_path / "d.csv").write_text(f"t,c\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Drug.mo"\n[tune]\nk = 0.5\ndose = 30\n[[case]]\nname = "a"\n'
        'data = "d.csv"\ntime = "t"\noutputs = { c = "c" }\n'
        '[[case.change]]\ntime = 0\nadd = { A = "0.8*dose" }\n'
        "[[case.change]]\ntime = 24\nadd = { A = 50 }\n"
    )
    assert [p for p in check_file(tmp_path / "s.toml") if not p.warning] == []
    assert np.allclose(es.fit(es.read_study(tmp_path / "s.toml")).values, [0.15, 100], rtol=1e-5)
