"""Searches for the best design, against solutions that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.optimise.formula_studies import formula_study

import estimica as es
from estimica.optimise.optimum.run import DesignProgress

#: Charalambous and Conn (1978), the second and third problem: smooth functions, largest one least
CB2 = ("x1^2 + x2^4", "(2 - x1)^2 + (2 - x2)^2", "2*exp(x2 - x1)")
CB3 = ("x1^4 + x2^2", "(2 - x1)^2 + (2 - x2)^2", "2*exp(x2 - x1)")


def min_max(formulas: tuple[str, ...], start: tuple[float, float]) -> es.Study:
    criteria = [es.Criterion(f"f{k}", of) for k, of in enumerate(formulas, start=1)]
    return formula_study({"x1": start[0], "x2": start[1]}, criteria)


@pytest.mark.parametrize(
    ("formulas", "best", "value"),
    [(CB2, (1.139038, 0.899560), 1.9522245), (CB3, (1.0, 1.0), 2.0)],
)
def test_the_largest_criterion_is_made_least(
    formulas: tuple[str, ...], best: tuple[float, float], value: float
) -> None:
    found = es.optimise(min_max(formulas, (2.0, 2.0)))
    assert found.outcome.ok
    assert found.alpha == pytest.approx(value, abs=1e-6)
    assert found.best.tuners == pytest.approx(best, abs=1e-4)
    assert not found.satisfied
    assert found.aggregate == found.alpha


@pytest.mark.parametrize("sharpness", [20.0, 200.0])
def test_the_smooth_maximum_bounds_the_largest_from_above(sharpness: float) -> None:
    found = es.optimise(
        min_max(CB3, (2.0, 2.0)), aggregate="smooth-max", sharpness=sharpness, tolerance=1e-10
    )
    assert found.alpha <= found.aggregate <= found.alpha + np.log(3) / sharpness
    assert 2.0 - 1e-9 <= found.alpha <= 2.0 + np.log(3) / sharpness


def test_the_weighted_sum_has_its_minimum_between_those_of_its_parts() -> None:
    criteria = [es.Criterion("a", "(x - 1)^2"), es.Criterion("b", "(x + 1)^2", demand=3.0)]
    found = es.optimise(formula_study({"x": 4.0}, criteria), aggregate="sum")
    assert found.best.tuners == pytest.approx([0.5], abs=1e-6)  # (x - 1) + (x + 1)/3 = 0


@pytest.mark.parametrize("method", ["sqp", "simplex"])
def test_weights_shift_the_compromise_but_not_what_satisfies(method: str) -> None:
    weighed = [
        es.Criterion("a", "x", demand=2.0, weight=3.0),
        es.Criterion("b", "1/x", demand=4.0),
        es.Criterion("limit", "x", role="at-most", demand=5.0, weight=100.0),  # weighs nothing
    ]
    found = es.optimise(formula_study({"x": (2.0, 0.01, 10.0)}, weighed), method=method)
    x = np.sqrt(1 / 6)  # 3·x/2 = 1/(4·x)
    assert found.best.tuners == pytest.approx([x], rel=1e-3)
    assert found.aggregate == pytest.approx(3 * x / 2, rel=1e-3)
    assert found.alpha == pytest.approx(1 / (4 * x), rel=1e-3)  # of the demand, without weights
    assert found.satisfied
    assert found.to_dict()["criteria"]["design"]["a"]["weight"] == 3.0  # type: ignore[index]


def test_weights_of_a_sum_are_factors_of_its_parts() -> None:
    criteria = [es.Criterion("a", "(x - 1)^2"), es.Criterion("b", "(x + 1)^2", weight=3.0)]
    found = es.optimise(formula_study({"x": 4.0}, criteria), aggregate="sum")
    assert found.best.tuners == pytest.approx([-0.5], abs=1e-6)  # (x - 1) + 3·(x + 1) = 0
    assert found.aggregate == pytest.approx(1.5**2 + 3 * 0.5**2, abs=1e-9)


def test_weights_of_a_case_count_where_a_settling_time_is_bounded_smoothly(tmp_path: Path) -> None:
    (tmp_path / "Lag.mo").write_text(
        "model Lag parameter Real k = 1; Real x(start = 0, fixed = true); "
        "equation der(x) = k*(1 - x); end Lag;"
    )
    study = es.Study(
        es.load_model(tmp_path / "Lag.mo"),
        [es.Tuner("k", start=1.0, min=0.1, max=10.0)],
        [es.Case("one", stop=40.0)],
        criteria=[
            es.Criterion("effort", "k*(1 - x)", "maximum", weight={"one": 4.0}),
            es.Criterion("time", "x", "settling-time", reference=1.0, band=0.05),
        ],
    )
    found = es.optimise(study)
    # effort k, time ln(20)/k: 4·k = ln(20)/k, within the 0.1 % that the search stays off the band
    assert found.best.tuners == pytest.approx([np.sqrt(np.log(20) / 4)], rel=2e-3)


def test_a_step_into_a_region_without_values_is_taken_back_and_told() -> None:
    criterion = es.Criterion("cost", "(x + 0.5)^2 - 0.01*log(x)")
    found = es.optimise(formula_study({"x": 3.0}, [criterion]), tolerance=1e-10)
    assert found.outcome.ok
    assert found.best.tuners == pytest.approx([(np.sqrt(1.08) - 1) / 4], rel=1e-3)
    assert found.failures
    assert found.failures[0].message == "criterion 'cost' is nan"
    assert found.failures[0].values["x"] <= 0
    assert found.to_dict()["evaluations"]["failed"] == len(found.failures)  # type: ignore[index]


TWO_VALLEYS = es.Criterion("cost", "x^4 - 2*x^2 + 0.3*x + 2")


def test_further_starts_find_the_deeper_valley() -> None:
    study = formula_study({"x": (0.9, -2.0, 2.0)}, [TWO_VALLEYS])
    one, many = es.optimise(study, starts=1), es.optimise(study, starts=5)
    deep, _, shallow = np.sort(np.roots([4, 0, -4, 0.3]))
    assert float(one.best.tuners[0]) == pytest.approx(shallow, abs=1e-4)
    assert float(many.best.tuners[0]) == pytest.approx(deep, abs=1e-4)
    assert many.alpha < one.alpha


def test_the_most_designs_are_kept_to() -> None:
    found = es.optimise(min_max(CB2, (2.0, 2.0)), max_evaluations=3)
    assert (found.outcome.status, found.evaluations) == ("evaluation limit", 3)
    assert found.outcome.message == "3 designs were simulated"
    assert found.alpha < float(found.start.weighted.max())


def test_the_most_seconds_are_kept_to() -> None:
    found = es.optimise(min_max(CB2, (2.0, 2.0)), max_seconds=1e-9)
    assert found.outcome.status == "time limit"


@pytest.mark.parametrize("method", ["sqp", "genetic", "simplex"])
def test_an_interrupted_search_keeps_the_best(method: str) -> None:
    def stop(p: DesignProgress) -> None:
        if p.evaluations >= 30:
            raise KeyboardInterrupt

    found = es.optimise(min_max(CB2, (20.0, 20.0)), progress=stop, method=method)
    assert found.outcome.status == "interrupted"
    assert found.alpha < float(found.start.weighted.max())


DECAY = """
model Decay
  parameter Real k = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
  annotation(experiment(StopTime = 2));
end Decay;
"""


def test_a_function_of_the_trajectory_is_differenced_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "Decay.mo").write_text(DECAY, encoding="utf-8")
    (tmp_path / "last.py").write_text(
        'def half(trajectory):\n    return abs(float(trajectory["x"][-1]) - 0.5)\n',
        encoding="utf-8",
    )
    (tmp_path / "decay.toml").write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nk = { start = 0.5, min = 0, max = 5 }\n'
        '[[criterion]]\nname = "half"\nkind = "function"\nfunction = "last.py:half"\n'
        '[[criterion]]\nname = "area"\nkind = "integral"\nof = "x"\nrole = "watch"\n'
        '[[indicator]]\nname = "decay"\nshow = ["x", "k*x"]\n',
        encoding="utf-8",
    )
    found = es.optimise(es.read_study(tmp_path / "decay.toml"), aggregate="sum")
    assert float(found.best.tuners[0]) == pytest.approx(np.log(2) / 2, abs=1e-3)
    assert found.differenced == ("half in design",) or found.differenced == ("half",)
    assert "Gradients by differences, not exact: half" in found.criteria_table().note
    curves = found.indicators()
    assert [c.title for c in curves] == ["decay"]
    labels = [c.name for c in curves[0].panels[0].curves]
    assert labels == ["x, before", "k*x, before", "x, after", "k*x, after"]
    k = float(found.best.tuners[0])
    after = curves[0].panels[0].curves[2]
    assert after.value == pytest.approx(np.exp(-k * after.time), abs=1e-5)
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Indicators" in page


def test_progress_has_the_indicators_of_the_best_design(tmp_path: Path) -> None:
    (tmp_path / "Decay.mo").write_text(DECAY, encoding="utf-8")
    study = es.Study(
        es.load_model(tmp_path / "Decay.mo"),
        [es.Tuner("k", start=0.5, min=0.0, max=5.0)],
        [],
        criteria=[es.Criterion("miss", "x", "final", demand=0.1)],
        indicators=[es.Indicator("decay", ("x",))],
    )
    drawn = []

    def look(p: DesignProgress) -> None:
        drawn.append((p.best.tuners[0], p.indicators()[0].values[0][-1]))

    es.optimise(study, progress=look, max_evaluations=3)
    assert drawn
    for k, last in drawn:
        assert last == pytest.approx(np.exp(-2 * k), abs=1e-5)
