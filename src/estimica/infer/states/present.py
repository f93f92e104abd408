"""How states show themselves: tables, curves with bands, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import plain_object
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.states.evidence import difference_unit
from estimica.infer.states.result import Companion, NoiseEvidence, StateCourse, States

KINDS = ("smoothed", "filtered", "disturbance")
HEADINGS = {
    "smoothed": (
        "Smoothed states",
        "The states as all the data tell them, those before and those after each stamp, with their "
        "bands. Points are measurements of the state itself, where there are any.",
    ),
    "filtered": (
        "Filtered states",
        "The same as the data up to each stamp tell them: what was known then.",
    ),
    "disturbance": (
        "What the equations lack",
        "What noise has added to each state, per second, as all the data tell it. The band is that "
        "of each interval between two samples by itself and wide where these are short; a course "
        "that returns every day, or with an input, tells more than any of them.",
    ),
}


def tables(states: States) -> tuple[show.Table, ...]:
    """States with their errors; noise and whether it is told from zero; what goes with it."""
    more = [t for t in (_evidence(states), _companions(states)) if t.rows]
    return (_courses(states), *more)


def _courses(states: States) -> show.Table:
    rows = tuple(
        (
            _called(c),
            c.state,
            len(c.time),
            short(float(np.mean(c.filtered_error))),
            short(float(np.mean(c.smoothed_error))),
            short(_rms(c.rate)) if c.is_noisy else None,
            difference_unit(c.unit),
        )
        for c in states.courses
    )
    columns = (
        "case",
        "state",
        "stamps",
        "error filtered",
        "error smoothed",
        "lacking per s",
        "unit",
    )
    note = (
        "error: mean standard error of the state from the data up to each stamp (filtered) and "
        "from all data (smoothed); lacking: root mean square of what noise has added"
    )
    return show.Table(columns, rows, f"{states.fit.study.name}: states", note)


def _evidence(states: States) -> show.Table:
    rows = tuple(
        (e.state, e.level, short(e.value), e.unit, _ratio(e), _remark(e)) for e in states.evidence
    )
    columns = ("state", "noise", "value", "unit", "value/std. error", "remark")
    return show.without_empty(show.Table(columns, rows, "Noise in the states"), "remark")


def _ratio(e: NoiseEvidence) -> float | None:
    return short(e.ratio) if math.isfinite(e.ratio) else None


def _remark(e: NoiseEvidence) -> str:
    if e.at_bound:
        return "at its lower bound: none is needed"
    return "given" if e.is_given else ""


def _companions(states: States) -> show.Table:
    rows = tuple(
        (c.state, c.signal, c.kind, show.Rounded(c.correlation, 3), round(c.samples), _p(c))
        for c in states.companions
    )
    columns = ("lacking in", "goes with", "kind", "correlation", "counts as samples", "p")
    note = "p: chance of such a correlation by accident, for all signals looked at together"
    return show.Table(columns, rows, "What goes with what the equations lack", note)


def _p(c: Companion) -> float | str:
    return "< 0.001" if c.p < 1e-3 else show.Rounded(c.p, 3)


def _rms(values: Vector) -> float:
    known = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else math.nan


def _called(c: StateCourse) -> str:
    return c.case + (" (validation)" if c.role == "validate" else "")


def picture(states: States, kind: str = "smoothed", names: Sequence[str] = ()) -> show.Curves:
    """States of a kind, all of them or those named."""
    kind = kind or "smoothed"
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" ({', '.join(KINDS)})"
        raise InferError("I853", f"there is no plot '{kind}' of states{hint}")
    for name in names:
        states.state(name)
    chosen = [c for c in states.courses if not names or c.state in names]
    if kind == "disturbance":
        none = [e.state for e in states.evidence if e.at_bound and e.state not in names]
        chosen = [c for c in chosen if c.is_noisy and c.state not in none]
    several = len({c.case for c in states.courses}) > 1
    panels: list[show.Panel] = []
    for c in chosen:
        panels.append(_panel(states, c, kind, _called(c) if several else "", not panels))
    title = f"{states.fit.study.name}: {HEADINGS[kind][0][:1].lower()}{HEADINGS[kind][0][1:]}"
    return show.Curves(tuple(panels), title, show.TIME_LABEL, 240)


def _panel(states: States, c: StateCourse, kind: str, group: str, first: bool) -> show.Panel:
    what, colour = ("rate", 2) if kind == "disturbance" else (kind, 1)
    low, high = c.band(what)
    known = np.isfinite(low)
    named = f"{show.percent_text(states.level)} band"
    ribbon = show.Ribbon(named, c.time[known], low[known], high[known], colour, 0.3, listed=first)
    value = getattr(c, what)
    unit = c.unit if kind != "disturbance" else f"{difference_unit(c.unit) or '1'}/s"
    word = "lacking" if kind == "disturbance" else kind
    curves = [show.Curve(word, c.time[known], value[known], unit, colour=colour, listed=first)]
    if kind != "disturbance":
        curves = [*_measured(states, c, first), *curves]
    else:
        zero = np.zeros(2)
        ends = c.time[[0, -1]]
        curves.append(show.Curve("zero", ends, zero, unit, dashed=True, colour=7, listed=False))
    label = show.name_with_unit(c.state if kind != "disturbance" else f"lacking in {c.state}", unit)
    partition, setup = states.fit.study.partition, states.fit.setup
    return show.Panel(
        label,
        tuple(curves),
        group=group,
        ribbons=(ribbon,),
        gaps=partition.gaps_of(c.case),
        origin=setup.origin_of(c.case),
    )


def _measured(states: States, c: StateCourse, first: bool) -> Iterator[show.Curve]:
    """What was measured of a state itself."""
    for case in states.fit.cases:
        if case.name == c.case and c.state in case.names:
            o = case[c.state]
            yield show.Curve(
                "measured", o.time, o.measured, o.unit, dotted=True, colour=7, listed=first
            )


def page(states: States) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    study = states.fit.study
    one = show.Page(f"States: {study.name}", tuple(_sections(states)))
    first = (study_summary(study, "states"), show.Section(ANSWER, states.verdict))
    return with_reproduction(one, "states", study, first=first, run=states.run)


def _sections(states: States) -> Iterator[show.Section]:
    first, *more = tables(states)
    yield show.Section("States", "", (replace(first, title=""),))
    for kind in ("smoothed", "disturbance", "filtered"):
        drawn = replace(picture(states, kind), title="")
        if drawn.panels:
            heading, text = HEADINGS[kind]
            beside = more if kind == "disturbance" else ()
            yield show.Section(heading, text, (drawn, *beside))


def as_object(states: States) -> dict[str, object]:
    """The states as plain values; what is not finite is None."""
    return plain_object(
        {
            "study": states.fit.study.name,
            "level": states.level,
            "verdict": states.verdict,
            "noise": [
                {
                    "state": e.state,
                    "level": e.level,
                    "value": e.value,
                    "unit": e.unit,
                    "ratio": e.ratio,
                    "at_bound": e.at_bound,
                }
                for e in states.evidence
            ],
            "goes_with": [vars(c) for c in states.companions],
            "states": [
                {
                    "case": c.case,
                    "state": c.state,
                    "unit": c.unit,
                    "time": c.time.tolist(),
                    "filtered": c.filtered.tolist(),
                    "filtered_error": c.filtered_error.tolist(),
                    "smoothed": c.smoothed.tolist(),
                    "smoothed_error": c.smoothed_error.tolist(),
                    "added": c.added.tolist(),
                    "added_error": c.added_error.tolist(),
                }
                for c in states.courses
            ],
        }
    )
