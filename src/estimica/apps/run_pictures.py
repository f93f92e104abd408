"""Run pictures: the trajectories and the criteria of several stored runs, each in one figure.

Trajectories are those that the runs' own pages have drawn: what is compared is what was found then,
whatever has become of study, model and data since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.apps.run_facts import criteria_of, printed_criterion
from estimica.base.errors import EstimicaError
from estimica.base.view import Bar, Bars, Curve, Curves, Page, Panel, Section, Table
from estimica.base.view_json import page_from_json
from estimica.execute.runs.record import StoredRun
from estimica.execute.runs.store import Store

#: where the page of a command has its trajectories
SECTIONS = {"fit": "Measured and simulated", "optimise": "Indicators"}
BEFORE, AFTER = ", before", ", after"  # of an indicator
SHARED = 7  # of the palette: grey, for what all runs have alike
RUNS = (1, 0, 2, 3, 4, 5, 6)  # of the palette, the most distinct first
SAME = 1e-9  # of a curve's range: by how much curves of several runs differ that are one


@dataclass(frozen=True)
class RunPage:
    """A stored run, what it is called beside others, and its page, where one was kept."""

    run: StoredRun
    name: str
    page: Page | None


def run_page(store: Store, run: StoredRun, name: str = "") -> RunPage:
    """A run with its page; one that cannot be read any more is as good as none."""
    try:
        kept = store.page(run.id)
        page = None if kept is None else page_from_json(kept)
    except EstimicaError:
        page = None
    return RunPage(run, name or run.id, page)


def overlaid_curves(runs: Sequence[RunPage]) -> Curves | None:
    """Every panel that a run has drawn, with the curves of all runs; None where there is none."""
    panels: dict[tuple[str, str], Panel] = {}
    curves: dict[tuple[str, str], list[_Own]] = {}
    axis = ""
    for k, one in enumerate(runs):
        for shown in _curves(one):
            axis = axis or shown.time_label
            for panel in shown.panels:
                key = panel.group, panel.label
                panels.setdefault(key, panel)
                curves.setdefault(key, []).extend(_own_curves(panel, one.name, RUNS[k % len(RUNS)]))
    if not panels:
        return None
    return Curves(
        tuple(
            replace(panel, curves=tuple(_overlaid(curves[key])), bands=(), ribbons=())
            for key, panel in panels.items()
        ),
        "",
        axis,
    )


def without_curves(runs: Sequence[RunPage]) -> list[str]:
    """The names of runs that have nothing to overlay."""
    return [one.name for one in runs if not _curves(one)]


def curves_object(curves: Curves | None) -> list[dict[str, Any]]:
    """The panels of a picture as plain values."""
    if curves is None:
        return []
    return [
        {
            "group": panel.group,
            "label": panel.label,
            "curves": [
                {"name": c.name, "time": c.time, "values": c.value, "unit": c.unit}
                for c in panel.curves
            ],
        }
        for panel in curves.panels
    ]


def criteria_bars(runs: Sequence[RunPage]) -> Bars | None:
    """Every criterion over its demand, a bar for each run; None where no run has two of them."""
    groups: dict[str, list[Bar]] = {}
    for one in runs:
        for label, score in criteria_of(one.run.result):
            share = score.get("weighted")
            if isinstance(share, (int, float)) and score.get("role") != "watch":
                missed = score.get("holds") is False
                bar = Bar(one.name, share, printed_criterion(score), strong=missed)
                groups.setdefault(label, []).append(bar)
    shared = {label: bars for label, bars in groups.items() if len(bars) > 1}
    if not shared:
        return None
    return Bars(tuple((n, tuple(b)) for n, b in shared.items()), "criterion/demand")


def comparison_page(runs: Sequence[RunPage], table: Table) -> Page:
    """The table, the criteria and the curves of several runs as one page."""
    sections = [Section("Side by side", "", (replace(table, title=""),))]
    bars = criteria_bars(runs)
    if bars is not None:
        sections.append(Section("Criteria", CRITERIA, (bars,)))
    curves = overlaid_curves(runs)
    if curves is not None:
        missing = without_curves(runs)
        words = (
            f"{CURVES} Nothing was kept to be drawn of {', '.join(missing)}." if missing else CURVES
        )
        sections.append(Section("Curves", words, (curves,)))
    return Page(
        f"Runs of {', '.join(dict.fromkeys(r.run.summary.name for r in runs))}", tuple(sections)
    )


CRITERIA = (
    "Each criterion over its demand: at most 1 satisfies. Strong bars are those that miss it; a "
    "criterion that was not reached has no bar."
)
CURVES = "As the runs' own pages have drawn them. Grey: what all of them have alike, and the start."


# --- one panel -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Own:
    """A curve of a run: what it shows, and what it is of."""

    text: str  # the expression, or "simulated"
    what: str  # measured, start or found
    curve: Curve
    run: str


def _curves(one: RunPage) -> list[Curves]:
    heading = SECTIONS.get(one.run.summary.command)
    if one.page is None or heading is None:
        return []
    sections = [s for s in one.page.sections if s.heading == heading]
    return [shown for s in sections for shown in s.shown if isinstance(shown, Curves)]


def _own_curves(panel: Panel, run: str, colour: int) -> Iterator[_Own]:
    for curve in panel.curves:
        text = curve.name.removesuffix(BEFORE).removesuffix(AFTER)
        if curve.dotted:
            yield _Own(text, "measured", curve, run)
        elif curve.name.endswith(BEFORE):
            yield _Own(text, "start", curve, run)
        else:
            yield _Own(text, "found", replace(curve, colour=colour), run)


def _overlaid(curves: Sequence[_Own]) -> Iterator[Curve]:
    """What was measured and the starts once, then what each run found, in its colour."""
    found = [c for c in curves if c.what == "found"]
    texts = list(dict.fromkeys(c.text for c in found))
    fixed = [c for c in found if all(_same(c.curve, o.curve) for o in found if o.text == c.text)]
    for what in ("measured", "start"):
        kept: list[_Own] = []
        for one in (c for c in curves if c.what == what):
            if not any(one.text == k.text and _same(one.curve, k.curve) for k in (*kept, *fixed)):
                kept.append(one)
        for one in kept:
            same_text = sum(one.text == k.text for k in kept) > 1
            name = one.text if what == "measured" else _called(one.text, texts, "start")
            name = f"{name} of {one.run}" if same_text else name
            yield replace(
                one.curve,
                name=name,
                dashed=what == "start",
                strength=0.8,
                colour=SHARED,
                listed=True,
            )
    for n, text in enumerate(texts):
        own = [c for c in found if c.text == text]
        if len(own) > 1 and own[0] in fixed:
            yield replace(
                own[0].curve, name=text, dashed=False, strength=1.0, colour=SHARED, listed=True
            )
            continue
        for one in own:
            name = _called(text, texts, one.run)
            yield replace(one.curve, name=name, dashed=n > 0, strength=1.0, listed=True)


def _called(text: str, texts: Sequence[str], run: str) -> str:
    return f"{text}, {run}" if len(texts) > 1 else run


def _same(a: Curve, b: Curve) -> bool:
    if a.time.shape != b.time.shape or not np.array_equal(a.time, b.time):
        return False
    size = float(np.ptp(a.value)) if a.value.size else 0.0
    return bool(np.allclose(a.value, b.value, rtol=0.0, atol=SAME * size, equal_nan=True))
