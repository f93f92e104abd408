"""95 % intervals hold the truth where noise grows with the value, is censored or known by sample."""

from __future__ import annotations

import pytest
from tests.estimate.noise_coverage import censored, column, covered, growing_noise

#: of 400 experiments, three standard deviations of a binomial share of 95 % either way
LEAST, MOST = 0.917, 0.983


@pytest.mark.slow
@pytest.mark.parametrize("made", [growing_noise, censored, column])
def test_intervals_of_the_curve_cover_the_truth(made: object) -> None:
    found = covered(made, 400)  # type: ignore[arg-type]
    assert all(LEAST <= found[name] <= MOST for name in ("a", "b")), found
