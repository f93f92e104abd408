"""One loading: the class table, the model, and the evaluator that instances ask for values."""

from __future__ import annotations

from typing import Any, Protocol

from estimica.source.instance import predefined
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, Root, declared
from estimica.source.instance.modifiers import NONE, Binding
from estimica.source.instance.place import error_at
from estimica.source.lookup.table import ClassTable
from estimica.source.syntax import tree


class Values(Protocol):
    """What instances need to know about expressions."""

    def holds(self, condition: tree.Expression, scope: Class, why: str) -> bool:
        """Whether a condition holds that must be known while the model is loaded."""

    def size(self, dimension: tree.Expression, scope: Class, component: Component) -> int:
        """A size of an array."""

    def shape(self, component: Component) -> tuple[int, ...]:
        """The sizes of the value that a component is given."""

    def number(self, binding: Binding) -> float | None:
        """The number that a value is now; None where it has none."""


class Missing(Protocol):
    """What to say of classes that are not found."""

    def unread_file(self, name: str) -> str:
        """What is wrong with the file that may hold `name`."""

    def anywhere(self, name: str) -> str:
        """Of a top-level class: where it was looked for."""

    def within(self, file: str) -> str:
        """Of a class that the package of a file does not have."""


_ROOT = tree.ClassDefinition(
    "", "package", False, False, tree.NO_PREFIXES, "", 0, predefined.SOURCE
)


class World:
    """Everything that classes and components of one loading share."""

    def __init__(self, table: ClassTable, missing: Missing) -> None:
        self.table = table
        self.missing = missing
        self.values: Values
        self.notes: list[str] = []
        self.missing_inner: dict[str, Component] = {}
        self.root: Class = _RootScope(self)
        self.predefined = {
            name: Class(definition, self.root, NONE, self)
            for name, definition in predefined.DEFINITIONS.items()
        }
        self.model: Root
        self._depths: dict[int, int] = {}

    def component(self, owner: Class, element: tree.Component) -> Component:
        """The component that `element` declares in `owner`."""
        return declared(owner, element, self)

    def instance_of(self, cls: Class) -> Root:
        """The model: an instance of `cls`."""
        self.model = Root(cls.again(), self)
        return self.model

    def holds(self, condition: tree.Expression, scope: Class, why: str) -> bool:
        """Whether a condition holds that must be known while the model is loaded."""
        return self.values.holds(condition, scope, why)

    def sizes(self, component: Component) -> tuple[int, ...]:
        """The sizes of an array."""
        dimensions = component.declared_dimensions
        if not dimensions:
            return ()
        open_ = [isinstance(d, tree.Colon) for d, _ in dimensions]
        shape: tuple[int, ...] = ()
        if any(open_):
            shape = self.values.shape(component)
            if len(shape) < len(dimensions):
                raise error_at(
                    "S068",
                    component.owner,
                    component.declaration.at,
                    f"the size of '{component.path}' is not known: it is declared with ':' and has "
                    "no value of that size",
                )
            # `A[:, size(A, 1)]` is as large as its value, too
            return shape[: len(dimensions)]
        return tuple(self.values.size(d, scope, component) for d, scope in dimensions)

    def inner(self, component: Component) -> Component:
        """The inner component that the outer `component` stands for."""
        around = component.parent
        above = around.parent if around is not None else None
        while above is not None:
            found = above.class_.find(component.name)
            if isinstance(found, Component) and found.is_inner and found is not component:
                return found
            above = above.parent
        return self._made_inner(component)

    def inner_class(self, cls: Class, name: str) -> Class | None:
        """The inner class that the outer class `name` of `cls` stands for; None where none is."""
        around = cls.component
        above = around.parent if around is not None else None
        while above is not None:
            if above.class_.declares_inner_class(name):
                found = above.class_.find(name)
                return found if isinstance(found, Class) else None
            above = above.parent
        return None

    def _made_inner(self, component: Component) -> Component:
        """Where no inner component is declared, one with the defaults stands at the top."""
        known = self.missing_inner.get(component.name)
        if known is None:
            if component.type.is_partial:
                raise error_at(
                    "S069",
                    component.owner,
                    component.declaration.at,
                    f"'{component.path}' is outer, and nothing above it declares an inner "
                    f"'{component.name}'; add one to the model",
                )
            owner = self.model.class_
            at_top = _without_outer(component.declaration)
            default = component.default if component.declaration.modification else NONE
            known = Component(owner, at_top, at_top, component.scope, NONE, default, self)
            known._type = component.type
            self.missing_inner[component.name] = known
            self.notes.append(
                f"no inner '{component.name}' is declared; one of class {component.type.name} with "
                "its default values was added"
            )
        return known

    # chains of extends that never end are noticed by their depth
    def depth_of(self, cls: Class) -> int:
        """How many extends clauses led to this class."""
        return self._depths.get(id(cls), 0)

    def note_depth(self, base: Class, cls: Class) -> None:
        """A base lies one deeper than the class that extends it."""
        self._depths[id(base)] = self.depth_of(cls) + 1


class _RootScope(Class):
    """The scope of top-level names."""

    __slots__ = ()

    def __init__(self, world: World) -> None:
        super().__init__(_ROOT, None, NONE, world)
        self._resolving = False

    def find(self, name: str) -> Component | Class | None:
        if name not in self._members:
            known: Any = self.world.predefined.get(name)
            if known is None:
                definition = self.world.table.top(name)
                known = Class(definition, self, NONE, self.world) if definition else None
            self._members[name] = known
        return self._members[name]

    def member_names(self) -> list[str]:
        return [*self.world.predefined, *self.world.table.top_names()]


def _without_outer(declaration: tree.Component) -> tree.Component:
    import dataclasses

    prefixes = dataclasses.replace(declaration.prefixes, outer=False, inner=True)
    return dataclasses.replace(declaration, prefixes=prefixes, modification=None)
