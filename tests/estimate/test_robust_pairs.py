"""Robust losses beside several starts, workers, transcriptions and validating cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares
from tests.estimate.problems import rc_table
from tests.estimate.test_multiple_shooting import cut, notorious

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import Criterion, CriterionSpecification
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.run.fit import fit
from estimica.estimate.search.robust_scales import ScaleIteration
from estimica.estimate.search.run import Status
from estimica.estimate.setup import prepare
from estimica.infer.bootstrap.run import bootstrap
from estimica.infer.covariance.run import covariance
from estimica.infer.criterion_map.run import criterion_map
from estimica.infer.crossvalidation.run import crossvalidate
from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint
from estimica.infer.profile.run import profile
from estimica.simulate.formula import formula_model
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

LOSSES = ("squared", "huber", "soft-l1", "cauchy")
ROBUST = LOSSES[1:]
#: where the loss bends, in standard deviations: 95 % efficiency (Huber 1981; Holland, Welsch 1977)
BENDS = {"huber": 1.345, "soft-l1": 1.0, "cauchy": 2.385}
TRUTH = np.array([2.0, 1.3])


def points(seed: int = 7, shift: float = 0.0, n: int = 60) -> pd.DataFrame:
    """A decay above an offset, with noise of 0.05 and every ninth sample wrong by 3."""
    random = np.random.default_rng(seed)
    x = np.linspace(0, 3, n)
    y = TRUTH[0] * np.exp(-TRUTH[1] * x) + 0.05 * random.standard_normal(n) + shift
    y[::9] += 3.0
    return pd.DataFrame({"x": x, "y": y})


def decay(estimation: Estimation, validated: bool = False, **details: object) -> Study:
    """The decay; its validating case has an offset of its own to be found."""
    model = formula_model({"y": "a*exp(-b*x)"}, inputs=["x"])
    column = OutputColumn("y", **({"weight": 1.0} | details))  # type: ignore[arg-type]
    cases = [Case("points", points(), inputs={"x": "x"}, outputs={"y": column})]
    if validated:
        free = replace(column, disturbance=True)
        table = points(8, 0.4)
        cases.append(Case("later", table, inputs={"x": "x"}, outputs={"y": free}, role="validate"))
    tuners = [Tuner("a", start=1.0, min=0.1, max=10), Tuner("b", start=1.0, min=0.1, max=10)]
    return Study(model, tuners, cases, estimation=estimation)


def mad(residual: Vector) -> float:
    """The normalised median of |r|."""
    return 1.4826 * float(np.median(np.abs(residual)))


@cache
def witness(loss: str) -> tuple[Vector, float, Vector]:
    """(values, scale, residuals) by SciPy, the scale taken anew until it stays."""
    table = points()
    x, y = table.x.to_numpy(), table.y.to_numpy()

    def residual(p: Vector) -> Vector:
        return np.asarray(p[0] * np.exp(-p[1] * x) - y)

    p, scale = np.array([1.0, 1.0]), mad(residual(np.array([1.0, 1.0])))
    for _ in range(200):
        p = least_squares(
            residual,
            p,
            loss=loss.replace("-", "_"),
            f_scale=BENDS[loss] * scale,
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        ).x
        before, scale = scale, mad(residual(p))
        if abs(scale - before) < 1e-9 * scale:
            break
    return p, scale, residual(p)


def rho(loss: str, z: Vector) -> Vector:
    """ρ of (r/s)², as SciPy has it."""
    if loss == "huber":
        return np.where(z <= 1, z, 2 * np.sqrt(z) - 1)
    return 2 * (np.sqrt(1 + z) - 1) if loss == "soft-l1" else np.log1p(z)


def same(one: Fit, other: Fit) -> None:
    """To the last bit: estimates, cost, standard errors, scales, noise, curves of all cases."""
    assert np.array_equal(one.values, other.values)
    assert one.cost == other.cost
    np.testing.assert_array_equal(one.accuracy.stderr, other.accuracy.stderr)
    assert dict(one.scales) == dict(other.scales)
    assert dict(one.noise) == dict(other.noise)
    assert [s.cost for s in one.starts] == [s.cost for s in other.starts]
    for a, b in zip(one.cases, other.cases, strict=True):
        assert a.failure == b.failure == ""
        np.testing.assert_array_equal(a.values, b.values)
        for ours, theirs in zip(a.outputs, b.outputs, strict=True):
            np.testing.assert_array_equal(ours.simulated, theirs.simulated)


# --- against SciPy and the formulas of M-estimates ---------------------------------------------


@pytest.mark.parametrize("starts", [1, 4])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("loss", ROBUST)
def test_values_scales_and_costs_are_those_of_scipy(loss: str, criterion: str, starts: int) -> None:
    found = fit(decay(Estimation(criterion=criterion, loss=loss, starts=starts)))
    values, scale, residual = witness(loss)
    assert found.outcome.status is Status.CONVERGED
    assert found.values == pytest.approx(values, rel=1e-4)
    assert found.scales["y"] == pytest.approx(scale, rel=1e-4)
    bend = BENDS[loss]
    total = float(np.sum(rho(loss, (residual / (bend * scale)) ** 2)))
    cost = (bend * scale) ** 2 * total  # Σφ of the residuals
    if criterion == "ml":
        cost = bend**2 * total + 2 * len(residual) * np.log(scale)
        assert found.noise["y"].variance == pytest.approx(scale**2, rel=1e-4)
    assert found.cost == pytest.approx(cost, rel=1e-4)


@pytest.mark.parametrize("starts", [1, 4])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_standard_errors_of_huber_are_those_of_m_estimates(criterion: str, starts: int) -> None:
    """Huber (1981), chapter 7.6: (JᵀDJ)⁻¹ JᵀJ (JᵀDJ)⁻¹ Σψ²/(N − p), D = ψ', of like samples."""
    found = fit(decay(Estimation(criterion=criterion, loss="huber", starts=starts)))
    values, scale, residual = witness("huber")
    x = points().x.to_numpy()
    J = np.stack([np.exp(-values[1] * x), -values[0] * x * np.exp(-values[1] * x)], axis=1)
    bend = 1.345 * scale
    psi, slope = np.clip(residual, -bend, bend), (np.abs(residual) <= bend) * 1.0
    H = np.linalg.inv(J.T @ (slope[:, None] * J))
    covariance = H @ J.T @ J @ H * np.sum(psi**2) / 58
    assert found.accuracy.stderr == pytest.approx(np.sqrt(np.diag(covariance)), rel=0.03)


# --- however many workers -----------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "loss"), [("oe", "huber"), ("ml", "cauchy")])
def test_workers_change_nothing(criterion: str, loss: str) -> None:
    study = decay(Estimation(criterion=criterion, loss=loss, starts=4), validated=True)
    same(fit(study, workers=1), fit(study, workers=2))


CRITERIA = [(c, loss) for c in ("oe", "ml") for loss in LOSSES]
CRITERIA += [("log(cosh(10*residual))", "squared"), ("abs(residual)^1.5", "squared")]


@pytest.mark.slow
@pytest.mark.parametrize("details", [{}, {"sigma": 0.05}, {"weight": None}], ids=str)
@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize(("criterion", "loss"), CRITERIA)
def test_no_pair_of_criterion_and_loss_depends_on_the_workers(
    criterion: str, loss: str, scale: float | None, details: dict[str, object]
) -> None:
    given = {} if loss == "squared" else {"loss": loss, "loss_scale": scale}
    if loss == "squared" and scale is not None:
        pytest.skip("a scale belongs to a loss")
    estimation = Estimation(criterion=criterion, starts=4, **given)  # type: ignore[arg-type]
    study = decay(estimation, True, **details)
    one = fit(study, workers=1)
    same(one, fit(study, workers=2))
    alone = fit(study.with_(estimation=replace(estimation, starts=1)))
    assert one.cost <= alone.cost + 1e-6 * abs(alone.cost)


def charging(estimation: Estimation, validated: bool = True) -> Study:
    """The RC circuit with outliers in its data."""
    model, table = rc_table()
    random = np.random.default_rng(3)
    table["v"] += 0.02 * random.standard_normal(len(table))
    table.loc[::17, "v"] += 1.0
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"}, free_start={"v": 0.1})
    later = replace(case, name="later", role="validate")
    cases = [case, later] if validated else [case]
    tuners = [Tuner("R", start=2.0, min=0.05, max=10)]
    return Study(model, tuners, cases, estimation=estimation)


@pytest.mark.slow
@pytest.mark.parametrize("transcription", ["shooting", "multiple-shooting", "collocation"])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("loss", LOSSES)
def test_transcriptions_agree_from_one_start_or_several_with_one_worker_or_two(
    transcription: str, criterion: str, loss: str
) -> None:
    common = {"criterion": criterion, "loss": loss, "tolerance": 1e-10}
    reference = fit(charging(Estimation(**common)))  # type: ignore[arg-type]
    settings = Estimation(transcription=transcription, starts=3, **common)  # type: ignore[arg-type]
    one, two = (fit(charging(settings), workers=w) for w in (1, 2))
    same(one, two)
    assert one.outcome.status is Status.CONVERGED
    assert one.values == pytest.approx(reference.values, rel=1e-4, abs=1e-5)
    assert one.cost == pytest.approx(reference.cost, rel=1e-4)
    assert one.accuracy.stderr == pytest.approx(reference.accuracy.stderr, rel=2e-2)


def uncertain_inputs(criterion: str) -> Study:
    random = np.random.default_rng(0)
    x = np.linspace(0, 3, 40)
    table = {
        "x": x + 0.05 * random.standard_normal(40),
        "y": 2 * np.exp(-1.3 * x) + 0.05 * random.standard_normal(40),
    }
    inputs = {"x": InputColumn("x", sigma=0.05)}
    case = Case("points", table, inputs=inputs, outputs={"y": OutputColumn("y", sigma=0.05)})
    settings = Estimation(criterion=criterion, starts=3)
    return decay(settings).with_(cases=[case])


def filtered(criterion: str) -> Study:
    study = charging(Estimation(criterion=criterion, starts=3), validated=False)
    return study.with_(cases=[replace(study.cases[0], prefilter={"band": [0.05, 2.0]})])


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("given", [uncertain_inputs, filtered])
def test_errors_of_inputs_and_prefilters_do_not_depend_on_workers_and_starts(
    given: Callable[[str], Study], criterion: str
) -> None:
    study = given(criterion)
    one = fit(study, workers=1)
    same(one, fit(study, workers=2))
    alone = fit(study.with_(estimation=replace(study.estimation, starts=1)))
    assert one.values == pytest.approx(alone.values, rel=1e-5)
    assert one.cost == pytest.approx(alone.cost, rel=1e-7)
    assert one.accuracy.stderr == pytest.approx(alone.accuracy.stderr, rel=1e-4)


def test_several_starts_go_with_errors_of_inputs() -> None:
    study = uncertain_inputs("oe")
    several = fit(study, workers=1)
    alone = fit(study.with_(estimation=replace(study.estimation, starts=1)))
    assert len(several.starts) == 3
    assert several.values == pytest.approx(alone.values, rel=1e-5)


# --- the winner stays as it was found -----------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_best_of_several_starts_in_pieces_keeps_the_cost_of_the_pieces(loss: str) -> None:
    # a single simulation leaves the data by e⁶⁰
    alone = fit(notorious(cut(loss=loss), 60.0))
    several = fit(notorious(cut(loss=loss, starts=2), 60.0))
    assert several.outcome.status is Status.CONVERGED
    assert several.values == pytest.approx(alone.values, rel=1e-6)
    assert several.cost == pytest.approx(alone.cost, rel=1e-5)
    assert several.cost == several.starts[0].cost
    assert several.accuracy.stderr == pytest.approx(alone.accuracy.stderr, rel=1e-3)
    assert several.cases[0].outputs[0].rmse == pytest.approx(alone.cases[0].outputs[0].rmse)


@pytest.mark.slow
def test_the_pieces_travel_between_processes() -> None:
    one, two = (fit(notorious(cut(loss="huber", starts=2), 60.0), workers=w) for w in (1, 2))
    same(one, two)


# --- validating cases ---------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("loss", LOSSES)
def test_validating_cases_are_scored_with_the_loss_and_the_scales_of_the_fit(
    loss: str, criterion: str
) -> None:
    found = fit(decay(Estimation(criterion=criterion, loss=loss), validated=True))
    later = found.case("later")
    table = points(8, 0.4)
    a, b = found.values
    curve = a * np.exp(-b * table.x.to_numpy())
    rest = (table.y - curve).to_numpy()
    if loss == "squared":
        offset = rest.mean()
    else:
        bend = BENDS[loss] * found.scales["y"]
        offset = least_squares(
            lambda d: d[0] - rest, [0.0], loss=loss.replace("-", "_"), f_scale=bend, xtol=1e-14,
            ftol=1e-14, gtol=1e-14,
        ).x[0]  # fmt: skip
    assert later.values[0] == pytest.approx(offset, rel=1e-5)
    assert abs(later.values[0] - 0.4) < (0.5 if loss == "squared" else 0.05)


def test_an_output_that_only_a_validating_case_has_takes_its_own_scale() -> None:
    model = formula_model({"y": "a*exp(-b*x)", "z": "a*x"}, inputs=["x"])
    table = points()
    first = Case("points", table, inputs={"x": "x"}, outputs={"y": "y"})
    column = OutputColumn("y", disturbance=True)
    later = Case("z", table, inputs={"x": "x"}, outputs={"z": column}, role="validate")
    tuners = [Tuner("a", start=1.0), Tuner("b", start=1.0)]
    study = Study(model, tuners, [first, later], estimation=Estimation(loss="huber"))
    assert fit(study).case("z").failure == ""


# --- types --------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_what_has_no_scales_cannot_score(criterion: str) -> None:
    cases = prepare(decay(Estimation(criterion=criterion, loss="huber"))).calibration()
    assert isinstance(cases.wanted, CriterionSpecification)
    assert not isinstance(cases.wanted, Criterion)
    assert not hasattr(cases.wanted, "score")
    assert not hasattr(ResidualFunction, "at")


def test_known_noise_levels_leave_no_scales_to_be_found() -> None:
    cases = prepare(decay(Estimation(loss="huber"), sigma=0.05)).calibration()
    assert isinstance(cases.wanted, Criterion)


@pytest.mark.parametrize("slope", [-3.0, -0.9, 0.5, 0.95])
def test_scales_settle_where_repetition_creeps_or_swings(slope: float) -> None:
    # log s → slope · log s has its fixed point at s = 1
    settling, scales, count = ScaleIteration(), {"y": 5.0}, 0
    while count < 20:
        found = {"y": float(scales["y"] ** slope)}
        after = settling.after(scales, found)
        if after is None:
            break
        scales, count = dict(after), count + 1
    assert scales["y"] == pytest.approx(1.0, rel=1e-5)
    assert count < 12


# --- whoever evaluates an objective after the fit ------------------------------------------------


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_analyses_after_a_robust_fit_go_by_its_scales(criterion: str) -> None:
    estimation = Estimation(criterion=criterion, loss="huber", starts=2)
    found = fit(decay(estimation))
    again = fit_from_checkpoint(found.study, checkpoint_of(found) or {})
    assert again.cost == pytest.approx(found.cost, rel=1e-12)
    assert again.accuracy.stderr == pytest.approx(found.accuracy.stderr, rel=1e-9)
    landscape = criterion_map(found, "a", "b", points=3)
    assert landscape.centre_cost == pytest.approx(found.cost, rel=1e-9)
    assert landscape.cost[1, 1] == pytest.approx(found.cost, rel=1e-9)
    told = covariance(found, "model")
    assert told.stderr == pytest.approx(found.accuracy.stderr, rel=1e-2)
    walked = profile(found, "a")["a"]
    low, high = walked.interval
    width = (high - low) / 2 / found.accuracy.stderr[0]
    assert width == pytest.approx(2.0, rel=0.15)  # t of 58 degrees of freedom


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("loss", ROBUST)
def test_analyses_of_robust_fits_do_not_depend_on_the_workers(criterion: str, loss: str) -> None:
    found = fit(decay(Estimation(criterion=criterion, loss=loss)))
    one, two = (bootstrap(found, 20, workers=w) for w in (1, 2))
    assert one.replicates == 20
    assert np.array_equal(one.values, two.values)
    assert [s.stderr for s in one.spreads] == pytest.approx(found.accuracy.stderr, rel=1.5)
    walked = [profile(found, "b", workers=w)["b"].interval for w in (1, 2)]
    assert walked[0] == walked[1]
    maps = [criterion_map(found, "a", "b", points=3, workers=w).cost for w in (1, 2)]
    assert np.array_equal(*maps)
    folds = [crossvalidate(found, 4, by="time", workers=w) for w in (1, 2)]
    values = [[f.values for f in one.folds] for one in folds]
    assert np.array_equal(*values)
    assert not any(f.failed for f in folds[0].folds)
