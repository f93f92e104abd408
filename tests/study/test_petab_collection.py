"""The PEtab benchmark collection, where ESTIMICA_PETAB_BENCHMARKS names its `Benchmark-Models`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.study.petab_problems import judged

FOLDER = os.environ.get("ESTIMICA_PETAB_BENCHMARKS", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="ESTIMICA_PETAB_BENCHMARKS names no folder"),
]
#: log-likelihoods that AMICI tests itself against, tests/benchmark_models/benchmark_models.yaml
AMICI = {
    "Boehm_JProteomeRes2014": -138.22199693517703,
    "Borghans_BiophysChem1997": 83.3237191357272,
    "Brannmark_JBC2010": -141.889113770537,
    "Bruno_JExpBot2016": 46.688176988431806,
    "Crauste_CellSystems2017": -190.96521897435176,
    "Elowitz_Nature2000": 63.20279991419332,
    "Fiedler_BMCSystBiol2016": 58.58390161681,
    "Fujita_SciSignal2010": 53.08377736998929,
    "Schwen_PONE2014": -943.9992988598723,
    "Sneyd_PNAS2002": 319.79177818768756,
    "Weber_BMC2015": -296.2017922646865,
    "Zheng_PNAS2012": 278.33353271001477,
}


@pytest.mark.parametrize("name", AMICI)
def test_likelihoods_are_those_of_amici(name: str) -> None:
    found = judged(Path(FOLDER) / name / f"{name}.yaml")[1].at()
    assert found.value == pytest.approx(AMICI[name], rel=1e-3)


@pytest.mark.parametrize("name", ["Boehm_JProteomeRes2014", "Elowitz_Nature2000"])
def test_gradients_are_those_of_differences(name: str) -> None:
    path = Path(FOLDER) / name / f"{name}.yaml"
    built, judge = judged(path, slopes=True)
    _, plain = judged(path)
    # a little beside the nominal values, where the gradient is not zero
    beside = {n: 1.05 * built.problem.nominal[n] for n in built.problem.estimated}
    gradient = judge.at(beside).gradient
    largest = max(abs(gradient[n] * beside[n]) for n in gradient)
    for n in built.problem.estimated:
        step = 1e-4 * beside[n]
        high, low = (plain.at({**beside, n: beside[n] + d}).value for d in (step, -step))
        # on the logarithmic scale, where the unknowns compare
        slope = beside[n] * (high - low) / (2 * step)
        assert gradient[n] * beside[n] == pytest.approx(slope, rel=1e-3, abs=1e-4 * largest)
