"""Groups: points whose value of one variable is about the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Flags, Vector

MOST = 8  # groups in one picture
BINS = 5  # where values lie anywhere
CLEAR = 4.0  # a gap between groups, relative to the largest within


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the points, and what they have in common in words."""

    label: str
    rows: Flags


def groups(name: str, values: Vector) -> list[Group]:
    """Points of one value each, or of values that lie together, or of equal shares."""
    known = np.unique(values[np.isfinite(values)])
    edges = _edges(known)
    found = []
    for low, high in pairwise(edges):
        rows = (values >= low) & (values < high)
        if rows.any():
            found.append(Group(_label(name, values[rows], _spread(known)), rows))
    return found


def _edges(known: Vector) -> list[float]:
    """Where one group ends and the next begins."""
    inner: Vector = np.zeros(0)
    gaps = np.diff(known)
    if len(known) <= MOST:
        inner = known[:-1] + gaps / 2
    else:
        order = np.argsort(gaps)[::-1]
        sizes = gaps[order]
        ratio = sizes[: MOST - 1] / np.maximum(sizes[1:MOST], 1e-300)
        cut = int(np.argmax(ratio))
        if ratio[cut] > CLEAR:
            chosen = np.sort(order[: cut + 1])
            inner = known[chosen] + gaps[chosen] / 2
        else:
            inner = np.quantile(known, np.arange(1, BINS) / BINS)
    return [-np.inf, *map(float, inner), np.inf]


def _spread(known: Vector) -> float:
    return float(known[-1] - known[0]) if len(known) else 0.0


def _label(name: str, values: Vector, spread: float) -> str:
    low, high = float(values.min()), float(values.max())
    if high - low <= 0.1 * spread or f"{low:.3g}" == f"{high:.3g}":
        return f"{name} = {_rounded(float(values.mean()))}"
    return f"{name} {_rounded(low)} … {_rounded(high)}"


def _rounded(value: float) -> str:
    """Three digits, as one would write them: 30000, not 3e+04."""
    return f"{float(f'{value:.3g}'):.7g}"
