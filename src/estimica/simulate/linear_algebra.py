"""Dense and banded LU factorisations with partial pivoting, for many right-hand sides stored row by
row, and products with sparse matrices. All matrices are flat vectors."""

from __future__ import annotations

from typing import Any

from estimica.simulate.calls import loop_function

Vector = Any


@loop_function
def factor(a: Vector, pivot: Vector, n: int) -> int:
    """LU of the (n, n) matrix in place; 0, or 1 + the column where it is singular."""
    for k in range(n):
        best, big = k, abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > big:
                best, big = i, abs(a[i * n + k])
        pivot[k] = best
        if not big > 0.0:
            return k + 1
        if best != k:
            for j in range(n):
                a[k * n + j], a[best * n + j] = a[best * n + j], a[k * n + j]
        scale = 1.0 / a[k * n + k]
        for i in range(k + 1, n):
            ratio = a[i * n + k] * scale
            a[i * n + k] = ratio
            if ratio != 0.0:
                for j in range(k + 1, n):
                    a[i * n + j] -= ratio * a[k * n + j]
    return 0


@loop_function
def solve(a: Vector, pivot: Vector, n: int, b: Vector, m: int) -> None:
    """b := a^-1 b for an (n, m) right-hand side and a factorised matrix."""
    for k in range(n):
        p = pivot[k]
        if p != k:
            for j in range(m):
                b[k * m + j], b[p * m + j] = b[p * m + j], b[k * m + j]
    for i in range(1, n):
        for k in range(i):
            ratio = a[i * n + k]
            if ratio != 0.0:
                for j in range(m):
                    b[i * m + j] -= ratio * b[k * m + j]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            ratio = a[i * n + k]
            if ratio != 0.0:
                for j in range(m):
                    b[i * m + j] -= ratio * b[k * m + j]
        scale = 1.0 / a[i * n + i]
        for j in range(m):
            b[i * m + j] *= scale


@loop_function
def factor_band(a: Vector, low: Vector, pivot: Vector, n: int, kl: int, ku: int) -> int:
    """LU of a band matrix, row i of which holds columns i - kl ... i + ku; multipliers go to low."""
    w = kl + ku + 1
    shift = kl
    for i in range(min(kl, n)):
        for j in range(shift, w):
            a[i * w + j - shift] = a[i * w + j]
        for j in range(w - shift, w):
            a[i * w + j] = 0.0
        shift -= 1
    last = kl
    for k in range(n):
        best, big = k, abs(a[k * w])
        if last < n:
            last += 1
        for i in range(k + 1, last):
            if abs(a[i * w]) > big:
                best, big = i, abs(a[i * w])
        pivot[k] = best
        if not big > 0.0:
            return k + 1
        if best != k:
            for j in range(w):
                a[k * w + j], a[best * w + j] = a[best * w + j], a[k * w + j]
        scale = 1.0 / a[k * w]
        for i in range(k + 1, last):
            ratio = a[i * w] * scale
            low[k * kl + i - k - 1] = ratio
            for j in range(1, w):
                a[i * w + j - 1] = a[i * w + j] - ratio * a[k * w + j]
            a[i * w + w - 1] = 0.0
    return 0


@loop_function
def solve_band(
    a: Vector, low: Vector, pivot: Vector, n: int, kl: int, ku: int, b: Vector, m: int
) -> None:
    """b := a^-1 b for an (n, m) right-hand side and a factorised band matrix."""
    w = kl + ku + 1
    last = kl
    for k in range(n):
        p = pivot[k]
        if p != k:
            for j in range(m):
                b[k * m + j], b[p * m + j] = b[p * m + j], b[k * m + j]
        if last < n:
            last += 1
        for i in range(k + 1, last):
            ratio = low[k * kl + i - k - 1]
            for j in range(m):
                b[i * m + j] -= ratio * b[k * m + j]
    last = 1
    for i in range(n - 1, -1, -1):
        for k in range(1, last):
            ratio = a[i * w + k]
            for j in range(m):
                b[i * m + j] -= ratio * b[(i + k) * m + j]
        scale = 1.0 / a[i * w]
        for j in range(m):
            b[i * m + j] *= scale
        if last < w:
            last += 1


@loop_function
def add_product(rows: Vector, columns: Vector, a: Vector, b: Vector, m: int, out: Vector) -> None:
    """out += A b, A given by its nonzeros, b and out with rows of m."""
    for q in range(rows.size):
        r, c, value = rows[q] * m, columns[q] * m, a[q]
        for j in range(m):
            out[r + j] += value * b[c + j]


@loop_function
def add_entries(rows: Vector, columns: Vector, a: Vector, m: int, out: Vector) -> None:
    """out += A, A given by its nonzeros, out with rows of m."""
    for q in range(rows.size):
        out[rows[q] * m + columns[q]] += a[q]
