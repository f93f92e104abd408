"""Matching: which column of a table may belong to which variable of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from estimica.base.quantities import Quantity
from estimica.base.suggest import close_names
from estimica.data.table import Data
from estimica.study.units import Conversion, UnknownUnit, conversion

_SAME = Conversion(1.0, 0.0)


@dataclass(frozen=True)
class Match:
    """A column that belongs to a variable, and how its unit is changed."""

    column: str
    change: Conversion = _SAME


def match_columns(data: Data, wanted: Sequence[Quantity], taken: set[str]) -> dict[str, Match]:
    """Columns for `wanted` by name: the same, the same but for letter case, or the last part.

    A column of another quantity, or one that could mean several variables, is left alone; what is
    found is added to `taken`.
    """
    found: dict[str, Match] = {}
    for alike in (_equal, _equal_but_for_case, _equal_last_part):
        for q in wanted:
            if q.name in found:
                continue
            near = [c for c in data.names if c not in taken and alike(c, q.name)]
            rivals = [r for r in wanted if r.name not in found and near and alike(near[0], r.name)]
            if len(near) != 1 or len(rivals) != 1:
                continue
            change = _change(data.units.get(near[0], ""), q.unit)
            if change is not None:
                found[q.name] = Match(near[0], change)
                taken.add(near[0])
    return {q.name: found[q.name] for q in wanted if q.name in found}


def proposals(data: Data, q: Quantity, taken: set[str]) -> list[Match]:
    """Columns that are left and may belong to `q`, by a close name or words of its description."""
    changes = {c: _change(data.units.get(c, ""), q.unit) for c in data.names if c not in taken}
    left = {c: change for c, change in changes.items() if change}
    words = {w for w in re.findall(r"[a-z]+", q.description.lower()) if len(w) > 3}
    shared = {c: sum(_related(w, _plain(c)) for w in words) for c in left}
    described = sorted((c for c in left if shared[c]), key=lambda c: -shared[c])
    near = list(dict.fromkeys([*close_names(q.name, left), *described]))[:3]
    return [Match(c, left[c]) for c in near]


def _change(unit: str, wanted: str) -> Conversion | None:
    """How one unit becomes the other; nothing where one is not known, None where they differ."""
    if not unit or not wanted:
        return _SAME
    try:
        return conversion(unit, wanted)
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
    return word in column or (len(column) > 3 and SequenceMatcher(None, word, column).ratio() > 0.8)
