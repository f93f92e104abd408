"""Studies made of PEtab problems: their cost is the problem's likelihood, and fits find it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.study.petab_problems import CASES, RICH, judged, solution, written

from estimica.base.errors import StudyError
from estimica.estimate.objective.cost import Point, scored
from estimica.estimate.run.fit import fit
from estimica.estimate.setup import prepare
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.file.read import read_study
from estimica.study.petab.convert import open_problem, write_petab_study
from estimica.study.petab.export import write_petab
from estimica.study.petab.likelihood import jacobian_of
from estimica.study.study import Study
from estimica.study.tuner import Prior, Tuner

pytest.importorskip("libsbml")


def likelihood_of(study: Study, path: Path) -> float:
    """The log-likelihood at the starts: −2 log L is the cost, log 2π a sample, and Jacobians."""
    objective = scored(prepare(study).calibration(), {})
    point = objective.at(objective.unknowns.start)
    assert isinstance(point, Point), point
    built, _ = judged(path)
    count = sum(map(len, built.samples.values()))
    return -0.5 * (point.cost + count * math.log(2 * math.pi)) + jacobian_of(built)


@pytest.mark.parametrize("number", ["0003", "0005", "0006", "0007", "0008", "0010", "0013", "0015"])
def test_the_cost_of_a_study_is_the_likelihood_of_the_test_suite(number: str) -> None:
    path = CASES / "v1.0.0" / "sbml" / number / f"_{number}.yaml"
    assert likelihood_of(read_study(path), path) == pytest.approx(solution(path)["llh"], abs=1e-3)


def test_periods_replicates_laplace_noise_and_formulas_of_sigma_together(tmp_path: Path) -> None:
    path = written(tmp_path, **RICH)
    expected = judged(path)[1].at().value
    assert likelihood_of(read_study(path), path) == pytest.approx(expected, abs=1e-6)


def test_the_written_study_means_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, **RICH)
    files = write_petab_study(open_problem(path), tmp_path / "own.toml", "problem.yaml")
    assert [f.name for f in files[:2]] == ["own.toml", "own.mo"]
    expected = judged(path)[1].at().value
    assert likelihood_of(read_study(files[0]), path) == pytest.approx(expected, abs=1e-6)


def test_a_fit_of_a_problem_finds_the_rates(tmp_path: Path) -> None:
    found = fit(read_study(written(tmp_path)))
    assert found.outcome.ok
    values = found.parameters["value"]
    # A goes from 1 to k2/(k1 + k2); the data are that for k1 = 0.8, k2 = 0.6 with errors of 0.02
    assert values["k2"] / (values["k1"] + values["k2"]) == pytest.approx(0.43, abs=0.02)
    path = tmp_path / "problem.yaml"
    best = judged(path)[1].at(dict(values)).value
    assert best > judged(path)[1].at().value


MODEL = """model M
  parameter Real k = 0.5;
  parameter Real x0 = 2;
  parameter Real u = 1;
  Real x(start = x0, fixed = true);
  Real z(start = 0, fixed = true);
  Real y;
equation
  der(x) = -k*x + (if time < 2.5 then u else 0);
  der(z) = x - z;
  y = 2*x + z^2;
end M;"""


def own_study(**first: object) -> Study:
    """Two cases with a switch in time, a transform, and an open noise level."""
    model = load_model(MODEL)
    times = np.linspace(0.0, 5.0, 11)
    noise = 0.05 * np.random.default_rng(1).standard_normal((11, 2))
    y, z = (model.simulate(times, outputs=["y", "z"]).values + noise).T
    log = OutputColumn("y", sigma=0.1, transform="log")
    cases = [
        Case(
            "first one",
            {"t": times, "y": y, "z": z},
            time="t",
            outputs={"y": OutputColumn("y", sigma="0.02*y + s"), "z": "z"},
            **first,
        ),
        Case("b", {"t": times, "y": 1.1 * y}, outputs={"y": log}, time="t", fix={"u": 1.2}),
    ]
    tuners = [
        Tuner("k", start=0.4, min=0.01, max=10, scale="log"),
        Tuner("x0", start=1.5, min=0, max=10),
        Tuner("s", start=0.05, min=1e-3, max=1),
    ]
    return Study(model, tuners, cases, criterion="ml")


def test_an_exported_study_is_fitted_to_the_same_values(tmp_path: Path) -> None:
    study = own_study()
    path = write_petab(study, tmp_path)
    ours, theirs = fit(study), fit(read_study(path))
    assert theirs.cost == pytest.approx(ours.cost, abs=1e-3)
    for name in ("k", "x0", "s"):
        error = ours.parameters["stderr"][name]
        found = theirs.parameters["value"][name]
        assert found == pytest.approx(ours.parameters["value"][name], abs=0.01 * error)
    assert theirs.parameters["value"]["sigma_z"] == pytest.approx(
        ours.noise["z"].variance ** 0.5, rel=1e-3
    )


@pytest.mark.filterwarnings("ignore")  # of petab's own
def test_an_exported_study_is_good_petab(tmp_path: Path) -> None:
    petab = pytest.importorskip("petab.v1")
    path = write_petab(own_study(), tmp_path)
    problem = petab.Problem.from_yaml(str(path))
    assert not petab.lint_problem(problem)


def test_what_petab_cannot_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"Q147: case 'first one' has a free start value, 'z'"):
        write_petab(own_study(free_start=["z"]), tmp_path)
    with pytest.raises(StudyError, match=r"Q142: case 'first one' begins at -1"):
        write_petab(own_study(begin=-1.0), tmp_path)
    events = load_model(
        "model E Real x(start = 1, fixed = true); equation der(x) = -1; "
        "when x < 0 then reinit(x, 1); end when; end E;"
    )
    case = Case("a", {"t": [0.0, 1.0], "x": [1.0, 0.5]}, outputs={"x": "x"}, time="t")
    with pytest.raises(StudyError, match=r"Q141: 'E' has events; only explicit"):
        write_petab(Study(events, [], [case]), tmp_path)


@pytest.mark.parametrize("number", ["0003", "0007", "0008", "0016"])
def test_the_log_likelihood_of_a_fit_is_that_of_the_test_suite(number: str) -> None:
    path = CASES / "v1.0.0" / "sbml" / number / f"_{number}.yaml"
    study = read_study(path)
    nominal = study.with_(tuners=[replace(t, active=False) for t in study.tuners])
    told = fit(nominal).to_dict()
    assert told["log_likelihood"] == pytest.approx(solution(path)["llh"], abs=1e-3)
    assert told["aic"] == pytest.approx(-2 * told["log_likelihood"])  # nothing is estimated


SLOW = {
    "conditions": "conditionId k1 k2\npre {rate} {rate}\nc0 0.8 0.6",
    "parameters": "parameterId parameterScale lowerBound upperBound nominalValue estimate\n"
    "a0 lin 0.1 10 1 1\nb0 lin 0 10 0 0",
    "measurements": "observableId preequilibrationConditionId simulationConditionId time "
    "measurement\nobs pre c0 0 0.52\nobs pre c0 1 0.47\nobs pre c0 2 0.44\nobs pre c0 5 0.43",
}


@pytest.mark.parametrize(("rate", "says"), [("1e-7", True), ("1e-4", False)])
def test_a_preequilibration_that_has_not_settled_is_said(
    tmp_path: Path, rate: str, says: bool
) -> None:
    # after 1e6 units of time the slow one is e^-0.2 away from its steady state
    path = written(tmp_path, **{n: t.replace("{rate}", rate) for n, t in SLOW.items()})
    message = fit(read_study(path)).outcome.message
    assert ("not every model state is steady before the data of" in message) is says


def with_prior(folder: Path, shape: str, numbers: str, scale: str = "log10") -> Path:
    head = "parameterId parameterScale lowerBound upperBound nominalValue estimate "
    return written(
        folder,
        parameters=f"{head}objectivePriorType objectivePriorParameters\n"
        f"k1 {scale} 1e-3 1e3 0.8 1 {shape} {numbers}\n"
        "k2 log10 1e-3 1e3 0.6 1  \na0 lin 0 10 1 0  \nb0 lin 0 10 0 0  ",
    )


@pytest.mark.parametrize(
    ("shape", "numbers", "scale", "prior"),
    [
        ("normal", "2;0.5", "log10", Prior(2.0, 0.5)),
        ("logNormal", "-0.2;0.5", "log10", Prior(-0.2, 0.5, "log")),
        ("logNormal", "-0.2;0.5", "lin", Prior(-0.2, 0.5, "log")),
        ("parameterScaleNormal", "-0.1;0.3", "log10", Prior(-0.1, 0.3, "log10")),
        ("parameterScaleNormal", "-0.1;0.3", "log", Prior(-0.1, 0.3, "log")),
        ("parameterScaleNormal", "0.9;0.3", "lin", Prior(0.9, 0.3)),
    ],
)
def test_normal_priors_count_as_the_problem_says(
    tmp_path: Path, shape: str, numbers: str, scale: str, prior: Prior
) -> None:
    study = read_study(with_prior(tmp_path, shape, numbers, scale))
    assert study.tuners[0].prior == prior
    assert study.notes == ()


def test_a_uniform_prior_is_bounds(tmp_path: Path) -> None:
    tuner = read_study(with_prior(tmp_path, "uniform", "0.5;2000")).tuners[0]
    assert (tuner.min, tuner.max, tuner.start) == (0.5, 1000.0, 0.8)
    tuner = read_study(with_prior(tmp_path, "parameterScaleUniform", "-1;0")).tuners[0]
    assert (tuner.min, tuner.max) == (pytest.approx(0.1), pytest.approx(1.0))
    with pytest.raises(StudyError, match="Q128: parameter 'k1': its prior leaves nothing"):
        read_study(with_prior(tmp_path, "uniform", "2000;3000"))
    with pytest.raises(StudyError, match="Q129: parameter 'k1': a normal prior has two numbers"):
        read_study(with_prior(tmp_path, "normal", "2"))


def test_a_fit_says_which_prior_it_leaves_out(tmp_path: Path) -> None:
    found = fit(read_study(with_prior(tmp_path, "parameterScaleLaplace", "0;0.5")))
    said = "'k1': its laplace prior on log10 (0; 0.5) is not used"
    assert said in found.to_dict()["remarks"]
    assert said in " ".join(str(found).split())


def test_priors_are_not_in_the_log_likelihood(tmp_path: Path) -> None:
    path = with_prior(tmp_path, "logNormal", "1.5;0.1")
    found = fit(read_study(path))
    values = dict(found.parameters["value"])
    assert values["k1"] > 2.0  # the prior pulls it away from 0.8
    assert found.log_likelihood == pytest.approx(judged(path)[1].at(values).value, abs=1e-5)
    assert found.aic == pytest.approx(-2 * found.log_likelihood + 4)


@pytest.mark.parametrize("start", ["1e-12", "1e-9"])
def test_a_search_with_a_noise_level_far_too_small_goes_on(tmp_path: Path, start: str) -> None:
    tables = {
        "observables": "observableId observableFormula noiseFormula\nobs A sd",
        "parameters": "parameterId parameterScale lowerBound upperBound nominalValue estimate\n"
        f"k1 log10 1e-3 1e3 8 1\nk2 log10 1e-3 1e3 0.06 1\nsd log10 1e-12 10 {start} 1\n"
        "a0 lin 0 10 1 0\nb0 lin 0 10 0 0",
    }
    found = fit(read_study(written(tmp_path, **tables)))
    # at the optimum σ² is the mean square of the residuals
    assert found.parameters["value"]["sd"] == pytest.approx(
        found.cases[0].outputs[0].rmse, rel=1e-3
    )
