"""Scatter: pictures of values that unknowns have taken many times, by replicates or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.view import Curve, Panel, name_with_unit
from estimica.estimate.fit.result import Fit

MOST_PAIRS = 8  # panels, unless unknowns are named: what fits on a page
GREY, STRONG = 7, 1  # of the palette


def clouds(
    fit: Fit,
    values: Vector,
    correlation: Vector,
    pairs: Sequence[tuple[int, int]],
    *,
    what: str,
    remark: Callable[[int], str] = lambda k: "",
) -> Iterator[Panel]:
    """A panel for each pair of unknowns: (count, unknowns) `values`, which are called `what`.

    The heading has the remarks on both unknowns, where there are any, or their correlation.
    """
    items = fit.unknowns.items
    for place, (a, b) in enumerate(pairs):
        unit, first = items[b].unit, place == 0
        cloud = Curve(what, values[:, a], values[:, b], unit, dotted=True, colour=0, listed=first)
        middle = Curve(
            "estimate",
            fit.values[[a]],
            fit.values[[b]],
            unit,
            dotted=True,
            colour=STRONG,
            listed=first,
        )
        remarks = "; ".join(f"{items[k].label} {remark(k)}" for k in (a, b) if remark(k))
        heading = (
            f"{name_with_unit(items[b].label, unit)} over "
            f"{name_with_unit(items[a].label, items[a].unit)}: "
            + (remarks or f"correlation {correlation[a, b]:.2f}")
        )
        yield Panel(items[b].label, (cloud, middle), group=heading)


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
    fit: Fit,
    k: int,
    histogram: tuple[Vector, Vector],
    interval: tuple[float, float],
    *,
    what: str,
    label: str,
    listed: bool,
    remark: str = "",
) -> Panel:
    """How often an unknown had which value, with its estimate and the finite ends of `interval`."""
    heights, edges = histogram
    top = float(heights.max())
    steps = np.append(heights, heights[-1]).astype(float)
    curves = [
        Curve(what, edges, steps, stepped=True, colour=0, listed=listed),
        _upright("estimate", float(fit.values[k]), top, STRONG, listed),
    ]
    curves += [
        _upright("95 % interval", x, top, GREY, listed and j == 0)
        for j, x in enumerate(interval)
        if math.isfinite(x)
    ]
    unknown = fit.unknowns.items[k]
    heading = name_with_unit(unknown.label, unknown.unit) + (f": {remark}" if remark else "")
    return Panel(label, tuple(curves), group=heading)


def _upright(name: str, x: float, top: float, colour: int, listed: bool) -> Curve:
    ends = np.array([0.0, top])
    return Curve(name, np.array([x, x]), ends, dashed=True, colour=colour, listed=listed)
