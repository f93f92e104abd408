"""Fewer samples that look the same: ends and every extreme that can be seen stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.view import (
    Curve,
    Curves,
    Heat,
    Page,
    Panel,
    Parallel,
    Ribbon,
    Section,
    ViewElement,
)

MOST_POINTS = 4000  # of one curve; more cannot be seen and make a page slow
MOST_DOTS = 2500  # of a cloud, where each is an element of its own in the page
MOST_IN_FIGURE = 16_000
MOST_IN_PAGE = 80_000
MOST_LINES = 1500  # of parallel coordinates; more only make a carpet
FEWEST = 250  # of one curve, however many there are
THINNED = (
    "Long curves are drawn with fewer samples than they have: the ends, and the smallest and "
    "largest of every stretch; of many points also some from all over. All else comes from all "
    "samples."
)
TIGHTEST = 40  # of one curve, where a page is full of figures

S = TypeVar("S", bound=ViewElement)
GOLDEN = 0.6180339887498949  # its multiples meet no period of a signal


def thin_curve(
    time: Vector, value: Vector, most: int = MOST_POINTS, stamps: Vector | None = None
) -> tuple[Vector, Vector]:
    """At most `most` samples that keep the ends and every extreme that can be seen.

    Those at `stamps` stay too, where they are fewer than `most`: a line between them is then
    thinned, and its values at the samples of the data are not.
    """
    n = len(time)
    if n <= most:
        return time, value
    keep = _extremes(value, most)
    if stamps is not None and len(stamps) <= most:
        own = np.flatnonzero(np.isin(time, stamps))
        keep = np.union1d(own, _extremes(value, max(most - len(own), 4)))
    return time[keep], value[keep]


def thin_cloud(time: Vector, value: Vector, most: int = MOST_POINTS) -> tuple[Vector, Vector]:
    """At most `most` points: a tenth of them extremes, the others from all over the cloud."""
    n = len(time)
    if n <= most:
        return time, value
    extremes = _extremes(value, max(most // 10, 4))
    inner = np.floor(np.arange(1, most - len(extremes) + 1) * GOLDEN % 1.0 * n)
    keep = np.unique(np.concatenate([extremes, inner]).astype(np.int64))
    return time[keep], value[keep]


def _extremes(value: Vector, most: int) -> Indices:
    """Places of the ends, and of the smallest and largest of each of so many stretches.

    A stretch without any number keeps a gap.
    """
    n = len(value)
    width = -(-n // max((most - 2) // 2, 1))
    first = np.arange(0, n, width)
    padded = np.full(len(first) * width, np.nan)
    padded[:n] = value
    buckets = padded.reshape(-1, width)
    gap = np.isnan(buckets)
    lowest = np.where(gap, np.inf, buckets).argmin(axis=1)
    highest = np.where(gap, -np.inf, buckets).argmax(axis=1)
    return np.unique(np.concatenate([[0, n - 1], first + lowest, first + highest]))


def thin_lines(parallel: Parallel, most: int) -> Indices:
    """Numbers of at most `most` lines: the extremes of every axis, others from all over."""
    n = len(parallel.good)
    if n <= most:
        return np.arange(n)
    keep = {0, n - 1}
    each = max(1, most // (20 * len(parallel.axes)))
    for axis in parallel.axes:
        order = np.argsort(np.nan_to_num(axis.value))
        keep |= set(order[:each].tolist()) | set(order[-each:].tolist())
    rest = most - len(keep)
    keep |= set(np.floor(np.arange(1, rest + 1) * GOLDEN % 1.0 * n).astype(int).tolist())
    return np.array(sorted(keep), np.int64)


def points_of_curve(panels: tuple[Panel, ...], most: int = MOST_IN_FIGURE) -> int:
    """How many points each curve of a figure may have."""
    count = max(sum(len(p.curves) for p in panels), 1)
    return min(MOST_POINTS, max(FEWEST, most // count))


def thin_page(page: Page, most: int = MOST_IN_PAGE) -> Page:
    """The page with as many samples as are drawn, at most about `most` in all."""
    thin = _with(page, MOST_POINTS)
    cap = MOST_POINTS
    while _points(thin) > most and cap > TIGHTEST:
        cap = max(cap // 2, TIGHTEST)
        thin = _with(thin, cap)
    pairs = zip(page.sections, thin.sections, strict=True)
    return replace(thin, sections=tuple(_with_note(before, after) for before, after in pairs))


def _with_note(before: Section, after: Section) -> Section:
    """The thinned section, which says so where a curve has lost samples."""
    if _samples(before) == _samples(after) or THINNED in before.text:
        return after
    return replace(after, text=f"{after.text}\n\n{THINNED}".strip())


def _samples(section: Section) -> int:
    figures = [s for s in section.shown if isinstance(s, Curves)]
    return sum(len(c.time) for f in figures for p in f.panels for c in p.curves)


def _with(page: Page, cap: int) -> Page:
    return replace(page, sections=tuple(_section(s, cap) for s in page.sections))


def _section(section: Section, cap: int) -> Section:
    return replace(section, shown=tuple(thin_element(s, cap) for s in section.shown))


def thin_element(element: S, cap: int = MOST_POINTS) -> S:
    """What there is to see with as many samples as are drawn, at most `cap` of one curve."""
    thin: ViewElement = _thinned(element, cap)
    assert isinstance(thin, type(element))
    return thin


def _thinned(element: ViewElement, cap: int) -> ViewElement:
    if isinstance(element, Curves):
        most = min(points_of_curve(element.panels), cap)
        return replace(element, panels=tuple(_panel(p, most) for p in element.panels))
    if isinstance(element, Heat):
        return replace(element, curves=tuple(_curve(c, cap) for c in element.curves))
    if isinstance(element, Parallel):
        kept = thin_lines(element, min(MOST_LINES, cap))
        axes = tuple(replace(a, value=a.value[kept]) for a in element.axes)
        counts = element.counts or (int(element.good.sum()), int((~element.good).sum()))
        return replace(element, axes=axes, good=element.good[kept], counts=counts)
    return element


def _panel(panel: Panel, most: int) -> Panel:
    curves = tuple(_curve(c, most) for c in panel.curves)
    return replace(panel, curves=curves, ribbons=tuple(_ribbon(r, most) for r in panel.ribbons))


def _curve(curve: Curve, most: int) -> Curve:
    most = min(most, MOST_DOTS) if curve.dotted else most
    if len(curve.time) <= most:
        return curve
    time, value = (thin_cloud if curve.dotted else thin_curve)(curve.time, curve.value, most)
    return replace(curve, time=time, value=value)


def _ribbon(ribbon: Ribbon, most: int) -> Ribbon:
    """Both edges at the same stamps: where the lower one or the upper one is extreme."""
    if len(ribbon.time) <= most:
        return ribbon
    keep = np.union1d(_extremes(ribbon.low, most // 2), _extremes(ribbon.high, most // 2))
    time, low, high = (v[keep] for v in (ribbon.time, ribbon.low, ribbon.high))
    return replace(ribbon, time=time, low=low, high=high)


def _points(page: Page) -> int:
    count = 0
    for element in (s for section in page.sections for s in section.shown):
        if isinstance(element, Curves):
            count += sum(len(c.time) for p in element.panels for c in p.curves)
            count += sum(2 * len(r.time) for p in element.panels for r in p.ribbons)
        elif isinstance(element, Heat):
            count += element.value.size // 2 + sum(len(c.time) for c in element.curves)
        elif isinstance(element, Parallel):
            count += len(element.axes) * len(element.good) // 2
    return count
