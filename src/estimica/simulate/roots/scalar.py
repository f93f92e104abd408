"""All roots of one equation in one unknown that a search outwards from a guess can see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.roots.newton import is_near_zero

#: xs -> true residuals and the sizes of their terms, -1 where something is not finite
Curve = Callable[[Vector], tuple[Vector, Vector]]
#: how far from the guess, in decades of the unknown's scale: from rounding errors of 1e5 Pa to GPa,
#: and as far again on both sides
_DECADES = (-20.0, 20.0)
_PER_DECADE = 4  # chosen: 320 points on both sides cost one call; roots closer than 1.8 apart hide
_BETWEEN = 65  # points between a min and a max: 2^6 intervals (chosen)
_LOOKED_AT = 8  # intervals looked into, the nearest first; each costs a scalar search
#: steps towards an edge of the domain, each half of what is left: 1e-300 is reached from 1
_HALVINGS = 1000


def decades() -> Vector:
    """How far from a guess to look, in units of the unknown's scale."""
    return np.logspace(*_DECADES, int((_DECADES[1] - _DECADES[0]) * _PER_DECADE) + 1)


@dataclass(frozen=True)
class Range:
    """Where to look for an unknown: from a guess, in units of its scale, between min and max.

    Where the model gives no start value and the equation has no value or no slope at the guess of
    zero, that guess says nothing: then positive roots come first, as most physical quantities are.
    """

    guess: float
    scale: float = 1.0
    low: float = -np.inf
    high: float = np.inf
    given: bool = True

    def grid(self) -> Vector:
        """Points in decades on both sides of guess, zero, min and max."""
        away = self.scale * decades()
        centres = {self.guess, 0.0, *(b for b in (self.low, self.high) if np.isfinite(b))}
        parts = [np.concatenate([c - away, [c], c + away]) for c in sorted(centres)]
        if np.isfinite(self.low) and np.isfinite(self.high):
            parts.append(np.linspace(self.low, self.high, _BETWEEN))
        return np.unique(np.concatenate(parts))


def scalar_roots(curve: Curve, where: Range) -> list[float]:
    """Roots, the nearest to a given guess first; of two equally near ones the larger."""
    x, value = _sampled(curve, where.grid())
    x, value = _with_edges(curve, x, value, where.guess)
    roots = {float(r) for r in x[value == 0.0]}
    for low, high in _nearest(_brackets(x, value) + _dips(curve, x, value, where.guess), where):
        root = _between(curve, low, high)
        if root is not None:
            roots.add(root)
    found = np.array(sorted(roots))
    if not found.size:
        return []
    E, size = curve(found)
    true = [float(r) for r, e, s in zip(found, E, size, strict=True) if is_near_zero(e, s)]
    blind = not where.given and not _regular(curve, where)
    return sorted(true, key=lambda r: (blind and r < 0, abs(r - where.guess), -r))


def _regular(curve: Curve, where: Range) -> bool:
    """Whether the equation is finite around the guess and changes about alike on both sides."""
    h = 1e-6 * where.scale
    before, here, after = _sampled(curve, where.guess + np.array([-h, 0.0, h]))[1]
    left, right = here - before, after - here
    return bool(left * right > 0 and 0.5 < left / right < 2.0)


def _sampled(curve: Curve, x: Vector) -> tuple[Vector, Vector]:
    """Points and values, NaN outside the domain."""
    E, size = curve(x)
    return x, np.where(np.isfinite(E) & (size >= 0), E, np.nan)


def _with_edges(curve: Curve, x: Vector, value: Vector, guess: float) -> tuple[Vector, Vector]:
    """More points towards the edges of the domain, where roots, logarithms and poles end it."""
    inside = np.isfinite(value)
    edges = np.flatnonzero(inside[:-1] != inside[1:])
    more = []
    for k in edges[np.argsort(np.abs(x[edges] - guess), kind="stable")][:_LOOKED_AT]:
        into, out = (x[k], x[k + 1]) if inside[k] else (x[k + 1], x[k])
        edge = _edge(curve, into, out)
        more.append(edge + (into - edge) * 0.5 ** np.arange(1.0, _HALVINGS))
    if not more:
        return x, value
    return _sampled(curve, np.unique(np.concatenate([x, *more])))


def _edge(curve: Curve, into: float, out: float) -> float:
    """The last point outside a domain, by bisection."""
    for _ in range(80):
        middle = 0.5 * (into + out)
        if middle in (into, out):
            break
        into, out = (into, middle) if np.isnan(_one(curve, middle)) else (middle, out)
    return out


def _one(curve: Curve, x: float) -> float:
    return float(_sampled(curve, np.array([x]))[1][0])


def _brackets(x: Vector, value: Vector) -> list[tuple[float, float]]:
    """Neighbours of different sign."""
    crossing = np.flatnonzero(np.sign(value[:-1]) * np.sign(value[1:]) < 0)
    return [(float(x[k]), float(x[k + 1])) for k in crossing]


def _dips(curve: Curve, x: Vector, value: Vector, guess: float) -> list[tuple[float, float]]:
    """Brackets on both sides of a dip that reaches through zero between the points."""
    inner = value[1:-1]
    with np.errstate(invalid="ignore"):
        same = (np.sign(value[:-2]) == np.sign(inner)) & (np.sign(inner) == np.sign(value[2:]))
        small = np.abs(inner)
        low = same & (small < np.abs(value[:-2])) & (small <= np.abs(value[2:]))
    places = 1 + np.flatnonzero(low)
    intervals: list[tuple[float, float]] = []
    for k in places[np.argsort(np.abs(x[places] - guess), kind="stable")][:_LOOKED_AT]:
        side = float(np.sign(value[k]))

        def height(t: float, side: float = side) -> float:
            y = side * _one(curve, t)
            return y if np.isfinite(y) else np.inf

        from scipy.optimize import minimize_scalar  # slow to import, and few models need it

        bottom = minimize_scalar(height, bounds=(x[k - 1], x[k + 1]), method="bounded")
        if bottom.fun < 0:
            intervals += [(float(x[k - 1]), float(bottom.x)), (float(bottom.x), float(x[k + 1]))]
    return intervals


def _nearest(brackets: list[tuple[float, float]], where: Range) -> list[tuple[float, float]]:
    def away(bracket: tuple[float, float]) -> float:
        low, high = bracket
        return max(low - where.guess, where.guess - high, 0.0)

    within = [b for b in brackets if b[0] <= where.high and b[1] >= where.low]
    return sorted(within, key=away)[:_LOOKED_AT] + sorted(brackets, key=away)[:_LOOKED_AT]


def _between(curve: Curve, low: float, high: float) -> float | None:
    """The root between two points of different sign, to the last digits."""
    from scipy.optimize import brentq  # slow to import, and few models need it

    def value(x: float) -> float:
        y = _one(curve, x)
        if np.isnan(y):
            raise FloatingPointError
        return y

    try:  # xtol: a root may be as small as it likes; rtol: the least that brentq allows
        return float(brentq(value, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))
    except (FloatingPointError, RuntimeError, ValueError):
        return None
