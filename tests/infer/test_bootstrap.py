"""Bootstrap: scatter of linear models, skewed and coloured noise, failures that are counted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.infer.interval_problems import boiler, curve, line, puromycin

import estimica as es
from estimica.execute.pieces import seeds
from estimica.execute.runs.store import Store
from estimica.execute.workers.executor import executor
from estimica.execute.workers.local import LocalProcesses
from estimica.infer.bootstrap.intervals import bca_interval, percentile_interval
from estimica.infer.bootstrap.present import estimates, relative
from estimica.infer.bootstrap.resampling import resampler
from estimica.infer.covariance.block_length import block_length
from estimica.infer.refit import fit_context_of, refit


def coloured(n: int, memory: float, rng: np.random.Generator) -> np.ndarray:
    """First-order autoregressive noise of variance one."""
    noise = rng.standard_normal(n)
    for k in range(1, n):
        noise[k] = memory * noise[k - 1] + np.sqrt(1 - memory**2) * noise[k]
    return noise


@pytest.mark.parametrize("kind", ["parametric", "residual", "block"])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_scatter_of_a_linear_model_is_its_standard_error(kind: str, criterion: str) -> None:
    fit, X, y = line(estimation={"criterion": criterion})
    n, p = X.shape
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    error = np.sqrt(np.sum((y - X @ beta) ** 2) / (n - p) * np.diag(np.linalg.inv(X.T @ X)))
    found = es.bootstrap(fit, 400, kind=kind)  # type: ignore[arg-type]
    assert found.replicates == 400
    for k, s in enumerate(found.spreads):
        assert s.stderr == pytest.approx(error[k], rel=4 / np.sqrt(800))
        assert abs(s.bias) < 4 * error[k] / np.sqrt(400)
        assert s.percentile[0] < s.value < s.percentile[1]


def test_each_replicate_is_the_regression_of_its_own_data() -> None:
    fit, X, _ = line()
    found = es.bootstrap(fit, 20, seed=9)
    place = fit_context_of(fit)
    source = resampler(place, "parametric", None)
    for k, seed in enumerate(seeds(9, 20)):
        (y,) = source.measured(seed)
        assert found.values[k] == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], rel=1e-8)


def test_noise_is_drawn_with_the_degrees_of_freedom_given_back() -> None:
    fit, X, y = line(estimation={"criterion": "ml"})
    n, p = X.shape
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    found = es.bootstrap(fit, 300)
    assert fit.noise["y"].variance == pytest.approx(rest @ rest / n)
    assert found.noise_drawn["y"] == pytest.approx(rest @ rest / (n - p))
    # of the residuals of the next fit the unknowns take their share again
    spread = found.noise_spreads["y"]
    expected = -found.noise_drawn["y"] * p / n
    assert spread.bias == pytest.approx(expected, abs=4 * spread.stderr / np.sqrt(300))


def test_acceleration_of_a_mean_is_that_of_its_jackknife() -> None:
    rng = np.random.default_rng(4)
    y = rng.exponential(size=40)
    fit = curve("m*x", np.ones(40), y, {"m": 1.0})
    d = y - y.mean()
    expected = np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)
    found = es.bootstrap(fit, 50, kind="residual")
    assert found.acceleration[0] == pytest.approx(expected, rel=1e-9)


def test_bca_agrees_with_scipy_for_a_skewed_mean() -> None:
    rng = np.random.default_rng(4)
    y = rng.exponential(size=40)
    means = y[rng.integers(40, size=(9999, 40))].mean(axis=1)
    d = y - y.mean()
    acceleration = np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)
    theirs = stats.bootstrap((y,), np.mean, n_resamples=9999, method="BCa", rng=1)
    near = 0.06 * means.std()
    assert bca_interval(y.mean(), means, acceleration) == pytest.approx(
        tuple(theirs.confidence_interval), abs=near
    )
    low, high = percentile_interval(means)
    assert bca_interval(y.mean(), means, acceleration)[1] > high > y.mean() > low


def test_bca_without_bias_and_skewness_is_the_percentile_interval() -> None:
    replicates = np.arange(-499.0, 500.0)
    assert bca_interval(0.0, replicates, 0.0) == pytest.approx(percentile_interval(replicates))
    assert np.isnan(bca_interval(-600.0, replicates, 0.0)).all()  # all on one side
    assert np.isnan(percentile_interval(replicates[:30])).all()  # too few for 95 %


def test_white_residuals_ask_for_short_blocks_and_coloured_ones_for_long() -> None:
    rng = np.random.default_rng(8)
    n, memory = 2000, 0.7
    white = [block_length(rng.standard_normal(n)) for _ in range(20)]
    assert np.median(white) <= 2
    # the optimum of Politis and White for a known first-order autoregression
    g, spectrum = 2 * memory / (1 - memory) ** 2, (1 + memory) / (1 - memory)
    best = (2 * g**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * n ** (1 / 3)
    long = [block_length(coloured(n, memory, rng)) for _ in range(20)]
    assert 0.7 * best < np.median(long) < 1.5 * best


def test_blocks_see_the_colour_that_white_noise_hides() -> None:
    rng = np.random.default_rng(6)
    n, memory = 1500, 0.8
    fit = curve("m*x", np.ones(n), 10 + coloured(n, memory, rng), {"m": 9.0})
    truth = np.sqrt((1 + memory) / (1 - memory) / n)
    blocks = es.bootstrap(fit, 200, kind="block")
    white = es.bootstrap(fit, 200)
    assert blocks.spreads[0].stderr == pytest.approx(truth, rel=0.3)
    assert white.spreads[0].stderr < 0.5 * truth
    assert blocks.block_lengths["points", "y"] > 10
    assert blocks.to_dict()["block_lengths"] == {
        "points": {"y": blocks.block_lengths["points", "y"]}
    }


def test_bounds_hold_in_every_replicate() -> None:
    free, X, y = line()
    tuners = [es.Tuner("a", start=1.0), es.Tuner("b", start=0.5, max=free["b"] + 0.01)]
    found = es.bootstrap(curve("a + b*x", X[:, 1], y, tuners), 200)
    assert found.values[:, 1].max() <= free["b"] + 0.01
    assert 0.25 < found.spreads[1].at_bound < 0.65
    assert "at bound %" in repr(found)


def test_failed_replicates_are_counted_and_shown(tmp_path: Path) -> None:
    x = np.linspace(0.05, 1, 20)
    y = (np.sqrt(0.5 * x) + 0.25 * np.cos(50 * x)) ** 2
    fit = curve("a*x", x, y, {"a": 0.4}, transform="sqrt")
    found = es.bootstrap(fit, 100)
    assert found.failed > 5
    assert found.replicates + found.failed == 100
    assert "transform 'sqrt' never takes the value -0." in found.failures[0].message
    assert not found.trusted
    status, message = found.outcome()
    assert status == "failed"
    assert message.startswith(
        f"{found.replicates} of 100 replicates came to an optimum; {found.failed}"
    )
    assert message.endswith("the others say nothing of standard errors and intervals")
    assert np.isnan([found.spreads[0].stderr, *found.spreads[0].percentile]).all()
    told = found.to_dict()
    assert told["failed"] == sum(f["count"] for f in told["failures"])  # type: ignore[attr-defined]
    page = found.report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert "Failed replicates" in page


def test_transformed_outputs_are_drawn_on_their_own_scale() -> None:
    rng = np.random.default_rng(2)
    x = np.linspace(0, 4, 60)
    y = np.exp(1 - 0.8 * x + 0.2 * rng.standard_normal(60))
    fit = curve("exp(a - b*x)", x, y, {"a": 0.5, "b": 1.0}, transform="log")
    found = es.bootstrap(fit, 200)
    X = np.column_stack([np.ones(60), -x])
    rest = np.log(y) - X @ np.linalg.lstsq(X, np.log(y), rcond=None)[0]
    error = np.sqrt(rest @ rest / 58 * np.diag(np.linalg.inv(X.T @ X)))
    assert [s.stderr for s in found.spreads] == pytest.approx(error, rel=0.2)


def test_robust_losses_are_refitted_with_their_own_scales() -> None:
    found = es.bootstrap(puromycin(estimation={"loss": "huber"}), 60)
    assert found.replicates == 60
    assert 3 < found.spreads[0].stderr < 15


def test_more_replicates_begin_with_the_same_ones() -> None:
    fit = puromycin()
    few, many = es.bootstrap(fit, 20), es.bootstrap(fit, 30)
    assert np.array_equal(few.values, many.values[:20])
    assert not np.array_equal(few.values, es.bootstrap(fit, 20, seed=2).values)


def test_workers_give_the_same_bits() -> None:
    fit = boiler()
    alone, shared = es.bootstrap(fit, 40), es.bootstrap(fit, 40, workers=2)
    assert np.array_equal(alone.values, shared.values)
    assert all(np.array_equal(alone.noise[n], shared.noise[n]) for n in ("E", "P"))


def test_a_crew_of_ones_own_stays_for_the_next_call() -> None:
    fit = puromycin()
    with executor("local", 2) as crew:
        first = es.bootstrap(fit, 20, executor=crew)
        assert isinstance(crew, LocalProcesses)
        kept = list(crew._crew)
        second = es.bootstrap(fit, 20, executor=crew)
        assert crew._crew == kept  # the same processes
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.values, es.bootstrap(fit, 20).values)


@pytest.mark.slow
def test_four_dask_workers_give_the_same_bits() -> None:
    pytest.importorskip("distributed")
    fit = boiler()
    alone = es.bootstrap(fit, 40)
    shared = es.bootstrap(fit, 40, executor="dask", workers=4)
    assert np.array_equal(alone.values, shared.values)
    assert np.array_equal(alone.costs, shared.costs)


def test_what_is_done_is_found_when_the_run_is_taken_up_again(tmp_path: Path) -> None:
    fit = puromycin()
    whole = es.bootstrap(fit, 60)
    store = Store(tmp_path / "runs.sqlite")

    def stop(progress: object) -> None:
        if progress.done == 25:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with store.begin("bootstrap", name="p", study="", settings={}) as run:
        begun = es.bootstrap(fit, 60, run=run, progress=stop)
        run.close()
    assert begun.interrupted
    assert begun.outcome()[1].startswith("interrupted after 25 of 60 replicates")
    assert len(store.run("last").checkpoints) == 25
    worked: list[int] = []
    with store.resume("last") as run:
        noted = run.checkpoint
        run.checkpoint = lambda key, payload: (worked.append(1), noted(key, payload))[1]  # type: ignore[method-assign]
        found = es.bootstrap(fit, 60, run=run)
    assert len(worked) == 35  # nothing is done twice
    assert np.array_equal(whole.values, found.values)
    assert {**whole.to_dict(), "seconds": 0} == {**found.to_dict(), "seconds": 0}


def test_replicates_together_are_those_of_single_searches() -> None:
    fit = boiler()
    alone = es.fit(fit.study.with_(execute=es.Execution(backend="scalar")))
    one, other = es.bootstrap(fit, 24, kind="block"), es.bootstrap(alone, 24, kind="block")
    assert (one.worked_by.backend, other.worked_by.backend) == ("vector", "scalar")
    assert one.values == pytest.approx(other.values, rel=1e-6)
    assert one.costs == pytest.approx(other.costs, rel=1e-7)  # the simulations have errors
    assert np.array_equal(one.at_bound, other.at_bound)
    assert one.to_dict()["worked_by"] == {"backend": "vector", "alone": 0, "reason": ""}
    assert "computed in the vector units of the processor" in str(one)


def test_replicates_that_were_not_asked_for_together_say_why() -> None:
    fit = puromycin()
    asked = es.fit(fit.study.with_(execute=es.Execution(backend="vector")))
    found = es.bootstrap(asked, 20)
    assert found.worked_by.backend == "scalar"
    assert found.worked_by.reason.endswith("is not simulated by the engine")
    assert np.array_equal(found.values, es.bootstrap(fit, 20).values)


def test_a_batch_that_was_interrupted_is_done_whole_again(tmp_path: Path) -> None:
    fit = boiler()
    whole = es.bootstrap(fit, 140)
    store = Store(tmp_path / "runs.sqlite")

    def stop(progress: object) -> None:
        if progress.done == 128:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with store.begin("bootstrap", name="p", study="", settings={}) as run:
        begun = es.bootstrap(fit, 140, run=run, progress=stop)
        run.close()
    assert begun.interrupted
    assert begun.replicates == 128
    with store.resume("last") as run:
        found = es.bootstrap(fit, 140, run=run, workers=2)
    assert np.array_equal(whole.values, found.values)
    assert {**whole.to_dict(), "seconds": 0} == {**found.to_dict(), "seconds": 0}


def test_replicates_of_the_boiler_cost_less_than_its_fit() -> None:
    fit = boiler()
    found = es.bootstrap(fit, 25)
    simulations = fit.evaluations.simulations
    place = fit_context_of(fit)
    source = resampler(place, "parametric", None)
    used = []
    for seed in seeds(1, 25):
        replaced = place.objective.replaced(source.measured(seed))
        refit(place.setup, replaced, place.q)
        used.append(replaced.evaluations.simulations)
    assert found.replicates == 25
    assert np.mean(used) < 1.1 * simulations


def test_a_bootstrap_shows_itself(tmp_path: Path) -> None:
    found = es.bootstrap(boiler(), 50)
    told = json.loads(json.dumps(found.to_dict()))
    one = told["parameters"]["T_D"]
    assert set(one) >= {"value", "mean", "bias", "stderr", "ci95", "ci95_bca", "unit"}
    assert told["replicates"] == 50
    assert told["noise"]["E"]["value"] == found.fit.noise["E"].variance
    assert "variance" in repr(found)
    assert "<table" in found._repr_html_()
    assert len(found.plot("scatter", "T_D", "w_E", "A4").data) == 6
    assert found.plot("distribution", "T_D").data
    assert found.report(tmp_path / "b.html").stat().st_size > 10_000
    assert found.parameters.loc["T_D", "stderr"] == one["stderr"]
    assert found.covariance.shape == (7, 7)


def test_wrong_questions_are_told() -> None:
    fit = puromycin()
    with pytest.raises(
        es.InferError, match="I403: there is no bootstrap of kind 'blok'; did you mean"
    ):
        es.bootstrap(fit, kind="blok")  # type: ignore[arg-type]
    with pytest.raises(es.InferError, match="I405: 1 replicates say nothing; use 200 or more"):
        es.bootstrap(fit, 1)
    with pytest.raises(es.InferError, match="I406: block length 0: a block has at least one"):
        es.bootstrap(fit, kind="block", block_length=0)
    found = es.bootstrap(fit, 3)
    with pytest.raises(es.InferError, match="I407: there is no plot 'scater'; did you mean"):
        found.plot("scater")
    with pytest.raises(es.InferError, match="I408: the bootstrap has no unknown 'W'"):
        found.plot("scatter", "W")
    assert np.isnan(found.spreads[0].percentile).all()
    broken = curve("V*x/(K + x) + sqrt(K - 1)", np.ones(3), np.ones(3), {"V": 1.0, "K": 0.5})
    with pytest.raises(es.InferError, match="I401: bootstrap: the fit found no estimate"):
        es.bootstrap(broken)


@pytest.mark.parametrize(
    ("experiments", "replicates"), [(6, 45), pytest.param(30, 100, marks=pytest.mark.slow)]
)
def test_intervals_cover_the_truth(experiments: int, replicates: int) -> None:
    from tests.infer.interval_coverage import coverage

    found = coverage(experiments, replicates, seed=5, workers=1)["intervals"]
    for method in ("t", "percentile", "profile"):
        shares = [v["coverage_percent"] for v in found[method].values()]
        assert 100 * (0.95 - 0.5 / np.sqrt(experiments)) < np.mean(shares)


def test_the_stored_coverage_of_200_experiments_is_what_chance_allows() -> None:
    from tests.infer.interval_coverage import RESULT

    told = json.loads(RESULT.read_text(encoding="utf-8"))
    assert (told["experiments"], told["replicates"]) == (200, 200)
    for of_method in told["intervals"].values():
        for one in of_method.values():
            count = 200 - one["no_interval"]
            held = count - one["truth_below"] - one["truth_above"]
            assert one["coverage_percent"] == pytest.approx(100 * held / count, abs=0.01)
            assert stats.binomtest(held, count, 0.95).pvalue > 0.02


def test_few_replicates_leave_no_empty_columns_and_the_bias_is_as_exact_as_its_error() -> None:
    found = es.bootstrap(puromycin(), 20)
    table = estimates(found)
    assert "BCa from" not in table.columns
    assert table.note.endswith("too few for BCa intervals")
    bias, error = table.columns.index("bias"), table.columns.index("std. error")
    for row in table.rows:
        shown = [str(row[k]).partition(".")[2] for k in (bias, error)]
        assert len(shown[0]) == len(shown[1])


def test_percents_of_a_negative_estimate_are_of_its_size() -> None:
    x = np.linspace(0, 5, 30)
    y = -2 - 0.7 * x + 0.5 * np.random.default_rng(3).standard_normal(30)
    found = es.bootstrap(curve("a + b*x", x, y, {"a": -1.0, "b": -1.0}), 50)
    (table,) = relative(found)
    for row, s in zip(table.rows, found.spreads, strict=False):
        ends = [100 * (end - s.value) / -s.value for end in s.percentile]
        assert row[3:] == pytest.approx(ends)
        assert ends[0] < 0 < ends[1]
        assert row[1] == pytest.approx(100 * s.bias / -s.value)
