"""Matching of a draft: which column belongs to which variable, by name, description and unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from estimica.base.quantities import Quantity
from estimica.base.suggest import close_names
from estimica.data.table import Data
from estimica.study.units import Conversion, UnknownUnit, conversion, unit_of_name

#: share of letters in which two words must agree to mean the same. Chosen by examples: temperatur
#: and temperature have 0.95, speed and sped 0.89, but power and tower 0.8, level and valve 0.6
ALIKE = 0.8
#: likeness of names from which on a column may be meant by another variable. Chosen by examples:
#: speed_load and w_load have 0.57, n_motor and w_load 0.18
CALLED_ALIKE = 0.5
_DRAWING = re.compile(r"colou?rs?|specularcoefficient|.*shape|visuali[sz].*|animation.*", re.I)
_SENSOR = re.compile(r".*sensor.*|.*measured.*|.*meter", re.I)


def is_drawing(name: str) -> bool:
    """Whether a variable only says how something is drawn: nobody measures the colour of a box."""
    return any(_DRAWING.fullmatch(part) for part in re.split(r"[.\[\],0-9]+", name))


def is_shown_by_sensor(q: Quantity) -> bool:
    """Whether a variable is what a sensor shows: the component is called so."""
    path, _, last = q.name.rpartition(".")
    return bool(_SENSOR.fullmatch(path.rpartition(".")[2])) and not is_drawing(last)


_SAME = Conversion(1.0, 0.0)


@dataclass(frozen=True)
class Match:
    """A column that belongs to a variable, and how its unit is changed."""

    column: str
    change: Conversion = _SAME
    by_unit: bool = False  # the name does not say it, but nothing else has this unit


def match_columns(data: Data, wanted: Sequence[Quantity], taken: set[str]) -> dict[str, Match]:
    """Columns for `wanted` by name: the same, the same but for letter case, or the last part.

    A column of another quantity, or one that could mean several variables, is left alone; what is
    found is added to `taken`.
    """
    matches: dict[str, Match] = {}
    for alike in (_equal, _equal_but_for_case, _equal_last_part):
        for q in wanted:
            if q.name in matches:
                continue
            near = [c for c in data.names if c not in taken and alike(c, q.name)]
            rivals = [
                r for r in wanted if r.name not in matches and near and alike(near[0], r.name)
            ]
            if len(near) != 1 or len(rivals) != 1:
                continue
            change = change_of(unit_of(data, near[0]), q)
            if change is not None:
                matches[q.name] = Match(near[0], change)
                taken.add(near[0])
    return {q.name: matches[q.name] for q in wanted if q.name in matches}


def proposals(
    data: Data, q: Quantity, taken: set[str], rivals: Sequence[Quantity] = ()
) -> list[Match]:
    """Columns that are left and may belong to `q`, by a close name or words of its description.

    What is called more like one of its `rivals` is not proposed: an input is no measured output.
    """
    changes = {c: change_of(unit_of(data, c), q) for c in data.names if c not in taken}
    left = {
        c: change
        for c, change in changes.items()
        if change and not any(is_rather(c, r, q) for r in rivals if change_of(unit_of(data, c), r))
    }
    words = {w for w in re.findall(r"[a-z]+", q.description.lower()) if len(w) > 3}
    shared = {c: sum(_related(w, _plain(c)) for w in words) for c in left}
    described = sorted((c for c in left if shared[c]), key=lambda c: -shared[c])
    near = list(dict.fromkeys([*close_names(q.name, left), *described]))[:3]
    # what is left and has the right unit, where no name says more
    near = near or [c for c in left if q.unit not in ("", "1") and unit_of(data, c)][:3]
    return [Match(c, left[c]) for c in near]


def is_rather(column: str, other: Quantity, q: Quantity) -> bool:
    """Whether a column is called more like the other one; a letter in common says nothing."""
    return likeness(column, other) > max(CALLED_ALIKE, likeness(column, q))


def likeness(column: str, q: Quantity) -> float:
    """How alike the names of a column and a variable are, or a word of its description."""
    words = [w for w in re.findall(r"[a-z]+", q.description.lower()) if len(w) > 3]
    said = max((len(w) / (len(w) + 1) for w in words if _related(w, _plain(column))), default=0.0)
    names = (q.name, _last(q.name))
    return max(said, *(SequenceMatcher(None, _plain(column), _plain(n)).ratio() for n in names))


def unit_of(data: Data, column: str) -> str:
    """The unit in the header of a column, or the one that ends its name, as in `n_rpm`."""
    return data.units.get(column) or unit_of_name(column)


def change_of(unit: str, q: Quantity) -> Conversion | None:
    """How a unit becomes that of `q`; nothing where one is not known, None where they differ."""
    if not unit or not q.unit:
        return _SAME
    try:
        return conversion(unit, q.unit, difference=bool(q.difference))
    except UnknownUnit:
        return _SAME


def _equal(column: str, name: str) -> bool:
    return column == name


def _equal_but_for_case(column: str, name: str) -> bool:
    return _plain(column) == _plain(name)


def _equal_last_part(column: str, name: str) -> bool:
    return _plain(_last(column)) == _plain(_last(name))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _related(word: str, column: str) -> bool:
    return word in column or (
        len(column) > 3 and SequenceMatcher(None, word, column).ratio() > ALIKE
    )
