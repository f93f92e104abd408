"""Roles: what each symbol of an SBML model is in equations: parameter, state, or another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
        for names, found in (
            (assigned, Role.ASSIGNED),
            (rated, Role.RATE),
            (events, Role.DISCRETE),
            (solved, Role.SOLVED),
        ):
            if name in names:
                return found
        return Role.PARAMETER

    found = {
        e.getId(): Symbol(e.getId(), role(e.getId()), kind, e)
        for kind, what in (("compartment", "Compartments"), ("parameter", "Parameters"))
        for e in document.each(what)
    }
    reacting = _reacting(document)
    for species in document.each("Species"):
        found[species.getId()] = _species(species, role(species.getId()), reacting, found)
    for reaction in document.each("Reactions"):
        for what in ("Reactants", "Products"):
            for part in listed(reaction, what):
                name = part.getId()
                if name:
                    found[name] = Symbol(name, role(name), "stoichiometry", part)
    return found


def _solved(document: Document) -> set[str]:
    """Names in algebraic rules of what may change."""
    found: set[str] = set()
    pending = [r.getMath() for r in document.each("Rules") if r.isAlgebraic()]
    while pending:
        node = pending.pop()
        pending += [node.getChild(k) for k in range(node.getNumChildren())]
        if node.isName():
            found.add(node.getName())
    free = [*document.each("Parameters"), *document.each("Species"), *document.each("Compartments")]
    return found & {e.getId() for e in free if not e.getConstant()}


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
