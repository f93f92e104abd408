"""How a cross-validation shows itself: tables, curves, page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import percent, short
from estimica.base.view import (
    Curve,
    Curves,
    Page,
    Panel,
    Section,
    Table,
    name_with_unit,
    without_empty,
)
from estimica.estimate.fit.frequency_pictures import across
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.crossvalidation.result import CrossValidation, FoldResult, Prediction

KINDS = ("predictions", "tuners")


def tables(found: CrossValidation) -> tuple[Table, ...]:
    """All there is to read."""
    return errors(found), scatter(found)


def errors(found: CrossValidation) -> Table:
    """A row for each output."""
    rows: list[tuple[object, ...]] = []
    for o in found.outputs:
        fitted = (short(o.fitted.rmse), percent(o.fitted.fit_percent))
        if o.left_out is None:
            rows.append((o.case, o.fitted.name, 0, fitted[0], None, None, fitted[1], None))
            continue
        out = (short(o.left_out.rmse), percent(o.left_out.fit_percent))
        ratio = short(o.ratio) if math.isfinite(o.ratio) else None
        count = len(o.left_out.time)
        rows.append((o.case, o.fitted.name, count, fitted[0], out[0], ratio, fitted[1], out[1]))
    columns = (
        "case",
        "output",
        "samples",
        "RMSE",
        "RMSE left out",
        "ratio",
        "fit %",
        "fit % left out",
    )
    what = "cases" if found.by == "case" else "stretches of time"
    title = f"{found.fit.study.name}: {found.count} folds, {what} left out in turn"
    note = "left out: predicted by the fit that has not seen it"
    if _kept(found):
        note += f"; {', '.join(_kept(found))} kept where only the left-out samples determine it"
    if found.interrupted:
        note += f"; interrupted after {len(found.folds)} of {found.count} folds"
    if found.failed:
        note += f"; {found.failed} of {found.count} folds failed and are not in it"
    return Table(columns, tuple(rows), title, note)


def scatter(found: CrossValidation) -> Table:
    """A row for each tuner."""
    rows = []
    table, values, jackknife = found.fit.parameters, found.values, found.stderr
    for k, name in enumerate(found.tuners):
        own = values[:, k]
        error = float(table["stderr"][name])
        ends = (short(float(own.min())), short(float(own.max()))) if len(own) else (None, None)
        known = math.isfinite(error) and error > 0 and math.isfinite(jackknife[k])
        rows.append(
            (
                name,
                float(table["value"][name]),
                *ends,
                short(float(jackknife[k])) if math.isfinite(jackknife[k]) else None,
                short(error) if math.isfinite(error) else None,
                short(float(jackknife[k]) / error) if known else None,
                found.fit.remark(k),
            )
        )
    numbers = ("all data", "smallest", "largest", "jackknife error", "std. error", "ratio")
    columns = ("tuner", *numbers, "remark")
    note = "jackknife error: the standard error that follows from the scatter over the folds"
    return without_empty(Table(columns, tuple(rows), "Tuners over the folds", note), "remark")


def fold_table(found: CrossValidation) -> Table:
    """A row for each fold."""
    rows = []
    for fold in found.folds:
        told = ", ".join(f"{o.name} {o.rmse:.4g}" for _, o in fold.outputs)
        kept = ", ".join(fold.kept)
        rows.append((fold.number, fold.name, fold.status, told or fold.message, kept))
    columns = ("fold", "left out", "fit", "RMSE left out", "kept")
    note = "kept: unknowns that only the left-out samples determine; they stay as found from all"
    return without_empty(Table(columns, tuple(rows), "", note if _kept(found) else ""), "kept")


def _kept(found: CrossValidation) -> list[str]:
    return list(dict.fromkeys(name for fold in found.folds for name in fold.kept))


def picture(found: CrossValidation, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind."""
    if kind not in KINDS:
        raise InferError(
            "I345", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    return _predictions(found) if kind == "predictions" else _tuners(found)


def _predictions(found: CrossValidation) -> Curves:
    panels: list[Panel] = []
    several = len({o.case for o in found.outputs}) > 1
    for o in found.outputs:
        f, unit, first = o.fitted, found.fit.unit_of(o.fitted), not panels
        if f.transfer is not None:
            panels += _responses(found, o)
            continue
        curves = [
            Curve("measured", f.time, f.measured, unit, dotted=True, colour=7, listed=first),
            Curve("fitted", f.time, f.simulated, unit, colour=0, dashed=True, listed=first),
        ]
        if o.left_out is not None:
            p = o.left_out
            curves.append(
                Curve("predicted", p.time, p.simulated, unit, dotted=True, colour=1, listed=first)
            )
        group = o.case if several else ""
        panels.append(Panel(name_with_unit(f.name, unit), tuple(curves), group=group))
    label = "time [s]" if found.fit.study.model.has_time else "point"
    title = f"{found.fit.study.name}: predicted by fits that have not seen it"
    return Curves(tuple(panels), title, label, 220)


def _responses(found: CrossValidation, o: Prediction) -> list[Panel]:
    """Real and imaginary part of a frequency response."""
    panels = []
    for k, part in enumerate(("Re", "Im")):
        rows = [("measured", o.fitted, o.fitted.measured_response)]
        rows.append(("fitted", o.fitted, o.fitted.simulated_response))
        if o.left_out is not None:
            rows.append(("predicted", o.left_out, o.left_out.simulated_response))
        curves = [
            Curve(
                name,
                of.transfer.frequency,
                np.ascontiguousarray(G.imag if k else G.real),
                found.fit.unit_of(of),
                dotted=name != "fitted",
                dashed=name == "fitted",
                colour={"measured": 7, "fitted": 0}.get(name, 1),
                listed=k == 0,
            )
            for name, of, G in rows
            if of.transfer is not None
        ]
        label = name_with_unit(f"{part} {o.fitted.name}", found.fit.unit_of(o.fitted))
        axis = across(o.fitted.transfer) if o.fitted.transfer is not None else None
        panels.append(Panel(label, tuple(curves), group=o.case, across=axis))
    return panels


def _tuners(found: CrossValidation) -> Curves:
    number = np.array([f.number for f in found.folds if f.values is not None and not f.failed])
    values, panels = found.values, []
    for k, name in enumerate(found.tuners):
        final = found.fit[name]
        size = abs(final) or 1.0
        curve = Curve(name, number.astype(float), (values[:, k] - final) / size, marked=True)
        panels.append(curve)
    panel = Panel("(value − all data) / |all data|", tuple(panels))
    title = f"{found.fit.study.name}: tuners over the folds"
    return Curves((panel,), title, "fold", 320, whole=True)


def page(found: CrossValidation) -> Page:
    """Everything about a cross-validation on one page."""
    study = found.fit.study
    told = Page(f"Cross-validation: {study.name}", tuple(_sections(found)), found.outcome.message)
    answer = Section(ANSWER, f"{found.verdict[:1].upper()}{found.verdict[1:]}.")
    first = (study_summary(study, "crossvalidate"), answer)
    return with_reproduction(told, "crossvalidate", study, first=first, run=found.run)


def _sections(found: CrossValidation) -> Iterator[Section]:
    shown = (errors(found), replace(_predictions(found), title=""))
    yield Section("Predictions", _PREDICTIONS, shown)
    if len(found.values):
        yield Section("Tuners", _TUNERS, (scatter(found), replace(_tuners(found), title="")))
    yield Section("Folds", "", (fold_table(found),))


_PREDICTIONS = (
    "RMSE is the typical size of the difference to the measurement. “Left out” is that of samples "
    "which the fit had not seen: a ratio near 1 says that the model predicts as well as it fits; "
    "a large one that it has been fitted to the noise."
)
_TUNERS = "How much the tuners depend on which part of the data is left out."


def as_object(found: CrossValidation) -> dict[str, object]:
    """Everything but the trajectories; what is not finite is None."""
    status, message = found.outcome
    values, jackknife = found.values, found.stderr
    told: dict[str, object] = {
        "command": "crossvalidate",
        "run": found.run,
        "study": found.fit.study.name,
        "outcome": {"status": status, "message": message},
        "verdict": found.verdict,
        "by": found.by,
        "folds": [_fold(found, f) for f in found.folds],
        "failed": found.failed,
        "quality": [
            {
                "case": o.case,
                "output": o.fitted.name,
                "rmse": o.fitted.rmse,
                "fit_percent": o.fitted.fit_percent,
                "rmse_left_out": o.left_out.rmse if o.left_out else None,
                "fit_percent_left_out": o.left_out.fit_percent if o.left_out else None,
                "ratio": o.ratio,
            }
            for o in found.outputs
        ],
        "parameters": {
            name: {
                "value": found.fit[name],
                "mean": float(values[:, k].mean()) if len(values) else math.nan,
                "min": float(values[:, k].min()) if len(values) else math.nan,
                "max": float(values[:, k].max()) if len(values) else math.nan,
                "stderr_jackknife": float(jackknife[k]),
                "stderr": float(found.fit.parameters["stderr"][name]),
                "identifiable": bool(found.fit.accuracy.identifiable[k]),
            }
            for k, name in enumerate(found.tuners)
        },
        "seconds": found.seconds,
    }
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _fold(found: CrossValidation, fold: FoldResult) -> dict[str, object]:
    values = [] if fold.values is None else map(float, fold.values)
    return {
        "number": fold.number,
        "left_out": fold.name,
        "status": fold.status,
        "message": fold.message,
        "failed": fold.failed,
        "kept": list(fold.kept),
        "parameters": dict(zip(found.tuners, values, strict=False)),
        "quality": [
            {"case": c, "output": o.name, "rmse": o.rmse, "fit_percent": o.fit_percent}
            for c, o in fold.outputs
        ],
    }
