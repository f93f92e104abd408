"""When-clauses as equations that hold at every event.

Every condition c becomes a hidden Boolean. It fires where it has become true, c and not pre(c), but
not at the initial event: there pre(c) is worth nothing yet, and Modelica fires a when only where
initial() is among its conditions. After the initial event pre(c) is the value that c had there, so
that a condition true from the start does not fire later either. An elsewhen fires only where no
earlier branch does. A target keeps its previous value where nothing fires.
"""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Branch, Origin, When
from estimica.structure.events.writer import EventWriter
from estimica.structure.sorted_system import Assignment, Reinit


@dataclass(frozen=True, slots=True)
class WhenEquations:
    """What all when-clauses of a model do."""

    assignments: tuple[Assignment, ...]
    reinits: tuple[Reinit, ...]


def write_whens(whens: tuple[When, ...], writer: EventWriter) -> WhenEquations:
    """One equation for each target, one reinit for each reinit."""
    assignments: dict[str, Assignment] = {}
    reinits: list[Reinit] = []
    for number, when in enumerate(whens, 1):
        fired = _fired_branches(number, when, writer)
        for target, value in _targets(when, fired, writer).items():
            if target in assignments:
                raise StructureError(
                    "E403",
                    f"'{target}' is assigned in two when-clauses ({assignments[target].origin} "
                    f"and {when.origin}); join them by elsewhen",
                )
            assignments[target] = Assignment(target, value, when.origin)
        reinits += _reinits(when, fired, writer)
    return WhenEquations(tuple(assignments.values()), tuple(reinits))


def _fired_branches(number: int, when: When, writer: EventWriter) -> list[Expression]:
    """For every branch the expression that is true at an event in which it fires."""
    fired: list[Expression] = []
    earlier: Expression = ex.ZERO
    count = 0
    for branch in when.branches:
        rising: Expression = ex.ZERO
        for condition in _parts(branch):
            count += 1
            label = f"$when{number}[{count}]"
            earlier_self = _without_own_targets(condition, when, writer)
            rising = ex.logical_or(rising, _rising(label, earlier_self, when.origin, writer))
        own = ex.logical_and(rising, ex.logical_not(earlier))
        fired.append(own)
        earlier = ex.logical_or(earlier, own)
    return fired


def _parts(branch: Branch) -> list[Expression]:
    """The conditions; `initial() or c` counts as two of them."""
    parts: list[Expression] = []
    stack = list(reversed(branch.conditions))
    while stack:
        c = stack.pop()
        if c.op == "or" and any(e is ex.INITIAL for e in ex.walk(c)):
            stack += reversed(c.operands)
        else:
            parts.append(c)
    return parts


def _without_own_targets(condition: Expression, when: When, writer: EventWriter) -> Expression:
    """Where a condition needs what its own when assigns, only the previous value makes sense."""
    own = set(when.assigned)
    used = sorted({e.target for e in ex.walk(condition) if e.op == "name"} & own)
    for name in used:
        writer.notes[f"the condition of {when.origin} takes the previous value of '{name}'"] = None
    if not used:
        return condition

    def leaf(e: Expression) -> Expression:
        return ex.pre(e.target) if e.op == "name" and e.target in own else e

    return ex.rewrite([condition], leaf)[0]


def _rising(label: str, condition: Expression, origin: Origin, writer: EventWriter) -> Expression:
    if condition is ex.INITIAL:
        return ex.INITIAL
    (later,) = ex.rewrite([condition], lambda e: ex.ZERO if e is ex.INITIAL else e)
    value = writer.eventful(later, origin)
    if ex.is_const(value):
        return ex.ZERO
    known = value.op == "name" and (
        value.target in writer.roles.logicals or value.target in writer.hidden.logicals
    )
    c = value if known else writer.hidden.logical(label, value, origin)
    rises = ex.logical_and(c, ex.logical_not(ex.pre(c.target)))
    return ex.logical_and(rises, ex.logical_not(ex.INITIAL))


def _targets(when: When, fired: list[Expression], writer: EventWriter) -> dict[str, Expression]:
    """The value that each target has after an event."""
    values: dict[str, Expression] = {n: ex.pre(n) for n in when.assigned}
    for branch, condition in reversed(list(zip(when.branches, fired, strict=True))):
        last = {a.target: a for a in branch.actions if not a.reinit}
        for target, action in last.items():
            value = writer.silent(action.value, action.origin)
            values[target] = ex.conditional(condition, value, values[target])
    return values


def _reinits(when: When, fired: list[Expression], writer: EventWriter) -> list[Reinit]:
    return [
        Reinit(a.target, condition, writer.silent(a.value, a.origin), a.origin)
        for branch, condition in zip(when.branches, fired, strict=True)
        for a in branch.actions
        if a.reinit
    ]
