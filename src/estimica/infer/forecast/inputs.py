"""Future inputs: how inputs go on after the data of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.problems import raise_all
from estimica.base.signals import Hold, Signal
from estimica.base.text import listed
from estimica.data.calendar import Calendar, NotAnInstant
from estimica.data.readers import as_data, read_table
from estimica.data.table import Data
from estimica.study.case import Case, InputColumn
from estimica.study.reading import Reading
from estimica.study.record.samples import Record, examine
from estimica.study.study import Study

LAST = "last"
#: codes of a case without outputs: nothing was measured of the future
UNMEASURED = ("C004",)

#: of a record, how far its forecast goes where all inputs are held and nobody says until when.
#: Chosen: long enough to be seen beside the data, and not so long that held values mislead
SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Future:
    """Inputs over past and future, and the stamps of the forecast."""

    inputs: Mapping[str, Signal]
    stamps: Vector  # after the last measured value
    held: tuple[str, ...]  # inputs whose last value is held to the end


def future_of(
    study: Study, record: Record, given: object, until: float | str | None, hold: str | None
) -> Future:
    """What is known of the inputs of a case after its last measured value, up to `until`."""
    end = max(float(m.time[-1]) for m in record.outputs)
    later = _given_inputs(study, record, given, hold)
    signals = {
        n: s if n not in later else _continued(s, later[n], end) for n, s in record.inputs.items()
    }
    limit = None if until is None else moment(record, until)
    if limit is not None and not limit > end:
        raise InferError(
            "I861",
            f"case '{record.case.name}': until {until} is not after the last measured value at "
            f"{told(record, end)}",
        )
    ends = {n: float(s.time[-1]) for n, s in signals.items() if len(s.time) > 1}
    reach = (max if hold == LAST else min)(ends.values(), default=np.inf)
    last = limit if limit is not None else reach
    if hold == LAST and limit is None and ends and reach <= end:
        last = end + SHARE * (end - record.begin)
    if not np.isfinite(last) or (limit is None and last <= end):
        raise _open_end(record, ends, end)
    short = [n for n, e in ends.items() if e < last - 1e-9 * max(abs(last), 1.0)]
    if short and hold != LAST:
        raise InferError(
            "I863",
            f"case '{record.case.name}': {_plural('input', short)} only up to "
            f"{told(record, min(ends[n] for n in short))}, and the forecast goes to "
            f"{told(record, last)}; give later values with inputs, an earlier until, or hold = "
            '"last" to keep the last ones',
        )
    return Future(signals, _stamps(record, signals, end, last), tuple(short))


def moment(record: Record, given: float | str) -> float:
    """A time of a case in its seconds; dates where its stamps are dates."""
    try:
        return float(given)
    except ValueError:
        pass
    try:
        if not record.origin:
            raise NotAnInstant("is a date, and the stamps of the data are not; give seconds")
        return Calendar.of(record.origin).seconds(str(given))
    except NotAnInstant as error:
        raise InferError("I862", f"the forecast cannot end at '{given}': it {error}") from None


def told(record: Record, seconds: float) -> str:
    """A time as the case has it."""
    return Calendar.of(record.origin).told(seconds) if record.origin else f"{seconds:g} s"


def _open_end(record: Record, ends: Mapping[str, float], end: float) -> InferError:
    if not ends:
        return InferError(
            "I860", f"case '{record.case.name}' has no inputs that end; say until when to forecast"
        )
    return InferError(
        "I860",
        f"case '{record.case.name}': nothing is known of {_plural('input', list(ends))} after the "
        f"last measured value at {told(record, end)}; give inputs (a file or table with the "
        'columns of the case), or until and hold = "last" to keep the last values',
    )


def _plural(word: str, names: list[str]) -> str:
    quoted = listed([f"'{n}'" for n in names])
    return f"{word} {quoted}" if len(names) == 1 else f"{word}s {quoted}"


def _stamps(record: Record, signals: Mapping[str, Signal], end: float, last: float) -> Vector:
    """Those of the inputs where they have some, else as far apart as the measured ones."""
    own = [s.time[(s.time > end) & (s.time <= last)] for s in signals.values() if len(s.time) > 1]
    found = np.unique(np.concatenate([*own, [last]]))
    if len(found) > 1:
        return found
    stamps = np.unique(np.concatenate([m.time for m in record.outputs]))
    step = float(np.median(np.diff(stamps))) if len(stamps) > 1 else last - end
    count = max(int(np.ceil((last - end) / step - 1e-9)), 1)
    return np.append(end + step * np.arange(1, count), last)


def _continued(past: Signal, future: Signal, end: float) -> Signal:
    """What is given takes the place of what the data have after the last measured value."""
    first = future.time[future.time > end]
    if not len(first):
        return past
    kept = (past.time <= end) | (past.time < first[0])
    later = future.time > end
    time = np.concatenate([past.time[kept], future.time[later]])
    value = np.concatenate([past.value[kept], future.value[later]])
    return Signal(time, value, past.hold if len(past.time) > 1 else Hold.PREVIOUS)


def _given_inputs(
    study: Study, record: Record, given: object, hold: str | None
) -> dict[str, Signal]:
    if given is None:
        return {}
    case, data = record.case, _table(record.case, given)
    columns: dict[str, str | float | InputColumn] = {}
    for name, column in case.columns_of_inputs.items():
        is_column = isinstance(column, InputColumn)
        # a constant of the case may vary from now on under its own name
        if is_column and not (hold == LAST and column.column not in data.names):  # type: ignore[union-attr]
            columns[name] = column
        elif not is_column and name in data.names:
            columns[name] = InputColumn(name)
    if not columns:
        return {}
    own = replace(
        case, data=data, inputs=columns, outputs={}, exclude=(), from_=None, to=None, begin=None
    )
    known = {q.name: q for q in study.model_of(case).quantities()}
    found, problems = examine(own, known=known, shared=study.shared)
    raise_all([p for p in problems if p.code not in UNMEASURED and not p.warning])
    assert found is not None
    shift = _shift(record, found, data)
    return {n: Signal(s.time + shift, s.value, s.hold) for n, s in found.inputs.items()}


def _table(case: Case, given: object) -> Data:
    if isinstance(given, (str, PathLike)):
        reading = case.reading or Reading()
        return read_table(Path(given), None, reading.options(case.time))
    data: Any = given
    return as_data(data)


def _shift(record: Record, found: Record, data: Data) -> float:
    """Seconds by which the clock of the future table is to be moved to that of the case."""
    if bool(record.origin) != bool(found.origin):
        which, other = ("the case", "the inputs") if record.origin else ("the inputs", "the case")
        raise InferError(
            "I864",
            f"the stamps of {which} are dates and those of {other} are not ({data.where}); give "
            "both as dates, or both as numbers that go on",
        )
    if not record.origin:
        return 0.0
    there, here = Calendar.of(found.origin).origin, Calendar.of(record.origin).origin
    if (there.tzinfo is None) != (here.tzinfo is None):
        raise InferError(
            "I864",
            f"dates of one of case '{record.case.name}' and {data.where} only have a time zone; "
            "write timezone in [reading]",
        )
    return (there - here).total_seconds()
