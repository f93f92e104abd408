"""CriterionMap: the cost over two tuners, its valleys, and the eigen-analysis of its Hessian."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import Outcome, Result
from estimica.execute.batches import WorkedBy
from estimica.infer.criterion_map.hessian import Kind
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

#: ratio of the eigenvalues, in relative units, below which there is a valley. Chosen: contours are
#: then more than √1000, or thirty, times as long as wide
VALLEY = 1e-3


@dataclass(frozen=True)
class FailedMapPoint:
    """A point of the map that could not be simulated."""

    first: float
    second: float
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class CriterionMap(Result):
    """Costs over a grid of two tuners; `cost[i, j]` is at (`x[j]`, `y[i]`), NaN where it failed."""

    presenter = "estimica.infer.criterion_map.present"
    main_kind = "map"

    study: str  # what the study is called
    names: tuple[str, str]  # of the two tuners
    units: tuple[str, str]  # of the two tuners
    x: Vector  # values of the first
    y: Vector  # values of the second
    cost: Vector  # at each pair
    holes: tuple[FailedMapPoint, ...]  # pairs at which a simulation failed
    centre: tuple[float, float]  # where the map was begun
    centre_is: str  # "estimate" or "start"
    centre_cost: float  # the cost there
    refitted: bool  # whether the other unknowns were found anew at every point
    hessian: Vector  # of the cost by the two, in their units
    kind: Kind  # how its second derivatives were computed
    run: str = ""  # its number in the run store
    origin: Study | None = None  # what was asked
    worked_by: WorkedBy = field(default=WorkedBy("scalar"))  # what has simulated the points

    def to_frame(self) -> pd.DataFrame:
        """The cost, a row for each value of the second tuner, a column for each of the first."""
        import pandas as pd

        first, second = self.names
        return pd.DataFrame(
            self.cost, index=pd.Index(self.y, name=second), columns=pd.Index(self.x, name=first)
        )

    @property
    def eigenvalues(self) -> Vector:
        """Of the Hessian, the larger first."""
        return np.asarray(np.linalg.eigvalsh(self.hessian)[::-1], np.float64)

    @property
    def eigenvectors(self) -> Vector:
        """Columns, in the order of the eigenvalues; the larger component of each is positive."""
        vectors = np.linalg.eigh(self.hessian)[1][:, ::-1]
        signs = [1.0 if v[np.argmax(np.abs(v))] > 0 else -1.0 for v in vectors.T]
        found: Vector = vectors * signs
        return found

    @property
    def ratio(self) -> float:
        """Smaller over larger eigenvalue of the Hessian by relative changes."""
        low, high = np.linalg.eigvalsh(self._relative())
        return float(max(low, 0.0) / high) if high > 0 else math.nan

    @property
    def valley(self) -> tuple[float, float]:
        """The direction along which the cost changes least, in relative changes."""
        vector = np.linalg.eigh(self._relative())[1][:, 0]
        vector = vector * (1.0 if vector[np.argmax(np.abs(vector))] > 0 else -1.0)
        return float(vector[0]), float(vector[1])

    @property
    def lowest(self) -> tuple[float, float, float]:
        """(first, second, cost) of the lowest point of the grid."""
        if np.isnan(self.cost).all():
            return math.nan, math.nan, math.nan
        i, j = np.unravel_index(int(np.nanargmin(self.cost)), self.cost.shape)
        return float(self.x[j]), float(self.y[i]), float(self.cost[i, j])

    @property
    def text(self) -> str:
        """What the eigen-analysis says, in words."""
        first, second = self.names
        if not math.isfinite(self.ratio):
            return f"neither '{first}' nor '{second}' has an effect on the criterion"
        steep = self.eigenvectors[:, 0]
        if self.ratio > VALLEY:
            return f"the criterion determines '{first}' and '{second}' (ratio {self.ratio:.2g})"
        alone = self._relative().diagonal()
        if np.min(alone) <= VALLEY * np.max(alone):
            flat = self.names[int(np.argmin(alone))]
            return f"'{flat}' has hardly any effect on the criterion: there is a valley along it"
        factor = float(steep[1] / steep[0])
        sign = "+" if factor > 0 else "−"
        return (
            f"there is a valley along which {first} {sign} {abs(factor):.4g}·{second} keeps its "
            f"value: the criterion hardly tells '{first}' and '{second}' apart "
            f"(ratio {self.ratio:.2g})"
        )

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        if np.isnan(self.cost).all():
            return Outcome("failed", "no point of the map could be simulated", ok=False)
        return Outcome("done", self.text)

    def _size(self) -> Vector:
        spans = np.array([np.ptp(self.x), np.ptp(self.y)])
        centre = np.abs(np.array(self.centre))
        return np.where(centre > 0, centre, np.where(spans > 0, spans, 1.0))

    def _relative(self) -> Vector:
        size = self._size()
        found: Vector = self.hessian * np.outer(size, size)
        return found

    def plot(self, kind: str = "map", *names: str) -> Any:
        """A Plotly figure: contours over the two tuners, the optimum, the valley, and holes."""
        return super().plot(kind, *names)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.text}"
