"""How a second model check shows itself: a table, bars, sections of a page, JSON."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base import view as show
from estimica.base.result import finite
from estimica.base.text import short
from estimica.base.view import without_empty
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.second_model.result import SecondModel, signed


def tables(second: SecondModel) -> tuple[show.Table, ...]:
    """All there is to read."""
    return (effects(second),)


def effects(second: SecondModel) -> show.Table:
    """A row for each direction and output of the second model."""
    rows: list[tuple[object, ...]] = []
    for k, d in enumerate(second.directions, start=1):
        moved = ", ".join(f"{n} {signed(c * second.change)}" for n, c in d.changes.items())
        if d.failure:
            rows.append((k, moved, None, None, None, "fails"))
        for e in () if d.failure else d.effects:
            share = short(100 * e.change)
            remark = "matters" if e.change > second.threshold and d.matters else ""
            rows.append((k, moved, e.case, e.output, share, remark))
    columns = ("direction", "tuners move by", "case", "output", "changes by %", "remark")
    title = f"{second.fit.study.name}: {second.text}"
    return without_empty(show.Table(columns, tuple(rows), title), "remark")


def picture(second: SecondModel, kind: str = "", names: Sequence[str] = ()) -> show.Bars:
    """How much each output changes, direction by direction."""
    groups = tuple(
        (
            ", ".join(f"{n} {signed(c * second.change)}" for n, c in d.changes.items()),
            tuple(
                show.Bar(f"{e.output} ({e.case})", 100 * e.change, strong=d.matters)
                for e in d.effects
            ),
        )
        for d in second.directions
    )
    label = "largest change of the output, % of its RMS"
    return show.Bars(groups, label, f"What is left open, in '{second.other}'")


def sections(second: SecondModel) -> tuple[show.Section, ...]:
    """What a page says of it."""
    said = [second.text, *second.advice]
    words = "\n\n".join(s[:1].upper() + s[1:] + "." for s in said)
    shown = (effects(second), picture(second)) if second.directions else ()
    return (show.Section(f"Second model: {second.other}", words, shown),)


def page(second: SecondModel) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    title = f"Second model: {second.fit.study.name} and {second.other}"
    study = second.fit.study
    first = (study_summary(study, "identifiability"),)
    return with_reproduction(show.Page(title, sections(second)), "second_model", study, first=first)


def as_object(second: SecondModel) -> dict[str, object]:
    """As plain values."""
    found = finite(
        {
            "study": second.fit.study.name,
            "second": second.other,
            "ok": second.ok,
            "verdict": second.text,
            "advice": list(second.advice),
            "change": second.change,
            "threshold": second.threshold,
            "missing": list(second.missing),
            "directions": [
                {
                    "changes": dict(d.changes),
                    "matters": d.matters,
                    "here": d.here,
                    "failure": d.failure,
                    "effects": [
                        {"case": e.case, "output": e.output, "change": e.change} for e in d.effects
                    ],
                }
                for d in second.directions
            ],
        }
    )
    assert isinstance(found, dict)
    return found
