"""The unscented filter: uncertainty passes the equations by a few points around the mean.

The points are m and m ± c L_j, L Lᵀ = C, c² = max(n, 3), with weights that match the moments of a
normal distribution (of one with n ≤ 3 states also its kurtosis) and are never negative. Between
measured values (Särkkä 2007, IEEE Transactions on Automatic Control 52:1631)
    m' = Σ w_i f(X_i),   C' = Σ w_i ((X_i − m) f(X_i)ᵀ + f(X_i) (X_i − m)ᵀ) + diag(σ²).
The sum is written Ā C + C Āᵀ with the mean slope Ā = [f(m + c L_j) − f(m − c L_j)] L⁻¹ / 2c, and
the outputs have a mean slope alike: then L needs to be near to a root of C only. It is that of C
and a hair more, so that it is regular and has derivatives where C is singular (a known start value,
a state without noise), and a linear model has exactly the equations of the extended filter.

All points have the modes of the mean, and pass events with it: the covariance jumps there by the
saltation matrix with mean slopes, and the points are drawn anew from it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter import (
    FilterBuilder,
    FilterSystem,
    OutputsSeen,
    StateNoise,
    lower,
    mirrored,
    padded,
)
from estimica.compiled.hybrid import HybridSystem

#: points are at least this part of a state's size apart: slopes are then rounded by 1e-11, and no
#: law bends within it
HAIR = 1e-5


def unscented_system(h: HybridSystem, noise: StateNoise, sizes: Vector) -> FilterSystem:
    """The unscented filter of a model with this noise and states of these sizes."""
    return _UnscentedBuilder(h, noise, sizes).system()


class _UnscentedBuilder(FilterBuilder):
    """The points have unknowns of their own: those of the mean stand first."""

    def __init__(self, h: HybridSystem, noise: StateNoise, sizes: Vector) -> None:
        super().__init__(h, noise)
        self.sizes = sizes
        self.apart = float(np.sqrt(max(self.n, 3)))
        self.zs = [h.z, *(ca.SX.sym(f"z{i}", h.nz) for i in range(2 * self.n))]
        #: weight of each point beside the mean; the mean has the rest
        self.weight = 1.0 / (2 * self.apart**2)

    @cached_property
    def _root(self) -> ca.SX:
        """The lower triangle L of C + a hair."""
        n, L = self.n, ca.SX(self.n, self.n)
        hair = HAIR**2 * (ca.DM(self.sizes) ** 2 + self.x**2)
        for j in range(n):
            left = self.C[j, j] - (ca.sumsqr(L[j, :j]) if j else 0)
            L[j, j] = ca.sqrt(ca.fmax(left, 0) + hair[j])
            for i in range(j + 1, n):
                L[i, j] = (self.C[i, j] - (ca.dot(L[i, :j], L[j, :j]) if j else 0)) / L[j, j]
        return L

    def _at_points(self, column: ca.SX) -> list[ca.SX]:
        """A column of the model at all points: the mean, then +, - of each direction."""
        old, found = ca.vertcat(self.x, self.h.z), [column]
        for j in range(self.n):
            for k, sign in enumerate((1, -1)):
                x = self.x + sign * self.apart * self._root[:, j]
                z = self.zs[1 + 2 * j + k]
                found.append(ca.substitute(column, old, ca.vertcat(x, z)))
        return found

    def _average(self, points: list[ca.SX]) -> ca.SX:
        around = sum(points[1:], ca.SX.zeros(points[0].shape))
        return (1 - 2 * self.n * self.weight) * points[0] + self.weight * around

    def _mean_slope(self, points: list[ca.SX]) -> ca.SX:
        """B = D L⁻¹ / 2c: the differences across the points, solved for from the last column on."""
        n, L = self.n, self._root
        columns: list[ca.SX] = [ca.SX()] * n
        for j in range(n - 1, -1, -1):
            left = (points[1 + 2 * j] - points[2 + 2 * j]) / (2 * self.apart)
            for i in range(j + 1, n):
                left -= columns[i] * L[i, j]
            columns[j] = left / L[j, j]
        return ca.horzcat(*columns) if n else ca.SX(points[0].shape[0], 0)

    def _unknowns(self) -> dict[str, Any]:
        h, many, more = self.h, 1 + 2 * self.n, self.z_time.shape[0]
        low, high = (np.tile(np.broadcast_to(b, h.nz), many) for b in (h.z_low, h.z_high))
        return {
            "z": ca.vertcat(*self.zs, self.z_time),
            "g": ca.vertcat(*self._at_points(h.g), self._moving()),
            "z0": np.concatenate([np.tile(h.z0, many), np.zeros(more)]),
            "z_low": padded(low, len(low), more, -np.inf),
            "z_high": padded(high, len(high), more, np.inf),
        }

    def unknowns_at(self, z: Vector) -> Vector:
        """Those of the model at all points."""
        return np.concatenate([np.tile(z, 1 + 2 * self.n), np.zeros(self.z_time.shape[0])])

    def _total(self, column: ca.SX) -> ca.SX:
        """How a column moves with the states across the points, each with its own unknowns."""
        return self._mean_slope(self._at_points(column))

    def _drift(self) -> ca.SX:
        return self._average(self._at_points(self.f))

    def _slope(self) -> ca.SX:
        return self._mean_slope(self._at_points(self.f))

    def _seen(self) -> OutputsSeen:
        points = self._at_points(self.noise.outputs)
        expected = self._average(points)
        return OutputsSeen(expected, self._mean_slope(points), self._bent(points, expected))

    def _taken_in(self) -> tuple[ca.SX, ...]:
        """The outputs are normal together with the states: y = ŷ + H̄ (x − m) + v, where v has the
        noise of measuring and, off the diagonal too, what bends in the outputs. States and v are
        taken as one vector, of which each measured value tells."""
        n, ny = self.n, self.ny
        seen = self._seen()
        predicted, slopes = seen.expected, seen.slopes
        noise = ca.diag((self.relative * self.noise.sigmas) ** 2) + seen.bent
        mean, C = ca.vertcat(self.x, ca.SX.zeros(ny, 1)), ca.diagcat(self.C, noise)
        unit, begun = ca.SX.eye(n + ny), mean
        rows = ca.horzcat(slopes, ca.SX.eye(ny))
        innovations, variances = [], []
        for k in range(ny):
            h = rows[k, :]
            toward = C @ h.T
            variance = h @ toward
            innovation = self.measured[k] - predicted[k] - h @ (mean - begun)
            gain = self.given[k] * toward / variance
            kept = unit - gain @ h
            mean = mean + gain * innovation
            C = mirrored(kept @ C @ kept.T)
            innovations.append(self.given[k] * innovation)
            variances.append(variance)
        spreads = ca.diag(slopes @ self.C @ slopes.T + noise)
        return (
            mean[:n],
            lower(C[:n, :n]),
            ca.vertcat(*innovations),
            ca.vertcat(*variances),
            predicted,
            spreads,
        )

    def _bent(self, points: list[ca.SX], mean: ca.SX) -> ca.SX:
        """The covariance of what is even in the outputs around the mean."""
        first = points[0] - mean
        found = (1 - 2 * self.n * self.weight) * (first @ first.T)
        for j in range(self.n):
            even = (points[1 + 2 * j] + points[2 + 2 * j]) / 2 - mean
            found += 2 * self.weight * (even @ even.T)
        return found
