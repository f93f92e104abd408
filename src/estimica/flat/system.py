"""FlatSystem: one Modelica class as scalar variables and scalar equations, each with its origin.

Everything hierarchical, array-valued or functional is gone: arrays are elements named `x[2]`,
records are fields named `r.a`, loops are unrolled. Small functions are written out in the
expressions; others are called, and their definitions stand in the nodes that call them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from estimica.base.code.trusted import TrustedCode
from estimica.flat.expression import Expression


class Kind(StrEnum):
    """The type of a scalar variable; an enumeration holds its ordinal, counted from 1."""

    REAL = "Real"
    INTEGER = "Integer"
    BOOLEAN = "Boolean"
    ENUMERATION = "enumeration"
    STRING = "String"


class Variability(StrEnum):
    """When a variable may change."""

    CONSTANT = "constant"
    PARAMETER = "parameter"
    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


class StateSelect(StrEnum):
    """The modeller's wish whether a variable becomes a state."""

    NEVER = "never"
    AVOID = "avoid"
    DEFAULT = "default"
    PREFER = "prefer"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something stands in the user's source."""

    text: str = ""  # as the user wrote it, shortened; "" where it was generated
    component: str = ""  # dotted instance name, "" for the top level
    kind: str = "equation"  # binding, connection, flow sum, unconnected flow, when, …
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def place(self) -> str:
        """File, line and column, as far as they are known."""
        if not self.line:
            return ""
        if not self.file:
            return f"line {self.line}"
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")

    def rewritten(self, text: str, kind: str) -> Origin:
        """The same place, for something that was made of what stands there."""
        return Origin(text, self.component, kind, self.file, self.line, self.column)

    def __str__(self) -> str:
        above = f"in {self.component}" if self.component else ""
        where = ", ".join(x for x in (above, self.place) if x)
        what = f"{self.kind} '{self.text}'" if self.text else self.kind
        return f"{what} ({where})" if where else what


@dataclass(frozen=True, slots=True)
class Variable:
    """One scalar of the model. `binding` is set for parameters and constants only."""

    name: str
    kind: Kind = Kind.REAL
    variability: Variability = Variability.CONTINUOUS
    causality: str = "local"  # input and output: of the top level only
    binding: Expression | None = None
    start: Expression | None = None  # None: not given
    fixed: bool = False
    minimum: Expression | None = None
    maximum: Expression | None = None
    nominal: Expression | None = None
    unit: str = ""
    display_unit: str = ""
    quantity: str = ""
    description: str = ""
    state_select: StateSelect = StateSelect.DEFAULT
    literals: tuple[str, ...] = ()  # names of an enumeration's values
    text: str = ""  # the value of a String parameter
    protected: bool = False
    final: bool = False
    flow: bool = False
    evaluated: str = (
        ""  # why this parameter's value is built into the equations; "" where it is not
    )
    origin: Origin = Origin()

    @property
    def range(self) -> tuple[float, float]:
        """Its min and max, as far as they are numbers."""
        low, high = self.minimum, self.maximum
        return (
            low.value if low is not None and low.op == "const" else -math.inf,
            high.value if high is not None and high.op == "const" else math.inf,
        )


@dataclass(frozen=True, slots=True)
class Equation:
    """lhs = rhs, all scalar."""

    lhs: Expression
    rhs: Expression
    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Action:
    """What a when-branch does: `target = value`, or `reinit(target, value)`."""

    target: str
    value: Expression
    reinit: bool = False
    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Branch:
    """`when {conditions} then actions`: it fires when any of the conditions becomes true."""

    conditions: tuple[Expression, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class When:
    """A when-clause with its elsewhen branches, the first that fires wins."""

    branches: tuple[Branch, ...]
    origin: Origin = Origin()

    @property
    def assigned(self) -> tuple[str, ...]:
        """The variables that it gives a value, each once."""
        return self._targets(reinit=False)

    @property
    def reinitialised(self) -> tuple[str, ...]:
        """The variables that a reinit sets, each once."""
        return self._targets(reinit=True)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All conditions and values."""
        return tuple(
            e for b in self.branches for e in (*b.conditions, *(a.value for a in b.actions))
        )

    def _targets(self, reinit: bool) -> tuple[str, ...]:
        actions = (a for branch in self.branches for a in branch.actions)
        return tuple(dict.fromkeys(a.target for a in actions if a.reinit == reinit))


@dataclass(frozen=True, slots=True)
class Assertion:
    """`assert(condition, message, level)`; or `terminate(message)`, which ends a run in good order
    where its condition no longer holds."""

    condition: Expression
    message: str
    warning: bool = False
    origin: Origin = Origin()
    terminates: bool = False

    @property
    def fails(self) -> bool:
        """Whether a run in which it does not hold has failed."""
        return not (self.warning or self.terminates)


@dataclass(frozen=True, slots=True)
class Experiment:
    """The `annotation(experiment(...))` of the class, where it has one."""

    start: float = 0.0
    stop: float | None = None
    tolerance: float | None = None
    interval: float | None = None


@dataclass(frozen=True, slots=True)
class FlatSystem:
    """A whole model, ready for the structure stage."""

    name: str
    variables: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    initial_equations: tuple[Equation, ...] = ()
    whens: tuple[When, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    description: str = ""
    experiment: Experiment = Experiment()
    notes: tuple[str, ...] = ()  # what the front end rewrote, for the user to know
    source: str = ""  # the file or text the class was read from, for messages
    of_function: bool = False  # a function, with a model written around its call
    modification: str = ""  # with which the class was asked for, in parentheses
    libraries: tuple[str, ...] = ()  # those that were read for it: name, version and place
    #: what flows into the connectors of components: inStream(…), for formulas of users
    inflows: tuple[tuple[str, Expression], ...] = ()
    #: the Python that computes functions of it; it is not kept on disk with the system
    codes: tuple[TrustedCode, ...] = field(default=(), repr=False, compare=False)
    by_name: dict[str, Variable] = field(init=False, repr=False, compare=False)
    #: a name for this content in caches, "" where it has none; a changed copy never has it
    key: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {v.name: v for v in self.variables})
        object.__setattr__(self, "key", "")

    def named(self, key: str) -> FlatSystem:
        """This very system, known to caches as `key`."""
        object.__setattr__(self, "key", key)
        return self


def expressions_of(flat: FlatSystem) -> list[Expression]:
    """Everything that a system computes; attributes of variables are included."""
    found = [side for e in (*flat.equations, *flat.initial_equations) for side in (e.lhs, e.rhs)]
    found += [e for when in flat.whens for e in when.expressions]
    found += [a.condition for a in flat.assertions]
    for v in flat.variables:
        attributes = (v.binding, v.start, v.minimum, v.maximum, v.nominal)
        found += [e for e in attributes if e is not None]
    return found
