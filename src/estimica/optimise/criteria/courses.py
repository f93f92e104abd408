"""Courses: the signals of a run that was scored, at times at which they are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.panels import NODES, TO_COEFFICIENTS, Panels

#: of the times of a curve, those that are spread evenly; the others are where the run has nodes.
#: Chosen: no gap is wider than two even ones, and a bend has half of all points
EVEN = 0.5


@dataclass(eq=False)
class Courses:
    """Where a scorer leaves the signals of the run that it scores: `signals` by their texts.

    After the end that a model has made itself there is nothing: NaN.
    """

    times: Vector
    signals: dict[str, Vector] = field(default_factory=dict)

    def read(self, panels: Panels, nodes: Mapping[str, Vector]) -> None:
        """The signals from their values at the nodes of panels that resolve them."""
        k = np.clip(np.searchsorted(panels.low, self.times, "right") - 1, 0, panels.size - 1)
        low, high = panels.low[k], panels.high[k]
        x = np.clip((2 * self.times - low - high) / (high - low), -1.0, 1.0)
        basis = np.cos(np.arccos(x)[:, None] * np.arange(NODES))
        after = self.times > panels.high[-1]
        for text, values in nodes.items():
            own = values[k]
            # as a change from its first node: what is constant then stays so to the last bit
            bend = (own - own[:, :1]) @ TO_COEFFICIENTS
            course = own[:, 0] + np.einsum("tk,tk->t", bend, basis)
            self.signals[text] = np.where(after, np.nan, course)


def drawing_times(panels: Panels, count: int) -> Vector:
    """`count` times from begin to end, closer together where panels are short: where it bends."""
    nodes = np.concatenate(
        [np.linspace(a, b, NODES)[:-1] for a, b in zip(panels.low, panels.high, strict=True)]
    )
    nodes = np.append(nodes, panels.high[-1])
    begin, end = nodes[0], nodes[-1]
    even = (nodes - begin) / (end - begin)
    share = EVEN * even + (1 - EVEN) * np.linspace(0, 1, len(nodes))
    times = np.interp(np.linspace(0, 1, count), share, nodes)
    times[0], times[-1] = begin, end
    return np.asarray(times)
