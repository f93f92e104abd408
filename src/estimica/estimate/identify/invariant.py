"""Invariant: a combination of unknowns that keeps its value, as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from itertools import product as all_tuples

import numpy as np

from estimica.base.arrays import Vector

DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: exponents that formulas of physics have (areas, inertias, volumes, ratios); more of them would
#: find a sum in anything
POWERS = (0, 1, 2, 3, -1, -2)
#: all exponents of so many unknowns are tried: 6⁵, 8000 of them; one more would be six times as
#: many
MOST_UNKNOWNS = 5
COARSEST = 1e-4  # error of the null directions above which anything could look like a sum
#: relative change of the ratio over the places that may be error: of one that is none, steps of 30
#: % between the places change it by a thousand times that
SAME = 1e-4
#: relative change over the places of an unknown whose exponent is believed: a hundredth of a step
#: to the next place, and ten times the coarsest error
LEAST_MOVED = 1e-3
#: at which the ratio must come out the same: two exponent vectors and k fit any two
FEWEST_PLACES = 4


@dataclass(frozen=True)
class Invariant:
    """A product of powers or a sum that the data do determine."""

    kind: str  # "product" or "sum"
    terms: tuple[tuple[str, float], ...]  # names with their exponents or factors
    numerical: bool = False  # holds near the estimate as far as numbers show; no symmetry is seen

    @property
    def text(self) -> str:
        """As it is written: `R·C`, `B/C`, `J_c + 0.01501·m`."""
        return product(self.terms) if self.kind == "product" else _sum(self.terms)


def product(terms: Sequence[tuple[str, float]]) -> str:
    """Powers multiplied and divided."""
    above = [_power(n, x) for n, x in terms if x > 0]
    below = [_power(n, -x) for n, x in terms if x < 0]
    if not above:
        return f"1/({'·'.join(below)})" if len(below) > 1 else f"1/{below[0]}"
    if not below:
        return "·".join(above)
    return f"{'·'.join(above)}/" + (f"({'·'.join(below)})" if len(below) > 1 else below[0])


def _power(name: str, exponent: float) -> str:
    name = _bracketed(name)
    if exponent == 1:
        return name
    if float(exponent).is_integer():
        return name + str(int(exponent)).translate(DIGITS)
    return f"{name}^{exponent:.4g}"


def _sum(terms: Sequence[tuple[str, float]]) -> str:
    text = ""
    for name, factor in terms:
        sign = "-" if factor < 0 else "+"
        size = abs(factor)
        term = _bracketed(name) if size == 1 else f"{size:.4g}·{_bracketed(name)}"
        text += (f" {sign} " if text else "−" if factor < 0 else "") + term
    return text.replace(" - ", " − ")


def _bracketed(name: str) -> str:
    return f"({name})" if " " in name else name


# --- Sums of two products, as J + m·r²: what one combination of several unknowns may look like.
#
# Let φ = A + k·B with products A and B of powers α and β. Its gradient by relative changes is
# A·α + k·B·β: at every place a combination of the two exponent vectors, with k·B/A as their
# ratio.


def two_terms(
    names: Sequence[str], places: Sequence[tuple[Vector, Vector]], tolerance: float
) -> list[Invariant]:
    """The one combination that (values, null directions) leave, where it is such a sum."""
    if len(names) > MOST_UNKNOWNS or len(places) < FEWEST_PLACES or tolerance > COARSEST:
        return []
    if any((values == 0).any() for values, _ in places):
        return []
    gradients = np.array([_orthogonal(null / values) for values, null in places])
    _, s, Vt = np.linalg.svd(gradients)
    if s[1] <= tolerance * s[0] or (len(s) > 2 and s[2] > tolerance * s[0]):
        return []
    logs = np.array([np.log(np.abs(values)) for values, _ in places])
    signs = np.array([np.sign(values) for values, _ in places])
    moved = np.ptp(logs, axis=0) > LEAST_MOVED
    for A, B in combinations(list(_exponents(Vt[:2], tolerance)), 2):
        if not moved[(A != 0) | (B != 0)].all():
            continue  # what stays where it is shows no exponent: any function would do
        k = _factor(A, B, gradients, logs, signs, tolerance)
        if k is not None:
            first = product(_named(names, A)), 1.0
            return [Invariant("sum", (first, (product(_named(names, B)), k)))]
    return []


def _orthogonal(rows: Vector) -> Vector:
    """The one direction orthogonal to all rows."""
    found: Vector = np.linalg.svd(rows)[2][-1]
    return found


def _exponents(plane: Vector, tolerance: float) -> Iterator[Vector]:
    """Small whole exponents in a plane, the simplest first."""
    for given in sorted(all_tuples(POWERS, repeat=plane.shape[1]), key=_length):
        e = np.array(given, float)
        off = float(np.linalg.norm(e - plane.T @ (plane @ e)))
        if e.any() and off < 10 * tolerance * np.linalg.norm(e):
            yield e


def _length(exponents: Sequence[int]) -> tuple[object, ...]:
    """Short products first, then those of the first names."""
    divided = sum(x < 0 for x in exponents)
    return sum(map(abs, exponents)), divided, [-x for x in exponents]


def _factor(
    A: Vector, B: Vector, gradients: Vector, logs: Vector, signs: Vector, tolerance: float
) -> float | None:
    """k, where it is the same at every place."""
    basis = np.stack([A, B], axis=1)
    if np.linalg.cond(basis) > 1e6:
        return None
    shares = np.linalg.lstsq(basis, gradients.T, rcond=None)[0]
    if np.min(np.abs(shares[0])) < 1e-9:
        return None
    sign = np.prod(np.where(A % 2, signs, 1.0), axis=1) * np.prod(
        np.where(B % 2, signs, 1.0), axis=1
    )
    k = shares[1] / shares[0] * np.exp(logs @ (A - B)) * sign
    middle = float(np.median(k))
    if not np.all(np.abs(k - middle) <= min(100 * tolerance, SAME) * abs(middle)):
        return None
    nearest = round(middle)
    return float(nearest) if nearest and abs(middle - nearest) < 1e-4 * abs(middle) else middle


def _named(names: Sequence[str], exponents: Vector) -> list[tuple[str, float]]:
    return [(n, float(x)) for n, x in zip(names, exponents, strict=True) if x]
