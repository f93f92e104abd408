"""Large sparse systems of initial equations, and what is asked of their matrices."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import estimica as es
from estimica.simulate.roots import jacobian


def test_a_long_rod_begins_at_rest() -> None:
    """At rest one heat flows through every cell: temperatures and their derivatives follow."""
    n, q, a, b = 150, 1.4, 0.7, 2.0
    model = es.load_model(f"""
        model Rod
          parameter Integer n = {n};
          parameter Real q = {q}, a = {a}, b = {b};
          Real T[n](each start = 1);
        initial equation
          der(T) = zeros(n);
        equation
          der(T[1]) = q - a*(T[1] - T[2]);
          for i in 2:n - 1 loop
            der(T[i]) = a*(T[i - 1] - T[i]) - a*(T[i] - T[i + 1]);
          end for;
          der(T[n]) = a*(T[n - 1] - T[n]) - b*T[n]^3;
        end Rod;
    """)
    run = model.response([0.0], outputs=("T[1]",), wrt=("q", "a", "b")).at()
    assert run.ok
    assert run.Y[0, 0] == pytest.approx((q / b) ** (1 / 3) + (n - 1) * q / a, rel=1e-9)
    third = (q / b) ** (1 / 3) / 3
    expected = [third / q + (n - 1) / a, -(n - 1) * q / a**2, -third / b]
    np.testing.assert_allclose(run.YS[0, 0], expected, rtol=1e-8)


def test_sparse_and_dense_matrices_answer_alike() -> None:
    """Sums, maxima, columns, scales and solutions of a band matrix, both ways."""
    n = 80
    rng = np.random.default_rng(1)
    full = np.diag(rng.uniform(2, 3, n)) + np.diag(rng.uniform(-1, 1, n - 1), 1)
    full[n - 1, 0] = 0.5
    sparse = jacobian.jacobian_of(ca.sparsify(ca.DM(full)))
    assert not isinstance(sparse, np.ndarray)
    weights, rows = rng.uniform(0, 1, n), rng.uniform(1, 2, n)
    some = rng.uniform(0, 1, n) > 0.5
    np.testing.assert_array_equal(jacobian.dense(sparse), full)
    np.testing.assert_allclose(jacobian.row_sums(sparse, weights), np.abs(full) @ weights)
    np.testing.assert_array_equal(jacobian.row_maxima(sparse), jacobian.row_maxima(full))
    np.testing.assert_array_equal(
        jacobian.columns_of(sparse, some), jacobian.columns_of(full, some)
    )
    few, many = np.arange(3, 9), np.arange(n - 1)
    for rows_, columns_ in ((few, few + 1), (many, many + 1)):
        part = jacobian.block(sparse, rows_, columns_)
        np.testing.assert_array_equal(jacobian.dense(part), full[np.ix_(rows_, columns_)])
    scaled = jacobian.scaled(sparse, rows, weights)
    np.testing.assert_allclose(jacobian.dense(scaled), full * weights / rows[:, None])
    right = rng.uniform(-1, 1, (n, 3))
    factors = jacobian.Factors(sparse)
    np.testing.assert_allclose(full @ factors.solve(right), right, atol=1e-13)
    condition = np.linalg.cond(full, 1)
    assert condition / 3 < factors.condition <= condition * (1 + 1e-9)


def test_a_singular_sparse_matrix_is_seen() -> None:
    """Two equal rows."""
    matrix = np.eye(100)
    matrix[7] = matrix[8]
    sparse = jacobian.jacobian_of(ca.sparsify(ca.DM(matrix)))
    assert jacobian.Factors(sparse).condition > 1e13
