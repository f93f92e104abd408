"""Inputs of operating points that no column gives: which number the model itself offers for them.

Zero is rarely one: a valve that is shut and a fluid without enthalpy let no tuner have an effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.base.magnitude import LARGEST
from estimica.base.quantities import Quantity
from estimica.compiled.model.interface import Model

if TYPE_CHECKING:
    from estimica.study.draft.columns import Columns

#: relative change of an output that counts as one. Chosen: what does not depend on an input is the
#: same number again, or differs by rounding, which is 1e-16 and grows where terms cancel
SAME = 1e-9


@dataclass(frozen=True)
class Assumed:
    """A number for an input, and where it comes from in words."""

    value: float
    origin: str


def finite(value: object) -> float | None:
    """A value where it is a number that can be computed with."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and abs(value) <= LARGEST else None


def start_without_value(q: Quantity) -> float:
    """Where a parameter begins that the model has no value for: its nominal value, or one."""
    return finite(q.nominal) or 1.0


def inputs_without_column(model: Model, c: Columns) -> dict[str, Assumed | None]:
    """A number for each input of points that has no column; None where only the user knows it.

    It is the start value that the model declares, or the nominal value. Where there is neither,
    zero will do for an input that has no effect on what was measured, such as the potential of a
    pin from which voltages are counted.
    """
    if model.has_time:
        return {}
    left = [q for q in model.quantities() if q.role == "input" and q.name not in c.inputs]
    offered = {q.name: _offered(q) for q in left}
    for q in left:
        if offered[q.name] is None and not _has_effect(model, c, left, q):
            offered[q.name] = Assumed(0.0, "it has no effect on the outputs")
    return offered


def _offered(q: Quantity) -> Assumed | None:
    start, nominal = finite(q.value), finite(q.nominal)
    if start:
        return Assumed(start, "the model's start value")
    if nominal:
        return Assumed(nominal, "the model's nominal value")
    return None if start is None else Assumed(start, "the model's start value")


def trial_value(q: Quantity) -> float:
    """A number with which effects of parameters show: that of the model, or within the bounds."""
    offered = _offered(q)
    if offered is not None and offered.value:
        return offered.value
    low, high = finite(q.min), finite(q.max)
    if low is not None and high is not None:
        return 0.5 * (low + high) or high
    return low + 1.0 if low is not None else high - 1.0 if high is not None else 1.0


def _has_effect(model: Model, c: Columns, left: Sequence[Quantity], moved: Quantity) -> bool:
    """Whether an input moves one of the outputs, or that is not known."""
    if not c.outputs:
        return True
    columns = {
        n: m.change.scale * c.table.data.column(m.column) + m.change.offset
        for n, m in c.inputs.items()
    }
    numbers = {q.name: trial_value(q) for q in left}
    parameters = {
        q.name: start_without_value(q)
        for q in model.quantities()
        if q.role == "parameter" and q.tunable and finite(q.value) is None
    }
    points = np.arange(float(len(c.table.data)))
    runs = []
    for value in (numbers[moved.name], 0.0):
        try:
            run = model.response(
                points,
                {**columns, **numbers, moved.name: value},
                parameters,
                outputs=list(c.outputs),
            ).at()
        except EstimicaError:
            return True
        if not run.ok or not np.isfinite(run.Y).all():
            return True
        runs.append(run.Y)
    size = np.abs(runs[0]).max(axis=0, initial=0.0)
    return bool((np.abs(runs[0] - runs[1]) > SAME * size).any())
