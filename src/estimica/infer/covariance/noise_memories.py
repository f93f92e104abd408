"""Memories: the colour of noise as a sum of memories, each of them tried and weighed.

Residuals of real models mix a sensor's white noise with disturbances that last, and a sum over
autocovariances sees little of the latter: they are far below the white part at every single lag,
but there are many lags. Their spectrum shows them. It is explained here by white noise with up to
two exponential memories; what is told is the mean over all such sums, as likely as each is, and how
far apart these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from estimica.base.arrays import Indices, Vector

#: the shortest memory in samples, below which noise is white, and the factor to the next one: twice
#: as many change no interval by 1 %
SHORTEST, FACTOR = 0.7, math.sqrt(2)
#: memories that are taken two at a time: two of them make what lies between
EVERY = 2
LONGEST = 0.5  # of a record: of a longer memory it shows no more than a drift
ALTERNATING = (0.4, 0.8)  # γ(l) = (−r)^l of noise that alternates; chosen: weak and strong
#: log odds of one memory against white noise, and of two against one, before the data are seen:
#: with 1 white noise is covered by 96 to 99 % and slow noise of a tenth of its variance by 85 to
#: 94 % in 200 samples; with 0 the latter loses 3 %
FIRST, SECOND = 1.0, 0.0
#: information on the logarithm of each weight that is taken as given, an error by a factor of e²: a
#: weight that the data say nothing of would otherwise make all others uncertain
GIVEN = 0.25
#: steps of the multiplicative ascent and its exponent; chosen on the noises of
#: tests/infer/colour_coverage.py, not measured one against the other
STEPS, EXPONENT = 60, 0.75
#: frequencies that are looked at one by one; above, in bands. Chosen: there a band holds three
SINGLE = 64
#: ratio of the ends of a band: spectra of memories fall by ω⁻² at most, by a tenth over a band
BAND = 1.05
#: of white noise that a fit must leave at a frequency for it to be looked at. Chosen: of less, the
#: linearisation decides and not the noise
KEPT = 0.05


def memories(size: int) -> Vector:
    """(K, size): autocovariances of variance one; white noise is the first."""
    lags = np.arange(size)
    found = [np.eye(1, size)[0]]
    time = SHORTEST
    while time <= LONGEST * size:
        found.append(np.exp(-lags / time))
        time *= FACTOR
    return np.array([*found, *((-r) ** lags for r in ALTERNATING)])


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A periodogram, and what is expected of it for each memory with weight one."""

    seen: Vector  # (F,)
    expected: Vector  # (K, F)
    worth: Vector  # (F,): ordinates that stand for each

    @staticmethod
    def joined(parts: Sequence[Spectrum]) -> Spectrum:
        """One of several records of the same noise."""
        return Spectrum(
            np.concatenate([p.seen for p in parts]),
            np.hstack([p.expected for p in parts]),
            np.concatenate([p.worth for p in parts]),
        )

    def deviance(self, told: Vector) -> float:
        """−2 log of Whittle's likelihood of a spectrum at these frequencies."""
        whole = np.maximum(told, 1e-300)
        return 2 * float(np.sum(self.worth * (np.log(whole) + self.seen / whole)))


def spectrum(seen: Vector, expected: Vector, size: int) -> Spectrum:
    """Ordinates at all frequencies of a record of that size, without those that a fit removes."""
    worth = np.ones(len(seen))
    worth[0] = 0.5
    if size % 2 == 0:
        worth[-1] = 0.5
    kept = expected[0] > KEPT * expected[0].max(initial=0.0)
    return _in_bands(np.vstack([seen, expected])[:, kept], worth[kept])


def _in_bands(every: Vector, worth: Vector) -> Spectrum:
    """Single ordinates at low frequencies, means over bands at high ones."""
    count = every.shape[1]
    edges = [*range(min(SINGLE, count))]
    while edges and edges[-1] < count:
        edges.append(max(int(edges[-1] * BAND), edges[-1] + 1))
    starts = np.array([e for e in edges if e < count], np.int64)
    if not len(starts):
        return Spectrum(np.zeros(0), np.zeros((len(every) - 1, 0)), np.zeros(0))
    total = np.add.reduceat(worth, starts)
    means = np.add.reduceat(every * worth, starts, axis=1) / total
    return Spectrum(means[0].clip(0.0), means[1:].clip(1e-300), total)


@dataclass(frozen=True, eq=False)
class Memories:
    """Sums of memories with their chances: (M,) chances, (M, K) weights, (M, 3, 3) doubt."""

    chance: Vector
    weights: Vector
    places: Indices  # (M, 3): which memories each sum has
    own: Vector  # (M, 3): their weights
    doubt: Vector  # covariance of the logarithms of these weights
    deviance: float  # of the best sum

    @property
    def mean(self) -> Vector:
        """The mean weight of each memory."""
        return np.asarray(self.chance @ self.weights)

    def doubts(self, parts: Vector) -> tuple[Vector, Vector]:
        """Geometric mean of variances Σ w·part, and the variance of their logarithm.

        `parts` (K, m) are what each memory with weight one has in m variances.
        """
        every = self.weights @ parts
        safe = np.where(every > 0, every, 1.0)
        logs = np.log(safe)
        mean = self.chance @ logs
        between = self.chance @ (logs - mean) ** 2
        shares = self.own[:, :, None] * parts[self.places] / safe[:, None, :]
        within = np.einsum("mkp,mkl,mlp->mp", shares, self.doubt, shares)
        return np.exp(mean), between + self.chance @ within


def explained(seen: Spectrum) -> Memories:
    """All sums of white noise with up to two memories, weighed by how they explain a spectrum.

    Whittle's likelihood, with what the fit has taken from the noise in the mean of the
    periodogram; Akaike's penalty for each further weight. The steps are those of Dempster, Laird
    and Rubin for a sum of positive parts, and stay positive.
    """
    places, there = _sums(len(seen.expected))
    parts = seen.expected[places] * there[:, :, None]
    sizes = there.sum(axis=1)
    level = float(seen.worth @ (seen.seen / seen.expected[0])) / max(float(seen.worth.sum()), 1.0)
    weights = there * level / sizes[:, None]
    for _ in range(STEPS):
        whole = _whole(weights, parts)
        up = np.einsum("mkf,mf->mk", parts, seen.worth * seen.seen / whole**2)
        down = np.einsum("mkf,mf->mk", parts, seen.worth / whole)
        weights = weights * (up / np.where(down > 0, down, 1.0)) ** EXPONENT
    whole = _whole(weights, parts)
    deviance = 2 * np.sum(seen.worth * (np.log(whole) + seen.seen / whole), axis=1)
    logs = -deviance / 2 - (sizes - 1) + _odds(sizes)
    chance = np.exp(logs - logs.max())
    relative = weights[:, :, None] * parts / whole[:, None, :]
    told = np.einsum("mkf,f,mlf->mkl", relative, seen.worth, relative)
    dense = np.zeros((len(places), len(seen.expected)))
    np.add.at(dense, (np.arange(len(places))[:, None], places), weights)
    return Memories(
        chance / chance.sum(),
        dense,
        places,
        weights,
        np.linalg.inv(told + GIVEN * np.eye(3)),
        float(deviance.min()),
    )


def _whole(weights: Vector, parts: Vector) -> Vector:
    return np.asarray(np.maximum(np.einsum("mk,mkf->mf", weights, parts), 1e-300))


def _sums(count: int) -> tuple[Indices, Vector]:
    """(places, there): white noise alone, with one memory and with two."""
    one = [(0, k, 0) for k in range(1, count)]
    last = count - len(ALTERNATING)
    some = [*range(1, last, EVERY), *range(last, count)]
    two = [(0, j, k) for j, k in combinations(some, 2)]
    places = np.array([(0, 0, 0), *one, *two], np.int64)
    there = np.ones(places.shape)
    there[0, 1:] = 0.0
    there[1 : 1 + len(one), 2] = 0.0
    return places, there


def _odds(sizes: Vector) -> Vector:
    """Log odds of each sum beforehand: those of one size share theirs."""
    counts = {size: int(np.sum(sizes == size)) for size in (1, 2, 3)}
    given = {1: 0.0, 2: FIRST, 3: FIRST + SECOND}
    return np.array([given[int(s)] - np.log(counts[int(s)]) for s in sizes])
