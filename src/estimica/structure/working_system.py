"""A model on its way through the stages: what is left to sort, and what has been put aside."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.flat.expression import Expression
from estimica.flat.system import (
    Assertion,
    Equation,
    FlatSystem,
    Kind,
    StateSelect,
    When,
)
from estimica.structure.parameters import Parameters


@dataclass(frozen=True, slots=True)
class WorkingSystem:
    """The equations of a model in the variables that are left."""

    flat: FlatSystem
    parameters: Parameters
    inputs: tuple[str, ...]
    unknowns: tuple[str, ...]  # every variable that is not a parameter and no input
    equations: tuple[Equation, ...]
    initial_equations: tuple[Equation, ...]
    whens: tuple[When, ...]
    assertions: tuple[Assertion, ...]
    starts: dict[str, Expression]
    fixed: frozenset[str]
    state_select: dict[str, StateSelect]
    aliases: dict[str, Expression]
    notes: tuple[str, ...]
    counts: tuple[int, int] = (0, 0)  # equations and unknowns as the model has them
    redundant: tuple[Equation, ...] = ()  # equations that turned out to say nothing

    def is_real(self, name: str) -> bool:
        """Whether a variable of this name is a Real (generated ones are not looked up here)."""
        return self.flat.by_name[name].kind is Kind.REAL

    @property
    def assigned_in_whens(self) -> frozenset[str]:
        """The variables that a when-clause gives a value."""
        return frozenset(name for when in self.whens for name in when.assigned)

    @property
    def reinitialised(self) -> frozenset[str]:
        """The variables that a reinit sets."""
        return frozenset(name for when in self.whens for name in when.reinitialised)
