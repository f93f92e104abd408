"""PEtab problems: likelihoods as the test suite expects them, studies that mean the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimica.base.errors import EstimicaError, StudyError
from estimica.study.check import check_file
from estimica.study.estimation import Solver
from estimica.study.petab.build import Built, build
from estimica.study.petab.files import read_files
from estimica.study.petab.likelihood import Judge
from estimica.study.petab.opened import model_of
from estimica.study.petab.problem import read_problem
from estimica.study.study_file import read_study

petabtests = pytest.importorskip("petabtests")
pytest.importorskip("libsbml")
yaml = pytest.importorskip("yaml")

CASES = Path(petabtests.__file__).parent / "cases"
VERSIONS = {"v1.0.0": 18, "v2.0.0": 19}
TIGHT = Solver(rtol=1e-8, atol=1e-10)


def problems() -> list[Path]:
    found = sorted(CASES.glob("v*/sbml/*/_????.yaml"))
    for version, count in VERSIONS.items():
        assert sum(version in p.parts for p in found) == count
    return found


def judged(path: Path, *, slopes: bool = False) -> tuple[Built, Judge]:
    built = build(read_problem(path))
    return built, Judge(built, model_of(built.flat), TIGHT, slopes=slopes)


def solution(path: Path) -> Mapping[str, Any]:
    text = path.with_name(f"{path.stem}_solution.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


@pytest.mark.parametrize("path", problems(), ids=lambda p: f"{p.parts[-4]}-{p.parts[-2]}")
def test_the_test_suite_has_its_likelihoods(path: Path) -> None:
    expected = solution(path)
    found = judged(path)[1].at()
    assert found.value == pytest.approx(expected["llh"], abs=expected["tol_llh"])
    assert found.chi2 == pytest.approx(expected["chi2"], abs=expected["tol_chi2"])


# --- a problem of our own ------------------------------------------------------------------------

CONVERSION = CASES / "v1.0.0" / "sbml" / "0001" / "_model.xml"


def written(folder: Path, **tables: str) -> Path:
    """A problem around the conversion reaction of the test suite; blanks separate cells."""
    texts = {
        "conditions": "conditionId\nc0",
        "observables": "observableId observableFormula noiseFormula\nobs A 0.1",
        "parameters": "parameterId parameterScale lowerBound upperBound nominalValue estimate\n"
        "k1 log10 1e-3 1e3 0.8 1\nk2 log10 1e-3 1e3 0.6 1\na0 lin 0 10 1 0\nb0 lin 0 10 0 0",
        "measurements": "observableId simulationConditionId time measurement\n"
        "obs c0 0 1.02\nobs c0 1 0.58\nobs c0 2 0.47\nobs c0 5 0.42\nobs c0 10 0.43",
    } | tables
    for name, text in texts.items():
        lines = ["\t".join(line.split(" ")) for line in text.splitlines()]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "model.xml").write_text(CONVERSION.read_text(encoding="utf-8"), encoding="utf-8")
    path = folder / "problem.yaml"
    path.write_text(
        "format_version: 1\nparameter_file: parameters.tsv\nproblems:\n"
        "- sbml_files: [model.xml]\n"
        + "".join(f"  {n[:-1]}_files: [{n}.tsv]\n" for n in texts if n != "parameters"),
        encoding="utf-8",
    )
    return path


RICH = {
    "conditions": "conditionId k1 B\npre 0.3 0\nc0 0.8 NaN\nc1 1.4 0.5",
    "observables": "observableId observableFormula noiseFormula observableTransformation "
    "noiseDistribution\n"
    "obs observableParameter1_obs*A noiseParameter1_obs+rel*obs lin normal\n"
    "low B 0.2 log10 laplace",
    "parameters": "parameterId parameterScale lowerBound upperBound nominalValue estimate\n"
    "k2 log10 1e-3 1e3 0.6 1\ns1 lin 0 10 1.1 1\ns2 lin 0 10 0.9 1\nrel lin 0.01 10 0.05 1\n"
    "sd log 1e-3 1e3 0.07 1\na0 lin 0 10 1 1\nb0 lin 0 10 0 0",
    "measurements": "observableId preequilibrationConditionId simulationConditionId time "
    "measurement observableParameters noiseParameters\n"
    "obs pre c0 0 0.7 s1 sd\nobs pre c0 1 0.55 s1 sd\nobs pre c0 1 0.6 s1 0.05\n"
    "obs pre c0 inf 0.5 s2 sd\nobs  c1 1 0.4 s2 sd\nobs  c1 3 0.45 s2 0.03\n"
    "low  c1 1 0.9  \nlow pre c0 2 0.6  \nobs  c1 3 0.5 s2 0.06",
}


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


def test_a_missing_file_or_column_is_told(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "observables.tsv").unlink()
    (tmp_path / "observable.tsv").write_text("observableId\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"Q103: there is no file .*did you mean 'observable.tsv'"):
        read_files(path)
    for table, text, message in (
        ("measurements", "observableId simulationConditionId time measurement\nob c0 0 1",
         r"Q116: measurements: there is no observable 'ob'; did you mean 'obs'"),
        ("measurements", "observableId simulationConditionId time measurement\nobs c0 zero 1",
         r"Q112: measurement of 'obs': 'zero' is not a number"),
        ("measurements", "observableId simulationConditionId time measurement\nobs c1 0 1",
         r"Q110: measurements name condition 'c1'"),
        ("observables", "observableId observableFormula noiseFormula\nobs A+k3 0.1",
         r"Q125: 'k3' is neither in the model nor in the parameter table"),
        ("observables", "observableId observableFormula noiseFormula\nobs A noiseParameter1_obs",
         r"Q117: measurement of 'obs': noiseParameters has 0 entries"),
        ("conditions", "conditionId A_B\nc0 x+", r"S306: condition table: 'x\+'"),
    ):  # fmt: skip
        with pytest.raises(EstimicaError, match=message):
            build(read_problem(written(tmp_path, **{table: text})))


def test_nothing_is_fetched_from_elsewhere(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text(encoding="utf-8").replace("model.xml", "https://example.org/m.xml")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"Q105: .*download it and name the file"):
        read_files(path)


def test_a_file_that_is_not_petab_is_told(tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    assert check_file(path)[0].code == "Q101"
    with pytest.raises(StudyError, match=r"Q101: .*is not a PEtab problem"):
        read_study(path)
    path.write_text("format_version: 3\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"versions 1 and 2 of PEtab"):
        read_study(path)
