"""SampledResponse: a linear system in discrete time, exact at every sample, with derivatives.

x[k+1] = A x[k] + B u[k-d], y[k] = C x[k] + D u[k-d] at the instants begin + k·h. Inputs are
sampled at the instants, whatever they do in between; outputs keep their value until the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import ModelError
from estimica.simulate.linear.response import HeldInput, LinearExperiment, LinearRun, failed_run
from estimica.simulate.linear.steps import propagate
from estimica.simulate.linear.system import CoefficientProgram, Coefficients

#: of a sample time, how far a stamp may lie before an instant and still belong to it: stamps are
#: written with few digits, and clocks jitter. Chosen: a twentieth is far from any half step
NEAR = 0.05
#: of a run. Chosen: a gigabyte of states and sensitivities of a model of third order
MOST_INSTANTS = 10_000_000


def instants(times: Vector, begin: float, step: float) -> Indices:
    """The number of the instant whose value each of `times` sees, from 0 at `begin`."""
    return np.floor((times - begin) / step + NEAR).astype(np.int64)


def between_instants(times: Vector, begin: float, step: float) -> int:
    """How many of `times` lie between two instants rather than at one."""
    place = (times - begin) / step
    return int(np.sum(np.abs(place - np.rint(place)) > NEAR))


def checked_step(given: object) -> float:
    """A sample time that a user gave, in seconds."""
    try:
        step = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M185", f"the sample time {given!r} is not a number of seconds") from None
    if not (np.isfinite(step) and step > 0):
        raise ModelError("M185", f"the sample time {step:g} must be a positive number of seconds")
    return step


class SampledResponse:
    """y[k; θ] of a linear system in discrete time and its exact Jacobian.

    Rows of `shown` pick the outputs: positive numbers are outputs, negative ones the states -1, -2…
    """

    def __init__(
        self,
        rule: CoefficientProgram,
        experiment: LinearExperiment,
        step: float,
        tuners: Vector,
        started: Sequence[int | None],
        shown: Sequence[int],
    ) -> None:
        self.rule = rule
        self.experiment = experiment
        self._step = step
        self._tuners = tuners
        self._started = tuple(started)  # the state whose start value a tuner is
        self._shown = tuple(shown)
        self._rows = instants(experiment.times, experiment.begin, step)
        count = int(self._rows[-1]) + 1
        if count > MOST_INSTANTS:
            length = float(experiment.times[-1]) - experiment.begin
            raise ModelError(
                "M186",
                f"a sample time of {step:g} s makes {count:.3g} samples in {length:g} s, more than "
                f"{MOST_INSTANTS:.0e}; is it in seconds?",
            )
        self._count = count
        e = experiment
        self._held = [HeldInput.of(s, e.begin, at_rest=not e.steady) for s in e.inputs]
        self._late: tuple[bytes, Vector] | None = None

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up; NaN where they have none."""
        return self._tuners.copy()

    @property
    def times(self) -> Vector:
        """Times of the samples."""
        return self.experiment.times

    def at(self, theta: Vector | None = None) -> LinearRun:
        """Outputs and derivatives at tuner values `theta`; what cannot be computed is told."""
        values = self._tuners if theta is None else np.asarray(theta, np.float64)
        named = dict(zip(self.rule.tuners, map(float, values), strict=True))
        numbers = self.rule.at({**self.experiment.known, **named})
        if numbers is None:
            return self._failed("a coefficient is not finite", named)
        with np.errstate(all="ignore"):
            try:
                run = self._run(numbers, values)
            except np.linalg.LinAlgError:
                why = "there is no steady state, a pole is at one; use initial = 'rest'"
                return self._failed(why, named)
        if not (np.isfinite(run.Y).all() and np.isfinite(run.YS).all()):
            return self._failed("the output grows beyond all numbers", named)
        return run

    def _run(self, c: Coefficients, values: Vector) -> LinearRun:
        u = self._samples(c.T)
        x0, s0 = self._start(c, values, u[0])
        n, nu, m = len(x0), len(c.T), len(values)
        X, S = np.empty((self._count, n)), np.empty((self._count, m, n))
        X[0], S[0] = x0, s0
        one = tuple(
            np.ascontiguousarray(a[None])
            for a in (c.A, c.B, np.zeros((n, nu)), c.dA, c.dB, np.zeros((m, n, nu)))
        )
        no_slope, no_kicks = np.zeros((self._count, nu)), np.zeros((self._count, m, n))
        which = np.zeros(max(self._count - 1, 0), np.int64)
        propagate(one, which, u, no_slope, np.zeros((m, nu)), no_kicks, X, S)
        return self._observed(c, u, X, S)

    def _samples(self, delays: Vector) -> Vector:
        """Every input at every instant, late by its delay in samples, (K, nu)."""
        key = delays.tobytes()
        if self._late is None or self._late[0] != key:
            number = np.arange(self._count)
            columns = [
                self._sampled(one, number - int(d))
                for one, d in zip(self._held, delays, strict=True)
            ]
            empty = np.zeros((self._count, 0))
            self._late = key, np.column_stack(columns) if columns else empty
        return self._late[1]

    def _sampled(self, one: HeldInput, number: Indices) -> Vector:
        t = self.experiment.begin + self._step * number
        k = np.searchsorted(one.stamps, t + NEAR * self._step, side="right") - 1
        last = np.maximum(k, 0)
        value = one.values[last] + one.slopes[last] * (t - one.stamps[last])
        return np.where(k >= 0, value, one.before)

    def _start(self, c: Coefficients, values: Vector, u: Vector) -> tuple[Vector, Vector]:
        """The states at the beginning and their derivatives by the tuners, (n,) and (m, n)."""
        x: Vector = np.zeros(len(c.A))
        S: Vector = np.zeros((len(values), len(c.A)))
        if self.experiment.steady and len(x):
            left = np.eye(len(x)) - c.A
            x = np.asarray(np.linalg.solve(left, c.B @ u), np.float64)
            S = np.asarray(np.linalg.solve(left, (c.dA @ x + c.dB @ u).T).T, np.float64)
        for state, value in self.experiment.start.items():
            x[state], S[:, state] = value, 0.0
        for k, tuned in enumerate(self._started):
            if tuned is not None:
                x[tuned], S[:, tuned] = values[k], 0.0
                S[k, tuned] = 1.0
        return x, S

    def _observed(self, c: Coefficients, u: Vector, X: Vector, S: Vector) -> LinearRun:
        x, s, now = X[self._rows], S[self._rows], u[self._rows]
        outputs = x @ c.C.T + now @ c.D.T
        moved = s @ c.C.T + np.einsum("mij,kj->kmi", c.dC, x) + np.einsum("mij,kj->kmi", c.dD, now)
        every, every_moved = np.hstack([outputs, x]), np.concatenate([moved, s], axis=2)
        ny = len(c.C)
        shown = [k if k >= 0 else ny - 1 - k for k in self._shown]
        return LinearRun(self.times, every[:, shown], every_moved[:, :, shown].transpose(0, 2, 1))

    def _failed(self, why: str, named: Mapping[str, float]) -> LinearRun:
        numbers = {**self.experiment.known, **named}
        return failed_run(self.times, len(self._shown), len(self._tuners), why, numbers)
