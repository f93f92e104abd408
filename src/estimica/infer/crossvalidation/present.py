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
    TIME_LABEL,
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


def tables(result: CrossValidation) -> tuple[Table, ...]:
    """All there is to read."""
    return errors(result), scatter(result)


def errors(result: CrossValidation) -> Table:
    """A row for each output."""
    rows: list[tuple[object, ...]] = []
    for o in result.outputs:
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
    what = "cases" if result.by == "case" else "stretches of time"
    title = f"{result.fit.study.name}: {result.count} folds, {what} left out in turn"
    note = "left out: predicted by the fit that has not seen it"
    if _kept(result):
        note += f"; {', '.join(_kept(result))} kept where only the left-out samples determine it"
    if result.interrupted:
        note += f"; interrupted after {len(result.folds)} of {result.count} folds"
    if result.failed:
        note += f"; {result.failed} of {result.count} folds failed and are not in it"
    if result.worked_by.is_worth_a_word:
        note += f"; {result.worked_by.words}"
    return Table(columns, tuple(rows), title, note)


def scatter(result: CrossValidation) -> Table:
    """A row for each tuner."""
    rows = []
    table, values, jackknife = result.fit.parameters, result.values, result.stderr
    for k, name in enumerate(result.tuners):
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
                result.fit.remark(k),
            )
        )
    numbers = ("all data", "smallest", "largest", "jackknife error", "std. error", "ratio")
    columns = ("tuner", *numbers, "remark")
    note = "jackknife error: the standard error that follows from the scatter over the folds"
    return without_empty(Table(columns, tuple(rows), "Tuners over the folds", note), "remark")


def fold_table(result: CrossValidation) -> Table:
    """A row for each fold."""
    rows = []
    for fold in result.folds:
        told = ", ".join(f"{o.name} {o.rmse:.4g}" for _, o in fold.outputs)
        kept = ", ".join(fold.kept)
        rows.append((fold.number, fold.name, fold.status, told or fold.message, kept))
    columns = ("fold", "left out", "fit", "RMSE left out", "kept")
    note = "kept: unknowns that only the left-out samples determine; they stay as found from all"
    return without_empty(Table(columns, tuple(rows), "", note if _kept(result) else ""), "kept")


def _kept(result: CrossValidation) -> list[str]:
    return list(dict.fromkeys(name for fold in result.folds for name in fold.kept))


def picture(result: CrossValidation, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind."""
    if kind not in KINDS:
        raise InferError(
            "I345", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    return _predictions(result) if kind == "predictions" else _tuners(result)


def _predictions(result: CrossValidation) -> Curves:
    panels: list[Panel] = []
    several = len({o.case for o in result.outputs}) > 1
    for o in result.outputs:
        f, unit, first = o.fitted, result.fit.unit_of(o.fitted), not panels
        if f.transfer is not None:
            panels += _responses(result, o)
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
        gaps = result.fit.study.partition.gaps_of(o.case)
        origin = result.fit.setup.origin_of(o.case)
        panels.append(
            Panel(
                name_with_unit(f.name, unit), tuple(curves), group=group, gaps=gaps, origin=origin
            )
        )
    label = TIME_LABEL if result.fit.study.model.has_time else "point"
    title = f"{result.fit.study.name}: predicted by fits that have not seen it"
    return Curves(tuple(panels), title, label, 220)


def _responses(result: CrossValidation, o: Prediction) -> list[Panel]:
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
                result.fit.unit_of(of),
                dotted=name != "fitted",
                dashed=name == "fitted",
                colour={"measured": 7, "fitted": 0}.get(name, 1),
                listed=k == 0,
            )
            for name, of, G in rows
            if of.transfer is not None
        ]
        label = name_with_unit(f"{part} {o.fitted.name}", result.fit.unit_of(o.fitted))
        axis = across(o.fitted.transfer) if o.fitted.transfer is not None else None
        panels.append(Panel(label, tuple(curves), group=o.case, across=axis))
    return panels


def _tuners(result: CrossValidation) -> Curves:
    number = np.array([f.number for f in result.folds if f.values is not None and not f.failed])
    values, panels = result.values, []
    for k, name in enumerate(result.tuners):
        final = result.fit[name]
        size = abs(final) or 1.0
        curve = Curve(name, number.astype(float), (values[:, k] - final) / size, marked=True)
        panels.append(curve)
    panel = Panel("(value − all data) / |all data|", tuple(panels))
    title = f"{result.fit.study.name}: tuners over the folds"
    return Curves((panel,), title, "fold", 320, whole=True)


def page(result: CrossValidation) -> Page:
    """Everything about a cross-validation on one page."""
    study = result.fit.study
    told = Page(f"Cross-validation: {study.name}", tuple(_sections(result)), result.outcome.message)
    answer = Section(ANSWER, f"{result.verdict[:1].upper()}{result.verdict[1:]}.")
    first = (study_summary(study, "crossvalidate"), answer)
    return with_reproduction(told, "crossvalidate", study, first=first, run=result.run)


def _sections(result: CrossValidation) -> Iterator[Section]:
    shown = (errors(result), replace(_predictions(result), title=""))
    yield Section("Predictions", _PREDICTIONS, shown)
    if len(result.values):
        yield Section("Tuners", _TUNERS, (scatter(result), replace(_tuners(result), title="")))
    done = f"{result.seconds:.3g} s, {result.worked_by.words}."
    yield Section("Folds", done, (fold_table(result),))


_PREDICTIONS = (
    "RMSE is the typical size of the difference to the measurement. “Left out” is that of samples "
    "which the fit had not seen: a ratio near 1 says that the model predicts as well as it fits; "
    "a large one that it has been fitted to the noise."
)
_TUNERS = "How much the tuners depend on which part of the data is left out."


def as_object(result: CrossValidation) -> dict[str, object]:
    """Everything but the trajectories; what is not finite is None."""
    status, message = result.outcome
    values, jackknife = result.values, result.stderr
    told: dict[str, object] = {
        "command": "crossvalidate",
        "run": result.run,
        "study": result.fit.study.name,
        "outcome": {"status": status, "message": message},
        "verdict": result.verdict,
        "by": result.by,
        "folds": [_fold(result, f) for f in result.folds],
        "failed": result.failed,
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
            for o in result.outputs
        ],
        "parameters": {
            name: {
                "value": result.fit[name],
                "mean": float(values[:, k].mean()) if len(values) else math.nan,
                "min": float(values[:, k].min()) if len(values) else math.nan,
                "max": float(values[:, k].max()) if len(values) else math.nan,
                "stderr_jackknife": float(jackknife[k]),
                "stderr": float(result.fit.parameters["stderr"][name]),
                "identifiable": bool(result.fit.accuracy.identifiable[k]),
            }
            for k, name in enumerate(result.tuners)
        },
        "seconds": result.seconds,
        "worked_by": result.worked_by.to_dict(),
    }
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _fold(result: CrossValidation, fold: FoldResult) -> dict[str, object]:
    values = [] if fold.values is None else map(float, fold.values)
    return {
        "number": fold.number,
        "left_out": fold.name,
        "status": fold.status,
        "message": fold.message,
        "failed": fold.failed,
        "kept": list(fold.kept),
        "parameters": dict(zip(result.tuners, values, strict=False)),
        "quality": [
            {"case": c, "output": o.name, "rmse": o.rmse, "fit_percent": o.fit_percent}
            for c, o in fold.outputs
        ],
    }
