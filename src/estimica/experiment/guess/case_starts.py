"""Case starts: start values of tuners from steps or frequency responses in the data of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.experiment.guess.bode.run import bode_guess
from estimica.experiment.guess.bode.starts import BodeSetting, bode_starts
from estimica.experiment.guess.step.run import FirstGuess, step_guesses
from estimica.experiment.guess.step.starts import StepSetting, step_starts
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.record.conversion import in_model_units
from estimica.study.record.frequency import examine_response
from estimica.study.record.stamps import time_scale


@dataclass(frozen=True)
class CaseStart:
    """A start value of a tuner, and where it comes from in words."""

    value: float
    source: str


def case_starts(
    model: Model, cases: Sequence[Case], candidates: Sequence[str]
) -> dict[str, CaseStart]:
    """Start values for those of the `candidates` that clear steps or Bode plots give.

    Only steps whose answer settles and corners within the measured frequencies count; the first
    case that says something about a tuner; and no values outside its bounds.
    """
    bounds = {q.name: (q.min, q.max) for q in model.quantities()}
    starts: dict[str, CaseStart] = {}
    for case in cases if model.has_time else ():
        note = (
            _of_response(model, case, candidates)
            if case.is_frequency
            else _of_steps(model, case, candidates)
        )
        for name, start in note:
            low, high = bounds[name]
            if low <= start.value <= high:
                starts.setdefault(name, start)
    return starts


def _of_steps(
    model: Model, case: Case, candidates: Sequence[str]
) -> Iterator[tuple[str, CaseStart]]:
    data = _in_units_of_the_model(case, model)
    if data is None:
        return
    inputs = [n for n in case.inputs if n in data.columns]
    outputs = [n for n in case.outputs if n in data.columns]
    for guess in step_guesses(data, inputs, outputs):
        if guess.notes:
            continue
        setting = StepSetting(guess.record.input, guess.record.output, _rest(data, guess, inputs))
        for name, start in step_starts(model, guess, setting, candidates).items():
            source = f"{start.meaning} of the step of {setting.input} in {case.name}"
            yield name, CaseStart(start.value, source)


def _of_response(
    model: Model, case: Case, candidates: Sequence[str]
) -> Iterator[tuple[str, CaseStart]]:
    """From frequency responses; `case` may be wrong yet, which is told elsewhere."""
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    record, _ = examine_response(case, inputs)
    for measured in record.outputs if record else ():
        transfer = measured.transfer
        assert transfer is not None
        point = {n: float(v) for n, v in case.inputs.items() if isinstance(v, (int, float))}
        setting = BodeSetting(
            transfer.output, transfer.input, point, case.operating_point or "steady"
        )
        try:
            guess = bode_guess(transfer.omega, transfer.response(measured.value))
        except EstimicaError:  # too few frequencies
            continue
        if guess.notes:
            continue
        for name, start in bode_starts(model, guess, setting, candidates).items():
            source = f"{start.meaning} of the Bode plot in {case.name}"
            yield name, CaseStart(start.value, source)


def _in_units_of_the_model(case: Case, model: Model) -> Data | None:
    """The columns of a case under the names of their variables; None where they cannot be read."""
    data = case.data
    if not isinstance(data, Data):
        return None
    try:
        stamped = data.time_name(case.time)
        columns = {"time": data.column(stamped) * time_scale(case, data, stamped)}
        case = in_model_units(case, data, {q.name: q for q in model.quantities()}).case
        for name, column in {**case.inputs, **case.outputs}.items():
            if name != "time":
                values = _values(data, column)
                columns |= {} if values is None else {name: values}
    except EstimicaError:
        return None
    return Data(data.source, columns, units={"time": "s"})


def _values(data: Data, column: object) -> Vector | None:
    if isinstance(column, str):
        return data.column(column)
    if isinstance(column, (InputColumn, OutputColumn)):
        factor = 1.0 if column.scale is None else column.scale
        return factor * data.column(column.column) + (column.offset or 0.0)
    return None


def _rest(data: Data, guess: FirstGuess, inputs: Sequence[str]) -> Mapping[str, float]:
    """The inputs just before the step."""
    before = data.time() < guess.record.at
    after = data.time() >= guess.record.at

    def value(name: str) -> float:
        known = np.isfinite(data.column(name))
        if (known & before).any():
            return float(np.median(data.column(name)[known & before][-5:]))
        stepped = guess.record.size if name == guess.record.input else 0.0
        return float(data.column(name)[known & after][0]) - stepped

    return {n: value(n) for n in inputs}
