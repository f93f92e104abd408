"""Profile: how the cost rises around the estimate of each unknown, and the intervals from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Point
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.execute.batches import WorkedBy
from estimica.infer.profile.branch import Branch, Ending, Stop
from estimica.infer.profile.rounds import BetterPoint
from estimica.infer.profile.threshold import SAME, Thresholds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ProfileEnd:
    """One end of an interval; `value` is infinite where there is none, NaN where not known."""

    ending: Ending
    value: float
    message: str  # what happened, in words
    failures: tuple[tuple[float, str], ...] = ()  # values at which a refit failed

    @property
    def found(self) -> bool:
        """Whether the interval ends here because the data say so."""
        return self.ending is Ending.FOUND


@dataclass(frozen=True, eq=False)
class ProfileCurve:
    """The profile of one unknown: values in rising order, the best cost at each."""

    unknown: Unknown
    value: float  # the estimate
    rise: float  # of the cost, at the ends of the interval
    values: Vector
    costs: Vector
    refits: Vector  # (stops, unknowns): values of all unknowns at each stop
    low: ProfileEnd
    high: ProfileEnd
    notes: tuple[str, ...]

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low.value, self.high.value


@dataclass(frozen=True)
class BetterOptimum:
    """An estimate with a lower cost that was met on the way."""

    cost: float
    values: Mapping[str, float]
    unknown: str  # whose profile led there


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Result):
    """Profiles of several unknowns."""

    presenter = "estimica.infer.profile.present"

    fit: Fit  # the fit that it is about
    level: float  # the confidence level
    threshold: str  # in words
    cost: float  # of the estimate
    curves: tuple[ProfileCurve, ...]  # the profile of each unknown
    better: BetterOptimum | None  # a better fit that was found on the way, if any
    refits: int = 0  # searches with an unknown held
    interrupted: bool = False  # whether it was stopped before its end
    seconds: float = 0.0  # how long it took
    worked_by: WorkedBy = field(default=WorkedBy("scalar"), kw_only=True)  # what simulated them
    run: str = ""  # its id in the store of runs

    def __getitem__(self, name: str) -> ProfileCurve:
        """The profile of one unknown."""
        for curve in self.curves:
            if name in (curve.unknown.label, curve.unknown.name):
                return curve
        labels = [c.unknown.label for c in self.curves]
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I507", f"there is no profile of '{name}'{hint}")

    @property
    def lowest(self) -> float:
        """The cost that the thresholds are counted from: of the best optimum that was met."""
        return self.cost if self.better is None else self.better.cost

    @property
    def failures(self) -> int:
        """Refits that found no optimum."""
        return sum(len(c.low.failures) + len(c.high.failures) for c in self.curves)

    def to_frame(self) -> pd.DataFrame:
        """A row for each stop of each profile: the held value, the cost, and all unknowns there."""
        import pandas as pd

        labels = [u.label for u in self.fit.unknowns.items]
        frames = {}
        for curve in self.curves:
            frame = pd.DataFrame(curve.refits, columns=labels)
            frame.insert(0, "cost", curve.costs)
            frame.insert(0, "value", curve.values)
            frames[curve.unknown.label] = frame
        return pd.concat(frames, names=["unknown", "stop"])

    @property
    def intervals(self) -> pd.DataFrame:
        """A row for each unknown: value, low, high, and how the profile ended at either side."""
        import pandas as pd

        rows = [
            {
                "value": c.value,
                "low": c.low.value,
                "high": c.high.value,
                "low_ending": str(c.low.ending),
                "high_ending": str(c.high.ending),
            }
            for c in self.curves
        ]
        labels = [c.unknown.label for c in self.curves]
        return pd.DataFrame(rows, index=pd.Index(labels, name="unknown", dtype=object))

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.infer.profile.present import outcome

        return outcome(self)

    def picture(self, *names: str) -> show.ViewElement:  # there is one kind
        """What `plot` draws, as plain values."""
        picture: show.ViewElement = self._present().picture(self, names)
        return picture

    def plot(self, *names: str) -> Any:  # there is one kind
        """A Plotly figure of the profiles, with thresholds and what a linear model would show."""
        return show.figure(self.picture(*names))


def concluded(
    fit: Fit,
    unknowns: Unknowns,
    point: Point,
    level: float,
    limits: Thresholds,
    branches: Mapping[tuple[int, int], Branch],
    better: BetterPoint | None,
) -> Profile:
    """The result of all branches, as far as they have been walked."""
    curves = []
    for k in dict.fromkeys(k for k, _ in branches):
        rise = float(limits.rises[k])
        curves.append(_curve(unknowns, point, rise, branches[k, -1], branches[k, 1]))
    told = None
    if better is not None:
        values = unknowns.named(unknowns.values(np.array(better.stop.q)))
        told = BetterOptimum(better.stop.cost, values, unknowns.items[better.unknown].label)
    refits = sum(b.refits for b in branches.values())
    return Profile(fit, level, limits.words, point.cost, tuple(curves), told, refits)


def _curve(unknowns: Unknowns, point: Point, rise: float, down: Branch, up: Branch) -> ProfileCurve:
    k = up.unknown
    here = Stop(tuple(map(float, point.q)), point.cost, 0.0, True)
    row = [*reversed(down.outwards()), here, *up.outwards()]
    refits = np.array([unknowns.values(np.array(s.q)) for s in row])
    return ProfileCurve(
        unknowns.items[k],
        float(point.values[k]),
        rise,
        refits[:, k],
        np.array([s.cost for s in row]),
        refits,
        _end(unknowns, down),
        _end(unknowns, up),
        tuple(_notes(unknowns, point, rise, down) + _notes(unknowns, point, rise, up)),
    )


def _end(unknowns: Unknowns, branch: Branch) -> ProfileEnd:
    k, u = branch.unknown, unknowns.items[branch.unknown]
    way = "upwards" if branch.direction > 0 else "downwards"
    failures = tuple((unknowns.value(k, f.q), f.message) for f in branch.failures)
    farthest = branch.outwards()[-1].q[k] if branch.stops else None
    reached = "" if farthest is None else f" to {unknowns.value(k, farthest):.4g}"
    value = math.nan
    if branch.ending is Ending.FOUND and branch.end is not None:
        value, words = unknowns.value(k, branch.end), ""
    elif branch.ending is Ending.BOUND:
        value = u.max if branch.direction > 0 else u.min
        words = f"{way} it reaches its {'max' if branch.direction > 0 else 'min'} {value:g} first"
    elif branch.ending is Ending.FLAT:
        value = branch.direction * math.inf
        words = f"practically not identifiable {way}: {branch.message} up{reached}"
    elif branch.ending is Ending.FAILED and branch.end is not None:
        words = f"{way} {branch.message}"
    elif branch.ending is Ending.FAILED:
        words = f"{way} it could be followed only{reached}: {branch.message}"
    else:
        words = f"{way} it was followed only{reached}, then interrupted"
        if branch.ending is Ending.CROSSED and branch.end is not None:
            met = unknowns.value(k, branch.end)
            words = f"{way} it crosses the threshold at {met:.4g}; interrupted before a fit from "
            words += "outside confirmed that"
        if farthest is None:
            words = f"{way} it was not followed yet"
        return ProfileEnd(Ending.INTERRUPTED, value, words, failures)
    return ProfileEnd(branch.ending, value, words, failures)


def _notes(unknowns: Unknowns, point: Point, rise: float, branch: Branch) -> list[str]:
    k = branch.unknown
    way = "above" if branch.direction > 0 else "below"
    notes = []
    if branch.again is not None:
        value = unknowns.value(k, branch.again)
        notes.append(
            f"{way} the estimate the cost falls below the threshold again at {value:.4g}: the "
            "interval is not in one piece"
        )
    row = branch.outwards()
    top = point.cost
    for stop in row:
        # 1e-9: rounding of sums of squares, as between rounds
        if stop.cost < top - max(SAME * rise, 1e-9 * abs(point.cost)):
            value = unknowns.value(k, stop.q[k])
            notes.append(f"{way} the estimate the cost does not only rise: it falls at {value:.4g}")
            break
        top = max(top, stop.cost)
    return notes
