"""Drafts of frequency cases: which columns of a table are a frequency and a response to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimica.compiled.model import Model
from estimica.data.table import Data

_HERTZ = re.compile(r"f|freq|frequency|frequenz|f_hz|freq_hz", re.IGNORECASE)
_ANGULAR = re.compile(r"w|omega|ω|angular.?frequency", re.IGNORECASE)
_REAL = re.compile(r"re|real|z'|z_?re(al)?|.*[_ .]re(al)?|(re|real)[_ .].*|re\(.*\)", re.IGNORECASE)
_IMAG = re.compile(
    r"im|imag|z''|z_?im(ag)?|.*[_ .]im(ag)?|(im|imag)[_ .].*|im\(.*\)", re.IGNORECASE
)
_SIZE = re.compile(r"gain|mag|magnitude|amplitude|\|.*\||.*[_ .]mag(nitude)?", re.IGNORECASE)
_PHASE = re.compile(r"phase|ph|phi|angle|phase\(.*\)|.*[_ .]phase", re.IGNORECASE)
_PAIRS = ((("real", _REAL), ("imag", _IMAG)), (("magnitude", _SIZE), ("phase", _PHASE)))


@dataclass(frozen=True)
class Spectrum:
    """The columns of a frequency response, as a study file names them."""

    key: str  # frequency, or angular_frequency
    column: str
    parts: tuple[tuple[str, str], ...]  # as (("real", "Re(Z)"), ("imag", "Im(Z)"))


def spectrum_of(data: Data) -> Spectrum | None:
    """The frequency response that a table holds, if its columns look like one."""
    for key, pattern in (("frequency", _HERTZ), ("angular_frequency", _ANGULAR)):
        column = _first(data.names, pattern)
        if column is None:
            continue
        unit = data.units.get(column, "").replace(" ", "")
        if unit.startswith("rad"):
            key = "angular_frequency"
        elif unit.endswith("Hz"):
            key = "frequency"
        rest = [n for n in data.names if n != column]
        for names in (
            (("real", _REAL), ("imag", _IMAG)),
            (("magnitude", _SIZE), ("phase", _PHASE)),
        ):
            found = [(part, _first(rest, p)) for part, p in names]
            if all(c is not None for _, c in found):
                return Spectrum(key, column, tuple((p, c) for p, c in found if c is not None))
    return None


def spectrum_lines(model: Model, data: Data, spectrum: Spectrum) -> Iterator[str]:
    """The lines of a case below its name and file."""
    yield f"{spectrum.key} = {_text(spectrum.column)}"
    yield '# role = "validate"   # only to try the fitted model on'
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    if inputs:
        point = ", ".join(f"{_key(n)} = 0.0" for n in inputs[:8])
        yield f"# inputs = {{ {point} }}   # the operating point, where the model is not linear"
    columns = dict(spectrum.parts)
    details = [f"{part} = {_text(column)}" for part, column in columns.items()]
    if "magnitude" in columns:
        decibel = data.units.get(columns["magnitude"], "").lower() == "db"
        radian = data.units.get(columns["phase"], "") == "rad"
        details += ['magnitude_unit = "dB"'] if decibel else []
        details += ['phase_unit = "rad"'] if radian else []
    if len(inputs) > 1:
        details.append(f"input = {_text(inputs[0])}")
    yield "[case.outputs]"
    outputs = list(model.output_names())
    states = [q.name for q in model.quantities() if q.role == "state"]
    for k, name in enumerate((outputs or states)[:8]):
        before = "" if k == 0 else "# "
        yield f"{before}{_key(name)} = {{ {', '.join(details)} }}"
    yield '# add weighting = "relative" to count errors relative to the magnitude'
    yield ""


def _first(names: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    return next((n for n in names if pattern.fullmatch(n)), None)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
