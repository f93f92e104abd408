"""Front: the designs among which only a person can choose."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.files.write import atomic_replacement
from estimica.base.result import Outcome, Result
from estimica.estimate.unknowns import Unknowns
from estimica.execute.batches import WorkedBy
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable

if TYPE_CHECKING:
    import pandas as pd

#: of the height of the plane through the ends: above it there is no knee. Chosen: a straight front
#: of designs that are found to about 1 % must not have one
FLAT = 0.98


@dataclass(frozen=True, eq=False)
class FrontDesign:
    """One design of a front; `weighted` is the largest value over its demand of each criterion."""

    point: DesignPoint
    weighted: Vector


@dataclass(frozen=True, eq=False, repr=False)
class Front(Result):
    """Designs in which no criterion can be had better without another worse."""

    presenter = "estimica.optimise.pareto.present"

    study: Study  # what was asked
    settings: OptimiseTable  # what was asked for
    criteria: tuple[str, ...]  # those that are traded against each other
    outcome: Outcome  # how it ended, and why
    unknowns: Unknowns  # what was searched for
    designs: tuple[FrontDesign, ...]  # on the front
    evaluations: int  # designs that were simulated in all cases
    simulations: int  # of single cases
    failures: tuple[FailedDesign, ...]  # what could not be computed, and why
    seconds: float  # how long it took
    run: str = ""  # its id in the store of runs
    left_out: int = 0  # designs in which a criterion of the front was not reached
    worked_by: WorkedBy | None = None  # what has simulated many designs at once, where some were

    @property
    def weighted(self) -> Vector:
        """Criteria over their demands, a row for each design."""
        return np.array([d.weighted for d in self.designs]).reshape(-1, len(self.criteria))

    @property
    def demands(self) -> tuple[float | None, ...]:
        """The demand of each criterion where it is the same in all cases."""
        demands: list[float | None] = []
        for name in self.criteria:
            criterion = next(c for c in self.study.active_criteria if c.name == name)
            demand = criterion.demand
            demands.append(float(demand) if isinstance(demand, (int, float)) else None)
        return tuple(demands)

    @property
    def values(self) -> Vector:
        """Criteria in their units, the largest of all cases; over the demand where that varies."""
        sizes: Vector = np.array([1.0 if d is None else d for d in self.demands])
        return np.asarray(self.weighted * sizes)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the axes of the front are called."""
        units = {c.name: c.unit for c in self.study.active_criteria}
        several = len(self.study.active_cases) > 1
        labels = []
        for name, demand in zip(self.criteria, self.demands, strict=True):
            label = (
                show.name_with_unit(name, units[name]) if demand is not None else f"{name}/demand"
            )
            labels.append(f"{label}, worst case" if several else label)
        return tuple(labels)

    @property
    def knee(self) -> int | None:
        """The design farthest below the plane through the ends, all criteria scaled alike.

        A front that does not bend that way has none.
        """
        if len(self.designs) < 3:
            return None
        width = np.ptp(self.weighted, axis=0)
        scaled = (self.weighted - self.weighted.min(axis=0)) / np.where(width > 0, width, 1.0)
        height = scaled.sum(axis=1)
        return int(height.argmin()) if height.min() < FLAT else None

    def to_frame(self) -> pd.DataFrame:
        """A row for each design of the front: its tuners and its criteria."""
        return self.frame

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each design: its tuners, its criteria, whether all demands hold, the knee."""
        import pandas as pd

        rows = []
        for k, design in enumerate(self.designs):
            row: dict[str, object] = dict(
                zip(
                    (u.name for u in self.unknowns.items),
                    map(float, design.point.tuners),
                    strict=True,
                )
            )
            row |= dict(zip(self.criteria, map(float, self.values[k]), strict=True))
            rows.append(row | {"satisfied": design.point.satisfied(), "knee": k == self.knee})
        return pd.DataFrame(rows)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the designs as a CSV table."""
        with atomic_replacement(path) as draft:
            self.frame.to_csv(draft, index=False)
        return Path(path)


def not_dominated(values: Vector) -> list[int]:
    """Rows that no other is better than in all columns; of equal rows the first."""
    kept: list[int] = []
    for k, row in enumerate(values):
        others = np.delete(values, k, axis=0)
        worse = (others <= row).all(axis=1) & (others < row).any(axis=1)
        twin = any(np.array_equal(values[j], row) for j in kept)
        if not worse.any() and not twin:
            kept.append(k)
    return kept


def well_spread(values: Vector, count: int) -> list[int]:
    """At most `count` rows that stand for all: the ends, the lowest sum, then the farthest."""
    if len(values) <= count:
        return list(range(len(values)))
    width = np.ptp(values, axis=0)
    scaled = (values - values.min(axis=0)) / np.where(width > 0, width, 1.0)
    first = [*scaled.argmin(axis=0), scaled.sum(axis=1).argmin()]
    chosen = list(dict.fromkeys(map(int, first)))[:count]
    far = np.linalg.norm(scaled[:, None] - scaled[chosen], axis=2).min(axis=1)
    while len(chosen) < count:
        k = int(far.argmax())
        chosen.append(k)
        far = np.minimum(far, np.linalg.norm(scaled - scaled[k], axis=1))
    return sorted(chosen)
