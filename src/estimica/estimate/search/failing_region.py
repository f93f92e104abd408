"""Failing region: what is said where the cost falls towards simulations that fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.estimate.objective.cost import Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.optimality import FailingStep
from estimica.estimate.unknowns import Unknowns

EXTREME = 1e3  # times the typical size, or less than that part of it
NAMED = 3  # unknowns of a step that several take part in
HELP = (
    "keep the tuners where the model works (min, max, scale = 'log'), start elsewhere "
    "(starts = 20), or look at the model there"
)


def stopped_at(unknowns: Unknowns, point: Point, blocked: Sequence[FailingStep]) -> str:
    """Which unknown leads where which simulation fails, why, and what to do about it."""
    single = [b for b in blocked if b.unknown is not None]
    first = (single or blocked)[0]
    ways = [_way(unknowns, point, b) for b in single] or [_step(unknowns, point, first)]
    return (
        f"stopped at a region where the simulation fails{_extremes(unknowns, point)}: the cost "
        f"still falls with {' and with '.join(ways)}, but the simulation of case "
        f"'{first.failure.case}' fails "
        f"there: {first.failure.message}; this is not an optimum; {HELP}"
    )


def _extremes(unknowns: Unknowns, point: Point) -> str:
    """The unknowns that have left their order of magnitude, which may be why simulations fail."""
    far = unknowns.is_beyond(point.q, EXTREME) | unknowns.is_below(point.q, 1 / EXTREME)
    named = [f"'{unknowns.items[k].label}' = {point.values[k]:.3g}" for k in np.flatnonzero(far)]
    return f", with {' and '.join(named)}" if named else ""


def among_failures(count: int, last: Failure | None) -> str:
    """The same where too many simulations have failed to look for a way around them."""
    assert last is not None
    where = ", ".join(f"{n} = {v:.6g}" for n, v in last.values.items())
    return (
        f"stopped at a region where the simulation fails: {count} simulations failed, the last of "
        f"case '{last.case}' with {where}: {last.message}; this is not an optimum; {HELP}"
    )


def failing_pieces(message: str) -> str:
    """The same where cases are simulated in pieces."""
    return (
        f"stopped at a region where the simulation fails: {message}; this is not an optimum; {HELP}"
    )


def beside(failure: Failure) -> str:
    """The same where no gradient says whether the cost still falls towards what fails."""
    where = ", ".join(f"{n} = {v:.6g}" for n, v in failure.values.items())
    return (
        f"stopped at a region where the simulation fails: no neighbour that can be simulated is "
        f"lower, but the simulation of case '{failure.case}' fails right beside, with {where}: "
        f"{failure.message}; this need not be an optimum; {HELP}"
    )


def _way(unknowns: Unknowns, point: Point, blocked: FailingStep) -> str:
    assert blocked.unknown is not None
    label = unknowns.items[blocked.unknown].label
    here, there = float(point.values[blocked.unknown]), blocked.failure.values[label]
    return f"'{label}' {'above' if there > here else 'below'} {here:.9g} (tried: {there:.9g})"


def _step(unknowns: Unknowns, point: Point, blocked: FailingStep) -> str:
    """The unknowns that a step changes most, relative to their size."""
    there = np.array([blocked.failure.values[u.label] for u in unknowns.items])
    moved = np.abs(unknowns.coordinates(there) - point.q) / np.maximum(np.abs(point.q), 1e-300)
    most = [int(k) for k in np.argsort(-moved)[:NAMED] if moved[k] > 0.1 * moved.max()]
    changed = (
        f"'{unknowns.items[k].label}' from {point.values[k]:.9g} to {there[k]:.9g}" for k in most
    )
    return "a step of " + ", ".join(changed)
