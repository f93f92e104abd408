"""Contradiction: the proof that no design within the bounds keeps to the limits.

Searches cannot give it, however many starts they have. Intervals can, for limits that are formulas
of the tuners: the box of all tuners is cut into smaller ones until each breaks a limit for certain.
Where that does not come to an end, or where limits need a simulation, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimica.flat.intervals import Interval
from estimica.optimise.batch import AnyDesign
from estimica.optimise.criteria.formulas import ValueScorer
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.problem import FEASIBLE
from estimica.optimise.robust import RobustDesign

#: boxes that are looked at. Chosen: a tenth of a second for a few formulas; limits that contradict
#: each other only narrowly, or in many tuners, would need more
BOXES = 4000


@dataclass(frozen=True, eq=False)
class _Limit:
    scorer: ValueScorer
    number: int  # of its places

    @property
    def place(self) -> CriterionInCase:
        return self.scorer.places[self.number]

    def excludes(self, values: Interval) -> bool:
        """Whether none of the values is allowed."""
        low, high = values
        demand = self.place.demand
        if low > demand * (1 + FEASIBLE):
            return True
        return self.place.role == "equal" and high < demand * (1 - FEASIBLE)


def contradiction(design: AnyDesign) -> str | None:
    """Why no design within the bounds keeps to the limits; None where that is not proven."""
    limits = _limits(design)
    if not limits:
        return None
    whole = [(u.min, u.max) for u in design.unknowns.items]
    for limit in limits:
        values = limit.scorer.ranges(whole)[limit.number]
        if limit.excludes(values):
            return _alone(limit, values)
    used = _exclusions(limits, whole)
    if used is None:
        return None
    labels = [f"'{limits[k].place.label}'" for k in sorted(used)]
    if len(labels) == 1:
        return f"{labels[0]} holds nowhere within the bounds of the tuners (by intervals)"
    named = ", ".join(labels[:-1]) + f" and {labels[-1]}"
    return f"{named} do not hold together anywhere within the bounds of the tuners (by intervals)"


def _alone(limit: _Limit, values: Interval) -> str:
    place, (low, high) = limit.place, values
    unit = f" {place.criterion.unit}".rstrip()
    if low > high:
        return f"'{place.label}' has no value within the bounds of the tuners"
    if low > place.demand:
        known = f"at least {low:.4g}{unit}"
    else:
        known = f"at most {high:.4g}{unit}"
    return f"'{place.label}' is {known} within the bounds of the tuners, not {place.demand:.4g}"


def _limits(design: AnyDesign) -> list[_Limit]:
    """Formulas that are limited; of scenarios only where each must keep to them by itself."""
    if isinstance(design, RobustDesign):
        if design.table.measure != "worst":
            return []
        scorers, roles = [s for d in design.designs for s in d.formulas], {"at-most"}
    else:
        scorers, roles = list(design.formulas), {"at-most", "equal"}
    return [_Limit(s, k) for s in scorers for k, p in enumerate(s.places) if p.role in roles]


def _exclusions(limits: Sequence[_Limit], whole: Sequence[Interval]) -> set[int] | None:
    """The limits by which all boxes are excluded; None where some box is left."""
    used: set[int] = set()
    scorers = list(dict.fromkeys(limit.scorer for limit in limits))
    boxes = [list(whole)]
    for _ in range(BOXES):
        if not boxes:
            return used
        box = boxes.pop()
        ranges = {id(s): s.ranges(box) for s in scorers}
        excluding = next(
            (k for k, x in enumerate(limits) if x.excludes(ranges[id(x.scorer)][x.number])), None
        )
        if excluding is not None:
            used.add(excluding)
            continue
        halves = _halves(box, whole)
        if halves is None:
            return None
        boxes += halves
    return None


def _halves(box: list[Interval], whole: Sequence[Interval]) -> list[list[Interval]] | None:
    """The box cut where it is widest; None where nothing is left to cut."""
    widths = [_width(own, all_) for own, all_ in zip(box, whole, strict=True)]
    j = max(range(len(box)), key=widths.__getitem__)
    low, high = box[j]
    middle = _middle(low, high)
    if not low < middle < high:
        return None
    return [[*box[:j], half, *box[j + 1 :]] for half in ((low, middle), (middle, high))]


def _width(own: Interval, all_: Interval) -> float:
    """Relative to the bounds; what has none is cut first."""
    width, every = own[1] - own[0], all_[1] - all_[0]
    return width if every == float("inf") else width / every


def _middle(low: float, high: float) -> float:
    """Where an interval is cut, which may have no end."""
    if low == -float("inf"):
        if high == float("inf"):
            return 0.0
        return -_middle(-high, float("inf"))
    if high == float("inf"):
        return 2 * low if low > 0 else 0.0 if low < 0 else 1.0
    return low + (high - low) / 2
