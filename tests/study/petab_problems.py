"""PEtab problems for tests: the cases of the test suite, and small ones of our own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from estimica.study.estimation import Solver
from estimica.study.petab.build import PetabModel, build
from estimica.study.petab.convert import model_of
from estimica.study.petab.likelihood import LikelihoodEvaluator
from estimica.study.petab.problem import read_problem

pytest.importorskip("libsbml")
yaml = pytest.importorskip("yaml")

SUITE = find_spec("petabtests")  # only its files are needed; importing it takes a second
if SUITE is None or SUITE.origin is None:
    pytest.skip("no test suite of PEtab", allow_module_level=True)
CASES = Path(SUITE.origin).parent / "cases"
TIGHT = Solver(rtol=1e-8, atol=1e-10)


def judged(path: Path, *, slopes: bool = False) -> tuple[PetabModel, LikelihoodEvaluator]:
    built = build(read_problem(path))
    return built, LikelihoodEvaluator(built, model_of(built.flat), TIGHT, slopes=slopes)


def solution(path: Path) -> Mapping[str, Any]:
    text = path.with_name(f"{path.stem}_solution.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


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
