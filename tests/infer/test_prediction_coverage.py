"""Intervals and tests of fits with noise in the states hold what they say (500 experiments)."""

from __future__ import annotations

import pytest
from tests.infer.prediction_coverage import coverage, size

EXPERIMENTS = 500


@pytest.mark.slow
def test_intervals_of_prediction_cover_where_those_of_output_error_do_not() -> None:
    found = coverage(EXPERIMENTS)
    print(found.shares)
    for tuner, share in found.shares["prediction"].items():
        assert 0.925 <= share <= 0.975, (tuner, share)
    for tuner, share in found.shares["ml"].items():
        assert share < 0.8, (tuner, share)


@pytest.mark.slow
def test_the_test_for_noise_has_its_size_with_the_mixture_and_not_with_plain_chi2() -> None:
    found = size(EXPERIMENTS, known=True)
    print(found)
    # of 500 trials with probability 0.05 a share scatters by 0.01
    assert abs(found.mixture - 0.05) < 0.02, found
    assert found.plain < 0.035, found
    assert found.nothing > 0.4, found


@pytest.mark.slow
def test_with_parameters_fitted_to_few_samples_the_test_is_cautious_and_no_more() -> None:
    found = size(EXPERIMENTS)
    print(found)
    assert 0.01 < found.mixture < 0.07, found
    assert found.plain < found.mixture, found
