"""How a back-calculation shows itself: words, tables, a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from estimica.base.text import short
from estimica.base.view import Page, Section, Table, name_with_unit, status_line
from estimica.execute.reproduction import ANSWER, with_reproduction
from estimica.infer.backcalculation.law import Law
from estimica.infer.backcalculation.pictures import HEADINGS, picture, possible_axes, require_axes
from estimica.infer.backcalculation.ranking import exclusions_in_words
from estimica.infer.backcalculation.result import BackCalculation
from estimica.study.summary import study_summary

MOST_POINTS = 30  # rows of a table
MOST_FAILED = 8


def outcome(found: BackCalculation) -> tuple[str, str]:
    """(status, message): how it went."""
    told = [laws.verdict for laws in found.laws.values()]
    told += [f"no laws: {why}" for why in found.without_laws.values()]
    failed = found.failed
    if failed:
        numbers = ", ".join(_numbered(found, f.case, f.point) for f in failed[:MOST_FAILED])
        more = f" and {len(failed) - MOST_FAILED} more" if len(failed) > MOST_FAILED else ""
        what = "samples" if found.has_time else "points"
        told.insert(
            0,
            f"{len(failed)} of {found.n_points} {what} could not be computed: {numbers}{more} "
            f"({failed[0].message})",
        )
    if len(failed) == found.n_points:
        return "failed", told[0]
    return "done", "; ".join(told) or f"{found.n_points} {found.stamp}s computed"


def _numbered(found: BackCalculation, case: str, point: float) -> str:
    return f"{point:g}" if len(found.cases) == 1 else f"{case} {point:g}"


def tables(found: BackCalculation) -> list[Table]:
    """The points, then the laws of each computed variable."""
    return [points(found), *(laws.table() for laws in found.laws.values())]


def points(found: BackCalculation) -> Table:
    """The first points with everything known of them."""
    several = len(found.cases) > 1
    names = found.names
    columns = [name_with_unit(n, found.units.get(n, "")) for n in names]
    data = [found.column(n) for n in names]
    stamps = [(c.case, s) for c in found.cases for s in c.stamps.tolist()]
    rows = []
    for k, (case, stamp) in enumerate(stamps[:MOST_POINTS]):
        values = [short(x) if math.isfinite(x) else None for x in (float(d[k]) for d in data)]
        lead = (case,) if several else ()
        rows.append((*lead, stamp if found.has_time else int(stamp), *values))
    left = len(stamps) - len(rows)
    note = f"and {left} more" if left > 0 else ""
    if found.failed or not found.laws:
        note = "; ".join(n for n in (note, outcome(found)[1]) if n)
    head = ("case", found.stamp) if several else (found.stamp,)
    title = f"{found.study}: {', '.join(found.compute)} back-calculated"
    return Table((*head, *columns), tuple(rows), title, note)


def page(found: BackCalculation, axes: str | None = None) -> Page:
    """Everything about a back-calculation on one page; `axes` chooses among the pictures."""
    if axes is not None:
        require_axes(axes)
    what = "samples" if found.has_time else "points"
    lead = f"{', '.join(found.compute)} at {found.n_points} {what}."
    told = Page(f"Back-calculation: {found.study}", tuple(_sections(found, axes)), lead)
    said = status_line(*outcome(found))
    answer = Section(ANSWER, f"{said[:1].upper()}{said[1:]}.")
    first = (study_summary(found.origin, "backcalculate"), answer) if found.origin else (answer,)
    return with_reproduction(told, "backcalculate", found.origin, first=first, run=found.run)


def _sections(found: BackCalculation, only: str | None) -> Iterator[Section]:
    for name in found.compute:
        laws = found.laws.get(name)
        if laws is not None:
            tables = (replace(laws.table(), title="", note=""), _parameters(laws.best))
            reasons = exclusions_in_words(laws.excluded)
            text = f"{laws.verdict[:1].upper()}{laws.verdict[1:]}.\n\n{_RANKED}"
            text += f"\n\nNot tried: {reasons}." if reasons else ""
            text += f"\n\nFor the model: {laws.best.formula}"
            yield Section(f"Laws of {name}", text, tables)
        elif name in found.without_laws:
            yield Section(f"Laws of {name}", f"None: {found.without_laws[name]}.")
        for against in found.against:
            possible = possible_axes(found, name, against)
            shown = tuple(
                replace(picture(found, name, against, axes), title="")
                for axes in possible
                if only in (None, axes)
            )
            missing = len(possible) < len(HEADINGS)
            text = _AXES + (" " + _NOT_POSITIVE if missing else "")
            yield Section(f"{name} against {against}", text, shown)
    if found.failed:
        rows = tuple((f.case, f.point, f.message) for f in found.failed)
        yield Section(
            "Points that failed", _FAILED, (Table(("case", found.stamp, "what happened"), rows),)
        )
    yield Section("Points", "", (replace(points(found), title=""),))


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
