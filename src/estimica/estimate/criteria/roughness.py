"""Roughness: whether the derivatives of a criterion's terms tell of their finite changes.

It is asked at lengths that matter: about as far as residuals scatter. There a criterion may be
smooth, have kinks (its slope jumps: |r|) or steps (it jumps itself: the number of samples beyond
a limit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.loss import spread

#: (φ, φ', φ'') of every sample with its residual moved by so much
Moved = Callable[[float], tuple[Vector, Vector, Vector]]
#: width of the triangular kernel for the density of Gaussian residuals, over σ N^(−1/5): what has
#: the least mean square error (Silverman 1986, eq. 3.28, with the canonical width of the kernel)
KERNEL = 2.58
PLACES = 32  # at which slopes are looked at within the kernel; jumps in 1/32 of it are overlooked
#: share of the finite changes that the slopes do not explain: those are steps. What is smooth has
#: next to none, what steps nearly all of it: any value between would do, this one is far from both
STEPPED = 0.2
#: share of the curvature over the kernel that lies in no point of it: those are kinks; likewise
KINKED = 0.2
#: share of negative curvature, over positive, from which there is no quadratic to see. Chosen: up
#: to there the error of a single unknown is at most 1/√0.9, 5 %, larger than without the negative
#: part
HOLLOW = 0.1


class Shape(StrEnum):
    """How a criterion looks to a search."""

    SMOOTH = "smooth"
    KINKED = "kinked"
    STEPPED = "stepped"


@dataclass(frozen=True)
class Rough:
    """Why the derivatives by some unknowns do not tell of finite changes, and by which."""

    reason: str
    unknowns: tuple[int, ...]


#: derivatives tell of everything
SMOOTH = Rough("", ())


@dataclass(frozen=True, eq=False)
class Around:
    """The terms of one block around its residuals."""

    moved: Moved
    width: float

    def unexplained(self, places: int) -> float:
        """Share of the changes φ(r ± h) − φ(r) that the slopes between do not add up to."""
        sides = []
        with np.errstate(over="ignore", invalid="ignore"):  # infinite terms are told by the cost
            for h in (self.width, -self.width):
                between = h * (np.arange(places) + 0.5) / places
                slopes = np.mean([self.moved(float(s))[1] for s in between], axis=0)
                sides.append((self.moved(h)[0] - self.moved(0.0)[0], h * slopes))
        change, explained = (np.concatenate(part) for part in zip(*sides, strict=True))
        size = max(float(np.abs(change).sum()), float(np.abs(explained).sum()))
        return float(np.abs(change - explained).sum()) / size if size > 0 else 0.0

    @property
    def inner(self) -> Vector:
        """The mean of φ'' over the kernel, point by point: a kink lies in none of them."""
        places = (2 * np.arange(2 * PLACES) + 1) / (2 * PLACES) - 1
        weights = 1 - np.abs(places)
        found = [self.moved(float(self.width * s))[2] for s in places]
        return np.asarray(np.average(found, axis=0, weights=weights))

    @property
    def curvature(self) -> Vector:
        """(φ(r + h) − 2φ(r) + φ(r − h))/h²: φ'' over a triangular kernel; of |r| twice its density.

        Its sum is what the expected cost has for a second derivative, kinks included.
        """
        low, here, high = (self.moved(s)[0] for s in (-self.width, 0.0, self.width))
        return np.asarray((high - 2 * here + low) / self.width**2)


def kernel_width(residual: Vector) -> float:
    """How wide residuals are looked at."""
    return float(KERNEL * spread(residual) * max(len(residual), 1) ** -0.2)


def shape_of(moved: Moved, residual: Vector) -> Shape:
    """The shape of a criterion's terms at the residuals of a block.

    What is flat at every residual counts as stepped: no slope leads anywhere.
    """
    if not len(residual):
        return Shape.SMOOTH
    _, first, second = moved(0.0)
    if not first.any() and not second.any():
        return Shape.STEPPED
    around = Around(moved, kernel_width(residual))
    missing = around.unexplained(PLACES)
    # what is only steep is explained the better the closer one looks
    if missing > STEPPED and around.unexplained(4 * PLACES) > 0.5 * missing:
        return Shape.STEPPED
    whole, inner = float(around.curvature.sum()), float(around.inner.sum())
    is_kinked = abs(whole - inner) > KINKED * max(abs(whole), abs(inner))
    return Shape.KINKED if is_kinked else Shape.SMOOTH


def is_hollow(curvature: Vector) -> bool:
    """Whether so much of the curvature is negative that the cost has no quadratic to judge by."""
    down = -float(curvature[curvature < 0].sum())
    return down > HOLLOW * float(curvature[curvature > 0].sum())
