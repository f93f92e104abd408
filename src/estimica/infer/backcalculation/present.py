"""How a back-calculation shows itself: words, tables, pictures, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.base.result import Outcome, finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import (
    Curve,
    Curves,
    Page,
    Panel,
    Section,
    Table,
    name_with_unit,
    status_line,
)
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.backcalculation.law import Law
from estimica.infer.backcalculation.ranking import exclusions_in_words
from estimica.infer.backcalculation.result import BackCalculation

# chosen: what can be taken in at a glance; the data have the rest
MOST_POINTS = 30  # rows of a table
MOST_FAILED = 8  # points that are named


def outcome(result: BackCalculation) -> Outcome:
    """How it went."""
    told = [laws.verdict for laws in result.laws.values()]
    told += [f"no laws: {why}" for why in result.without_laws.values()]
    failed = result.failed
    if failed:
        numbers = ", ".join(_numbered(result, f.case, f.point) for f in failed[:MOST_FAILED])
        more = f" and {len(failed) - MOST_FAILED} more" if len(failed) > MOST_FAILED else ""
        what = "samples" if result.has_time else "points"
        told.insert(
            0,
            f"{len(failed)} of {result.n_points} {what} could not be computed: {numbers}{more} "
            f"({failed[0].message})",
        )
    if len(failed) == result.n_points:
        return Outcome("failed", told[0], ok=False)
    return Outcome("done", "; ".join(told) or f"{result.n_points} {result.stamp}s computed")


def _numbered(result: BackCalculation, case: str, point: float) -> str:
    return f"{point:g}" if len(result.cases) == 1 else f"{case} {point:g}"


def tables(result: BackCalculation) -> tuple[Table, ...]:
    """The points, then the laws of each computed variable."""
    return points(result), *(laws.table() for laws in result.laws.values())


def points(result: BackCalculation) -> Table:
    """The first points with everything known of them."""
    several = len(result.cases) > 1
    names = result.names
    columns = [name_with_unit(n, result.units.get(n, "")) for n in names]
    data = [result.column(n) for n in names]
    stamps = [(c.case, s) for c in result.cases for s in c.stamps.tolist()]
    rows = []
    for k, (case, stamp) in enumerate(stamps[:MOST_POINTS]):
        values = [short(x) if math.isfinite(x) else None for x in (float(d[k]) for d in data)]
        lead = (case,) if several else ()
        rows.append((*lead, stamp if result.has_time else int(stamp), *values))
    left = len(stamps) - len(rows)
    note = f"and {left} more" if left > 0 else ""
    if result.failed or not result.laws:
        note = "; ".join(n for n in (note, outcome(result)[1]) if n)
    head = ("case", result.stamp) if several else (result.stamp,)
    title = f"{result.study}: {', '.join(result.compute)} back-calculated"
    return Table((*head, *columns), tuple(rows), title, note)


def page(result: BackCalculation, axes: str | None = None) -> Page:
    """Everything about a back-calculation on one page; `axes` chooses among the pictures."""
    if axes is not None:
        require_axes(axes)
    what = "samples" if result.has_time else "points"
    lead = f"{', '.join(result.compute)} at {result.n_points} {what}."
    told = Page(f"Back-calculation: {result.study}", tuple(_sections(result, axes)), lead)
    said = status_line(*outcome(result))
    answer = Section(ANSWER, f"{said[:1].upper()}{said[1:]}. {given(result)}")
    first = (study_summary(result.origin, "backcalculate"), answer) if result.origin else (answer,)
    return with_reproduction(told, "backcalculate", result.origin, first=first, run=result.run)


def given(result: BackCalculation) -> str:
    """Which of the measured quantities were given, and which were not needed, in words."""
    sentences = {}
    cases = {c.name: c for c in result.origin.cases} if result.origin is not None else {}
    for points_ in result.cases:
        names = ", ".join(points_.inputs)
        case = cases.get(points_.case)
        measured = case.columns_of_outputs if case is not None else ()
        left = ", ".join(n for n in measured if n not in points_.inputs)
        words = f"Given at every point: {names}." + (f" Not needed: {left}." if left else "")
        sentences[words] = points_.case
    if len(sentences) == 1:
        return next(iter(sentences))
    return " ".join(f"{case}: {words}" for words, case in sentences.items())


def _sections(result: BackCalculation, only: str | None) -> Iterator[Section]:
    for name in result.compute:
        laws = result.laws.get(name)
        if laws is not None:
            tables = (replace(laws.table(), title="", note=""), _parameters(laws.best))
            reasons = exclusions_in_words(laws.excluded)
            text = f"{laws.verdict[:1].upper()}{laws.verdict[1:]}.\n\n{_RANKED}"
            text += f"\n\nNot tried: {reasons}." if reasons else ""
            text += f"\n\nFor the model: {laws.best.formula}"
            yield Section(f"Laws of {name}", text, tables)
        elif name in result.without_laws:
            yield Section(f"Laws of {name}", f"None: {result.without_laws[name]}.")
        for against in result.against:
            possible = possible_axes(result, name, against)
            shown = tuple(
                replace(picture(result, name, against, axes), title="")
                for axes in possible
                if only in (None, axes)
            )
            missing = len(possible) < len(HEADINGS)
            text = _AXES + (" " + _NOT_POSITIVE if missing else "")
            yield Section(f"{name} against {against}", text, shown)
    if result.failed:
        rows = tuple((f.case, f.point, f.message) for f in result.failed)
        yield Section(
            "Points that failed", _FAILED, (Table(("case", result.stamp, "what happened"), rows),)
        )
    yield Section("Points", "", (replace(points(result), title=""),))


def _parameters(law: Law) -> Table:
    rows = tuple((n, short(p.value), short(p.stderr)) for n, p in law.parameters.items())
    return Table((law.expression, "value", "standard error"), rows)


_RANKED = (
    "Every law is fitted by least squares to the points themselves, not to their logarithms, so "
    "that AICc compares them. A difference of less than 2 says nothing: there the simplest law is "
    "first. “Left out” is the error at points that the fit has not seen."
)
_AXES = (
    "In the axes in which the points lie on a straight line, the law can be read off. Solid: the "
    "best law. A law in several variables is drawn with the others in their middle, beside the "
    "points as they would be there."
)
_NOT_POSITIVE = "Logarithmic axes are left out where a value is not positive."
_FAILED = "These points have no value and count in no law."


# --- pictures ------------------------------------------------------------------------------------


#: (horizontal, vertical) axis logarithmic
AXES = {
    "linear": (False, False),
    "lin-log": (False, True),
    "log-lin": (True, False),
    "log-log": (True, True),
}
HEADINGS = {
    "linear": "linear axes: a line is straight",
    "lin-log": "vertical axis logarithmic: an exponential is straight",
    "log-lin": "horizontal axis logarithmic: a logarithm is straight",
    "log-log": "both axes logarithmic: a power law is straight",
}
GREY = 7  # of the palette
FINE = 200  # stamps of a law's curve: smooth on a screen
MOST_LAWS = 4  # curves in a panel; chosen: more cannot be told apart


def picture(
    result: BackCalculation,
    name: str | None = None,
    against: str | None = None,
    axes: str = "linear",
) -> Curves:
    """Points of each case, the best laws in `against` alone, and the best law if it has more."""
    name = result.compute[0] if name is None else _known(name, result.compute, "computed variable")
    if not result.against:
        raise InferError("I618", "there is nothing to plot against; name a variable in against")
    against = (
        result.against[0]
        if against is None
        else _known(against, result.against, "variable against")
    )
    require_axes(axes)
    across, up = AXES[axes]
    x_all, y_all = result.column(against), result.column(name)
    drawn = np.isfinite(x_all) & np.isfinite(y_all)
    drawn &= (x_all > 0) if across else True
    drawn &= (y_all > 0) if up else True
    if not drawn.any():
        which = against if across and not (x_all > 0).any() else name
        raise InferError("I619", f"axes '{axes}': '{which}' is positive at no point; take linear")
    curves = _points(result, x_all, y_all, drawn)
    curves += _laws(result, name, against, x_all[drawn], across, up)
    label = name_with_unit(name, result.units.get(name, ""))
    panel = Panel(label, tuple(curves), log=up, group=HEADINGS[axes])
    title = f"{result.study}: {name} against {against}"
    horizontal = name_with_unit(against, result.units.get(against, ""))
    return Curves((panel,), title, horizontal, 300, log_time=across)


def require_axes(axes: str) -> None:
    """Complain about axes that do not exist."""
    _known(axes, tuple(AXES), "kind of axes")


def possible_axes(result: BackCalculation, name: str, against: str) -> list[str]:
    """Linear axes, and logarithmic ones where all points are positive."""
    x, y = result.column(against), result.column(name)
    usable = np.isfinite(x) & np.isfinite(y)
    positive = ((x[usable] > 0).all(), (y[usable] > 0).all())
    return [
        axes
        for axes, log in AXES.items()
        if usable.any() and all(p or not wanted for p, wanted in zip(positive, log, strict=True))
    ]


def _known(name: str, names: tuple[str, ...], what: str) -> str:
    if name not in names:
        hint = did_you_mean(name, names) or f" (there are {', '.join(names)})"
        raise InferError("I617", f"there is no {what} '{name}'{hint}")
    return name


def _points(result: BackCalculation, x: Vector, y: Vector, drawn: Flags) -> list[Curve]:
    curves, begin = [], 0
    for k, case in enumerate(result.cases):
        rows = np.arange(begin, begin + len(case.stamps))
        begin += len(case.stamps)
        rows = rows[drawn[rows]]
        colour = 0 if len(result.cases) == 1 else k
        label = "computed" if len(result.cases) == 1 else case.case
        curves.append(Curve(label, x[rows], y[rows], dotted=True, colour=colour))
    return curves


def _laws(
    result: BackCalculation, name: str, against: str, x: Vector, across: bool, up: bool
) -> list[Curve]:
    laws = result.laws.get(name)
    if laws is None:
        return []
    low, high = float(x.min()), float(x.max())
    if across:
        fine = np.exp(np.linspace(math.log(low), math.log(high), FINE))
    else:
        fine = np.linspace(low, high, FINE)
    seen = _range(result.column(name), up)
    colour = max(len(result.cases), 1)
    best = laws.best
    curves = []
    if len(best.regressors) > 1 and against in best.regressors:
        curves += _adjusted(result, best, against, fine, (across, up), colour)
        colour += 1
    chosen = [law for law in laws.ranked if set(law.regressors) <= {against}][:MOST_LAWS]
    for k, law in enumerate(chosen):
        value = law.at({against: fine})
        kept = (value >= seen[0]) & (value <= seen[1])
        curves.append(
            Curve(
                law.label,
                fine[kept],
                value[kept],
                description=law.short,
                colour=min(colour + k, GREY),
                dashed=law is not best,
                strength=1.0 if law is best else 0.7,
            )
        )
    return curves


def _range(y: Vector, up: bool) -> tuple[float, float]:
    """Where laws are drawn: not so far from the points that these shrink."""
    y = y[np.isfinite(y) & ((y > 0) | (not up))]
    low, high = float(y.min()), float(y.max())
    if up:
        return low / 1.5, high * 1.5
    margin = 0.25 * (high - low) or abs(high) or 1.0
    return low - margin, high + margin


def _adjusted(
    result: BackCalculation,
    law: Law,
    against: str,
    fine: Vector,
    log: tuple[bool, bool],
    colour: int,
) -> list[Curve]:
    """A law in several regressors, with the others in their middle, and the points moved there."""
    columns = {n: result.column(n) for n in law.regressors}
    y = result.column(law.target)
    usable = np.isfinite(np.array([y, *columns.values()])).all(axis=0)
    columns = {n: c[usable] for n, c in columns.items()}
    middle = {n: float(np.median(c)) for n, c in columns.items() if n != against}
    x = columns[against]
    here, there = law.at(columns), law.at({against: x} | {n: x * 0 + m for n, m in middle.items()})
    product = law.kind in ("power", "exponential", "arrhenius")
    moved = y[usable] * there / here if product else y[usable] + there - here
    shown = ((moved > 0) | (not log[1])) & ((x > 0) | (not log[0]))
    label = ", ".join(f"{n} = {m:.3g}" for n, m in middle.items())
    curve = law.at({against: fine} | {n: fine * 0 + m for n, m in middle.items()})
    kept = (curve > 0) | (not log[1])
    points = Curve(
        f"moved to {label}", x[shown], moved[shown], dotted=True, colour=colour, strength=0.8
    )
    line = Curve(
        f"{law.label} at {label}", fine[kept], curve[kept], description=law.short, colour=colour
    )
    return [points, line]


# --- as JSON -------------------------------------------------------------------------------------


def as_object(result: BackCalculation) -> dict[str, object]:
    """The points and the ranked laws; what is not finite is None."""
    status, message = result.outcome
    names = result.names
    columns = [result.column(n).tolist() for n in names]
    stamps = [s for c in result.cases for s in c.stamps.tolist()]
    cases = [c.case for c in result.cases for _ in c.stamps]
    points = [
        {"case": case, result.stamp: stamp if result.has_time else int(stamp)}
        | dict(zip(names, row, strict=True))
        for case, stamp, *row in zip(cases, stamps, *columns, strict=True)
    ]
    plain = finite(
        {
            "command": "backcalculate",
            "run": result.run,
            "study": result.study,
            "outcome": {"status": status, "message": message},
            "compute": list(result.compute),
            "against": list(result.against),
            "inputs": {c.case: list(c.inputs) for c in result.cases},
            "units": result.units,
            "points": points,
            "failed": [
                {"case": f.case, result.stamp: f.point, "message": f.message} for f in result.failed
            ],
            "laws": [
                {"of": target, "rank": k} | law.to_dict()
                for target, laws in result.laws.items()
                for k, law in enumerate(laws.ranked, start=1)
            ],
            "not_tried": [
                {"of": target, "law": label, "reason": why}
                for target, laws in result.laws.items()
                for label, why in laws.excluded
            ]
            + [
                {"of": target, "law": "", "reason": why}
                for target, why in result.without_laws.items()
            ],
            "verdict": {target: laws.verdict for target, laws in result.laws.items()},
            "seconds": result.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain
