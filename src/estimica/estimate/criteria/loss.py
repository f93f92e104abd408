"""Loss: how much a weighted residual counts: its square, a robust function, the user's own.

Each is a function φ(r) of one residual, with its slope φ' and a positive curvature h that stands
for φ'' in Gauss-Newton steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from estimica.base.arrays import Vector

Kind = Literal["huber", "soft-l1", "cauchy"]
#: least share of φ'/r in the curvature, so that outliers do not vanish from a step: φ'' of an
#: outlier is zero or negative, φ'/r is the weight of reweighted least squares, which converges
#: surely but slowly. Chosen: a tenth of it leaves steps nearly those of Newton where most samples
#: are no outliers
FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class Scored:
    """Σφ, and for each residual φ' and the curvature h > 0."""

    cost: float
    slope: Vector
    curvature: Vector


class Loss(ABC):
    """φ(r), elementwise."""

    @abstractmethod
    def score(self, residual: Vector) -> Scored:
        """Cost, slopes and curvatures at weighted residuals."""


@dataclass(frozen=True)
class Robust(Loss):
    """Losses that grow slower than the square beyond `scale`: φ = s²·ρ((r/s)²).

    Huber: ρ(z) = z up to 1, then 2√z − 1. Soft-l1: 2(√(1+z) − 1). Cauchy: log(1+z).
    """

    kind: Kind
    scale: float

    def score(self, residual: Vector) -> Scored:
        """Cost, slopes and curvatures at weighted residuals."""
        z = (residual / self.scale) ** 2
        if self.kind == "huber":
            far = z > 1
            root = np.sqrt(np.where(far, z, 1.0))
            rho, first = np.where(far, 2 * root - 1, z), 1 / root
            second = np.where(far, -0.5 / root**3, 0.0)
        elif self.kind == "soft-l1":
            root = np.sqrt(1 + z)
            rho, first, second = 2 * (root - 1), 1 / root, -0.5 / root**3
        else:
            rho, first, second = np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2
        # φ' = 2rρ', φ'' = 2ρ' + 4zρ''
        curvature = np.maximum(2 * first + 4 * z * second, FLOOR * 2 * first)
        return Scored(self.scale**2 * float(rho.sum()), 2 * residual * first, curvature)


#: where each loss bends by default, in standard deviations. With Gaussian noise the estimates have
#: then so much of the efficiency of least squares, E[ψ']²/E[ψ²]: huber 95.0 % and cauchy 95.0 %,
#: the usual choices (Holland and Welsch 1977), soft-l1 92.7 % (1.3 would have 95 %)
BENDS: dict[Kind, float] = {"huber": 1.345, "soft-l1": 1.0, "cauchy": 2.385}


def spread(residual: Vector) -> float:
    """A standard deviation that outliers do not move: 1.4826 · median |r|.

    1.4826 is 1/Φ⁻¹(¾): for Gaussian noise the median of |r| is 0.6745 σ.
    """
    found = 1.4826 * float(np.median(np.abs(residual)))
    return found or float(np.sqrt(np.mean(residual**2))) or 1.0
