"""Poll: looks around a design, on the criteria themselves, for one that is better.

Steps along each tuner, then along frames that are turned by chance (seeded), from long to short;
where one gains it goes on from there. Kinks and jumps do no harm, and neither do designs that
cannot be simulated. It is what must have failed before a search may say that it has converged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.estimate.unknowns import Unknowns
from estimica.optimise.programme import FEASIBLE, Programme

Vector = npt.NDArray[np.float64]
#: designs, for each tuner, after which a poll that goes on gaining leaves it to the method
MOST = 40
#: what a step must gain to be gone on with: relative to the cost, or of the worst violation
GAIN = 1e-4


@dataclass(frozen=True)
class Poll:
    """How closely it looks: lengths relative to the tuners, and how many turned frames."""

    lengths: tuple[float, ...]
    frames: int


#: where gradients say all: that nothing is better a small step and a step away
SMOOTH = Poll((0.05, 0.002), 0)
#: where criteria have kinks or jump: a settling time has valleys that are 1 % wide
KINKED = Poll((0.3, 0.08, 0.02, 0.005, 0.001), 1)


def poll(programme: Programme, how: Poll, seed: int) -> None:
    """Step on from the best design until no step of any length gains; the programme remembers."""
    rng = np.random.default_rng(seed)
    most = programme.evaluations + MOST * len(programme.unknowns)
    with programme.patient():
        for length in how.lengths:
            while _stepped(programme, length, how.frames, rng) and programme.evaluations < most:
                pass


def _stepped(programme: Programme, length: float, frames: int, rng: np.random.Generator) -> bool:
    """Whether any direction has gained."""
    found = False
    for direction in _directions(len(programme.unknowns), frames, rng):
        step = length
        while _gains(programme, step * direction):
            found = True
            step *= 2
    return found


def _gains(programme: Programme, step: Vector) -> bool:
    best, cost = programme.best, programme.best_cost
    assert best is not None
    unknowns, q = programme.unknowns, best.point.q
    tried = np.clip(q + step * sizes(unknowns, q), unknowns.lower, unknowns.upper)
    if np.array_equal(tried, q):
        return False
    programme.at(tried)
    now = programme.best
    if now is None or now is best:
        return False
    return gain(best.violation, cost, now.violation, programme.best_cost) > GAIN


def gain(violation: float, cost: float, violation_now: float, cost_now: float) -> float:
    """What one design gains over another: of the violation as long as there is one, of the cost."""
    if violation > FEASIBLE:
        return 1 - violation_now / violation
    return (cost - cost_now) / max(abs(cost), 1e-12)


def _directions(n: int, frames: int, rng: np.random.Generator) -> Iterator[Vector]:
    for frame in [np.eye(n), *(_turned(n, rng) for _ in range(frames if n > 1 else 0))]:
        for row in frame:
            yield row
            yield -row


def _turned(n: int, rng: np.random.Generator) -> Vector:
    """Orthogonal directions, turned by chance; their largest part is 1."""
    frame, _ = np.linalg.qr(rng.normal(size=(n, n)))
    found: Vector = frame / np.abs(frame).max(axis=1, keepdims=True)
    return found


def sizes(unknowns: Unknowns, q: Vector) -> Vector:
    """What a relative step is measured in: the coordinate itself, or the width of its range."""
    width = unknowns.upper - unknowns.lower
    free = np.where(np.isfinite(width), width, 1.0)
    own = np.where(np.abs(q) > 0, np.abs(q), free)
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    found: Vector = np.minimum(np.where(logarithmic, 1.0, own), np.where(width > 0, width, np.inf))
    return found
