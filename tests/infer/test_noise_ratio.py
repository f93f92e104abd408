"""Likelihood ratios and releases between models with and without noise in their states."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2
from tests.estimate.test_prediction import case, study, table

import estimica as es
from estimica.base.errors import InferError
from estimica.infer.likelihood_ratio.mixture import MixtureDistribution, mixture_weights

QUIET, NOISY = 0.0, 0.003


@cache
def fits(noise: float, seed: int) -> tuple[es.Fit, es.Fit, es.Fit]:
    """Without noise by `ml` and by `prediction`, and with it."""
    frame = table(300, seed, noise=noise)
    studies = (
        study([case(frame)], "ml"),
        study([case(frame)], process_noise={}),
        study([case(frame)]),
    )
    plain, null, other = (es.fit(s, progress=False) for s in studies)
    return plain, null, other


def test_noise_that_is_there_is_found_by_the_mixture() -> None:
    _, null, other = fits(NOISY, 1)
    ratio = es.likelihood_ratio(null, other)
    assert ratio.distribution == "mixture"
    assert ratio.weights == (0.5, 0.5)
    assert ratio.released == ("s",)
    assert ratio.risk == pytest.approx(0.5 * chi2.sf(null.cost - other.cost, 1), rel=1e-9)
    assert ratio.rejects()
    assert "noise 's' is needed" in ratio.verdict()
    assert "0.5 χ²(0) + 0.5 χ²(1)" in repr(ratio)
    assert "Self and Liang" in repr(ratio)
    assert ratio.to_dict()["weights"] == [0.5, 0.5]


def test_maximum_likelihood_is_the_same_null_model() -> None:
    plain, null, other = fits(NOISY, 1)
    ours, theirs = es.likelihood_ratio(plain, other), es.likelihood_ratio(null, other)
    assert ours.released == theirs.released == ("s",)
    assert ours.cost_reduction == pytest.approx(theirs.cost_reduction, abs=1e-3)
    with pytest.raises(InferError) as error:
        es.likelihood_ratio(other, plain)
    assert error.value.code == "I001"
    assert "'ml' for a null model" in error.value.message


def test_noise_that_is_not_there_ends_at_its_bound_and_is_told() -> None:
    _, null, other = fits(QUIET, 3)
    assert other.outcome.ok
    assert list(other.no_noise) == [False, False, False, True]
    assert other.accuracy.rank == 4
    # the errors of the others are those of the model without that noise
    np.testing.assert_allclose(other.accuracy.stderr[:3], null.accuracy.stderr, rtol=1e-3)
    assert not other.advice
    assert other.remark(3) == "none is needed: at its lower bound"
    said = "noise in T: none is needed ('s' is at its lower bound)"
    assert said in repr(other).replace("\n", "")
    assert said[1:] in other.page().sections[2].text
    ratio = es.likelihood_ratio(null, other)
    assert ratio.risk == 1.0
    assert ratio.verdict() == "no noise 's' is needed: the data ask for none"


def test_noise_that_hardly_is_there_is_not_called_undetermined() -> None:
    _, null, other = fits(QUIET, 1)
    assert not other.advice
    assert other.remark(3).startswith("not told from zero")
    ratio = es.likelihood_ratio(null, other)
    assert ratio.risk == pytest.approx(0.5 * chi2.sf(null.cost - other.cost, 1), rel=1e-9)
    assert not ratio.rejects()


def test_a_level_that_is_given_is_no_bound() -> None:
    frame = table(300, 1)
    _, _, other = fits(NOISY, 1)
    null = es.fit(study([case(frame)], process_noise={"T": 0.002}), progress=False)
    ratio = es.likelihood_ratio(null, other)
    assert ratio.distribution == "chi2"
    assert ratio.risk == pytest.approx(chi2.sf(null.cost - other.cost, 1))


@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.5])
def test_weights_of_two_and_three_variances_against_draws(rho: float) -> None:
    V = np.array([[1.0, rho], [rho, 1.0]])
    weights = mixture_weights(np.diag([2.0, 5.0]) @ V @ np.diag([2.0, 5.0]))
    drawn = np.random.default_rng(1).multivariate_normal(np.zeros(2), V, 200_000)
    assert weights[2] == pytest.approx(np.mean((drawn > 0).all(axis=1)), abs=0.004)
    assert weights[1] == 0.5
    assert sum(weights) == pytest.approx(1.0)


def test_weights_of_independent_variances_are_binomial() -> None:
    weights = mixture_weights(np.diag([1.0, 4.0, 9.0]))
    np.testing.assert_allclose(weights, [1 / 8, 3 / 8, 3 / 8, 1 / 8], atol=0.015)
    law = MixtureDistribution(5.0, 1, (0.25, 0.5, 0.25))
    assert law.risk == pytest.approx(np.dot([0.25, 0.5, 0.25], chi2.sf(5.0, [1, 2, 3])))
    assert MixtureDistribution(0.0, 0, (0.5, 0.5)).risk == 1.0


@pytest.mark.parametrize(("noise", "seed"), [(QUIET, 3), (NOISY, 1)])
def test_a_release_asks_for_noise_last_and_from_none(noise: float, seed: int) -> None:
    frame = table(300, seed, noise=noise)
    tuners = [es.Tuner("R", start=0.012), es.Tuner("C", start=0.9e5)]
    found = es.release(study([case(frame)]).with_(tuners=tuners), progress=False)
    assert [s.candidates[0].name for s in found.steps][-1] == "s"
    assert set(found.released[:2]) == {"R", "C"}
    assert ("s" in found.released) == (noise > 0)
    last = found.steps[-1].candidates[0]
    _, null, other = fits(noise, seed)
    ratio = es.likelihood_ratio(null, other)
    assert last.cost_reduction == pytest.approx(ratio.cost_reduction, abs=2e-3)
    assert last.risk == pytest.approx(ratio.risk, rel=1e-2)
    assert "Self and Liang" in last.law
    assert "sigma_T" in found.steps[0].free
    assert "0.5 χ²(0)" in repr(found.steps[-1])
    assert found.model(0).cases[0].outputs
    assert "order" not in found.outcome.message
    page = found.page()
    assert page.sections


def test_a_release_of_noise_first_and_together() -> None:
    frame = table(300, 1)
    tuners = [es.Tuner("R", start=0.012), es.Tuner("C", start=0.9e5)]
    own = study([case(frame)]).with_(tuners=tuners)
    found = es.release(own, order=["process noise", [["R", "s"], "C"]][:1], progress=False)
    assert found.released == ("s",)
    with pytest.raises(InferError) as error:
        es.release(own, settings={"noise": 1.0}, progress=False)
    assert error.value.code == "I104"


def test_units_of_noise_are_told() -> None:
    _, _, other = fits(NOISY, 1)
    units = {u.name: u.unit for u in other.unknowns.items}
    assert units["sigma_T"] == "K"
    assert units["s"] == "K/√s"
    assert "moves it by" in repr(other)
