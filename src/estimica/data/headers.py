"""Headers: what a column is called, and the unit that its header names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# `T [degC]`, `T (degC)` and `T / degC`; but `x[1]` is an element and `der(x)` a derivative.
_SQUARE = re.compile(r"^(?P<name>.*?\S)(?P<gap>\s*)\[(?P<unit>[^\[\]]*)\]$")
_ROUND = re.compile(r"^(?P<name>.*\S)\s+\((?P<unit>[^()]*(?:\([^()]*\)[^()]*)*)\)$")
_SLASH = re.compile(r"^(?P<name>.*\S)\s+/\s+(?P<unit>\S.*)$")
_INDEX = re.compile(r"^[\d,:\s]+$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
#: ° and the like of UTF-8 that were read as Latin-1, since other bytes of the file are not UTF-8
_TWICE_ENCODED = re.compile("Â([°²³µ·º])")
_DIMENSIONLESS = {"-", "–", "—"}

_PREFIXED = "s|m|g|K|Pa|bar|V|A|W|J|Wh|N|Nm|Hz|rad|Ohm|ohm|Ω|mol|l|L|lx|lm|T|Wb|H|F|C"
_PLAIN = "sec|min|h|hr|d|degC|°C|degF|°F|deg|°|psi|rev|rpm|ppm|%|pct|cd|1"
_ONE = rf"(?:(?:{_PLAIN})|[numµkMhcG]?(?:{_PREFIXED}))"
_POWER = r"(?:\^?[-+]?\d|[²³])?"
_UNIT = re.compile(rf"^{_ONE}{_POWER}(?:\s*[/.·*]\s*\(?{_ONE}{_POWER}\)?)*$")


def split_unit(header: str) -> tuple[str, str]:
    """A header's name and unit, the unit empty where it names none."""
    header = header.strip()
    square = _SQUARE.match(header)
    if square and (square["gap"] or not _INDEX.match(square["unit"])):
        return square["name"], clean_unit(square["unit"])
    for pattern in (_ROUND, _SLASH):
        match = pattern.match(header)
        if match and not _INDEX.match(match["unit"]):
            return match["name"], clean_unit(match["unit"])
    return header, ""


def clean_unit(text: str) -> str:
    """A unit without its brackets; a dash means dimensionless, which Modelica writes as 1."""
    text = text.strip()
    if len(text) > 1 and text[0] + text[-1] in ("[]", "()"):
        text = text[1:-1].strip()
    return "1" if text in _DIMENSIONLESS else text


def is_unit_row(cells: Sequence[str]) -> bool:
    """Whether a line below the header holds units: every cell one, a dash or nothing."""
    bracketed = [c for c in cells if len(c) > 1 and c[0] + c[-1] in ("[]", "()")]
    units = [clean_unit(c) for c in cells if c]
    known = [u for u in units if _UNIT.match(u)]
    return bool(units) and (len(bracketed) == len(units) or len(known) == len(units))


def column_names(headers: Iterable[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Unique names for headers, the units that they name, and what had to be changed."""
    names: list[str] = []
    units: dict[str, str] = {}
    notes: list[str] = []
    taken: set[str] = set()
    for k, header in enumerate(headers, 1):
        bare, unit = split_unit(_TWICE_ENCODED.sub(r"\1", _CONTROL.sub(" ", header)))
        name = bare or f"column {k}"
        if name in taken:
            name = next(n for i in range(2, k + 2) if (n := f"{bare} ({i})") not in taken)
            notes.append(f"a second column '{bare}' is called '{name}'")
        taken.add(name)
        names.append(name)
        if unit:
            units[name] = unit
    return names, units, notes
