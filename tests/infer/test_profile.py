"""Profiles: exact intervals of linear models, published ones, and honest words where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm, t
from tests.infer.interval_problems import CONCENTRATION, VELOCITY, boiler, curve, line, puromycin

import estimica as es
from estimica.estimate.objective.cost import scored
from estimica.execute.runs.store import Store
from estimica.infer.profile.branch import Ending
from estimica.simulate.formula import formula_model


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_profile_of_a_linear_model_is_the_t_interval(criterion: str) -> None:
    fit, X, y = line(estimation={"criterion": criterion})
    n, p = X.shape
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    error = np.sqrt(np.sum((y - X @ beta) ** 2) / (n - p) * np.diag(np.linalg.inv(X.T @ X)))
    half = t.ppf(0.975, n - p) * error
    found = es.profile(fit)
    for k, name in enumerate("ab"):
        assert found[name].interval == pytest.approx(
            (beta[k] - half[k], beta[k] + half[k]), rel=1e-7
        )
        assert found[name].interval == pytest.approx(tuple(fit.accuracy.interval[k]), rel=1e-6)


def test_profile_with_known_noise_is_the_normal_interval() -> None:
    fit, X, y = line(estimation={"criterion": "ml"}, sigma=0.5)
    half = norm.ppf(0.95) * 0.5 * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    found = es.profile(fit, level=0.9)
    for k, name in enumerate("ab"):
        value = np.linalg.lstsq(X, y, rcond=None)[0][k]
        assert found[name].interval == pytest.approx((value - half[k], value + half[k]), rel=1e-7)
    assert found["a"].rise == pytest.approx(chi2.ppf(0.9, 1))


def test_outputs_of_unlike_noise_keep_the_t_interval_of_a_linear_model() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0, 1, 60)
    table = pd.DataFrame(
        {
            "x": x,
            "u": 1 + 2 * x + 0.02 * rng.standard_normal(60),
            "v": 3 - 2 * x + 0.9 * rng.standard_normal(60),
        }
    )
    model = formula_model({"u": "a + b*x", "v": "c - b*x"}, inputs=["x"])
    outputs = {n: es.OutputColumn(n, weight=1.0) for n in "uv"}
    case = es.Case("points", table, inputs={"x": "x"}, outputs=outputs)
    fit = es.fit(es.Study(model, [es.Tuner(n, start=1.0) for n in "abc"], [case], "oe"))
    found = es.profile(fit)
    for k, name in enumerate("abc"):
        assert found[name].interval == pytest.approx(tuple(fit.accuracy.interval[k]), rel=1e-6)


def test_puromycin_has_the_published_profile_intervals() -> None:
    # R: confint(nls(rate ~ Vm*conc/(K + conc), Puromycin, state == "treated"))
    found = es.profile(puromycin())
    assert found["V"].interval == pytest.approx((197.302, 229.290), abs=0.02)
    assert found["K"].interval == pytest.approx((0.046925, 0.086160), abs=3e-5)


def test_puromycin_profile_agrees_with_an_independent_solution() -> None:
    fit = puromycin()
    found = es.profile(fit, "K")
    best = fit.cost
    limit = best * (1 + t.ppf(0.975, 10) ** 2 / 10)

    def above(K: float) -> float:
        shape = CONCENTRATION / (K + CONCENTRATION)
        V = shape @ VELOCITY / (shape @ shape)
        return float(np.sum((VELOCITY - V * shape) ** 2)) - limit

    ends = brentq(above, 0.02, fit["K"], xtol=1e-14), brentq(above, fit["K"], 0.2, xtol=1e-14)
    assert found["K"].interval == pytest.approx(ends, rel=1e-7)
    rises = found["K"].costs - found.cost
    assert rises == pytest.approx([above(K) + limit - best for K in found["K"].values], abs=1e-6)


def test_each_point_is_the_best_fit_of_the_others() -> None:
    found = es.profile(puromycin(), "K")["K"]
    shape = CONCENTRATION / (found.values[:, None] + CONCENTRATION)
    best = shape @ VELOCITY / np.sum(shape**2, axis=1)
    assert found.refits[:, 0] == pytest.approx(best, rel=1e-7)


def test_boiler_profiles_meet_the_threshold_at_both_ends() -> None:
    fit = boiler()
    found = es.profile(fit, ["T_D", "A4"])
    objective = scored(fit.setup.calibration(), fit.scales)
    for name in ("T_D", "A4"):
        c = found[name]
        assert c.low.value < fit[name] < c.high.value
        for end in c.interval:
            k = int(np.argmin(np.abs(c.values - end)))
            point = objective.at(objective.unknowns.coordinates(c.refits[k]))
            assert point.cost - fit.cost == pytest.approx(c.rise, rel=1e-4)  # type: ignore[union-attr]
        assert (np.diff(c.costs[c.values >= fit[name]]) > 0).all()
        assert len(c.values) <= 30


def test_a_product_says_that_its_factors_are_not_identifiable() -> None:
    x = np.linspace(1, 2, 20)
    fit = curve("a*b*x", x, 3 * x + 0.1 * np.cos(40 * x), {"a": 1.0, "b": 2.0})
    c = es.profile(fit, "a")["a"]
    assert c.high.ending is Ending.FLAT
    assert c.high.value == np.inf
    assert c.high.message.startswith(
        "practically not identifiable upwards: the cost does not change at all up to"
    )
    assert "not bounded by these data: a" in es.profile(fit, "a").outcome()[1]


def test_a_rate_seen_only_after_it_has_decayed_is_open_upwards() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(2, 6, 40)
    y = 5 * (1 - np.exp(-1.5 * x)) + 0.3 * rng.standard_normal(40)
    c = es.profile(curve("a*(1 - exp(-b*x))", x, y, {"a": 4.0, "b": 1.0}), "b")["b"]
    assert c.low.found
    assert 0.5 < c.low.value < 1.5
    assert c.high.ending is Ending.FLAT
    assert "practically not identifiable upwards: the cost rises by at most" in c.high.message


def test_a_bound_below_the_threshold_is_told() -> None:
    fit, X, y = line()
    tuners = [es.Tuner("a", start=1.0), es.Tuner("b", start=0.5, max=fit["b"] + 1e-3)]
    bounded = curve("a + b*x", X[:, 1], y, tuners)
    c = es.profile(bounded, "b")["b"]
    assert c.high.ending is Ending.BOUND
    assert c.high.value == fit["b"] + 1e-3
    assert c.high.message.startswith("upwards it reaches its max")
    assert c.low.value == pytest.approx(fit.accuracy.interval[1, 0], rel=1e-6)


def test_a_refit_that_fails_ends_no_interval() -> None:
    rng = np.random.default_rng(2)
    x = np.linspace(1, 2, 12)
    y = 2 * x + 3 * rng.standard_normal(12)
    fit = curve("a*x + 1e-9*sqrt(3 - a)", x, y, {"a": 2.0})
    found = es.profile(fit)
    c = found["a"]
    assert fit["a"] < 3
    assert c.high.ending is Ending.FAILED
    assert np.isnan(c.high.value)
    assert c.high.message.startswith("upwards it could be followed only to ")
    assert "is not finite" in c.high.message
    assert c.high.failures
    assert c.low.found
    assert found.failures == len(c.high.failures)
    assert "profiles that could not be followed to their ends: a" in found.outcome()[1]
    assert found.to_dict()["parameters"]["a"]["ci95"][1] is None  # type: ignore[index]


def test_a_better_optimum_on_the_way_is_told() -> None:
    x = np.linspace(0, 3, 30)
    y = 2 * np.exp(-0.8 * x) + 0.05 * np.cos(31 * x)
    poor = curve("a*exp(-b*x)", x, y, {"a": 3.0, "b": 2.0}, estimation={"max_iterations": 1})
    assert not poor.outcome.ok
    found = es.profile(poor, "b")
    assert found.better is not None
    best = curve("a*exp(-b*x)", x, y, {"a": 2.0, "b": 0.8})
    assert best.cost <= found.better.cost < poor.cost
    assert found.better.values == pytest.approx({"a": best["a"], "b": best["b"]}, rel=1e-5)
    assert found.outcome()[1].startswith(f"a better optimum exists at a = {best['a']:.6g}, b = ")
    assert "the cost does not only rise" in " ".join(found["b"].notes)


def test_an_interval_in_pieces_is_told() -> None:
    # a + 1.2 sin 2a rises to 2.09 at a = 1, a little above the threshold of 2, and falls to 1.05
    y = 1.327 * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    fit = curve("(a + 1.2*sin(2*a))*x", np.ones(5), y, {"a": 0.02})
    found = es.profile(fit, points=20, level=0.9)
    notes = " ".join(found["a"].notes)
    assert "the cost falls below the threshold again" in notes
    assert "the interval is not in one piece" in notes


def test_a_logarithmic_tuner_is_walked_on_its_scale() -> None:
    plain = es.profile(puromycin(), "K")["K"]
    tuners = [es.Tuner("V", start=200.0), es.Tuner("K", start=0.05, scale="log")]
    fit = curve("V*x/(K + x)", CONCENTRATION, VELOCITY, tuners)
    assert es.profile(fit, "K")["K"].interval == pytest.approx(plain.interval, rel=1e-6)


def test_workers_give_the_same_bits() -> None:
    fit = puromycin()
    alone, shared = es.profile(fit), es.profile(fit, workers=2)
    for a, b in zip(alone.curves, shared.curves, strict=True):
        assert a.interval == b.interval
        assert np.array_equal(a.refits, b.refits)


def test_what_is_walked_is_found_when_the_run_is_taken_up_again(tmp_path: Path) -> None:
    fit = puromycin()
    whole = es.profile(fit)
    store = Store(tmp_path / "runs.sqlite")

    def stop(progress: object) -> None:
        if progress.stops >= 12:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    with store.begin("profile", name="p", study="", settings={}) as run:
        begun = es.profile(fit, run=run, progress=stop)
        assert begun.interrupted
        assert begun.outcome()[0] == "interrupted"
        run.close()
    before = store.run("last").checkpoints
    with store.resume("last") as run:
        found = es.profile(fit, run=run)
    after = store.run("last").checkpoints
    assert before
    assert before.items() <= after.items()
    for a, b in zip(whole.curves, found.curves, strict=True):
        assert np.array_equal(a.refits, b.refits)
        assert a.interval == b.interval


def test_profiles_show_themselves(tmp_path: Path) -> None:
    found = es.profile(puromycin())
    assert "95 % from" in repr(found)
    assert "<table" in found._repr_html_()
    assert len(found.plot().data) >= 4
    assert "Failed refits" not in found.report(tmp_path / "p.html").read_text(encoding="utf-8")
    told = found.to_dict()
    assert told["outcome"] == {
        "status": "done",
        "message": "every profile was followed to its ends",
    }
    assert told["parameters"]["V"]["ci95"] == list(found["V"].interval)  # type: ignore[index]
    assert list(found.intervals.columns) == ["value", "low", "high", "low_ending", "high_ending"]


def test_wrong_questions_are_told() -> None:
    fit = puromycin()
    with pytest.raises(es.InferError, match="I502: the fit has no unknown 'k'; did you mean 'K'"):
        es.profile(fit, "k")
    with pytest.raises(es.InferError, match=r"I505: level 95 must lie between 0 and 1, as 0\.95"):
        es.profile(fit, level=95)
    with pytest.raises(es.InferError, match="I506: 1 points show no profile; use 4 or more"):
        es.profile(fit, points=1)
    with pytest.raises(es.InferError, match="I507: there is no profile of 'V' "):
        es.profile(fit, "K")["V"]
    exact = curve("a + b*x", np.array([0.0, 1.0]), np.array([1.0, 2.0]), {"a": 0.9, "b": 0.9})
    with pytest.raises(es.InferError, match="I501: 2 samples are not more than the unknowns"):
        es.profile(exact)
