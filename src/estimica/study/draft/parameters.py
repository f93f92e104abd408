"""Parameters of a draft: which of a model are worth to be tuned with these data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.quantities import Quantity
from estimica.compiled.model.interface import Model
from estimica.simulate.linear.model import LinearModel
from estimica.study.check.effects import NOTHING, reaches
from estimica.study.check.names import known_names
from estimica.study.draft.columns import Columns, as_case
from estimica.study.draft.inputs import finite, start_without_value
from estimica.study.record.samples import examine
from estimica.study.study import Study
from estimica.study.tuner import Tuner

#: tuners that are active. Chosen: a draft is to be read, and its first fit to end soon
MOST = 12
#: tuners that are active where no data say what they do; whoever knows better takes a # away
HANDFUL = 5
#: parameters whose effect is looked at. Chosen: all of them are sensitivities of one simulation,
#: which takes the longer the more there are
TRIED = 40
#: an effect that counts: doubling the parameter moves some output by this share of its size.
#: Chosen: few measurements are better than a thousandth
WEAK = 1e-3
#: share of its effect that no parameter before it has. Chosen: below it the standard error of the
#: parameter would be a hundred times that of the parameter alone
OWN = 0.01
#: the same where an input has no column yet, so that the run tells little: only factors of one
#: product, whose effects differ by rounding, are never determined together
OWN_OF_UNKNOWN = 1e-6
#: share of the farthest move from which on a tuner is said to follow a parameter that is held.
#: Chosen: in the friction of a motor of which only the current is measured, the inertia moves by 1
#: and the motor constant by 0.5; what moves by rounding, or where effects are nearly alike, is less
FOLLOWS = 0.1
#: starts that are tried for all parameters of a transfer function, until it is stable
STARTS = (1.0, 0.5, 0.2, -0.5)


@dataclass(frozen=True)
class Choice:
    """The parameters to be tuned, and those that are not determined beside some of them.

    What is found for the latter is right only as far as the value of the former is.
    """

    chosen: tuple[str, ...]
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def choose_parameters(
    model: Model, tunable: Sequence[Quantity], cases: Sequence[Columns]
) -> Choice:
    """All that are likely to be wanted and that the data determine, the likeliest first.

    Likely are those that the model has no value for, since nothing works without them; then those
    declared with bounds, and those of the model itself before those of its parts. A part whose
    parameter is zero does without that effect, which is most often meant.
    """
    needed = [q for q in tunable if number_of(q) is None]
    usable = [q for q in tunable if number_of(q) is not None and not _is_off(q)]
    usable.sort(key=lambda q: (-_bounds(q), q.name.count(".")))
    tried = [*needed, *usable[:TRIED]]
    moved = _reaches(model, tried, [c for c in cases if c.outputs])
    if moved is None:
        return Choice(tuple(q.name for q in [*needed, *usable[:HANDFUL]]))
    driven = {q.name for q in model.quantities() if q.role == "input"}
    known = not model.has_time or all(driven <= c.inputs.keys() for c in cases if c.outputs)
    found = _determined([q.name for q in needed], [q.name for q in tried], moved, known=known)
    if not found.chosen:  # at rest nothing may have an effect
        return Choice(tuple(q.name for q in usable[:HANDFUL]))
    return found


@dataclass(frozen=True)
class StableStart:
    """A start with which a transfer function is stable."""

    value: float
    source: str = "with which the model is stable"


def stable_starts(model: Model) -> dict[str, StableStart]:
    """Starts of the parameters of a transfer function that is not stable where all are 1."""
    if not isinstance(model, LinearModel):
        return {}
    free = [n for n in model.parameter_names if n not in model.values]
    for value in STARTS if free else ():
        poles = model.poles({**model.values, **dict.fromkeys(free, value)})
        inside = np.abs(poles) < 1 if model.sample_time is not None else poles.real < 0
        if inside.all():
            return {} if value == STARTS[0] else {n: StableStart(value) for n in free}
    return {}


def number_of(q: Quantity) -> float | None:
    """The value of a quantity where it is a finite number."""
    number = isinstance(q.value, (int, float)) and not isinstance(q.value, bool)
    return float(q.value) if number and math.isfinite(q.value) else None  # type: ignore[arg-type]


def _is_off(q: Quantity) -> bool:
    return "." in q.name and not number_of(q) and not _bounds(q)


def _bounds(q: Quantity) -> int:
    return (finite(q.min) is not None) + (finite(q.max) is not None)


def _determined(
    needed: Sequence[str], names: Sequence[str], moved: Vector, *, known: bool
) -> Choice:
    """Those with an effect of their own, one after the other (Gram and Schmidt).

    `known` says that all inputs are.
    """
    weak, share = (WEAK, OWN) if known else (NOTHING, OWN_OF_UNKNOWN)
    chosen: list[str] = []
    basis: list[Vector] = []
    together: list[str] = []
    columns = dict(zip(names, moved.T, strict=True))
    for name in names:
        column = columns[name]
        size, peak = float(np.linalg.norm(column)), float(np.abs(column).max(initial=0.0))
        if peak <= (NOTHING if name in needed else weak):
            if name in needed:
                chosen.append(name)  # the model cannot do without a value
            continue
        own = column
        for direction in basis:
            own = own - (direction @ own) * direction
        left = float(np.linalg.norm(own))
        if left < share * size and name not in needed:
            together.append(name)
            continue
        if len(chosen) < MOST or name in needed:
            chosen.append(name)
            if left > 0:
                basis.append(own / left)
    told = {n: columns[n] for n in chosen}
    return Choice(tuple(chosen), {n: _beside(columns[n], told) for n in together})


def _beside(column: Vector, others: Mapping[str, Vector]) -> tuple[str, ...]:
    """Those that move where the parameter of `column` has another value, the farthest first."""
    matrix = np.column_stack(list(others.values()))
    moves = np.abs(np.linalg.lstsq(matrix, column)[0])  # relative, for a change by its own size
    far = [k for k in np.argsort(-moves, kind="stable") if moves[k] > FOLLOWS * moves.max()]
    names = list(others)
    return tuple(names[k] for k in far)


def _reaches(model: Model, tried: Sequence[Quantity], cases: Sequence[Columns]) -> Vector | None:
    """What each parameter does to the matched outputs, as far as the data can tell."""
    if not tried:
        return None
    study = Study(model, [_tried(q) for q in tried], [as_case(c, model) for c in cases])
    examined = [examine(case, has_time=model.has_time) for case in study.cases]
    records = [record for record, wrong in examined if record is not None and not wrong]
    return reaches(study, records, known_names(study)) if records else None


def _tried(q: Quantity) -> Tuner:
    known = number_of(q) is not None
    return Tuner(q.name) if known else Tuner(q.name, start=start_without_value(q))
