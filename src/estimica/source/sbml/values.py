"""Values: what each symbol of an SBML model is worth at the start, in terms of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.sbml.symbols import Role, Symbol


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
