"""Local sensitivity: how each criterion changes with each parameter at one point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.score import FailedDesign
from estimica.optimise.design import Design


@dataclass(frozen=True, eq=False)
class LocalSensitivity:
    """Values and derivatives of the criteria at one point of the parameters.

    Both are NaN where a criterion was not reached there.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    point: Vector
    values: Vector  # (K,)
    derivatives: Vector  # (K, n)
    differenced: tuple[str, ...] = ()  # criteria whose derivatives are not exact

    @property
    def relative(self) -> Vector:
        """Per cent of the criterion for one per cent of the parameter; NaN where it is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.derivatives * self.point / self.values[:, None]
        return np.where(np.isfinite(found), found, np.nan)


def local_sensitivity(design: Design, point: Vector) -> LocalSensitivity | None:
    """The derivatives at `point`; None where it cannot be simulated."""
    unknowns = design.unknowns
    q = unknowns.coordinates(point)
    found = design.at(q, slopes=True)
    if isinstance(found, FailedDesign) or found.slopes is None:
        return None
    return LocalSensitivity(
        tuple(u.name for u in unknowns.items),
        tuple(p.label for p in design.places),
        point,
        found.values,
        np.where(found.reached[:, None], found.slopes / unknowns.slopes(q), np.nan),
        tuple(sorted(design.differenced)),
    )
