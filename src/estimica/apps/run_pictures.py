"""Run pictures: the trajectories and the criteria of several stored runs, each in one figure.

Trajectories are those that the runs' own pages have drawn: what is compared is what was found then,
whatever has become of study, model and data since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.apps.run_facts import criteria_of, printed_criterion
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.base.view import Bar, Bars, Curve, Curves, Page, Panel, Ribbon, Section, Table
from estimica.base.view_json import page_from_json
from estimica.execute.runs.record import RunSummary, StoredRun
from estimica.execute.runs.store import Store

#: where the page of a command has its trajectories
SECTIONS = {
    "fit": ("Measured and simulated",),
    "optimise": ("Signals", "Indicators"),
    "sweep": ("Families of curves",),
    "montecarlo": ("Families of curves",),
}
FAMILIES = ("sweep", "montecarlo")  # whose curves are many: a band and a median of each
FAMILY = ("median", "reference")  # of their curves, those that stand beside others'
#: how many runs of a family have no number, behind its heading: another one in each run
UNSETTLED = re.compile(r", [\w ]+ in \d+ of \d+$")
BAND = 0.2  # strength of a band: two of them over one another can still be told apart
BEFORE, AFTER = ", before", ", after"  # of an indicator; a signal has these words alone
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
    return RunPage(run, name or run.summary.title, page)


def with_run_name(page: Page, run: RunSummary) -> Page:
    """The page of a run with what the run is called in its title."""
    return replace(page, title=f"{page.title} – {run.label}") if run.label else page


def overlaid_curves(runs: Sequence[RunPage]) -> Curves | None:
    """Every panel that a run has drawn, with the curves of all runs; None where there is none.

    Of sweeps and Monte Carlo runs the band and the median.
    """
    shared, axis = _shared_panels(runs)
    if not shared:
        return None
    panels = [
        replace(
            one.panel,
            curves=tuple(_overlaid(one.curves)),
            bands=(),
            ribbons=_listed_once(one.ribbons, k),
        )
        for k, one in enumerate(shared)
    ]
    return Curves(tuple(panels), "", axis)


def difference_curves(runs: Sequence[RunPage]) -> Curves | None:
    """What each later run has found less what the first has, over time; None where nothing differs.

    At the stamps of both, as far as both reach.
    """
    shared, axis = _shared_panels(runs)
    panels = []
    for one in shared:
        curves = tuple(_less_first(one.curves, runs[0].name))
        if curves:
            label = f"difference of {one.panel.label}"
            panels.append(replace(one.panel, label=label, curves=curves, bands=(), ribbons=()))
    return Curves(tuple(panels), "", axis) if panels else None


@dataclass(eq=False)
class _Shared:
    """A panel that several runs have, with the curves of all."""

    panel: Panel
    curves: list[_Own]
    ribbons: list[Ribbon]


def _shared_panels(runs: Sequence[RunPage]) -> tuple[list[_Shared], str]:
    """The panels of all runs, each once, and what is written at their horizontal axis."""
    shared: dict[tuple[str, str], _Shared] = {}
    axis = ""
    for k, one in enumerate(runs):
        family = one.run.summary.command in FAMILIES
        for shown in _curves(one):
            axis = axis or shown.time_label
            for panel in shown.panels:
                group = UNSETTLED.sub("", panel.group) if family else panel.group
                own = shared.setdefault(
                    (group, panel.label), _Shared(replace(panel, group=group), [], [])
                )
                if own.panel.origin != panel.origin:
                    own.panel = replace(own.panel, origin="")  # one axis has one calendar
                colour = RUNS[k % len(RUNS)]
                own.curves += _own_curves(panel, one.name, colour, family)
                own.ribbons += [
                    replace(r, name=f"{one.name}, {r.name}", colour=colour, strength=BAND)
                    for r in (panel.ribbons if family else ())
                ]
    return list(shared.values()), axis


def _listed_once(ribbons: Sequence[Ribbon], panel: int) -> tuple[Ribbon, ...]:
    """The legend has a band at its first panel."""
    return tuple(replace(r, listed=panel == 0) for r in ribbons)


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
            "bands": [
                {"name": r.name, "time": r.time, "low": r.low, "high": r.high}
                for r in panel.ribbons
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


def comparison_page(runs: Sequence[RunPage], tables: Sequence[Table]) -> Page:
    """The tables, the criteria and the curves of several runs as one page."""
    first, *more = tables
    sections = [Section("Side by side", "", (replace(first, title=""),))]
    sections += [Section(t.title, "", (replace(t, title=""),)) for t in more]
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
        less = difference_curves(runs)
        if less is not None:
            sections.append(Section("Differences of curves", differences_text(runs), (less,)))
    return Page(
        f"Runs of {', '.join(dict.fromkeys(r.run.summary.name for r in runs))}", tuple(sections)
    )


CRITERIA = (
    "Each criterion over its demand: at most 1 satisfies. Strong bars are those that miss it; a "
    "criterion that was not reached has no bar."
)
CURVES = (
    "As the runs' own pages have drawn them; of many samples the band and the median. Grey: what "
    "all of them have alike, and the start."
)


def differences_text(runs: Sequence[RunPage]) -> str:
    """What is taken from what in the picture of differences."""
    others = " and ".join(f"'{one.name}'" for one in runs[1:])
    return f"The curves of {others} less those of '{runs[0].name}', at the same times."


# --- one panel -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Own:
    """A curve of a run: what it shows, and what it is of."""

    text: str  # the expression, or "simulated"
    what: str  # measured, start or found
    curve: Curve
    run: str


def _curves(one: RunPage) -> list[Curves]:
    headings = SECTIONS.get(one.run.summary.command, ())
    if one.page is None:
        return []
    sections = [s for s in one.page.sections if s.heading in headings]
    return [shown for s in sections for shown in s.shown if isinstance(shown, Curves)]


def _own_curves(panel: Panel, run: str, colour: int, family: bool) -> Iterator[_Own]:
    for curve in panel.curves:
        if family and curve.name not in FAMILY:
            continue  # a single run of many
        whole = f", {curve.name}" in (BEFORE, AFTER)
        name = f"{panel.label}, {curve.name}" if whole else curve.name
        text = name.removesuffix(BEFORE).removesuffix(AFTER)
        if curve.dotted:
            yield _Own(text, "measured", curve, run)
        elif name.endswith(BEFORE):
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


def _less_first(curves: Sequence[_Own], first: str) -> Iterator[Curve]:
    """Curves of later runs less that of the first which shows the same."""
    found = [c for c in curves if c.what == "found"]
    references = {c.text: c for c in reversed(found) if c.run == first}
    texts = list(dict.fromkeys(c.text for c in found))
    for one in found:
        other = references.get(one.text)
        if other is None or one.run == first or _same(one.curve, other.curve):
            continue
        time = _common_times(one.curve.time, other.curve.time)
        if time.size > 1:
            less = _at(one.curve, time) - _at(other.curve, time)
            name = _called(one.text, texts, f"{one.run} − {first}")
            number = texts.index(one.text)
            yield replace(
                one.curve, name=name, time=time, value=less, dashed=number > 0, listed=True
            )


def _common_times(a: Vector, b: Vector) -> Vector:
    """The stamps of both within what both cover."""
    if not (a.size and b.size):
        return a[:0]
    low, high = max(np.nanmin(a), np.nanmin(b)), min(np.nanmax(a), np.nanmax(b))
    times: Vector = np.union1d(a, b)
    return times[(times >= low) & (times <= high)]


def _at(curve: Curve, time: Vector) -> Vector:
    """A curve at other times: between its stamps straight, or held where it is drawn in steps."""
    if curve.stepped:
        held: Vector = curve.value[np.searchsorted(curve.time, time, side="right") - 1]
        return held
    return np.interp(time, curve.time, curve.value)
