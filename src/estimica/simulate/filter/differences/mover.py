"""Mover: a model without equations, moved from one time to another with slopes by its states.

Points are moved side by side: rows of states x (R, n) and of tuners θ (R, m).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.filter.differences.quadrature import Span, spans

#: steps of differences that are tried, in sizes of what is moved. What is moved decides how noisy
#: it is, so that the best one may lie anywhere
LADDER = tuple(10.0**-k for k in range(1, 7))
#: the relative error that is told at least: eps^(2/3) of central differences is 4e-11
LEAST = 1e-10


class StoppedError(Exception):
    """A row that does not come through, and why."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row, self.text = row, text


@dataclass(frozen=True, eq=False)
class Moved:
    """Values (R, k) of R points and their slopes (R, k, n) by the states that they began with."""

    value: Vector
    slope: Vector


@dataclass(frozen=True)
class Tuned:
    """The tuners of a filter, in the order of θ."""

    names: tuple[str, ...]
    states: tuple[str, ...]  # tuners of these names are start values
    parameters: frozenset[str]  # of the model; other tuners are of the noise only

    def columns(self, names: Sequence[str]) -> list[int]:
        """Where some of them stand."""
        return [self.names.index(n) for n in names]

    @property
    def of_model(self) -> tuple[str, ...]:
        """Those that a simulation knows."""
        return tuple(n for n in self.names if n in self.parameters or n in self.states)


class Mover(ABC):
    """Moves rows of states over stretches of time within one piece of the inputs."""

    states: tuple[str, ...]
    variables: tuple[str, ...]  # what is seen at a time, besides states
    error: float = LEAST  # relative, of the slopes

    @abstractmethod
    def begun(self, theta: Vector) -> Vector:
        """The states where the record begins, (R, n)."""

    @abstractmethod
    def moved(self, begin: float, end: float, x: Vector, theta: Vector) -> Moved:
        """The states at `end`."""

    @abstractmethod
    def seen(self, time: float, x: Vector, theta: Vector) -> Moved:
        """The variables at a time."""

    def prepare(
        self, sizes: Vector, tried: Sequence[tuple[float, float]], x: Vector, theta: Vector
    ) -> None:
        """Choose steps of differences for states of these sizes, at stretches that begin at `x`."""
        return

    def spans(self, begin: float, end: float, parts: int, moves: int) -> list[Span]:
        """How a stretch is divided: into so many parts with so many moves each."""
        return spans(begin, end, parts, moves)


class TrajectoryMover(Mover):
    """One that knows no slopes: by central differences of what it does."""

    def __init__(self) -> None:
        self._steps = np.zeros(0)  # absolute, one for each state

    @abstractmethod
    def ends(self, begin: float, end: float, x: Vector, theta: Vector) -> Vector:
        """The states at `end`, (R, n)."""

    @abstractmethod
    def sights(self, time: float, x: Vector, theta: Vector) -> Vector:
        """The variables at a time, (R, k)."""

    def moved(self, begin: float, end: float, x: Vector, theta: Vector) -> Moved:
        """The states at `end`, by 2n + 1 runs each."""
        return differenced(lambda a, b: self.ends(begin, end, a, b), x, theta, self._steps)

    def seen(self, time: float, x: Vector, theta: Vector) -> Moved:
        """The variables at a time, by 2n + 1 looks each."""
        return differenced(lambda a, b: self.sights(time, a, b), x, theta, self._steps)

    def prepare(
        self, sizes: Vector, tried: Sequence[tuple[float, float]], x: Vector, theta: Vector
    ) -> None:
        """Steps with which neighbouring ones agree best, over all stretches that are tried."""

        def slopes(step: float) -> Vector | None:
            self._steps = step * sizes
            found = []
            for (begin, end), here in zip(tried, x, strict=True):
                try:
                    slope = self.moved(begin, end, np.atleast_2d(here), theta).slope[0]
                except StoppedError:
                    return None
                # in sizes, so that states of different units count alike
                found.append(slope * sizes / sizes[:, None])
            return np.stack(found)

        chosen, errors = best_steps([slopes(h) for h in LADDER], len(sizes))
        self._steps = chosen * sizes
        self.error = float(max(errors, default=LEAST))


def differenced(
    call: Callable[[Vector, Vector], Vector], x: Vector, theta: Vector, steps: Vector
) -> Moved:
    """What `call` gives for rows of states and tuners, and slopes by the states."""
    R, n = x.shape
    rows = np.repeat(x, 1 + 2 * n, axis=0).reshape(R, 1 + 2 * n, n)
    each = np.arange(n)
    rows[:, 1 + 2 * each, each] += steps
    rows[:, 2 + 2 * each, each] -= steps
    width = rows[:, 1 + 2 * each, each] - rows[:, 2 + 2 * each, each]
    try:
        found = call(rows.reshape(-1, n), np.repeat(theta, 1 + 2 * n, axis=0))
    except StoppedError as stopped:
        raise StoppedError(stopped.row // (1 + 2 * n), stopped.text) from None
    found = found.reshape(R, 1 + 2 * n, -1)
    slope = (found[:, 1::2] - found[:, 2::2]) / width[:, :, None]
    return Moved(found[:, 0], np.swapaxes(slope, 1, 2))


def best_steps(ladder: Sequence[Vector | None], m: int) -> tuple[Vector, Vector]:
    """(steps, errors) for derivatives (…, m) on the rungs of LADDER, none where one failed.

    Where neighbours agree best, curvature, which grows with the square of the step, and noise,
    which goes with its inverse, are in balance. Of the two the shorter step has the smaller error
    of curvature.
    """
    steps, errors = np.full(m, LADDER[len(LADDER) // 2]), np.full(m, LEAST)
    for j in range(m):
        apart: list[tuple[float, int]] = []
        for k, (one, other) in enumerate(pairwise(ladder)):
            if one is None or other is None:
                continue
            size = float(np.linalg.norm(other[..., j]))
            off = float(np.linalg.norm(one[..., j] - other[..., j]))
            if size > 0 and np.isfinite(off):
                apart.append((off / size, k + 1))
        if apart:
            error, rung = min(apart)
            steps[j], errors[j] = LADDER[rung], max(error, LEAST)
    return steps, errors
