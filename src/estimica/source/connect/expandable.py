"""Expandable connectors: their members are those that connections give them (MLS 9.1.3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from estimica.base.errors import SourceError
from estimica.source.connect.ends import End
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.modifiers import NONE
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree


class Ends(Protocol):
    """Finds the connectors that a reference means."""

    def ends(self, reference: tree.Reference, scope: Class, frame: Any) -> list[End] | None:
        """Row by row; None where one is absent."""

    def indices(self, node: tree.Expression, scope: Class, frame: Any) -> list[int]:
        """The subscripts that a subscript means, counted from 1."""


@dataclass(slots=True, eq=False)
class Joined:
    """A connect equation before its ends are known: a bus may still lack the member."""

    node: tree.Connect
    scope: Class
    instance: Component
    frame: Any
    names: Ends

    def ends(self) -> tuple[list[End] | None, list[End] | None]:
        """Both sides; of one that does not exist the other need not make sense either."""
        try:
            left = self.names.ends(self.node.left, self.scope, self.frame)
        except SourceError:
            if self.names.ends(self.node.right, self.scope, self.frame) is None:
                return None, None
            raise
        if left is None:
            return None, None
        return left, self.names.ends(self.node.right, self.scope, self.frame)

    def missing(self, reference: tree.Reference) -> Missing | None:
        """The member of an expandable connector that a side lacks; None where all is there."""
        found = (
            self.scope.world.root.find(reference.parts[0].name)
            if reference.from_root
            else self.scope.lookup(reference.parts[0].name)
        )
        if not isinstance(found, Component):
            return None
        component = found.actual()
        for k, part in enumerate(reference.parts[:-1]):
            if not component.present or component.leaf is not None:
                return None
            if component.dims:
                index = self._numbers(part, single=True)
                if len(index) != len(component.dims):
                    return None  # several elements: only declared members are meant
                component = component.element(index)
            child = component.class_.find(reference.parts[k + 1].name)
            if child is None and component.class_.is_expandable:
                return Missing(component, reference, k + 1, self)
            if not isinstance(child, Component):
                return None
            component = child.actual()
        last = reference.parts[-1]
        if last.subscripts and isinstance(component, Member):
            numbers = self._numbers(last)
            if any(i >= n for i, n in zip(numbers, component.dims, strict=False)):
                return Missing(component, reference, len(reference.parts) - 1, self, grows=True)
        return None

    def _numbers(self, part: tree.Part, *, single: bool = False) -> tuple[int, ...]:
        """The subscripts, counted from 0; of a range the last; none where one must be `single`."""
        found = []
        for node in part.subscripts:
            if isinstance(node, tree.Colon):
                continue
            indices = self.names.indices(node, self.scope, self.frame)
            if not indices or (single and len(indices) > 1):
                return ()
            found.append(max(indices) - 1)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Missing:
    """A member that a connection names and a bus does not have (or has too few elements of)."""

    bus: Component
    reference: tree.Reference
    part: int
    joined: Joined
    grows: bool = False


class Member(Component):
    """A member that a connection has given to an expandable connector."""

    __slots__ = ("given",)

    given: bool  # whether a connection says what it is; it is no input then

    @property
    def causality(self) -> str:
        """That of the connector that it was made for, unless another one gives its value."""
        return "" if self.given else super().causality


def grow(joined: Sequence[Joined]) -> list[Component]:
    """Give all buses the members that connections name, until none is missing."""
    added: list[Component] = []
    changed = True
    while changed:
        changed = False
        waiting: Joined | None = None
        for connection in joined:
            for one, other in (
                (connection.node.left, connection.node.right),
                (connection.node.right, connection.node.left),
            ):
                lacking = connection.missing(one)
                if lacking is None:
                    continue
                if connection.missing(other) is not None:
                    waiting = connection
                    continue
                ends = connection.names.ends(other, connection.scope, connection.frame)
                if not ends:
                    continue  # a connector that does not exist says nothing
                if lacking.part + 1 < len(lacking.reference.parts):
                    waiting = connection  # a bus in the bus, which nobody declares
                    continue
                added += _add(lacking, ends)
                changed = True
            if connection.missing(connection.node.left) or connection.missing(
                connection.node.right
            ):
                continue
            changed = _share(connection, added) or changed
        if not changed and waiting is not None:
            raise error_at(
                "S083",
                waiting.scope,
                waiting.node.at,
                f"neither '{waiting.node.left.text}' nor '{waiting.node.right.text}' says what "
                "kind of signal this is; connect one of them to a declared connector",
            )
    return added


def mark_given(sets: Iterable[Sequence[object]]) -> None:
    """Tell the members in sets of joined connectors whether one of these gives a value."""
    for joined in sets:
        ends = [e.component for e in joined if isinstance(e, End)]
        members = [c for c in ends if isinstance(c, Member)]
        if members and any(_is_source(c) for c in ends if not isinstance(c, Member)):
            for member in members:
                member.given = True


def _is_source(component: Component) -> bool:
    """An output of a part, or an input of the model."""
    if component.causality != "input":
        return component.causality == "output"
    return component.parent is None or component.parent.is_root


def _add(lacking: Missing, ends: list[End]) -> list[Component]:
    peer = ends[0].component
    part = lacking.reference.parts[lacking.part]
    if lacking.grows:
        numbers = lacking.joined._numbers(part)
        member = lacking.bus
        member._dims = tuple(max(n, i + 1) for n, i in zip(member.dims, numbers, strict=True))
        return []
    dims: tuple[int, ...] = ()
    if part.subscripts:
        dims = tuple(i + 1 for i in lacking.joined._numbers(part))
    elif len(ends) > 1 or (peer.dims and not ends[0].position):
        dims = (len(ends),)
    return [_member(lacking.bus, part.name, peer, dims)]


def _member(bus: Component, name: str, peer: Component, dims: tuple[int, ...]) -> Component:
    declaration = dataclasses.replace(
        peer.declaration,
        name=name,
        dimensions=(),
        modification=None,
        condition=None,
        causality="",
        prefixes=tree.NO_PREFIXES,
    )
    values = (peer.modifiers, peer.default) if peer.leaf is None else (NONE, NONE)
    owner = bus.class_
    member = Member(owner, declaration, declaration, peer.scope, values[0], values[1], bus.world)
    member._type = peer.type
    member._dims = dims
    member._present = True
    member.given = False
    owner._members[name] = member
    order = owner.members_in_order()
    if name not in order:
        order.append(name)
    return member


def _share(connection: Joined, added: list[Component]) -> bool:
    """Two buses that are connected have the same members."""
    left, right = connection.ends()
    changed = False
    for a, b in zip(left or (), right or (), strict=False):
        if a.component.leaf is None and b.component.leaf is None:
            changed = _shared(a.component, b.component, added) or changed
    return changed


def _shared(a: Component, b: Component, added: list[Component]) -> bool:
    if not (a.class_.is_expandable and b.class_.is_expandable):
        return False
    changed = False
    for one, other in ((a, b), (b, a)):
        for member in one.class_.components():
            mirror = other.class_.find(member.name)
            if mirror is None:
                new = _member(other, member.name, member, member.dims)
                added.append(new)
                changed = True
            elif (
                isinstance(mirror, Component)
                and member.leaf is None
                and mirror.leaf is None
                and not member.dims
                and not mirror.dims
            ):
                changed = _shared(member, mirror, added) or changed
            elif isinstance(mirror, Member) and _is_smaller(mirror, member):
                mirror._dims = tuple(
                    max(x, y) for x, y in zip(mirror.dims, member.dims, strict=True)
                )
                changed = True
    return changed


def _is_smaller(one: Member, other: Component) -> bool:
    """Whether an array has fewer elements than the other in some dimension."""
    return len(one.dims) == len(other.dims) and any(
        x < y for x, y in zip(one.dims, other.dims, strict=True)
    )
