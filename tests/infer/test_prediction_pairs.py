"""Commands on fits by prediction errors: right, or refused with the way out."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.test_prediction import case, study, table

import estimica as es
from estimica.base.errors import InferError
from estimica.base.files.toml import load_toml
from estimica.infer.crossvalidation.folds import Fold
from estimica.infer.crossvalidation.predictions import _values_without
from estimica.infer.refit import fit_context_of


@cache
def frame() -> pd.DataFrame:
    return table(120, 1)


@cache
def fit() -> es.Fit:
    other = case(table(120, 2), "b", role="validate", free_start=["T"])
    return es.fit(study([case(frame()), other]), progress=False)


def values() -> dict[str, float]:
    return dict(zip((u.name for u in fit().unknowns.items), fit().values, strict=True))


def steps(p: dict[str, float]) -> tuple[float, float, float]:
    a, h = -1 / (p["R"] * p["C"]), 300.0
    F, G = np.exp(a * h), (np.exp(a * h) - 1) / a
    return F, G, p["s"] ** 2 * (np.exp(2 * a * h) - 1) / (2 * a)


def test_bootstrap_draws_through_the_filter() -> None:
    """The variance of drawn values grows with the drift of the state, as the model says."""
    from estimica.infer.bootstrap.resampling import resampler

    place = fit_context_of(fit())
    drawn = resampler(place, "parametric", None)
    seeds = np.random.SeedSequence(1).spawn(300)
    series = np.array([drawn.measured(s)[0] for s in seeds])
    p = values()
    F, _, grown = steps(p)
    P, expected = 0.0, []
    for _ in range(series.shape[1]):
        expected.append(P + p["sigma_T"] ** 2)
        P = F**2 * P + grown
    ratio = series.var(axis=0, ddof=1) / np.array(expected)
    assert ratio.mean() == pytest.approx(1.0, abs=0.05)
    covariance = np.mean(
        (series[:, 80] - series[:, 80].mean()) * (series[:, 81] - series[:, 81].mean())
    )
    assert covariance == pytest.approx(F * (expected[80] - p["sigma_T"] ** 2), rel=0.35)


def test_bootstrap_of_a_prediction_and_kinds_that_do_not_go_with_it() -> None:
    found = es.bootstrap(fit(), 25, progress=False)
    errors = np.sqrt(np.diag(found.covariance))
    np.testing.assert_allclose(errors[:2], fit().accuracy.stderr[:2], rtol=0.5)
    for kind in ("residual", "block"):
        with pytest.raises(InferError) as error:
            es.bootstrap(fit(), 25, kind=kind, progress=False)  # type: ignore[arg-type]
        assert error.value.code == "I412"
        assert "'parametric'" in error.value.message


def test_crossvalidation_does_not_take_in_what_it_leaves_out() -> None:
    place = fit_context_of(fit())
    inside = np.zeros(120, bool)
    inside[40:80] = True
    predicted = _values_without(place.objective, Fold("x", {("a", "T"): inside}), fit().values)
    assert isinstance(predicted, list)
    p, data = values(), frame()
    F, G, grown = steps(p)
    m, P, expected = 20.0, 0.0, []
    for k, (T, Ta, Q) in enumerate(zip(data["T"], data["Ta"], data["Q"], strict=True)):
        expected.append(m)
        if not inside[k]:
            K = P / (P + p["sigma_T"] ** 2)
            m, P = m + K * (T - m), (1 - K) * P
        m, P = F * m + G * (Ta / (p["R"] * p["C"]) + Q / p["C"]), F**2 * P + grown
    np.testing.assert_allclose(predicted[0], expected, atol=1e-4)
    found = es.crossvalidate(fit(), 3, progress=False)
    assert found.outcome.ok


def test_validation_is_one_step_ahead_with_the_noise_of_the_fit() -> None:
    p, own = values(), fit().case("b")
    data = table(120, 2)
    F, G, grown = steps(p)
    # a start that is found has the spread of one step, in three digits
    m, P, expected = float(own.values[0]), (p["s"] * 17.3) ** 2, []
    for T, Ta, Q in zip(data["T"], data["Ta"], data["Q"], strict=True):
        expected.append(m)
        K = P / (P + p["sigma_T"] ** 2)
        m, P = m + K * (T - m), (1 - K) * P
        m, P = F * m + G * (Ta / (p["R"] * p["C"]) + Q / p["C"]), F**2 * P + grown
    np.testing.assert_allclose(own.outputs[0].simulated, expected, atol=1e-4)


def test_other_analyses_of_a_prediction() -> None:
    assert "white" in es.residuals(fit()).verdict or es.residuals(fit()).tables()
    np.testing.assert_allclose(es.covariance(fit()).stderr, fit().accuracy.stderr, rtol=1e-6)
    assert es.covariance(fit(), "hac").tables()
    assert "of the predicted output" in es.bands(fit()).tables()[0].note
    assert es.measures(fit()).tables()
    assert es.identifiability(fit(), structural=False, progress=False).tables()
    assert es.criterion_map(fit(), "R", "s", points=3, progress=False).tables()
    assert es.by_hand(fit().study) is not None


def test_values_of_noise_carry_on_into_a_study_and_its_file(tmp_path: Path) -> None:
    used = fit().study.use(fit())
    starts = {t.name: t.start for t in used.tuners}
    assert starts == pytest.approx(values(), rel=1e-9)
    used.write(tmp_path / "again.toml")
    again = es.read_study(tmp_path / "again.toml")
    assert {t.name: t.start for t in again.tuners} == pytest.approx(values(), rel=1e-9)
    assert {t.name: t.unit for t in again.tuners}["s"] == "K/√s"


def test_noise_levels_are_written_into_a_study_file_that_does_not_name_them() -> None:
    from estimica.study.carry.write import text_with_values
    from estimica.study.origin import ValueChange

    text = '[tune]\nR = {}\n[estimate]\ncriterion = "prediction"\n'
    change = ValueChange("tuner", "s", "", None, 0.5)
    written = text_with_values(text, [change]).text
    assert load_toml(written)["tune"]["s"] == 0.5
    plain = text.replace("prediction", "ml")
    assert text_with_values(plain, [change]).text == plain


def test_a_start_at_none_does_not_stay_there() -> None:
    """As a fit that needed no noise has left it in a study file."""
    tuners = [es.Tuner("R"), es.Tuner("C"), es.Tuner("s", start=1e-9)]
    found = es.fit(study([case(frame())]).with_(tuners=tuners), progress=False)
    assert found["s"] == pytest.approx(values()["s"], rel=1e-2)


def test_long_gaps_split_a_case_into_stretches() -> None:
    data = frame().copy()
    data.loc[50:70, ["T", "Ta", "Q"]] = np.nan
    own = study([case(data)])
    found = es.fit(own, progress=False)
    assert found.outcome.ok
    assert len(found.stretches) == 2


def test_a_profile_has_the_likelihood_of_a_fit_with_the_tuner_held() -> None:
    found = es.profile(fit(), "s", points=4, progress=False)
    curve = found["s"]
    low = float(curve.values[0])
    assert low < 0.9 * fit()["s"]
    tuners = [es.Tuner("R"), es.Tuner("C"), es.Tuner("s", start=low, active=False)]
    held = es.fit(fit().study.with_(tuners=tuners), progress=False)
    assert held.cost == pytest.approx(curve.costs[0], abs=1e-3)


def test_the_posterior_of_a_prediction_is_as_wide_as_its_standard_errors() -> None:
    """With known noise R and C are nearly linear: mean and spread are those of the fit."""
    outputs = {"T": es.OutputColumn("T", sigma=0.05)}
    known = study([case(frame(), outputs=outputs)], process_noise={"T": 0.003})
    own = es.fit(known, progress=False)
    drawn = es.sample(own, 300, chains=1, warmup=150, progress=False)
    values = np.concatenate([c.values for c in drawn.chains])
    np.testing.assert_allclose(values.std(axis=0), own.accuracy.stderr, rtol=0.2)
    off = (values.mean(axis=0) - own.values) / own.accuracy.stderr
    assert np.abs(off).max() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["local", "dask"])
def test_workers_give_the_same_replicates_and_the_same_noise(executor: str) -> None:
    if executor == "dask":
        pytest.importorskip("distributed")
    alone = es.bootstrap(fit(), 20, progress=False)
    shared = es.bootstrap(fit(), 20, workers=2, executor=executor, progress=False)
    np.testing.assert_array_equal(alone.values, shared.values)
    plain = fit().study.with_(process_noise={})
    one = es.find_noise(plain, progress=False)
    two = es.find_noise(plain, workers=2, executor=executor, progress=False)
    assert one.found == two.found
    assert one.fit.cost == two.fit.cost


def test_replicates_of_stretches_keep_their_noise_of_measuring() -> None:
    """Each stretch has free start values, which must not make a variance of zero attractive."""
    data = frame().drop(index=range(50, 71))
    own = es.fit(study([case(data, free_start=["T"])]), progress=False)
    found = es.bootstrap(own, 20, progress=False)
    place = [u.name for u in own.unknowns.items].index("sigma_T")
    assert found.values[:, place].min() > 0.5 * own["sigma_T"]


def test_a_design_of_an_input_says_that_it_leaves_noise_in_states_out() -> None:
    settings = {"input": "Q", "signal": "square", "fixed": {"amplitude": 500.0}}
    design = es.design_input(fit(), {**settings, "vary": {"frequency": [1e-4, 2e-4]}})
    assert "Noise in T is left out of account" in design.tables()[0].note
    assert design.bench.sigma is not None
    assert design.bench.sigma[0] == fit()["sigma_T"]  # not that of predictions
    plain = es.fit(study([case(frame())], "ml"), progress=False)
    design = es.design_input(plain, {**settings, "vary": {"frequency": [1e-4, 2e-4]}})
    assert "left out of account" not in design.tables()[0].note


def test_another_noise_is_another_study_for_what_is_taken_up_again() -> None:
    from estimica.execute.runs.provenance import changes, fingerprint

    own = study([case(frame())], filter=es.Filter(start_spread={"T": 1.0}))
    before = fingerprint(own)
    other = fingerprint(own.with_(process_noise={"T": 0.1}))
    assert "[process_noise] has changed" in changes(before, other)
    wider = study([case(frame())], filter=es.Filter(start_spread={"T": 2.0}))
    assert changes(before, fingerprint(wider)) == ["[filter] has changed"]
