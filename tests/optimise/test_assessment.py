"""Sweeps and Monte Carlo against analytic values; failed samples, sources, plots and errors."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import estimica as es
from estimica.base.result import Progress
from estimica.base.thinning import MOST_LINES, thin_lines
from estimica.base.view import Parallel, Upright, figure, text
from estimica.optimise.assess.pictures import maps, parallel, picture, scatter
from estimica.optimise.assess.present import local_table, sensitivity_table
from estimica.optimise.assess.result import share_of
from estimica.optimise.assess.run import PIECE, _SampleResults
from estimica.optimise.assess.samples import grid
from estimica.simulate.formula import formula_model

PI = math.pi
DECAY = """model Decay
  parameter Real k = 1;
  parameter Real a = 2;
  parameter Real b = 3;
  parameter Real r = 1 "must not be negative";
  Real x(start = 1, fixed = true);
  Real s(start = 0, fixed = true);
equation
  der(x) = -k*x;
  der(s) = 2*a + b + 0.5*k + sqrt(r) - 1;
  annotation(experiment(StopTime = 1));
end Decay;"""


def formula_study(demand: float = 1.0, **formulas: str) -> es.Study:
    criteria = [es.Criterion(n, f, demand=demand) for n, f in formulas.items()]
    tuners = [
        es.Tuner(n, start=1.0) for n in ("p", "q", "w") if any(n in f for f in formulas.values())
    ]
    return es.Study(formula_model(formulas, ()), tuners, [], criteria=criteria, name="formulas")


@pytest.fixture(scope="module")
def decay() -> es.Study:
    criteria = [
        es.Criterion("left", "x", kind="final", demand=0.5),
        es.Criterion("sum", "s", kind="final", demand=8.0, unit="m"),
    ]
    tuner = es.Tuner("k", start=1.0, min=0.1, max=2)
    case = es.Case("one", stop=1.0)
    tight = es.Solver(rtol=1e-10, atol=1e-12)  # samples are simulated with it
    model = es.load_model(DECAY)
    return es.Study(model, [tuner], [case], criteria=criteria, name="decay", solver=tight)


def uniform(low: float, high: float) -> dict[str, object]:
    return {"kind": "uniform", "min": low, "max": high}


def normal(mean: float, sigma: float) -> dict[str, object]:
    return {"kind": "normal", "mean": mean, "sigma": sigma}


# --- sensitivity ----------------------------------------------------------------------------------


def test_sobol_indices_of_ishigamis_function_are_the_analytic_ones() -> None:
    study = formula_study(12.0, y="sin(p) + 7*sin(q)^2 + 0.1*w^4*sin(p) + 10")
    draw = {n: uniform(-PI, PI) for n in ("p", "q", "w")}
    found = es.montecarlo(study, draw=draw, sensitivity="sobol", samples=2048)
    a, b = 7.0, 0.1
    first = np.array([0.5 * (1 + b * PI**4 / 5) ** 2, a**2 / 8, 0.0])
    cross = 8 * b**2 * PI**8 / 225
    total = first + np.array([cross, 0.0, cross])
    variance = first.sum() + cross
    own = found.sensitivity
    assert own is not None
    assert own.index("S1").value[0] == pytest.approx(first / variance, abs=0.025)
    assert own.index("ST").value[0] == pytest.approx(total / variance, abs=0.025)
    half = own.index("ST").half
    assert half is not None
    assert (half[0] < 0.1).all()
    # two of its five blocks are independent draws: these make the quantiles
    assert (len(found.samples), found.samples.draws) == (5 * 2048, 2 * 2048)
    drawn = found.values[: found.samples.draws, 0]
    assert drawn.mean() == pytest.approx(a / 2 + 10, rel=1e-3)
    assert drawn.var() == pytest.approx(variance, rel=0.02)


def test_sobol_indices_of_a_linear_modelica_model_are_shares_of_the_variance(
    decay: es.Study,
) -> None:
    draw = {
        "a": normal(2, 0.1),
        "b": {"kind": "lognormal", "mean": 3.0, "sigma": 0.1},
        "k": {"kind": "triangular", "min": 0.5, "mode": 1.0, "max": 1.5},
    }
    found = es.montecarlo(decay, draw=draw, sensitivity="sobol", samples=256)
    variances = np.array(
        [4 * 0.1**2, 3.0**2 * (math.exp(0.1**2) - 1), 0.25 * (0.5**2 / 6)],
    )
    own = found.sensitivity
    assert own is not None
    shares = variances / variances.sum()
    assert own.index("S1").value[1] == pytest.approx(shares, abs=0.03)
    assert own.index("ST").value[1] == pytest.approx(shares, abs=0.03)
    assert own.index("ST").value[0] == pytest.approx([0, 0, 1], abs=0.03)  # x knows only k
    told = text(sensitivity_table(found))
    assert "total index" in told
    assert "256 base samples" in told
    assert "sobol" in str(found.to_dict()["sensitivity"])


def test_morris_screening_tells_slopes_of_a_linear_function_and_no_scatter() -> None:
    study = formula_study(y="20 + 3*p - 2*q + 0*w")
    draw = {"p": uniform(0, 2), "q": uniform(0, 1), "w": uniform(0, 1)}
    found = es.montecarlo(study, draw=draw, sensitivity="morris", samples=60)
    own = found.sensitivity
    assert own is not None
    assert own.index("mu").value[0] == pytest.approx([6, -2, 0], abs=1e-9)
    assert own.index("mu_star").value[0] == pytest.approx([6, 2, 0], abs=1e-9)
    assert own.index("sigma").value[0] == pytest.approx(0, abs=1e-9)
    assert found.samples.draws == 60
    assert len(found.samples) == 60 + 15 * 4


def test_indices_leave_out_blocks_with_a_failed_sample_and_say_so() -> None:
    study = formula_study(y="sqrt(p) + q")
    draw = {"p": uniform(-0.1, 1), "q": uniform(0, 1)}
    found = es.montecarlo(study, draw=draw, sensitivity="sobol", samples=256)
    assert found.failures
    own = found.sensitivity
    assert own is not None
    assert own.lost > 0
    assert own.blocks + own.lost == 256
    assert "were left out because a sample in them failed" in text(sensitivity_table(found))


def test_a_criterion_that_does_not_vary_has_no_indices() -> None:
    study = formula_study(y="p", c="3 + 0*p")
    draw = {"p": uniform(0, 1)}
    found = es.montecarlo(study, draw=draw, sensitivity="sobol", samples=32)
    own = found.sensitivity
    assert own is not None
    assert own.main.value[0] == pytest.approx([1], abs=0.1)
    assert np.isnan(own.main.value[1]).all()


def test_local_sensitivities_are_the_exact_derivatives(decay: es.Study) -> None:
    found = es.sweep(decay, vary={"k": [0.5, 1, 1.5], "a": [1, 2]})
    own = found.local
    assert own is not None
    assert own.point.tolist() == [1.0, 2.0]
    expected = np.array([[-math.exp(-1), 0.0], [0.5, 2.0]])
    assert own.derivatives == pytest.approx(expected, abs=1e-7)
    relative = np.array([[-1, 0], [0.5 / 7.5, 4 / 7.5]])
    assert own.relative == pytest.approx(relative, abs=1e-7)
    assert not own.differenced
    assert "At k = 1, a = 2." in text(local_table(found))


# --- values ---------------------------------------------------------------------------------------


def test_a_grid_has_the_values_of_single_simulations(decay: es.Study) -> None:
    found = es.sweep(decay, vary={"k": [0.2, 1.0, 1.7], "a": {"from": 1, "to": 3, "count": 3}})
    assert found.outcome() == ("done", "9 of 9 samples")
    for (k, a), row in zip(found.samples.values, found.values, strict=True):
        run = decay.model.simulate(np.array([0, 1.0]), parameters={"k": k, "a": a})
        assert row[0] == pytest.approx(float(run.value("x")[-1]), rel=1e-5)
        assert row == pytest.approx([math.exp(-k), 2 * a + 3 + 0.5 * k], rel=1e-7)
    held = (found.values[:, 0] <= 0.5) & (found.values[:, 1] <= 8)
    assert found.satisfied.tolist() == held.tolist()
    best = found.best
    assert best is not None
    assert found.samples.values[best].tolist() == [1.7, 1.0]


def test_tuners_are_swept_between_their_bounds_where_nothing_is_said(decay: es.Study) -> None:
    found = es.sweep(decay)
    assert found.samples.values[:, 0] == pytest.approx(np.linspace(0.1, 2, 11))
    corners = es.sweep(decay, design="factorial")
    assert corners.samples.values[:, 0].tolist() == [0.1, 2]


def test_single_steps_move_one_parameter_from_the_centre(decay: es.Study) -> None:
    found = es.sweep(decay, design="one-at-a-time", vary={"k": [0.5, 1, 1.5], "a": [1, 2, 4]})
    rows = [[1, 2], [0.5, 2], [1.5, 2], [1, 1], [1, 4]]
    assert found.samples.values.tolist() == rows
    effects = found.to_dict()["effects"]
    assert effects["largest"]["one"]["sum"]["a"] == pytest.approx(4 / 8, abs=1e-7)  # type: ignore[index]
    assert effects["least"]["one"]["sum"]["a"] == pytest.approx(-2 / 8, abs=1e-7)  # type: ignore[index]
    bars = picture(found, "tornado")
    assert [b.name for b in bars.groups[1][1]] == ["a", "k"]  # type: ignore[union-attr]


def test_monte_carlo_quantiles_are_the_analytic_ones(decay: es.Study) -> None:
    draw = {"k": {"kind": "lognormal", "mean": 1.0, "sigma": 0.2}}
    levels = (0.1, 0.5, 0.9)
    found = es.montecarlo(decay, draw=draw, samples=512, sampling="sobol", quantiles=levels)
    rates = stats.lognorm(0.2, scale=math.exp(-(0.2**2) / 2))
    expected = np.exp(-rates.ppf([0.9, 0.5, 0.1]))  # what is left falls with the rate
    table = found.quantiles(levels)
    assert table.loc["left in one"].to_numpy() == pytest.approx(expected, rel=0.01)
    told = found.to_dict()["quantiles"]["one"]["left"]  # type: ignore[index]
    assert told["0.5"] == pytest.approx(expected[1], rel=0.01)
    share, (low, high) = found.probability_satisfied
    exact = float(1 - rates.cdf(math.log(2)))  # the sum stays below its demand
    assert low < exact < high
    assert share == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("spread", "law"),
    [
        (normal(2, 0.5), stats.norm(2, 0.5)),
        ({**normal(0, 1), "min": -1.0}, stats.truncnorm(-1, np.inf)),
        (uniform(1, 3), stats.uniform(1, 2)),
        ({"kind": "triangular", "min": 0, "mode": 1, "max": 4}, stats.triang(0.25, 0, 4)),
    ],
)
@pytest.mark.parametrize("sampling", ["random", "latin-hypercube", "sobol"])
def test_draws_follow_their_distribution(
    spread: dict[str, object], law: stats.rv_continuous, sampling: str
) -> None:
    found = es.montecarlo(formula_study(y="p"), draw={"p": spread}, samples=400, sampling=sampling)
    assert found.values[:, 0] == pytest.approx(found.samples.values[:, 0], rel=1e-14)
    assert stats.kstest(found.values[:, 0], law.cdf).pvalue > 0.01


@pytest.mark.parametrize(("held", "count"), [(0, 10), (7, 10), (40, 40), (333, 1000)])
def test_the_interval_of_a_probability_is_wilsons(held: int, count: int) -> None:
    share, ends = share_of(np.arange(count) < held)
    expected = stats.binomtest(held, count).proportion_ci(method="wilson")
    assert share == held / count
    assert ends == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_rank_correlations_and_regression_tell_a_linear_relation() -> None:
    study = formula_study(y="20 + 3*p - 4*q")
    draw = {"p": normal(0, 1), "q": normal(0, 1)}
    effects = es.montecarlo(study, draw=draw, samples=512, sampling="sobol").to_dict()["effects"]
    assert effects["regression"]["design"]["y"] == pytest.approx({"p": 0.6, "q": -0.8}, abs=0.01)  # type: ignore[index]
    assert effects["explained"]["design"]["y"]["p"] == pytest.approx(1)  # type: ignore[index]
    rank = effects["rank_correlation"]["design"]["y"]["q"]  # type: ignore[index]
    assert rank == pytest.approx(6 / PI * math.asin(-0.8 / 2), abs=0.02)  # of two normal ones


def test_a_sampled_parameter_stands_before_what_a_case_fixes(decay: es.Study) -> None:
    study = decay.with_(cases=[es.Case("one", fix={"a": 50.0}, stop=1.0)])
    found = es.sweep(study, vary={"a": [1, 2]})
    assert found.values[:, 1] == pytest.approx([5.5, 7.5])
    assert "In every case a stands in place of what the case fixes." in str(found.table().note)


# --- failures, executors --------------------------------------------------------------------------


def test_failed_samples_are_told_and_count_as_not_satisfied(
    decay: es.Study, tmp_path: Path
) -> None:
    found = es.sweep(decay, vary={"r": [1, -1, 2, -2], "k": [1]})
    assert [f.number for f in found.failures] == [1, 3]
    assert found.failures[0].case == "one"
    assert found.failures[0].message
    assert found.outcome() == ("done", "4 of 4 samples, 2 failed")
    assert found.satisfied.tolist() == [True, False, True, False]
    assert found.probability_satisfied[0] == 0.5
    frame = found.table_of_samples
    assert len(frame) == 4
    assert frame["left in one"].isna().tolist() == [False, True, False, True]
    failed = found.to_dict()["failed"]
    assert [f["sample"] for f in failed] == [1, 3]  # type: ignore[union-attr, index]
    page = found.report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert "2 samples could not be simulated" in page
    rows = pd.read_csv(found.write(tmp_path / "s.csv"))
    assert rows["failed"].isna().tolist() == [True, False, True, False]
    assert rows["sum in one [m]"][0] == found.values[0, 1]
    same = pd.read_parquet(found.write(tmp_path / "s.parquet"))
    assert same["r"].tolist() == [1, -1, 2, -2]


def test_where_every_sample_fails_the_sweep_has_failed(decay: es.Study, tmp_path: Path) -> None:
    found = es.sweep(decay, vary={"r": [-1, -2]})
    status, message = found.outcome()
    assert status == "failed"
    assert message.startswith("no sample could be simulated: ")
    found.report(tmp_path / "p.html")
    assert "failed" in str(found)
    assert es.montecarlo(decay, draw={"r": uniform(-2, -1)}, samples=3).to_dict()["quantiles"] == {}


def test_two_workers_give_the_same_bits_as_one(
    decay: es.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["estimica.optimise.assess.run"]  # es.optimise is a function, not the room
    monkeypatch.setattr(module, "TRIAL", 0.0)  # leave work for the workers
    draw = {"k": normal(1, 0.1), "a": uniform(1, 2)}
    one = es.montecarlo(decay, draw=draw, samples=80)
    two = es.montecarlo(decay, draw=draw, samples=80, workers=2)
    assert one.values.tobytes() == two.values.tobytes()


def test_ctrl_c_returns_what_is_done(decay: es.Study) -> None:
    def stop(p: Progress) -> None:
        if p.done > 10:
            raise KeyboardInterrupt

    found = es.montecarlo(decay, draw={"k": uniform(0.5, 1.5)}, samples=5000, progress=stop)
    done = int(found.done.sum())
    assert 10 < done < 5000
    assert found.outcome() == ("interrupted", f"interrupted after {done} of 5000 samples")
    assert np.isfinite(found.values[found.done]).all()
    assert found.probability_satisfied[1][1] < 1 or found.satisfied.sum() == done
    assert len(found.quantiles(found.levels)) == 2


@pytest.mark.parametrize(
    ("seconds", "workers", "size"), [(1e-6, 1, 250), (PIECE / 10, 1, 10), (5.0, 2, 1)]
)
def test_pieces_are_cut_by_the_time_of_a_sample(seconds: float, workers: int, size: int) -> None:
    board = _SampleResults(grid({"p": range(1000)}), 1, 0, None)
    sizes = [len(rows) for _, rows, _ in board.pieces(seconds, workers).values()]
    assert max(sizes) == size
    assert sum(sizes) == 1000


def test_a_function_that_raises_costs_its_sample_only(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def peak(x):\n    if x['x'][-1] < 0.3:\n        raise ValueError('too low')\n"
        "    return float(x['x'][-1])\n"
    )
    (tmp_path / "Decay.mo").write_text(DECAY)
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nk = { start = 1, min = 0.5, max = 2 }\n'
        '[[case]]\nname = "one"\nstop = 1\n'
        '[[criterion]]\nname = "own"\nkind = "function"\nfunction = "own.py:peak"\n'
    )
    found = es.sweep(es.read_study(tmp_path / "s.toml"), vary={"k": [0.5, 2.0, 1.0]})
    assert [f.number for f in found.failures] == [1]
    assert "too low" in found.failures[0].message


# --- sources --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(decay: es.Study) -> es.Fit:
    rng = np.random.default_rng(3)
    time = np.linspace(0, 1, 40)
    data = pd.DataFrame({"time": time, "x": np.exp(-time) + rng.normal(0, 0.02, 40)})
    data["s"] = 7.5 * time + rng.normal(0, 0.1, 40)
    tuners = [es.Tuner("k", start=1.2), es.Tuner("a", start=1.5)]
    case = es.Case("one", data=data, outputs={"x": "x", "s": "s"}, stop=1.0)
    return es.fit(decay.with_(tuners=tuners, cases=[case]))


def test_draws_from_a_fit_have_its_covariance(decay: es.Study, fitted: es.Fit) -> None:
    study = decay.with_(criteria=[es.Criterion("v", "k + a")])
    found = es.montecarlo(study, source=fitted, samples=1024, sampling="sobol")
    assert found.samples.names == ("k", "a")
    drawn = np.cov(found.samples.values.T)
    assert drawn == pytest.approx(fitted.covariance, rel=0.02)
    assert abs(fitted.covariance[0, 1]) > 0
    assert found.samples.values.mean(axis=0) == pytest.approx(fitted.values, rel=1e-3)
    c = fitted.covariance
    assert found.values.var() == pytest.approx(c.sum(), rel=0.02)


def test_draws_from_a_bootstrap_are_its_replicates(decay: es.Study, fitted: es.Fit) -> None:
    replicates = es.bootstrap(fitted, 20, seed=5)
    study = decay.with_(criteria=[es.Criterion("v", "k + a")])
    found = es.montecarlo(study, source=replicates, draw={"b": uniform(1, 2)}, samples=50)
    assert found.samples.names == ("k", "a", "b")
    known = {tuple(row) for row in replicates.values.tolist()}
    assert {tuple(row) for row in found.samples.values[:, :2].tolist()} <= known


def test_draws_from_a_posterior_are_its_own(decay: es.Study, fitted: es.Fit) -> None:
    study = fitted.study.with_(estimation=es.Estimation(criterion="ml"), criteria=())
    posterior = es.sample(es.fit(study), 300, warmup=200, seed=5)
    asked = decay.with_(criteria=[es.Criterion("v", "k + a")])
    found = es.montecarlo(asked, source=posterior, samples=50)
    known = {tuple(row) for row in posterior.values.reshape(-1, 2).tolist()}
    assert {tuple(row) for row in found.samples.values.tolist()} <= known


def test_a_posterior_whose_chains_do_not_agree_is_not_drawn_from(
    decay: es.Study, fitted: es.Fit
) -> None:
    study = fitted.study.with_(estimation=es.Estimation(criterion="ml"), criteria=())
    posterior = es.sample(es.fit(study), 50, chains=1, warmup=50)
    with pytest.raises(es.DesignError, match="O107: the posterior of 'decay' cannot be drawn from"):
        es.montecarlo(decay, source=posterior, samples=50)


def test_sources_by_name_are_made_from_the_studys_own_data(fitted: es.Fit) -> None:
    found = es.montecarlo(fitted.study, source="fit", samples=64, sampling="sobol")
    assert found.samples.values.mean(axis=0) == pytest.approx(fitted.values, rel=0.02)


# --- pictures -------------------------------------------------------------------------------------


def test_every_picture_can_be_drawn_and_written(decay: es.Study, tmp_path: Path) -> None:
    one = es.sweep(decay)
    two = es.sweep(decay, vary={"k": [0.2, 0.7, 1.5], "a": [1, 2, 3]})
    draw = {"k": normal(1, 0.1), "a": uniform(1, 3)}
    many = es.montecarlo(decay, draw=draw, samples=32, sensitivity="sobol")
    for found, kinds in (
        (one, ("auto", "curves", "scatter", "local", "tornado")),
        (two, ("auto", "map", "parallel", "tornado")),
        (many, ("auto", "distribution", "cdf", "scatter", "sensitivity", "parallel", "tornado")),
    ):
        for kind in kinds:
            assert found.plot(kind).data, kind
            assert text(picture(found, kind))
        assert found.report(tmp_path / "p.html").stat().st_size > 10_000
        assert found._repr_html_().strip().startswith("<")
    assert text(parallel(many)).count("satisfied") >= 2
    assert len(many.plot("distribution", "left").data) < len(many.plot("distribution").data)
    assert maps(two)[1].value.shape == (3, 3)
    assert maps(two)[1].value[0] == pytest.approx(np.exp([-0.2, -0.7, -1.5]) / 0.5)
    border = maps(two)[1].curves[0]  # x(1) = 0.5 where k = log 2, linear between grid points
    assert np.nanmin(border.time) == pytest.approx(math.log(2), abs=0.08)
    assert [c.name for c in scatter(two).panels[0].curves] == ["not satisfied", "satisfied"]


def test_thinned_lines_keep_the_extremes_of_every_axis() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50_000, 3))
    shown = Parallel(tuple(Upright(f"a{k}", values[:, k]) for k in range(3)), values[:, 0] > 0)
    kept = thin_lines(shown, MOST_LINES)
    assert len(kept) <= MOST_LINES
    for k in range(3):
        assert {int(values[:, k].argmin()), int(values[:, k].argmax())} <= set(kept.tolist())
    assert len(figure(shown).data[0].dimensions[0]["values"]) == len(kept)


@pytest.mark.parametrize("count", [1, 7, 24, 1000])
def test_the_interval_of_none_begins_at_zero_and_that_of_all_ends_at_one(count: int) -> None:
    assert share_of(np.zeros(count, bool))[1][0] == 0.0
    assert share_of(np.ones(count, bool))[1][1] == 1.0
