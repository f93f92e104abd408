"""Events: what happens in an SBML model when a trigger becomes true, as when-clauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Action, Branch, Origin, Variability, Variable, When
from estimica.source.sbml.document import Document, listed
from estimica.source.sbml.mathematics import Reader
from estimica.source.sbml.symbols import Role, Symbol

#: when an event is due that nothing has triggered yet: later than any simulation ends
NEVER = 1e100


def whens_of(
    document: Document,
    symbols: Mapping[str, Symbol],
    rules: Mapping[str, Expression],
    reader: Reader,
) -> tuple[tuple[When, ...], tuple[Variable, ...]]:
    """The when-clauses of all events, and variables that remember when a delayed one is due."""
    writer = _Writer(document, symbols, rules, reader)
    events = [writer.branch(e, k) for k, e in enumerate(document.each("Events"))]
    return tuple(_together(events)) + tuple(writer.timers), tuple(writer.memories)


def _together(branches: list[Branch]) -> list[When]:
    """One clause for events that set the same variable: a variable belongs to one clause only."""
    groups: list[list[Branch]] = []
    for branch in branches:
        targets = {a.target for a in branch.actions}
        alike = [g for g in groups if any(a.target in targets for b in g for a in b.actions)]
        merged = [b for g in alike for b in g] + [branch]
        groups = [g for g in groups if g not in alike] + [merged]
    return [When(tuple(g), Origin(kind="event")) for g in groups]


class _Writer:
    """Writes the branches of events."""

    def __init__(
        self,
        document: Document,
        symbols: Mapping[str, Symbol],
        rules: Mapping[str, Expression],
        reader: Reader,
    ) -> None:
        self.document, self.symbols, self.reader = document, symbols, reader
        self.rules = {n: e for n, e in rules.items() if symbols[n].role is Role.ASSIGNED}
        self.timers: list[When] = []
        self.memories: list[Variable] = []

    def branch(self, event: Any, number: int) -> Branch:
        """The condition of an event and what it does."""
        name = event.getId() or f"event_{number + 1}"
        where = f"'{self.document.label}', event '{name}'"
        trigger = self._read(event.getTrigger(), where)
        delay = ex.ZERO
        if event.getDelay() is not None:
            delay = self._read(event.getDelay(), where)
        actions = tuple(
            self._action(a, where) for a in listed(event, "EventAssignments") if a.isSetMath()
        )
        if delay is ex.ZERO:
            return Branch((trigger,), actions)
        if event.getUseValuesFromTriggerTime() and not _are_constant(actions, self.symbols):
            raise UnsupportedError(
                "U064",
                f"{where} keeps values from its trigger until it is due; assign values that do "
                "not change, or set useValuesFromTriggerTime to false",
            )
        due = f"{name}_due"
        self.memories.append(
            Variable(
                due,
                variability=Variability.DISCRETE,
                start=ex.const(NEVER),
                fixed=True,
                description=f"when event {name} is due",
            )
        )
        set_timer = Action(due, ex.add(ex.TIME, self._before(delay)))
        self.timers.append(When((Branch((trigger,), (set_timer,)),), Origin(kind="event")))
        return Branch((ex.relation("ge", ex.TIME, ex.name(due)),), actions)

    def _read(self, element: Any, where: str) -> Expression:
        return self.reader.at(where).read(element.getMath())

    def _action(self, assignment: Any, where: str) -> Action:
        name = assignment.getVariable()
        symbol = self.symbols[name]
        value = self._before(self._read(assignment, where))
        target = name
        if symbol.by_amount:
            target, value = f"{name}_amount", ex.mul(value, ex.name(symbol.compartment))
        return Action(target, value, reinit=symbol.role is not Role.DISCRETE)

    def _before(self, e: Expression) -> Expression:
        """Values just before the event: assignments of one event happen at once."""

        def leaf(x: Expression) -> Expression:
            if x.op != "name":
                return x
            if x.target in self.rules:
                return self._before(self.rules[x.target])
            symbol = self.symbols.get(x.target)
            is_discrete = symbol is not None and symbol.role is Role.DISCRETE
            return ex.pre(x.target) if is_discrete else x

        return ex.rewrite([e], leaf)[0]


def _are_constant(actions: tuple[Action, ...], symbols: Mapping[str, Symbol]) -> bool:
    names = {n for a in actions for n in ex.names_in(a.value)}
    return all(n in symbols and symbols[n].role is Role.PARAMETER for n in names)
