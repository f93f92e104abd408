"""Offers of a draft: variables that no column was found for, and columns that may be theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from estimica.base.quantities import Quantity
from estimica.compiled.model.interface import Model
from estimica.study.draft.by_unit import kind_of, likely_measured
from estimica.study.draft.columns import Columns
from estimica.study.draft.matching import (
    Match,
    is_drawing,
    is_shown_by_sensor,
    likeness,
    proposals,
    unit_of,
)

# Chosen, so that a draft fits a few screens.
OFFERED = 8  # variables that are written as possible outputs
#: columns without a unit, and variables, that are offered to each other
FEW = 3
#: variables that are compared with the columns that are left. Chosen: comparing names takes some
#: 10 µs a pair, and in a list of hundreds nobody looks for what was measured
COMPARED = 200


@dataclass(frozen=True)
class Offers:
    """Inputs and outputs that a case lists, and for those without a column what it may be."""

    inputs: tuple[Quantity, ...]
    outputs: tuple[Quantity, ...]
    of: Mapping[str, Sequence[Match]] = field(default_factory=dict)


def offers_of(model: Model, c: Columns) -> Offers:
    """What a case of these columns lists."""
    if c.spectrum is not None:  # its columns are told by their names
        return Offers((), ())
    quantities = {q.name: q for q in model.quantities()}
    inputs = [q for q in quantities.values() if q.role == "input"]
    listed = list(dict.fromkeys([*model.output_names(), *c.outputs]))
    rivals = [quantities[n] for n in listed if n not in c.outputs]
    driven = [q for q in inputs if q.name not in c.inputs]
    of = {q.name: proposals(c.table.data, q, c.taken, driven) for q in rivals}
    more = {
        q.name: near
        for q in _others(model, c, {*listed, *(q.name for q in inputs)})
        if (near := proposals(c.table.data, q, c.taken, driven))
    }
    claimed = {m.column for near in (*of.values(), *more.values()) for m in near}
    more |= _without_unit(model, c, claimed, {n for n, near in {**of, **more}.items() if near})
    likely = sorted(more, key=lambda n: -_likeness(quantities[n], more[n]))[:OFFERED]
    listed += [n for n in likely if n not in listed]
    outputs = [quantities[n] for n in listed or measurable(model)]
    of |= {n: more[n] for n in likely}
    measured = rivals if rivals or c.outputs else outputs
    of = {q.name: proposals(c.table.data, q, c.taken, measured) for q in driven} | of
    return Offers(tuple(inputs), tuple(outputs), of)


def _likeness(q: Quantity, near: Sequence[Match]) -> float:
    """How alike the likeliest of the columns is called, in tenths; a sensor is likelier."""
    return is_shown_by_sensor(q) + round(max(likeness(m.column, q) for m in near), 1)


def assumed(c: Columns, offers: Offers) -> Columns:
    """The case as it may become: with the likeliest of the offers, each column once.

    What is measured is left as it is where something was found: nobody has agreed to more.
    """
    taken = set(c.taken)
    found: dict[str, Match] = {}
    driven = {q.name for q in offers.inputs}
    for name, near in offers.of.items():
        if name not in driven and c.outputs:
            continue
        match = next((m for m in near if m.column not in taken), None)
        if match is not None:
            found[name] = match
            taken.add(match.column)
    inputs = {n: m for n, m in found.items() if n in driven}
    outputs = {n: m for n, m in found.items() if n not in driven}
    return replace(c, inputs=c.inputs | inputs, outputs=c.outputs | outputs, taken=taken)


def _without_unit(
    model: Model, c: Columns, claimed: set[str], answered: set[str]
) -> dict[str, list[Match]]:
    """Columns of which nothing is known, for what is likely measured and has no column.

    They are few, or none is offered: a logger with thirty columns would be a list of guesses. Where
    nothing at all was found, nothing can be fitted either, and names of variables say enough.
    """
    data = c.table.data
    free = [n for n in data.names if n not in c.taken | claimed and not unit_of(data, n)]
    matched = {*c.inputs, *c.outputs}
    declared = model.output_names()
    if not c.outputs or (declared and all(n in matched for n in declared)):
        return {}
    left = [q for q in _sorted(model) if q.name not in matched | answered]
    likely = likely_measured(model, left)
    if not free or max(len(free), len(likely)) > FEW:
        return {}
    return {q.name: [Match(n) for n in free] for q in likely}


def measurable(model: Model) -> list[str]:
    """Variables that may have been measured where no column tells.

    What sensors show comes first, then states, then what has a unit; parts come last.
    """
    return [q.name for q in _sorted(model)[:OFFERED]]


def _sorted(model: Model) -> list[Quantity]:
    varying = [q for q in model.quantities() if q.role in ("state", "algebraic", "alias")]
    found = [q for q in varying if q.kind == "Real" and not is_drawing(q.name)]
    found.sort(
        key=lambda q: (not is_shown_by_sensor(q), q.role != "state", not q.unit, q.name.count("."))
    )
    return found


def _others(model: Model, c: Columns, listed: set[str]) -> list[Quantity]:
    """Sensors, states and own variables of the model that are not listed, while columns are left.

    Of parts without a sensor, what they show themselves is offered where a column has its unit.
    """
    if all(n in c.taken for n in c.table.data.names):
        return []
    data = c.table.data
    kinds = {kind_of(unit_of(data, n)) for n in data.names if n not in c.taken} - {None}
    likely = [
        q
        for q in _sorted(model)
        if is_shown_by_sensor(q)
        or q.role == "state"
        or "." not in q.name
        or (q.name.count(".") == 1 and kind_of(q.unit) in kinds)
    ]
    return [q for q in likely[:COMPARED] if q.name not in listed]
