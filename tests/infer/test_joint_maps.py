"""Maps and curves whose points are members of an ensemble agree with points one by one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from estimica.infer.cost_curve.run import cost_curve
from estimica.infer.criterion_map import together
from estimica.infer.criterion_map.run import criterion_map
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation, Execution
from estimica.study.study import Study
from estimica.study.tuner import Tuner

TANK = """model Tank "its level cannot be simulated for a negative area of the drain"
  parameter Real A = 2;
  parameter Real k = 0.5;
  parameter Real h0 = 1;
  input Real q;
  output Real h(start = h0, fixed = true);
equation
  A*der(h) = q - sqrt(k)*h;
end Tank;
"""


@cache
def tank(backend: str, criterion: str = "oe") -> Study:
    """Two cases, noise of 1 %."""
    model, rng = load_model(TANK), np.random.default_rng(4)
    time, cases = np.linspace(0, 12, 49), []
    for name, flow in (("fill", 1.0), ("drain", 0.2)):
        run = model.simulate(time, {"q": flow}, outputs=["h"])
        h = run.value("h") + 0.01 * rng.standard_normal(len(time))
        table = pd.DataFrame({"time": time, "h": h})
        outputs = {"h": OutputColumn("h", weight=1.0)} if criterion == "oe" else {"h": "h"}
        cases.append(Case(name, table, inputs={"q": flow}, outputs=outputs))
    tuners = [
        Tuner("A", start=1.5, min=0.1, max=9, scale="log"),
        Tuner("k", start=0.6),
        Tuner("h0", start=0.8),
    ]
    estimation = Estimation(criterion=criterion)
    return Study(model, tuners, cases, estimation=estimation, execute=Execution(backend=backend))  # type: ignore[arg-type]


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("refit", [False, True])
def test_a_map_of_members_is_that_of_single_points(criterion: str, refit: bool) -> None:
    settings = {"points": (9, 7), "ranges": {"k": (-0.1, 0.9)}, "refit": refit}
    one, many = (
        criterion_map(tank(backend, criterion), "A", "k", **settings)  # type: ignore[arg-type]
        for backend in ("scalar", "vector")
    )
    assert one.worked_by.backend == "scalar"
    assert many.worked_by.backend == "vector"
    assert many.worked_by.alone >= len(many.holes) > 0
    assert {(h.first, h.second) for h in many.holes} == {(h.first, h.second) for h in one.holes}
    assert all("case 'fill'" in h.message for h in many.holes)
    # outputs agree within 1e-5; two sums of squares of N residuals r differ by 2 √(N Σr²) · 1e-5
    rise = np.maximum(one.cost - np.nanmin(one.cost), 1.0)
    assert np.nanmax(np.abs(many.cost - one.cost) / rise) < 1e-4
    assert many.to_dict()["worked_by"]["backend"] == "vector"  # type: ignore[index]


@pytest.mark.parametrize("refit", [False, True])
def test_a_map_does_not_depend_on_threads(refit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "COSTS", 64)
    one, two = (
        criterion_map(tank("auto"), "A", "k", points=12, refit=refit, workers=n) for n in (1, 2)
    )
    assert one.cost.tobytes() == two.cost.tobytes()


@pytest.mark.parametrize("refit", [False, True])
def test_a_curve_of_members_is_that_of_single_points(refit: bool) -> None:
    one, many = (
        cost_curve(tank(backend), "k", points=21, range=(-0.2, 0.9), refit=refit)
        for backend in ("scalar", "vector")
    )
    assert many.worked_by.backend == "vector"
    assert [h.value for h in many.holes] == [h.value for h in one.holes]
    assert many.holes
    assert many.cost == pytest.approx(one.cost, rel=1e-4, abs=1e-6, nan_ok=True)


def test_progress_is_told_in_rows() -> None:
    seen = []
    criterion_map(
        tank("auto"), "A", "k", points=5, progress=lambda p: seen.append((p.done, p.count))
    )
    assert seen[-1] == (5, 5)
