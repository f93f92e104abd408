"""Criteria and models whose gradient does not tell of finite changes: kinks, steps, flat places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.estimate.problems import curve, rc_table

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError, FitError, InferError
from estimica.estimate.criteria.roughness import Shape
from estimica.estimate.criteria.scoring import Criterion
from estimica.estimate.run.fit import fit
from estimica.estimate.run.one_start import Progress
from estimica.estimate.search.run import Status
from estimica.estimate.setup import prepare
from estimica.infer.bootstrap.run import bootstrap
from estimica.infer.covariance.run import covariance
from estimica.infer.criterion_map.run import criterion_map
from estimica.infer.crossvalidation.run import crossvalidate
from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint
from estimica.infer.profile.run import profile
from estimica.optimise.assess.tuner_distribution import tuner_distribution
from estimica.simulate.formula import formula_model
from estimica.simulate.function.model import function_model
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

N = 60
X = np.linspace(0, 3, N)
LINE = 1 + 0.5 * X
NOISE = 0.1 * np.random.default_rng(1).standard_normal(N)
STEPS = "floor(abs(residual)/0.05)"


def line(criterion: str, y: Vector = LINE + NOISE, **settings: object) -> Study:
    estimation = Estimation(criterion=criterion, **settings)  # type: ignore[arg-type]
    return curve("a + b*x", X, y, {"a": 0.5, "b": 1.0}, estimation)


def least_absolute(y: Vector, share: float = 0.5) -> tuple[Vector, float]:
    """(values, cost) of min Σ share·(−r)₊ + (1 − share)·r₊, times two, as a linear program."""
    A = np.column_stack([np.ones(N), X])
    c = np.r_[0, 0, np.full(N, 2 * share), np.full(N, 2 * (1 - share))]
    found = linprog(
        c,
        A_eq=np.hstack([A, np.eye(N), -np.eye(N)]),
        b_eq=y,
        bounds=[(None, None)] * 2 + [(0, None)] * (2 * N),
    )
    return found.x[:2], float(found.fun)


# --- what a criterion looks like ----------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-6, 0.1, 3.0])
@pytest.mark.parametrize(
    ("criterion", "shape"),
    [
        ("residual^2", Shape.SMOOTH),
        ("residual^4", Shape.SMOOTH),
        ("abs(residual)^1.5", Shape.SMOOTH),
        ("exp(residual^2)", Shape.SMOOTH),
        ("log(1 + (residual/10)^2)", Shape.SMOOTH),
        ("if abs(residual) < 1 then residual^2 else 2*abs(residual) - 1", Shape.SMOOTH),
        ("abs(residual)", Shape.KINKED),
        ("max(0, residual) + 0.1*abs(residual)", Shape.KINKED),
        ("floor(abs(residual)/0.03)", Shape.STEPPED),
        ("if abs(residual) > 0.1 then 1 else 0", Shape.STEPPED),
    ],
)
@pytest.mark.parametrize("n", [10, 100])
def test_shapes_are_told_apart(criterion: str, shape: Shape, size: float, n: int) -> None:
    study = curve("a + 0*x", np.arange(n), np.ones(n), {"a": 1}, Estimation(criterion=criterion))
    asked = prepare(study).calibration().wanted
    assert isinstance(asked, Criterion)
    assert asked.shape([size * np.random.default_rng(n).standard_normal(n)]) is shape


# --- kinks --------------------------------------------------------------------------------------


def test_least_absolute_values_are_those_of_a_linear_program() -> None:
    found = fit(line("abs(residual)"))
    values, cost = least_absolute(LINE + NOISE)
    assert found.outcome.status is Status.CONVERGED
    assert found.cost == pytest.approx(cost, rel=1e-6)
    assert found.values == pytest.approx(values, abs=1e-4)


def test_a_quantile_is_that_of_a_linear_program() -> None:
    found = fit(line("abs(residual) - 0.5*residual"))
    values, cost = least_absolute(LINE + NOISE, share=0.75)
    assert found.cost == pytest.approx(cost, rel=1e-6)
    assert found.values == pytest.approx(values, abs=1e-4)


def test_errors_of_least_absolute_values_follow_the_density_of_the_residuals() -> None:
    """1/(4 f(0)²) (XᵀX)⁻¹ (Bassett and Koenker, JASA 73, 1978); f(0) of the true noise."""
    found = fit(line("abs(residual)"))
    A = np.column_stack([np.ones(N), X])
    density = 1 / (0.1 * np.sqrt(2 * np.pi))
    theory = np.sqrt(np.diag(np.linalg.inv(A.T @ A))) / (2 * density)
    assert found.accuracy.stderr == pytest.approx(theory, rel=0.35)  # 60 samples tell f(0) so far
    assert covariance(found, "sandwich").stderr == pytest.approx(theory, rel=0.35)
    # twice the density at zero, over all samples
    hessian = criterion_map(found, "a", "b", points=2).hessian
    assert hessian == pytest.approx(2 * density * A.T @ A, rel=0.35)
    assert not any(f.kept for f in crossvalidate(found, 3).folds)
    low, high = profile(found, "b")["b"].interval
    assert high - low == pytest.approx(2 * 2.0 * theory[1], rel=0.4)


@pytest.mark.slow
def test_a_bootstrap_of_least_absolute_values_agrees_with_their_theory() -> None:
    found = fit(line("abs(residual)"))
    A = np.column_stack([np.ones(N), X])
    theory = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * np.pi / 2) * 0.1
    drawn = bootstrap(found, 100)
    assert [s.stderr for s in drawn.spreads] == pytest.approx(theory, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["normal", "laplace", "t"])
def test_intervals_of_least_absolute_values_hold_the_truth(noise: str) -> None:
    random = np.random.default_rng(4)
    inside = np.zeros(2)
    for _ in range(200):
        drawn = {
            "normal": random.standard_normal,
            "laplace": lambda n: random.laplace(size=n),
            "t": lambda n: random.standard_t(2, n),
        }[noise](N)
        low, high = fit(line("abs(residual)", LINE + 0.1 * drawn)).accuracy.interval.T
        inside += (low <= [1, 0.5]) & (high >= [1, 0.5])
    assert (inside / 200 > 0.92).all()  # 95 % less two standard errors of the count


def test_a_cusp_has_no_standard_error() -> None:
    found = fit(line("sqrt(abs(residual))"))
    assert np.isnan(found.accuracy.stderr).all()
    assert "'sqrt(abs(residual))' bends downwards between its kinks: there are no standard errors" \
        in found.outcome.message  # fmt: skip


# --- steps --------------------------------------------------------------------------------------


def test_a_stepped_criterion_is_searched_without_gradients_and_has_no_errors() -> None:
    told: list[Progress] = []
    found = fit(line(STEPS), progress=told.append)
    y = LINE + NOISE
    grid = [
        float(np.floor(np.abs(a + b * X - y) / 0.05).sum())
        for a in np.linspace(0.9, 1.1, 41)
        for b in np.linspace(0.42, 0.58, 41)
    ]
    assert found.outcome.status is Status.CONVERGED
    assert found.cost <= min(grid) + 2  # of some 70
    assert found.cost == found.iterations[-1].cost
    assert len(told) == len(found.iterations)
    assert np.isnan(found.accuracy.stderr).all()
    assert np.isnan(found.accuracy.interval).all()
    assert f"criterion '{STEPS}' is flat or changes in steps: there are no standard errors" \
        in found.outcome.message  # fmt: skip
    assert found.to_dict()["parameters"]["a"]["stderr"] is None


def test_what_needs_derivatives_is_refused_after_a_stepped_criterion() -> None:
    found = fit(line(STEPS))
    with pytest.raises(InferError, match=r"I508: profile: criterion .* no rise of it stands for"):
        profile(found)
    with pytest.raises(InferError, match=r"I313: criterion .* take a bootstrap"):
        covariance(found, "sandwich")
    with pytest.raises(DesignError, match=r"O097: .* has no standard errors: criterion"):
        tuner_distribution(found.study, found)
    drawn = bootstrap(found, 12)
    assert all(0.005 < s.stderr < 0.2 for s in drawn.spreads)
    landscape = criterion_map(found, "a", "b", points=3)
    assert np.isfinite(landscape.cost).all()
    assert landscape.kind == "differences"
    left_out = crossvalidate(found, 3)
    assert not any(f.kept for f in left_out.folds)
    again = fit_from_checkpoint(found.study, checkpoint_of(found) or {})
    assert again.outcome == found.outcome
    assert again.rough == found.rough
    assert np.isnan(again.accuracy.stderr).all()


def test_python_functions_with_steps_or_kinks_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n"
        "def steps(residual):\n    return np.floor(np.abs(residual)/0.05)\n"
        "def kinks(residual):\n    return np.abs(residual)\n"
    )
    assert np.isnan(fit(line(f"{file}:steps")).accuracy.stderr).all()
    kinked, same = fit(line(f"{file}:kinks")), fit(line("abs(residual)"))
    assert kinked.cost == pytest.approx(same.cost, rel=1e-5)
    assert kinked.accuracy.stderr == pytest.approx(same.accuracy.stderr, rel=0.05)


def test_limits_hold_without_gradients() -> None:
    bounded = line(STEPS).with_(
        tuners=[Tuner("a", start=1.5, min=1.2, max=2), Tuner("b", start=1.0, min=0, max=2)]
    )
    found = fit(bounded)
    assert 1.2 <= found["a"] < 1.25
    few = fit(line(STEPS, max_iterations=1))
    assert few.outcome.status is Status.ITERATIONS
    short = fit(line(STEPS, max_seconds=1e-9))
    assert short.outcome.status is Status.TIME


def test_ctrl_c_without_gradients_returns_the_best_so_far() -> None:
    def stop(progress: Progress) -> None:
        if progress.iteration.number == 3:
            raise KeyboardInterrupt

    found = fit(line(STEPS), progress=stop)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.cost == found.iterations[-1].cost


def test_several_starts_of_a_stepped_criterion_do_not_depend_on_the_order() -> None:
    several = fit(line(STEPS, starts=3))
    assert several.cost <= fit(line(STEPS)).cost
    assert np.isnan(several.accuracy.stderr).all()


def test_pieces_refuse_a_criterion_without_gradients() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": OutputColumn("v", weight=1)})
    settings = Estimation(criterion=STEPS, transcription="multiple-shooting")
    study = Study(model, [Tuner("R", start=2.0)], [case], estimation=settings)
    with pytest.raises(FitError, match=r"F026: .* 'multiple-shooting' needs its gradient"):
        fit(study)


# --- models that act in steps -------------------------------------------------------------------


def stepped_study(model: object, estimation: Estimation | None = None) -> Study:
    y = 7 * X + 0.3 * np.random.default_rng(2).standard_normal(N)
    case = Case("points", {"x": X, "y": y}, inputs={"x": "x"}, outputs={"y": "y"})
    return Study(model, [Tuner("k", start=4.3, min=1, max=20)], [case], estimation=estimation)  # type: ignore[arg-type]


def test_a_formula_of_the_floor_of_a_tuner_is_searched_without_gradients() -> None:
    found = fit(stepped_study(formula_model({"y": "floor(k)*x"}, inputs=["x"])))
    assert found.outcome.status is Status.CONVERGED
    assert np.floor(found["k"]) == 7
    assert np.isnan(found.accuracy.stderr[0])
    assert "the derivative by 'k' is zero, and yet the cost changes" in found.outcome.message


def rounded(x: Vector, t: Vector, k: float = 1.0) -> Vector:
    return np.asarray(np.round(k) * x)


def test_a_python_model_that_rounds_is_searched_without_gradients() -> None:
    found = fit(stepped_study(function_model(rounded)))
    assert np.round(found["k"]) == 7
    assert np.isnan(found.accuracy.stderr[0])


def test_a_modelica_model_with_integer_of_a_tuner_is_searched_without_gradients() -> None:
    model = load_model(
        "model Teeth parameter Real k = 3; parameter Real g = 1; input Real x; Real y; "
        "equation y = integer(k)*x + g; end Teeth;"
    )
    y = 7 * X + 2 + 0.3 * np.random.default_rng(2).standard_normal(N)
    case = Case("run", {"time": X, "x": X, "y": y}, inputs={"x": "x"}, outputs={"y": "y"})
    tuners = [Tuner("k", start=4.3, min=1, max=20), Tuner("g", start=1.0)]
    found = fit(Study(model, tuners, [case]))
    assert int(found["k"]) == 7
    assert np.isnan(found.accuracy.stderr[0])
    # the error of g holds for k staying where it is: that of a mean
    residual = found.cases[0]["y"].residual
    error = np.sqrt(residual @ residual / (N - 1) / N)
    assert found.accuracy.stderr[1] == pytest.approx(error, rel=0.02)
    assert covariance(found, "sandwich").stderr[1] == pytest.approx(error, rel=0.2)
    low, high = profile(found, "k")["k"].interval
    assert low == pytest.approx(7, abs=1e-3)
    assert high == pytest.approx(8, abs=1e-2)


def test_an_unknown_without_any_effect_is_still_not_determined() -> None:
    model = formula_model({"y": "k*x + 0*c"}, inputs=["x"])
    study = stepped_study(model)
    study = study.with_(tuners=[*study.tuners, Tuner("c", start=1.0)])
    found = fit(study)
    assert found.accuracy.stderr[1] == np.inf
    assert not found.accuracy.identifiable[1]
