"""Batched fits end where single searches end; what they cannot prove they leave to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import estimica as es
from estimica.estimate.batch.fits import BatchFits, MemberFits
from estimica.estimate.batch.step import applied, applied_back, damped_step, inverse_factor
from estimica.estimate.batch.suitability import SQUARES, why_alone
from estimica.estimate.run.one_start import limits_of
from estimica.execute.batches import WorkedBy
from estimica.execute.pieces import seeds
from estimica.execute.threads import one_thread
from estimica.infer.bootstrap.resampling import resampler
from estimica.infer.refit import FitContext, fit_context_of, refit
from estimica.simulate.formula import formula_model

LAG = """model Lag
  parameter Real K = 2.0; parameter Real tau = 0.5; parameter Real b = 0.3;
  input Real u; output Real y(start = 0, fixed = true); output Real z;
equation
  tau*der(y) = K*u - y;
  z = b*y*y + u;
end Lag;
"""
T = np.linspace(0.0, 4.0, 41)
U = np.where(T < 2, 1.0, 0.3)
TRUTH = {"K": 2.1, "tau": 0.6, "b": 0.25}


@pytest.fixture(scope="module")
def lag() -> Any:
    return es.load_model(LAG)


def measured(model: Any, seed: int = 1, noise: float = 0.02, **more: Any) -> dict[str, Any]:
    """A table of the model at the truth, with noise."""
    run = model.simulate(T, inputs={"u": (T, U)}, parameters=TRUTH, outputs=["y", "z"], **more)
    rng = np.random.default_rng(seed)
    return {"time": T, "u": U} | {
        n: run.value(n) + noise * rng.standard_normal(len(T)) for n in ("y", "z")
    }


def case(model: Any, name: str = "run", seed: int = 1, **given: Any) -> es.Case:
    outputs = given.pop("outputs", {"y": "y", "z": "z"})
    data = given.pop("data", None) or measured(model, seed)
    return es.Case(name, data, inputs={"u": "u"}, outputs=outputs, **given)


def tuners(**changed: Any) -> list[es.Tuner]:
    starts = {"K": 2.0, "tau": 0.5, "b": 0.3}
    return [es.Tuner(n, start=v, **changed.get(n, {})) for n, v in starts.items()]


def study(model: Any, criterion: str = "oe", own: Any = None, **given: Any) -> es.Study:
    cases = given.pop("cases", None) or [case(model, **given)]
    return es.Study(model, own or tuners(), cases, criterion)


def irregular(model: Any) -> es.Study:
    """Samples of the second output only now and then, and some missing."""
    data = measured(model)
    data["z"] = np.where(np.arange(len(T)) % 3, np.nan, data["z"])
    data["y"][5:9] = np.nan
    return study(model, "ml", data=data)


def with_gap(model: Any) -> es.Study:
    """A stretch without any data, behind which the case begins anew."""
    data = measured(model)
    kept = (T < 1.5) | (T > 2.6)
    return study(model, "ml", data={n: v[kept] for n, v in data.items()})


STUDIES: dict[str, Callable[[Any], es.Study]] = {
    "oe": lambda m: study(m),
    "ml": lambda m: study(m, "ml"),
    "known sigma": lambda m: study(
        m, "ml", outputs={"y": es.OutputColumn("y", sigma=0.02), "z": "z"}
    ),
    "weights": lambda m: study(m, "oe", outputs={"y": es.OutputColumn("y", weight=3.0), "z": "z"}),
    "log scale": lambda m: study(m, "ml", own=tuners(tau={"scale": "log"}, b={"scale": "log"})),
    "bounds": lambda m: study(m, "ml", own=tuners(K={"max": 2.1}, b={"min": 0.25, "max": 0.4})),
    "priors": lambda m: study(
        m,
        "ml",
        own=tuners(K={"prior": es.Prior(2.0, 0.01)}, tau={"prior": es.Prior(-0.5, 0.05, on="log")}),
    ),
    "two cases": lambda m: study(m, "ml", cases=[case(m, "one", 1), case(m, "two", 2)]),
    "free start": lambda m: study(m, "ml", free_start=["y"]),
    "disturbance": lambda m: study(
        m, "oe", outputs={"y": es.OutputColumn("y", disturbance=True), "z": "z"}
    ),
    "transform": lambda m: study(
        m, "ml", outputs={"y": "y", "z": es.OutputColumn("z", transform="log(value + 1)")}
    ),
    "driven": lambda m: es.Study(
        m,
        [es.Tuner("g", start=2.0, drives={"K": "g^2/2", "b": "0.15*g"}), es.Tuner("tau", 0.5)],
        [case(m)],
        "ml",
    ),
    "irregular": irregular,
    "gap": with_gap,
}


def context(chosen: es.Study) -> FitContext:
    fit = es.fit(chosen)
    assert fit.outcome.ok, fit.outcome
    return fit_context_of(fit)


def fits_of(place: FitContext, backend: str = "scalar", threads: int = 1) -> BatchFits:
    estimation = place.setup.study.estimation
    assert not why_alone(place.objective, estimation)
    return BatchFits(place.objective, limits_of(estimation), place.threshold, backend, threads)


def replicates(place: FitContext, count: int) -> list[list[np.ndarray]]:
    source = resampler(place, "parametric", None)
    return [source.measured(seed) for seed in seeds(3, count)]


def fitted(
    place: FitContext, drawn: list[list[np.ndarray]], backend: str = "scalar", threads: int = 1
) -> MemberFits:
    data = [np.stack(own) for own in zip(*drawn, strict=True)]
    starts = np.tile(place.q, (len(drawn), 1))
    return fits_of(place, backend, threads).fit(starts, data, near=True)


@pytest.mark.parametrize("kind", STUDIES)
def test_members_end_where_single_searches_end(lag: Any, kind: str) -> None:
    place = context(STUDIES[kind](lag))
    with one_thread():
        drawn = replicates(place, 12)
        found = fitted(place, drawn)
        alone = [refit(place.setup, place.objective.replaced(d), place.q).point for d in drawn]
    assert found.proven.all()
    values = np.array([p.values for p in alone if p])
    error = values.std(axis=0)
    off = np.abs(found.found.values - values)
    # to 1e-6 of the value, or to a millionth of what it scatters, whichever is coarser
    assert (off <= np.maximum(1e-6 * np.abs(values), 2e-5 * error)).all()
    assert found.found.cost == pytest.approx([p.cost for p in alone if p], rel=1e-9)
    for k, point in enumerate(alone):
        assert point is not None
        estimated = {n: v.variance for n, v in point.noise.items() if v.estimated}
        assert found.variances(k) == pytest.approx(estimated, rel=1e-5)
    if kind == "bounds":
        held = fits_of(place).problem.coordinates.at_bound(found.found.q)
        assert 0 < held.sum() < held.size


def test_vector_units_give_the_same_estimates_and_the_same_bits_by_any_threads(lag: Any) -> None:
    place = context(study(lag, "ml"))
    drawn = replicates(place, 40)
    one, two = (fitted(place, drawn, "vector", threads) for threads in (1, 2))
    scalar = fitted(place, drawn)
    assert fits_of(place, "vector").backend == "vector"
    assert np.array_equal(one.found.values, two.found.values)
    assert one.proven.all()
    assert one.found.values == pytest.approx(scalar.found.values, rel=1e-6)


def test_starts_anywhere_lead_to_the_same_optimum(lag: Any) -> None:
    place = context(study(lag, "ml"))
    rng = np.random.default_rng(5)
    starts = place.q * rng.uniform(0.6, 1.6, (20, len(place.q)))
    found = fits_of(place).fit(starts)
    assert found.proven.sum() >= 18
    assert found.found.q[found.proven] == pytest.approx(
        np.tile(place.q, (int(found.proven.sum()), 1)), rel=1e-6
    )


def test_unknowns_that_are_held_stay(lag: Any) -> None:
    place = context(study(lag, "ml"))
    starts = np.tile(place.q, (4, 1))
    starts[:, 0] *= [0.95, 0.99, 1.01, 1.05]
    held = np.zeros(starts.shape, bool)
    held[:, 0] = True
    found = fits_of(place).fit(starts, held=held, near=True)
    assert found.proven.all()
    assert np.array_equal(found.found.q[:, 0], starts[:, 0])
    for k in range(4):
        searched = refit(place.setup, place.objective, starts[k], held[k])
        assert searched.point is not None
        assert found.found.q[k] == pytest.approx(searched.point.q, rel=1e-6)
        assert found.found.cost[k] == pytest.approx(searched.point.cost, rel=1e-9)


def test_what_the_data_do_not_determine_is_never_proven() -> None:
    text = LAG.replace("K*u", "K*b*u").replace("b*y*y", "y*y")
    place = context(study(es.load_model(text), "ml"))
    assert not fitted(place, replicates(place, 4)).proven.any()


def test_a_member_that_cannot_be_simulated_leaves_the_others_alone() -> None:
    text = LAG.replace("K*u - y", "sqrt(K)*u - y")
    place = context(study(es.load_model(text), "ml"))
    starts = np.tile(place.q, (5, 1))
    starts[2, 0] = -1.0
    found = fits_of(place).fit(starts, near=True)
    assert found.proven.tolist() == [True, True, False, True, True]


def test_data_without_noise_are_left_to_the_single_search(lag: Any) -> None:
    data = measured(lag, noise=0.0)
    place = context(study(lag, "oe", data=data))
    found = fits_of(place).fit(np.tile(place.q, (2, 1)))
    assert not found.proven.any()  # residuals are errors of the simulation


def test_what_cannot_be_searched_together_says_why(lag: Any) -> None:
    def reason(chosen: es.Study) -> str:
        place = fit_context_of(es.fit(chosen))
        return why_alone(place.objective, place.setup.study.estimation)

    robust = study(lag).with_(estimation=es.Estimation(loss="huber"))
    assert reason(robust).startswith("only sums of squares")
    newton = study(lag).with_(estimation=es.Estimation(method="gauss-newton"))
    assert reason(newton) == "method 'gauss-newton' is searched one by one"
    timed = study(lag).with_(estimation=es.Estimation(max_seconds=60.0))
    assert reason(timed) == "a time limit holds for each search"


# --- steps ---------------------------------------------------------------------------------------


def test_inverse_factor_is_that_of_the_inverse() -> None:
    rng = np.random.default_rng(1)
    J = rng.standard_normal((6, 9, 4))
    H = np.swapaxes(J, 1, 2) @ J
    W, positive = inverse_factor(H, np)
    assert positive.all()
    assert np.swapaxes(W, 1, 2) @ W == pytest.approx(np.linalg.inv(H), rel=1e-9)
    v = rng.standard_normal((6, 4))
    assert applied_back(W, applied(W, v)) == pytest.approx(
        np.linalg.solve(H, v[..., None])[..., 0], rel=1e-9
    )
    H[3] = 0.0
    assert inverse_factor(H, np)[1].tolist() == [True, True, True, False, True, True]


def test_a_damped_step_keeps_to_its_bounds_and_leads_down() -> None:
    rng = np.random.default_rng(2)
    J = rng.standard_normal((50, 8, 3))
    H, g = np.swapaxes(J, 1, 2) @ J, rng.standard_normal((50, 3))
    free, low, high = np.ones((50, 3), bool), np.full((50, 3), -0.05), np.full((50, 3), 0.1)
    p = damped_step(H, g, np.full(50, 0.01), free, low, high, np)
    assert ((p >= low) & (p <= high)).all()
    gain = -(2 * (g * p).sum(axis=1) + np.einsum("li,lij,lj->l", p, H, p))
    assert (gain > 0).all()
    wide = damped_step(H, g, np.zeros(50), free, -np.inf * high, np.inf * high, np)
    assert wide == pytest.approx(-np.linalg.solve(H, g[..., None])[..., 0], rel=1e-9)


# --- starts --------------------------------------------------------------------------------------


def test_starts_that_advance_together_find_what_single_ones_find(lag: Any) -> None:
    chosen = study(lag, "ml")
    together = chosen.with_(execute=es.Execution(backend="vector"))
    one, other = (es.fit(s, starts=20) for s in (together, chosen))
    assert one.values == pytest.approx(other.values, rel=1e-6)
    assert one.cost == pytest.approx(other.cost, rel=1e-9)
    assert [s.status for s in one.starts] == [s.status for s in other.starts]
    assert (one.worked_by, other.worked_by) == (WorkedBy("vector"), WorkedBy("scalar"))
    assert len(one.iterations) > 3
    # the last ones are of the single search, whose simulation has an error of its own
    assert np.diff([i.cost for i in one.iterations]).max() < 1e-6


def test_starts_that_are_searched_one_by_one_say_why(lag: Any) -> None:
    asked = es.Execution(backend="vector")
    robust = study(lag).with_(estimation=es.Estimation(loss="huber"), execute=asked)
    assert es.fit(robust, starts=2).worked_by == WorkedBy("scalar", reason=SQUARES)
    # nobody has asked for anything else
    usual = robust.with_(execute=es.Execution())
    assert es.fit(usual, starts=2).worked_by == WorkedBy("scalar")
    x = np.linspace(0, 1, 12)
    formula = es.Study(
        formula_model({"y": "a*exp(-b*x)"}, inputs=["x"]),
        [es.Tuner("a", start=1.0), es.Tuner("b", start=1.0)],
        [es.Case("p", {"x": x, "y": 2 * np.exp(-x)}, inputs={"x": "x"}, outputs={"y": "y"})],
        execute=asked,
    )
    told = es.fit(formula, starts=2)
    assert told.worked_by.reason == "case 'p' is not simulated by the engine"
    assert told.to_dict()["worked_by"] == told.worked_by.to_dict()
    assert "worked_by" not in es.fit(formula).to_dict()


def test_a_start_that_the_batch_does_not_prove_is_searched_alone(
    lag: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.estimate.run import joint_starts

    real = joint_starts._ended

    def but_the_third(joint: Any, found: Any, k: int, way: Any) -> joint_starts.JointEnd:
        end = real(joint, found, k, way)
        return end if k != 2 else joint_starts.JointEnd(None, end.evaluations)

    monkeypatch.setattr(joint_starts, "_ended", but_the_third)
    chosen = study(lag, "ml").with_(execute=es.Execution(backend="vector"))
    assert es.fit(chosen, starts=5).worked_by == WorkedBy("vector", alone=1)


def test_an_interrupted_batch_of_starts_gives_its_best_so_far(
    lag: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.estimate.batch.cases import AllSums

    calls, real = [], AllSums.__call__

    def stopping(self: AllSums, values: np.ndarray, members: np.ndarray) -> Any:
        calls.append(len(members))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, values, members)

    monkeypatch.setattr(AllSums, "__call__", stopping)
    chosen = study(lag, "ml").with_(execute=es.Execution(backend="vector"))
    found = es.fit(chosen, starts=20)
    assert str(found.outcome.status) == "interrupted"
    assert np.isfinite(found.cost)
