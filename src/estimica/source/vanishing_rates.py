"""Derivatives that never count, because their factors are zero: a capacitance of 0.

Such a variable is no state, though its derivative stands in the equations. Whether a factor is zero
depends on values of parameters, which are built in then, and only there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem
from estimica.source.known_values import KnownValues

#: operations through which a derivative counts whatever the values of parameters are
_SUMS = frozenset({"add", "sub", "neg"})


def without_vanishing_rates(system: FlatSystem) -> FlatSystem:
    """The system without the derivatives of variables that occur with the factor 0 alone."""
    candidates = _candidates(system)
    if not candidates:
        return system
    known = KnownValues(system)
    zeros: dict[int, dict[Expression, frozenset[str]]] = {}
    remaining: set[str] = set()
    for k, equation in enumerate(system.equations):
        parts = list(_rated_parts(equation, candidates))
        if not parts:
            continue
        zeros[k] = {}
        for part in parts:
            value = known.value(part)
            if value is not None and value.number == 0.0:
                zeros[k][part] = value.parameters
            else:
                remaining |= _rates(part)
    vanishing = candidates - remaining
    if not vanishing:
        return system
    needed: dict[str, str] = {}
    equations = list(system.equations)
    for k, found in zeros.items():
        gone = {p: names for p, names in found.items() if _rates(p) & vanishing}
        if gone:
            sides = _replaced([equations[k].lhs, equations[k].rhs], gone)
            equations[k] = Equation(sides[0], sides[1], equations[k].origin)
            first = min(min(_rates(p) & vanishing) for p in gone)
            needed.update((n, first) for names in gone.values() for n in names)
    variables = tuple(
        dataclasses.replace(
            v, evaluated=f"with its value, 'der({needed[v.name]})' has the factor 0"
        )
        if v.name in needed and not v.evaluated
        else v
        for v in system.variables
    )
    told = ", ".join(f"der({n})" for n in sorted(vanishing)[:3])
    note = f"derivatives that have the factor 0 are left out: {told}"
    return dataclasses.replace(
        system, equations=tuple(equations), variables=variables, notes=(*system.notes, note)
    )


def _candidates(system: FlatSystem) -> set[str]:
    """The variables whose derivatives occur in products or choices of equations alone."""
    inner: set[str] = set()
    plain: set[str] = {v.name for v in system.variables if v.fixed}
    for equation in system.equations:
        for part in _terms(equation.lhs, equation.rhs):
            if part.op == "der":
                plain.add(part.target)
            elif part.operands:
                inner |= _rates(part)
    inner -= plain
    if not inner:
        return inner
    others = [side for e in system.initial_equations for side in (e.lhs, e.rhs)]
    for branch in (b for w in system.whens for b in w.branches):
        others += [*branch.conditions, *(a.value for a in branch.actions)]
    others += [a.condition for a in system.assertions]
    return inner - _rates(*others)


def _terms(*roots: Expression) -> Iterator[Expression]:
    """What the sides of an equation are sums of."""
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e.op in _SUMS:
            stack += e.operands
        else:
            yield e


def _rated_parts(equation: Equation, names: set[str]) -> Iterator[Expression]:
    """The terms of an equation with the derivative of one of these variables."""
    for part in _terms(equation.lhs, equation.rhs):
        if part.operands and _rates(part) & names:
            yield part


def _rates(*roots: Expression) -> set[str]:
    return {e.target for e in ex.walk(*roots) if e.op == "der"}


def _replaced(
    roots: Sequence[Expression], gone: dict[Expression, frozenset[str]]
) -> list[Expression]:
    memo: dict[Expression, Expression] = dict.fromkeys(gone, ex.ZERO)
    return ex.rewrite(roots, lambda leaf: leaf, memo)
