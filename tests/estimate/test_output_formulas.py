"""Outputs that are formulas of variables and tuners, against closed forms and differences."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.compiled.model.observed import ObservedModel
from estimica.data.table import Data
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.setup import prepare
from estimica.simulate.formula import formula_model
from estimica.simulate.linear.constructors import model_of_text
from estimica.study.case import OutputColumn
from estimica.study.check.run import check_file

DECAY = """
model Decay
  parameter Real k = 0.5;
  parameter Real V = 2;
  Real x(start = 1, fixed = true);
  Real c = x/V;
equation
  der(x) = -k*x;
end Decay;
"""
STAMPS = np.linspace(0, 6, 25)
TRUTH = {"k": 0.7, "scale": 3.0, "offset": 0.4}


def table(**columns: np.ndarray) -> Data:
    return Data("test", {"t": STAMPS, **columns})


def measured(seed: int = 1) -> np.ndarray:
    noise = 0.01 * np.random.default_rng(seed).standard_normal(len(STAMPS))
    return TRUTH["scale"] * np.exp(-TRUTH["k"] * STAMPS) / 2 + TRUTH["offset"] + noise


def decay_case(text: str = "scale*c + offset", name: str = "a", **more: object) -> es.Case:
    outputs = {"obs": OutputColumn("y", expression=text)}
    return es.Case(name, table(y=measured()), time="t", outputs=outputs, **more)  # type: ignore[arg-type]


TUNERS = [es.Tuner("k", 0.5), es.Tuner("scale", 1.0, scale="log"), es.Tuner("offset", 0.0)]


def scipy_fit() -> tuple[np.ndarray, np.ndarray]:
    from scipy.optimize import curve_fit

    def law(t: np.ndarray, k: float, scale: float, offset: float) -> np.ndarray:
        return scale * np.exp(-k * t) / 2 + offset

    values, covariance = curve_fit(law, STAMPS, measured(), p0=[0.5, 1, 0])
    return values, np.sqrt(np.diag(covariance))


def jacobian_error(study: es.Study, at: Mapping[str, float] = {}) -> float:
    """Largest difference of the exact Jacobian and central differences, in units of its size."""
    cases = prepare(study).calibration()
    names = [u.label for u in cases.unknowns.items]
    values = np.array([at.get(u.label, u.start) for u in cases.unknowns.items])
    found = cases.predict(values)
    assert not isinstance(found, Failure), found
    width = len(values)
    worst = 0.0
    for k in range(width):
        step = 1e-5 * max(abs(values[k]), 1e-3)
        moved = [values + step * sign * np.eye(width)[k] for sign in (1, -1)]
        up, down = (cases.predict(v) for v in moved)
        assert not isinstance(up, Failure)
        assert not isinstance(down, Failure)
        block = 0
        for predictor in cases.predictors:
            for j in range(len(predictor.record.outputs)):
                difference = (up[block].value - down[block].value) / (2 * step)
                exact = np.zeros(len(difference))
                if k in predictor.columns:
                    exact = found[block].slope[:, predictor.columns.index(k)]
                elif predictor.extras[j] == k:
                    exact = np.ones(len(difference))
                size = max(float(np.abs(difference).max()), 1e-6)
                worst = max(worst, float(np.abs(exact - difference).max()) / size)
                block += 1
    assert names
    return worst


TIGHT = es.Solver(rtol=1e-10, atol=1e-12)


def kinds() -> dict[str, es.Study]:
    """A study of every kind of model whose output is a formula with two tuners of its own."""

    def function(u, t, k=0.5):  # type: ignore[no-untyped-def]
        return np.exp(-k * t)

    plain = [es.Tuner("k", 0.5), es.Tuner("scale", 1.0), es.Tuner("offset", 0.1)]
    x = np.linspace(0.1, 2, 15)
    points = Data("test", {"x": x, "y": 2 * np.exp(-x) + 1})
    at_points = es.Case(
        "p", points, inputs={"x": "x"}, outputs={"obs": OutputColumn("y", expression="s*y^2 + x*b")}
    )
    own = [es.Tuner("b1", 1.5), es.Tuner("s", 1.2), es.Tuner("b", 0.3)]
    lag = es.Case(
        "step",
        table(u=np.ones(len(STAMPS)), y=measured()),
        time="t",
        inputs={"u": "u"},
        outputs={"obs": OutputColumn("y", expression="scale*y^2 + offset*u + 0.1*time*k")},
    )
    steady = es.load_model(
        "model S parameter Real k = 1; input Real x; Real z(start = 1); equation "
        "der(z) = x - k*z; end S;"
    ).at_points("steady")
    rest = es.Case(
        "rest", points, inputs={"x": "x"}, outputs={"obs": OutputColumn("y", expression="s*z^2+b")}
    )
    return {
        "modelica": es.Study(es.load_model(DECAY), plain, [decay_case()], solver=TIGHT),
        "function": es.Study(
            es.load_model(function), plain, [decay_case("scale*y^2 + offset*k")], solver=TIGHT
        ),
        "linear": es.Study(model_of_text("1/(1 + k*s)"), plain, [lag], solver=TIGHT),
        "formula": es.Study(formula_model({"y": "b1*exp(-x)"}, ["x"]), own, [at_points]),
        "points": es.Study(steady, [es.Tuner("k", 1.3), *own[1:]], [rest]),
    }


@pytest.mark.parametrize("kind", ["modelica", "function", "linear", "formula", "points"])
def test_the_jacobian_of_a_formula_is_exact_for_every_kind_of_model(kind: str) -> None:
    assert jacobian_error(kinds()[kind]) < 2e-6


def test_scale_and_offset_are_found_as_by_an_independent_solver() -> None:
    fit = es.fit(es.Study(es.load_model(DECAY), TUNERS, [decay_case()]))
    values, errors = scipy_fit()
    assert np.allclose(fit.values, values, rtol=1e-4)
    assert np.allclose(fit.accuracy.stderr, errors, rtol=2e-3)


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_every_transcription_finds_the_same(transcription: str) -> None:
    estimation = es.Estimation(transcription=transcription)  # type: ignore[arg-type]
    study = es.Study(es.load_model(DECAY), TUNERS, [decay_case()], estimation=estimation)
    assert np.allclose(es.fit(study).values, scipy_fit()[0], rtol=1e-3)


def test_one_formula_for_all_cases_and_another_of_a_case() -> None:
    model = es.load_model(DECAY)
    first = es.Case("a", table(y=measured()), time="t", outputs={"obs": "y"})
    second = decay_case("2*scale*c + offset", "b")
    with pytest.raises(EstimicaError, match=r"C061|in \[outputs\] too"):
        es.Study(model, TUNERS, [first, second], outputs={"obs": "scale*c + offset"})
    doubled = es.Case(
        "b",
        table(y=2 * (measured(2) - 0.4) + 0.4),
        time="t",
        outputs={"twice": OutputColumn("y", expression="2*scale*c + offset")},
    )
    study = es.Study(model, TUNERS, [first, doubled], outputs={"obs": "scale*c + offset"})
    fit = es.fit(study)
    assert np.allclose(fit.values, [0.7, 3, 0.4], rtol=0.02)


def test_cases_may_mean_different_formulas_by_one_name() -> None:
    model = es.load_model(DECAY)
    first = decay_case("scale*c + offset", "a")
    second = replace(decay_case("wild*c", "b"), data=table(y=5 * np.exp(-0.7 * STAMPS) / 2))
    study = es.Study(model, [*TUNERS, es.Tuner("wild", 1.0)], [first, second])
    found = dict(zip((u.label for u in prepare(study).tuners), es.fit(study).values, strict=True))
    assert found["wild"] == pytest.approx(5, rel=2e-3)
    assert found["scale"] == pytest.approx(3, rel=0.02)


def test_a_parameter_that_one_case_fixes_is_needed_in_that_case_only() -> None:
    first = decay_case("scale*c + offset", "a")
    second = es.Case(
        "b",
        table(y=4 * measured()),
        time="t",
        outputs={"other": OutputColumn("y", expression="gain*(scale*c + offset)")},
        fix={"gain": 4.0},
    )
    study = es.Study(es.load_model(DECAY), TUNERS, [first, second])
    assert np.allclose(es.fit(study).values, scipy_fit()[0], rtol=1e-4)


def test_a_tuner_that_drives_parameters_may_stand_in_a_formula_too() -> None:
    tuners = [
        es.Tuner("theta", 0.5, drives={"k": "theta"}),
        es.Tuner("scale", 1.0),
        es.Tuner("offset", 0.0),
    ]
    study = es.Study(
        es.load_model(DECAY), tuners, [decay_case("scale*c + offset + 0*theta")], solver=TIGHT
    )
    assert jacobian_error(study) < 2e-6
    assert np.allclose(es.fit(study).values, scipy_fit()[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scal*c + offset", "did you mean 'scale'"),
        ("scale*cc + offset", "'cc' is not a variable of the model or a tuner"),
        ("scale*(c", "output 'obs'"),
    ],
)
def test_misspelt_names_are_told_with_a_suggestion(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "Decay.mo").write_text(DECAY)
    rows = "\n".join(f"{t},{y}" for t, y in zip(STAMPS, measured(), strict=True))
    (tmp_path / "d.csv").write_text(f"t,y\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nk = 0.5\nscale = 1\noffset = 0\n'
        f'[outputs]\nobs = "{text}"\n'
        '[[case]]\nname = "a"\ndata = "d.csv"\ntime = "t"\noutputs = { obs = "y" }\n'
    )
    problems = check_file(tmp_path / "s.toml")
    assert any(said in f"{p.message} {p.suggestion}" for p in problems), problems


def test_the_name_of_a_formula_must_be_new() -> None:
    case = es.Case(
        "a", table(y=measured()), time="t", outputs={"c": OutputColumn("y", expression="2*x")}
    )
    with pytest.raises(EstimicaError, match="the model has a variable of that name"):
        es.Study(es.load_model(DECAY), TUNERS, [case])


def test_a_study_travels_to_another_process() -> None:
    study = kinds()["linear"]
    again = pickle.loads(pickle.dumps(study))
    assert isinstance(again.model, ObservedModel)
    assert again.formulas == study.formulas


def test_the_fitted_class_declares_formulas_and_their_parameters(tmp_path: Path) -> None:
    fit = es.fit(es.Study(es.load_model(DECAY), TUNERS, [decay_case()]))
    path = fit.write_modelica(tmp_path / "Fitted.mo")
    written = es.load_model(DECAY + path.read_text(), "FittedDecay")
    told = written.simulate(STAMPS, outputs=["obs"])["obs"]
    k, scale, offset = fit.values
    assert np.allclose(told, scale * np.exp(-k * STAMPS) / 2 + offset, rtol=1e-4)


def test_bootstrap_bands_residuals_and_profile_know_the_formula() -> None:
    fit = es.fit(es.Study(es.load_model(DECAY), TUNERS, [decay_case()]))
    found = es.bootstrap(fit, 20, seed=1)
    assert found
    assert es.residuals(fit)
    assert es.profile(fit, "scale")
    assert fit.plot() is not None
    assert math.isfinite(fit.cost)
