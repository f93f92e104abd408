"""The flat system of a class: instance tree, connections, equations, variables, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from estimica.base.code.numeric import NumericCode
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Origin, Variability, Variable
from estimica.source.clocks.synchronous import without_clocks
from estimica.source.connect.ends import in_bus
from estimica.source.evaluate.expressions import Evaluator
from estimica.source.evaluate.values import ValueMismatch, is_array
from estimica.source.external.python_functions import PythonFunctions
from estimica.source.external.twins import TWINS
from estimica.source.flatten.algorithms import read_algorithm
from estimica.source.flatten.connections import (
    Connections,
    check_settled,
    connection_equations,
    connections_of,
)
from estimica.source.flatten.equations import EquationReader
from estimica.source.flatten.initial_definitions import initial_definitions
from estimica.source.flatten.names.model import ModelNames
from estimica.source.flatten.origins import expression_origin
from estimica.source.flatten.special import SpecialOperators
from estimica.source.flatten.variables import VariableReader, require_few, scalar_names
from estimica.source.flatten.walk import Parts, parts_of, visit
from estimica.source.flatten.whens import Whens
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, is_clock
from estimica.source.instance.modifiers import Binding
from estimica.source.kept.calls import KeptCalls
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.world import World


class _Values:
    """What instances ask about expressions, answered by the evaluator."""

    def __init__(self, names: ModelNames, evaluator: Evaluator) -> None:
        self._names = names
        self._evaluator = evaluator

    def holds(self, condition: tree.Expression, scope: Class, why: str) -> bool:
        with self._evaluator.at(expression_origin(condition, scope, "condition")):
            value = self._evaluator.one(condition, scope, {})
            return bool(self._evaluator.number(value, f"it {why}"))

    def size(self, dimension: tree.Expression, scope: Class, component: Component) -> int:
        with self._evaluator.at(expression_origin(dimension, scope, "size")):
            value = self._evaluator.one(dimension, scope, {})
            if is_array(value):  # an enumeration or Boolean as a size
                return int(value.size)
            number = self._evaluator.number(value, "it sets the size of an array")
            if number < 0 or number != int(number):
                raise ValueMismatch(f"'{component.path}' has the size {number:g}")
            return int(number)

    def shape(self, component: Component) -> tuple[int, ...]:
        value = self._names.bound(component)
        return value.shape if is_array(value) else ()

    def number(self, binding: Binding) -> float | None:
        value = self._names.bound_value(binding)
        if not isinstance(value, Expression):
            return None
        return self._evaluator.parameters.peek(value)


def flattened(
    world: World, cls: Class, functions: Mapping[str, NumericCode] | None = None
) -> FlatSystem:
    """The class as scalar variables and equations; Python computes `functions`, by their names."""
    names = ModelNames(world)
    python = PythonFunctions(functions) if functions else None
    evaluator = Evaluator(names, TWINS, KeptCalls().call, python.call if python else None)
    names.evaluator = evaluator
    names.special_operators = SpecialOperators(names)
    world.values = _Values(names, evaluator)
    model = world.instance_of(cls)
    parts = parts_of(model)
    made: set[str] = set()
    _visit_missing_inner(world, parts, made)
    names.initial_definitions.update(initial_definitions(parts, names))
    connections = connections_of(parts, names, evaluator)
    for member in connections.members:
        visit(member, parts)
    names.special_operators.connections = connections
    _visit_missing_inner(world, parts, made)
    require_few(parts.leaves)
    for leaf in parts.leaves:
        names.symbol(leaf)
    if python is not None:
        evaluator.notes += python.notes()
    system = _system(world, names, evaluator, parts, connections)
    if python is not None:
        python.require_used()
    return system


def _visit_missing_inner(world: World, parts: Parts, done: set[str]) -> None:
    """Add the inner components that were made, all but those that are done."""
    while set(world.missing_inner) - done:
        for name in [n for n in world.missing_inner if n not in done]:
            done.add(name)
            visit(world.missing_inner[name], parts)


def _system(
    world: World,
    names: ModelNames,
    evaluator: Evaluator,
    parts: Parts,
    connections: Connections,
) -> FlatSystem:
    whens = Whens()
    reader = VariableReader(names, evaluator)
    bindings = [e for leaf in parts.leaves for e in reader.binding_equations(leaf)]
    evaluator.time_functions.update(_functions_of_time(bindings))
    equations = EquationReader(evaluator, whens)
    initial = EquationReader(evaluator, whens)
    algorithms: list[Equation] = []
    initial_algorithms: list[Equation] = []
    for placed in parts.sections:
        section = placed.section
        if section.algorithm:
            found = read_algorithm(placed, names, evaluator, whens)
            (initial_algorithms if section.initial else algorithms).extend(found)
        else:
            (initial if section.initial else equations).section(placed)
    clocks = names.special_operators.clocks
    named = ex.names_in(
        *(side for e in (*equations.equations, *algorithms, *bindings) for side in (e.lhs, e.rhs))
    )
    joined = connection_equations(connections, parts, names, evaluator, named)
    check_settled(connections, names, evaluator)
    discrete = whens.discrete()
    all_initial = [
        e
        for e in (*initial.equations, *initial_algorithms)
        if not (e.lhs.op == "name" and names.is_defined(e.lhs.target))
    ]
    _visit_missing_inner_late(world, parts, names)
    if parts.changing_texts:
        listed = ", ".join(sorted(leaf.path for leaf in parts.changing_texts)[:3])
        world.notes.append(f"texts that change during the run are left out: {listed}")
    variables = [v for leaf in parts.leaves for v in reader.variables(leaf, discrete)]
    written = [*equations.equations, *algorithms, *bindings, *all_initial]
    others = [*clocks.expressions(), *(a.condition for a in evaluator.assertions.values())]
    unused = _unused_of_buses(parts, written, joined, whens, others)
    joined = [e for e in joined if not unused.issuperset(ex.names_in(e.lhs, e.rhs))]
    all_equations = [*equations.equations, *joined, *algorithms, *bindings]
    system = FlatSystem(
        name=world.model.class_.name,
        variables=(
            *(v for v in variables if v.name not in unused),
            *_inflows(variables, connections.streams.inflows),
            *whens.flags,
            *_helpers(evaluator.helpers),
        ),
        equations=(*all_equations, *whens.equations),
        initial_equations=tuple(all_initial),
        whens=tuple(whens.clauses),
        assertions=(*evaluator.assertions.values(), *whens.assertions),
        description=world.model.class_.definition.description,
        notes=tuple(dict.fromkeys([*world.notes, *evaluator.notes])),
        inflows=tuple(connections.streams.all_inflows().items()),
    )
    clock_variables = [n for leaf in parts.leaves if is_clock(leaf) for n in scalar_names(leaf)]
    return without_clocks(system, clocks, clock_variables)


def _visit_missing_inner_late(world: World, parts: Parts, names: ModelNames) -> None:
    """Inner components that only an expression asked for."""
    known = set(parts.leaves)
    late = Parts()
    for component in world.missing_inner.values():
        visit(component, late)
    for leaf in late.leaves:
        if leaf not in known:
            parts.leaves.append(leaf)
            names.symbol(leaf)


def _functions_of_time(bindings: Sequence[Equation]) -> dict[str, Expression]:
    """Variables that are bound to expressions of time and parameters alone."""
    found: dict[str, Expression] = {}
    for equation in bindings:
        if equation.lhs.op == "name" and any(e.op == "time" for e in ex.walk(equation.rhs)):
            found[equation.lhs.target] = equation.rhs
    return found


def _unused_of_buses(
    parts: Parts,
    equations: Sequence[Equation],
    joined: Sequence[Equation],
    whens: Whens,
    others: Sequence[Expression],
) -> set[str]:
    """Variables of expandable connectors that nobody uses: they do not exist.

    Those that are only joined to one another, bus to bus, are not used either.
    """
    candidates = {
        name
        for leaf in parts.leaves
        if leaf.variability not in ("parameter", "constant") and in_bus(leaf)
        for name in scalar_names(leaf)
    }
    if not candidates:
        return candidates
    roots = [*others, *(side for e in equations for side in (e.lhs, e.rhs))]
    for branch in (b for w in whens.clauses for b in w.branches):
        roots += branch.conditions
        for action in branch.actions:
            candidates.discard(action.target)
            roots.append(action.value)
    candidates -= ex.names_in(*roots)
    neighbours: dict[str, set[str]] = {}
    for equation in joined:
        names = ex.names_in(equation.lhs, equation.rhs)
        for name in names:
            neighbours.setdefault(name, set()).update(names)
    used = [name for name in neighbours if name not in candidates]
    while used:
        for name in neighbours[used.pop()]:
            if name in candidates:
                candidates.discard(name)
                used.append(name)
    return candidates


def _inflows(variables: Sequence[Variable], inflows: Mapping[str, str]) -> list[Variable]:
    """What flows into the model through its own connectors, like the streams that flow out."""
    streams = {v.name: v for v in variables}
    return [
        replace(
            streams[stream],
            name=inflow,
            fixed=False,
            description=f"what flows in through {stream.rpartition('.')[0]}",
        )
        for inflow, stream in inflows.items()
    ]


def _helpers(helpers: dict[str, Expression]) -> list[Variable]:
    """Parameters that were introduced here, such as the slopes of a spline through a table."""
    return [
        Variable(
            name,
            variability=Variability.PARAMETER,
            binding=binding,
            fixed=True,
            protected=True,
            final=True,
            origin=Origin(kind="helper"),
        )
        for name, binding in helpers.items()
    ]
