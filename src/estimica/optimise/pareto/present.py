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


def tables(front: Front) -> tuple[Table, ...]:
    """All there is to read."""
    return (front_table(front),)


def front_table(front: Front) -> Table:
    """The designs of the front; tuners, then criteria."""
    columns = front.unknowns.items if len(front.unknowns) <= MOST else ()
    names = [name_with_unit(u.name, u.unit) for u in columns]
    rows = []
    for k, design in enumerate(front.designs):
        note = "knee" if k == front.knee else ""
        if design.point.satisfied():
            note = f"{note}, satisfied" if note else "satisfied"
        tuners = design.point.tuners[: len(columns)]
        values = (*map(float, tuners), *map(float, front.values[k]))
        rows.append((*values, note))
    o = front.outcome
    assert front.settings.pareto is not None
    text = (
        f"{status_line(o.status, o.message)}. {len(front.designs)} designs, "
        f"{front.evaluations} were "
        f"simulated with method {front.settings.pareto.method}."
    )
    if front.left_out:
        text += f" {_left_out(front)}"
    if not columns:
        text += " The tuners are in the CSV file and in the JSON."
    title = f"Front of {front.study.name}"
    return Table((*names, *front.labels, ""), tuple(rows), title, text)


def _left_out(front: Front) -> str:
    names = " or ".join(front.criteria)
    one = front.left_out == 1
    designs, are = ("design", "is") if one else ("designs", "are")
    return f"{front.left_out} {designs} in which {names} is not reached {are} left out."


def picture(front: Front, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """The front, the knee marked."""
    return front_curves(front)


def front_curves(front: Front) -> Curves:
    """Two criteria: one curve. Three: a panel for each pair."""
    values, labels = front.values, front.labels
    pairs = list(combinations(range(len(front.criteria)), 2))
    panels = []
    for i, j in pairs:
        order = np.argsort(values[:, i]) if len(values) else np.zeros(0, int)
        x, y = values[order, i], values[order, j]
        line = len(pairs) == 1
        curves = [Curve("front", x, y, marked=line, dotted=not line)]
        if front.knee is not None:
            k = front.knee
            curves.append(Curve("knee", values[k : k + 1, i], values[k : k + 1, j], dotted=True))
        curves += _demand(front, i, j)
        panels.append(Panel(labels[j], tuple(curves), across=Across(labels[i]), height=340))
    return Curves(tuple(panels), "What one criterion costs the other", labels[0], panel_height=340)


def _demand(front: Front, i: int, j: int) -> list[Curve]:
    """The corner within which both demands hold."""
    a, b = front.demands[i], front.demands[j]
    if a is None or b is None or not len(front.designs) or a == b == 1:
        return []
    low = front.values.min(axis=0)
    x, y = np.array([min(low[i], a), a, a]), np.array([b, b, min(low[j], b)])
    return [Curve("demands", x, y, dashed=True, colour=7)]


def page(front: Front) -> Page:
    """The page of `estimica optimise --pareto --report`."""
    text = (
        "In none of these designs can one criterion be had better without another worse. The knee "
        "is the design from which a little more of one costs most of another. Satisfied designs "
        "keep all demands."
    )
    sections = [
        Section("The front", text, (front_curves(front),) if front.designs else ()),
        Section(
            "Its designs",
            "A row for each design: its tuners and its criteria.",
            (front_table(front),),
        ),
    ]
    if len(front.designs) > 1:
        order = np.argsort(front.values[:, 0])
        panels = tuple(
            Panel(
                name_with_unit(u.name, u.unit),
                (
                    Curve(
                        u.name,
                        front.values[order, 0],
                        np.array([front.designs[n].point.tuners[k] for n in order]),
                        marked=True,
                    ),
                ),
            )
            for k, u in enumerate(front.unknowns.items)
        )
        sections.append(Section("The tuners along it", "", (Curves(panels, "", front.labels[0]),)))
    page = Page(f"Front of {front.study.name}", tuple(sections))
    first = (study_summary(front.study, "pareto"), Section(ANSWER, _answer(front)))
    seed = front.settings.seed
    return with_reproduction(page, "pareto", front.study, first=first, seed=seed, run=front.run)


def _answer(front: Front) -> str:
    status = status_line(front.outcome.status, front.outcome.message)
    words = [f"{status[:1].upper()}{status[1:]}."]
    if front.designs:
        good = sum(d.point.satisfied() for d in front.designs)
        words.append(f"{good} of {len(front.designs)} designs on the front keep all demands.")
        for k, label in enumerate(front.labels):
            low, high = front.values[:, k].min(), front.values[:, k].max()
            words.append(f"{label} can be had between {low:.4g} and {high:.4g}.")
    if front.left_out:
        words.append(_left_out(front))
    if front.knee is not None:
        rows = zip(front.labels, front.values[front.knee], strict=True)
        words.append("A good compromise is the knee: " + ", ".join(f"{n} {v:.4g}" for n, v in rows))
        words[-1] += "."
    return " ".join(words)


def as_object(front: Front) -> dict[str, object]:
    """The designs of the front, its knee, and what it cost."""
    assert front.settings.pareto is not None
    names = [u.name for u in front.unknowns.items]
    designs = [
        {
            "tuners": dict(zip(names, map(float, d.point.tuners), strict=True)),
            "criteria": dict(zip(front.criteria, map(float, front.values[k]), strict=True)),
            "weighted": dict(zip(front.criteria, map(float, d.weighted), strict=True)),
            "by_case": {s.place.label: s.value for s in d.point.scores},
            "at_least": {s.place.label: s.at_least for s in d.point.scores if not s.reached},
            "satisfied": d.point.satisfied(),
        }
        for k, d in enumerate(front.designs)
    ]
    plain = finite(
        {
            "command": "optimise",
            "pareto": True,
            "run": front.run,
            "study": front.study.name,
            "outcome": {"status": front.outcome.status, "message": front.outcome.message},
            "method": front.settings.pareto.method,
            "criteria": list(front.criteria),
            "front": designs,
            "knee": front.knee,
            "not_reached": front.left_out,
            "evaluations": {
                "designs": front.evaluations,
                "simulations": front.simulations,
                "failed": len(front.failures),
            },
            "seconds": front.seconds,
            "worked_by": front.worked_by.to_dict() if front.worked_by else None,
        }
    )
    assert isinstance(plain, dict)
    return plain
