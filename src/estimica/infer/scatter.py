"""Scatter: pictures of values that quantities have taken many times, by replicates or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.presenters import CORNER, presenter
from estimica.base.view import CornerAxis, Curve, Panel, name_with_unit
from estimica.estimate.fit.result import Fit

MOST_PAIRS = 8  # panels, unless unknowns are named: what fits on a page
MOST_CORNER = 8  # unknowns of a corner plot: more panels than 36 are too small to read
GREY, STRONG = 7, 1  # of the palette


@dataclass(frozen=True, eq=False)
class Scattered:
    """A quantity that has taken many values around its estimate."""

    label: str
    unit: str
    estimate: float
    values: Vector
    remark: str = ""

    @property
    def heading(self) -> str:
        """Its name with its unit."""
        return name_with_unit(self.label, self.unit)


def scattered_unknowns(
    fit: Fit, values: Vector, remark: Callable[[int], str] = lambda k: ""
) -> list[Scattered]:
    """The unknowns of a fit, with (count, unknowns) `values`."""
    return [
        Scattered(u.label, u.unit, float(fit.values[k]), values[:, k], remark(k))
        for k, u in enumerate(fit.unknowns.items)
    ]


def corner_figure(
    quantities: Sequence[Scattered],
    intervals: Mapping[int, tuple[float, float]],
    places: Sequence[int],
    title: str,
) -> Any:
    """Of the quantities at `places` a histogram each, and each against each."""
    shown = list(places)[:MOST_CORNER]
    if len(shown) < len(places):
        title += f" ({len(shown)} of {len(places)} unknowns; name others)"
    axes = tuple(
        CornerAxis(q.heading, q.values, q.estimate, intervals.get(k))
        for k, q in ((k, quantities[k]) for k in shown)
    )
    return presenter(CORNER)(axes, title)


def correlations(quantities: Sequence[Scattered]) -> Vector:
    """Of the values; zero where one does not move."""
    n = len(quantities)
    found = np.zeros((n, n))
    moving = [k for k, q in enumerate(quantities) if len(q.values) > 1 and q.values.std() > 0]
    for a, b in combinations(moving, 2):
        both = float(np.corrcoef(quantities[a].values, quantities[b].values)[0, 1])
        found[a, b] = found[b, a] = both
    return found


def clouds(
    quantities: Sequence[Scattered],
    correlation: Vector,
    pairs: Sequence[tuple[int, int]],
    *,
    what: str,
) -> Iterator[Panel]:
    """A panel for each pair of quantities, whose values are called `what`.

    The heading has the remarks on both, where there are any, or their correlation.
    """
    for place, (a, b) in enumerate(pairs):
        x, y, first = quantities[a], quantities[b], place == 0
        cloud = Curve(what, x.values, y.values, y.unit, dotted=True, colour=0, listed=first)
        middle = Curve(
            "estimate",
            np.array([x.estimate]),
            np.array([y.estimate]),
            y.unit,
            dotted=True,
            colour=STRONG,
            listed=first,
        )
        remarks = "; ".join(f"{q.label} {q.remark}" for q in (x, y) if q.remark)
        heading = f"{y.heading} over {x.heading}: " + (
            remarks or f"correlation {correlation[a, b]:.2f}"
        )
        yield Panel(y.label, (cloud, middle), group=heading)


def pairs_to_draw(
    chosen: Sequence[int], correlation: Vector, *, all_of_them: bool
) -> list[tuple[int, int]]:
    """Pairs of unknowns: all of them, or the most correlated ones."""
    pairs = list(combinations(chosen, 2))
    if all_of_them:
        return pairs
    pairs.sort(key=lambda p: -abs(np.nan_to_num(correlation[p])))
    return pairs[:MOST_PAIRS]


def bars(
    quantity: Scattered,
    histogram: tuple[Vector, Vector],
    interval: tuple[float, float],
    *,
    what: str,
    label: str,
    listed: bool,
) -> Panel:
    """How often it had which value, with its estimate and the finite ends of `interval`."""
    heights, edges = histogram
    top = float(heights.max())
    steps = np.append(heights, heights[-1]).astype(float)
    curves = [
        Curve(what, edges, steps, stepped=True, colour=0, listed=listed),
        _upright("estimate", quantity.estimate, top, STRONG, listed),
    ]
    curves += [
        _upright("95 % interval", x, top, GREY, listed and j == 0)
        for j, x in enumerate(interval)
        if math.isfinite(x)
    ]
    heading = quantity.heading + (f": {quantity.remark}" if quantity.remark else "")
    return Panel(label, tuple(curves), group=heading)


def _upright(name: str, x: float, top: float, colour: int, listed: bool) -> Curve:
    ends = np.array([0.0, top])
    return Curve(name, np.array([x, x]), ends, dashed=True, colour=colour, listed=listed)
