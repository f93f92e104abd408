"""Modifiers: what is changed of a class or component from outside, as closures.

A modifier is an expression with the class in which it was written. Modifiers from further outside
win; a value for a whole record from outside wins over values of its fields from inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.classes import Class


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """`= expression`, written in the class `scope`.

    For an element of an array of components the value is an array, of which this component takes
    the element `indices` (counted from 0, a tuple for each array on the way); not so after `each`.
    """

    expression: tree.Expression
    scope: Class
    each: bool = False
    indices: tuple[tuple[int, ...], ...] = ()
    output: int = 0  # of a call with several outputs the one that is meant

    def at(self, index: tuple[int, ...]) -> Binding:
        """What the element `index` of an array of components takes of it."""
        return replace(self, indices=(*self.indices, index)) if not self.each else self


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """`redeclare …`, written in the class `scope`; `replaced` is one from further inside."""

    element: tree.Component | tree.ClassDefinition
    scope: Class
    replaced: Replacement | None = None

    def chain(self) -> Iterator[Replacement]:
        """This one and those that it replaces, outermost first."""
        one: Replacement | None = self
        while one is not None:
            yield one
            one = one.replaced


@dataclass(frozen=True, slots=True, eq=False)
class Modifiers:
    """All that is said about one element from outside: of its members, its value, its type."""

    members: dict[str, Modifiers] = field(default_factory=dict)
    binding: Binding | None = None
    replacement: Replacement | None = None
    final: bool = False
    each: bool = False
    soft: bool = False  # from a declaration that was replaced: members that do not exist are left
    overridden: bool = False  # a whole of which this is a part has a value from further outside
    left_out: frozenset[str] = frozenset()  # `break name`
    left_out_connections: tuple[tuple[tree.Connect, Class], ...] = ()
    at: int = 0
    scope: Class | None = None  # where it was written, for messages

    def of(self, name: str) -> Modifiers:
        """What is said about the member `name`."""
        return self.members.get(name, NONE)

    def of_element(self, index: tuple[int, ...]) -> Modifiers:
        """What an element of an array of components takes of it."""
        if self.each or (not self.members and self.binding is None):
            return self
        return replace(
            self,
            members={k: m.of_element(index) for k, m in self.members.items()},
            binding=self.binding.at(index) if self.binding is not None else None,
        )

    def without(self, names: Iterable[str]) -> Modifiers:
        """The same without what is said about `names`."""
        drop = set(names)
        if not drop & self.members.keys():
            return self
        return replace(self, members={k: m for k, m in self.members.items() if k not in drop})

    def only_members(self) -> Modifiers:
        """The same without a replacement: what is left to say about the replacing element."""
        return replace(self, replacement=None) if self.replacement is not None else self

    def unless_said(self, said: Modifiers) -> Modifiers:
        """What is left of it where `said` wins."""
        members = {k: m.unless_said(said.of(k)) for k, m in self.members.items()}
        if said.binding is not None:
            members = {k: overridden(m) for k, m in members.items()}
        return replace(
            self,
            members=members,
            binding=None if said.binding is not None else self.binding,
            replacement=None if said.replacement is not None else self.replacement,
        )

    def softened(self) -> Modifiers:
        """The same, for a type that need not have these members."""
        if self is NONE:
            return self
        return replace(self, soft=True, members={k: m.softened() for k, m in self.members.items()})


NONE = Modifiers()


def merged(outer: Modifiers, inner: Modifiers) -> Modifiers:
    """`inner`, changed by `outer`."""
    if outer is NONE or (
        not outer.members
        and outer.binding is None
        and outer.replacement is None
        and not outer.final
        and not outer.left_out
        and not outer.left_out_connections
    ):
        return inner
    if inner is NONE:
        return outer
    if inner.final and not outer.soft and (outer.binding or outer.replacement or outer.members):
        raise _final(outer)
    members = dict(inner.members)
    if outer.binding is not None:  # a value for the whole from further outside
        members = {k: overridden(m) for k, m in members.items()}
    for name, modifiers in outer.members.items():
        known = members.get(name)
        members[name] = modifiers if known is None else merged(modifiers, known)
    replacement = outer.replacement or inner.replacement
    if outer.replacement is not None and inner.replacement is not None:
        replacement = replace(
            outer.replacement, replaced=_appended(outer.replacement.replaced, inner.replacement)
        )
    return Modifiers(
        members,
        outer.binding or inner.binding,
        replacement,
        outer.final or inner.final,
        outer.each if outer.binding is not None else inner.each,
        outer.soft and inner.soft,
        outer.overridden if outer.binding is not None else inner.overridden,
        outer.left_out | inner.left_out,
        outer.left_out_connections + inner.left_out_connections,
        outer.at,
        outer.scope or inner.scope,
    )


def _appended(chain: Replacement | None, last: Replacement) -> Replacement:
    if chain is None:
        return last
    return replace(chain, replaced=_appended(chain.replaced, last))


def overridden(modifiers: Modifiers) -> Modifiers:
    """The same, as part of something that has a value as a whole.

    Whether a member is a field, whose value then does not count, or an attribute, whose value
    does, is known where the type is.
    """
    return replace(
        modifiers,
        overridden=True,
        members={k: overridden(m) for k, m in modifiers.members.items()},
    )


#: attributes of the predefined types
ATTRIBUTES = frozenset(
    (
        "value",
        "quantity",
        "unit",
        "displayUnit",
        "min",
        "max",
        "start",
        "fixed",
        "nominal",
        "unbounded",
        "stateSelect",
    )
)


def written(
    modification: tree.Modification | None, scope: Class, *, each: bool = False
) -> Modifiers:
    """What a modification says, written in the class `scope`."""
    if modification is None:
        return NONE
    result = NONE
    left_out: set[str] = set()
    connections: list[tuple[tree.Connect, Class]] = []
    members: dict[str, Modifiers] = {}
    for argument in modification.arguments:
        if isinstance(argument, tree.Break):
            if argument.connect is not None:
                connections.append((argument.connect, scope))
            else:
                left_out.add(argument.name)
            continue
        name, modifiers = _argument(argument, scope)
        if name in members:
            known = members[name]
            if known.binding is not None and modifiers.binding is not None:
                raise error_at("S062", scope, argument.at, f"'{name}' is modified twice")
            modifiers = merged(modifiers, known)
        members[name] = modifiers
    binding = None
    if modification.value is not None:
        binding = Binding(modification.value, scope, each)
    result = Modifiers(
        members,
        binding,
        each=each,
        left_out=frozenset(left_out),
        left_out_connections=tuple(connections),
        at=modification.at,
        scope=scope,
    )
    return result


def _argument(argument: tree.Modifier | tree.Redeclaration, scope: Class) -> tuple[str, Modifiers]:
    if isinstance(argument, tree.Redeclaration):
        element = argument.element
        return element.name, Modifiers(
            replacement=Replacement(element, scope),
            final=argument.final,
            each=argument.each,
            at=argument.at,
            scope=scope,
        )
    modifiers = written(argument.modification, scope, each=argument.each)
    modifiers = replace(modifiers, final=argument.final, at=argument.at)
    for name in reversed(argument.path[1:]):
        modifiers = Modifiers({name: modifiers}, at=argument.at, scope=scope)
    return argument.path[0], modifiers


def _final(modifiers: Modifiers) -> Exception:
    scope = modifiers.scope
    assert scope is not None
    return error_at(
        "S063", scope, modifiers.at, "this changes what is declared final; leave the modifier out"
    )
