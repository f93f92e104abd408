"""Free parameters that an initial equation states outright become bound to that value.

`parameter Real k(fixed=false); initial equation k = 2*c;` needs no search: k follows from c in
every run, and so do its derivatives.
"""

from __future__ import annotations

from dataclasses import replace

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Kind, Variability, Variable


def bind_free_parameters(flat: FlatSystem) -> FlatSystem:
    """The system with every free parameter bound that an initial equation gives explicitly."""
    free = {v.name for v in flat.variables if _is_free(v)}
    if not free:
        return flat
    constant = (Variability.PARAMETER, Variability.CONSTANT)
    parameters = {v.name for v in flat.variables if v.variability in constant}
    bound: dict[str, Expression] = {}
    remaining = list(flat.initial_equations)
    while True:
        for e in remaining:
            found = _given(e, free - set(bound), parameters, set(bound))
            if found is not None:
                bound[found[0]] = found[1]
                remaining.remove(e)
                break
        else:
            break
    if not bound:
        return flat
    variables = tuple(
        replace(v, binding=bound[v.name], fixed=True, final=True) if v.name in bound else v
        for v in flat.variables
    )
    return replace(flat, variables=variables, initial_equations=tuple(remaining))


def _is_free(v: Variable) -> bool:
    return (
        v.variability is Variability.PARAMETER
        and v.kind is Kind.REAL
        and v.binding is None
        and not v.fixed
    )


def _given(
    e: Equation, free: set[str], parameters: set[str], bound: set[str]
) -> tuple[str, Expression] | None:
    """(name, value) where `e` reads name = value, and the value needs nothing still free."""
    for side, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
        if side.op != "name" or side.target not in free:
            continue
        leaves = [leaf for leaf in ex.walk(other) if leaf.op in ex.LEAVES and leaf.op != "const"]
        known = all(
            leaf.op == "name"
            and leaf.target in parameters
            and (leaf.target not in free or leaf.target in bound)
            for leaf in leaves
        )
        if known:
            return side.target, other
    return None
