"""Linear systems of the python-control library, with every coefficient a parameter."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from estimica.base.errors import ModelError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.simulate.linear.system import LinearSystem, Matrix
from estimica.simulate.linear.text import Rational

Values = dict[str, float]


def control_library() -> Any:
    """The library where it is in use; whoever holds one of its objects has imported it."""
    return sys.modules.get("control")


def is_transfer_function(given: object) -> bool:
    """Whether `given` is a TransferFunction of python-control."""
    control = control_library()
    return control is not None and isinstance(given, control.TransferFunction)


def is_state_space(given: object) -> bool:
    """Whether `given` is a StateSpace of python-control."""
    control = control_library()
    return control is not None and isinstance(given, control.StateSpace)


def rational_of(given: Any) -> tuple[Rational, Values]:
    """A transfer function whose coefficients b0, b1, …, a0, a1, … are parameters; a[n] is 1."""
    _require_continuous(given)
    if (given.noutputs, given.ninputs) != (1, 1):
        raise ModelError(
            "M114",
            f"a transfer function of {given.ninputs} inputs and {given.noutputs} outputs; convert "
            "it with control.ss and give that to state_space",
        )
    above, below = (np.trim_zeros(np.asarray(p[0][0], float), "f") for p in (given.num, given.den))
    above = above if len(above) else np.zeros(1)
    values: Values = {}
    numerator = _named("b", above / below[0], values)
    denominator = _named("a", below / below[0], values, monic=True)
    return Rational(numerator, denominator), values


def system_of(given: Any) -> tuple[LinearSystem, Values]:
    """A state-space system whose entries A[1,1], A[1,2], … are parameters, those that are not 0."""
    _require_continuous(given)
    values: Values = {}
    A, B, C, D = (
        _entries(letter, np.asarray(getattr(given, letter), float), values) for letter in "ABCD"
    )
    return LinearSystem(A, B, C, D, (ex.ZERO,) * given.ninputs), values


def _named(
    letter: str, falling: Any, values: Values, *, monic: bool = False
) -> tuple[Expression, ...]:
    found = []
    for power, value in enumerate(falling[::-1]):
        if value == 0 or (monic and power == len(falling) - 1):
            found.append(ex.const(float(value)))
        else:
            values[f"{letter}{power}"] = float(value)
            found.append(ex.name(f"{letter}{power}"))
    return tuple(found)


def _entries(letter: str, numbers: Any, values: Values) -> Matrix:
    rows = []
    for i, row in enumerate(numbers, start=1):
        entries = []
        for k, value in enumerate(row, start=1):
            name = f"{letter}[{i},{k}]"
            entries.append(ex.name(name) if value else ex.ZERO)
            if value:
                values[name] = float(value)
        rows.append(tuple(entries))
    return tuple(rows)


def _require_continuous(given: Any) -> None:
    if given.isdtime(strict=True):
        raise ModelError(
            "M115", f"the system is sampled (dt = {given.dt}); give the continuous-time one"
        )
