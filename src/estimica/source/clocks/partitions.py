"""Partitions: what belongs to the same clock, and how the clocks of partitions are related."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Origin, Variability, When
from estimica.source.clocks.operators import CONVERSIONS, Application, ClockOperators


class Joined:
    """Names that belong together (union and find)."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The name that stands for all that `name` belongs to."""
        above = self._above.setdefault(name, name)
        if above == name:
            return name
        path = []
        while self._above[name] != name:
            path.append(name)
            name = self._above[name]
        for passed in path:
            self._above[passed] = name
        return name

    def join(self, names: Iterable[str]) -> None:
        """All of `names` belong together."""
        roots = [self.root(n) for n in names]
        for other in roots[1:]:
            self._above[other] = roots[0]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The clock `of` has `factor` times the interval of `source`, starting `shift` of them later.

    Without a factor it is to be inferred.
    """

    of: str
    source: str
    factor: Fraction | None
    shift: Fraction
    origin: Origin
    method: str = ""


@dataclass(slots=True)
class Partition:
    """All that ticks with one clock."""

    root: str
    origin: Origin
    clocked: str = ""  # why it has a clock: the operator or clause; "" for continuous time
    equations: list[Equation] = field(default_factory=list)
    clocks: list[Application] = field(default_factory=list)  # constructors that give its clock


@dataclass(slots=True)
class Partitions:
    """The partitions of a model, by their roots."""

    joined: Joined
    found: dict[str, Partition]
    conversions: list[Conversion]
    whens: list[When]

    def of(self, name: str) -> Partition:
        """The partition that a name, or an argument of an operator, belongs to."""
        return self.found[self.joined.root(name)]

    def clocked(self) -> Iterator[Partition]:
        """Those with a clock and equations."""
        return (p for p in self.found.values() if p.clocked and p.equations)


def argument_of(application: Application) -> str:
    """The name under which the argument of an operator is known here."""
    return f"{application.result}.argument"


def partitions_of(system: FlatSystem, operators: ClockOperators) -> Partitions:
    """Divide a model that still has the names of clock operators in its expressions."""
    return _Division(system, operators).partitions()


class _Division:
    def __init__(self, system: FlatSystem, operators: ClockOperators) -> None:
        self.system = system
        self.operators = operators
        self.applications: Mapping[str, Application] = operators.applications
        self.joined = Joined()
        self.reasons: list[tuple[str, str, Origin]] = []  # names that have a clock, and why
        self.conversions: list[Conversion] = []
        self.constants = {
            v.name
            for v in system.variables
            if v.variability in (Variability.PARAMETER, Variability.CONSTANT)
        }

    def partitions(self) -> Partitions:
        for application in self.applications.values():
            self._apply(application)
        placed: list[tuple[str, Equation]] = []
        for equation in self.system.equations:
            if self._is_of_clocks(equation):
                self.joined.join([equation.lhs.target, equation.rhs.target])
                continue
            names = self._names(equation.lhs, equation.rhs)
            self.joined.join(names)
            placed.append((names[0] if names else "", equation))
        whens = []
        for number, when in enumerate(self.system.whens):
            clock = self._clock_of(when)
            if clock is None:
                self.joined.join([*when.assigned, *self._names(*when.expressions)])
                whens.append(when)
                continue
            placed += self._clause(f"$when{number}", clock, when)
        for assertion in self.system.assertions:
            self.joined.join(self._names(assertion.condition))
        return self._result(placed, whens)

    def _names(self, *roots: Expression) -> list[str]:
        return sorted(ex.names_in(*roots) - self.constants)

    def _is_of_clocks(self, equation: Equation) -> bool:
        sides = [self.operators.is_clock(e) for e in (equation.lhs, equation.rhs)]
        if any(sides) and not all(sides):
            raise SourceError(
                "S230", f"{equation.origin}: a clock is set equal to something that is none"
            )
        return all(sides)

    def _clock_of(self, when: When) -> str | None:
        conditions = [c for b in when.branches for c in b.conditions]
        if not any(self.operators.is_clock(c) for c in conditions):
            return None
        if len(conditions) > 1 or when.reinitialised:
            raise SourceError(
                "S231",
                f"{when.origin}: a when-clause of a clock has one condition, no elsewhen and no "
                "reinit; write a clause for each clock",
            )
        return conditions[0].target

    def _clause(self, token: str, clock: str, when: When) -> list[tuple[str, Equation]]:
        equations = []
        names = [token, clock]
        self.reasons.append((token, "when", when.origin))
        for action in when.branches[0].actions:
            equations.append((token, Equation(ex.name(action.target), action.value, action.origin)))
            names += [action.target, *self._names(action.value)]
        self.joined.join(names)
        return equations

    def _apply(self, a: Application) -> None:
        own, argument = a.result, argument_of(a)
        if a.argument is not None:
            self.joined.join([argument, *self._names(a.argument)])
        operator = a.operator
        if self.operators.is_clock(ex.name(own)):
            self.reasons.append((own, operator, a.origin))
            if operator == "Clock.solver":
                self.reasons.append((argument, operator, a.origin))
                one, none = Fraction(1), Fraction(0)
                self.conversions.append(Conversion(own, argument, one, none, a.origin, a.method))
            elif operator in CONVERSIONS:
                self.conversions.append(self._conversion(a))
            return
        if operator in ("previous", "interval", "firstTick"):
            self.reasons.append((own, operator, a.origin))
            self.joined.join([own] + ([argument] if a.argument is not None else []))
        elif operator == "sample":
            self.reasons.append((own, operator, a.origin))
            if a.clock is not None:
                self.joined.join([own, a.clock.target])
        elif operator == "hold":
            self.reasons.append((argument, operator, a.origin))
        else:
            self.reasons += [(own, operator, a.origin), (argument, operator, a.origin)]
            if operator in CONVERSIONS:
                self.conversions.append(self._conversion(a))

    def _conversion(self, a: Application) -> Conversion:
        factor: Fraction | None = None
        shift = Fraction(0)
        match a.operator:
            case "subSample" if a.numbers:
                factor = Fraction(a.numbers[0])
            case "superSample" if a.numbers:
                factor = Fraction(1, a.numbers[0])
            case "shiftSample":
                factor, shift = Fraction(1), Fraction(*a.numbers)
            case "backSample":
                factor, shift = Fraction(1), -Fraction(*a.numbers)
        return Conversion(a.result, argument_of(a), factor, shift, a.origin)

    def _result(self, placed: list[tuple[str, Equation]], whens: list[When]) -> Partitions:
        found: dict[str, Partition] = {}

        def at(name: str) -> Partition:
            root = self.joined.root(name)
            return found.setdefault(root, Partition(root, Origin()))

        for name in [*self.applications, *(argument_of(a) for a in self.applications.values())]:
            at(name)
        for variable in self.system.variables:
            at(variable.name)
        for name, why, origin in self.reasons:
            partition = at(name)
            if not partition.clocked:
                partition.clocked, partition.origin = why, origin
        for application in self.applications.values():
            if application.operator in ("Clock.periodic", "Clock.interval", "Clock.event"):
                at(application.result).clocks.append(application)
        for name, equation in placed:
            at(name).equations.append(equation)
        self._check_continuous(at, whens)
        return Partitions(self.joined, found, self.conversions, whens)

    def _check_continuous(self, at: object, whens: list[When]) -> None:
        assert callable(at)
        for a in self.applications.values():
            mixed = ""
            if a.operator == "sample" and at(argument_of(a)).clocked:
                mixed = "sample() of a value that has a clock"
            if a.operator == "hold" and at(a.result).clocked:
                mixed = "hold() in an equation that has a clock"
            if mixed:
                raise SourceError(
                    "S232",
                    f"{a.origin}: {mixed}; put hold() and sample() between what has a clock and "
                    "what has none, subSample() and superSample() between clocks",
                )
        for when in whens:
            partition = at(when.assigned[0]) if when.assigned else None
            if partition is not None and partition.clocked:
                raise SourceError(
                    "S233",
                    f"{when.origin}: a when-clause with a condition stands in equations that have "
                    f"a clock (by '{partition.clocked}', {partition.origin}); use if",
                )
