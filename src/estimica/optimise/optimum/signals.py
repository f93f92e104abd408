"""Signals: what the criteria of a design look at, before and after, with what is demanded of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.view import Curve, Curves, Panel, Ribbon, name_with_unit
from estimica.optimise.criteria.indicators import Indicators, criterion_indicator
from estimica.optimise.criteria.score import CriterionInCase
from estimica.study.criterion import Criterion
from estimica.study.study import Study

BEFORE, AFTER, REFERENCE, DEMAND, BAND = 7, 0, 5, 1, 2  # colours
MOST_PANELS = 24  # of a page; chosen: some screens
AT_REST = 1e-9  # of its range, within which a reference has come to rest: as `measures.rest`


@dataclass(frozen=True, eq=False)
class _Course:
    """One signal of one case in one design, with its reference."""

    time: Vector
    value: Vector
    reference: Vector | None


def signal_figure(
    study: Study, places: Sequence[CriterionInCase], before: Vector, after: Vector
) -> Curves | None:
    """A panel for each signal of each case; None where no criterion looks at a signal."""
    moving = [p for p in places if p.criterion.kind not in ("value", "function")]
    if not moving or not study.model.has_time:
        return None
    shown = {one.name: one for one in (criterion_indicator(p.criterion) for p in moving)}
    drawn = Indicators(study, tuple(shown.values()))
    first, last = _courses(drawn, before), _courses(drawn, after)
    units = {q.name: q.unit for q in study.model.quantities()}
    panels: list[Panel] = []
    listed: set[str] = set()
    own: dict[tuple[str, str], list[CriterionInCase]] = {}
    for place in moving:
        own.setdefault((place.case, _key(place.criterion)), []).append(place)
    for (case, key), here in own.items():
        course = last.get((case, key))
        if course is not None and len(panels) < MOST_PANELS:
            label = name_with_unit(here[0].criterion.of, units.get(here[0].criterion.of, ""))
            panels.append(_panel(label, here, first.get((case, key)), course, listed))
    if not panels:
        return None
    more = len(own) - len(panels)
    title = "Signals behind the criteria" + (f" ({more} more are not drawn)" if more > 0 else "")
    return Curves(tuple(panels), title, "time [s]", panel_height=230)


def _key(criterion: Criterion) -> str:
    """Criteria with the same signal and reference share a panel."""
    return criterion_indicator(criterion).name


def _courses(drawn: Indicators, tuners: Vector) -> dict[tuple[str, str], _Course]:
    courses = {}
    for one in drawn.at(tuners):
        follows = one.values[1] if len(one.values) > 1 else None
        courses[one.case, one.indicator.name] = _Course(one.time, one.values[0], follows)
    bare = {("", name): c for (case, name), c in courses.items() if case == "design"}
    return bare | courses


def _panel(
    label: str,
    places: Sequence[CriterionInCase],
    before: _Course | None,
    after: _Course,
    listed: set[str],
) -> Panel:
    def once(name: str) -> bool:
        """Whether the legend has it: at its first appearance."""
        new = name not in listed
        listed.add(name)
        return new

    curves, ribbons = [], []
    if before is not None:
        curves.append(Curve("before", before.time, before.value, dashed=True, colour=BEFORE,
                            listed=once("before")))  # fmt: skip
    follows = after.reference
    number = places[0].criterion.reference
    if follows is None and isinstance(number, (int, float)):
        follows = np.full(len(after.time), float(number))
    if follows is not None:
        curves.append(Curve("reference", after.time, follows, dashed=True, colour=REFERENCE,
                            listed=once("reference")))  # fmt: skip
    known = _Course(after.time, after.value, follows)
    for place in places:
        for name, time, level in _lines(place, known):
            curves.append(Curve(name, time, level, colour=DEMAND, strength=0.8,
                                dotted=len(time) == 1, listed=once(name)))  # fmt: skip
        band = _band(place, known)
        if band is not None:
            name = f"{place.criterion.name}: band from its demand on"
            ribbons.append(Ribbon(name, *band, colour=BAND, listed=once(name)))
    curves.append(Curve("after", after.time, after.value, colour=AFTER, listed=once("after")))
    case = f"{places[0].case}: " if places[0].case else ""
    names = ", ".join(dict.fromkeys(p.criterion.name for p in places))
    return Panel(label, tuple(curves), group=f"{case}{names}", ribbons=tuple(ribbons))


def _window(c: Criterion, course: _Course) -> Indices:
    """The samples that a criterion looks at."""
    t = course.time
    inside = np.ones(len(t), bool)
    if c.from_ is not None:
        inside &= t >= c.from_
    if c.to is not None:
        inside &= t <= c.to
    if c.at_rest and course.reference is not None:
        r = course.reference
        moving = np.flatnonzero(np.abs(r - r[-1]) > AT_REST * (np.ptp(r) or 1.0))
        inside &= t >= (t[moving[-1]] if len(moving) else t[0])
    return np.flatnonzero(inside)


def _lines(place: CriterionInCase, course: _Course) -> list[tuple[str, Vector, Vector]]:
    """Levels that the signal must not pass, or must end at, for the demand to hold."""
    c, demand = place.criterion, place.demand
    rows = _window(c, course)
    if place.role == "watch" or not len(rows):
        return []
    time, y = course.time[rows], course.value[rows]
    r = np.zeros(len(rows)) if course.reference is None else course.reference[rows]
    name = f"{c.name}: demand"
    s = -1.0 if _step(c, course, y) < 0 else 1.0
    last = slice(-1, None)
    if c.kind == "overshoot" and not c.at_rest:
        target = r if course.reference is not None else np.full(len(rows), y[-1])
        return [(name, time, target + s * demand)]
    if c.kind == "peak" or (c.kind == "overshoot" and c.at_rest):
        return [(name, time, r + demand), (name, time, r - demand)]
    if c.kind == "undershoot" and not c.at_rest:
        return [(name, time, np.full(len(rows), y[0] - s * demand))]
    if c.kind in ("maximum", "minimum"):
        return [(name, time, r + demand)]
    if c.kind == "final":
        return [(name, time[last], np.array([demand]))]
    if c.kind == "steady-state-error":
        ends = r[last]
        return [(name, time[last], ends + demand), (name, time[last], ends - demand)]
    return []


def _band(place: CriterionInCase, course: _Course) -> tuple[Vector, Vector, Vector] | None:
    """Where the signal must be for a settling time to hold: from the demand on within the band."""
    c = place.criterion
    rows = _window(c, course)
    if c.kind != "settling-time" or place.role == "watch" or not len(rows):
        return None
    time, y = course.time[rows], course.value[rows]
    later = time >= time[0] + place.demand
    if not later.any():
        return None
    target = course.reference[rows] if course.reference is not None else np.full(len(rows), y[-1])
    half = c.band if c.band is not None else c.tolerance * abs(_step(c, course, y))
    return time[later], (target - half)[later], (target + half)[later]


def _step(c: Criterion, course: _Course, y: Vector) -> float:
    """How far the reference goes in the whole run, or how far the signal has to go."""
    r = course.reference
    if c.at_rest and r is not None:
        return float(r[-1] - r[0])
    return float((y[-1] if r is None else r[-1]) - y[0])
