"""StagePlan: how an experiment begins, and what is changed from outside while it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from estimica.source.formula import Formula, parse_formula

Value = float | str  # a number, or an expression in parameters and states
Values = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class SteadyStart:
    """The steady state from which an experiment begins, and what holds there instead."""

    inputs: tuple[tuple[str, float], ...] = ()
    parameters: Values = ()


@dataclass(frozen=True)
class Stage:
    """From `time` on: what is added to states, and what states, parameters or inputs are set to."""

    time: float
    added: Values = ()
    set: Values = ()


@dataclass(frozen=True)
class StagePlan:
    """The steady start and the changes of one experiment, in the order of time."""

    rest: SteadyStart | None = None
    stages: tuple[Stage, ...] = ()
    name: str = field(default="", compare=False)  # of the case, for messages

    def __bool__(self) -> bool:
        return self.rest is not None or bool(self.stages)

    @cached_property
    def formulas(self) -> dict[str, Formula]:
        """All expressions, by their text."""
        given: list[tuple[str, Value]] = [v for s in self.stages for v in (*s.added, *s.set)]
        given += [] if self.rest is None else self.rest.parameters
        return {t: parse_formula(t, f"'{n}'") for n, t in given if isinstance(t, str)}

    def own(self, known: Iterable[str]) -> tuple[str, ...]:
        """Names in expressions that the model does not know: parameters of their own."""
        of_model = set(known)
        names = dict.fromkeys(n for f in self.formulas.values() for n in f.names)
        return tuple(n for n in names if n not in of_model)


def value_pairs(given: Mapping[str, Value]) -> Values:
    """A table of values as it is kept."""
    return tuple((n, v if isinstance(v, str) else float(v)) for n, v in given.items())
