"""Reduction: rows of a Jacobian and of residuals, of which only the triangular factor is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector

#: numbers of the Jacobian that are reduced at a time: the whole of it is never held; so few that
#: they stay in the processor's cache and that the linear algebra starts no threads for them
AT_ONCE = 8192


class Reduction:
    """Collects rows of [J ρ] and keeps only their triangular factor."""

    def __init__(self, n: int, samples: int) -> None:
        self._n = n
        room = max(AT_ONCE // (n + 1), 4 * (n + 2))
        # the factor so far stands on top of the rows that came since
        self._rows = np.empty((min(max(samples, n + 2), room), n + 1), order="F")
        self._used = 0

    def add(
        self,
        scored: Vector,
        multiplier: float | Vector,
        slope: Vector,
        columns: Sequence[int],
        extra: int | None,
        factors: Vector,
    ) -> None:
        """Rows of one block: multiplier · slope · factor in the unknowns' columns, and ρ."""
        begin = 0
        while begin < len(scored):
            count = min(len(self._rows) - self._used, len(scored) - begin)
            part = slice(begin, begin + count)
            m = multiplier if np.ndim(multiplier) == 0 else multiplier[part]  # type: ignore[index]
            rows = self._rows[self._used : self._used + count]
            rows[:] = 0.0
            rows[:, -1] = scored[part]
            for j, column in enumerate(columns):
                np.multiply(slope[part, j], m * factors[column], out=rows[:, column])
            if extra is not None:
                rows[:, extra] = m * factors[extra]
            self._used += count
            begin += count
            if self._used == len(self._rows):
                self._factorise()

    def add_row(self, row: Vector) -> None:
        """One row of [J ρ]."""
        if self._used == len(self._rows):
            self._factorise()
        self._rows[self._used] = row
        self._used += 1

    def _factorise(self) -> None:
        """Put the triangular factor in place of the rows."""
        if self._used <= self._n:
            return
        factor = np.linalg.qr(self._rows[: self._used], mode="r")
        self._used = self._n + 1
        self._rows[: self._used] = factor

    def result(self) -> tuple[Vector, Vector, float]:
        """(R, b, Σρ²): the triangular factor of J, and what of ρ lies in its range."""
        n = self._n
        self._factorise()
        factor = np.zeros((n + 1, n + 1))
        factor[: self._used] = self._rows[: self._used]
        if self._used <= n:  # fewer rows than unknowns: not triangular yet
            factor = np.asarray(np.linalg.qr(factor, mode="r"))
        with np.errstate(over="ignore"):  # told by who needs it
            square = float(np.sum(factor[:, n] ** 2))
        return factor[:n, :n], factor[:n, n], square
