"""Classes as functions and constructors: their inputs, outputs, locals and bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.flat.system import Kind
from estimica.source.evaluate.names import Dimension, Function, Parameter
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.world import World


class FunctionReader:
    """Makes functions of classes, each once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[Class, Function | None] = {}

    def of_class(self, cls: Class) -> Function | None:
        """The function or constructor that a class is; None where it is none."""
        if cls not in self._known:
            self._known[cls] = self._read(cls)
        return self._known[cls]

    def _read(self, cls: Class) -> Function | None:
        if cls.is_a("function", "operator function"):
            return self._function(cls)
        if cls.definition.word == "operator" and not cls.is_record:
            return None
        if cls.is_record:
            own = cls.find("'constructor'")
            if isinstance(own, Class):
                return self._constructor_function(own)
            return self._constructor(cls)
        if cls.is_external_object:
            maker = cls.find("constructor")
            if isinstance(maker, Class):
                function = self.of_class(maker)
                assert function is not None
                return _as_object(function)
        return None

    def _constructor_function(self, operator: Class) -> Function | None:
        """The first constructor of an operator record, which is the one with all fields."""
        if operator.is_a("operator function", "function"):
            return self.of_class(operator)
        functions = self.operator_functions(operator)
        return max(functions, key=lambda f: len(f.inputs)) if functions else None

    def operator_functions(self, operator: Class) -> list[Function]:
        """The functions that an operator of an operator record may mean."""
        if operator.is_a("operator function", "function"):
            only = self.of_class(operator)
            return [only] if only is not None else []
        found = []
        for name in operator.member_names():
            inner = operator.find(name)
            function = self.of_class(inner) if isinstance(inner, Class) else None
            if function is not None:
                found.append(function)
        return found

    def _function(self, cls: Class) -> Function:
        definition = cls.root_definition()
        if definition.derivative is not None:
            return self._derivative(cls)
        inputs: list[Parameter] = []
        outputs: list[Parameter] = []
        local: list[Parameter] = []
        seen = frozenset(cls.ancestors())
        for component in cls.components():
            parameter = self.parameter(component, seen)
            causality = component.causality
            {"input": inputs, "output": outputs}.get(causality, local).append(parameter)
        body: tuple[tree.Equation, ...] = ()
        external = None
        scope = cls
        for ancestor in cls.ancestors():
            inner = ancestor.body
            if inner is None:
                continue
            sections = [s for s in inner.sections if s.algorithm and not s.initial]
            if sections:
                body = tuple(statement for s in sections for statement in s.body)
                scope, external = ancestor, None
            if inner.external is not None:
                external, body, scope = inner.external, (), ancestor
        return Function(
            cls.name,
            tuple(inputs),
            tuple(outputs),
            tuple(local),
            body,
            scope,
            external,
            source=scope.definition.source,
            at=scope.definition.at,
            annotation=lambda: function_annotation(cls),
            of_partial=cls.outer is not None and cls.outer.definition.partial,
        )

    def _derivative(self, cls: Class) -> Function:
        around = cls
        while around.definition.short is not None:
            around = around.bases[0]
        assert around.definition.derivative is not None
        name, inputs = around.definition.derivative
        base = self.of_class((around.outer or around).find_type(name))
        if base is None:
            raise error_at("S076", around, name.at, f"'{name.text}' is not a function")
        return Function(
            cls.name, base.inputs, base.outputs, scope=cls, derivative_of=(base, inputs)
        )

    def _constructor(self, cls: Class) -> Function:
        inputs: list[Parameter] = []
        local: list[Parameter] = []
        seen = frozenset(cls.ancestors())
        for component in cls.components():
            if not component.present:
                continue
            parameter = self.parameter(component, seen)
            given = component.variability == "constant" or component.declaration.prefixes.final
            hidden = given and component.has_value
            (local if hidden or component.protected else inputs).append(parameter)
        return Function(
            cls.name, tuple(inputs), locals=tuple(local), scope=cls, record=cls,
            source=cls.definition.source, at=cls.definition.at,
        )  # fmt: skip

    def parameter(
        self, component: Component, own: frozenset[Class], around: frozenset[Class] = frozenset()
    ) -> Parameter:
        """A component of a function or record.

        own: the classes whose names its declaration sees; around: of a record's field, those of
        the function in which the record is declared.
        """
        dimensions = tuple(
            Dimension(d, scope, scope not in own and scope not in around)
            for d, scope in component.declared_dimensions
        )
        binding = component.binding
        default = None if binding is None else (binding.expression, binding.scope)
        sees = "own"
        if binding is not None and binding.scope not in own:
            sees = "around" if binding.scope in around else "outside"
        leaf = component.leaf
        constant = component.variability == "constant"
        if leaf is not None:
            return Parameter(
                component.name,
                dimensions,
                default,
                leaf.kind,
                constant=constant,
                literals=leaf.type.literals if leaf.kind is Kind.ENUMERATION else (),
                sees=sees,
            )
        cls = component.type
        if cls.is_a("function", "operator function"):
            return Parameter(component.name, dimensions, default, function=True, sees=sees)
        if cls.is_external_object:
            return Parameter(component.name, dimensions, default, sees=sees)
        whole = component.class_
        inside = frozenset(whole.ancestors())
        fields = tuple(
            self.parameter(c, inside, own | around) for c in whole.components() if c.present
        )
        return Parameter(
            component.name, dimensions, default, None, fields, whole, constant=constant, sees=sees
        )


def function_annotation(cls: Class) -> tree.Modification | None:
    """The annotation of a function, which may stand in a class that it inherits from."""
    for ancestor in reversed(list(cls.ancestors())):
        body = ancestor.body
        if body is not None and body.annotation is not None:
            return body.annotation.read()
        if ancestor.definition.annotation is not None:
            return ancestor.definition.annotation.read()
    return None


def _as_object(function: Function) -> Function:
    import dataclasses

    return dataclasses.replace(function, object_type=True)
