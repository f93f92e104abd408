"""How a front shows itself: its designs, the curve with the knee, the page, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from estimica.base.result import finite
from estimica.base.view import (
    Across,
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
from estimica.optimise.pareto.result import Front

MOST = 6  # tuners that a table has columns for


def tables(found: Front) -> tuple[Table, ...]:
    """All there is to read."""
    return (front_table(found),)


def front_table(found: Front) -> Table:
    """The designs of the front; tuners, then criteria."""
    shown = found.unknowns.items if len(found.unknowns) <= MOST else ()
    names = [name_with_unit(u.name, u.unit) for u in shown]
    rows = []
    for k, design in enumerate(found.designs):
        note = "knee" if k == found.knee else ""
        if design.point.satisfied():
            note = f"{note}, satisfied" if note else "satisfied"
        tuners = design.point.tuners[: len(shown)]
        values = (*map(float, tuners), *map(float, found.values[k]))
        rows.append((*values, note))
    o = found.outcome
    assert found.settings.pareto is not None
    told = (
        f"{status_line(o.status, o.message)}. {len(found.designs)} designs, "
        f"{found.evaluations} were "
        f"simulated with method {found.settings.pareto.method}."
    )
    if found.left_out:
        told += f" {_left_out(found)}"
    if not shown:
        told += " The tuners are in the CSV file and in the JSON."
    title = f"Front of {found.study.name}"
    return Table((*names, *found.labels, ""), tuple(rows), title, told)


def _left_out(found: Front) -> str:
    names = " or ".join(found.criteria)
    one = found.left_out == 1
    designs, are = ("design", "is") if one else ("designs", "are")
    return f"{found.left_out} {designs} in which {names} is not reached {are} left out."


def picture(found: Front, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """The front, the knee marked."""
    return front_curves(found)


def front_curves(found: Front) -> Curves:
    """Two criteria: one curve. Three: a panel for each pair."""
    values, labels = found.values, found.labels
    pairs = list(combinations(range(len(found.criteria)), 2))
    panels = []
    for i, j in pairs:
        order = np.argsort(values[:, i]) if len(values) else np.zeros(0, int)
        x, y = values[order, i], values[order, j]
        line = len(pairs) == 1
        curves = [Curve("front", x, y, marked=line, dotted=not line)]
        if found.knee is not None:
            k = found.knee
            curves.append(Curve("knee", values[k : k + 1, i], values[k : k + 1, j], dotted=True))
        curves += _demand(found, i, j)
        panels.append(Panel(labels[j], tuple(curves), across=Across(labels[i]), height=340))
    return Curves(tuple(panels), "What one criterion costs the other", labels[0], panel_height=340)


def _demand(found: Front, i: int, j: int) -> list[Curve]:
    """The corner within which both demands hold."""
    a, b = found.demands[i], found.demands[j]
    if a is None or b is None or not len(found.designs) or a == b == 1:
        return []
    low = found.values.min(axis=0)
    x, y = np.array([min(low[i], a), a, a]), np.array([b, b, min(low[j], b)])
    return [Curve("demands", x, y, dashed=True, colour=7)]


def page(found: Front) -> Page:
    """The page of `estimica optimise --pareto --report`."""
    told = (
        "In none of these designs can one criterion be had better without another worse. The knee "
        "is the design from which a little more of one costs most of another. Satisfied designs "
        "keep all demands."
    )
    sections = [
        Section("The front", told, (front_curves(found),) if found.designs else ()),
        Section(
            "Its designs",
            "A row for each design: its tuners and its criteria.",
            (front_table(found),),
        ),
    ]
    if len(found.designs) > 1:
        order = np.argsort(found.values[:, 0])
        panels = tuple(
            Panel(
                name_with_unit(u.name, u.unit),
                (
                    Curve(
                        u.name,
                        found.values[order, 0],
                        np.array([found.designs[n].point.tuners[k] for n in order]),
                        marked=True,
                    ),
                ),
            )
            for k, u in enumerate(found.unknowns.items)
        )
        sections.append(Section("The tuners along it", "", (Curves(panels, "", found.labels[0]),)))
    page = Page(f"Front of {found.study.name}", tuple(sections))
    first = (study_summary(found.study, "pareto"), Section(ANSWER, _answer(found)))
    seed = found.settings.seed
    return with_reproduction(page, "pareto", found.study, first=first, seed=seed, run=found.run)


def _answer(found: Front) -> str:
    said = status_line(found.outcome.status, found.outcome.message)
    words = [f"{said[:1].upper()}{said[1:]}."]
    if found.designs:
        good = sum(d.point.satisfied() for d in found.designs)
        words.append(f"{good} of {len(found.designs)} designs on the front keep all demands.")
        for k, label in enumerate(found.labels):
            low, high = found.values[:, k].min(), found.values[:, k].max()
            words.append(f"{label} can be had between {low:.4g} and {high:.4g}.")
    if found.left_out:
        words.append(_left_out(found))
    if found.knee is not None:
        rows = zip(found.labels, found.values[found.knee], strict=True)
        words.append("A good compromise is the knee: " + ", ".join(f"{n} {v:.4g}" for n, v in rows))
        words[-1] += "."
    return " ".join(words)


def as_object(found: Front) -> dict[str, object]:
    """The designs of the front, its knee, and what it cost."""
    assert found.settings.pareto is not None
    names = [u.name for u in found.unknowns.items]
    designs = [
        {
            "tuners": dict(zip(names, map(float, d.point.tuners), strict=True)),
            "criteria": dict(zip(found.criteria, map(float, found.values[k]), strict=True)),
            "weighted": dict(zip(found.criteria, map(float, d.weighted), strict=True)),
            "by_case": {s.place.label: s.value for s in d.point.scores},
            "at_least": {s.place.label: s.at_least for s in d.point.scores if not s.reached},
            "satisfied": d.point.satisfied(),
        }
        for k, d in enumerate(found.designs)
    ]
    plain = finite(
        {
            "command": "optimise",
            "pareto": True,
            "run": found.run,
            "study": found.study.name,
            "outcome": {"status": found.outcome.status, "message": found.outcome.message},
            "method": found.settings.pareto.method,
            "criteria": list(found.criteria),
            "front": designs,
            "knee": found.knee,
            "not_reached": found.left_out,
            "evaluations": {
                "designs": found.evaluations,
                "simulations": found.simulations,
                "failed": len(found.failures),
            },
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain
