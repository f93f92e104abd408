"""Converged is said of optima only, however many simulations fail around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares, minimize, minimize_scalar
from tests.estimate.circuits import (
    LIBRARY,
    PARTS,
    TRUTH,
    circuit,
    circuit_study,
    current,
    measured,
    random_starts,
)

from estimica.base.errors import InferError
from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.estimate.search.run import Status
from estimica.infer.bootstrap.run import bootstrap
from estimica.infer.covariance.run import covariance
from estimica.infer.profile.run import profile
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

METHODS = ["levenberg-marquardt", "gauss-newton", "steepest-descent"]
TWOS = np.full(4, 2.0)
NOISE = 0.01

#: fails at every gain of 1.2 or more; the gain of the data is 2, the time constant 1.5
GUARDED = """
model Guarded
  parameter Real K = 1; parameter Real T = 1;
  output Real v(start = 0, fixed = true);
equation
  assert(K < 1.2, "K is too large");
  T*der(v) = K - v;
end Guarded;
"""
TIME = np.linspace(0, 5, 60)
STEP = 2 * (1 - np.exp(-TIME / 1.5)) + NOISE * np.random.default_rng(0).standard_normal(60)


@cache
def built(kind: str, parts: str = PARTS) -> tuple[ModelicaModel, pd.DataFrame]:
    return circuit(kind, parts), measured(kind, NOISE)


@cache
def guarded() -> ModelicaModel:
    return load_model(GUARDED)


def cost_by_scipy(kind: str, data: pd.DataFrame) -> Callable[[np.ndarray], float]:
    """The cost of four values; where SciPy cannot simulate it is as bad as can be."""

    def cost(values: np.ndarray) -> float:
        try:
            simulated = current(kind, values, data["time"].to_numpy())
        except ValueError:
            return 1e6
        if len(simulated) < len(data):
            return 1e6
        return float(np.sum((simulated - data["y"].to_numpy()) ** 2))

    return cost


def is_beaten(found: Fit, kind: str, data: pd.DataFrame) -> bool:
    """Whether Nelder and Mead's simplex finds a cost that is lower by more than the noise of it.

    That is a thousandth, or what an error of 1e-5 of the signal makes, ten tolerances of a step.
    """
    noise = float(np.sum((1e-5 * data["y"]) ** 2))
    if found.cost <= noise:
        return False
    cost = cost_by_scipy(kind, data)
    simplex = np.vstack([found.values, found.values * (1 + 0.05 * np.eye(4))])
    settings = {"initial_simplex": simplex, "maxfev": 100, "xatol": 1e-8, "fatol": 1e-10}
    lower = minimize(cost, found.values, method="Nelder-Mead", options=settings)
    return bool(lower.fun < found.cost * (1 - 1e-3) - noise)


def judged(kind: str, parts: str, starts: np.ndarray, method: str) -> list[Fit]:
    """The fits to data without noise, of which those that have converged are not beaten."""
    model, data = circuit(kind, parts), measured(kind)
    fits = []
    for start in starts:
        found = fit(circuit_study(model, data, start, method=method))
        if found.outcome.ok:
            assert not is_beaten(found, kind, data), (start, found.outcome)
        fits.append(found)
    return fits


def is_at_the_truth(found: Fit) -> bool:
    away = np.abs(found.values - list(TRUTH.values()))
    return found.outcome.ok and bool(np.all(away < 5 * found.accuracy.stderr))


@pytest.mark.parametrize("method", METHODS[1:])
def test_gradient_methods_get_past_the_wall_from_far_away(method: str) -> None:
    model, data = built("Series")
    found = fit(circuit_study(model, data, TWOS, method=method))
    assert found.evaluations.failed > 0
    assert is_at_the_truth(found)


@pytest.mark.parametrize("number", [1, 4, 13, 14])
def test_start_that_led_to_the_wall_finds_the_optimum(number: int) -> None:
    # the inductance collapses to 1e-9, or the capacitance runs to -1e4, where it is not turned back
    model, data = built("Series")
    found = fit(circuit_study(model, data, random_starts(25)[number]))
    assert found.evaluations.failed > 0
    assert is_at_the_truth(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Series", "Loop"])
def test_no_random_start_converges_where_a_simplex_goes_on(kind: str) -> None:
    fits = judged(kind, PARTS, random_starts(25), METHODS[0])
    # the valley of the other circuit is so long that not all arrive: they are in it
    signal = float(np.sum(measured(kind)["y"] ** 2))
    reached = sum(found.cost < 1e-6 * signal for found in fits)
    assert reached >= {"Series": 25, "Loop": 23}[kind]


@pytest.mark.slow
@pytest.mark.msl
@pytest.mark.parametrize("kind", ["Series", "Loop"])
@pytest.mark.parametrize("method", METHODS)
def test_circuits_of_library_parts_end_as_those_of_own_parts(kind: str, method: str) -> None:
    starts = np.vstack([TWOS, random_starts(4)])
    own = [found.outcome.status for found in judged(kind, PARTS, starts, method)]
    assert [found.outcome.status for found in judged(kind, LIBRARY, starts, method)] == own
    assert kind == "Loop" or own[0] is Status.CONVERGED


def guarded_study(method: str = METHODS[0], criterion: str = "oe", **settings: object) -> Study:
    tuners = [Tuner("K", start=1.0, **settings), Tuner("T", start=1.0)]  # type: ignore[arg-type]
    case = Case("run", pd.DataFrame({"time": TIME, "v": STEP}), outputs={"v": "v"})
    estimation = Estimation(method=method, criterion=criterion)
    return Study(guarded(), tuners, [case], estimation=estimation)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_optimum_behind_an_assertion_is_not_converged(method: str, criterion: str) -> None:
    found = fit(guarded_study(method, criterion))
    assert found.outcome.status is Status.FAILING_REGION
    assert not found.outcome.ok
    assert np.isnan(found.accuracy.stderr).all()
    for words in (
        "stopped at a region where the simulation fails",
        "'K' above 1.",
        "case 'run'",
        "K is too large",
        "starts = 20",
        "there are no standard errors",
    ):
        assert words in found.outcome.message
    # all that can be done at the edge: the best time constant for a gain of 1.2
    best = minimize_scalar(
        lambda T: float(np.sum((1.2 * (1 - np.exp(-TIME / T)) - STEP) ** 2)),
        bounds=(0.1, 5.0),
        options={"xatol": 1e-10},
    )
    assert found["K"] == pytest.approx(1.2, rel=1e-4)
    assert found["T"] == pytest.approx(best.x, rel=1e-3)


def test_optimum_in_front_of_an_assertion_is_converged() -> None:
    case = Case("run", pd.DataFrame({"time": TIME, "v": 0.59 * STEP}), outputs={"v": "v"})
    tuners = [Tuner("K", start=0.3), Tuner("T", start=4.0)]
    found = fit(Study(guarded(), tuners, [case]))
    best = least_squares(
        lambda p: p[0] * (1 - np.exp(-TIME / p[1])) - 0.59 * STEP, [1.0, 1.0], xtol=1e-14
    )
    assert found.outcome.ok
    assert found.values == pytest.approx(best.x, rel=1e-4)
    assert np.isfinite(found.accuracy.stderr).all()


def test_bound_in_front_of_the_failing_region_is_an_optimum_at_a_bound() -> None:
    found = fit(guarded_study(max=1.19))
    assert found.outcome.ok
    assert found.at_bound == ("max", "")
    assert found.evaluations.failed == 0


@pytest.mark.parametrize("scale", ["auto", "log"])
def test_failing_region_is_seen_on_every_scale(scale: str) -> None:
    assert fit(guarded_study(scale=scale)).outcome.status is Status.FAILING_REGION


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
def test_failing_region_is_seen_behind_a_robust_loss(loss: str) -> None:
    study = guarded_study()
    robust = Study(
        study.model, study.tuners, study.cases, estimation=Estimation(criterion="oe", loss=loss)
    )
    found = fit(robust)
    assert found.outcome.status is Status.FAILING_REGION
    assert np.isnan(found.accuracy.stderr).all()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_best_of_several_starts_says_that_it_is_at_a_failing_region(workers: int) -> None:
    study = guarded_study(min=0.1, max=1.5)
    several = Study(
        study.model, study.tuners, study.cases, estimation=Estimation(criterion="oe", starts=3)
    )
    found = fit(several, workers=workers)
    assert found.outcome.status is Status.FAILING_REGION
    assert "K is too large" in found.outcome.message


def test_validation_case_that_fails_is_told_beside_a_converged_fit() -> None:
    text = GUARDED.replace("K < 1.2", "K*F < 1.2")
    model = load_model(text.replace("K = 1;", "K = 1; parameter Real F = 1;"))
    run = pd.DataFrame({"time": TIME, "v": 0.5 * STEP})
    cases = [
        Case("run", run, outputs={"v": "v"}),
        Case("other", run, outputs={"v": "v"}, fix={"F": 3.0}, role="validate"),
    ]
    found = fit(Study(model, [Tuner("K", start=0.5), Tuner("T", start=1.0)], cases))
    assert found.outcome.ok
    assert "K is too large" in found.case("other").failure


def test_interrupted_second_attempt_keeps_the_best_point() -> None:
    count = 0

    def stop(_: object) -> None:
        nonlocal count
        count += 1
        if count == 25:
            raise KeyboardInterrupt

    found = fit(guarded_study(), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.cost == min(i.cost for i in found.iterations)


def test_failed_simulation_names_its_equation_and_the_unknown() -> None:
    model, data = built("Series")
    found = fit(circuit_study(model, data, np.array([2.0, 2.0, 2.0, -1.0])))
    assert found.outcome.status is Status.FAILED
    assert "worst is" in found.outcome.message
    assert "line" in found.outcome.message


def test_multiple_shooting_does_not_converge_at_a_failing_region() -> None:
    study = guarded_study()
    pieces = Estimation(criterion="oe", transcription="multiple-shooting")
    found = fit(Study(study.model, study.tuners, study.cases, estimation=pieces))
    assert found.outcome.status is Status.FAILING_REGION
    assert "K is too large" in found.outcome.message
    assert np.isnan(found.accuracy.stderr).all()


def test_inference_refuses_to_look_around_what_is_not_an_optimum() -> None:
    found = fit(guarded_study())
    for analysis in (profile, bootstrap, covariance):
        with pytest.raises(InferError, match="no optimum to look around"):
            analysis(found)
