"""How bands show themselves: a table, curves with ribbons, a page, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.result import plain_object
from estimica.base.text import listed, percent, short
from estimica.base.view import without_empty
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.bands.result import Bands
from estimica.study.noise.process import PREDICTION


def _drawable(ends: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in ends)
    return low, high


_TEXT = (
    "The inner band holds the true output, the outer one a further measurement, at each stamp by "
    "itself, if the model is right. The inner one comes from the uncertainty of the unknowns to "
    "first order, the outer one has the noise in addition."
)


def tables(bands: Bands) -> tuple[show.Table, ...]:
    """All there is to read."""
    return (widths(bands),)


def widths(bands: Bands) -> show.Table:
    """A row for each output: how wide its bands are, and what lies within."""
    rows = tuple(
        (
            o.case + (" (validation)" if o.role == "validate" else ""),
            o.output,
            short(float(o.stderr.max())) if o.bounded else None,
            short(float(np.sqrt(np.mean(o.noise**2)))),
            percent(100 * o.inside),
            "" if o.unit == "1" else o.unit,
            "" if o.bounded else _open(bands),
        )
        for o in bands.outputs
    )
    columns = ("case", "output", "largest std. error", "noise", "% inside", "unit", "remark")
    note = (
        f"std. error: of the {_word(bands)} output, {bands.kind} covariance; % inside: "
        f"measurements within the {show.percent_text(bands.level)} prediction band"
    )
    title = f"{bands.fit.study.name}: bands of the outputs"
    return without_empty(show.Table(columns, rows, title, note), "remark")


def _word(bands: Bands) -> str:
    """What an output is compared with: a simulation, or what a filter predicts."""
    return "predicted" if bands.fit.criterion == PREDICTION else "simulated"


def _open(bands: Bands) -> str:
    known = bands.fit.accuracy.identifiable
    items = zip(bands.fit.unknowns.items, known, strict=True)
    lost = listed([f"'{u.label}'" for u, sure in items if not sure])
    return f"not bounded: it moves with {lost}, which the data do not determine"


def picture(bands: Bands, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """Measured and simulated outputs with both bands."""
    several = len({o.case for o in bands.outputs}) > 1
    panels: list[show.Panel] = []
    for o in bands.outputs:
        first = not panels
        ribbons = (
            show.Ribbon(
                f"{show.percent_text(bands.level)} of measurements",
                o.time,
                *_drawable(o.prediction),
                listed=first,
            ),
            show.Ribbon(
                f"{show.percent_text(bands.level)} band of the output",
                o.time,
                *_drawable(o.mean),
                1,
                0.45,
                listed=first,
            ),
        )
        curves = (
            show.Curve("measured", o.time, o.measured, o.unit, dotted=True, colour=7, listed=first),
            show.Curve(_word(bands), o.time, o.simulated, o.unit, colour=1, listed=first),
        )
        group = o.case if several else ""
        label = show.name_with_unit(o.output, o.unit)
        if not o.bounded:
            group = f"{group}: {o.output} {_open(bands)}".removeprefix(": ")
        gaps = bands.fit.study.partition.gaps_of(o.case)
        panels.append(
            show.Panel(
                label,
                curves,
                group=group,
                ribbons=ribbons,
                across=o.across,
                gaps=gaps,
                origin="" if o.across else bands.fit.setup.origin_of(o.case),
            )
        )
    title = f"{bands.fit.study.name}: outputs and how far they are certain"
    label = show.TIME_LABEL if bands.fit.study.model.has_time else "point"
    return show.Curves(tuple(panels), title, label, 240)


def page(bands: Bands) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    shown = (replace(widths(bands), title=""), replace(picture(bands), title=""))
    section = show.Section("Bands of the outputs", _TEXT, shown)
    one = show.Page(f"Bands: {bands.fit.study.name}", (section,))
    study = bands.fit.study
    return with_reproduction(one, "bands", study, first=(study_summary(study, "bands"),))


def as_object(bands: Bands) -> dict[str, object]:
    """The bands as plain values; what is not finite is None."""
    return plain_object(
        {
            "study": bands.fit.study.name,
            "kind": bands.kind,
            "level": bands.level,
            "outputs": [
                {
                    "case": o.case,
                    "output": o.output,
                    "time": o.time.tolist(),
                    "simulated": o.simulated.tolist(),
                    "stderr": o.stderr.tolist(),
                    "mean": [end.tolist() for end in o.mean],
                    "prediction": [end.tolist() for end in o.prediction],
                    "inside": o.inside,
                    "bounded": o.bounded,
                }
                for o in bands.outputs
            ],
        }
    )
