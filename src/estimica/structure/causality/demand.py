"""Demand: which causality somebody wants of a class; `redefinition` makes it so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimica.base.errors import StructureError

Names = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Causality:
    """What is given from outside, what is to be found, and which relations do not hold."""

    inputs: tuple[str, ...] = ()  # besides the inputs that the class declares
    unknowns: tuple[str, ...] = ()  # parameters that are computed
    leave_out: tuple[str, ...] = ()  # equations: their text, or a name that stands in one only

    @staticmethod
    def of(inputs: Names = (), unknowns: Names = (), leave_out: Names = ()) -> Causality:
        """The same from what a user gives: a text is one name."""
        return Causality(
            _names_of("inputs", inputs),
            _names_of("unknowns", unknowns),
            _names_of("leave_out", leave_out),
        )

    def __bool__(self) -> bool:
        return bool(self.inputs or self.unknowns or self.leave_out)


def _names_of(what: str, given: Names) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise StructureError("E203", f"{what}: {name!r} is not a name; write it in quotes")
    return names


def slope_name(name: str) -> str:
    """The input that carries the time derivative of input `name`."""
    return f"der({name})"
