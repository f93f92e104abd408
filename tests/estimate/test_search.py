"""How the search behaves: bounds, failed simulations, limits, interruption, scales."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares, lsq_linear
from tests.estimate.problems import curve, rc_table, simulated

from estimica.base.errors import TunerError
from estimica.estimate.run.fit import fit
from estimica.estimate.run.one_start import Progress
from estimica.estimate.search.run import Status
from estimica.simulate.formula import formula_model
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

X = np.linspace(0, 3, 40)
Y = 2.0 * np.exp(-1.3 * X)
METHODS = ["levenberg-marquardt", "gauss-newton", "steepest-descent"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_optimum(method: str) -> None:
    noisy = Y + 0.02 * np.random.default_rng(1).standard_normal(40)
    settings = Estimation(method=method, max_iterations=2000)
    found = fit(curve("a*exp(-b*x)", X, noisy, {"a": 1.0, "b": 1.0}, settings))
    best = least_squares(lambda p: p[0] * np.exp(-p[1] * X) - noisy, [1, 1], xtol=1e-14, gtol=1e-14)
    assert found.outcome.ok
    assert found.values == pytest.approx(best.x, rel=1e-5)


@pytest.mark.parametrize("method", METHODS[:2])
def test_tuner_at_its_bound_is_flagged_and_the_others_are_best_there(method: str) -> None:
    tuners = [Tuner("a", start=1.0, max=1.5), Tuner("b", start=1.0)]
    found = fit(curve("a*exp(-b*x)", X, Y, tuners, Estimation(method=method)))
    best = least_squares(
        lambda p: p[0] * np.exp(-p[1] * X) - Y,
        [1, 1],
        bounds=([-np.inf, -np.inf], [1.5, np.inf]),
        xtol=1e-14,
        gtol=1e-14,
        ftol=1e-14,
    )
    assert found.values == pytest.approx(best.x, rel=1e-5)
    assert found.at_bound == ("max", "")
    # it stays free in the covariance: the next record may put it elsewhere
    assert found.accuracy.stderr[0] > 0
    assert found.accuracy.interval[0, 1] == 1.5
    assert found.accuracy.stderr[1] > 0
    assert bool(found.parameters.at_bound["a"])


@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_correlated_tuners_end_where_bounded_least_squares_does(
    method: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    n = 5
    A = random.standard_normal((40, n)) @ (np.eye(n) + 3 * random.standard_normal((n, n)))
    y = 5 * random.standard_normal(40)
    low, high = -random.uniform(0, 0.5, n), random.uniform(0, 0.5, n)
    names = [f"x{k}" for k in range(n)]
    model = formula_model({"y": " + ".join(f"p{k}*x{k}" for k in range(n))}, inputs=names)
    table = pd.DataFrame({**dict(zip(names, A.T, strict=True)), "y": y})
    case = Case(
        "points",
        table,
        inputs={x: x for x in names},
        outputs={"y": OutputColumn("y", weight=1.0)},
    )
    tuners = [Tuner(f"p{k}", start=0.0, min=low[k], max=high[k]) for k in range(n)]
    found = fit(Study(model, tuners, [case], estimation=Estimation(method=method)))
    best = lsq_linear(A, y, (low, high), method="bvls", tol=1e-14)
    assert found.outcome.ok
    assert found.cost == pytest.approx(2 * best.cost, rel=1e-9)
    assert [bool(b) for b in found.at_bound] == list(best.active_mask != 0)


def test_trial_point_whose_simulation_fails_is_a_rejected_step() -> None:
    # sqrt(k) makes every k < 0 fail; Gauss-Newton's first step goes there
    model = load_model(
        """model Leak
          parameter Real k = 1; output Real h(start = 4, fixed = true);
        equation
          der(h) = -sqrt(k)*h;
        end Leak;"""
    )
    time = np.linspace(0, 4, 50)
    table = simulated(model, time, {}, {"k": 0.01}, ["h"])
    case = Case("run", table, outputs={"h": "h"})
    found = fit(
        Study(model, [Tuner("k", start=4.0)], [case], estimation=Estimation(method="gauss-newton"))
    )
    assert found.outcome.ok
    assert found["k"] == pytest.approx(0.01, rel=1e-5)
    assert found.evaluations.failed > 0
    failure = found.evaluations.failures[0]
    assert failure.case == "run"
    assert failure.values["k"] < 0
    assert "failed on the way" in found.outcome.message


def test_simulation_that_fails_at_the_start_is_an_outcome() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    found = fit(Study(model, [Tuner("R", start=-1e-3)], [case]))
    assert found.outcome.status is Status.FAILED
    assert "fails at the start values" in found.outcome.message
    assert found.cost == np.inf
    assert "run" in found.outcome.message


def test_interruption_returns_the_best_so_far() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    costs = []

    def stop(progress: Progress) -> None:
        costs.append(progress.iteration.cost)
        if progress.iteration.number == 2:
            raise KeyboardInterrupt

    found = fit(Study(model, [Tuner("R", start=5.0)], [case]), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.cost == costs[-1] == min(costs)
    assert len(found.iterations) == 3
    assert found.cases[0]["v"].rmse > 0


def test_limits_of_iterations_and_time_end_the_search() -> None:
    few = fit(curve("a*exp(-b*x)", X, Y, {"a": 1.0, "b": 9.0}, Estimation(max_iterations=2)))
    assert few.outcome.status is Status.ITERATIONS
    assert len(few.iterations) == 3
    late = fit(curve("a*exp(-b*x)", X, Y, {"a": 1.0, "b": 9.0}, Estimation(max_seconds=1e-9)))
    assert late.outcome.status is Status.TIME


def test_costs_fall_from_iteration_to_iteration() -> None:
    found = fit(curve("a*exp(-b*x)", X, Y, {"a": 1.0, "b": 9.0}))
    costs = [i.cost for i in found.iterations]
    assert all(b < a for a, b in itertools.pairwise(costs))


def test_magnitudes_of_1e_minus_12_and_1e9_need_no_scaling() -> None:
    model = load_model(
        """model Cell
          parameter Real C = 1e-12; parameter Real R = 1e9; parameter Real offset = 0;
          input Real u; Real v(start = 0, fixed = true); output Real y = v + offset;
        equation
          R*C*der(v) = u - v;
        end Cell;"""
    )
    time = np.linspace(0, 5e-3, 200)
    u = np.sign(np.sin(2e3 * time))
    table = simulated(model, time, {"u": u}, {"C": 0.7e-12, "R": 0.8e9, "offset": 0.1}, ["y"])
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"}, fix={"R": 0.8e9})
    found = fit(Study(model, ["C", "offset"], [case]))
    assert found.values == pytest.approx([0.7e-12, 0.1], rel=1e-5)


def test_logarithmic_scale_finds_a_tuner_that_is_decades_away() -> None:
    tuner = Tuner("b", start=1e-4, scale="log")
    found = fit(curve("exp(-b*x)", X, np.exp(-3.0 * X), [tuner]))
    assert found["b"] == pytest.approx(3.0, rel=1e-7)


def test_tuner_that_starts_at_zero_is_no_division_by_zero() -> None:
    found = fit(curve("a + b*x", X, 3 + 2 * X, {"a": 0.0, "b": 0.0}))
    assert found.values == pytest.approx([3.0, 2.0], rel=1e-9)


def test_criterion_that_falls_without_end_is_told() -> None:
    found = fit(curve("a*x", X, Y, {"a": 1.0}, Estimation(criterion="-residual^2")))
    assert found.outcome.status is Status.STALLED
    assert found.outcome.message.startswith("the cost falls without end; check the criterion")


def test_long_valley_of_a_linear_model_takes_few_steps() -> None:
    x = np.linspace(0, 1, 100)
    y = np.vander(x, 8) @ np.linspace(2, 0.5, 8)  # columns of one length: condition 7e4
    text = " + ".join(f"c{k}*x^{k}" for k in range(8))
    found = fit(curve(text, x, y, {f"c{k}": 1.0 for k in range(8)}))
    assert found.outcome.ok
    assert found.values == pytest.approx(np.linspace(0.5, 2, 8), rel=1e-5)
    assert len(found.iterations) <= 16


def test_unknown_without_any_effect_is_told() -> None:
    found = fit(curve("a + 0*b*x", X, Y, {"a": 0.0, "b": 1.0}))
    assert found.values[1] == 1.0
    assert found.identifiability.rank == 1
    assert not found.accuracy.identifiable[1]
    assert found.accuracy.stderr[1] == np.inf
    assert "'b' has no effect" in found.identifiability.advice[0]


def test_nothing_free_just_evaluates_the_cost() -> None:
    model, table = rc_table(tau=1.0)
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": OutputColumn("v", weight=1.0)})
    found = fit(Study(model, [], [case]))
    assert found.outcome.ok
    assert found.n_free == 0
    assert found.cost < 1e-8


def test_start_outside_its_bounds_is_refused() -> None:
    with pytest.raises(TunerError, match=r"tuner 'a': start 5 is above max 1; move one of them"):
        Tuner("a", start=5.0, max=1.0)


def test_misspelt_tuner_gets_a_suggestion() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    with pytest.raises(TunerError, match=r"model 'RC' has no parameter 'RR'; did you mean 'R'"):
        fit(Study(model, [Tuner("RR")], [case]))
    with pytest.raises(TunerError, match="'v' is a variable, not a parameter"):
        fit(Study(model, [Tuner("v")], [case]))


def test_several_starts_share_one_seed_whatever_the_workers() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    settings = Estimation(starts=4, seed=3)
    study = Study(model, [Tuner("R", start=5.0, min=0.01, max=10)], [case], estimation=settings)
    one, two = fit(study, workers=1), fit(study, workers=2)
    assert [s.cost for s in one.starts] == [s.cost for s in two.starts]
    assert one.values.tolist() == two.values.tolist()
    assert one.outcome.message.startswith("start ")


def test_cases_share_tuners_and_keep_their_own_parameters_and_starts() -> None:
    model = load_model(
        """model Mass
          parameter Real m = 1; parameter Real d = 0.5; parameter Real F = 1;
          output Real v(start = 0, fixed = true);
        equation
          m*der(v) = F - d*v;
        end Mass;"""
    )
    time = np.linspace(0, 5, 60)
    cases = []
    for k, (mass, start) in enumerate([(1.0, 0.3), (3.0, -0.2)]):
        found = model.simulate(time, parameters={"m": mass, "d": 0.8, "F": 2.0}, start={"v": start})
        table = pd.DataFrame({"time": time, "v": found.value("v")})
        role = "calibrate" if k == 0 else "validate"
        cases.append(
            Case(
                f"mass {k}", table, outputs={"v": "v"}, fix={"m": mass}, free_start=["v"], role=role
            )
        )
    found = fit(Study(model, [Tuner("d", start=0.1), Tuner("F", start=1.0)], cases))
    assert found.values == pytest.approx([0.8, 2.0, 0.3], rel=1e-4)
    validated = found.case("mass 1")
    assert validated.role == "validate"
    assert validated.values == pytest.approx([-0.2], rel=1e-4)
    assert validated["v"].fit_percent > 99.99
