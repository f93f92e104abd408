"""Block: one output of one case, its samples and how they are weighed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.study.case import Sigma
from estimica.study.estimation import LIKELIHOODS
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput

if TYPE_CHECKING:
    from estimica.estimate.criteria.prefilter import ErrorFilter


@dataclass(frozen=True, eq=False)
class Block:
    """One output of one case: its samples and how they are weighed."""

    case: str
    measured: MeasuredOutput
    weight: float
    sigma: float | Sigma | SigmaFormula | None
    filter: ErrorFilter | None = None

    @property
    def name(self) -> str:
        """The output."""
        return self.measured.name

    @property
    def level(self) -> str:
        """What outputs with one noise level have in common: the name that they share, or their own.

        A shared name is set apart from those of outputs.
        """
        shared = self.sigma.shared if isinstance(self.sigma, Sigma) else None
        return self.name if shared is None else f"shared {shared}"

    @property
    def scaling(self) -> float | Vector:
        """What residuals are multiplied by: the weight, over the relative σ of each sample."""
        relative = self.measured.relative
        return self.weight if relative is None else self.weight / relative

    @property
    def mean_relative(self) -> float:
        """The mean square of the relative σ."""
        relative = self.measured.relative
        return 1.0 if relative is None else float(np.mean(relative**2))

    def own_sigmas(self, level: Vector | None) -> Vector | None:
        """σ of what is compared, where samples have their own; `level` is what a formula gives."""
        if level is not None:
            return level / self.weight
        own = self.measured.relative is not None or self.measured.is_modelled
        if not own or not isinstance(self.sigma, float):
            return None
        relative = 1.0 if self.measured.relative is None else self.measured.relative
        # the weight of `oe` holds 1/σ, that of `ml` is beside it
        return np.full(len(self.measured.value), self.sigma) * relative

    @property
    def log_relative(self) -> float:
        """2 Σ log of the relative σ: what the likelihood has of them."""
        relative = self.measured.relative
        return 0.0 if relative is None else 2 * float(np.log(relative).sum())

    @property
    def count(self) -> float:
        """Samples that count; of filtered ones the share of white noise that passes."""
        return len(self.measured.value) if self.filter is None else self.filter.count

    @property
    def independent(self) -> float:
        """Independent samples that tell as much of the noise level; censored ones hardly do."""
        if self.filter is not None:
            return self.filter.independent
        return len(self.measured.value) - int(self.measured.censored.sum())

    def filtered(self, errors: Vector) -> Vector:
        """Errors (N,) or the columns of (N, m) behind the prefilter, if there is one."""
        return errors if self.filter is None else self.filter.filtered(errors)

    def returned(self, rows: Vector) -> Vector:
        """The transpose of `filtered`."""
        return rows if self.filter is None else self.filter.returned(rows)


Outputs = Sequence[tuple[str, Sequence[MeasuredOutput]]]  # of cases, by name


def blocks_of(records: Outputs, criterion: str, calibrating: Outputs | None = None) -> list[Block]:
    """The outputs of all cases with their weights.

    A weight that is not given is 1/σ where σ is known, and else 1/RMS of the measured signal over
    all cases, so that signals of different size count alike; `ml` weighs by itself. The outputs of
    a validating case count as those of the `calibrating` ones do: a scale of theirs means the same.
    """
    pooled = _sizes(records) | _sizes(calibrating or ())
    blocks = []
    for case, outputs in records:
        for m in outputs:
            weight = 1.0 if m.weight is None else m.weight
            if criterion not in LIKELIHOODS:
                if isinstance(m.sigma, float):
                    weight /= m.sigma
                elif m.weight is None:
                    weight /= pooled[m.name]
            blocks.append(Block(case, m, weight, m.sigma, _filter(case, m)))
    return blocks


def _sizes(records: Outputs) -> dict[str, float]:
    """RMS of every measured signal, over all cases."""
    sizes: dict[str, float] = {}
    for name in {m.name for _, outputs in records for m in outputs}:
        own = [m for _, outputs in records for m in outputs if m.name == name]
        n = sum(len(m.value) for m in own)
        sizes[name] = float(np.sqrt(sum(len(m.value) * m.rms**2 for m in own) / max(n, 1)))
    return sizes


def _filter(case: str, m: MeasuredOutput) -> ErrorFilter | None:
    if m.prefilter is None:
        return None
    from estimica.estimate.criteria.prefilter import error_filter

    return error_filter(m.prefilter, m.time, f"case '{case}': output '{m.name}'")
