"""Record: a case with its data in the model's units: input signals, and the samples that count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError, DataError, EstimicaError
from estimica.base.magnitude import is_usable
from estimica.base.problems import Fix, Problem, raise_all
from estimica.base.quantities import Quantity
from estimica.base.signals import Hold, Signal
from estimica.base.suggest import close_names
from estimica.compiled.model.interface import Model
from estimica.data.readers import as_data, read_table
from estimica.data.table import Data
from estimica.data.tidy import tidied
from estimica.study.case import Case, InputColumn, OutputColumn, Sigma, StartValue
from estimica.study.prefilter import Prefilter
from estimica.study.reading import Reading
from estimica.study.record.codes import code_problems
from estimica.study.record.columns import first_of_replicates, with_scaling
from estimica.study.record.conversion import UnitChange, in_model_units, time_change, time_problems
from estimica.study.record.noise import Censoring, Distribution, SigmaFormula, noise_model
from estimica.study.record.prefilter import prefilter_system
from estimica.study.record.repeated import repeated_stamps
from estimica.study.record.stamps import origin_of, require_magnitude, stamps
from estimica.study.record.transfer import Transfer
from estimica.study.record.transform import Transform, transform_of
from estimica.study.shared_columns import NO_COLUMNS, SharedColumns


@dataclass(frozen=True, eq=False)
class MeasuredOutput:
    """The samples of one output that count, each at its own time."""

    name: str
    column: str
    unit: str  # of the column, after scaling; empty where the file does not say
    time: Vector
    value: Vector
    weight: float | None
    sigma: float | Sigma | SigmaFormula | None
    transform: Transform | None
    disturbance: StartValue | None
    is_input: bool = False  # an input that was measured with errors
    #: of a frequency response, whose values are real and imaginary parts in turn
    transfer: Transfer | None = None
    prefilter: Prefilter | None = None
    #: standard deviation of each sample, over `sigma`; none: all alike
    relative: Vector | None = None
    limits: Censoring | None = None  # beyond which samples are censored: their value is the limit
    distribution: Distribution = "normal"

    @property
    def is_modelled(self) -> bool:
        """Whether its noise is more than one normal level, known or estimated."""
        formula = isinstance(self.sigma, SigmaFormula)
        return formula or self.limits is not None or self.distribution != "normal"

    @property
    def beyond(self) -> npt.NDArray[np.int8] | None:
        """−1 for samples that lie at or below their detection limit, 1 for those above theirs."""
        if self.limits is None:
            return None
        above, below = self.limits.above(self.value), self.limits.below(self.value)
        return above.astype(np.int8) - below.astype(np.int8)

    @property
    def censored(self) -> Flags:
        """Which samples are only known to lie beyond a detection limit."""
        if self.limits is None:
            return np.zeros(len(self.value), bool)
        return self.limits.censored(self.value)

    def with_values(self, value: Vector) -> MeasuredOutput:
        """The same with other measured values, of which no more is known beyond the limits."""
        return replace(self, value=value if self.limits is None else self.limits.seen(value))

    @property
    def rms(self) -> float:
        """Root mean square of what is compared; 1 for a signal that is zero throughout."""
        compared = self.value if self.transform is None else self.transform.value(self.value)
        if not len(compared):
            return 1.0
        mean = float(np.mean(compared**2))
        return math.sqrt(2 * mean if self.transfer else mean) or 1.0  # of a response: |G|

    @property
    def variation(self) -> float:
        """Standard deviation of what is compared, whatever its offset; the RMS if it is constant.

        A frequency response has no offset: its mean says as much as the rest.
        """
        if self.transfer is not None or not len(self.value):
            return self.rms
        compared = self.value if self.transform is None else self.transform.value(self.value)
        return float(np.std(compared)) or self.rms

    def kept(self, chosen: Flags) -> MeasuredOutput:
        """The same with the chosen samples only; of a response both parts or none."""
        transfer = self.transfer and self.transfer.kept(chosen[::2])
        return replace(
            self,
            time=self.time[chosen],
            value=self.value[chosen],
            transfer=transfer,
            sigma=self.sigma.kept(chosen) if isinstance(self.sigma, SigmaFormula) else self.sigma,
            relative=None if self.relative is None else self.relative[chosen],
            limits=self.limits and self.limits.kept(chosen),
        )


@dataclass(frozen=True, eq=False)
class Record:
    """One experiment, ready for simulation; `begin` is where the simulation starts."""

    case: Case
    begin: float
    inputs: Mapping[str, Signal]
    outputs: tuple[MeasuredOutput, ...]
    uncertain: tuple[MeasuredOutput, ...] = ()  # inputs whose errors are estimated
    notes: tuple[str, ...] = ()  # what of the data does not count
    changes: tuple[UnitChange, ...] = ()  # columns that were converted by themselves
    origin: str = ""  # the instant of 0 s where its stamps are dates
    warnings: tuple[Problem, ...] = ()  # what a fit to it has to tell

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What does not count, and what was converted."""
        return (*self.notes, *(c.text for c in self.changes))

    @property
    def is_frequency(self) -> bool:
        """Whether it holds frequency responses."""
        return self.case.is_frequency

    @property
    def n_samples(self) -> int:
        """Samples that count, of all outputs."""
        return sum(len(m.time) for m in self.outputs)


def record_for(case: Case, model: Model, shared: SharedColumns = NO_COLUMNS) -> Record:
    """The data of a case in the units of a model; every problem with them is told at once.

    `shared` is what the study says of columns for all cases.
    """
    known = {q.name: q for q in model.quantities()}
    return record(case, has_time=model.has_time, known=known, shared=shared)


def record(
    case: Case,
    *,
    has_time: bool = True,
    inputs: Sequence[str] = (),
    known: Mapping[str, Quantity] | None = None,
    shared: SharedColumns = NO_COLUMNS,
) -> Record:
    """The data of a case; every problem with them is told at once.

    Without time, the rows are numbered and inputs have one value for each row. `inputs` are those
    of the model, one of which a frequency response belongs to; `known` are all its quantities, to
    whose units columns are converted.
    """
    measured, problems = examine(case, has_time=has_time, inputs=inputs, known=known, shared=shared)
    raise_all(problems)
    assert measured is not None
    return measured


def data_of(case: Case) -> Data:
    """The table of a case, read where it is a path."""
    if case.data is None:
        raise CaseError("C095", "'data' is missing; write data = \"file.csv\"")
    if isinstance(case.data, Data):
        if case.reading is None:
            return case.data
        return tidied(case.data, case.reading.options(case.time))
    if isinstance(case.data, (str, Path)):
        reading = case.reading or Reading()
        return read_table(Path(case.data), case.sheet, reading.options(case.time))
    return as_data(case.data)


def examine(
    case: Case,
    *,
    has_time: bool = True,
    inputs: Sequence[str] = (),
    known: Mapping[str, Quantity] | None = None,
    shared: SharedColumns = NO_COLUMNS,
) -> tuple[Record | None, list[Problem]]:
    """Like `record`, with the problems as values; where nothing is `known`, units stay."""
    if case.is_frequency:
        from estimica.study.record.frequency import examine_response

        driven = [n for n, q in (known or {}).items() if q.role == "input"]
        return examine_response(case, [*inputs, *driven], shared)
    return _examine(case, has_time, known or {}, shared)


#: codes of a column that is not in the data, or holds no numbers
_NO_COLUMN = ("D004", "D006")


def column_problem(
    error: EstimicaError, case: Case, word: str, name: str, shared: SharedColumns, data: Data
) -> Problem:
    """What is wrong with an input or output, and with which line where all cases share it."""
    where, message = f"case '{case.name}'", f"{word} '{name}': {error.message}"
    if error.code not in _NO_COLUMN:
        return Problem(error.code, where, message)
    advice = shared.advice(case, name)
    place = ("columns", name) if advice else ()
    fixes = [*_other_columns(case, word, name, data, bool(advice))]
    if advice:
        fixes.append(Fix("Leave it out in this case", word, name, leaves_out=True))
    return Problem(error.code, where, message, advice, place=place, fixes=tuple(fixes))


def _other_columns(case: Case, word: str, name: str, data: Data, is_shared: bool) -> Iterator[Fix]:
    """Columns that are called alike, in place of one that is not there."""
    table = case.columns_of_inputs if word == "input" else case.columns_of_outputs
    given = table.get(name)
    if not isinstance(given, InputColumn | OutputColumn):
        return
    for near in close_names(given.column, data.names):
        label = f"Take column {near}" + (" in this case" if is_shared else "")
        yield Fix(label, word, name, (("column", near),), in_case=is_shared)


def _examine(
    case: Case, has_time: bool, known: Mapping[str, Quantity], shared: SharedColumns
) -> tuple[Record | None, list[Problem]]:
    where, written = f"case '{case.name}'", case
    try:
        data = data_of(case)
        case = case.with_seconds(data)
        time = stamps(case, data, has_time)
    except (DataError, CaseError) as error:
        advice = shared.advice_on_time(case) if error.code in _NO_COLUMN else ""
        place = ("columns", "time") if advice else ()
        return None, [Problem(error.code, where, error.message, advice, place=place)]
    converted = in_model_units(case, data, known)
    case, changes, problems = converted.case, converted.changes, list(converted.problems)
    if has_time:
        stamped = data.time_name(case.time)
        change = time_change(case, data, stamped)
        changes = changes if change is None else (*changes, change)
        problems += time_problems(case, data, stamped)
    begin = float(time[0]) if case.begin_time is None else case.begin_time
    inputs: dict[str, Signal] = {}
    outputs: list[MeasuredOutput] = []
    for name, given in case.columns_of_inputs.items():
        try:
            inputs[name] = _input(given, data, time)
        except EstimicaError as error:
            problems.append(column_problem(error, written, "input", name, shared, data))
    complete = np.ones(len(time), bool)
    if not has_time:
        for name, signal in inputs.items():
            problems += _gaps(where, name, signal, complete)
    for name, column in case.columns_of_outputs.items():
        try:
            outputs.append(_output(case, name, column, data, time, begin, complete, inputs))
            _check_prefilter(outputs[-1], has_time)
        except EstimicaError as error:
            problems.append(column_problem(error, written, "output", name, shared, data))
    if not case.outputs:
        problems.append(
            Problem("C004", where, "has no outputs", "say which variables were measured")
        )
    uncertain = _uncertain(case, data, inputs, outputs)
    if uncertain and has_time:
        problems += [_timed(where, m.name) for m in uncertain]
    problems += code_problems(case, data, _columns(case))
    ignored = ignored_cell_problems(where, data, _columns(case)) + _overflowing(where, case, data)
    notes = tuple(p.message for p in ignored)
    origin = origin_of(case, data) if has_time else ""
    repeated = repeated_stamps(case, data, time) if has_time else None
    warnings = () if repeated is None else (repeated,)
    own = Record(case, begin, inputs, tuple(outputs), uncertain, notes, changes, origin, warnings)
    return own, [*problems, *ignored, *warnings]


def _columns(case: Case) -> list[str]:
    """The columns that inputs and outputs are taken from."""
    inputs = [c.column for c in case.columns_of_inputs.values() if isinstance(c, InputColumn)]
    return list(dict.fromkeys([*inputs, *(c.column for c in case.columns_of_outputs.values())]))


def ignored_cell_problems(where: str, data: Data, columns: Sequence[str]) -> list[Problem]:
    """Cells of these columns that hold something which is not a number."""
    cells = [(name, data.gaps(name)) for name in columns]
    return [
        Problem(
            "C096",
            where,
            f"column '{name}' of {data.where}: {gaps.in_words}; no sample is taken there",
            warning=True,
        )
        for name, gaps in cells
        if gaps
    ]


def _overflowing(where: str, case: Case, data: Data) -> list[Problem]:
    """Numbers that scale and offset make too large."""
    given = [*case.columns_of_inputs.values(), *case.columns_of_outputs.values()]
    problems = []
    for one in given:
        if not isinstance(one, InputColumn | OutputColumn) or one.column not in data.columns:
            continue
        value = data.columns[one.column]
        lost = np.flatnonzero(is_usable(value) & ~np.isfinite(with_scaling(one, value)))
        if len(lost):
            message = (
                f"column '{one.column}': scale and offset make {len(lost)} values too large to "
                f"compute with, the first in row {lost[0] + 1}; no sample is taken there"
            )
            problems.append(Problem("C097", where, message, warning=True))
    return problems


def _timed(where: str, name: str) -> Problem:
    message = f"input '{name}': errors of an input are estimated in static studies only"
    return Problem("C036", where, message, "leave sigma of the input out")


def _uncertain(
    case: Case, data: Data, inputs: Mapping[str, Signal], outputs: Sequence[MeasuredOutput]
) -> tuple[MeasuredOutput, ...]:
    """Inputs with errors, at the points at which some output counts."""
    uncertain = []
    points = np.unique(np.concatenate([m.time for m in outputs])) if outputs else np.zeros(0)
    for name, given in case.columns_of_inputs.items():
        if isinstance(given, InputColumn) and given.sigma is not None and name in inputs:
            value = inputs[name].at(points)
            unit = _unit(given, data)
            one = MeasuredOutput(
                name, given.column, unit, points, value, None, given.sigma, None, None, True
            )
            uncertain.append(one)
    return tuple(uncertain)


def _gaps(where: str, name: str, signal: Signal, complete: Flags) -> list[Problem]:
    """Points without a value of an input, which are marked as not complete."""
    if len(signal.time) in (1, len(complete)):
        return []
    given = np.zeros(len(complete), bool)
    given[signal.time.astype(int)] = True
    complete &= given
    missing = len(complete) - len(signal.time)
    message = f"input '{name}' is missing at {missing} of {len(complete)} points; they do not count"
    return [Problem("C035", where, message, warning=True)]


def _input(given: float | InputColumn, data: Data, time: Vector) -> Signal:
    if not isinstance(given, InputColumn):
        return Signal.constant(given)
    value = with_scaling(given, data.column(given.column))
    sampled = np.isfinite(value) & first_of_replicates(given.column, data.source, time, value)
    if not sampled.any():
        raise CaseError("C009", f"column '{given.column}' of '{data.source}' has no samples")
    if given.hold is Hold.SPLINE and sampled.sum() < 4:
        raise CaseError("C016", f"column '{given.column}': a spline needs at least 4 samples")
    if sampled.all():
        return Signal(time, value, given.hold)
    return Signal(time[sampled], value[sampled], given.hold)


def _output(
    case: Case,
    name: str,
    given: OutputColumn,
    data: Data,
    time: Vector,
    begin: float,
    complete: Flags,
    inputs: Mapping[str, Signal],
) -> MeasuredOutput:
    value = with_scaling(given, data.column(given.column))
    counts = np.isfinite(value) & (time >= begin) & complete
    counts &= case.counts(time)
    if not counts.any():
        raise CaseError(
            "C010",
            f"no sample of column '{given.column}' counts; look at from, to, exclude and begin, "
            f"the time runs from {time[0]:g} to {time[-1]:g}",
        )
    require_magnitude(f"column '{given.column}'", value[counts], "scale")
    transform = None if given.transform is None else transform_of(given.transform)
    kept = value if counts.all() else value[counts]
    noise = noise_model(given, data, time, counts, inputs)
    if noise.limits is not None:
        kept = noise.limits.seen(kept)
    if transform is not None:
        transform.require(kept, given.column)
    disturbance = given.disturbance
    free = StartValue(start=0.0) if disturbance is True else disturbance or None
    return MeasuredOutput(
        name,
        given.column,
        _unit(given, data),
        time if counts.all() else time[counts],
        kept,
        given.weight,
        noise.sigma,
        transform,
        free,
        prefilter=given.prefilter or case.prefilter,
        relative=noise.relative,
        limits=noise.limits,
        distribution=noise.distribution,
    )


def _unit(given: InputColumn | OutputColumn, data: Data) -> str:
    """The unit of a column after scaling: as the study says, or as the file where it is kept."""
    if given.unit is not None:
        return given.unit
    kept = given.scale is None and given.offset is None
    return data.units.get(given.column, "") if kept else ""


def _check_prefilter(measured: MeasuredOutput, has_time: bool) -> None:
    if measured.prefilter is None:
        return
    if not has_time:
        raise CaseError(
            "C094", "a prefilter needs time, and here each point stands alone; leave it out"
        )
    if (np.diff(measured.time) == 0).any():
        raise CaseError(
            "C094",
            "a prefilter runs along time, and here samples stand at one time stamp; leave it out, "
            "or average them",
        )
    prefilter_system(measured.prefilter, measured.time)


def stamps_of(case: Case, *, has_time: bool = True) -> Vector:
    """The times of all rows of a case's data; the rows' numbers where there is no time."""
    return stamps(case, data_of(case), has_time)
