"""Invariants: what stays the same along the directions that the data do not see, in words.

Unknowns move together along null directions. Where a product of powers keeps its value, it is
orthogonal to them in relative changes; where a sum does, in the changes themselves. Both must hold
at several points of the way, so a product is not taken for a sum that happens to touch it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.text import listed
from estimica.estimate.identify.invariant import Invariant, two_terms

#: of a recognised exponent, and of its denominator: beyond sixth powers and roots there are no laws
LARGEST_POWER = 6
#: how near a fraction an exponent must be at most; never nearer than its error. Fractions up to
#: sixths are 1/30 apart: by chance a number is that close to one of them in 5 cases of 100
CLOSE = 2e-3
FEWEST_PLACES = 3  # that tell a product from a sum, and both from what merely touches them
#: relative change from the estimate to a place that tells: product and sum then part by its square,
#: 1e-4, which is above the error of directions that are worth words
MOVED = 0.01
#: of pivot choices that are tried for the shortest words: all of them for up to ten unknowns with
#: four combinations (210 choices)
MOST_BASES = 400
#: share of an unknown in a null direction from which on it counts as part of it
SHARE = 1e-3


@dataclass(frozen=True)
class Group:
    """Unknowns that move together along `free` null directions without changing any output."""

    names: tuple[str, ...]
    free: int
    invariants: tuple[Invariant, ...]

    @property
    def determined(self) -> int:
        """How many combinations of them the data do determine."""
        return len(self.names) - self.free

    @property
    def complete(self) -> bool:
        """Whether every determined combination was put into words."""
        return len(self.invariants) == self.determined

    @property
    def numerical(self) -> bool:
        """Whether some of what is said holds near the estimate only, as far as numbers show."""
        return any(i.numerical for i in self.invariants)

    @property
    def text(self) -> str:
        """The determined combinations in words; empty where there are none to tell."""
        return listed([i.text for i in self.invariants])


@dataclass(frozen=True, eq=False)
class NullSpaceSample:
    """Values of the unknowns, and a basis of the null directions there (rows, in their units)."""

    values: Vector
    null: Vector


def groups(
    names: Sequence[str],
    places: Sequence[NullSpaceSample],
    tolerance: float,
    share: float = SHARE,
    starts: Sequence[bool] = (),
) -> tuple[Group, ...]:
    """Unknowns that move together, each group with what of it stays the same.

    The first place is the estimate; `tolerance` is the error of the null directions. What of the
    unknowns are `starts` is kept out of the words where others do.
    """
    first = places[0]
    if not len(first.null):
        return ()
    size = _size(first.values)
    basis = _reduced(first.null / size, max(tolerance, 1e-6))
    together = []
    for rows, columns in _components(np.abs(basis) > share):
        own = [
            NullSpaceSample(p.values[columns], _within(p.null / size, columns) * size[columns])
            for p in places
            if len(p.null) == len(first.null)
        ]
        avoided = np.array([bool(starts) and starts[k] for k in columns], bool)
        together.append(_group([names[k] for k in columns], own, len(rows), tolerance, avoided))
    return tuple(together)


def _group(
    names: list[str], places: list[NullSpaceSample], free: int, tolerance: float, avoided: Flags
) -> Group:
    wanted = len(names) - free
    known: list[Invariant] = []
    gradients = np.zeros((0, len(names)))
    first = places[0]
    size = _size(first.values)
    few = _telling(places) < FEWEST_PLACES
    for kind in ("product", "sum"):
        if kind == "product" and any((p.values == 0).any() for p in places):
            continue
        moved = np.vstack([p.null / (p.values if kind == "product" else size) for p in places])
        rows = _complement(moved, tolerance)
        written = _Writer(kind, size, moved, tolerance, avoided)
        for terms in written.shortest(rows):
            gradient = terms / first.values if kind == "product" else terms
            grown = np.vstack([gradients, gradient * size])
            if len(known) < wanted and _rank(grown) > len(gradients):
                gradients = grown
                known.append(_named(kind, names, terms, few))
    if wanted == 1 and not known:
        known += two_terms(names, [(p.values, p.null) for p in places], tolerance)
    # what keeps its value on its own took part in the direction by its error only
    alone = {i.terms[0][0] for i in known if len(i.terms) == 1 and i.terms[0][0] in names}
    together = tuple(i for i in known if i.terms[0][0] not in alone or len(i.terms) > 1)
    return Group(tuple(n for n in names if n not in alone), free, together)


def _telling(places: Sequence[NullSpaceSample]) -> int:
    """How many places there are, the estimate included, that do not lie beside it."""
    first = places[0].values
    size = _size(first)
    return 1 + sum(bool((np.abs(p.values - first) > MOVED * size).any()) for p in places[1:])


# --- linear algebra ------------------------------------------------------------------------------


def _size(values: Vector) -> Vector:
    return np.where(values != 0, np.abs(values), 1.0)


def _within(null: Vector, columns: Sequence[int]) -> Vector:
    """An orthonormal basis of what null directions do to some of the unknowns."""
    part = null[:, columns]
    _, s, Vt = np.linalg.svd(part, full_matrices=False)
    found: Vector = Vt[s > SHARE * max(float(s[0]), 1e-300)]
    return found


def _complement(rows: Vector, tolerance: float) -> Vector:
    """A basis of all vectors orthogonal to `rows`."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    _, s, Vt = np.linalg.svd(rows / np.where(lengths > 0, lengths, 1.0))
    rank = int((s > tolerance * s[0]).sum())
    found: Vector = Vt[rank:]
    return found


def _rank(rows: Vector) -> int:
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(scaled, tol=1e-6))


def _reduced(rows: Vector, tolerance: float) -> Vector:
    """The reduced row echelon form with the largest pivots: a basis with many zeros."""
    A = rows.copy()
    n, m = A.shape
    for k in range(n):
        at, column = divmod(int(np.argmax(np.abs(A[k:]))), m)
        A[[k, k + at]] = A[[k + at, k]]
        A[k] /= A[k, column]
        others = np.arange(n) != k
        A[others] -= np.outer(A[others, column], A[k])
        A[others, column] = 0.0
    A[np.abs(A) < tolerance] = 0.0
    return A


def _components(joined: Flags) -> list[tuple[list[int], list[int]]]:
    """(rows, columns) of the blocks of a matrix that have nothing in common."""
    open_rows = set(range(len(joined)))
    blocks = []
    while open_rows:
        rows = {min(open_rows)}
        columns: set[int] = set()
        while True:
            columns = {int(k) for r in rows for k in np.flatnonzero(joined[r])}
            grown = {r for r in open_rows if joined[r, sorted(columns)].any()}
            if grown == rows:
                break
            rows = grown
        open_rows -= rows
        blocks.append((sorted(rows), sorted(columns)))
    return sorted(blocks, key=lambda g: g[1])


# --- words ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Writer:
    """Finds the words for what null directions leave as it is."""

    kind: str
    size: Vector
    moved: Vector  # null directions of all places, as relative changes or in units of the size
    tolerance: float
    avoided: Flags  # unknowns that had better not occur

    def shortest(self, rows: Vector) -> list[Vector]:
        """The basis of the space of `rows` that takes the fewest words."""
        m, n = rows.shape
        if not m:
            return []
        best: tuple[tuple[float, ...], list[Vector]] | None = None
        for count, pivots in enumerate(combinations(range(n), m)):
            if count == MOST_BASES:
                break
            square = rows[:, pivots]
            if np.linalg.cond(square) > 1e8:
                continue
            basis = np.linalg.solve(square, rows)
            written = [self._written(r) for r in basis]
            avoided = float(sum(bool(r[self.avoided].any()) for r in written))
            score = (avoided, *_length(written, self.kind))
            if best is None or score < best[0]:
                best = score, written
        return best[1] if best else []

    def _written(self, row: Vector) -> Vector:
        if self.kind == "sum":
            return _factors(row, self.size)
        found = _rational(row, max(CLOSE, 3 * self.tolerance))
        return found if self._keeps(found) else np.where(np.abs(row) < CLOSE, 0.0, row)

    def _keeps(self, terms: Vector) -> bool:
        """Whether these exponents leave the product as it is at every place, within the error."""
        lengths = np.linalg.norm(self.moved, axis=1) * np.linalg.norm(terms)
        off = np.abs(self.moved @ terms)
        return bool((off <= 3 * self.tolerance * np.where(lengths > 0, lengths, 1.0)).all())


def _length(rows: Sequence[Vector], kind: str) -> tuple[float, ...]:
    """How long the words are: odd exponents or factors, then all that is multiplied or divided."""
    table = np.array(rows)
    terms = float(np.count_nonzero(table))
    odd = float(sum(not float(x).is_integer() for r in rows for x in r))
    if kind == "sum":
        return odd, terms
    divided = float((table < 0).sum())
    return odd, float(np.abs(table).sum()) + 0.3 * divided, terms


def _rational(row: Vector, close: float) -> Vector:
    """Exponents as whole numbers, the first one positive; as they are where they are none."""
    row = np.where(np.abs(row) < close, 0.0, row)
    # fractions up to a denominator d are 1/(d(d − 1)) apart: nearly any number is close to one of
    # many, so the error limits how many there may be
    most = max(d for d in range(1, LARGEST_POWER + 1) if d < 2 or 4 * close * d * (d - 1) < 1)
    near = [Fraction(float(x)).limit_denominator(most) for x in row]
    far = [abs(float(f) - x) >= close for f, x in zip(near, row, strict=True)]
    if any(far) or not 0 < max(abs(f) for f in near) <= LARGEST_POWER:
        return row
    common = math.lcm(*(f.denominator for f in near))
    numbers = [int(f * common) for f in near]
    divisor = math.gcd(*numbers)
    found: Vector = np.array([x // divisor for x in numbers], float)
    return found if found[np.flatnonzero(found)[0]] > 0 else -found


def _factors(row: Vector, size: Vector) -> Vector:
    """Factors of a sum in the unknowns' own units, the first one 1."""
    row = np.where(np.abs(row) < CLOSE * np.max(np.abs(row)), 0.0, row) / size
    found = row / row[np.flatnonzero(row)[0]]
    nearest = np.round(found)
    written: Vector = np.where((abs(found - nearest) < 1e-6) & (nearest != 0), nearest, found)
    return written


def _named(kind: str, names: Sequence[str], terms: Vector, few: bool) -> Invariant:
    pairs = [(n, float(x)) for n, x in zip(names, terms, strict=True) if x]
    # the factor of a sum may be any number that the model holds; an odd exponent is not a symmetry
    odd = kind == "product" and any(not x.is_integer() for _, x in pairs)
    return Invariant(kind, tuple(pairs), few or odd)
