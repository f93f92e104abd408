"""The order in which parameters follow from each other, and their values as the model stands.

Free parameters that an initial equation states outright become bound to that value first:
`parameter Real k(fixed=false); initial equation k = 2*c;` needs no search, k follows from c in
every run, and so do its derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Kind, Variability, Variable


@dataclass(frozen=True, slots=True)
class Parameters:
    """Every parameter and constant, each after those that its binding needs."""

    order: tuple[str, ...]
    bindings: dict[str, Expression]
    free: tuple[str, ...]  # found by the initial equations
    values: dict[str, float]  # by the bindings; NaN where a binding has no value
    numbers: dict[str, Expression]  # those that nobody can change: they become numbers
    notes: tuple[str, ...] = ()


#: the value of a parameter that has none: whoever simulates the model must give it, or is told
NOT_GIVEN = ex.const(math.nan)


def order_parameters(flat: FlatSystem) -> Parameters:
    """Sort the bindings; a cycle, or a binding to a variable that moves, is an error."""
    members = [v for v in flat.variables if is_parameter(v)]
    free = tuple(v.name for v in members if _is_free(v))
    bound = [v for v in members if not _is_free(v)]
    _check_given(bound)
    bindings = {v.name: v.binding or v.start or NOT_GIVEN for v in bound}
    starts = {v.name: v.start for v in members if _is_free(v) and v.start is not None}
    needs = {name: _needs(name, e, flat) for name, e in (bindings | starts).items()}
    order = _topological([v.name for v in members], needs)
    values = _values(order, bindings, flat)
    numbers = {
        v.name: ex.const(values[v.name])
        for v in members
        if _unchangeable(v) and math.isfinite(values[v.name])
    }
    notes = tuple(
        f"parameter '{v.name}' has no value; its start value is taken"
        for v in bound
        if v.binding is None and v.start is not None
    )
    return Parameters(order, bindings, free, values, numbers, notes)


def is_parameter(v: Variable) -> bool:
    """Whether `v` keeps one value for a whole run."""
    fixed = v.variability in (Variability.PARAMETER, Variability.CONSTANT)
    return fixed and v.kind is not Kind.STRING


def _is_free(v: Variable) -> bool:
    return v.variability is Variability.PARAMETER and v.binding is None and not v.fixed


def _check_given(bound: list[Variable]) -> None:
    """Sizes and switches need a value; a real number may still be tuned, fixed or given."""
    missing = [
        f"'{v.name}'"
        for v in bound
        if v.binding is None
        and v.start is None
        and not (v.kind is Kind.REAL and v.variability is Variability.PARAMETER)
    ]
    if missing:
        which = "parameter" if len(missing) == 1 else "parameters"
        verb = "has" if len(missing) == 1 else "have"
        raise StructureError(
            "E101", f"{which} {', '.join(missing)} {verb} no value; give one with fix={{...}}"
        )


def _unchangeable(v: Variable) -> bool:
    literal = v.binding is not None and v.binding.op == "const"
    return v.variability is Variability.CONSTANT or bool(v.evaluated) or (v.final and literal)


def _needs(name: str, e: Expression, flat: FlatSystem) -> list[str]:
    needed = sorted(ex.names_in(e))
    for other in needed:
        v = flat.by_name.get(other)
        if v is None or not is_parameter(v):
            raise StructureError(
                "E102",
                f"parameter '{name}' is bound to '{other}', which is not a parameter; "
                "make it a variable with an equation",
            )
    return needed


def _topological(names: list[str], needs: dict[str, list[str]]) -> tuple[str, ...]:
    done: dict[str, None] = {}
    for root in names:
        path: list[str] = []
        stack = [(root, False)]
        while stack:
            name, ready = stack.pop()
            if ready:
                path.pop()
                done[name] = None
            elif name in path:
                cycle = [*path[path.index(name) :], name]
                raise StructureError(
                    "E103",
                    f"parameters depend on each other: {' → '.join(cycle)}; break the circle",
                )
            elif name not in done:
                path.append(name)
                stack.append((name, True))
                stack.extend((n, False) for n in needs.get(name, ()) if n not in done)
    return tuple(done)


def _values(
    order: tuple[str, ...], bindings: dict[str, Expression], flat: FlatSystem
) -> dict[str, float]:
    values: dict[str, float] = {}
    for name in order:
        e = bindings.get(name) or flat.by_name[name].start
        values[name] = math.nan if e is None else evaluate(e, values=EvaluationPoint(names=values))
    return values


def bind_free_parameters(flat: FlatSystem) -> FlatSystem:
    """The system with every free parameter bound that an initial equation gives explicitly."""
    free = {v.name for v in flat.variables if _is_free(v) and v.kind is Kind.REAL}
    if not free:
        return flat
    constant = (Variability.PARAMETER, Variability.CONSTANT)
    parameters = {v.name for v in flat.variables if v.variability in constant}
    bound: dict[str, Expression] = {}
    remaining = list(flat.initial_equations)
    while True:
        for e in remaining:
            given = _given(e, free - set(bound), parameters, set(bound))
            if given is not None:
                bound[given[0]] = given[1]
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
