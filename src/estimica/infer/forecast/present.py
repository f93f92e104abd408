"""How forecasts show themselves: a table, curves with bands, a page, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.result import plain_object
from estimica.base.text import listed, rounded, short
from estimica.data.calendar import Calendar
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.forecast.result import OUTPUT, STATE, Forecast, ForecastCourse

#: how much of the past stands before the forecast in a picture, in lengths of the forecast (chosen)
PAST = 2.0
_TEXT = {
    OUTPUT: "Points were measured; the line goes on where they end. The inner band holds the true "
    "value, the outer one a value that will be measured, at each stamp by itself.",
    STATE: "The states from the end of the data on, with the band of their true values.",
}
_HEADINGS = {OUTPUT: "Outputs", STATE: "States"}


def tables(one: Forecast) -> tuple[show.Table, ...]:
    """A row for each output and state: where it ends and how far that is certain."""
    rows = tuple(
        (
            c.case,
            c.kind,
            c.name,
            rounded(float(c.mean[-1]), float(c.error[-1])),
            short(float(c.states[-1])),
            short(float(c.estimates[-1])),
            short(float(c.measuring[-1])) if c.kind == OUTPUT else None,
            "" if c.unit == "1" else c.unit,
            _when(one, c),
        )
        for c in one.courses
    )
    columns = ("case", "kind", "name", "at the end", "by states", "by estimates", "by measuring",
               "unit", "end")  # fmt: skip
    note = "by …: standard deviations at the end, from what the forecast does not know"
    return (show.Table(columns, rows, f"{one.fit.study.name}: forecast", note),)


def _when(one: Forecast, c: ForecastCourse) -> str:
    origin = one.fit.setup.origin_of(c.case)
    return Calendar.of(origin).told(float(c.time[-1])) if origin else f"{c.time[-1]:g} s"


def picture(one: Forecast, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """Outputs and states with their bands, or those of one kind, or those named."""
    for name in names:
        one.course(name)
    chosen = [
        c
        for c in one.courses
        if (not names or c.name in names) and (kind not in (OUTPUT, STATE) or c.kind == kind)
    ]
    several = len({c.case for c in one.courses}) > 1
    panels: list[show.Panel] = []
    for c in chosen:
        panels.append(_panel(one, c, c.case if several else "", not panels))
    return show.Curves(tuple(panels), f"{one.fit.study.name}: forecast", show.TIME_LABEL, 240)


def _panel(one: Forecast, c: ForecastCourse, group: str, first: bool) -> show.Panel:
    percent = show.percent_text(one.level)
    ribbons = [show.Ribbon(f"{percent} band of the true value", c.time, *c.band, 1, 0.45, first)]
    if c.kind == OUTPUT:
        outer = show.Ribbon(f"{percent} of measurements", c.time, *c.measured_band, listed=first)
        ribbons.insert(0, outer)
    curves = []
    if len(c.past):
        near = c.past_time >= c.time[-1] - (1 + PAST) * (c.time[-1] - c.past_time[-1])
        curves.append(
            show.Curve("measured", c.past_time[near], c.past[near], c.unit, dotted=True, colour=7,
                       listed=first)
        )  # fmt: skip
    for k, path in enumerate(c.paths):
        curves.append(
            show.Curve("possible course", c.time, path, c.unit, colour=0, strength=0.35,
                       listed=first and not k)
        )  # fmt: skip
    curves.append(show.Curve("forecast", c.time, c.mean, c.unit, colour=1, listed=first))
    name = c.name if c.kind == OUTPUT else f"state {c.name}"
    return show.Panel(
        show.name_with_unit(name, c.unit),
        tuple(curves),
        group=group,
        ribbons=tuple(ribbons),
        origin=one.fit.setup.origin_of(c.case),
    )


def page(one: Forecast) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    study = one.fit.study
    told = show.Page(f"Forecast: {study.name}", tuple(_sections(one)))
    first = (study_summary(study, "forecast"), show.Section(ANSWER, answer(one)))
    return with_reproduction(told, "forecast", study, first=first, run=one.run)


def answer(one: Forecast) -> str:
    """Where it ends, in words."""
    parts = []
    for c in one.courses:
        if c.kind == OUTPUT:
            unit = f" {c.unit}" if c.unit not in ("", "1") else ""
            where = f" of {c.case}" if len({d.case for d in one.courses}) > 1 else ""
            low, high = c.measured_band
            parts.append(
                f"{c.name}{where} will be {c.mean[-1]:.4g}{unit} at {_when(one, c)}, and with "
                f"{show.percent_text(one.level)} probability a measurement will lie between "
                f"{low[-1]:.4g} and {high[-1]:.4g}{unit}"
            )
    words = [f"If the model is right and the inputs come as given, {listed(parts)}."]
    words += [f"{n[:1].upper()}{n[1:]}." for n in one.notes]
    return "\n\n".join(words)


def _sections(one: Forecast) -> Iterator[show.Section]:
    yield show.Section("Forecast", "", (replace(tables(one)[0], title=""),))
    for kind in (OUTPUT, STATE):
        drawn = replace(picture(one, kind), title="")
        if drawn.panels:
            yield show.Section(_HEADINGS[kind], _TEXT[kind], (drawn,))


def as_object(one: Forecast) -> dict[str, object]:
    """The forecast as plain values."""
    return plain_object(
        {
            "study": one.fit.study.name,
            "level": one.level,
            "notes": list(one.notes),
            "courses": [
                {
                    "case": c.case,
                    "kind": c.kind,
                    "name": c.name,
                    "unit": c.unit,
                    "time": c.time.tolist(),
                    "mean": c.mean.tolist(),
                    "error": c.error.tolist(),
                    "measured_error": c.measured_error.tolist(),
                    "band": [end.tolist() for end in c.band],
                    "measured_band": [end.tolist() for end in c.measured_band]
                    if c.kind == OUTPUT
                    else None,
                    "paths": np.asarray(c.paths).tolist(),
                }
                for c in one.courses
            ],
        }
    )
