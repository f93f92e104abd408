"""FilterSystem: a model and what is known of its errors, as one hybrid system more.

Its states are the mean of the model's states and their covariance,
    m' = f(m),   C' = A C + C Aᵀ + diag(σ²),   A = df/dx,
and every piece of the inputs brings measured values, which change both as a Kalman filter does
(extended: f and the outputs are linearised at the mean). So the engine integrates, stops at stamps
and differentiates by the tuners here as everywhere.

Measured values are taken one after the other, each given the ones before it, so that nothing is
inverted, and in Joseph's form (I − K h) C (I − K h)ᵀ + K r Kᵀ, which keeps C positive semidefinite
in rounded arithmetic however small r is, and where C is singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.saltation import EventPassage, Slopes, event_passage


@dataclass(frozen=True, eq=False)
class StateNoise:
    """What is known of the errors, as expressions of the hybrid system's symbols."""

    diffusion: ca.SX  # of each continuous state, in its unit over the root of a second
    spread: ca.SX  # standard deviations of their start values, functions of P
    outputs: ca.SX  # what is measured
    sigmas: ca.SX  # standard deviations of the measuring


@dataclass(frozen=True, eq=False)
class OutputsSeen:
    """The outputs around the mean: y = expected + slopes (x − mean) + what bends."""

    expected: ca.SX
    slopes: ca.SX  # (ny, n)
    bent: ca.SX  # covariance of what bends, (ny, ny); zero where the outputs are linearised


@dataclass(frozen=True, eq=False)
class FilterSystem:
    """The hybrid system of a filter, and where in it what stands.

    Behind the inputs of the model stand the measured values; for each, 1 where the piece brings
    one and 0 where it does not; and by what its standard deviation is multiplied.
    """

    hybrid: HybridSystem
    mean: ca.SX  # of the continuous states
    covariance: ca.SX  # (n, n)
    innovations: ca.SX  # measured - predicted of the last values taken in, one for each output
    variances: ca.SX  # of the innovations, as predicted
    predictions: ca.SX  # before any value of the piece was taken in
    prediction_variances: ca.SX  # of a measured value, the noise of measuring included
    start: ca.Function  # P -> (start values of all but the model's states, their derivatives)
    noise: StateNoise
    drift: ca.SX  # A of C' = A C + C Aᵀ + …: df/dx at the mean, algebraic unknowns moving along
    seen: OutputsSeen
    measured: ca.SX  # inputs behind those of the model
    given: ca.SX
    relative: ca.SX
    unknowns_at: Callable[[Vector], Vector]  # where to look for them, from those of the model
    event: EventPassage | None

    @property
    def measuring(self) -> ca.SX:
        """Variances of the measuring itself."""
        return (self.relative * self.noise.sigmas) ** 2


def filter_system(h: HybridSystem, noise: StateNoise, events: bool = True) -> FilterSystem:
    """The extended filter of a model with this noise; without `events` between them only."""
    return FilterBuilder(h, noise, events).system()


class FilterBuilder:
    """Holds the symbols while the parts are written."""

    def __init__(self, h: HybridSystem, noise: StateNoise, events: bool = True) -> None:
        self.h, self.noise, self.events = h, noise, events
        self.n, self.ny = h.nx - h.n_memory, noise.outputs.shape[0]
        n, ny = self.n, self.ny
        self.x, self.memories = split(h.x, n)
        self.c = ca.SX.sym("C", n * (n + 1) // 2)
        self.C = symmetric(self.c, n)
        self.e, self.s, self.y, self.r = (ca.SX.sym(a, ny) for a in "esyr")
        self.measured, self.given = ca.SX.sym("measured", ny), ca.SX.sym("given", ny)
        self.relative = ca.SX.sym("relative", ny)
        self.Z = ca.SX.sym("dz_dx", h.nz, n)
        # what events need to know of unknowns that move by themselves
        moving = events and h.nz and h.ng and ca.depends_on(h.g, ca.vertcat(h.t, h.u))
        self.z_time = ca.SX.sym("dz_dt", h.nz if moving else 0)
        self.f, self.rest = split(h.f, n)

    def system(self) -> FilterSystem:
        """All of it."""
        h, n = self.h, self.n
        event = self._event()
        passing = event.states if event else ca.SX(0, 1)
        seen = ca.vertcat(self.e, self.s, self.y, self.r)
        still = ca.SX.zeros(4 * self.ny, 1)
        own = ca.vertcat(self.c, seen, passing)
        pre, pre_memories = split(h.x_pre, n)
        jump, jump_memories = split(h.event_x, n)
        fired, fired_memories = split(h.reinit_fired, n)
        begun, begun_memories = split(h.x0, n)
        rest = ca.SX.zeros(passing.shape[0], 1)
        start = ca.vertcat(lower(ca.diag(self.noise.spread**2)), still, rest)
        unset = ca.SX.zeros(self.c.shape[0], 1)
        hybrid = replace(
            h,
            x=ca.vertcat(self.x, own, self.memories),
            f=ca.vertcat(self._drift(), lower(self._rate()), still, rest, self.rest),
            x0=ca.vertcat(begun, start, begun_memories),
            x_pre=ca.vertcat(pre, ca.SX.sym("own_pre", own.shape[0]), pre_memories),
            event_x=ca.vertcat(
                jump, self.c, seen, event.after_round if event else passing, jump_memories
            ),
            reinit_fired=ca.vertcat(
                fired, unset, still, event.fired if event else rest, fired_memories
            ),
            **self._unknowns(),
            **self._passage(event, seen),
            u=ca.vertcat(h.u, self.measured, self.given, self.relative),
            udot=ca.vertcat(h.udot, ca.SX.sym("udot", 3 * self.ny)),
            update=ca.vertcat(*self._taken_in(), passing, self.memories),
        )
        rates = ca.jacobian(start, h.P) @ h.seed if h.ntheta else ca.SX(start.shape[0], 0)
        return FilterSystem(
            hybrid, self.x, self.C, self.e, self.s, self.y, self.r,
            ca.Function("start", [h.P], [ca.densify(start), ca.densify(rates)]),
            self.noise, self._slope(), self._seen(),
            self.measured, self.given, self.relative, self.unknowns_at, event,
        )  # fmt: skip

    def _event(self) -> EventPassage | None:
        if not self.events:
            return None
        return event_passage(self.h, self._drift(), Slopes(self._total, self._by_time))

    def _passage(self, event: EventPassage | None, seen: ca.SX) -> dict[str, ca.SX]:
        """What the beginning and the end of an event make of the states."""
        if event is None:
            return {}
        C = lower(mirrored(event.matrix @ self.C @ event.matrix.T))
        return {
            "flags": event.flags,
            "before_event": ca.vertcat(self.x, self.c, seen, event.before, self.memories),
            "after_event": ca.vertcat(self.x, C, seen, event.states, self.memories),
        }

    def _by_time(self, column: ca.SX) -> ca.SX:
        """How a column moves with time and inputs, the states held."""
        h = self.h
        found = ca.jacobian(column, h.t) + ca.jacobian(column, h.u) @ h.udot
        if self.z_time.shape[0]:
            found += ca.jacobian(column, h.z) @ self.z_time
        return found

    def _total(self, column: ca.SX) -> ca.SX:
        """How a column moves with the states, the algebraic unknowns moving along."""
        return self._along(column)

    def _along(self, column: ca.SX) -> ca.SX:
        """d(column)/dx with the algebraic unknowns moving along."""
        slope = ca.jacobian(column, self.x)
        return slope + ca.jacobian(column, self.h.z) @ self.Z if self.h.nz else slope

    def _unknowns(self) -> dict[str, Any]:
        """Those of the model, and how they move with its states and by themselves."""
        h, more = self.h, self.h.nz * self.n + self.z_time.shape[0]
        return {
            "z": ca.vertcat(h.z, ca.vec(self.Z), self.z_time),
            "g": ca.vertcat(h.g, ca.vec(self._along(h.g)), self._moving()),
            "z0": np.concatenate([h.z0, np.zeros(more)]),
            "z_low": padded(h.z_low, h.nz, more, -np.inf),
            "z_high": padded(h.z_high, h.nz, more, np.inf),
        }

    def _moving(self) -> ca.SX:
        """Vanishes where `z_time` is how the unknowns move by themselves."""
        return self._by_time(self.h.g) if self.z_time.shape[0] else ca.SX(0, 1)

    def unknowns_at(self, z: Vector) -> Vector:
        """Where the search for the unknowns begins, from those of the model."""
        return np.concatenate([z, np.zeros(len(z) * self.n + self.z_time.shape[0])])

    def _drift(self) -> ca.SX:
        """m' between measured values."""
        return self.f

    def _slope(self) -> ca.SX:
        """A of C' = A C + C Aᵀ + diag(σ²)."""
        return self._along(self.f)

    def _rate(self) -> ca.SX:
        """C' between measured values."""
        moved = self._slope() @ self.C
        return moved + moved.T + ca.diag(self.noise.diffusion**2)

    def _seen(self) -> OutputsSeen:
        outputs = self.noise.outputs
        return OutputsSeen(outputs, self._along(outputs), ca.SX(self.ny, self.ny))

    def _taken_in(self) -> tuple[ca.SX, ...]:
        """(mean, C, innovations, variances, predictions, theirs) after the values of a piece."""
        slopes = self._seen().slopes
        mean, C, unit = self.x, self.C, ca.SX.eye(self.n)
        innovations, variances, spreads = [], [], []
        for k in range(self.ny):
            h, r = slopes[k, :], (self.relative[k] * self.noise.sigmas[k]) ** 2
            spreads.append(h @ self.C @ h.T + r)
            toward = C @ h.T
            variance = h @ toward + r
            # the mean has moved since the output was linearised
            innovation = self.measured[k] - self.noise.outputs[k] - h @ (mean - self.x)
            gain = self.given[k] * toward / variance
            kept = unit - gain @ h
            mean = mean + gain * innovation
            C = mirrored(kept @ C @ kept.T + r * gain @ gain.T)
            innovations.append(self.given[k] * innovation)
            variances.append(variance)
        return (
            mean,
            lower(C),
            ca.vertcat(*innovations),
            ca.vertcat(*variances),
            self.noise.outputs,
            ca.vertcat(*spreads),
        )


def split(column: ca.SX, n: int) -> tuple[ca.SX, ca.SX]:
    """The first n elements and the rest, which may be empty."""
    first, rest = ca.vertsplit(ca.densify(column), [0, n, column.shape[0]])
    return first, rest


def symmetric(c: ca.SX, n: int) -> ca.SX:
    """The symmetric matrix whose lower triangle stands in `c`, row by row."""
    C = ca.SX(n, n)
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = C[j, i] = c[i * (i + 1) // 2 + j]
    return C


def lower(C: ca.SX) -> ca.SX:
    """The lower triangle, row by row."""
    return ca.densify(ca.vertcat(*(C[i, j] for i in range(C.shape[0]) for j in range(i + 1))))


def mirrored(C: ca.SX) -> ca.SX:
    """The matrix with its lower triangle in place of the upper one: symmetric to the last digit,
    and half of it need not be computed."""
    return symmetric(lower(C), C.shape[0])


def padded(bounds: np.ndarray, n: int, more: int, value: float) -> np.ndarray:
    """Bounds of n unknowns, and one value for so many more."""
    return np.concatenate([np.broadcast_to(bounds, n), np.full(more, value)])
