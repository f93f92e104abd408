"""Published optima of constrained problems, through the same door that a study takes."""

from __future__ import annotations

import math

import pytest
from tests.optimise.hock_schittkowski import PROBLEMS, Problem

import estimica as es
from estimica.optimise.optimum.result import Optimised
from estimica.optimise.optimum.run import optimise
from estimica.simulate.formula import formula_model
from estimica.study.criterion import Criterion


def study_of(problem: Problem) -> es.Study:
    n = len(problem.start)
    low = problem.low or (-math.inf,) * n
    high = problem.high or (math.inf,) * n
    tuners = [
        es.Tuner(name, start=s, min=a, max=b)
        for name, s, a, b in zip(problem.tuners, problem.start, low, high, strict=True)
    ]
    criteria = [
        Criterion("cost", problem.cost),
        *(Criterion(f"g{k}", f"{g} + 1", role="at-most") for k, g in enumerate(problem.at_most)),
        *(Criterion(f"h{k}", f"{h} + 1", role="equal") for k, h in enumerate(problem.equal)),
    ]
    model = formula_model({c.name: c.of for c in criteria}, ())
    return es.Study(model, tuners, [], criteria=criteria)


def miss(found: Optimised, problem: Problem) -> float:
    """How far the cost is from the published one, relative to its size."""
    return abs(float(found.best.values[0]) - problem.best) / max(1.0, abs(problem.best))


BY_NUMBER = {p.number: p for p in PROBLEMS}
FREE = [p for p in PROBLEMS if not p.at_most and not p.equal]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"HS{p.number}")
def test_sqp_finds_the_published_optimum(problem: Problem) -> None:
    found = optimise(study_of(problem), method="sqp", tolerance=1e-12, max_iterations=300)
    assert found.outcome.ok, found.outcome
    assert miss(found, problem) < 1e-6
    assert not found.differenced


@pytest.mark.parametrize("problem", FREE, ids=lambda p: f"HS{p.number}")
@pytest.mark.parametrize("method", ["quasi-newton", "pattern"])
def test_methods_with_bounds_find_it_too(method: str, problem: Problem) -> None:
    found = optimise(study_of(problem), method=method, max_iterations=40)
    assert miss(found, problem) < 1e-3


#: HS1 and HS26 have curved valleys in which linear models creep; HS71 begins in a corner of its
#: bounds from which no linear model leads to the limits
CREEPING = (1, 26, 71)


@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if p.number not in CREEPING], ids=lambda p: f"HS{p.number}"
)
def test_the_simplex_of_linear_models_finds_it_too(problem: Problem) -> None:
    found = optimise(study_of(problem), method="simplex", tolerance=1e-7, max_iterations=50)
    assert miss(found, problem) < 1e-3


@pytest.mark.parametrize("number", [5, 21, 65])
def test_the_genetic_algorithm_comes_near(number: int) -> None:
    problem = BY_NUMBER[number]
    found = optimise(study_of(problem), method="genetic", max_iterations=150, population=60)
    assert miss(found, problem) < 1e-3
    assert found.outcome.status == "iteration limit"
