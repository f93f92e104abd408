"""Robust designs: what counts of the scenarios, and that it holds in others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.optimise.formula_studies import formula_study

import estimica as es
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.design import prepare_design
from estimica.optimise.robust import in_scenario, prepare_any_design, scenarios_of, tail
from estimica.study.tables.optimisation import Distribution, RobustTable, optimise_table

MISS = es.Criterion("miss", "(x - a)^2")


def miss(**robust: object) -> es.Optimised:
    return es.optimise(formula_study({"x": 0.2}, [MISS]), robust=robust)


def test_the_worst_of_three_targets_is_least_midway_between_the_outer_ones() -> None:
    found = miss(uncertain={"a": [0.0, 1.0, 3.0]})
    assert found.best.tuners == pytest.approx([1.5], abs=1e-5)
    assert found.alpha == pytest.approx(2.25, abs=1e-5)
    assert len(found.scenarios) == 3
    assert "Of 3 scenarios the worst counts." in found.criteria_table().note


def test_the_mean_is_least_at_the_mean_of_the_targets() -> None:
    found = miss(uncertain={"a": [0.0, 1.0, 3.0]}, measure="mean")
    assert found.best.tuners == pytest.approx([4 / 3], abs=1e-6)
    assert found.alpha == pytest.approx(np.mean((4 / 3 - np.array([0, 1, 3])) ** 2), abs=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
def test_the_tail_is_the_mean_of_the_worst(share: float) -> None:
    w = np.random.default_rng(3).random(200)
    worst = np.sort(w)[-round((1 - share) * 200) :]
    assert worst.mean() <= tail(w, share) + 1e-12
    assert tail(w, share) == pytest.approx(worst.mean(), abs=2e-3)
    assert tail(w, share) > np.quantile(w, share)


@pytest.mark.parametrize("measure", ["worst", "mean", "quantile"])
def test_what_counts_has_the_gradient_that_differences_find(measure: str) -> None:
    study = formula_study({"x": 0.2}, [MISS])
    spread = {"kind": "normal", "mean": 0.0, "sigma": 1.0}
    robust = {"uncertain": {"a": spread}, "measure": measure, "quantile": 0.6, "scenarios": 30}
    design = prepare_any_design(study, optimise_table({"robust": robust}))

    def at(x: float) -> DesignPoint:
        point = design.at(design.unknowns.coordinates(np.array([x])))
        assert isinstance(point, DesignPoint)
        return point

    for x in (-0.4, 0.1, 0.73):
        point = at(x)
        assert point.slopes is not None
        assert point.factors is not None
        slope = float(point.slopes[0, 0] / point.factors[0])
        step = 1e-6
        wanted = (at(x + step).values[0] - at(x - step).values[0]) / (2 * step)
        assert slope == pytest.approx(float(wanted), rel=1e-5)


def test_all_combinations_of_lists_meet_the_draws() -> None:
    study = formula_study({"x": 0.0}, [es.Criterion("miss", "(x - a*b)^2 + c")])
    table = RobustTable(
        uncertain={"a": (1.0, 2.0), "b": (3.0, 4.0, 5.0), "c": Distribution(min=0.0, max=1.0)},
        scenarios=4,
    )
    found = scenarios_of(study, table, seed=1)
    assert len(found) == 2 * 3 * 4
    assert {(s["a"], s["b"]) for s in found} == {(a, b) for a in (1, 2) for b in (3, 4, 5)}
    assert all(0 <= s["c"] <= 1 for s in found)
    assert found == scenarios_of(study, table, seed=1)
    assert found != scenarios_of(study, table, seed=2)


MASS = """
model Mass "A mass on a spring that a controller brings to 1"
  parameter Real k = 4 "gain";
  parameter Real d = 2 "damping";
  parameter Real m = 1 "mass";
  output Real x(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = k*(1 - x) - d*v;
  annotation(experiment(StopTime = 10));
end Mass;
"""


def mass_study(folder: Path) -> es.Study:
    (folder / "Mass.mo").write_text(MASS, encoding="utf-8")
    return es.Study(
        es.load_model(folder / "Mass.mo"),
        [es.Tuner("k", start=4, min=0.5, max=20), es.Tuner("d", start=2, min=0.2, max=20)],
        [],
        criteria=[
            es.Criterion("error", "x", "itae", reference=1.0, demand=0.5),
            es.Criterion("overshoot", "x", "overshoot", reference=1.0, demand=0.05),
        ],
    )


def test_a_robust_design_beats_the_nominal_one_where_it_was_not_tried(tmp_path: Path) -> None:
    study = mass_study(tmp_path)
    masses = Distribution(min=0.5, max=2.0)
    nominal = es.optimise(study)
    robust = es.optimise(study, robust={"uncertain": {"m": masses}, "scenarios": 6})
    assert robust.outcome.ok
    unseen = scenarios_of(study, RobustTable(uncertain={"m": masses}, scenarios=12), seed=99)
    assert not {s["m"] for s in unseen} & {s["m"] for s in robust.scenarios}

    def worst(found: es.Optimised) -> float:
        values = []
        for scenario in unseen:
            design = prepare_design(in_scenario(study, scenario))
            point = design.at(design.unknowns.coordinates(found.best.tuners), slopes=False)
            assert isinstance(point, DesignPoint)
            values.append(point.largest)
        return max(values)

    assert worst(robust) < 0.7 * worst(nominal)
    assert robust.to_dict()["scenarios"]
    assert "Scenarios" in robust.report(tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_fit_gives_start_values_and_their_scatter(tmp_path: Path) -> None:
    study = mass_study(tmp_path)
    time = np.linspace(0, 6, 61)
    rng = np.random.default_rng(1)
    swing = study.model.response(time, parameters={"m": 1.4, "k": 3.0}, outputs=["x"]).at().Y[:, 0]
    measured = swing + 0.01 * rng.standard_normal(len(time))
    data = es.Case("run", {"time": time, "x": measured}, outputs={"x": "x"}, fix={"k": 3.0})
    fit = es.fit(es.Study(study.model, [es.Tuner("m", start=1, min=0.1, max=5)], [data]))
    mass = float(fit.values[0])
    assert mass == pytest.approx(1.4, abs=0.05)
    held = es.optimise(study, start=fit, max_evaluations=2)
    assert held.study.active_cases[0].fix == {"m": mass}
    robust = es.optimise(
        study, start=fit, robust={"covariance": True, "scenarios": 5}, max_evaluations=2
    )
    drawn = np.array([s["m"] for s in robust.scenarios])
    assert len(drawn) == 5
    assert np.abs(drawn - mass).max() < 4 * float(fit.accuracy.stderr[0])
    again = es.optimise(study, start=held, max_evaluations=1)
    assert again.start.tuners == pytest.approx(held.best.tuners)
