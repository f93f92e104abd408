"""What a search says at its end is true: converged, unbounded, infeasible, stalled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.optimise.formula_studies import formula_study
from tests.optimise.hock_schittkowski import PROBLEMS
from tests.optimise.test_methods import miss, study_of

import estimica as es

LOCAL = ["sqp", "quasi-newton", "simplex"]


@pytest.mark.parametrize("method", LOCAL)
@pytest.mark.parametrize("formula", ["-x", "1/x^2"])
def test_criteria_that_fall_without_end_have_no_best_design(method: str, formula: str) -> None:
    found = es.optimise(formula_study({"x": 1.0}, [es.Criterion("cost", formula)]), method=method)
    assert (found.outcome.status, found.outcome.ok) == ("unbounded", False)
    assert found.outcome.message.startswith("the criteria still fall at x = ")
    assert "set bounds on x" in found.outcome.message
    assert "There is no best design." in found.table().note
    assert "satisfied" not in found.table().note


@pytest.mark.parametrize("method", LOCAL)
def test_a_largest_criterion_that_falls_without_end_has_none_either(method: str) -> None:
    both = [es.Criterion("a", "-x"), es.Criterion("b", "-y")]
    found = es.optimise(formula_study({"x": 1.0, "y": 1.0}, both), method=method)
    assert found.outcome.status == "unbounded"
    assert "set bounds on x and y" in found.outcome.message


def test_a_minimum_that_is_far_away_is_not_called_unbounded() -> None:
    study = formula_study({"x": 1.0}, [es.Criterion("cost", "(x/1e7 - 1)^2")])
    found = es.optimise(study, method="simplex")
    assert found.outcome.status == "converged"
    assert found.best.tuners == pytest.approx([1e7], rel=1e-3)


def test_a_population_says_that_it_ended_at_the_edge_of_where_it_looked() -> None:
    study = formula_study({"x": 1.0}, [es.Criterion("cost", "-x")])
    found = es.optimise(study, method="genetic", max_iterations=10)
    assert found.outcome.status == "iteration limit"
    assert found.outcome.message.endswith("set bounds on x")


CORNER = [es.Criterion("cost", "x + y"), es.Criterion("g", "(x-1)^2 + (y-1)^2 + 1", role="at-most")]


@pytest.mark.parametrize("method", ["sqp", "simplex", "genetic"])
@pytest.mark.parametrize("start", [(1.0, 1.0), (3.0, 2.0)])
def test_the_only_feasible_design_is_found(method: str, start: tuple[float, float]) -> None:
    tuners = {"x": (start[0], -5.0, 5.0), "y": (start[1], -5.0, 5.0)}
    found = es.optimise(formula_study(tuners, CORNER), method=method, max_iterations=20)
    assert found.outcome.ok, found.outcome
    assert found.best.tuners == pytest.approx([1.0, 1.0], abs=0.02)


@pytest.mark.parametrize("method", ["sqp", "simplex", "genetic"])
def test_two_equalities_leave_one_design(method: str) -> None:
    tuners = {"x": (3.0, -5.0, 5.0), "y": (2.0, -5.0, 5.0)}
    criteria = [
        es.Criterion("cost", "x^2 + y^2"),
        es.Criterion("sum", "x + y", role="equal"),
        es.Criterion("difference", "x - y", demand=3.0, role="equal"),
    ]
    found = es.optimise(formula_study(tuners, criteria), method=method, max_iterations=20)
    assert found.outcome.ok, found.outcome
    assert found.best.tuners == pytest.approx([2.0, -1.0], abs=1e-3)


@pytest.mark.parametrize("method", ["sqp", "simplex", "genetic"])
def test_limits_that_no_design_meets_are_named_with_what_was_tried(method: str) -> None:
    criteria = [
        es.Criterion("cost", "x^2"),
        es.Criterion("low", "x", role="at-most"),
        es.Criterion("high", "4 - x", role="at-most"),
    ]
    study = formula_study({"x": (0.5, -5.0, 5.0)}, criteria)
    found = es.optimise(study, method=method, max_iterations=10)
    assert (found.outcome.status, found.outcome.ok) == ("infeasible", False)
    assert found.outcome.message == (
        "the limits cannot be met: 'low' and 'high' do not hold together anywhere within the bounds "
        "of the tuners (by intervals)"
    )
    assert found.best.tuners == pytest.approx([2.0], abs=1e-3)  # the worst violation is least


def test_a_limit_that_its_bounds_exclude_is_told_with_what_it_can_be() -> None:
    cost = es.Criterion("cost", "x")
    over = es.Criterion("over", "x^2 + 2", demand=1.5, role="at-most", unit="kg")
    found = es.optimise(formula_study({"x": (1.0, -3.0, 3.0)}, [cost, over]))
    assert found.outcome.status == "infeasible"
    told = "'over' is at least 2 kg within the bounds of the tuners, not 1.5"
    assert found.outcome.message.endswith(told)
    equal = es.Criterion("equal", "sin(x)", demand=2.0, role="equal")
    found = es.optimise(formula_study({"x": 1.0}, [cost, equal]))
    assert found.outcome.message.endswith(
        "'equal' is at most 1 within the bounds of the tuners, not 2"
    )


@pytest.mark.parametrize("method", ["sqp", "simplex"])
def test_limits_without_a_proof_are_not_met_from_so_many_starts(method: str) -> None:
    # a slit of the width 2e-4 beside a wide valley: there is a design, and no search finds it
    slit = es.Criterion(
        "slit", "min(1 + x^2/10, 0.5 + 1e8*(x - 3.33333)^2) + 0.1*sin(y)^2", role="at-most",
        demand=0.9,
    )  # fmt: skip
    study = formula_study(
        {"x": (0.5, -5.0, 5.0), "y": (1.0, -5.0, 5.0)}, [es.Criterion("cost", "x^2"), slit]
    )
    found = es.optimise(study, method=method, starts=3)
    assert (found.outcome.status, found.outcome.ok) == ("not met", False)
    assert re.match(
        r"the limits were not met from \d+ starts: 'slit' is missed by 0\.11 of its demand; ease",
        found.outcome.message,
    )
    page = str(found)
    assert "cannot be met" not in page
    assert "infeasible" not in page


def test_a_simulated_limit_is_never_called_impossible(tmp_path: Path) -> None:
    (tmp_path / "Lag.mo").write_text(
        "model Lag parameter Real k = 1; Real x(start = 0, fixed = true); "
        "equation der(x) = k*(1 - x); annotation(experiment(StopTime = 2)); end Lag;"
    )
    study = es.Study(
        es.load_model(tmp_path / "Lag.mo"),
        [es.Tuner("k", start=1.0, min=0.1, max=2.0)],
        [],
        criteria=[
            es.Criterion("effort", "k", "value"),
            es.Criterion("gap", "1 - x", "final", demand=0.001, role="at-most"),  # exp(-4) at best
        ],
    )
    found = es.optimise(study)
    assert found.outcome.status == "not met"
    assert "'gap' is missed by 17 of its demand" in found.outcome.message  # e⁻⁴/0.001 - 1 = 17.3
    assert found.best.tuners == pytest.approx([2.0])


def test_a_method_that_loses_its_way_to_the_limits_is_helped() -> None:
    problem = next(p for p in PROBLEMS if p.number == 71)
    found = es.optimise(study_of(problem), method="simplex")
    assert found.outcome.ok
    assert miss(found, problem) < 1e-3


def test_criteria_that_do_not_change_are_not_called_converged() -> None:
    flat = es.optimise(formula_study({"x": 1.0}, [es.Criterion("cost", "2 + 0*x")]))
    assert flat.outcome.status == "stalled"
    assert flat.outcome.message.startswith("the criteria do not change around the design")
    steps = es.Criterion("cost", "if x > 2 then 2 else 1")
    stepped = es.optimise(formula_study({"x": (3.0, 0.0, 10.0)}, [steps]))
    assert stepped.alpha == 1.0  # what lies behind the step was looked for


def test_the_outcome_is_that_of_the_start_that_found_the_best_design() -> None:
    valleys = es.Criterion("cost", "x^4 - 2*x^2 + 0.3*x + 2")
    found = es.optimise(formula_study({"x": (0.9, -2.0, 2.0)}, [valleys]), starts=4)
    assert found.outcome.status == "converged"


def test_words_of_libraries_do_not_reach_the_user() -> None:
    for formula in ("-x", "abs(x - 2)", "sqrt(x)", "x^2"):
        found = es.optimise(formula_study({"x": 1.0}, [es.Criterion("cost", formula)]))
        told = found.outcome.message
        assert not any(word in told.lower() for word in ("linesearch", "directional", "lsq"))
