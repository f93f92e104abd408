"""Connection sets: what is joined by connect equations, and the equations that this means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Kind, Origin
from estimica.source.connect.ends import End, Joint, is_outside, scalars_of
from estimica.source.instance.classes import Class, Leaf
from estimica.source.instance.components import Component
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """One connect equation between two connectors, of `instance`, written in `scope`."""

    left: End
    right: End
    node: tree.Connect
    scope: Class
    instance: Component
    origin: Origin


class UnionFind:
    """Sets of things that are joined pair by pair."""

    def __init__(self) -> None:
        self._parent: dict[object, object] = {}

    def find(self, item: object) -> object:
        """The representative of the set of `item`."""
        parent = self._parent
        if item not in parent:
            parent[item] = item
            return item
        root = item
        while parent[root] is not root and parent[root] != root:
            root = parent[root]
        while parent[item] != root:
            parent[item], item = root, parent[item]
        return root

    def join(self, a: object, b: object) -> None:
        """Make one set of two."""
        first, second = self.find(a), self.find(b)
        if first != second:
            self._parent[second] = first

    def __contains__(self, item: object) -> bool:
        return item in self._parent

    def sets(self) -> list[list[object]]:
        """All sets, in the order in which their members came."""
        found: dict[object, list[object]] = {}
        for item in self._parent:
            found.setdefault(self.find(item), []).append(item)
        return list(found.values())


@dataclass(slots=True)
class ConnectionSets:
    """All joints of a model, by what they are: potentials, flows, streams."""

    potentials: UnionFind = field(default_factory=UnionFind)
    flows: UnionFind = field(default_factory=UnionFind)
    streams: UnionFind = field(default_factory=UnionFind)
    origins: dict[End, Origin] = field(default_factory=dict)
    counts: dict[Component, int] = field(default_factory=dict)
    #: pairs of records with an equalityConstraint, with their connection
    breakable: list[tuple[Component, Component, Connection]] = field(default_factory=list)
    #: parameters and constants of connected connectors, which must be equal
    settled: list[tuple[Component, Component, Connection]] = field(default_factory=list)

    def add(self, connection: Connection) -> None:
        """Join the two connectors of a connect equation, member by member."""
        for end in (connection.left, connection.right):
            self.counts[end.component] = self.counts.get(end.component, 0) + 1
        sides = tuple(
            is_outside(end.component, connection.instance)
            for end in (connection.left, connection.right)
        )
        self._join(connection.left, connection.right, (sides[0], sides[1]), connection)

    def _join(
        self, left: End, right: End, sides: tuple[bool, bool], connection: Connection
    ) -> None:
        a, b = left.component, right.component
        if (a.leaf is None) != (b.leaf is None):
            raise _mismatch(connection, left, right)
        if a.leaf is not None:
            self._join_scalars(left, right, sides, connection)
            return
        if a.type.find("equalityConstraint") is not None:
            self.breakable.append((a, b, connection))
            return
        self.join_members(a, b, sides, connection)

    def join_members(
        self, a: Component, b: Component, sides: tuple[bool, bool], connection: Connection
    ) -> None:
        """Join the members of two connectors or records."""
        partial = a.class_.is_expandable or b.class_.is_expandable
        for child in b.class_.components():
            if not partial and not isinstance(a.class_.find(child.name), Component):
                raise _mismatch(connection, End(b), End(a), child.name)
        for child in a.class_.components():
            other = b.class_.find(child.name)
            if not isinstance(other, Component):
                if partial:
                    continue
                raise _mismatch(connection, End(a), End(b), child.name)
            if child.variability in ("parameter", "constant"):
                if other.variability in ("parameter", "constant"):
                    self.settled.append((child, other, connection))
                continue
            child, other = child.actual(), other.actual()
            if not (child.present and other.present):
                continue
            if child.dims != other.dims:
                raise _mismatch(connection, End(child), End(other))
            if child.leaf is not None:
                if other.leaf is None:
                    raise _mismatch(connection, End(child), End(other))
                for x, y in zip(scalars_of(child), scalars_of(other), strict=True):
                    self._join_scalars(x, y, sides, connection)
                continue
            for x_, y_ in zip(child.elements(), other.elements(), strict=True):
                self._join(End(x_), End(y_), sides, connection)

    def _join_scalars(
        self, left: End, right: End, sides: tuple[bool, bool], connection: Connection
    ) -> None:
        if left.component.dims and not left.position:
            for x, y in zip(scalars_of(left.component), scalars_of(right.component), strict=True):
                self._join_scalars(x, y, sides, connection)
            return
        kind = left.component.connection
        if kind != right.component.connection or not _same_kind(left, right):
            raise _mismatch(connection, left, right)
        for end in (left, right):
            self.origins.setdefault(end, connection.origin)
        if kind == "flow":
            self.flows.join(Joint(left, sides[0]), Joint(right, sides[1]))
        elif kind == "stream":
            self.streams.join(Joint(left, sides[0]), Joint(right, sides[1]))
        else:
            self.potentials.join(left, right)


def potential_equations(sets: ConnectionSets) -> list[Equation]:
    """All potentials of a set are equal."""
    equations = []
    for members in sets.potentials.sets():
        ends = [m for m in members if isinstance(m, End)]
        first = ends[0]
        for other in ends[1:]:
            origin = sets.origins[other]
            text = f"{first.name} = {other.name}"
            equations.append(
                Equation(
                    ex.name(first.name),
                    ex.name(other.name),
                    origin.rewritten(text, "connection"),
                )
            )
    return equations


def flow_equations(sets: ConnectionSets, flows: Iterable[End]) -> list[Equation]:
    """The flows of a set sum up to zero; one that is not connected from outside is zero."""
    equations = []
    for members in sets.flows.sets():
        joints = [m for m in members if isinstance(m, Joint)]
        terms: list[Expression] = []
        text = []
        for joint in joints:
            name = ex.name(joint.end.name)
            terms.append(ex.neg(name) if joint.outside else name)
            text.append(f"- {joint.end.name}" if joint.outside else f"+ {joint.end.name}")
        origin = sets.origins[joints[0].end]
        shown = " ".join(text).removeprefix("+ ") + " = 0"
        equations.append(
            Equation(
                ex.total(terms),
                ex.ZERO,
                origin.rewritten(shown, "flow sum"),
            )
        )
    for end in flows:
        if Joint(end, outside=False) not in sets.flows:
            origin = Origin(f"{end.name} = 0", "", "unconnected flow")
            equations.append(Equation(ex.name(end.name), ex.ZERO, origin))
    return equations


def bus_flow_equations(sets: ConnectionSets, flows: Iterable[End]) -> list[Equation]:
    """Nothing flows into a component through a member of its bus that it does not use.

    Buses that are connected have the same members, also those that only one side needs.
    """
    equations = []
    for end in flows:
        from_around = Joint(end, outside=False) in sets.flows
        if from_around and Joint(end, outside=True) not in sets.flows:
            origin = Origin(f"{end.name} = 0", "", "unconnected flow")
            equations.append(Equation(ex.name(end.name), ex.ZERO, origin))
    return equations


def _same_kind(left: End, right: End) -> bool:
    a, b = left.component.leaf, right.component.leaf
    return a is not None and b is not None and a.kind is b.kind and _literals(a) == _literals(b)


def _literals(leaf: Leaf) -> tuple[str, ...]:
    return leaf.type.literals if leaf.kind is Kind.ENUMERATION else ()


def _mismatch(connection: Connection, left: End, right: End, lacking: str = "") -> Exception:
    reason = (
        f"'{right.name}' has no '{lacking}'" if lacking else "they are of different kinds or sizes"
    )
    return error_at(
        "S080",
        connection.scope,
        connection.node.at,
        f"'{left.name}' and '{right.name}' cannot be connected: {reason}",
    )
