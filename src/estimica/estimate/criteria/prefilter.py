"""ErrorFilter: a prefilter as a linear operator on the errors of one output at their own stamps.

The error is taken as linear between two samples, for which the filter is exact at any stamps. What
was before the first sample is not known: the filter's state there is eliminated, so that errors
which only it could explain do not count. The same happens after a gap.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import CaseError
from estimica.study.prefilter import Prefilter
from estimica.study.record.prefilter import PrefilterSystem, prefilter_system

#: typical steps over which the error is taken as linear; behind a longer gap the filter begins
#: anew. Where stamps are irregular, typical is what only one step of twenty exceeds.
GAP, IRREGULAR = 3.5, 2.0
#: relative size of a response to the unknown state that counts as none: some hundred times what
#: rounding adds up to over thousands of samples, 1e-13 to 1e-12
RANK = 1e-10
STOPPED = 1e-11  # relative size behind the filter that is rounding; some ten times that
#: random vectors for the number of independent samples, a trace: the mean of 24 has a fifth of the
#: error of a single one, and only degrees of freedom are told by it
PROBES = 24


class ErrorFilter:
    """L, (N, N), with the unknown past eliminated; its gain is scaled to a peak of one."""

    def __init__(self, text: str, system: PrefilterSystem, time: Vector) -> None:
        self.text = text
        self.time = time
        self.step = float(np.median(np.diff(time)))
        # the shape of the filter counts, its scale would only be a weight
        peak = float(np.abs(_digital(system, self.step, self.frequencies)).max())
        self.system = PrefilterSystem(
            system.A, system.B, system.C / peak, system.D / peak, system.step
        )
        self.starts = np.concatenate([[True], np.diff(time) > self._reach])

    @property
    def nyquist(self) -> float:
        """Half the sampling frequency in Hz."""
        return 0.5 / self.step

    @property
    def frequencies(self) -> Vector:
        """A grid up to the Nyquist frequency, in Hz, from far below the slowest sample."""
        lowest = 0.1 / float(self.time[-1] - self.time[0])
        return np.geomspace(lowest, self.nyquist, 1000)

    def gain(self, frequency: Vector) -> Complex:
        """What the filter does to samples of a sine, at frequencies in Hz."""
        return _digital(self.system, self.step, np.asarray(frequency, np.float64))

    def filtered(self, errors: Vector) -> Vector:
        """L applied to errors (N,) or to the columns of (N, m)."""
        columns = errors.reshape(len(errors), -1)
        rest = self._without_past(self._forward(columns))
        # what a filter stops leaves rounding behind, which must not be taken for an effect
        stopped = np.linalg.norm(rest, axis=0) <= STOPPED * np.linalg.norm(columns, axis=0)
        rest[:, stopped] = 0.0
        return rest.reshape(errors.shape)

    def returned(self, rows: Vector) -> Vector:
        """Lᵀ applied to (N,) or to the columns of (N, m)."""
        columns = rows.reshape(len(rows), -1)
        return self._backward(self._without_past(columns)).reshape(rows.shape)

    @cached_property
    def count(self) -> float:
        """tr L Lᵀ: the mean square of filtered white noise is this share of its variance, × N."""
        return self._square_sum() - float(np.sum(self._backward(self._past) ** 2))

    @cached_property
    def independent(self) -> float:
        """(tr L Lᵀ)² / tr (L Lᵀ)²: independent numbers that tell as much of the noise level."""
        rng = np.random.default_rng(0)
        probes = rng.choice([-1.0, 1.0], size=(len(self.time), PROBES))
        square = float(np.mean(np.sum(self.filtered(self.returned(probes)) ** 2, axis=0)))
        return self.count**2 / square if square > 0 else 0.0

    # -- details ---------------------------------------------------------------------------------

    @property
    def _reach(self) -> float:
        """The longest gap in which the error may be taken as linear."""
        f = self.frequencies
        passed = f[np.abs(_digital(self.system, self.step, f)) >= 0.1]
        slow = 0.25 / passed[-1] if len(passed) and passed[-1] < 0.9 * f[-1] else 0.0
        typical = float(np.quantile(np.diff(self.time), 0.95))
        return max(GAP * self.step, IRREGULAR * typical, slow)

    @cached_property
    def _steps(self) -> tuple[Vector, Vector, Vector]:
        """Φ (N, n, n), b (N, n) and d (N,): z(k+1) = Φ z(k) + b e(k), L e(k) = C z(k) + d e(k)."""
        s, N = self.system, len(self.time)
        if s.step is not None:
            return (np.tile(s.A, (N, 1, 1)), np.tile(s.B, (N, 1)), np.full(N, s.D))
        lengths = np.append(np.diff(self.time), self.step)
        lengths = np.where(np.append(self.starts[1:], False), self.step, lengths)
        lengths = np.round(lengths / self.step, 9) * self.step
        each, which = np.unique(lengths, return_inverse=True)
        phi, before, after = _held(s, each)
        phi, before, after = phi[which], before[which], after[which]
        # what a sample adds to the state just before it belongs to the sample
        own = np.where(self.starts[:, None], after, np.roll(after, 1, axis=0))
        b = before + np.einsum("kij,kj->ki", phi, own)
        return phi, b, s.D + own @ s.C

    @cached_property
    def _solver(self) -> Any:
        """Factors of the matrix whose solution are all states one after the other."""
        from scipy import sparse  # slow to import, and few studies have prefilters
        from scipy.sparse.linalg import splu

        n, N = self.system.n, len(self.time)
        phi = self._steps[0]
        follows = np.flatnonzero(~self.starts)
        rows = (follows[:, None, None] * n + np.arange(n)[:, None]) + np.zeros(n, int)
        columns = (follows[:, None, None] - 1) * n + np.zeros((n, 1), int) + np.arange(n)
        shift = sparse.coo_array(
            (phi[follows - 1].ravel(), (rows.ravel(), columns.ravel())), shape=(n * N, n * N)
        )
        return splu(
            sparse.csc_array(sparse.eye_array(n * N) - shift),
            permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": False},
        )  # fmt: skip

    def _forward(self, errors: Vector) -> Vector:
        _, b, d = self._steps
        n, N, m = self.system.n, len(self.time), errors.shape[1]
        driven = np.zeros((N, n, m))
        driven[1:] = b[:-1, :, None] * errors[:-1, None, :]
        driven[self.starts] = 0.0
        z = self._solver.solve(driven.reshape(n * N, m)).reshape(N, n, m)
        found: Vector = np.einsum("i,kim->km", self.system.C, z) + d[:, None] * errors
        return found

    def _backward(self, rows: Vector) -> Vector:
        _, b, d = self._steps
        n, N, m = self.system.n, len(self.time), rows.shape[1]
        seen = self.system.C[None, :, None] * rows[:, None, :]
        z = self._solver.solve(np.ascontiguousarray(seen).reshape(n * N, m), trans="T")
        z = z.reshape(N, n, m)
        z[self.starts] = 0.0
        found = d[:, None] * rows
        found[:-1] += np.einsum("ki,kim->km", b[:-1], z[1:])
        return found

    @cached_property
    def _past(self) -> Vector:
        """Orthonormal responses to the unknown state, one segment below the other, (N, n)."""
        n, N = self.system.n, len(self.time)
        begun = np.zeros((N, n, n))
        begun[self.starts] = np.eye(n)
        z = self._solver.solve(begun.reshape(n * N, n)).reshape(N, n, n)
        free = np.einsum("i,kij->kj", self.system.C, z)
        responses = np.zeros((N, n))
        for begin, end in self._segments():
            U, s, _ = np.linalg.svd(free[begin:end], full_matrices=False)
            kept = U[:, s > RANK * s[0]] if s[0] > 0 else U[:, :0]
            responses[begin:end, : kept.shape[1]] = kept
        return responses

    def _without_past(self, columns: Vector) -> Vector:
        Q = self._past
        begins = np.flatnonzero(self.starts)
        inner = np.add.reduceat(Q[:, :, None] * columns[:, None, :], begins, axis=0)
        which = np.cumsum(self.starts) - 1
        found: Vector = columns - np.einsum("ki,kim->km", Q, inner[which])
        return found

    def _segments(self) -> list[tuple[int, int]]:
        begins = np.flatnonzero(self.starts)
        return list(zip(begins, [*begins[1:], len(self.time)], strict=True))

    def _square_sum(self) -> float:
        """Σ of all squared entries of L before the past is eliminated."""
        phi, b, d = self._steps
        C, total = self.system.C, float(d @ d)
        P = np.zeros_like(self.system.A)
        for k in range(len(self.time)):
            if self.starts[k]:
                P = np.zeros_like(P)
            total += float(C @ P @ C)
            P = phi[k] @ P @ phi[k].T + np.outer(b[k], b[k])
        return total

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_solver"}  # made anew


def error_filter(given: Prefilter, time: Vector, where: str) -> ErrorFilter | None:
    """The operator of a prefilter; None where it changes nothing."""
    try:
        system = prefilter_system(given, time)
    except CaseError as error:
        raise CaseError(error.code, f"{where}: {error.message}") from None
    if system is None:
        return None
    operator = ErrorFilter(given.text, system, time)
    if operator.count < 1:
        raise CaseError(
            "C092",
            f"{where}: prefilter '{given.text}' leaves nothing of {len(time)} samples: they are "
            "too few, too short a record, or too full of gaps for it; choose a wider one",
        )
    return operator


def _held(s: PrefilterSystem, lengths: Vector) -> tuple[Vector, Vector, Vector]:
    """(Φ, share of the error before, share of the error after) of steps with a linear error."""
    n, h = s.n, lengths[:, None, None]
    M = np.zeros((len(lengths), n + 2, n + 2))
    M[:, :n, :n], M[:, :n, n] = s.A * h, s.B * h[:, 0]
    M[:, n, n + 1] = 1.0
    E = _exponentials(M)
    after = E[:, :n, n + 1]
    return E[:, :n, :n], E[:, :n, n] - after, after


def _exponentials(M: Vector) -> Vector:
    """exp of many small matrices at once, by Taylor's series of a 2ˢ-th part, squared s times."""
    size = float(np.abs(M).sum(axis=2).max(initial=0.0))
    halvings = max(0, math.ceil(math.log2(size / 0.5))) if size > 0 else 0
    part = M / 2.0**halvings
    total = term = np.broadcast_to(np.eye(M.shape[1]), M.shape)
    for k in range(1, 15):  # 0.5¹⁵/15! is below rounding
        term = term @ part / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return np.asarray(total)


def _digital(s: PrefilterSystem, step: float, frequency: Vector) -> Complex:
    """The gain of the filter on samples that are one step apart."""
    if s.step is not None:
        return s.gain(frequency)
    phi, before, after = (a[0] for a in _held(s, np.array([step])))
    sampled = PrefilterSystem(phi, before + phi @ after, s.C, s.D + float(s.C @ after), step)
    return sampled.gain(frequency)
