"""LinearResponse: a linear system under held inputs, exact at every sample, with derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import matrix_balance

from estimica.base.arrays import Indices, Vector
from estimica.base.signals import Hold, Signal
from estimica.simulate.linear.steps import propagate, steps
from estimica.simulate.linear.system import CoefficientProgram, Coefficients

_TEXT = "all samples computed"


@dataclass(frozen=True, eq=False)
class LinearRun:
    """Outputs and derivatives at all samples; `text` says what went wrong where `ok` is False."""

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    ok: bool = True
    text: str = _TEXT


@dataclass(frozen=True, eq=False)
class LinearExperiment:
    """What is held during all evaluations: samples, inputs, fixed numbers, states' start values."""

    times: Vector
    begin: float
    inputs: tuple[Signal, ...]
    known: Mapping[str, float]  # parameters
    start: Mapping[int, float]  # of states, where it is given
    steady: bool  # whether the other states start in the steady state, or at zero


class LinearResponse:
    """y(t; θ) of a linear system and its exact Jacobian.

    Rows of `shown` pick the outputs: positive numbers are outputs, negative ones the states -1, -2…
    """

    def __init__(
        self,
        rule: CoefficientProgram,
        experiment: LinearExperiment,
        tuners: Vector,
        started: Sequence[int | None],
        shown: Sequence[int],
    ) -> None:
        self.rule = rule
        self.experiment = experiment
        self._tuners = tuners
        self._started = tuple(started)  # the state whose start value a tuner is
        self._shown = tuple(shown)
        e = experiment
        self._held = [HeldInput.of(s, e.begin, at_rest=not e.steady) for s in e.inputs]
        self._line: tuple[bytes, Timeline] | None = None

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
        if (numbers.T < 0).any():
            late = float(numbers.T.min())
            return self._failed(f"the delay {late:g} is negative; keep it above 0", named)
        with np.errstate(all="ignore"):
            try:
                run = self._run(numbers, values)
            except np.linalg.LinAlgError:
                run = None
        if run is None:
            why = "there is no steady state, a pole is at zero; use initial = 'rest'"
            return self._failed(why, named)
        if not (np.isfinite(run.Y).all() and np.isfinite(run.YS).all()):
            return self._failed("the output grows beyond all numbers", named)
        return run

    def _run(self, numbers: Coefficients, values: Vector) -> LinearRun | None:
        line = self._timeline(numbers.T)
        x0, s0 = self._start(numbers, values, line)
        c, scale = _balanced(numbers)
        one = steps(c.A, c.B, c.dA, c.dB, line.lengths)
        kicks = -_applied(c.B, line.jumps[:, None] * c.dT)
        X, S = np.empty((len(line.nodes), len(x0))), np.empty((len(line.nodes), *s0.shape))
        X[0], S[0] = x0 / scale, s0 / scale
        if not self.experiment.steady:
            S[0] += kicks[0]
        propagate(one.arrays, line.which, line.values, line.slopes, c.dT, kicks, X, S)
        return self._observed(numbers, line, X * scale, S * scale)

    def _timeline(self, delays: Vector) -> Timeline:
        key = delays.tobytes()
        if self._line is None or self._line[0] != key:
            e = self.experiment
            self._line = key, timeline(self._held, delays, e.times, e.begin)
        return self._line[1]

    def _start(self, c: Coefficients, values: Vector, line: Timeline) -> tuple[Vector, Vector]:
        """The states at the beginning and their derivatives by the tuners, (n,) and (m, n)."""
        x, S = np.zeros(len(c.A)), np.zeros((len(values), len(c.A)))
        if self.experiment.steady and len(x):
            u = line.values[0]
            x = -np.linalg.solve(c.A, c.B @ u)
            driven = c.dA @ x + c.dB @ u - (line.slopes[0] * c.dT) @ c.B.T
            S = -np.linalg.solve(c.A, driven.T).T
        for state, value in self.experiment.start.items():
            x[state], S[:, state] = value, 0.0
        for k, tuned in enumerate(self._started):
            if tuned is not None:
                x[tuned], S[:, tuned] = values[k], 0.0
                S[k, tuned] = 1.0
        return x, S

    def _observed(self, c: Coefficients, line: Timeline, X: Vector, S: Vector) -> LinearRun:
        rows = line.rows
        x, u, rise = X[rows], line.values[rows], line.slopes[rows]
        outputs = x @ c.C.T + u @ c.D.T
        moved = S[rows] @ c.C.T + _applied(c.dC, x[:, None]) + _applied(c.dD, u[:, None])
        moved -= _applied(c.D, rise[:, None] * c.dT)
        every, every_moved = np.hstack([outputs, x]), np.concatenate([moved, S[rows]], axis=2)
        ny = len(c.C)
        shown = [k if k >= 0 else ny - 1 - k for k in self._shown]
        Y, YS = every[:, shown], every_moved[:, :, shown].transpose(0, 2, 1)
        return LinearRun(self.times, Y, YS)

    def _failed(self, why: str, named: Mapping[str, float]) -> LinearRun:
        numbers = {**self.experiment.known, **named}
        return failed_run(self.times, len(self._shown), len(self._tuners), why, numbers)


def failed_run(times: Vector, ny: int, m: int, why: str, numbers: Mapping[str, float]) -> LinearRun:
    """What comes back where nothing can be computed: why, and at which numbers."""
    listed = ", ".join(f"{n} = {v:g}" for n, v in numbers.items())
    text = f"{why}, with {listed}" if listed else why
    N = len(times)
    return LinearRun(times, np.full((N, ny), np.nan), np.full((N, ny, m), np.nan), False, text)


def _applied(M: Vector, v: Vector) -> Vector:
    """M v for stacks of matrices and vectors."""
    found: Vector = (M @ v[..., None])[..., 0]
    return found


def _balanced(c: Coefficients) -> tuple[Coefficients, Vector]:
    """The system in states of like size, and those sizes: powers of two, so nothing is rounded."""
    n = len(c.A)
    if n < 2:
        return c, np.ones(n)
    _, (scale, _) = matrix_balance(c.A, permute=False, separate=True)
    by = scale / scale[:, None]
    over = scale[:, None]
    return (
        Coefficients(
            c.A * by, c.B / over, c.C * scale, c.D, c.T,
            c.dA * by, c.dB / over, c.dC * scale, c.dD, c.dT,
        ),
        scale,
    )  # fmt: skip


# ----------------------------------------------------------------
# Held inputs: signals as pieces with jumps, each as late as its delay, over the times of a run.


_SAME = 16 * np.finfo(float).eps  # times that differ by rounding only, relative to the largest


@dataclass(frozen=True, eq=False)
class HeldInput:
    """From stamp k on u(t) = value[k] + slope[k]·(t - stamp[k]); before the first one, `before`."""

    stamps: Vector
    values: Vector
    slopes: Vector
    before: float

    @classmethod
    def of(cls, signal: Signal, begin: float, *, at_rest: bool) -> HeldInput:
        """The pieces of a signal; at rest it was zero before its first sample or `begin`."""
        one = signal.refined()
        stamps = np.unique(one.time)
        if len(one.time) == 1 or stamps[0] > begin:
            stamps = np.concatenate([[begin], stamps[stamps > begin]])
        values, slopes = one.at(stamps), _slopes(one, stamps)
        before = 0.0 if at_rest else float(values[0])
        reached = values[:-1] + slopes[:-1] * np.diff(stamps)
        rounding = 1e-14 * np.maximum(np.abs(values[1:]), np.abs(reached))
        changed = (np.abs(values[1:] - reached) > rounding) | (slopes[1:] != slopes[:-1])
        keep = np.concatenate([[True], changed])
        return cls(stamps[keep], values[keep], slopes[keep], before)

    @property
    def jumps(self) -> Vector:
        """Value after minus value before each stamp."""
        reached = self.values[:-1] + self.slopes[:-1] * np.diff(self.stamps)
        return self.values - np.concatenate([[self.before], reached])


@dataclass(frozen=True, eq=False)
class Timeline:
    """Nodes at which something is sampled or an input changes, and the inputs just after them."""

    nodes: Vector  # (K,)
    rows: Indices  # the node of each sample
    values: Vector  # (K, nu)
    slopes: Vector  # (K, nu)
    jumps: Vector  # (K, nu)
    lengths: Vector  # the different distances between nodes
    which: Indices  # (K - 1,) which of them follows each node


def timeline(inputs: Sequence[HeldInput], delays: Vector, times: Vector, begin: float) -> Timeline:
    """The nodes of a run from `begin` over the samples `times`, every input late by its delay."""
    end = float(times[-1])
    near = _SAME * max(abs(begin), abs(end), float(np.max(delays, initial=0.0)))
    fixed = np.unique(np.concatenate([[begin], times]))
    shifted = [_snapped(one.stamps + T, fixed, near) for one, T in zip(inputs, delays, strict=True)]
    inside = [s[(s >= begin) & (s <= end)] for s in shifted]
    nodes = np.unique(np.concatenate([fixed, *inside]))
    values, slopes, jumps = (np.zeros((len(nodes), len(inputs))) for _ in range(3))
    for j, (one, stamps) in enumerate(zip(inputs, shifted, strict=True)):
        k = np.searchsorted(stamps, nodes, side="right") - 1
        begun = k >= 0
        last = np.maximum(k, 0)
        slopes[:, j] = np.where(begun, one.slopes[last], 0.0)
        values[:, j] = np.where(
            begun, one.values[last] + slopes[:, j] * (nodes - stamps[last]), one.before
        )
        seen = (stamps >= begin) & (stamps <= end)
        np.add.at(jumps[:, j], np.searchsorted(nodes, stamps[seen]), one.jumps[seen])
    lengths, which = _different(np.diff(nodes), near)
    return Timeline(nodes, np.searchsorted(nodes, times), values, slopes, jumps, lengths, which)


def _snapped(stamps: Vector, fixed: Vector, near: float) -> Vector:
    """Stamps that are next to one of `fixed` but for rounding become it."""
    right = np.clip(np.searchsorted(fixed, stamps), 0, len(fixed) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(
        np.abs(fixed[right] - stamps) <= np.abs(fixed[left] - stamps), fixed[right], fixed[left]
    )
    return np.where(np.abs(nearest - stamps) <= near, nearest, stamps)


def _different(widths: Vector, near: float) -> tuple[Vector, Indices]:
    """The different widths, and which of them each is; what differs by rounding is one."""
    if not len(widths):
        return np.zeros(0), np.zeros(0, np.int64)
    order = np.argsort(widths, kind="stable")
    groups = np.concatenate([[0], np.cumsum(np.diff(widths[order]) > 2 * near)])
    which = np.empty(len(widths), np.int64)
    which[order] = groups
    return np.bincount(which, widths) / np.bincount(which), which


def _slopes(signal: Signal, stamps: Vector) -> Vector:
    """The signal's slope just after each stamp."""
    if signal.hold is Hold.PREVIOUS or len(signal.time) == 1:
        return np.zeros(len(stamps))
    width = np.diff(signal.time)
    rise = np.divide(np.diff(signal.value), width, out=np.zeros_like(width), where=width > 0)
    k = np.searchsorted(signal.time, stamps, side="right") - 1
    inside = (k >= 0) & (k < len(rise))
    return np.where(inside, rise[np.clip(k, 0, len(rise) - 1)], 0.0)
