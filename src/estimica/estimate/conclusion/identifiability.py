"""Identifiability of a fit: which combinations of the unknowns the data determine, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.text import listed
from estimica.estimate.fit.result import Identifiability
from estimica.estimate.identify.accuracy import Accuracy, scaled_columns
from estimica.estimate.identify.invariants import Group, NullSpaceSample, groups
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.unknowns import Unknowns

#: relative change to the next place along a null direction: far enough that products and sums part
#: by several per cent, near enough that the model mostly still runs
STEP = 0.3
#: besides the estimate, at most: two more than the least that tell, since some fail; each costs as
#: much as an iteration
PLACES = 5
#: bounds of the error of null directions: derivatives are not more accurate than SURE with default
#: tolerances, and beyond UNSURE no exponent could be told
SURE, UNSURE = 1e-5, 1e-2
MOST_CHOICES = 300  # of what to fix that are compared, one small decomposition each
NUMERICAL = "numerically, near this point"
COUNTS = ("none", "one", "two", "three", "four", "five", "six")


def explain(objective: Objective, point: Point, known: Accuracy, held: Flags) -> Identifiability:
    """What a fit says about its unknowns; `objective` is evaluated beside the estimate."""
    labels = [u.label for u in objective.unknowns.items]
    directions = tuple(
        {n: float(c) for n, c in zip(labels, row, strict=True) if c}
        for row in known.null_directions
    )
    groups_found: tuple[Group, ...] = ()
    if directions:
        places = list(_places(objective, point, ~held, len(directions), known.threshold))
        starts = [u.kind == "start" for u in objective.unknowns.items]
        groups_found = groups(labels, places, direction_error(known), starts=starts)
    best = [_to_fix(point, ~held, labels, g) for g in groups_found]
    advice = [
        in_words(g, fix, _changes(g, directions)) for g, fix in zip(groups_found, best, strict=True)
    ]
    return Identifiability(
        known.rank,
        len(labels),
        known.singular_values,
        known.threshold,
        directions,
        tuple(advice),
        groups_found,
        tuple(n for fix in best for n in fix),
    )


def direction_error(known: Accuracy) -> float:
    """Error of the null directions: what they still do, over the least that counts."""
    s = known.singular_values
    large = s > known.threshold * s[0]
    if large.all() or not large.any():
        return SURE
    return float(np.clip(30 * s[~large].max() / s[large].min(), SURE, UNSURE))


def null_space(R: Vector, slopes: Vector, free: Flags, count: int) -> tuple[Vector, Vector]:
    """(`count` null directions in the unknowns' units, all singular values of the scaled R)."""
    columns, scale = scaled_columns(R[:, free])
    _, s, Vt = np.linalg.svd(columns)
    null = np.zeros((count, len(free)))
    null[:, free] = Vt[len(scale) - count :] / scale * slopes[free]
    return null, s


def sizes(unknowns: Unknowns, values: Vector) -> Vector:
    """What a relative change of an unknown is relative to."""
    scale = np.array([u.scale for u in unknowns.items])
    return np.where(values != 0, np.abs(values), scale)


def step_along_null_space(
    values: Vector, size: Vector, null: Vector, random: np.random.Generator
) -> Vector:
    """Values a step away along some null direction."""
    relative = null / size
    relative = relative / np.linalg.norm(relative, axis=1, keepdims=True)
    relative = random.standard_normal(len(null)) @ relative
    step = random.choice([-1.0, 1.0]) * STEP * random.uniform(0.5, 1.5)
    relative *= step / max(float(np.max(np.abs(relative))), 1e-300)
    found: Vector = np.where(values != 0, values * np.exp(relative), relative * size)
    return found


def _places(
    objective: Objective, point: Point, free: Flags, count: int, threshold: float
) -> Iterator[NullSpaceSample]:
    """The estimate, and places along the null directions where they are as many."""
    unknowns = objective.unknowns
    null, _ = null_space(point.R, unknowns.slopes(point.q), free, count)
    yield NullSpaceSample(point.values, null)
    size = sizes(unknowns, point.values)
    random = np.random.default_rng(0)
    for _ in range(PLACES):
        values = step_along_null_space(point.values, size, null, random)
        other = objective.at(unknowns.clipped(unknowns.coordinates(values)))
        if not isinstance(other, Point):
            continue
        there, s = null_space(other.R, unknowns.slopes(other.q), free, count)
        if s[-count] <= 100 * threshold * s[0]:
            yield NullSpaceSample(other.values, there)


def _to_fix(point: Point, free: Flags, labels: Sequence[str], group: Group) -> tuple[str, ...]:
    """The members whose fixing leaves the rest best conditioned."""
    scaled, _ = scaled_columns(point.R)
    own = [labels.index(n) for n in group.names]
    others = [k for k in np.flatnonzero(free) if k not in own]
    best: tuple[float, tuple[int, ...]] = (-1.0, tuple(own[: group.free]))
    for count, chosen in enumerate(combinations(own, group.free)):
        if count == MOST_CHOICES:
            break
        kept = [k for k in own if k not in chosen]
        inner = _projected(scaled[:, kept], scaled[:, others])
        s = np.linalg.svd(inner, compute_uv=False)
        smallest = float(s[-1]) if len(s) else 1.0
        if smallest > 1.01 * best[0]:
            best = smallest, chosen
    return tuple(labels[k] for k in best[1])


def _projected(columns: Vector, others: Vector) -> Vector:
    """What of `columns` no combination of `others` explains."""
    if not others.size:
        return columns
    U, s, _ = np.linalg.svd(others, full_matrices=False)
    U = U[:, s > 1e-10 * s[0]]
    found: Vector = columns - U @ (U.T @ columns)
    return found


def _changes(group: Group, directions: Sequence[dict[str, float]]) -> list[str]:
    """Null directions of a group as relative changes."""
    return [
        ", ".join(f"{n} {100 * c:+.3g} %".replace("-", "−") for n, c in d.items())
        for d in ({n: c / 100 for n, c in d.items()} for d in directions)
        if set(d) <= set(group.names)
    ]


def in_words(
    group: Group, fix: Sequence[str], changes: Sequence[str], data: str = "these data"
) -> str:
    """One sentence: what is determined, and what to do about the rest."""
    names = listed([f"'{n}'" for n in group.names])
    if group.determined == 0:
        which = "it" if len(group.names) == 1 else "them"
        verb = "has" if len(group.names) == 1 else "have"
        return f"{names} {verb} no effect on the outputs of these cases; fix {which}"
    if group.complete:
        be = "is" if len(group.invariants) == 1 else "are"
        sentence = f"only {group.text} {be} determined by {data}, not {names} on their own"
        sentence += f" ({NUMERICAL})" if group.numerical else ""
    else:
        what = "combination" if group.determined == 1 else "combinations"
        sentence = f"{data} determine only {count(group.determined)} {what} of {names}"
        if group.invariants:
            sentence += f", among them {group.text}" + (
                f" ({NUMERICAL})" if group.numerical else ""
            )
        if changes:
            sentence += f" (unnoticed go together: {'; or '.join(changes)})"
    best = listed([f"'{n}'" for n in fix])
    return (
        f"{sentence}; fix {count(group.free)} of them, best {best}, or measure something that "
        "tells them apart"
    )


def count(number: int) -> str:
    """Small numbers as words."""
    return COUNTS[number] if number < len(COUNTS) else str(number)
