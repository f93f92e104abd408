"""Variables that are only looked at: nothing else in the model needs them.

An event that concerns none but these changes nothing in the run, so that the run need not stop for
it: their relations are evaluated as they stand, wherever the variables are asked for. An angle that
is wrapped for a plot then costs nothing, and noise around its jump does no harm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from estimica.flat import expression as ex
from estimica.flat.system import Equation
from estimica.structure.events.roles import VariableRoles


def observing(roles: VariableRoles) -> frozenset[int]:
    """Numbers of the equations `y = ...` whose y no other equation needs, but for such ones."""
    equations = roles.draft.equations
    used = [ex.names_in(e.lhs, e.rhs) for e in equations]
    users: defaultdict[str, set[int]] = defaultdict(set)
    for number, names in enumerate(used):
        for name in names:
            users[name].add(number)
    elsewhere = _needed_elsewhere(roles)
    found = set[int]()
    stack = [n for n in roles.draft.unknowns if len(users[n]) == 1]
    while stack:
        name = stack.pop()
        if len(users[name]) != 1 or name in elsewhere or name not in roles.continuous:
            continue
        (number,) = users[name]
        if not _gives(equations[number], name):
            continue
        found.add(number)
        for other in used[number]:
            users[other].discard(number)
            if len(users[other]) == 1:
                stack.append(other)
    return frozenset(found)


def _needed_elsewhere(roles: VariableRoles) -> set[str]:
    draft = roles.draft
    roots = [side for e in draft.initial_equations for side in (e.lhs, e.rhs)]
    roots += [e for when in draft.whens for e in when.expressions]
    roots += [a.condition for a in draft.assertions]
    return ex.names_in(*roots) | draft.reinitialised | draft.fixed


def _gives(e: Equation, name: str) -> bool:
    """Whether it reads `name = ...`, with nothing of `name` on the other side."""
    return any(
        side is ex.name(name) and name not in ex.names_in(other) for side, other in _both_ways(e)
    )


def _both_ways(e: Equation) -> Sequence[tuple[ex.Expression, ex.Expression]]:
    return (e.lhs, e.rhs), (e.rhs, e.lhs)
