"""By unit: columns that are called otherwise, where only one measured quantity has their unit.

A column that is left out is not only less to compare with: parameters that it would have told apart
are then held at the values of the model, and the others come out wrong beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.quantities import Quantity
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.study.draft.matching import (
    Match,
    change_of,
    is_drawing,
    is_rather,
    is_shown_by_sensor,
    unit_of,
)
from estimica.study.record.conversion import may_be_difference
from estimica.study.units import UnknownUnit, normalised_spelling, parse_unit

_VARYING = ("state", "algebraic", "alias")
_ENERGY = (2.0, 1.0, -2.0)  # exponents of m, kg and s
#: what a unit measures: exponents of the base units, and whether it is that of a torque
Kind = tuple[tuple[float, ...], bool]


def match_by_unit(
    model: Model, data: Data, matched: Mapping[str, Match], taken: set[str]
) -> dict[str, Match]:
    """Columns that can only be one quantity, by their unit: a measured one, or an input.

    The column is the only one left with what its unit measures, and no output has another one of
    it; among what is measured (declared outputs, then sensors, then states) one variable is left
    with such a unit, and no input. Two temperatures are told apart by nobody but the user. An input
    is meant only where no other variable of the model has such a unit. What is found is added to
    `taken`.
    """
    left: dict[Kind, list[str]] = {}
    for column in data.names:
        kind = kind_of(unit_of(data, column)) if column not in taken else None
        if kind is not None:
            left.setdefault(kind, []).append(column)
    if not left:
        return {}
    variables: dict[Kind, list[Quantity]] = {}
    for q in model.quantities():
        kind = kind_of(q.unit)
        if kind in left and not is_drawing(q.name):
            variables.setdefault(kind, []).append(q)
    found: dict[str, Match] = {}
    for kind, columns in left.items():
        alike = variables.get(kind, [])
        outputs = [q for q in alike if q.name in matched and q.role != "input"]
        if len(columns) != 1 or outputs:
            continue
        match = _only_one(model, data, columns[0], [q for q in alike if q.name not in matched])
        if match is not None:
            found[match[0]] = match[1]
            taken.add(columns[0])
    return found


def kind_of(unit: str) -> Kind | None:
    """What a unit measures; None for none, for numbers, and for units that are not known.

    1/s and rad/s are different, as nobody knows what is counted; so are torques and energies.
    """
    spelt = normalised_spelling(unit)
    try:
        _, exponents = parse_unit(spelt).in_radians() if spelt else (1.0, ())
    except UnknownUnit:
        return None
    if not any(exponents):
        return None
    return exponents, exponents[:3] == _ENERGY and "N" in spelt


def _only_one(
    model: Model, data: Data, column: str, variables: Sequence[Quantity]
) -> tuple[str, Match] | None:
    """The variable that a column must be among those that measure the same, if there is one."""
    driven = [q for q in variables if q.role == "input"]
    varying = [q for q in variables if q.role in _VARYING]
    likely = likely_measured(model, variables) if not driven else driven if not varying else []
    if len(likely) != 1:
        return None
    (q,) = likely
    if any(is_rather(column, r, q) for r in variables if r is not q):
        return None
    change = change_of(unit_of(data, column), q)
    if change is None or (change.offset and q.difference is None and may_be_difference(q, column)):
        return None
    values = change.scale * data.column(column) + change.offset
    values = values[np.isfinite(values)]
    if not values.size or not q.min <= np.median(values) <= q.max:  # noise may cross a bound
        return None
    return q.name, Match(column, change, by_unit=True)


def likely_measured(model: Model, variables: Sequence[Quantity]) -> list[Quantity]:
    """Those that somebody measures: declared outputs, or else what sensors show, or else states.

    Among the states of parts nothing can be chosen: which variables become states is not the
    author's choice, and a part beside may have the same speed with the other sign. All variables
    of parts are returned then. Where there is no state either, those of the model itself will do
    if no part has such a variable.
    """
    declared = set(model.output_names())
    varying = [q for q in variables if q.role in _VARYING and q.kind == "Real"]
    meant = [q for q in varying if q.name in declared]
    shown = [q for q in varying if is_shown_by_sensor(q)]
    states = [q for q in varying if q.role == "state"]
    own = [q for q in varying if "." not in q.name]
    if states and not any("." in q.name for q in states):
        return meant or shown or states
    # the insides of connectors repeat what their part shows
    parts = [q for q in varying if q.name.count(".") <= 1]
    return meant or shown or (parts if states or model.has_time else own)
