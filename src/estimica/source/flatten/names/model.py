"""The names of a model, as the evaluator asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.flat.system import Kind
from estimica.source.evaluate.names import Function, ScalarType
from estimica.source.evaluate.values import (
    Frame,
    Value,
)
from estimica.source.flatten.names.bindings import ScalarView
from estimica.source.flatten.names.references import References
from estimica.source.flatten.operators import chosen_operator
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, is_clock
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.flatten.special import SpecialOperators


class ModelNames(References):
    """All that the evaluator asks of the model."""

    special_operators: SpecialOperators

    def function(self, reference: tree.Reference, scope: Class) -> Function | None:
        """The function or constructor of that name; None where there is none."""
        first = reference.parts[0].name
        found = self.world.root.find(first) if reference.from_root else scope.lookup(first)
        for part in reference.parts[1:]:
            if isinstance(found, Component):
                found = found.actual().class_.find(part.name) if found.leaf is None else None
            elif isinstance(found, Class):
                found = found.find(part.name)
            if found is None:
                return None
        return self.functions.of_class(found) if isinstance(found, Class) else None

    def operator(self, op: str, operands: Sequence[Value]) -> Function | None:
        """The function of an operator record that is meant by an operator."""
        return chosen_operator(self.functions, op, operands)

    def special(self, call: tree.Call, scope: Class, frame: Frame) -> Value | None:
        """Operators that need the model."""
        return self.special_operators.value(call, scope, frame)

    def variable(self, name: str) -> ScalarView | None:
        """The scalar variable of the flat model with this name."""
        return self._views.get(name)

    def is_clock(self, name: str) -> bool:
        """Whether the scalar variable of this name is a clock."""
        view = self._views.get(name)
        return view is not None and is_clock(view.component)

    def counts_truths(self, reference: tree.Reference, position: int, scope: Class) -> bool:
        """Whether a dimension of a component is declared as Boolean."""
        found = scope.lookup(reference.parts[0].name)
        for part in reference.parts[1:]:
            found = found.actual().class_.find(part.name) if isinstance(found, Component) else None
        if not isinstance(found, Component):
            return False
        dimensions = found.actual().declared_dimensions
        node, written_in = dimensions[position] if position < len(dimensions) else (None, scope)
        if not isinstance(node, tree.Reference):
            return False
        cls = written_in.lookup(node.parts[0].name) if len(node.parts) == 1 else None
        leaf = cls.leaf() if isinstance(cls, Class) else None
        return leaf is not None and leaf.kind is Kind.BOOLEAN

    def type_of(self, reference: tree.Reference, scope: Class) -> ScalarType | None:
        """The type of (an element of) a name that is not local."""
        first = reference.parts[0].name
        found = self.world.root.find(first) if reference.from_root else scope.lookup(first)
        for part in reference.parts[1:]:
            if isinstance(found, Component):
                actual = found.actual()
                found = actual.class_.find(part.name) if actual.leaf is None else None
            elif isinstance(found, Class):
                leaf = found.leaf()
                if leaf is not None and leaf.kind is Kind.ENUMERATION:
                    return ScalarType(leaf.kind, leaf.type.literals)
                found = found.find(part.name)
            if found is None:
                return None
        leaf = found.leaf if isinstance(found, Component) else None
        return ScalarType(leaf.kind, leaf.type.literals) if leaf is not None else None

    def package_folder(self, dotted: str) -> Path | None:
        """The folder of a package that is loaded, for files beside it."""
        names = dotted.split(".")
        definition = self.world.table.top(names[0])
        folder = self.world.table.folder(definition) if definition is not None else None
        if folder is None:
            if definition is None or not definition.source.label:
                return None
            return Path(definition.source.label).parent
        for name in names[1:]:
            if not (folder / name).is_dir():
                break
            folder = folder / name
        return folder
