"""An SBML model as a FlatSystem: species and rules as equations, events as when-clauses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.serialise import to_json
from estimica.flat.system import (
    Action,
    Branch,
    Equation,
    FlatSystem,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.source.cache import content_key
from estimica.source.sbml.document import Document, listed, read_document
from estimica.source.sbml.mathematics import Reader
from estimica.source.sbml.symbols import Role, StartValues, Symbol, symbols_of


@dataclass(frozen=True)
class SbmlSystem:
    """The equations of a model, and which parameter holds the start of a variable."""

    flat: FlatSystem
    start_parameters: Mapping[str, str]
    symbols: Mapping[str, Symbol]


def load_sbml(path: str | PathLike[str]) -> FlatSystem:
    """The model of an SBML file as variables and equations, known to caches by its content."""
    flat = translate(read_document(path)).flat
    return flat.named(content_key(to_json(flat)))


def translate(document: Document, start_parameters: Collection[str] = ()) -> SbmlSystem:
    """The equations of a model.

    Variables named in `start_parameters` begin at a parameter of their own, so that a study can
    set it in each case; its default is the model's start value.
    """
    return _Translator(document, start_parameters).translated()


class _Translator:
    """Collects variables and equations; the order is that of the document."""

    def __init__(self, document: Document, start_parameters: Collection[str]) -> None:
        self.document = document
        self.symbols = symbols_of(document)
        self.reactions = {r.getId(): r for r in document.each("Reactions")}
        taken = {*self.symbols, *self.reactions}
        self.starts = {
            n: _unused(f"{n}_start", taken)
            for n in start_parameters
            if n in self.symbols and self.symbols[n].is_dynamic
        }
        self.reader = Reader(self._name, document.definitions())
        self.rules = {
            r.getVariable(): self._read(r, f"rule of '{r.getVariable()}'")
            for r in document.each("Rules")
            if not r.isAlgebraic()
        }
        self.local: list[Variable] = []
        self.rates = {n: self._rate(r) for n, r in self.reactions.items()}
        assigned = {
            a.getSymbol(): self._read(a, f"initial assignment of '{a.getSymbol()}'")
            for a in document.each("InitialAssignments")
        }
        known = {n: e for n, e in self.rules.items() if self.symbols[n].role is Role.ASSIGNED}
        self.values = StartValues(self.symbols, assigned, known | self.rates, self.starts)
        self.notes: list[str] = []

    # --- formulas -------------------------------------------------------------------------------

    def _name(self, name: str) -> Expression:
        if name in self.symbols or name in self.reactions:
            return ex.name(name)
        hint = did_you_mean(name, [*self.symbols, *self.reactions])
        raise SourceError("S308", f"'{self.document.label}': unknown name '{name}'{hint}")

    def _read(self, element: Any, where: str) -> Expression:
        return self.reader.at(f"'{self.document.label}', {where}").read(element.getMath())

    def _rate(self, reaction: Any) -> Expression:
        """The kinetic law; its own parameters become parameters of the model."""
        name, law = reaction.getId(), reaction.getKineticLaw()
        if law is None:
            raise SourceError("S309", f"reaction '{name}' has no kinetic law; add one")
        if reaction.isSetFast() and reaction.getFast():
            raise UnsupportedError(
                "U063", f"reaction '{name}' is fast; write its equilibrium as an algebraic rule"
            )
        own: dict[str, str] = {}
        for what in ("Parameters", "LocalParameters"):
            for p in listed(law, what):
                if p.getId() not in own:
                    own[p.getId()] = self._local(name, p)

        def lookup(n: str) -> Expression:
            return ex.name(own[n]) if n in own else self._name(n)

        where = f"'{self.document.label}', reaction '{name}'"
        return Reader(lookup, self.reader.definitions, where).read(law.getMath())

    def _local(self, reaction: str, parameter: Any) -> str:
        taken = {*self.symbols, *self.reactions, *(v.name for v in self.local)}
        name = _unused(f"{reaction}_{parameter.getId()}", taken)
        value = ex.const(parameter.getValue()) if parameter.isSetValue() else None
        words = f"{parameter.getId()} of reaction {reaction}"
        self.local.append(_parameter(name, value, words))
        return name

    # --- the system -----------------------------------------------------------------------------

    def translated(self) -> SbmlSystem:
        variables: list[Variable] = []
        for symbol in self.symbols.values():
            variables += self._declared(symbol)
        variables += self.local
        variables += [_variable(n, description=r.getName()) for n, r in self.reactions.items()]
        equations = list(self._equations())
        whens, memories = whens_of(self.document, self.symbols, self.rules, self.reader)
        flat = FlatSystem(
            name=self.document.name,
            variables=(*variables, *memories),
            equations=tuple(equations),
            whens=whens,
            description=self.document.model.getName(),
            notes=tuple(self.notes),
            source=self.document.label,
        )
        return SbmlSystem(flat, self.starts, self.symbols)

    def _declared(self, symbol: Symbol) -> Iterable[Variable]:
        name, words = symbol.name, symbol.element.getName()
        value = self.values.default(name)
        if symbol.role is Role.PARAMETER:
            yield _parameter(name, value, words)
            return
        if name in self.starts:
            yield _parameter(self.starts[name], value, f"start of {name}")
            value = ex.name(self.starts[name])
        if value is None and symbol.is_dynamic:
            self.notes.append(f"'{name}' has no start value in the model and begins at 0")
            value = ex.ZERO
        if symbol.by_amount:
            size = self.values.at_start(symbol.compartment)
            amount = ex.mul(value or ex.ZERO, size)
            if symbol.role is Role.DILUTED:
                yield _parameter(self._amount(name), amount, f"amount of {name}")
            else:
                yield _state(self._amount(name), amount, f"amount of {name}")
            yield _variable(name, description=words)
        elif symbol.role is Role.ASSIGNED:
            yield _variable(name, description=words)
        elif symbol.role is Role.SOLVED:
            yield Variable(name, start=value, description=words or "")
        elif symbol.role is Role.DISCRETE:
            yield _state(name, value, words, Variability.DISCRETE)
        else:
            yield _state(name, value, words)

    def _amount(self, name: str) -> str:
        return _unused(f"{name}_amount", {*self.symbols, *self.reactions})

    def _equations(self) -> Iterable[Equation]:
        for rule in self.document.each("Rules"):
            name = rule.getVariable()
            if rule.isAlgebraic():
                e = self._read(rule, "algebraic rule")
                yield Equation(ex.ZERO, e, Origin(kind="algebraic rule"))
            elif rule.isRate():
                yield Equation(ex.der(name), self.rules[name], _origin("rate rule", name))
            else:
                yield Equation(ex.name(name), self.rules[name], _origin("assignment rule", name))
        for name, rate in self.rates.items():
            yield Equation(ex.name(name), rate, _origin("reaction", name))
        changes = self._changes()
        for symbol in self.symbols.values():
            if symbol.role is Role.REACTING:
                yield self._balance(symbol, changes[symbol.name])
            if symbol.by_amount:
                concentration = ex.div(
                    ex.name(self._amount(symbol.name)), ex.name(symbol.compartment)
                )
                yield Equation(
                    ex.name(symbol.name), concentration, _origin("concentration", symbol.name)
                )

    def _balance(self, symbol: Symbol, change: Expression) -> Equation:
        factor = symbol.element.getConversionFactor() or self.document.model.getConversionFactor()
        if factor:
            change = ex.mul(change, self._name(factor))
        origin = _origin("balance", symbol.name)
        if symbol.by_amount:
            return Equation(ex.der(self._amount(symbol.name)), change, origin)
        if symbol.compartment:
            change = ex.div(change, ex.name(symbol.compartment))
        return Equation(ex.der(symbol.name), change, origin)

    def _changes(self) -> dict[str, Expression]:
        """Amount per time that the reactions add to each species."""
        changes = {n: ex.ZERO for n, s in self.symbols.items() if s.role is Role.REACTING}
        for name, reaction in self.reactions.items():
            for what, add in (("Reactants", ex.sub), ("Products", ex.add)):
                for part in listed(reaction, what):
                    species = part.getSpecies()
                    if species in changes:
                        flow = ex.mul(self._stoichiometry(part, name), ex.name(name))
                        changes[species] = add(changes[species], flow)
        return changes

    def _stoichiometry(self, part: Any, reaction: str) -> Expression:
        if part.isSetStoichiometryMath():
            return self._read(part.getStoichiometryMath(), f"stoichiometry in '{reaction}'")
        if part.getId():
            return ex.name(part.getId())
        value = part.getStoichiometry()
        return ex.ONE if value != value else ex.const(value)


def _origin(kind: str, name: str) -> Origin:
    return Origin(text=name, kind=kind)


def _parameter(name: str, value: Expression | None, words: str) -> Variable:
    return Variable(name, variability=Variability.PARAMETER, binding=value, description=words or "")


def _variable(name: str, description: str) -> Variable:
    return Variable(name, description=description or "")


def _state(
    name: str,
    start: Expression | None,
    words: str,
    variability: Variability = Variability.CONTINUOUS,
) -> Variable:
    return Variable(name, variability=variability, start=start, fixed=True, description=words or "")


def _unused(wish: str, taken: Collection[str]) -> str:
    name = wish
    while name in taken:
        name += "_"
    return name


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
