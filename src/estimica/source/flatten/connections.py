"""The connections of a model, collected before its equations are read."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Kind
from estimica.source.connect.ends import in_bus, is_connector, is_outside, scalars_of
from estimica.source.connect.expandable import Joined, grow, mark_given
from estimica.source.connect.graph import ConnectionGraph, SpanningTrees, spanning_trees
from estimica.source.connect.sets import (
    Connection,
    ConnectionSets,
    bus_flow_equations,
    flow_equations,
    potential_equations,
)
from estimica.source.connect.streams import Streams
from estimica.source.evaluate.values import Frame, Value, is_array, scalars
from estimica.source.flatten.loops import rounds
from estimica.source.flatten.origins import origin_of
from estimica.source.flatten.walk import Parts, PlacedSection, contains_connections
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.flatten.names.model import ModelNames


@dataclass(slots=True)
class Connections:
    """Sets, streams and trees of a model."""

    sets: ConnectionSets
    streams: Streams
    trees: SpanningTrees
    members: list[Component] = field(default_factory=list)  # that connections add to buses


def connections_of(parts: Parts, names: ModelNames, evaluator: Evaluator) -> Connections:
    """What the connect equations of all parts join."""
    collector = _Collector(names, evaluator)
    for placed in parts.sections:
        if not placed.section.algorithm and not placed.section.initial:
            collector.section(placed)
    members = grow(collector.joined)
    sets = ConnectionSets()
    for joined in collector.joined:
        for connection in collector.connections(joined):
            sets.add(connection)
    graph = collector.graph
    # a loop that is cut adds loops of its own where orientations lie in connectors of connectors
    graph.connections = sets.breakable
    trees = spanning_trees(graph)
    for a, b, connection in trees.kept:
        sides = (
            is_outside(a, connection.instance),
            is_outside(b, connection.instance),
        )
        sets.join_members(a, b, sides, connection)
    if members:
        mark_given(sets.potentials.sets())
    return Connections(sets, Streams(sets), trees, members)


def connection_equations(
    connections: Connections,
    parts: Parts,
    names: ModelNames,
    evaluator: Evaluator,
    named: AbstractSet[str],
) -> list[Equation]:
    """All equations that connections mean; other equations name the variables `named`."""
    flows = [
        end
        for leaf in parts.leaves
        if leaf.connection == "flow" and _in_connector(leaf)
        for end in scalars_of(leaf)
    ]
    return [
        *potential_equations(connections.sets),
        *flow_equations(connections.sets, flows),
        *bus_flow_equations(
            connections.sets, [f for f in flows if f.name not in named and in_bus(f.component)]
        ),
        *connections.streams.equations(),
        *connections.streams.open_equations(),
        *_cut_equations(connections, names, evaluator),
    ]


def check_settled(connections: Connections, names: ModelNames, evaluator: Evaluator) -> None:
    """Parameters and constants of connectors that are connected are equal, or it is told."""
    for a, b, connection in connections.sets.settled:
        if a.leaf is None or b.leaf is None or a.leaf.kind is Kind.STRING or a.dims != b.dims:
            continue
        pairs = zip(scalars(names.symbol(a)), scalars(names.symbol(b)), strict=True)
        for left, right in pairs:
            if (
                left == right
                or not isinstance(left, Expression)
                or not isinstance(right, Expression)
            ):
                continue
            message = f"'{a.path}' and '{b.path}' are connected and must be equal"
            equal = ex.relation("eq", left, right)
            if evaluator.parameters.peek(equal) == 0.0:
                raise error_at("S080", connection.scope, connection.node.at, message)
            evaluator.check(equal, message, False, connection.origin)


def _in_connector(leaf: Component) -> bool:
    if is_connector(leaf):
        return True
    above = leaf.parent
    while above is not None and not above.is_root:
        if is_connector(above):
            return True
        above = above.parent
    return False


def _cut_equations(
    connections: Connections, names: ModelNames, evaluator: Evaluator
) -> Iterator[Equation]:
    """equalityConstraint(a, b) = 0 where a loop was cut."""
    for a, b, connection in connections.trees.cut:
        check = a.class_.find("equalityConstraint")
        assert isinstance(check, Class)
        function = names.functions.of_class(check)
        assert function is not None
        residual = evaluator.call(function, [names.symbol(a), names.symbol(b)], {})
        text = f"equalityConstraint({a.path}, {b.path}) = 0"
        place = connection.origin.rewritten(text, "connection")
        for value in _expressions(residual):
            yield Equation(ex.ZERO, value, place)


def _expressions(value: Value) -> list[Expression]:
    items = value.flat if is_array(value) else [value]
    return [v for v in items if isinstance(v, Expression)]


class _Collector:
    """Walks equation sections for connect equations and Connections.… calls."""

    def __init__(self, names: ModelNames, evaluator: Evaluator) -> None:
        self._names = names
        self._evaluator = evaluator
        self.joined: list[Joined] = []
        self.graph = ConnectionGraph()

    def section(self, placed: PlacedSection) -> None:
        left_out = placed.scope.modifiers.left_out_connections
        dropped = {(_text(c.left), _text(c.right)) for c, _ in left_out}
        self._equations(placed.section.body, placed, {}, dropped)

    def _equations(
        self,
        nodes: tuple[tree.Equation, ...],
        placed: PlacedSection,
        frame: Frame,
        dropped: set[tuple[str, str]],
    ) -> None:
        for node in nodes:
            if isinstance(node, tree.Connect):
                if (_text(node.left), _text(node.right)) not in dropped:
                    self.joined.append(
                        Joined(node, placed.scope, placed.instance, frame, self._names)
                    )
            elif isinstance(node, tree.CallEquation):
                if node.call.function.parts[0].name == "Connections":
                    self._declare(node.call, placed.scope, frame)
            elif isinstance(node, tree.For) and contains_connections((node,)):
                for inner in rounds(
                    self._evaluator, node.iterators, node.body, placed.scope, frame
                ):
                    self._equations(node.body, placed, inner, dropped)
            elif isinstance(node, tree.If) and contains_connections((node,)):
                self._choice(node, placed, frame, dropped)

    def _choice(
        self, node: tree.If, placed: PlacedSection, frame: Frame, dropped: set[tuple[str, str]]
    ) -> None:
        for condition, body in node.branches:
            if condition is not None:
                value = self._names.value_at(condition, placed.scope, frame)
                if not self._evaluator.number(value, "it decides about connections"):
                    continue
            self._equations(body, placed, frame, dropped)
            return

    def _declare(self, call: tree.Call, scope: Class, frame: Frame) -> None:
        word = call.function.parts[-1].name
        nodes = [
            self._node(a, scope, frame) for a in call.arguments if isinstance(a, tree.Reference)
        ]
        if any(n is None for n in nodes):
            return
        found = [n for n in nodes if n is not None]
        match word:
            case "branch":
                self.graph.branches.append((found[0], found[1]))
            case "root":
                self.graph.roots[found[0]] = None
            case "potentialRoot":
                priority = 0.0
                extra = [*call.arguments[1:], *(v for _, v in call.named)]
                if extra:
                    value = self._names.value_at(extra[0], scope, frame)
                    priority = self._evaluator.number(value, "it is a priority")
                self.graph.potential[found[0]] = priority
            case "uniqueRoot":
                pass

    def _node(self, reference: tree.Reference, scope: Class, frame: Frame) -> Component | None:
        ends = self._names.ends(reference, scope, frame)
        return ends[0].component if ends else None

    def connections(self, joined: Joined) -> list[Connection]:
        """The connections, connector by connector, that one connect equation means."""
        left, right = joined.ends()
        if left is None or right is None:
            return []  # a connector that does not exist takes its connections with it
        if len(left) != len(right):
            raise error_at(
                "S080",
                joined.scope,
                joined.node.at,
                f"'{_text(joined.node.left)}' are {len(left)} connectors, "
                f"'{_text(joined.node.right)}' {len(right)}; they cannot be connected",
            )
        origin = origin_of(joined.node, joined.scope, "connection", joined.instance.path)
        return [
            Connection(a, b, joined.node, joined.scope, joined.instance, origin)
            for a, b in zip(left, right, strict=True)
        ]


def _text(reference: tree.Reference) -> str:
    return reference.text
