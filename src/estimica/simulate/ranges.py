"""What min and max of variables say of start values and of solutions at the start of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.flat.system import FlatSystem, Variability
from estimica.simulate.roots.search import Unknowns

#: of the size of an unknown or of its bound: a solution so near to the bound is on it. Chosen: ten
#: times what counts as solved
ON_BOUND = 1e-8
_NAMED = 5  # variables that a note names (chosen: what fits on a line or two)


def beyond(unknowns: Unknowns, U: Vector) -> Flags:
    """Which unknowns are outside of min and max by more than rounding."""
    low, high = unknowns.low, unknowns.high
    size = unknowns.scales
    with np.errstate(invalid="ignore"):
        under = low - ON_BOUND * np.maximum(size, np.abs(low)) > U
        over = high + ON_BOUND * np.maximum(size, np.abs(high)) < U
    return np.asarray(under | over)


def moved_inside(unknowns: Unknowns, U: Vector) -> Iterator[Vector]:
    """Guesses inside for those that are outside: mirrored at the bound, a tenth of their size
    behind it, and on it; the first two may be outside at the other end."""
    low, high = unknowns.low, unknowns.high
    under, over = low > U, high < U
    bound = np.where(under, low, np.where(over, high, U))
    way = np.where(under, 1.0, np.where(over, -1.0, 0.0))
    shares = np.abs(U - bound), 0.1 * np.maximum(np.abs(U), unknowns.scales), 0.0
    for share in shares:
        yield np.clip(bound + way * share, low, high)


def outside_notes(unknowns: Unknowns, U: Vector) -> tuple[str, ...]:
    """That no solution inside was found, where one lies outside."""
    found = [
        f"'{unknowns.names[k]}' = {U[k]:.6g} ({_told(unknowns.low[k], unknowns.high[k])})"
        for k in np.flatnonzero(beyond(unknowns, U))
    ]
    if not found:
        return ()
    return (f"the run begins outside of min and max, no solution inside was found: {_few(found)}",)


def start_notes(flat: FlatSystem) -> tuple[str, ...]:
    """That start values are outside of min and max."""
    found = []
    for v in flat.variables:
        if v.variability in (Variability.CONSTANT, Variability.PARAMETER) or v.start is None:
            continue
        low, high = v.range
        if v.start.op == "const" and not low <= v.start.value <= high:
            found.append(f"'{v.name}' (start {v.start.value:.6g}, {_told(low, high)})")
    return (f"start values outside of min and max: {_few(found)}",) if found else ()


def _told(low: float, high: float) -> str:
    ends = [f"min {low:g}"] if np.isfinite(low) else []
    return ", ".join(ends + ([f"max {high:g}"] if np.isfinite(high) else []))


def _few(found: Sequence[str]) -> str:
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more
