"""What each symbol of an SBML model is in equations, and what it is worth at the start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.sbml.document import Document, listed


class Role(StrEnum):
    """How the value of a symbol comes about."""

    PARAMETER = "parameter"  # does not change in time
    ASSIGNED = "assigned"  # an assignment rule gives it
    RATE = "rate"  # a rate rule gives its derivative
    REACTING = "reacting"  # reactions change it
    DISCRETE = "discrete"  # only events change it
    SOLVED = "solved"  # an algebraic rule determines it
    DILUTED = "diluted"  # a fixed amount in a compartment whose size changes


@dataclass(frozen=True)
class Symbol:
    """One compartment, species, parameter or stoichiometry with its role."""

    name: str
    role: Role
    kind: str  # compartment, species, parameter, stoichiometry
    element: Any
    compartment: str = ""  # of a species whose symbol means a concentration
    by_amount: bool = False  # the state is the amount, the symbol amount/size

    @property
    def is_dynamic(self) -> bool:
        """Whether it has a value at the start that the equations change later."""
        return self.role in (Role.RATE, Role.REACTING, Role.DISCRETE)


def symbols_of(document: Document) -> dict[str, Symbol]:
    """Every symbol of the model that has a value, by its id."""
    assigned = {r.getVariable() for r in document.each("Rules") if r.isAssignment()}
    rated = {r.getVariable() for r in document.each("Rules") if r.isRate()}
    events = {
        a.getVariable() for e in document.each("Events") for a in listed(e, "EventAssignments")
    }

    solved = _solved(document) - assigned - rated - events - _reacting(document)

    def role(name: str) -> Role:
        for names, role_of_names in (
            (assigned, Role.ASSIGNED),
            (rated, Role.RATE),
            (events, Role.DISCRETE),
            (solved, Role.SOLVED),
        ):
            if name in names:
                return role_of_names
        return Role.PARAMETER

    symbols = {
        e.getId(): Symbol(e.getId(), role(e.getId()), kind, e)
        for kind, what in (("compartment", "Compartments"), ("parameter", "Parameters"))
        for e in document.each(what)
    }
    reacting = _reacting(document)
    for species in document.each("Species"):
        symbols[species.getId()] = _species(species, role(species.getId()), reacting, symbols)
    for reaction in document.each("Reactions"):
        for what in ("Reactants", "Products"):
            for part in listed(reaction, what):
                name = part.getId()
                if name:
                    symbols[name] = Symbol(name, role(name), "stoichiometry", part)
    return symbols


def _solved(document: Document) -> set[str]:
    """Names in algebraic rules of what may change."""
    names: set[str] = set()
    pending = [r.getMath() for r in document.each("Rules") if r.isAlgebraic()]
    while pending:
        node = pending.pop()
        pending += [node.getChild(k) for k in range(node.getNumChildren())]
        if node.isName():
            names.add(node.getName())
    free = [*document.each("Parameters"), *document.each("Species"), *document.each("Compartments")]
    return names & {e.getId() for e in free if not e.getConstant()}


def _reacting(document: Document) -> set[str]:
    return {
        part.getSpecies()
        for reaction in document.each("Reactions")
        for what in ("Reactants", "Products")
        for part in listed(reaction, what)
    }


def _species(species: Any, role: Role, reacting: set[str], known: dict[str, Symbol]) -> Symbol:
    name, place = species.getId(), known.get(species.getCompartment())
    fixed = species.getBoundaryCondition() or species.getConstant()
    if role in (Role.PARAMETER, Role.DISCRETE) and name in reacting and not fixed:
        role = Role.REACTING
    if species.getHasOnlySubstanceUnits() or place is None or _is_pointlike(place):
        return Symbol(name, role, "species", species)
    varies = place.role is not Role.PARAMETER
    if role is Role.PARAMETER and varies:
        role = Role.DILUTED
    by_amount = varies and role in (Role.REACTING, Role.DILUTED)
    return Symbol(name, role, "species", species, place.name, by_amount)


def _is_pointlike(compartment: Symbol) -> bool:
    """A compartment without dimensions has no size, so that its species are amounts."""
    return bool(compartment.element.getSpatialDimensions() == 0)


class StartValues:
    """Resolves start values: initial assignments, rules at the start, attributes."""

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        assignments: Mapping[str, Expression],
        rules: Mapping[str, Expression],
        start_parameters: Mapping[str, str],
    ) -> None:
        self.symbols, self.assignments, self.rules = symbols, assignments, rules
        self.start_parameters = start_parameters
        self._known: dict[str, Expression] = {}
        self._open: list[str] = []

    def default(self, name: str) -> Expression | None:
        """The value that the model gives a symbol at the start; None where it gives none."""
        symbol = self.symbols[name]
        if symbol.role is Role.ASSIGNED:
            return self._resolved(name, self.rules[name])
        if name in self.assignments:
            return self._resolved(name, self.assignments[name])
        return self._attribute(symbol)

    def at_start(self, name: str) -> Expression:
        """What a symbol is worth at the start, as others see it."""
        symbol = self.symbols.get(name)
        if name in self.start_parameters:
            return ex.name(self.start_parameters[name])
        if symbol is None or symbol.role is Role.PARAMETER:
            if name in self.rules:  # a reaction's rate
                return self._resolved(name, self.rules[name])
            return ex.name(name)
        if name not in self._known:
            value = self.default(name)
            self._known[name] = ex.ZERO if value is None else value
        return self._known[name]

    def _resolved(self, name: str, e: Expression) -> Expression:
        """An expression with every variable replaced by its value at the start."""
        if name in self._open:
            chain = " → ".join([*self._open[self._open.index(name) :], name])
            raise SourceError("S307", f"the start values of {chain} depend on each other")
        self._open.append(name)
        try:
            return ex.rewrite([e], self._leaf)[0]
        finally:
            self._open.pop()

    def _leaf(self, leaf: Expression) -> Expression:
        if leaf.op == "name":
            return self.at_start(leaf.target)
        return ex.ZERO if leaf.op == "time" else leaf

    def _attribute(self, symbol: Symbol) -> Expression | None:
        element = symbol.element
        if symbol.kind == "compartment":
            return _number(element.getSize()) if element.isSetSize() else ex.ONE
        if symbol.kind == "parameter":
            return _number(element.getValue()) if element.isSetValue() else None
        if symbol.kind == "stoichiometry":
            value = element.getStoichiometry()
            return ex.ONE if math.isnan(value) else ex.const(value)
        return self._species(symbol)

    def _species(self, symbol: Symbol) -> Expression | None:
        species = symbol.element
        if symbol.compartment:
            if species.isSetInitialConcentration():
                return _number(species.getInitialConcentration())
            if species.isSetInitialAmount():
                amount = ex.const(species.getInitialAmount())
                return ex.div(amount, self.at_start(symbol.compartment))
            return None
        if species.isSetInitialAmount():
            return _number(species.getInitialAmount())
        if species.isSetInitialConcentration():
            size = self.at_start(species.getCompartment())
            return ex.mul(ex.const(species.getInitialConcentration()), size)
        return None


def _number(value: float) -> Expression | None:
    return ex.const(value) if math.isfinite(value) else None
