"""How predictions show themselves: a table, curves with intervals, a page, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.errors import InferError
from estimica.base.result import plain_object
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed, percent, short
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.prediction.result import OutputPrediction, Predictions

KINDS = ("predictions", "horizons")
_TEXT = (
    "Points are measurements; the line says what the model predicts of each from the data {back}, "
    "and the band where the measured value was to be expected. This is not a simulation from the "
    "start: every prediction begins at states that the data have corrected."
)
_HORIZONS = (
    "Root mean square of measured − predicted over the number of samples ahead, and what the model "
    "itself expects of it. Where the errors found are above those expected, the model promises "
    "more than it keeps."
)


def tables(one: Predictions) -> tuple[show.Table, ...]:
    """A row for each output: how large the errors are, and what lies within the intervals."""
    rows = tuple(
        (
            _called(o),
            o.output,
            len(o.time),
            short(float(o.rmse[-1])),
            short(float(o.expected[-1])),
            percent(100 * o.inside),
            "" if o.unit == "1" else o.unit,
        )
        for o in one.outputs
    )
    columns = ("case", "output", "samples", "RMSE", "expected", "% inside", "unit")
    note = (
        f"predicted from the data {_back(one.ahead)}; expected: root mean square of the standard "
        f"deviations of the predictions; % inside: measurements within the "
        f"{show.percent_text(one.level)} interval"
    )
    table = show.Table(columns, rows, f"{one.fit.study.name}: predictions", note)
    return (table, _horizons(one)) if one.ahead > 1 else (table,)


def _horizons(one: Predictions) -> show.Table:
    chosen = np.unique(np.round(np.geomspace(1, one.ahead, 8)).astype(int))
    rows = tuple(
        (_called(o), o.output, int(h), short(o.rmse[h - 1]), short(o.expected[h - 1]),
         percent(100 * o.shares[h - 1]))
        for o in one.outputs
        for h in chosen
    )  # fmt: skip
    columns = ("case", "output", "samples ahead", "RMSE", "expected", "% inside")
    return show.Table(columns, rows, "With the number of samples ahead")


def _called(o: OutputPrediction) -> str:
    return o.case + (" (validation)" if o.role == "validate" else "")


def _back(ahead: int) -> str:
    return "up to the sample before" if ahead == 1 else f"up to {ahead} samples before"


def picture(one: Predictions, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """Measured and predicted outputs, or errors over horizons."""
    kind = kind or "predictions"
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" ({', '.join(KINDS)})"
        raise InferError("I856", f"there is no plot '{kind}' of predictions{hint}")
    for name in names:
        one.output(name)
    chosen = [o for o in one.outputs if not names or o.output in names]
    if kind == "horizons":
        return _over_horizons(one, chosen)
    several = len({o.case for o in one.outputs}) > 1
    panels: list[show.Panel] = []
    for o in chosen:
        first = not panels
        name = f"{show.percent_text(one.level)} interval"
        ribbon = show.Ribbon(name, o.time, *o.interval, 1, 0.3, listed=first)
        what = f"predicted {one.ahead} sample{'s' if one.ahead > 1 else ''} ahead"
        curves = (
            show.Curve("measured", o.time, o.measured, o.unit, dotted=True, colour=7, listed=first),
            show.Curve(what, o.time, o.predicted, o.unit, colour=1, listed=first),
        )
        panels.append(
            show.Panel(
                show.name_with_unit(o.output, o.unit),
                curves,
                group=_called(o) if several else "",
                ribbons=(ribbon,),
                gaps=one.fit.study.partition.gaps_of(o.case),
                origin=one.fit.setup.origin_of(o.case),
            )
        )
    return show.Curves(tuple(panels), f"{one.fit.study.name}: predictions", show.TIME_LABEL, 240)


def _over_horizons(one: Predictions, chosen: Sequence[OutputPrediction]) -> show.Curves:
    number = np.arange(1, one.ahead + 1, dtype=float)
    several = len({o.case for o in one.outputs}) > 1
    panels: list[show.Panel] = []
    for o in chosen:
        first = not panels
        curves = (
            show.Curve("found", number, o.rmse, o.unit, colour=1, marked=True, listed=first),
            show.Curve("expected", number, o.expected, o.unit, dashed=True, colour=0, listed=first),
        )
        label = show.name_with_unit(f"RMSE of {o.output}", o.unit)
        panels.append(show.Panel(label, curves, group=_called(o) if several else ""))
    title = f"{one.fit.study.name}: errors over the horizon"
    return show.Curves(tuple(panels), title, "samples ahead", 240, whole=True)


def page(one: Predictions) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    study = one.fit.study
    told = show.Page(f"Predictions: {study.name}", tuple(_sections(one)))
    first = (study_summary(study, "predict"), show.Section(ANSWER, answer(one)))
    return with_reproduction(told, "predict", study, first=first, run=one.run)


def answer(one: Predictions) -> str:
    """How good predictions are, in words."""
    parts = [
        f"{o.output}{f' in {o.case}' if len({p.case for p in one.outputs}) > 1 else ''} to "
        f"{o.rmse[-1]:.3g}{f' {o.unit}' if o.unit not in ('', '1') else ''} "
        f"({100 * o.inside:.1f} % within their {show.percent_text(one.level)} intervals)"
        for o in one.outputs
    ]
    return f"From the data {_back(one.ahead)} the model predicts {listed(parts)}."


def _sections(one: Predictions) -> Iterator[show.Section]:
    first, *more = tables(one)
    shown = (replace(first, title=""), replace(picture(one), title=""))
    yield show.Section("Predictions", _TEXT.format(back=_back(one.ahead)), shown)
    if more:
        drawn = replace(picture(one, "horizons"), title="")
        yield show.Section("Horizon", _HORIZONS, (drawn, replace(more[0], title="")))


def as_object(one: Predictions) -> dict[str, object]:
    """The predictions as plain values."""
    return plain_object(
        {
            "study": one.fit.study.name,
            "ahead": one.ahead,
            "level": one.level,
            "outputs": [
                {
                    "case": o.case,
                    "output": o.output,
                    "unit": o.unit,
                    "time": o.time.tolist(),
                    "measured": o.measured.tolist(),
                    "predicted": o.predicted.tolist(),
                    "error": o.error.tolist(),
                    "interval": [end.tolist() for end in o.interval],
                    "inside": o.inside,
                    "horizons": {
                        "rmse": o.rmse.tolist(),
                        "expected": o.expected.tolist(),
                        "inside": o.shares.tolist(),
                    },
                }
                for o in one.outputs
            ],
        }
    )
