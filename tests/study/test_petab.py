"""PEtab problems: likelihoods as the test suite expects them, studies that mean the same."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.study.petab_problems import CASES, RICH, judged, solution, written

from estimica.base.errors import EstimicaError, StudyError
from estimica.study.check.run import check_file
from estimica.study.file.read import read_study
from estimica.study.petab.build import build
from estimica.study.petab.files import read_files
from estimica.study.petab.problem import read_problem
from estimica.study.tuner import Prior

VERSIONS = {"v1.0.0": 18, "v2.0.0": 19}


def problems() -> list[Path]:
    found = sorted(CASES.glob("v*/sbml/*/_????.yaml"))
    for version, count in VERSIONS.items():
        assert sum(version in p.parts for p in found) == count
    return found


@pytest.mark.parametrize("path", problems(), ids=lambda p: f"{p.parts[-4]}-{p.parts[-2]}")
def test_the_test_suite_has_its_likelihoods(path: Path) -> None:
    expected = solution(path)
    found = judged(path)[1].at()
    assert found.value == pytest.approx(expected["llh"], abs=expected["tol_llh"])
    assert found.chi2 == pytest.approx(expected["chi2"], abs=expected["tol_chi2"])


def test_the_gradient_of_the_likelihood_is_that_of_differences(tmp_path: Path) -> None:
    built, judge = judged(written(tmp_path, **RICH), slopes=True)
    nominal = built.problem.nominal
    found = judge.at()
    for name in built.problem.estimated:
        step = 1e-4 * nominal[name]
        high, low = (judge.at({name: nominal[name] + d}).value for d in (step, -step))
        assert found.gradient[name] == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-5)


def test_equilibration_ends_in_the_analytic_steady_state(tmp_path: Path) -> None:
    _, judge = judged(written(tmp_path, **RICH))
    simulated = judge.at().simulated["pre → c0"]
    begin = 0.6 / (0.3 + 0.6)  # A + B = 1, k1 A = k2 B
    end = 0.6 / (0.8 + 0.6)
    after = end + (begin - end) * math.exp(-1.4)
    np.testing.assert_allclose(
        simulated[:4], [1.1 * begin, 1.1 * after, 1.1 * after, 0.9 * end], rtol=1e-6
    )


def test_a_formula_that_cannot_be_parsed_is_told(tmp_path: Path) -> None:
    table = "conditionId A_B\nc0 x+"
    with pytest.raises(EstimicaError, match=r"S306: condition table: 'x\+'"):
        build(read_problem(written(tmp_path, conditions=table)))


def test_nothing_is_fetched_from_elsewhere(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text(encoding="utf-8").replace("model.xml", "https://example.org/m.xml")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match="Q105"):
        read_files(path)


def test_a_file_that_is_not_petab_is_told(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    assert check_file(path)[0].code == "Q101"
    with pytest.raises(StudyError, match="Q101"):
        read_study(path)
    path.write_text("format_version: 3\n", encoding="utf-8")
    with pytest.raises(StudyError, match="Q101"):
        read_study(path)


def test_priors_stand_on_the_scale_of_the_parameter(tmp_path: Path) -> None:
    head = "parameterId parameterScale lowerBound upperBound nominalValue estimate "
    table = head + "objectivePriorType objectivePriorParameters\n"
    table += "k1 log10 1e-3 1e3 0.8 1 parameterScaleNormal -0.1;0.2\n"
    table += "k2 log 1e-3 1e3 0.6 1 laplace 3;5\na0 lin 0 10 1 1 normal 1;0.5\nb0 lin 0 10 0 1 "
    table += "uniform 0;10"
    tuners = {t.name: t for t in read_study(written(tmp_path, parameters=table)).tuners}
    assert tuners["k1"].prior == Prior(mean=-0.1, sigma=0.2, on="log10")
    assert tuners["k2"].prior is None
    assert tuners["k2"].description == "its laplace prior (3; 5) is not used"
    assert tuners["a0"].prior == Prior(mean=1.0, sigma=0.5)
    assert tuners["b0"].prior is None
    assert not tuners["b0"].description
