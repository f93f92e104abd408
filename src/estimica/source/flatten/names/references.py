"""What a dotted name means where it is written: a value, or the connectors of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind
from estimica.source.connect.ends import End
from estimica.source.evaluate.subscripts import Index, select
from estimica.source.evaluate.values import (
    Frame,
    FunctionValue,
    Value,
    ValueMismatch,
    field_of,
    is_array,
    make_array,
    make_nested,
)
from estimica.source.flatten.functions import FunctionReader
from estimica.source.flatten.names.symbols import Symbols
from estimica.source.flatten.origins import expression_origin
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, all_indices
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.world import World


class References(Symbols):
    """Names followed through classes, components and arrays of components."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.functions = FunctionReader(world)

    def value(self, reference: tree.Reference, scope: Class, frame: Frame) -> Value:
        """The value of a name that is not local."""
        parts = reference.parts
        first = parts[0].name
        if first == "time" and len(parts) == 1:
            return ex.TIME
        found = self._first(reference, scope)
        if isinstance(found, Class):
            return self._of_class(found, reference, 1, scope, frame)
        return self._of_component(found.actual(), reference, 0, scope, frame)

    def ends(self, reference: tree.Reference, scope: Class, frame: Frame) -> list[End] | None:
        """The connectors that a reference means, row by row; None where one is absent."""
        found = self._first(reference, scope)
        if isinstance(found, Class):
            raise error_at("S070", scope, reference.at, f"'{reference.text}' is not a component")
        with self.evaluator.at(expression_origin(reference, scope, "connector")):
            return self._ends(_declared_first(found).actual(), reference, 0, scope, frame)

    def indices(self, node: tree.Expression, scope: Class, frame: Frame) -> list[int]:
        """The subscripts of a component that a subscript means, counted from 1."""
        value = self.value_at(node, scope, frame)
        items = list(value.flat) if is_array(value) else [value]
        return [int(self.evaluator.number(v, "it is a subscript")) for v in items]

    def _ends(
        self, component: Component, reference: tree.Reference, k: int, scope: Class, frame: Frame
    ) -> list[End] | None:
        if not component.present:
            return None
        part = reference.parts[k]
        indices: list[tuple[int, ...]] = [()]
        if component.dims:
            indices = self._chosen(component, part, scope, frame)
        elif part.subscripts:
            raise error_at("S071", scope, reference.at, f"'{part.name}' is not an array")
        if component.leaf is not None:
            return [End(component, i) for i in indices]
        chosen = [component.element(i) if i else component for i in indices]
        if k + 1 == len(reference.parts):
            return [End(c) for c in chosen]
        found: list[End] = []
        for c in chosen:
            child = self._child(c, reference, k + 1, scope)
            ends = self._ends(child, reference, k + 1, scope, frame)
            if ends is None:
                return None
            found += ends
        return found

    def _child(
        self, component: Component, reference: tree.Reference, k: int, scope: Class
    ) -> Component:
        name = reference.parts[k].name
        child = component.class_.find(name) if component.leaf is None else None
        if not isinstance(child, Component):
            raise self._unknown_member(component, reference, k, scope)
        return child.actual()

    def _first(self, reference: tree.Reference, scope: Class) -> Component | Class:
        first = reference.parts[0].name
        found = self.world.root.find(first) if reference.from_root else scope.lookup(first)
        if found is None:
            known: dict[str, None] = {}
            around: Class | None = scope
            while around is not None and around.outer is not None:
                known.update(dict.fromkeys(around.member_names()))
                around = around.outer
            raise error_at(
                "S031",
                scope,
                reference.at,
                f"nothing is called '{reference.text}'{did_you_mean(first, known)}"
                f"{self._looked_for(reference)}",
            )
        return found

    def _looked_for(self, reference: tree.Reference) -> str:
        """Where a name was looked for that may be of a package."""
        missing, first = self.world.missing, reference.parts[0].name
        dotted = len(reference.parts) > 1 and not reference.parts[0].subscripts
        return missing.anywhere(first) if dotted else missing.unread_file(first)

    def _of_class(
        self, cls: Class, reference: tree.Reference, k: int, scope: Class, frame: Frame
    ) -> Value:
        if k == len(reference.parts):
            return self._whole_class(cls, reference, scope)
        name = reference.parts[k].name
        leaf = cls.leaf()
        if leaf is not None and leaf.kind is Kind.ENUMERATION:
            literals = leaf.type.literals
            if name in literals:
                return ex.const(literals.index(name) + 1)
            raise error_at(
                "S072",
                scope,
                reference.at,
                f"the enumeration {cls.name} has no '{name}'{did_you_mean(name, literals)}",
            )
        found = cls.find(name)
        if found is None:
            raise error_at(
                "S031",
                scope,
                reference.at,
                f"nothing is called '{reference.text}'"
                + (
                    self.world.missing.within(cls.definition.source.label)
                    or f": class {cls.name} has no '{name}'{did_you_mean(name, cls.member_names())}"
                ),
            )
        if isinstance(found, Class):
            return self._of_class(found, reference, k + 1, scope, frame)
        return self._of_component(found.actual(), reference, k, scope, frame)

    def _whole_class(self, cls: Class, reference: tree.Reference, scope: Class) -> Value:
        """A class as a value: a function that is handed on, or an enumeration as a range."""
        leaf = cls.leaf()
        if leaf is not None and leaf.kind is Kind.ENUMERATION:
            return make_array([ex.const(i + 1) for i in range(len(leaf.type.literals))])
        if leaf is not None and leaf.kind is Kind.BOOLEAN:
            return make_array([ex.ZERO, ex.ONE])
        function = self.functions.of_class(cls)
        if function is not None:
            return FunctionValue(function, {})
        raise error_at("S070", scope, reference.at, f"'{reference.text}' is a class, not a value")

    def _of_component(
        self, component: Component, reference: tree.Reference, k: int, scope: Class, frame: Frame
    ) -> Value:
        if not component.present:
            raise error_at(
                "S073",
                scope,
                reference.at,
                f"'{component.path}' does not exist: its condition is false",
            )
        part = reference.parts[k]
        last = k + 1 == len(reference.parts)
        if component.leaf is not None or last:
            value = self.symbol(component)
            if part.subscripts:
                value = self.evaluator.element(value, part.subscripts, scope, frame)
            for rest in reference.parts[k + 1 :]:
                value = field_of(value, rest.name)
                if rest.subscripts:
                    value = self.evaluator.element(value, rest.subscripts, scope, frame)
            return value
        if not component.dims:
            if part.subscripts:
                raise error_at("S071", scope, reference.at, f"'{part.name}' is not an array")
            return self._of_member(component, reference, k + 1, scope, frame)
        return self._of_elements(component, reference, k, scope, frame)

    def _of_member(
        self, component: Component, reference: tree.Reference, k: int, scope: Class, frame: Frame
    ) -> Value:
        name = reference.parts[k].name
        found = component.class_.find(name)
        if isinstance(found, Component):
            return self._of_component(found.actual(), reference, k, scope, frame)
        if isinstance(found, Class):
            return self._of_class(found, reference, k + 1, scope, frame)
        if component.has_value:  # a function's record, perhaps of a type with more fields
            value = self.symbol(component)
            for rest in reference.parts[k:]:
                value = field_of(value, rest.name)
                if rest.subscripts:
                    value = self.evaluator.element(value, rest.subscripts, scope, frame)
            return value
        raise self._unknown_member(component, reference, k, scope)

    def _unknown_member(
        self, component: Component, reference: tree.Reference, k: int, scope: Class
    ) -> SourceError:
        name = reference.parts[k].name
        known = component.class_.member_names() if component.leaf is None else []
        return error_at(
            "S031",
            scope,
            reference.at,
            f"nothing is called '{reference.text}': '{component.path or component.name}' "
            f"(class {component.type.name}) has no '{name}'{did_you_mean(name, known)}",
        )

    def _of_elements(
        self, component: Component, reference: tree.Reference, k: int, scope: Class, frame: Frame
    ) -> Value:
        """A member of several elements of an array of components."""
        subscripts = reference.parts[k].subscripts
        dims = component.dims
        index = [
            self.evaluator.subscript(s, dims[i], scope, frame) for i, s in enumerate(subscripts)
        ]
        index += [list(range(n)) for n in dims[len(index) :]]
        if all(isinstance(i, int) for i in index):
            element = component.element(tuple(i for i in index if isinstance(i, int)))
            return self._of_member(element, reference, k + 1, scope, frame)
        lists = [
            i if isinstance(i, list) else [i] if isinstance(i, int) else list(range(dims[n]))
            for n, i in enumerate(index)
        ]
        shape = tuple(len(x) for x in lists)
        values = [
            self._of_member(
                component.element(tuple(lists[n][j] for n, j in enumerate(position))),
                reference,
                k + 1,
                scope,
                frame,
            )
            for position in all_indices(shape)
        ]
        if not values:
            return self._empty(component, reference, k + 1, shape)
        # an element that is known during the run only is chosen among all
        order: list[Index] = [
            i if isinstance(i, Expression) else 0 if isinstance(i, int) else list(range(len(i)))
            for i in index
        ]
        return select(make_nested(values, shape), order)

    def _empty(
        self, component: Component, reference: tree.Reference, k: int, shape: tuple[int, ...]
    ) -> Value:
        """A member of an array of no components: no elements, with the member's own sizes."""
        cls = component.type
        for part in reference.parts[k:]:
            found = cls.find(part.name)
            if not isinstance(found, Component):
                break
            if not part.subscripts:
                try:
                    shape = (*shape, *found.dims)
                except (SourceError, ValueMismatch):
                    shape = (*shape, 0)
            if found.leaf is not None:
                break
            cls = found.type
        return np.empty(shape, dtype=object)

    def _chosen(
        self, component: Component, part: tree.Part, scope: Class, frame: Frame
    ) -> list[tuple[int, ...]]:
        dims = component.dims
        if not part.subscripts:
            return all_indices(dims)
        lists: list[list[int]] = []
        for n, node in enumerate(part.subscripts):
            i = self.evaluator.subscript(node, dims[n], scope, frame)
            if isinstance(i, Expression):
                raise ValueMismatch("a subscript of a component that only the run knows")
            lists.append(i if isinstance(i, list) else [i])
        lists += [list(range(n)) for n in dims[len(lists) :]]
        return [
            tuple(lists[n][j] for n, j in enumerate(position))
            for position in all_indices(tuple(len(x) for x in lists))
        ]


def _declared_first(component: Component) -> Component:
    """The same component as its owner has it: one that is inherited along two ways is one."""
    owner = component.parent
    found = owner.class_.find(component.name) if owner is not None else None
    return found if isinstance(found, Component) else component
