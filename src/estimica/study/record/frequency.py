"""The record of a frequency case: complex responses in rising order of their frequencies."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import CaseError, DataError, EstimicaError
from estimica.base.magnitude import LARGEST, is_usable
from estimica.base.problems import Problem
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.data.table import Data
from estimica.study.case import Case
from estimica.study.fields.noise import Sigma
from estimica.study.record.samples import (
    MeasuredOutput,
    Record,
    column_problem,
    data_of,
    ignored_cell_problems,
)
from estimica.study.record.transfer import Transfer
from estimica.study.response_columns import ResponseColumns
from estimica.study.shared_columns import NO_COLUMNS, SharedColumns
from estimica.study.units import (
    UnknownUnit,
    conversion,
    known_units,
    normalised_spelling,
    parse_unit,
)

_ANGULAR = ("1/s", "s-1", "s^-1", "1/sec")


@dataclass(frozen=True, eq=False)
class _Axis:
    """The frequencies of a file: in the user's unit, and the factor to rad/s."""

    column: str
    value: Vector
    hertz: bool

    @property
    def omega(self) -> Vector:
        return self.value * (2 * math.pi if self.hertz else 1.0)


def examine_response(
    case: Case, inputs: Sequence[str], shared: SharedColumns = NO_COLUMNS
) -> tuple[Record | None, list[Problem]]:
    """The record of a frequency case, and what is wrong with it."""
    where = f"case '{case.name}'"
    try:
        data = data_of(case)
        axis = _axis(case, data)
    except (DataError, CaseError) as error:
        return None, [Problem(error.code, where, error.message)]
    problems: list[Problem] = []
    outputs: list[MeasuredOutput] = []
    for name, columns in case.columns_of_responses.items():
        try:
            outputs.append(_measured(case, name, columns, data, axis, inputs))
        except EstimicaError as error:
            problems.append(column_problem(error, case, "output", name, shared, data))
    if not case.outputs:
        message = "has no outputs"
        problems.append(Problem("C004", where, message, "say which responses were measured"))
    point = {n: Signal.constant(v) for n, v in case.inputs.items() if isinstance(v, float)}
    responses = case.columns_of_responses.values()
    used = [c for r in responses for c in (*r.columns, r.sigma) if isinstance(c, str)]
    ignored = ignored_cell_problems(where, data, list(dict.fromkeys(used)))
    notes = tuple(p.message for p in ignored)
    return Record(case, 0.0, point, tuple(outputs), notes=notes), problems + ignored


def transfer_of(
    case: Case, name: str, columns: ResponseColumns, inputs: Sequence[str]
) -> tuple[str, str]:
    """(output, input) of a response: named, or the only input that there is."""
    output, _, named = name.rpartition("/") if "/" in name else (name, "", "")
    given = columns.input or named
    for known in (list(case.inputs), list(inputs)):
        if not given and len(known) == 1:
            given = known[0]
    if not given and inputs:
        raise CaseError(
            "C048", f"say which input was excited, as in input = \"{inputs[0]}\" "
            f"(there are {', '.join(inputs)})",
        )  # fmt: skip
    if given and inputs and given not in inputs:
        hint = did_you_mean(given, inputs) or f"; there are {', '.join(inputs)}"
        raise CaseError("C049", f"the model has no input '{given}'{hint}")
    return output, given


def _axis(case: Case, data: Data) -> _Axis:
    hertz = case.frequency is not None
    name = case.frequency or case.angular_frequency or ""
    value = data.column(name)
    if not len(value):
        raise CaseError("C005", f"{data.where} holds no rows")
    bad = np.flatnonzero(~(is_usable(value) & (value >= 0)))
    if len(bad):
        k = int(bad[0])
        raise CaseError(
            "C050",
            f"frequency '{name}' of {data.where} is {value[k]:g} in row {k + 1}; it must be a "
            f"number that is not negative and at most {LARGEST:g}",
        )
    return _Axis(name, value * _factor(name, data, hertz), hertz)


def _factor(name: str, data: Data, hertz: bool) -> float:
    """From kHz or the like to Hz; a file in rad/s is told apart from one in Hz."""
    unit, wanted = data.units.get(name, ""), "Hz" if hertz else "rad/s"
    if not unit:
        return 1.0
    where = f"frequency '{name}' of {data.where} is in {unit}"
    # 1/s alone is how files write rad/s; who means turns writes Hz or 1/min
    read_as = "rad/s" if normalised_spelling(unit) in _ANGULAR else unit
    try:
        turns = not parse_unit(normalised_spelling(read_as)).of_angles
        change = conversion(read_as, "Hz" if turns else "rad/s")
    except UnknownUnit as unknown:
        hint = did_you_mean(str(unknown), known_units())
        raise CaseError(
            "C058", f"{where}, which is not a unit known here{hint}; write {wanted} in its header"
        ) from None
    if change is None:
        raise CaseError("C058", f"{where}, which is not a frequency; take another column")
    if turns != hertz:
        other = "angular_frequency" if hertz else "frequency"
        raise CaseError("C051", f'{where}, not in {wanted}; write {other} = "{name}"')
    return change.scale


def _measured(
    case: Case,
    name: str,
    columns: ResponseColumns,
    data: Data,
    axis: _Axis,
    inputs: Sequence[str],
) -> MeasuredOutput:
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large does not count
        response = _response(columns, data)
    amplitude, sigma = _amplitude(columns, data, response)
    counts = is_usable(np.abs(response)) & is_usable(amplitude)
    counts &= case.counts(axis.value)
    if not counts.any():
        low, high = float(axis.value.min()), float(axis.value.max())
        raise CaseError(
            "C010",
            f"no sample of column '{columns.columns[0]}' counts; look at from, to and exclude, the "
            f"frequency runs from {low:g} to {high:g}",
        )
    kept = np.flatnonzero(counts)
    order = kept[np.argsort(axis.omega[kept], kind="stable")]
    output, excited = transfer_of(case, name, columns, inputs)
    transfer = Transfer(output, excited, axis.omega[order], amplitude[order], axis.hertz)
    units = [data.units.get(c, "") for c in columns.columns]
    unit = units[0] if columns.scale is None and units[0] != "dB" else ""
    return MeasuredOutput(
        f"{output}/{excited}" if excited else output,
        columns.text,
        columns.unit if columns.unit is not None else unit,
        np.repeat(axis.value[order], 2),
        transfer.weighted(response[order]),
        columns.weight,
        sigma,
        None,
        None,
        transfer=transfer,
    )


def _require_complex(columns: ResponseColumns, data: Data) -> None:
    """The short form, `y = "Z"`, names a column of complex numbers."""
    short = re.fullmatch(r"Re\((.*)\)", columns.real or "")
    plain = short.group(1) if short else ""
    if plain in data.names and columns.imag == f"Im({plain})" and columns.real not in data.names:
        raise CaseError(
            "C055",
            f"column '{plain}' of {data.where} holds no complex numbers; write both parts, as in "
            f'{{ real = "{plain}", imag = "…" }} or {{ magnitude = "…", phase = "…" }}',
        )


def _response(columns: ResponseColumns, data: Data) -> Complex:
    _require_complex(columns, data)
    first, second = (data.column(c) for c in columns.columns)
    if columns.real is not None:
        imag = second if columns.imag_scale is None else second * columns.imag_scale
        response = first + 1j * imag
    else:
        size = 10 ** (first / 20) if columns.magnitude_unit == "dB" else first
        angle = np.deg2rad(second) if columns.phase_unit == "deg" else second
        if (size[np.isfinite(size)] < 0).any():
            raise CaseError(
                "C052",
                f"column '{columns.magnitude}' is negative; if it is in decibels, write "
                'magnitude_unit = "dB"',
            )
        response = size * np.exp(1j * angle)
    return np.asarray(response * (1.0 if columns.scale is None else columns.scale), np.complex128)


def _amplitude(
    columns: ResponseColumns, data: Data, response: Complex
) -> tuple[Vector, float | Sigma | None]:
    """The factor of every frequency, and the noise of what it multiplies."""
    amplitude = np.ones(len(response))
    if columns.weighting == "relative":
        with np.errstate(divide="ignore"):
            amplitude = 1 / np.abs(response)
    elif columns.weighting != "uniform":
        hint = did_you_mean(columns.weighting, ("uniform", "relative"))
        if hint and columns.weighting not in data.names:
            raise CaseError("C056", f"weighting '{columns.weighting}' is not a column{hint}")
        amplitude = _positive(data, columns.weighting, "weighting")
    sigma = columns.sigma
    if isinstance(sigma, Sigma) and sigma.column is not None:
        sigma = sigma.column
    if not isinstance(sigma, str):
        return amplitude, sigma
    if columns.weighting != "uniform":
        raise CaseError(
            "C053",
            f"a column of sigma weighs every frequency already; leave weighting "
            f"'{columns.weighting}' out",
        )
    return 1 / _positive(data, sigma, "sigma"), 1.0


def _positive(data: Data, column: str, what: str) -> Vector:
    value = data.column(column)
    bad = np.flatnonzero(value <= 0)
    if len(bad):
        raise CaseError(
            "C054",
            f"{what} '{column}' of {data.where} is {value[bad[0]]:g} in row {bad[0] + 1}; it "
            "must be positive",
        )
    return value
