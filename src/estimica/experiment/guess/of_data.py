"""A first guess from a table: from a step over time, or from a frequency response."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from estimica.base.errors import ExperimentError
from estimica.base.problems import raise_all
from estimica.base.suggest import did_you_mean
from estimica.data.table import Data
from estimica.experiment.guess.bode.run import BodeGuess, bode_guess
from estimica.experiment.guess.step.run import FirstGuess, first_guess
from estimica.study.case import Case
from estimica.study.draft.columns import Spectrum, keys_of_spectrum, spectrum_of, time_column
from estimica.study.record.frequency import examine_response
from estimica.study.response_columns import ResponseColumns

_PARTS = ("real", "imag", "magnitude", "phase")
_AXES = ("frequency", "angular_frequency")


@dataclass(frozen=True, kw_only=True)
class GuessColumns:
    """What of a table is looked at; what is not said is found where it is clear.

    The first six are of a step, the others of a frequency response.
    """

    input: str | None = None
    output: str | None = None
    time: str | None = None
    at: float | None = None
    size: float | None = None
    until: float | None = None
    frequency: str | None = None  # in Hz, or as its unit says
    angular_frequency: str | None = None
    real: str | None = None
    imag: str | None = None
    magnitude: str | None = None
    phase: str | None = None
    magnitude_unit: str | None = None  # "1" or "dB"
    phase_unit: str | None = None  # "deg" or "rad"

    @property
    def of_response(self) -> bool:
        """Whether they speak of a frequency response."""
        return any(getattr(self, f.name) is not None for f in fields(self)[6:])

    @property
    def of_step(self) -> bool:
        """Whether they speak of a step."""
        return any(getattr(self, f.name) is not None for f in fields(self)[:6])


def guess_of_data(data: Data, columns: GuessColumns) -> FirstGuess | BodeGuess:
    """Gain, time constant and delay from what the table holds: a step or a frequency response."""
    if columns.of_response and columns.of_step:
        raise ExperimentError(
            "W036", "columns of a step and of a frequency response are named together; name one"
        )
    spectrum = None if columns.of_step else spectrum_of(data)
    if columns.of_response or spectrum is not None:
        return _of_response(data, columns, spectrum)
    output, input_ = step_columns(data, columns)
    return first_guess(
        data,
        input_,
        output,
        at=columns.at,
        size=columns.size,
        until=columns.until,
        time=columns.time,
    )


def step_columns(data: Data, columns: GuessColumns) -> tuple[str, str | None]:
    """(output, input): of two columns the input is that with fewer different values."""
    stamps = columns.time or time_column(data)
    names = [n for n in data.names if n != stamps]
    for what in ("input", "output"):
        given = getattr(columns, what)
        if given is not None and given not in names:
            hint = did_you_mean(given, names) or f"; there are {', '.join(names) or 'none'}"
            raise ExperimentError("W037", f"{what}: no column '{given}' in {data.where}{hint}")
    told = columns.at is not None and columns.size is not None
    rest = [n for n in names if n not in (columns.input, columns.output)]
    output, input_ = columns.output, columns.input
    if output is None and input_ is None and len(names) == 2 and not told:
        rest.sort(key=lambda n: len(np.unique(data.column(n)[np.isfinite(data.column(n))])))
        input_, output = rest
    elif output is None and len(rest) == 1:
        output = rest[0]
    elif input_ is None and output is not None and len(rest) == 1 and not told:
        input_ = rest[0]
    if output is None:
        raise ExperimentError(
            "W038",
            f"say which column of {data.where} answers: output is one of "
            f"{', '.join(names) or 'none besides the time'}",
        )
    return output, input_


def _of_response(data: Data, columns: GuessColumns, spectrum: Spectrum | None) -> BodeGuess:
    keys = {n: v for n in _PARTS if (v := getattr(columns, n)) is not None}
    axis = {n: v for n in _AXES if (v := getattr(columns, n)) is not None}
    if len(axis) > 1:
        raise ExperimentError("W039", "name frequency or angular_frequency, not both")
    if not keys and spectrum is not None:
        keys = keys_of_spectrum([], data, spectrum)
        keys.pop("sigma", None)
    if not axis and spectrum is not None:
        axis = {spectrum.key: spectrum.column}
    if not axis or not keys:
        what = "the frequencies" if not axis else "real and imag, or magnitude and phase,"
        raise ExperimentError(
            "W043",
            f"say which columns of {data.where} hold {what} of the response; there are "
            f"{', '.join(data.names)}",
        )
    if "magnitude" in keys:
        units = {"magnitude_unit": columns.magnitude_unit, "phase_unit": columns.phase_unit}
        keys |= {n: u for n, u in units.items() if u is not None}
    response = ResponseColumns(**keys)
    case = Case(data.source, data, outputs={"y": response}, **axis)
    record, problems = examine_response(case, ["u"])
    raise_all([p for p in problems if not p.warning])
    assert record is not None
    measured = record.outputs[0]
    assert measured.transfer is not None
    return bode_guess(measured.transfer.omega, measured.transfer.response(measured.value))
