"""What a twin asks of the evaluator that calls it, and how it reads its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.source.evaluate.texts import settled
from estimica.source.evaluate.values import Array, Value, ValueMismatch, Written, is_array
from estimica.source.instants import Instants


class Parameters(Protocol):
    """Values of parameters."""

    def peek(self, expression: Expression) -> float | None:
        """The number that `expression` is now, without building anything in."""


class Packages(Protocol):
    """The libraries of a model."""

    def package_folder(self, package: str) -> Path | None:
        """The folder of a package by its dotted name; None for one that is unknown."""


class Host(Protocol):
    """The evaluator as twins see it."""

    notes: list[str]
    helpers: dict[str, Expression]
    instants: Instants

    @property
    def parameters(self) -> Parameters:
        """Values of parameters."""

    @property
    def names(self) -> Packages:
        """The libraries of the model."""

    @property
    def place(self) -> Origin:
        """Where the call stands."""

    def number(self, value: Value, why: str) -> float:
        """The number that `value` is; the parameters it needs are built in, because `why`."""

    def in_time(self, e: Expression) -> Expression:
        """`e` as a function of time where that is all it is."""

    def condition(self) -> Expression:
        """What holds wherever the value of the call counts."""

    def check(self, condition: Expression, message: str, warning: bool, origin: Origin) -> None:
        """Remember an assertion."""

    def refuse(self, construct: str, remedy: str) -> NoReturn:
        """Say that `construct` is not supported and what to do instead."""


#: a twin gets the arguments of the external call in their order
Twin: TypeAlias = Callable[[Host, Sequence[Value]], "Value | Written"]
TwinTable: TypeAlias = Mapping[str, Twin]


def scalar(value: Value) -> Expression:
    """A scalar argument."""
    if not isinstance(value, Expression):
        raise ValueMismatch("an external function needs a number here")
    return value


def with_known_texts(twin: Twin) -> Twin:
    """The twin with texts of parameters as they are now, in the place of `{name}`."""

    def called(host: Host, a: Sequence[Value]) -> Value | Written:
        def number(e: Expression) -> float | None:
            known = host.parameters.peek(e)
            return None if known is None else host.number(e, "it is part of a text")

        return twin(host, [settled(v, number) if isinstance(v, str) else v for v in a])

    return called


def text(value: Value) -> str:
    """A String argument, which must be known now."""
    if not isinstance(value, str):
        raise ValueMismatch("a text that is known only during the run")
    return value


def whole(host: Host, value: Value, why: str) -> int:
    """An Integer argument, which must be known now."""
    return int(host.number(value, why))


def truth(host: Host, value: Value, why: str) -> bool:
    """A Boolean argument, which must be known now."""
    return bool(host.number(value, why))


def numbers(host: Host, value: Value, why: str) -> NDArray[np.float64]:
    """An array argument as numbers."""
    if not is_array(value):
        return np.array(host.number(value, why))
    flat = [host.number(element, why) for element in value.flat]
    return np.array(flat, dtype=float).reshape(value.shape)


def constants(values: object) -> Array:
    """Numbers as an array of constant expressions."""
    given = np.asarray(values, dtype=float)
    result = np.empty(given.shape, dtype=object)
    for index in np.ndindex(*given.shape):
        result[index] = ex.const(float(given[index]))
    return result
