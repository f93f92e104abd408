"""Measures of a Hessian and of a fit: how strongly outputs answer to relative changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.result import DONE, Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.estimate.identify.accuracy import SHARE

#: relative eigenvalue of a Hessian that counts. Chosen: 1e-6 as a sensitivity, its root; below it,
#: errors of a simulation decide
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Measures:
    """What follows from the relative normed Hessian H = (1/N) Σ ψψᵀ, ψ = θ ∂y/∂θ / y_RMS."""

    names: tuple[str, ...]
    hessian: Vector
    S: Vector  # sensitivity of each unknown alone: √H_ii
    S_i_min: Vector  # its smallest, the others adapting: 1/√(H⁻¹)_ii
    S_min: float  # in any direction: √λ_min
    S_max: float
    rank: int

    @property
    def R(self) -> float:
        """S_max / S_min: how elongated the ellipsoid is; the closer to 1 the better."""
        return self.S_max / self.S_min if self.S_min > 0 else math.inf

    @property
    def R_i(self) -> Vector:
        """S_i / S_i,min: far above 1 where an unknown is correlated with others."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Vector = np.where(self.S > 0, self.S / self.S_i_min, np.inf)
        return found

    @property
    def D(self) -> float:
        """det H: the larger, the smaller the ellipsoid."""
        return 0.0 if self.rank < len(self.names) else float(np.linalg.det(self.hessian))

    def ellipse(
        self,
        first: str,
        second: str,
        *,
        others: Literal["held", "adapted"] = "held",
        points: int = 181,
    ) -> Vector:
        """Points (θ_r1, θ_r2) whose normed output error is 1, around the estimate (1, 1).

        The distance from the centre is the reciprocal sensitivity in that direction. The other
        unknowns keep their values, or are adapted to make the error smallest. The points are even
        in the ellipse's own coordinates, so that its ends are round; NaN where it has none.
        """
        chosen = [self._index(first), self._index(second)]
        if others == "adapted":
            H = np.linalg.inv(np.linalg.pinv(self.hessian)[np.ix_(chosen, chosen)])
        else:
            H = self.hessian[np.ix_(chosen, chosen)]
        size, along = np.linalg.eigh(H)
        angle = np.linspace(0, 2 * np.pi, points)
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        with np.errstate(divide="ignore"):
            reach = np.where(size > SMALLEST * size.max(), 1 / np.sqrt(size.clip(0)), np.nan)
        found: Vector = 1 + (directions * reach) @ along.T
        return found

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise FitError("F070", f"there is no unknown '{name}'{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "S_min": self.S_min,
            "S_max": self.S_max,
            "R": self.R,
            "D": self.D,
            "unknowns": {
                n: {"S_i": s, "S_i_min": m, "R_i": r}
                for n, s, m, r in zip(
                    self.names,
                    map(float, self.S),
                    map(float, self.S_i_min),
                    map(float, self.R_i),
                    strict=True,
                )
            },
            "hessian": self.hessian.tolist(),
        }


def of_hessian(hessian: Sequence[Sequence[float]] | Vector, names: Sequence[str] = ()) -> Measures:
    """The measures of a given relative normed Hessian."""
    H = np.asarray(hessian, np.float64)
    values, vectors = np.linalg.eigh(H)
    named = tuple(names) or tuple(f"x{k + 1}" for k in range(len(H)))
    root = np.sqrt(values.clip(0))[:, None] * vectors.T
    return of_factor(root, named, math.sqrt(SMALLEST))


def of_factor(A: Vector, names: Sequence[str], threshold: float) -> Measures:
    """The measures of H = AᵀA; singular values below `threshold` of scaled A count as zero."""
    A = np.vstack([A, np.zeros((max(A.shape[1] - len(A), 0), A.shape[1]))])
    S = np.linalg.norm(A, axis=0)
    scale = np.where(S > 0, S, 1.0)
    _, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    large = s > threshold * max(float(s[0]), 1e-300) if len(s) else np.zeros(0, bool)
    lost = (np.abs(Vt[~large]) > SHARE).any(axis=0)
    inverse = np.sum((Vt[large] / s[large, None]) ** 2, axis=0)
    smallest = np.where(lost, 0.0, S / np.sqrt(np.where(inverse > 0, inverse, 1.0)))
    own = np.linalg.svd(A, compute_uv=False)
    rank = int(large.sum())
    return Measures(
        names=tuple(names),
        hessian=A.T @ A,
        S=S,
        S_i_min=smallest,
        S_min=float(own[-1]) if rank == len(names) and rank else 0.0,
        S_max=float(own[0]) if len(own) else 0.0,
        rank=rank,
    )


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityMeasures(Result):
    """The measures of a fit, and how accurate they make its unknowns; fractions, not percent."""

    presenter = "estimica.infer.sensitivity.present"
    main_kind = "ellipses"

    study: str  # what the study is called
    measures: Measures  # the measures themselves
    values: Vector  # of the unknowns
    units: tuple[str, ...]  # of the unknowns
    n_samples: int  # samples that count
    errn: Mapping[str, float]  # |residual| / |measured| of each output
    error: float  # of all outputs together: the normed RMS output error
    noise: float | None  # of it the noise, known from a record without input
    undermodelling: float | None  # and what is left: √(error² − noise²)
    by_noise: Vector  # relative standard deviations, each output with its own noise

    @property
    def spread(self) -> Vector:
        """σ_r: relative standard deviation by noise; all error is taken as noise unless known.

        Every output has its own noise, and counts as it did in the fit.
        """
        return np.where(self.measures.S_i_min > 0, self.by_noise, np.inf)

    @property
    def equivalent_error(self) -> Vector:
        """Δ_eq: relative error that would show as much as the model's own deficiency."""
        return self._over(self.error if self.undermodelling is None else self.undermodelling)

    @property
    def uncertainty(self) -> Vector:
        """σ_r + Δ_eq; not a number where noise and undermodelling were not told apart."""
        if self.noise is None:
            return np.full(len(self.values), np.nan)
        found: Vector = self.spread + self.equivalent_error
        return found

    def _over(self, level: float) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Vector = np.where(
                self.measures.S_i_min > 0, level / self.measures.S_i_min, np.inf
            )
        return found

    @property
    def outcome(self) -> Outcome:
        """How it ended: there are measures, whatever they say."""
        return DONE

    def plot(self, kind: str = "ellipses", *names: str) -> Any:
        """A Plotly figure of the sensitivity ellipses of all pairs."""
        return super().plot(kind, *names)
