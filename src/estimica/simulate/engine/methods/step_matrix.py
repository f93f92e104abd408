"""The matrix of a Rosenbrock step, M/(h gamma) - F_w: factorised once, solved with for all stages,
dense, banded or sparse."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.lanes.linear_algebra import factor_lanes, solve_lanes
from estimica.simulate.engine.linear_algebra import (
    factor,
    factor_band,
    factor_fully,
    factor_sparse,
    fill,
    solve,
    solve_band,
    solve_fully,
    solve_sparse,
)
from estimica.simulate.engine.units import engine_function, part

Vector = Any

GAMMA = 3.3233404432797148e-01


@engine_function
def factorise_lanes(iw: Vector, rw: Vector, mass: float) -> int:
    """The dense matrices of all lanes, factorised; a singular one has results that are no numbers,
    so that its member is taken out of the group."""
    n, nx, width = iw[at.STIFF_SIZE], iw[at.NX], iw[at.LANES]
    rows, columns = part(iw, iw[at.I_J_ROW]), part(iw, iw[at.I_J_COL])
    values, order = part(rw, iw[at.O_SJ]), part(iw, iw[at.I_ORDER])
    matrix = part(rw, iw[at.O_SA])
    fill(n * n * width, matrix, 0.0)
    for q in range(iw[at.NNZ_J]):
        place = (rows[q] * n + columns[q]) * width
        for k in range(width):
            matrix[place + k] = -values[q * width + k]
    for p in range(n):
        if order[p] * width < nx:
            place = (p * n + p) * width
            for k in range(width):
                matrix[place + k] += mass
    factor_lanes(width, matrix, part(iw, iw[at.I_PIVOT_STIFF]), n)
    return 0


@engine_function
def fill_dense(iw: Vector, rw: Vector, mass: float) -> None:
    """M/(h gamma) - F_w as a dense matrix."""
    n, nx = iw[at.NSTIFF], iw[at.NX]
    rows, columns = part(iw, iw[at.I_J_ROW]), part(iw, iw[at.I_J_COL])
    values, order = part(rw, iw[at.O_SJ]), part(iw, iw[at.I_ORDER])
    matrix = part(rw, iw[at.O_SA])
    fill(n * n, matrix, 0.0)
    for q in range(iw[at.NNZ_J]):
        matrix[rows[q] * n + columns[q]] = -values[q]
    for p in range(n):
        if order[p] < nx:
            matrix[p * n + p] += mass


@engine_function
def factorise(iw: Vector, rw: Vector, h: float) -> int:
    """The matrix of the step, factorised."""
    n, nx, kl, ku, nnz = iw[at.NSTIFF], iw[at.NX], iw[at.LOWER], iw[at.UPPER], iw[at.NNZ_J]
    rows, columns = part(iw, iw[at.I_J_ROW]), part(iw, iw[at.I_J_COL])
    values, order = part(rw, iw[at.O_SJ]), part(iw, iw[at.I_ORDER])
    pivot = part(iw, iw[at.I_PIVOT_STIFF])
    width = n if kl < 0 else kl + ku + 1
    matrix = part(rw, iw[at.O_SA])
    mass = 1.0 / (h * GAMMA)
    iw[at.FACTORISATIONS] += 1
    if iw[at.LANES] > 1:
        return factorise_lanes(iw, rw, mass)
    iw[at.STIFF_FULL] = 0
    sparse = part(iw, iw[at.I_SPARSE_STIFF])
    sparse[at.H_USED] = 0
    if sparse[at.H_N]:
        for q in range(nnz):
            matrix[q] = -values[q]
        fill(nx, part(matrix, nnz), mass)
        if factor_sparse(sparse, part(rw, iw[at.O_SPARSE_STIFF]), matrix) == 0:
            sparse[at.H_USED] = 1
            return 0
    if kl < 0:
        fill_dense(iw, rw, mass)
        if factor(matrix, pivot, n) == 0:
            return 0
        # unknowns that nothing determines stay as they are, and equations that say the same as
        # others are left out
        fill_dense(iw, rw, mass)
        iw[at.STIFF_FULL] = 1
        iw[at.STIFF_RANK] = factor_fully(matrix, part(iw, iw[at.I_STIFF_ROWS]),
                                         part(iw, iw[at.I_STIFF_COLUMNS]),
                                         part(rw, iw[at.O_STIFF_SIZE]), n)  # fmt: skip
        return 0
    fill(n * width, matrix, 0.0)
    for q in range(nnz):
        matrix[rows[q] * width + columns[q] - rows[q] + kl] = -values[q]
    for p in range(n):
        if order[p] < nx:
            matrix[p * width + kl] += mass
    return factor_band(matrix, part(rw, iw[at.O_SL]), pivot, n, kl, ku)


@engine_function
def solve_stage(iw: Vector, rw: Vector, place: int, m: int) -> None:
    """One solve with the factorised matrix for m columns."""
    n, kl, ku = iw[at.NSTIFF], iw[at.LOWER], iw[at.UPPER]
    pivot, b = part(iw, iw[at.I_PIVOT_STIFF]), part(rw, place)
    if iw[at.LANES] > 1:
        solve_lanes(iw[at.LANES], part(rw, iw[at.O_SA]), pivot, iw[at.STIFF_SIZE], b, m)
        return
    sparse = part(iw, iw[at.I_SPARSE_STIFF])
    if sparse[at.H_USED]:
        solve_sparse(sparse, part(rw, iw[at.O_SPARSE_STIFF]), b, m)
    elif iw[at.STIFF_FULL]:
        solve_fully(part(rw, iw[at.O_SA]), part(iw, iw[at.I_STIFF_ROWS]),
                    part(iw, iw[at.I_STIFF_COLUMNS]), part(rw, iw[at.O_STIFF_SIZE]), n,
                    iw[at.STIFF_RANK], b, m, part(rw, iw[at.O_STIFF_WORK]))  # fmt: skip
    elif kl < 0:
        solve(part(rw, iw[at.O_SA]), pivot, n, b, m)
    else:
        solve_band(part(rw, iw[at.O_SA]), part(rw, iw[at.O_SL]),
                   pivot, n, kl, ku, b, m)  # fmt: skip
