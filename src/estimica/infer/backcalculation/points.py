"""Back-calculated points: a case whose data drive the model, and what it computes from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError, EstimicaError, InferError
from estimica.base.problems import raise_all
from estimica.base.quantities import Quantity
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.structure.causality.redefinition import BackCausality
from estimica.study.case import Case, InputColumn
from estimica.study.record.samples import data_of, examine, stamps_of
from estimica.study.study import Study

#: problems of cases that do not matter where nothing is compared
_NOT_NEEDED = ("C004",)


@dataclass(frozen=True)
class FailedPoint:
    """A point that could not be computed: its number in the data, or its time."""

    case: str
    point: float
    message: str


@dataclass(frozen=True, eq=False)
class CasePoints:
    """The points of one case; `stamps` are numbers counted from 0, or times."""

    case: str
    stamps: Vector
    values: Mapping[str, Vector]
    units: Mapping[str, str]
    failed: tuple[FailedPoint, ...]
    inputs: tuple[str, ...] = ()  # what the data drive: the case's inputs, and outputs it needs


def points_of(
    model: Model,
    case: Case,
    parameters: Mapping[str, float],
    compute: Sequence[str],
    against: Sequence[str],
    options: object = None,
) -> CasePoints:
    """What the model computes at every point of a case; a point that fails is told, not raised."""
    data = data_of(case)
    known = {q.name: q for q in model.quantities()}
    signals = _signals(case, model.has_time, known)
    stamps = stamps_of(case, has_time=model.has_time)
    counts = _counting(case, stamps, signals, model.has_time)
    if not counts.any():
        raise CaseError("C010", f"case '{case.name}': no point has all inputs")
    asked = [n for n in dict.fromkeys([*compute, *against]) if n not in signals and n in known]
    columns, units = _columns(case, data, [n for n in against if n not in known], known)
    where = stamps[counts]
    computed, failures = _computed(model, case, parameters, asked, where, signals, options)
    values = {n: _sampled(s, where) for n, s in signals.items()}
    values |= dict(zip(asked, computed.T, strict=True))
    values |= {n: x[counts] for n, x in columns.items()}
    units = {n: known[n].unit for n in values if n in known} | units
    failed = tuple(
        FailedPoint(case.name, float(where[k]), message) for k, message in failures.items()
    )
    return CasePoints(case.name, where, values, units, failed, tuple(signals))


def driven(case: Case, names: Collection[str]) -> Case:
    """The case with those of its measured outputs as further inputs."""
    outputs = {
        n: InputColumn(c.column, scale=c.scale, offset=c.offset, unit=c.unit, unwrap=c.unwrap)
        for n, c in case.columns_of_outputs.items()
        if n in names and n not in case.inputs
    }
    return replace(case, inputs={**case.inputs, **outputs}, outputs={})


def _signals(case: Case, has_time: bool, known: Mapping[str, Quantity]) -> dict[str, Signal]:
    found, problems = examine(replace(case, outputs={}), has_time=has_time, known=known)
    raise_all([p for p in problems if p.code not in _NOT_NEEDED])
    assert found is not None
    return dict(found.inputs)


def _counting(case: Case, stamps: Vector, signals: Mapping[str, Signal], has_time: bool) -> Flags:
    """The rows that count; without time those that have a value of every input."""
    counts = np.ones(len(stamps), bool)
    if not has_time:
        for signal in signals.values():
            if len(signal.time) > 1:
                counts &= np.isin(stamps, signal.time)
    elif signals:
        begin = max((s.time[0] for s in signals.values() if len(s.time) > 1), default=stamps[0])
        counts &= stamps >= begin
    if case.begin_time is not None:
        counts &= stamps >= case.begin_time
    return counts & case.with_seconds(data_of(case)).counts(stamps)


def _sampled(signal: Signal, where: Vector) -> Vector:
    if len(signal.time) == 1:
        return np.full(len(where), signal.value[0])
    return np.asarray(signal.at(where))


def _columns(
    case: Case, data: Data, names: Sequence[str], known: Mapping[str, object]
) -> tuple[dict[str, Vector], dict[str, str]]:
    """Names that the model does not have, taken from the data."""
    for name in names:
        if name not in data.columns and name not in data.texts:
            hint = did_you_mean(name, [*known, *data.names])
            raise InferError(
                "I610",
                f"against '{name}': neither the model nor {data.where} of case '{case.name}' "
                f"has it{hint or f'; columns: {chr(44).join(data.names)}'}",
            )
    columns = {n: data.column(n) for n in names}
    return columns, {n: data.units.get(n, "") for n in names}


# --- evaluation ----------------------------------------------------------------------------------


def _computed(
    model: Model,
    case: Case,
    parameters: Mapping[str, float],
    names: Sequence[str],
    where: Vector,
    signals: Mapping[str, Signal],
    options: object,
) -> tuple[Vector, dict[int, str]]:
    """(values, {point: why it failed}); where a model has no time, each point fails alone."""
    from estimica.simulate.points.response import PointRun

    values = np.full((len(where), len(names)), np.nan)
    failures: dict[int, str] = {}
    if not names:
        return values, failures
    known = case.begin_time if model.has_time else None
    begin = float(where[0]) if known is None else known

    def evaluate(part: range) -> None:
        rows = slice(part.start, part.stop)
        run = model.response(
            where[rows],
            dict(signals),
            {**parameters, **case.fixed},
            outputs=list(names),
            begin=begin if model.has_time else None,
            options=options,
        ).at()
        good = np.asarray(np.isfinite(run.Y).all(axis=1))
        if run.ok and good.all():
            values[rows] = run.Y
        elif model.has_time:
            values[rows] = np.where(good[:, None], run.Y, np.nan)
            failures.update({part.start + int(k): run.text for k in np.flatnonzero(~good)})
            if not run.ok and good.all():
                failures[part.stop - 1] = run.text
        elif isinstance(run, PointRun):  # which knows its points one by one
            values[rows] = np.where(good[:, None], run.Y, np.nan)
            failures.update({int(np.searchsorted(where, f.number)): f.text for f in run.failures})
        elif len(part) == 1:
            failures[part.start] = run.text
        else:
            middle = part.start + len(part) // 2
            evaluate(range(part.start, middle))
            evaluate(range(middle, part.stop))

    try:
        evaluate(range(len(where)))
    except EstimicaError as error:
        raise type(error)(error.code, f"case '{case.name}': {error.message}") from None
    return values, failures


def model_of(study: Study, case: Case, compute: Sequence[str], leave_out: Sequence[str]) -> Model:
    """The model that computes `compute` from the inputs of a case."""
    from estimica.simulate.modelica.component import back_model
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.simulate.modelica.operating_points import PointModel

    model = study.model
    causality = BackCausality(
        tuple(case.inputs), tuple(compute), tuple(leave_out), tuple(case.columns_of_outputs)
    )
    if isinstance(model, ModelicaModel):
        return back_model(model, causality)
    if isinstance(model, PointModel):
        turned = back_model(model.model, causality)
        return model if turned is model.model else PointModel(turned, model.settings)
    known = {q.name: q for q in model.quantities()}
    for name in compute:
        if name not in known:
            raise InferError(
                "I611",
                f"compute '{name}': '{model.name}' has no such variable"
                f"{did_you_mean(name, list(known))}",
            )
        if known[name].role in ("parameter", "constant"):
            raise InferError(
                "I612",
                f"compute '{name}': it is a parameter of a formula; write the formula solved for "
                f'it, as expression = {{ {name} = "…" }}',
            )
        if known[name].role == "input":
            raise InferError("I613", f"compute '{name}': it is given by the data already")
    return model


def model_and_case(
    study: Study, case: Case, compute: Sequence[str], leave_out: Sequence[str]
) -> tuple[Model, Case]:
    """The model and the case that drives it; where its inputs do not suffice, outputs too."""
    if case.staging:
        raise InferError(
            "I622",
            f"case '{case.name}' begins in the steady state or has changes, which a calculation "
            "backwards cannot follow; leave them out",
        )
    model = model_of(study, case, compute, leave_out)
    given = {q.name for q in model.quantities() if q.role == "input"}
    return model, driven(case, given)
