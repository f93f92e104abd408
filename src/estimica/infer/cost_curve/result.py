"""CostCurve: the cost over one tuner, P(τ), with its minima and the parabola at the centre."""

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

#: share of the curve's whole height by which a point must lie below the estimate to be another,
#: lower valley: far more than an optimum is off, far less than a valley that anyone would see
LOWER = 1e-4


@dataclass(frozen=True)
class FailedCurvePoint:
    """A value of the tuner at which the cases could not be simulated."""

    value: float
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve(Result):
    """Costs along one tuner; `cost[k]` is at `x[k]`, NaN where it failed."""

    presenter = "estimica.infer.cost_curve.present"
    main_kind = "curve"

    study: str  # what the study is called
    name: str  # of the tuner
    unit: str  # of the tuner
    x: Vector  # its values
    cost: Vector  # at each of them
    holes: tuple[FailedCurvePoint, ...]  # values at which a simulation failed
    centre: float  # where the curve was begun
    centre_is: str  # "estimate" or "start"
    centre_cost: float  # the cost there
    log: bool  # whether the values are spread evenly in the logarithm
    refitted: bool  # whether the other unknowns were found anew at every point
    curvature: float  # second derivative of the cost at the centre, in the tuner's unit
    kind: Kind  # how its second derivatives were computed
    run: str = ""  # its number in the run store
    origin: Study | None = None  # what was asked
    worked_by: WorkedBy = field(default=WorkedBy("scalar"))  # what has simulated the points

    def to_frame(self) -> pd.DataFrame:
        """The cost over the values of the tuner."""
        import pandas as pd

        return pd.DataFrame({"cost": self.cost}, index=pd.Index(self.x, name=self.name))

    @property
    def lowest(self) -> tuple[float, float]:
        """(value, cost) of the lowest point of the curve."""
        if np.isnan(self.cost).all():
            return math.nan, math.nan
        k = int(np.nanargmin(self.cost))
        return float(self.x[k]), float(self.cost[k])

    @property
    def minima(self) -> tuple[float, ...]:
        """Values of the tuner at which the curve is lower than at both neighbours."""
        known = np.flatnonzero(np.isfinite(self.cost))
        cost, x = self.cost[known], self.x[known]
        inner = (cost[1:-1] < cost[:-2]) & (cost[1:-1] < cost[2:])
        return tuple(map(float, x[1:-1][inner]))

    @property
    def text(self) -> str:
        """What the curve says, in words."""
        where = f"{self.centre_is} {self.name} = {self.centre:.6g}"
        value, cost = self.lowest
        known = self.cost[np.isfinite(self.cost)]
        height = float(np.ptp(known)) if len(known) else 0.0
        if len(known) and height <= 1e-12 * max(abs(float(known.max())), 1e-300):
            return f"'{self.name}' has no effect on the cost over this range"
        if self.centre_cost - cost > LOWER * height:
            what = (
                "the estimate is a local minimum" if self.centre_is == "estimate" else "the start"
            )
            lower = f"the cost is lower, {cost:.7g}, at {self.name} = {value:.6g}"
            if self.centre_is == "estimate":
                return f"{what}: {lower}; fit from there, or with more starts"
            return f"from the start at {self.name} = {self.centre:.6g} {lower}"
        others = [m for m in self.minima if not self._near(m)]
        if others:
            listed = ", ".join(f"{m:.6g}" for m in others[:5])
            return f"the cost is lowest at the {where}, with further minima near {listed}"
        return f"the cost has one minimum here, at the {where}"

    def _near(self, value: float) -> bool:
        """Whether a minimum of the grid is the centre's own: at most two of its points away."""
        place = int(np.searchsorted(self.x, self.centre))
        return abs(int(np.searchsorted(self.x, value)) - place) <= 2

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        if np.isnan(self.cost).all():
            return Outcome("failed", "no point of the curve could be simulated", ok=False)
        return Outcome("done", self.text)

    def plot(self, kind: str = "curve", *names: str) -> Any:
        """A Plotly figure: the cost over the tuner, the centre, its parabola, and holes."""
        return super().plot(kind, *names)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.text}"
