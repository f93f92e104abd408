"""ExactFilter: a record through the filter of a linear model, by a table of exact steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.compiled.linear_filter import LinearNoise
from estimica.simulate.engine.options import Pieces
from estimica.simulate.engine.workspace import address_of
from estimica.simulate.filter.exact import loop as at
from estimica.simulate.filter.exact.steps import step_block

#: steps that differ by less than this part of the median are of one length: stamps are rounded
ALIKE = 1e-10
#: the matrices of a step cost as much as the engine needs for so many samples (measured with two
#: states and five tuners: 0.25 ms a step, 5 µs a sample)
WORTH = 50
#: ... and so many of them are no matter in any case
FEW = 16


@dataclass(frozen=True, eq=False)
class StepTable:
    """The distinct lengths of steps of a record, and which of them follows each piece."""

    lengths: Vector
    kinds: Indices
    rows: Indices  # of the stamps, -1 where a piece begins at none

    @staticmethod
    def of(pieces: Pieces, times: Vector) -> StepTable:
        """Of pieces, values at `times` among them."""
        apart = np.diff(pieces.starts)
        unit = ALIKE * (float(np.median(apart)) if len(apart) else 1.0)
        _, first, kinds = np.unique(np.round(apart / unit), return_index=True, return_inverse=True)
        rows = np.full(len(pieces.starts), -1, np.int64)
        rows[np.searchsorted(pieces.starts, times)] = np.arange(len(times))
        return StepTable(apart[first], np.append(kinds.ravel(), 0).astype(np.int64), rows)

    @property
    def is_worth(self) -> bool:
        """Whether so few lengths occur that the table costs less than integrating."""
        return len(self.lengths) <= max(FEW, len(self.kinds) / WORTH)


@dataclass(frozen=True, eq=False)
class Columns:
    """e, s, y, r of every stamp and their derivatives, as the engine's filter writes them."""

    Y: Vector  # (N, 4 ny)
    YS: Vector  # (N, 4 ny, m)


def exact_columns(
    system: LinearNoise,
    table: StepTable,
    pieces: Pieces,
    n_stamps: int,
    P: Vector,
    x: Vector,
    S: Vector,
) -> Columns | None:
    """The columns from mean and covariance `x` on, whose derivatives are `S`; None where one is not
    finite."""
    matrices = system.at(P)
    k, n, nu = matrices.B.shape
    ny, m = matrices.H.shape[1], k - 1
    with np.errstate(all="ignore"):
        steps = [step_block(matrices, float(h)) for h in table.lengths]
    blocks = np.ascontiguousarray(np.stack(steps)) if steps else np.zeros((1, k, 1))
    parts = (matrices.H, matrices.D, matrices.b, matrices.r)
    constants = np.ascontiguousarray(np.hstack([p.reshape(k, -1) for p in parts]))
    state = np.ascontiguousarray(_begun(x, S, n, m))
    work = np.zeros(2 * n * n + 4 * n + 8)
    Y, YS = np.zeros((n_stamps, 4 * ny)), np.zeros((n_stamps, 4 * ny, m))
    indices = np.concatenate([table.kinds, table.rows])
    iw = np.zeros(at.HEADER + len(indices), np.int64)
    iw[at.HEADER :] = indices
    sizes = {
        at.N: n, at.NU: nu, at.NY: ny, at.M: m, at.PIECES: len(pieces.starts),
        at.BLOCK: blocks.shape[2], at.CONSTANTS: constants.shape[1],
        at.WIDTH: pieces.values.shape[1], at.KINDS: at.HEADER,
        at.ROWS: at.HEADER + len(table.kinds), at.VALUES: address_of(pieces.values),
        at.SLOPES: address_of(pieces.slopes), at.TABLE: address_of(blocks),
        at.CONSTANT: address_of(constants), at.STATE: address_of(state),
        at.WORK: address_of(work), at.OUT: address_of(Y), at.OUT_S: address_of(YS),
    }  # fmt: skip
    for place, value in sizes.items():
        iw[place] = value
    at.exact_filter.run(iw.ctypes.data, address_of(work), 0.0, 0.0, 0, 0)
    return Columns(Y, YS) if np.isfinite(Y).all() and np.isfinite(YS).all() else None


def _begun(x: Vector, S: Vector, n: int, m: int) -> Vector:
    """Mean and full covariance, then their derivatives by each tuner."""
    every = np.column_stack([x, S]) if m else x[:, None]
    i, j = np.tril_indices(n)
    state = np.zeros((1 + m, n + n * n))
    state[:, :n] = every[:n].T
    lower = every[n : n + len(i)].T
    state[:, n + i * n + j] = lower
    state[:, n + j * n + i] = lower
    return state
