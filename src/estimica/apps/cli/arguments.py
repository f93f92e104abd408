"""Arguments of the form NAME=VALUE, and files that stand for inputs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.data.calendar import Calendar
from estimica.data.readers import read_signal

if TYPE_CHECKING:
    from estimica.simulate.linear.model import LinearModel
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.study.study import Study

Value = float | int | bool | str
MOST_DIGITS = 18  # of an integer of 64 bits; longer ones are taken as real numbers


def assignments(option: str, texts: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ModelError("M050", f"{option} '{text}': write NAME=VALUE, as in {option} R=2")
        if name in values:
            raise ModelError(
                "M051", f"{option}: '{name}' is given twice, as {values[name]} and {value}"
            )
        values[name] = value
    return values


def numbers(option: str, texts: Sequence[str]) -> dict[str, float]:
    """`NAME=NUMBER` texts as a dictionary."""
    values = {}
    for name, value in assignments(option, texts).items():
        try:
            values[name] = float(value)
        except ValueError:
            raise ModelError("M052", f"{option} '{name}': '{value}' is not a number") from None
    return values


def values(option: str, texts: Sequence[str]) -> dict[str, Value]:
    """`NAME=VALUE` texts with numbers, true and false, and texts told apart."""
    return {name: _value(text) for name, text in assignments(option, texts).items()}


def inputs(texts: Sequence[str], hold: str) -> tuple[dict[str, object], str]:
    """`NAME=NUMBER` and `NAME=FILE[:COLUMN]` texts as inputs of a simulation, and the instant of
    its 0 s: the first date of all files, "" where they have none."""
    signals: dict[str, object] = {}
    origins: dict[str, str] = {}
    for name, text in assignments("--input", texts).items():
        value = _value(text)
        if isinstance(value, str):
            path, column = _split(text)
            time, samples, origins[name] = read_signal(path, column, prefer=name)
            signals[name] = {"time": time, "value": samples, "hold": hold}
        else:
            signals[name] = float(value)
    shifts, first = common_origin({n: o for n, o in origins.items() if o})
    for name, shift in shifts.items():
        given = cast("dict[str, Any]", signals[name])
        signals[name] = {**given, "time": given["time"] + shift}
    return signals, first


def common_origin(origins: Mapping[str, str]) -> tuple[dict[str, float], str]:
    """Seconds by which each input begins after the first of them, and the origin of that one."""
    calendars = {n: Calendar.of(o) for n, o in origins.items()}
    if len({c.zone is None for c in calendars.values()}) > 1:
        zoned, bare = (
            next(n for n, c in calendars.items() if (c.zone is None) is missing)
            for missing in (False, True)
        )
        raise ModelError(
            "M059",
            f"--input: the dates of '{zoned}' have a time zone, those of '{bare}' have none; "
            "write both alike",
        )
    first = min(calendars, key=lambda n: calendars[n].origin, default="")
    if not first:
        return {}, ""
    begin = calendars[first]
    return {n: begin.seconds(c.origin) for n, c in calendars.items()}, origins[first]


def noise(texts: Sequence[str], study: Study) -> dict[str, float | Vector]:
    """`NAME=NUMBER` and `NAME=FILE[:COLUMN]` texts as the noise of outputs, in the model's units.

    A file is a record with zero input; its column is that of the case, and scaled like it.
    """
    levels: dict[str, float | Vector] = {}
    measured = {n: c for case in study.active_cases for n, c in case.columns_of_outputs.items()}
    for name, text in assignments("--noise", texts).items():
        if name not in measured:
            hint = did_you_mean(name, measured) or f" (outputs: {', '.join(measured)})"
            raise ModelError("M056", f"--noise: the study has no output '{name}'{hint}")
        value = _value(text)
        if isinstance(value, str):
            path, column = _split(text)
            given = measured[name]
            _, samples, _ = read_signal(path, column, prefer=given.column)
            levels[name] = samples * (1.0 if given.scale is None else given.scale)
        elif isinstance(value, bool) or not (math.isfinite(value) and value >= 0):
            raise ModelError(
                "M057", f"--noise '{name}': {text} is not a standard deviation; give 0 or more"
            )
        else:
            levels[name] = float(value)
    return levels


def load(
    source: str, class_: str | None, given: Mapping[str, Value], libraries: Sequence[Path]
) -> tuple[ModelicaModel, dict[str, float]]:
    """The model, and those of the given values that are set at run time.

    A parameter that shapes the equations (a size, a switch) is set before the model is compiled.
    """
    from estimica.simulate.load import load_model

    source, class_, libraries = as_modelica(source, class_, libraries)
    model = load_model(source, class_, libraries=libraries)
    table = model.parameters
    built_in = {n: v for n, v in given.items() if n in table.index and not table.tunable[n]}
    if built_in:
        model = load_model(source, class_, fix=built_in, libraries=libraries)
    at_run = {n: v for n, v in given.items() if n not in built_in}
    for name, value in at_run.items():
        if isinstance(value, str):
            raise ModelError("M052", f"--set '{name}': '{value}' is not a number")
    return model, {n: float(v) for n, v in at_run.items()}


def as_modelica(
    source: str, class_: str | None, libraries: Sequence[Path]
) -> tuple[str, str | None, Sequence[Path]]:
    """What is loaded where a source is an Optimica file: its text as Modelica, and its class."""
    from estimica.simulate.load import ModelSource, in_modelica

    named = in_modelica(ModelSource(source, class_, libraries=libraries))
    return named.text or source, named.class_, named.libraries


def load_transfer_function(
    source: str, given: Mapping[str, Value], sample_time: float | None
) -> tuple[LinearModel, dict[str, float]]:
    """The model of a text in s or z, and the values of its parameters."""
    from estimica.simulate.linear.constructors import transfer_function

    model = transfer_function(source, sample_time=sample_time)
    for name, value in given.items():
        if isinstance(value, str):
            raise ModelError("M052", f"--set '{name}': '{value}' is not a number")
    return model, {n: float(v) for n, v in given.items()}


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float) if len(text) <= MOST_DIGITS else (float,):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _split(text: str) -> tuple[Path, str | None]:
    """`FILE:COLUMN` in two; a colon in the file's own name is left alone."""
    path, colon, column = text.rpartition(":")
    if colon and column and not os.path.exists(text) and len(path) > 1:
        return Path(path), column
    return Path(text), None
