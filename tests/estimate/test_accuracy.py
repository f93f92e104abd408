"""How far to trust the estimates: covariance, coverage of intervals, rank, information criteria."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import (
    RC,
    TWO_STATES,
    TWO_STATES_TRUTH,
    curve,
    rc_table,
    simulated,
    steps,
)

from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.simulate.engine.options import Options
from estimica.simulate.load import load_model
from estimica.study.case import Case, InputColumn, OutputColumn, Sigma
from estimica.study.estimation import Estimation, Solver
from estimica.study.study import Study
from estimica.study.tuner import Prior, Tuner

X = np.linspace(0, 1, 30)


def line(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y = 1 + 2 * X + 0.1 * np.random.default_rng(seed).standard_normal(30)
    A = np.stack([np.ones(30), X], axis=1)
    best, *_ = np.linalg.lstsq(A, y, rcond=None)
    return y, A, best


def test_covariance_of_a_straight_line_is_the_textbooks() -> None:
    y, A, best = line()
    found = fit(curve("a + b*x", X, y, {"a": 0.5, "b": 0.5}))
    s2 = np.sum((A @ best - y) ** 2) / 28
    assert found.covariance == pytest.approx(s2 * np.linalg.inv(A.T @ A), rel=1e-7)
    width = 2.048407141795244  # t of 28 degrees of freedom at 97.5 %
    assert found.parameters.ci95_high["a"] == pytest.approx(
        best[0] + width * np.sqrt(found.covariance[0, 0]), rel=1e-7
    )


def test_information_criteria_are_those_of_the_gaussian_likelihood() -> None:
    y, A, best = line()
    residual = A @ best - y
    n = len(y)
    deviance = n * np.log(2 * np.pi * np.mean(residual**2)) + n
    for criterion in ("oe", "ml"):
        found = fit(curve("a + b*x", X, y, {"a": 0.5, "b": 0.5}, Estimation(criterion=criterion)))
        assert found.aic == pytest.approx(deviance + 2 * 3, rel=1e-9)
        assert found.bic == pytest.approx(deviance + 3 * np.log(n), rel=1e-9)


def test_known_noise_levels_give_intervals_of_their_own_size() -> None:
    y, A, _ = line()
    found = fit(curve("a + b*x", X, y, {"a": 0.5, "b": 0.5}, Estimation(criterion="ml"), sigma=5.0))
    assert found.covariance == pytest.approx(25 * np.linalg.inv(A.T @ A), rel=1e-6)


def test_noise_level_held_at_its_bound_takes_no_degrees_of_freedom() -> None:
    y, A, _ = line()
    sigma = Sigma(min=0.5, max=1.0)
    found = fit(
        curve("a + b*x", X, y, {"a": 0.5, "b": 0.5}, Estimation(criterion="ml"), sigma=sigma)
    )
    assert found.covariance == pytest.approx(0.25 * np.linalg.inv(A.T @ A), rel=1e-6)


@pytest.mark.parametrize("transcription", ["shooting", "multiple-shooting", "collocation"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_tuner_that_only_its_prior_determines_has_the_error_of_the_prior(
    transcription: str, loss: str
) -> None:
    model, table = rc_table()
    table["v"] += 0.01 * np.random.default_rng(3).standard_normal(len(table))
    output = OutputColumn("v", sigma=0.01)
    case = Case("charge", table, inputs={"u": "u"}, outputs={"v": output})
    tuners = [Tuner("R", start=1.0, prior=Prior(2.0, 0.1)), Tuner("C", start=1.0)]
    estimation = Estimation(transcription=transcription, loss=loss)
    found = fit(Study(model, tuners, [case], estimation=estimation))
    assert found["R"] == pytest.approx(2.0, rel=1e-4)
    assert found.accuracy.stderr[0] == pytest.approx(0.1, rel=1e-6)  # known, not from residuals
    assert found.accuracy.stderr[1] / found["C"] > 0.05


def test_prior_of_output_error_with_known_noise_gives_the_posterior_error() -> None:
    y, A, _ = line()
    tuners = [Tuner("a", start=0.5), Tuner("b", start=0.5, prior=Prior(2.0, 0.02))]
    found = fit(curve("a + b*x", X, y, tuners, weight=None, sigma=0.1))
    precision = A.T @ A / 0.01 + np.diag([0, 1 / 0.02**2])
    posterior = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert found.accuracy.stderr == pytest.approx(posterior, rel=0.15)  # s² of 30 samples


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_as_many_unknowns_as_samples_have_infinite_errors(criterion: str) -> None:
    x, y = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    found = fit(curve("a + b*x", x, y, {"a": 0.5, "b": 0.5}, Estimation(criterion=criterion)))
    assert found.values == pytest.approx([1.0, 2.0], rel=1e-5)
    assert np.isinf(found.accuracy.stderr).all()
    assert np.isnan(found.covariance[0, 1])


def test_ill_conditioned_polynomial_has_full_rank() -> None:
    x = np.linspace(0, 1, 100)
    V = np.vander(x, 9, increasing=True)  # columns of one length: condition 4e5
    y = V @ np.linspace(0.5, 2, 9) + 1e-6 * np.random.default_rng(0).standard_normal(100)
    text = " + ".join(f"c{k}*x^{k}" for k in range(9))
    found = fit(curve(text, x, y, {f"c{k}": 1.0 for k in range(9)}))
    best, squares, *_ = np.linalg.lstsq(V, y, rcond=None)
    assert found.accuracy.rank == 9
    assert np.all(np.abs(found.values - best) < 0.01 * found.accuracy.stderr)
    assert found.cost == pytest.approx(squares[0], rel=1e-6)


def test_only_the_product_of_resistance_and_capacity_is_determined() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    found = fit(Study(model, [Tuner("R", start=2.0), Tuner("C", start=1.0)], [case]))
    assert found["R"] * found["C"] == pytest.approx(0.6, rel=1e-5)
    assert found.identifiability.rank == 1
    assert np.isinf(found.accuracy.stderr).all()
    direction = found.identifiability.null_directions[0]
    assert direction["R"] == pytest.approx(-direction["C"], rel=1e-3)
    assert found.identifiability.advice[0].startswith("only R·C is determined by these data, not")


def test_two_resistors_and_a_capacity_have_rank_two_of_three(cases: Path) -> None:
    model = load_model(
        """model Simple2R1C
          parameter Real R1 = 0.08; parameter Real R2 = 0.08; parameter Real C = 1000;
          input Real Ti1; input Real Ti2; output Real T(start = 293.15, fixed = true);
        equation
          C*der(T) = (Ti1 - T)/R1 + (Ti2 - T)/R2;
        end Simple2R1C;"""
    )
    folder = cases / "modestpy_2R1C"
    inputs = pd.read_csv(folder / "inputs.csv")
    table = pd.concat([inputs, pd.read_csv(folder / "result.csv")["T"]], axis=1)
    case = Case("run", table, inputs={"Ti1": "Ti1", "Ti2": "Ti2"}, outputs={"T": "T"}, time="time")
    tuners = [Tuner(n, scale="log") for n in ("R1", "R2", "C")]
    found = fit(Study(model, tuners, [case]))
    assert found.identifiability.rank == 2
    assert np.isinf(found.accuracy.stderr).all()
    assert found["R1"] * found["C"] == pytest.approx(200, rel=0.01)
    assert found["R2"] * found["C"] == pytest.approx(500, rel=0.01)
    (advice,) = found.identifiability.advice
    assert advice.startswith("only R1·C and R2·C are determined by these data")


def coverage(criterion: str, variances: tuple[float, float], count: int) -> np.ndarray:
    """Share of 95 % intervals that hold the truth, for each tuner."""
    model = load_model(TWO_STATES)
    time = np.linspace(0, 40, 500)
    exact = simulated(model, time, steps(time), TWO_STATES_TRUTH, ["y1", "y2"])
    truth = np.array(list(TWO_STATES_TRUTH.values()))
    random = np.random.default_rng(11)
    held = np.zeros(len(truth))
    for _ in range(count):
        table = exact.copy()
        for name, r in zip(("y1", "y2"), variances, strict=True):
            table[name] += np.sqrt(r) * random.standard_normal(len(time))
        case = Case(
            "run",
            table,
            inputs={"u1": "u1", "u2": "u2"},
            outputs={n: OutputColumn(n, weight=1.0) for n in ("y1", "y2")},
        )
        tuners = [Tuner(n, start=v) for n, v in TWO_STATES_TRUTH.items()]
        interval = fit(Study(model, tuners, [case], criterion)).accuracy.interval
        held += (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    return held / count


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_intervals_cover_the_truth_though_the_outputs_are_not_equally_noisy(criterion: str) -> None:
    # 200 trials of probability 0.95 lie within 0.90 … 0.99 all but once in a thousand times
    share = coverage(criterion, (1e-4, 1e-6), 200)
    assert (share >= 0.90).all(), share
    assert (share <= 0.99).all(), share


def test_missing_samples_leave_estimates_within_their_intervals() -> None:
    model = load_model(TWO_STATES)
    time = np.linspace(0, 40, 500)
    table = simulated(model, time, steps(time), TWO_STATES_TRUTH, ["y1", "y2"])
    random = np.random.default_rng(5)
    for name in ("y1", "y2"):
        table[name] += 0.01 * random.standard_normal(500)
    thinned = table.copy()
    for name in ("y1", "y2"):
        thinned.loc[random.random(500) < 0.3, name] = np.nan
    fits = []
    for one in (table, thinned):
        case = Case("run", one, inputs={"u1": "u1", "u2": "u2"}, outputs={"y1": "y1", "y2": "y2"})
        fits.append(
            fit(
                Study(model, [Tuner(n, start=v) for n, v in TWO_STATES_TRUTH.items()], [case], "ml")
            )
        )
    whole, part = fits
    assert part.n_samples < 0.75 * whole.n_samples
    assert len(part.cases[0]["y1"].time) != len(part.cases[0]["y2"].time)
    assert (np.abs(part.values - whole.values) < 2 * part.accuracy.stderr).all()


def test_linear_hold_of_an_input_is_simulated_as_such() -> None:
    model = load_model(RC)
    time = np.linspace(0, 5, 50)
    ramp = np.sin(time)
    exact = model.simulate(
        time, {"u": {"time": time, "value": ramp, "hold": "linear"}}, {"R": 0.7}, outputs=["v"]
    )
    table = pd.DataFrame({"time": time, "u": ramp, "v": exact.value("v")})
    given = {"u": InputColumn("u", hold="linear")}
    found = fit(
        Study(
            model, [Tuner("R", start=2.0)], [Case("run", table, inputs=given, outputs={"v": "v"})]
        )
    )
    assert found["R"] == pytest.approx(0.7, rel=1e-5)


CHARGE = """model Cell
  parameter Real C = 1e-12; parameter Real R = 0.8e9; input Real u;
  Real q(start = 0, fixed = true NOMINAL); output Real y = q/C;
equation
  R*der(q) = u - q/C;
end Cell;"""


@pytest.mark.parametrize("nominal", ["", ", nominal = 1e-12"])
def test_simulation_that_is_too_coarse_for_its_states_is_told(nominal: str) -> None:
    # a charge of 1e-12 C is far below the absolute tolerance, unless it has a nominal value
    time = np.linspace(0, 5e-3, 200)
    u = np.sign(np.sin(2e3 * time))
    decay = np.exp(-(time[1] - time[0]) / (0.7e-12 * 0.8e9))
    y = np.zeros(200)
    for k in range(199):
        y[k + 1] = u[k] + (y[k] - u[k]) * decay
    y += 1e-3 * np.random.default_rng(1).standard_normal(200)
    table = pd.DataFrame({"time": time, "u": u, "y": y})
    model = load_model(CHARGE.replace("NOMINAL", nominal))
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    found = fit(Study(model, ["C"], [case]))
    if nominal:
        assert found["C"] == pytest.approx(0.7e-12, abs=4 * found.accuracy.stderr[0])
        assert "too coarse" not in found.outcome.message
    else:
        assert "the simulation is too coarse" in found.outcome.message
        assert "nominal value" in found.outcome.message


CHAIN = """model Chain
  parameter Real k1 = 1; parameter Real k2 = 1; parameter Real k3 = 1;
  parameter Real k4 = 0.5; parameter Real g = 1;
  Real a(start = 1, fixed = true); Real b(start = 0, fixed = true); Real c(start = 0, fixed = true);
  output Real y;
equation
  der(a) = -k1*a + k4*b; der(b) = k1*a - k2*b - k4*b; der(c) = k2*b - k3*c;
  y = g*(b + c);
end Chain;"""


@pytest.mark.parametrize("seed", [12, 28, 49, 191])
def test_simulation_is_not_called_too_coarse_where_a_finer_one_moves_nothing(seed: int) -> None:
    # one direction is hardly determined: slopes that are wrong in the sixth digit promise shifts
    # of 0.3 to 2.6 standard errors along it
    random = np.random.default_rng(seed)
    n, sigma = int(random.choice([20, 100, 500])), 10.0 ** random.uniform(-6, -1)
    time = np.linspace(0, 10.0 ** random.uniform(-0.5, 1.5), n)
    truth = dict(zip(("k1", "k2", "k3", "k4", "g"), np.exp(random.normal(0, 1, 5)), strict=True))
    model = load_model(CHAIN)
    exact = model.simulate(
        time, None, truth, outputs=["y"], options=Options(rtol=1e-11, atol=1e-14)
    )
    table = pd.DataFrame({"time": time, "y": exact.value("y") + sigma * random.standard_normal(n)})
    start = {k: v * np.exp(0.5 * random.normal()) for k, v in truth.items()}

    def fitted(start: dict[str, float], solver: Solver) -> Fit:
        tuners = [Tuner(k, start=v, min=1e-4, max=1e4, scale="log") for k, v in start.items()]
        case = Case("run", table, outputs={"y": "y"})
        return fit(Study(model, tuners, [case], "ml", solver=solver))

    found = fitted(start, Solver())
    assert found.outcome.ok
    finer = fitted(dict(zip(start, found.values, strict=True)), Solver(rtol=1e-8, atol=1e-14))
    shift = np.abs(finer.values - found.values) / found.accuracy.stderr
    assert np.nanmax(shift) < 0.01
    assert "too coarse" not in found.outcome.message
