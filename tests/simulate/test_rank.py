"""Ranks of matrices whose rows and columns are in units of their own."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.simulate.roots.rank import balanced, independent, rank


def _with_rank(rng: np.random.Generator, shape: tuple[int, int], r: int) -> np.ndarray:
    n, m = shape
    return rng.normal(size=(n, r)) @ rng.normal(size=(r, m))


@pytest.mark.parametrize(("n", "m", "r"), [(9, 9, 9), (9, 9, 7), (12, 8, 8), (6, 11, 4), (5, 5, 0)])
def test_rank_does_not_depend_on_units(n: int, m: int, r: int) -> None:
    """Scales over forty decades leave the rank as it is."""
    rng = np.random.default_rng(n * m + r)
    units = 10.0 ** rng.uniform(-20, 20, n)[:, None], 10.0 ** rng.uniform(-20, 20, m)
    assert rank(balanced(units[0] * _with_rank(rng, (n, m), r) * units[1])) == r


def test_stiff_chain_has_full_rank() -> None:
    """Force = 1e9·way + force of the next one: triangular, so regular, whatever numbers say."""
    n = 12
    matrix = np.eye(n) + 1e9 * np.tri(n, k=-1)
    assert np.linalg.matrix_rank(matrix) < n
    assert rank(balanced(matrix)) == n


def test_matched_entries_are_one_and_none_is_larger() -> None:
    """A sparse matrix with rows and columns that are empty."""
    rng = np.random.default_rng(3)
    matrix = np.where(rng.uniform(size=(20, 17)) < 0.2, 10.0 ** rng.uniform(-9, 9, (20, 17)), 0.0)
    matrix[4] = matrix[:, 5] = 0.0
    scaled = balanced(matrix)
    assert np.abs(scaled).max() < 1.001
    filled = np.abs(scaled).max(axis=1)[(matrix != 0.0).any(axis=1)]
    assert filled.min() > 0.5
    assert ((scaled != 0.0) == (matrix != 0.0)).all()


def test_order_decides_which_of_dependent_rows_stays() -> None:
    """The third row is the sum of the first two: whichever comes last is left out."""
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 3.0, 1.0]])
    assert independent(rows, [0, 1, 2]) == [0, 1]
    assert independent(rows, [2, 0, 1]) == [2, 0]
