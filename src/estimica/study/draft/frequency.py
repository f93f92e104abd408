"""Drafts of frequency cases: which columns of a table are a frequency and a response to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.study.case import Case
from estimica.study.draft.text import toml_key, toml_text
from estimica.study.response_columns import ResponseColumns

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
        for names in _PAIRS:
            found = [(part, _first(rest, p)) for part, p in names]
            if all(c is not None for _, c in found):
                return Spectrum(key, column, tuple((p, c) for p, c in found if c is not None))
    return None


def spectrum_lines(model: Model, data: Data, spectrum: Spectrum) -> Iterator[str]:
    """The lines of a case below its name and file."""
    yield f"{spectrum.key} = {toml_text(spectrum.column)}"
    yield '# role = "validate"   # only to try the fitted model on'
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    if inputs:
        point = ", ".join(f"{toml_key(n)} = 0.0" for n in inputs[:8])
        yield f"# inputs = {{ {point} }}   # the operating point, where the model is not linear"
    columns = _columns(inputs, data, spectrum)
    details = ", ".join(f"{key} = {toml_text(value)}" for key, value in columns.items())
    yield "[case.outputs]"
    for k, name in enumerate(_outputs(model)[:8]):
        before = "" if k == 0 else "# "
        yield f"{before}{toml_key(name)} = {{ {details} }}"
    if "sigma" not in columns:
        yield '# add weighting = "relative" to count errors relative to the magnitude'
    yield ""


def spectrum_case(model: Model, name: str, data: Data, spectrum: Spectrum) -> Case:
    """The case that the study will have."""
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    columns = ResponseColumns(**_columns(inputs, data, spectrum))  # type: ignore[arg-type]
    return Case(
        name,
        data,
        outputs=dict.fromkeys(_outputs(model)[:1], columns),
        **{spectrum.key: spectrum.column},  # type: ignore[arg-type]
    )


def _outputs(model: Model) -> list[str]:
    states = [q.name for q in model.quantities() if q.role == "state"]
    return list(model.output_names()) or states


def _columns(inputs: Sequence[str], data: Data, spectrum: Spectrum) -> dict[str, str]:
    """The keys of a response, as a study file has them."""
    found = dict(spectrum.parts)
    if "magnitude" in found:
        decibel = data.units.get(found["magnitude"], "").lower() == "db"
        radian = data.units.get(found["phase"], "") == "rad"
        found |= {"magnitude_unit": "dB"} if decibel else {}
        found |= {"phase_unit": "rad"} if radian else {}
    spread = next((n for n in data.names if n.lower() == "sigma"), None)
    found |= {"sigma": spread} if spread is not None else {}
    found |= {"input": inputs[0]} if len(inputs) > 1 else {}
    return found


def _first(names: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    return next((n for n in names if pattern.fullmatch(n)), None)
