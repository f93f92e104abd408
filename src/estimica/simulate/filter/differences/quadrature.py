"""Quadrature: nodes and weights by which noise that comes in over a stretch is summed up.

Lobatto's rules have both ends among their nodes, and of rules with so many nodes the highest order
then: 2s for s stretches between them. s = 1 is the trapezoidal rule, s = 2 Simpson's. All weights
are positive, so that sums of covariances are covariances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class Span:
    """Times and weights of one application of a rule, in seconds."""

    nodes: Vector
    weights: Vector


@lru_cache(maxsize=32)
def lobatto(moves: int) -> tuple[Vector, Vector]:
    """(nodes, weights) on [0, 1] with so many stretches between the nodes."""
    last = np.zeros(moves + 1)
    last[moves] = 1.0
    inner = legendre.legroots(legendre.legder(last)) if moves > 1 else np.zeros(0)
    nodes = np.concatenate([[-1.0], np.sort(inner), [1.0]])
    weights = 2 / (moves * (moves + 1) * legendre.legval(nodes, last) ** 2)
    return 0.5 * (nodes + 1), 0.5 * weights


def spans(begin: float, end: float, parts: int, moves: int) -> list[Span]:
    """A stretch in so many parts, with a rule of so many moves for each."""
    nodes, weights = lobatto(moves)
    ends = np.linspace(begin, end, parts + 1)
    width = (end - begin) / parts
    found = []
    for a, b in pairwise(ends):
        times = a + width * nodes
        times[0], times[-1] = a, b
        found.append(Span(times, width * weights))
    return found


def spans_on_grid(begin: float, end: float, parts: int, steps: int) -> list[Span]:
    """The same on multiples of a step, of which there are so many: by the rule of highest order
    over both ends and a node about the middle, which lies between a third and two thirds so that no
    weight is negative; by the trapezoidal rule over single steps."""
    ends = np.unique(np.rint(np.linspace(0, steps, min(parts, steps) + 1)))
    found = []
    for a, b in pairwise(ends):
        places = np.unique([a, np.floor((a + b) / 2), b])
        c = (places[1] - a) / (b - a)
        shares = (
            np.array([0.5, 0.5])
            if len(places) == 2
            else np.array([0.5 - 1 / (6 * c), 1 / (6 * c * (1 - c)), 0.5 - 1 / (6 * (1 - c))])
        )
        width = (end - begin) / steps
        times = begin + width * places
        if b == steps:
            times[-1] = end
        found.append(Span(times, width * (b - a) * shares))
    return found
