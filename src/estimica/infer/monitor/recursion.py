"""Recursion: estimates that move with every sample (Ljung and Söderström, Theory and Practice of
Recursive Identification, 1983: the recursive prediction error method).

A sample with innovation e of variance s adds to −log likelihood (e²/s + log s)/2, and to the
expected information e'e'ᵀ/s + s's'ᵀ/(2 s²), where ' are the exact derivatives by the unknowns. The
step is that of Fisher scoring with the information of all samples so far, of which older ones may
be forgotten. The inverse of the information is kept as a root, P = L Lᵀ, and changed by Potter's
formula, so that it stays positive semidefinite however many samples come.
"""

from __future__ import annotations

import math

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.unknowns import Unknowns

ROOT_TWO = math.sqrt(2.0)


class Recursion:
    """Coordinates of the unknowns and the root of their covariance."""

    def __init__(self, unknowns: Unknowns, q: Vector, root: Vector, widest: Vector) -> None:
        self.unknowns = unknowns
        self.widest = widest  # variances that forgetting does not go beyond
        self.score = np.zeros(len(q))  # what the last stamp said: derivatives of log likelihood,
        self.information = np.zeros(len(q))  # and how much it could say of each coordinate
        self.restore(q.copy(), root.copy())

    def restore(self, q: Vector, root: Vector) -> None:
        """Go on from these."""
        self.q, self.root = q, root
        self.values, self.slopes = self.unknowns.values(q), self.unknowns.slopes(q)

    @property
    def stderr(self) -> Vector:
        """Standard errors of the values."""
        return self.deviations * self.slopes

    @property
    def deviations(self) -> Vector:
        """Standard errors of the coordinates."""
        spread: Vector = np.sqrt((self.root * self.root).sum(axis=1))
        return spread

    def forget(self, share: float, drift: Vector | None) -> None:
        """Before a sample: older information counts `share` of what it did, and unknowns have
        drifted by these standard deviations."""
        if share < 1:
            self.root /= math.sqrt(share)
        if drift is not None:
            stacked = np.vstack([self.root.T, np.diag(drift)])
            triangle: Vector = np.linalg.qr(stacked).R
            self.root = triangle.T.copy()
        if share < 1 or drift is not None:
            self._limit()

    def raise_gain(self, factor: float) -> None:
        """After a change: standard errors become so many times as large."""
        self.root *= factor
        self._limit()

    def _limit(self) -> None:
        """What is not excited is forgotten without end: no variance grows above the first one."""
        variance = (self.root * self.root).sum(axis=1)
        over = variance > self.widest
        if over.any():
            self.root[over] *= np.sqrt(self.widest[over] / variance[over])[:, None]

    def take(self, innovations: Vector, variances: Vector, by: Vector, widest: float) -> Vector:
        """The step of the coordinates for samples of one stamp; `by` holds derivatives of all
        innovations, then of all variances. Of variances a sample says no more than one that is
        `widest` standard deviations off: it may as well be of a start that was guessed."""
        gradient = np.zeros_like(self.q)
        information = np.zeros_like(self.q)
        n, root = len(innovations), self.root
        for k in range(n):
            e, s = float(innovations[k]), float(variances[k])
            of_e, of_s = by[k], by[n + k]
            square = min(e * e / s, widest * widest)
            gradient += (e / s) * of_e + (0.5 / s) * (1 - square) * of_s
            for direction in (of_e / math.sqrt(s), of_s / (ROOT_TWO * s)):
                if direction.any():
                    information += direction * direction
                    _know(root, direction)
        self.score, self.information = -gradient, information
        step = -(root @ (root.T @ gradient))
        return self._moved(step)

    def _moved(self, step: Vector) -> Vector:
        """Move by the step, as far as orders of magnitude and bounds allow; returns how far."""
        near = self.unknowns.near(self.q)
        step = np.minimum(np.maximum(step, -near), near)
        before = self.q
        self.restore(self.unknowns.clipped(before + step), self.root)
        return self.q - before


def _know(root: Vector, direction: Vector) -> None:
    """Add the information direction · directionᵀ (Potter's update)."""
    f = direction @ root
    alpha = 1.0 + float(f @ f)
    root -= np.outer(root @ f, f / (alpha + math.sqrt(alpha)))
