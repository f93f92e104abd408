"""InformationMeasures: how much an experiment would tell about the tuners.

M. Knudsen, Experimental modelling of dynamic systems, chapter 6: with ψ the derivatives of each
output by relative changes of the tuners, divided by the output's root mean square, and
H = (1/NM) Σ ψψᵀ over N samples of M outputs (eq. 6.14 and 6.31), S_min, S_i,min, R and R_i say how
well the tuners can be told from the output. With a known noise σ the information is
Σ ψψᵀ/σ², and its inverse the covariance that a fit would have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.design.problem import DesignProblem, PredictedOutput
from estimica.infer.sensitivity.result import Measures, of_factor


@dataclass(frozen=True, eq=False)
class InformationMeasures:
    """The measures of the tuners that count, weighted, others being unknown too.

    `stderr` is the standard error to be expected of each, in its unit and without weights; it is
    None where the noise is not known. `information` are the measures of Σ ψψᵀ/σ².
    """

    measures: Measures
    information: Measures | None
    stderr: Vector | None
    relative: Vector | None  # the same, as a share of the value

    @property
    def A(self) -> float:
        """tr H⁻¹: the sum of the relative variances at unit noise."""
        return mean_variance(self.measures)

    @property
    def known(self) -> Measures:
        """Of the information where the noise is known, else of H: what D, A and E are of."""
        return self.information or self.measures

    def score(self, criterion: str) -> float:
        """What the criterion says; the least is the best.

        R and S_min are of H. D (−log det), A (log tr of the inverse) and E (−log of the least
        eigenvalue) are of the information where the noise is known, and of H where it is not.
        """
        m = self.measures
        if criterion == "R":
            return m.R
        if criterion == "S_min":
            return -m.S_min
        known = self.known
        if known.rank < len(known.names):
            return math.inf
        if criterion == "D":
            return -float(np.linalg.slogdet(known.hessian)[1])
        if criterion == "A":
            return math.log(mean_variance(known))
        return -2 * math.log(known.S_min)

    def value(self, criterion: str) -> float:
        """The criterion as it is told: R, S_min, det, tr of the inverse, least eigenvalue."""
        known = self.known
        if criterion in ("R", "S_min"):
            return float(getattr(self.measures, criterion))
        if criterion == "D":
            return known.D
        return mean_variance(known) if criterion == "A" else known.S_min**2


def mean_variance(measures: Measures) -> float:
    """tr H⁻¹ = Σ 1/S_i,min²."""
    if measures.rank < len(measures.names):
        return math.inf
    return float(np.sum(1 / measures.S_i_min**2))


def information_measures(
    bench: DesignProblem, answer: PredictedOutput
) -> InformationMeasures | str:
    """The measures of what would be measured, or why there are none."""
    factors = information_factors(bench, answer)
    return factors if isinstance(factors, str) else measures_from_factors(bench, *factors)


def information_factors(
    bench: DesignProblem, answer: PredictedOutput
) -> tuple[Vector, Vector | None] | str:
    """Factors of H and, where the noise is known, of the information; small whatever N is."""
    if answer.error:
        return answer.error
    if not (np.isfinite(answer.Y).all() and np.isfinite(answer.YS).all()):
        return "an output or a derivative is not finite"
    rms = np.sqrt(np.mean(answer.Y**2, axis=0))
    rows = answer.YS * bench.sizes
    normed = _triangle(rows / np.where(rms > 0, rms, 1.0)[:, None]) / math.sqrt(answer.Y.size)
    noisy = None if bench.sigma is None else _triangle(rows / bench.sigma[:, None])
    return normed, noisy


def measures_from_factors(
    bench: DesignProblem, normed: Vector, noisy: Vector | None
) -> InformationMeasures:
    """The same from the factors of H = AᵀA and of the information, a column an unknown."""
    threshold = 10 * bench.precision
    measures = of_factor(_counted(bench, normed), bench.names, threshold)
    if noisy is None:
        return InformationMeasures(measures, None, None, None)
    plain = _reduced(bench, noisy)
    alone = of_factor(plain, bench.names, threshold)
    with np.errstate(divide="ignore"):
        relative = 1 / alone.S_i_min
    sizes = np.abs(bench.sizes[list(bench.counted)])
    information = of_factor(plain * bench.weights, bench.names, threshold)
    return InformationMeasures(measures, information, relative * sizes, relative)


def _triangle(rows: Vector) -> Vector:
    return np.asarray(np.linalg.qr(rows.reshape(-1, rows.shape[-1]), mode="r"), np.float64)


def _counted(bench: DesignProblem, A: Vector) -> Vector:
    return _reduced(bench, A) * bench.weights


def _reduced(bench: DesignProblem, A: Vector) -> Vector:
    """The factor of the Schur complement of the tuners that count: the others adapt."""
    counted = list(bench.counted)
    others = [k for k in range(A.shape[1]) if k not in counted]
    if not others:
        return A
    full = np.asarray(np.linalg.qr(A[:, [*others, *counted]], mode="r"), np.float64)
    return full[len(others) :, len(others) :]
