"""SortedSystem: what the structure stage hands on: states chosen, aliases gone, equations in the
order in which they can be evaluated, events made explicit. No CasADi, only expressions."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.flat.expression import Expression
from estimica.flat.system import Assertion, Equation, FlatSystem, Origin

_NOWHERE = Origin()
#: linear blocks up to this size are solved symbolically, larger ones by the engine's LU
CLOSED_FORM = 3


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation outside noEvent; its truth is the leaf `mode(index)`, frozen between events.

    State relation: true where `difference > 0` (`strict`) or `difference >= 0`.
    Time relation (`instant` is given): true from the instant on, or up to it (`until`).
    """

    difference: Expression
    strict: bool
    instant: Expression | None = None  # depends on parameters, memories and logicals only
    until: bool = False
    origin: Origin = _NOWHERE


@dataclass(frozen=True, slots=True)
class Assignment:
    """`unknown` := `value`; the unknown is a variable name or `der(name)`."""

    unknown: str
    value: Expression
    origin: Origin = _NOWHERE


@dataclass(frozen=True, slots=True)
class Block:
    """Unknowns that must be solved together.

    `inner` are assignments in order, made once the `torn` unknowns are guessed; `residuals`
    (lhs - rhs, as many as torn unknowns) must then vanish. `linear`: the residuals are linear in
    the torn unknowns, with coefficients that do not depend on them. `regular`: no way is seen in
    which they could become singular.
    """

    torn: tuple[str, ...]
    inner: tuple[Assignment, ...]
    residuals: tuple[Expression, ...]
    linear: bool
    origins: tuple[Origin, ...] = ()
    regular: bool = True

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Everything that this block determines."""
        return self.torn + tuple(a.unknown for a in self.inner)


@dataclass(frozen=True, slots=True)
class Reinit:
    """`state` takes `value` at the end of an event iteration in which `fired` holds."""

    state: str
    fired: Expression
    value: Expression
    origin: Origin = _NOWHERE


@dataclass(frozen=True, slots=True)
class Delay:
    """The signal `name` is `expression` as it was `duration` ago (its first value before that)."""

    name: str
    expression: Expression
    duration: Expression
    origin: Origin = _NOWHERE


@dataclass(frozen=True, slots=True)
class SortedSystem:
    """A model in evaluation order.

    Between events `memories`, `logicals` and modes are constant. Leaves that may occur: const, name
    (of a parameter, input, state, memory, logical, delayed signal, or an unknown that an earlier
    block computes), time, mode, and in `logical_equations`, `memory_equations` and `reinits` also
    pre (of states, memories and logicals), initial and terminal. `der(x)` is spelt as the leaf
    der(x). Relations that still stand in an expression make no event.

    At the initial event pre is the start value throughout: logicals and memories are swept to their
    fixed point once, with initial() true. Then an ordinary event iteration follows at the same
    time, with initial() false, so that sample(t0, ...) and conditions that use initial() come out
    right. Names that begin with `$` are hidden: the user never wrote them.
    """

    flat: FlatSystem
    #: every Real, Integer, Boolean and enumeration parameter and constant, in the order of need
    parameters: tuple[str, ...]
    bindings: dict[str, Expression]  # of those that have one
    free_parameters: tuple[str, ...]  # fixed=false: found by the initial equations
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    memories: tuple[str, ...]  # discrete Reals
    logicals: tuple[str, ...]  # Booleans, Integers, enumerations, and hidden when-conditions
    relations: tuple[Relation, ...]  # mode(i) is relations[i]
    blocks: tuple[Assignment | Block, ...]  # gives every der(state) and every algebraic variable
    constraints: tuple[Equation, ...]  # kept invariants between states, to be projected on
    #: removed variables in terms of kept ones, of parameters, or of time
    aliases: dict[str, Expression]
    logical_equations: tuple[Assignment, ...]  # one for each logical: its value at an event
    memory_equations: tuple[Assignment, ...]  # one for each memory
    reinits: tuple[Reinit, ...]
    delays: tuple[Delay, ...]
    initial_equations: tuple[Equation, ...]  # in kept variables, without fixed start values
    #: start values (or guesses) of kept variables that have one, and of free parameters
    starts: dict[str, Expression]
    fixed: frozenset[str]  # kept continuous variables whose start value holds at the initial time
    assertions: tuple[Assertion, ...]
    notes: tuple[str, ...] = ()  # what was reduced, assumed or dropped, in words for the user
