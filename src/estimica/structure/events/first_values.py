"""First values of `pre(x)` that follow from others, as the steps of a state graph have them.

`initial equation pre(a) = pre(b)` makes both the same; and where `c = pre(a)` holds throughout and
an initial equation gives c a value, that is the first value of pre(a).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation


def first_pre_values(
    initial: Sequence[Equation],
    equations: Iterable[Equation],
    values: Mapping[str, Expression],
    starts: Mapping[str, Expression],
) -> dict[str, Expression]:
    """The start value of each variable that an equation between two pre ties to another.

    `values` are those that initial equations give; `starts` are declared.
    """
    groups = _groups([e for e in initial if equates_two_pre(e)])
    if not groups:
        return {}
    known = _from_equations(equations, values)
    found: dict[str, Expression] = {}
    for members in groups:
        given = [source[n] for source in (known, starts) for n in members if n in source]
        found.update(dict.fromkeys(members, given[0] if given else ex.ZERO))
    return found


def equates_two_pre(e: Equation) -> bool:
    """Whether it reads `pre(a) = pre(b)`."""
    return e.lhs.op == "pre" and e.rhs.op == "pre"


def _from_equations(
    equations: Iterable[Equation], values: Mapping[str, Expression]
) -> dict[str, Expression]:
    found = {}
    for e in equations:
        for now, past in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
            if now.op == "name" and past.op == "pre" and now.target in values:
                found[past.target] = values[now.target]
    return found


def _groups(ties: Iterable[Equation]) -> list[list[str]]:
    group_of: dict[str, list[str]] = {}
    for e in ties:
        one, other = (group_of.setdefault(x.target, [x.target]) for x in (e.lhs, e.rhs))
        if one is not other:
            one.extend(other)
            group_of.update(dict.fromkeys(other, one))
    return list({id(g): g for g in group_of.values()}.values())
