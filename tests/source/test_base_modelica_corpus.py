"""The Base Modelica that OpenModelica itself wrote, where a collection of it is at hand.

ESTIMICA_BASE_MODELICA_CORPUS names a folder of .bmo files, such as the tests of BaseModelica.jl.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.source.base_modelica.parser import parse

_VARIABLE = "ESTIMICA_BASE_MODELICA_CORPUS"
_FOLDER = os.environ.get(_VARIABLE, "")

pytestmark = pytest.mark.skipif(
    not _FOLDER, reason=f"{_VARIABLE} names no folder of Base Modelica files"
)


def corpus() -> list[Path]:
    return sorted(Path(_FOLDER).rglob("*.bmo"))


def test_every_file_parses() -> None:
    files = corpus()
    assert files
    for path in files:
        assert parse(path.read_text(encoding="utf-8"), path.name).classes, path


def test_files_load_and_simulate_or_say_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    refused = []
    for path in corpus():
        counts["parsed"] += 1
        try:
            model = es.load_model(path)
            counts["loaded"] += 1
            model.simulate(np.linspace(0.0, model.experiment.stop or 1.0, 11))
            counts["simulated"] += 1
        except EstimicaError as error:
            if error.code.startswith("E"):
                counts["loaded"] += 1  # the equations are read; there are too few or too many
            refused.append(f"{path.name}: {error}")
    with capsys.disabled():
        print(f"\n{dict(counts)}", *refused, sep="\n  ")
    assert counts["loaded"] >= 0.85 * counts["parsed"]


def test_the_cauer_filter_does_as_its_state_equations_by_hand_do() -> None:
    """Two inductors and five capacitors, two of them in loops: the equations have index two."""
    found = [f for f in corpus() if f.stem == "CauerLowPassAnalog"]
    if not found:
        pytest.skip("the collection has no CauerLowPassAnalog")
    L1, L2, C1, C3, C5 = 1.304, 0.8586, 1.072, 1.682, 0.7262
    C2, C4 = 1 / (1.704992**2 * L1), 1 / (1.179945**2 * L2)
    loops = np.array([[C1 + C2, -C2, 0], [-C2, C2 + C3 + C4, -C4], [0, -C4, C4 + C5]])

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        u = 1.0 if t >= 1.0 else 0.0
        currents = np.array([u - x[0] - x[3], x[3] - x[4], x[4] - x[2]])
        return np.r_[np.linalg.solve(loops, currents), (x[0] - x[1]) / L1, (x[1] - x[2]) / L2]

    times = np.linspace(0.0, 60.0, 13)
    expected = solve_ivp(
        rates, (0.0, 60.0), np.zeros(5), t_eval=times, rtol=1e-9, atol=1e-11, max_step=0.1
    )
    run = es.load_model(found[0]).simulate(times, outputs=["C5.v"])
    np.testing.assert_allclose(run["C5.v"], expected.y[2], atol=3e-6)
