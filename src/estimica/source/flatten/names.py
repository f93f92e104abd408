"""What names mean: components as symbols, constants as numbers, classes as functions and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.connect.ends import End
from estimica.source.evaluate.names import Function, ScalarType
from estimica.source.evaluate.subscripts import Index, select
from estimica.source.evaluate.texts import settled
from estimica.source.evaluate.values import (
    Frame,
    FunctionValue,
    Record,
    RuntimeText,
    Value,
    ValueMismatch,
    broadcast,
    field_of,
    is_array,
    make_array,
    make_nested,
    scalars,
)
from estimica.source.flatten.functions import FunctionReader
from estimica.source.flatten.initial_definitions import Definition, InitialAlgorithm
from estimica.source.flatten.operators import chosen_operator
from estimica.source.flatten.origins import expression_origin
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, all_indices, is_clock
from estimica.source.instance.modifiers import Binding
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.flatten.special import SpecialOperators
    from estimica.source.instance.world import World

_VARIABILITIES = {
    "": Variability.CONTINUOUS,
    "discrete": Variability.DISCRETE,
    "parameter": Variability.PARAMETER,
    "constant": Variability.CONSTANT,
}


@dataclass(frozen=True, slots=True, eq=False)
class ScalarView:
    """One scalar of the flat model: an element of a component."""

    component: Component
    position: tuple[int, ...]  # its index in the component, counted from 0
    kind: Kind
    variability: Variability
    names: ModelNames

    @property
    def solved(self) -> bool:
        """Whether initialisation finds it: a parameter with fixed = false."""
        return self.variability is Variability.PARAMETER and self.names.is_solved(self.component)

    @property
    def is_parameter(self) -> bool:
        """Whether its value is settled before the run."""
        return self.variability in (Variability.PARAMETER, Variability.CONSTANT)


class ModelNames:
    """The names of a model, as the evaluator asks for them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.evaluator: Evaluator
        self.special_operators: SpecialOperators
        self.functions = FunctionReader(world)
        self._views: dict[str, ScalarView] = {}
        self._symbols: dict[Component, Value] = {}
        self._bound: dict[Component, Value] = {}
        self._bindings: dict[Binding, Value] = {}
        self._pending: list[Component] = []
        self._free: dict[Component, bool] = {}
        #: what initial equations set parameters with fixed = false equal to
        self.initial_definitions: dict[Component, Definition] = {}

    # --- references ----------------------------------------------------------------------------

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
                f"{self.world.hint(first)}",
            )
        return found

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
                f"nothing is called '{reference.text}': class {cls.name} has no '{name}'"
                f"{did_you_mean(name, cls.member_names())}",
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

    # --- symbols -------------------------------------------------------------------------------

    def symbol(self, component: Component) -> Value:
        """A component as a value: names of variables, numbers of constants, records of both."""
        known = self._symbols.get(component)
        if known is None:
            known = self._symbol(component)
            self._symbols[component] = known
        return known

    def _symbol(self, component: Component) -> Value:
        if not component.in_model:
            return self.constant(component)
        leaf = component.leaf
        if leaf is not None:
            if leaf.kind is Kind.STRING:
                return self._text(component)
            names = self._named(component)
            if component.variability == "constant":
                value = self._constant_or_none(component)
                return names if value is None else value
            if component.variability == "parameter" and self._is_to_be_evaluated(component):
                return self._evaluated(component, names)
            return names
        if component.type.is_external_object:
            return self.constant(component)
        if component.dims:
            elements = [self._record(e) for e in component.elements()]
            return make_nested(elements, component.dims)
        return self._record(component)

    def _record(self, component: Component) -> Record:
        cls = component.class_
        fields = {
            c.name: self.symbol(c.actual())
            for c in cls.components()
            if c.present and not c.is_outer
        }
        return Record(fields, cls)

    def _named(self, component: Component) -> Value:
        leaf = component.leaf
        assert leaf is not None
        variability = _VARIABILITIES[component.variability]
        if variability is Variability.CONTINUOUS and leaf.kind is not Kind.REAL:
            variability = Variability.DISCRETE
        dims = component.dims
        path = component.path
        if not dims:
            self._views[path] = ScalarView(component, (), leaf.kind, variability, self)
            return ex.name(path)
        result = np.empty(dims, dtype=object)
        for index in all_indices(dims):
            name = f"{path}[{','.join([str(i + 1) for i in index])}]"
            self._views[name] = ScalarView(component, index, leaf.kind, variability, self)
            result[index] = ex.name(name)
        return result

    def _is_to_be_evaluated(self, component: Component) -> bool:
        """Whether the modeller has asked for the value to be built in: Evaluate = true."""
        for declaration in (component.declaration, component.original):
            if declaration.annotation is None:
                continue
            for argument in declaration.annotation.read().arguments:
                if isinstance(argument, tree.Modifier) and argument.path == ("Evaluate",):
                    value = argument.modification.value
                    return isinstance(value, tree.Truth) and value.value
        return False

    def _evaluated(self, component: Component, names: Value) -> Value:
        """The numbers of a parameter in the place of its names; the names where it has none."""
        if component in self._pending or self.is_free(component):
            return names
        parameters = self.evaluator.parameters
        why = "it is declared with Evaluate = true"
        numbers = [
            parameters.number(name, why) if isinstance(name, Expression) else None
            for name in scalars(names)
        ]
        if any(n is None for n in numbers):
            return names
        constants = [ex.const(n) for n in numbers if n is not None]
        if not is_array(names):
            return constants[0]
        return make_array(constants).reshape(names.shape)

    def is_free(self, component: Component) -> bool:
        """Whether a parameter is declared with fixed = false."""
        if component not in self._free:
            fixed = component.attributes.of("fixed").binding
            value = None if fixed is None else self.bound_value(fixed)
            first = value.flat[0] if is_array(value) and value.size else value
            if isinstance(first, Expression) and first.op != "const":  # fixed = kind == Kind.given
                self._free[component] = False  # while what it depends on is looked at
                why = "it says whether a parameter is given or found"
                first = self.evaluator.parameters.settle(first, why)
            self._free[component] = isinstance(first, Expression) and ex.is_const(first, 0.0)
        return self._free[component]

    def is_solved(self, component: Component) -> bool:
        """Whether initialisation has to find a parameter: no initial equation simply gives it."""
        if not self.is_free(component):
            return False
        return component in self._pending or self.bound(component) is None

    def is_defined(self, name: str) -> bool:
        """Whether a scalar is given by an initial equation, which then says nothing more."""
        view = self._views.get(name)
        if view is None or view.component not in self.initial_definitions:
            return False
        return not self.is_solved(view.component)

    def _defined(self, component: Component) -> Value:
        """What an initial equation gives a parameter, if that depends on parameters alone."""
        definition = self.initial_definitions[component]
        if isinstance(definition, InitialAlgorithm):
            value = definition.value(self)
        else:
            value = self.bound_value(definition)
        if value is None:
            return None
        parts = [v for v in scalars(value) if isinstance(v, Expression)]
        if any(e.op in ("time", "der", "pre", "initial") for e in ex.walk(*parts)):
            return None
        views = [self._views.get(name) for name in ex.names_in(*parts)]
        known = all(v is not None and v.is_parameter and not v.solved for v in views)
        return value if known else None

    def _text(self, component: Component) -> Value:
        held = component.variability in ("parameter", "constant")
        value = self.bound(component)
        if value is None:
            # one that equations set is known during the run only
            value = "" if held else RuntimeText("{" + component.path + "}")
        if component.dims:
            value = broadcast(value, component.dims)
        if not held:
            return value

        def number(e: Expression) -> float | None:
            return self.evaluator.parameters.number(e, f"it is part of the text '{component.path}'")

        if isinstance(value, str):
            return settled(value, number)
        if is_array(value):
            value = value.copy()
            for k, item in enumerate(value.flat):
                value.flat[k] = settled(item, number) if isinstance(item, str) else item
        return value

    # --- values --------------------------------------------------------------------------------

    def _constant_or_none(self, component: Component) -> Value:
        """The numbers of a constant of the model; None where it has none that are known."""
        value = self.bound(component)
        if isinstance(value, Expression) and value.op == "const":
            if component.dims:
                return broadcast(value, component.dims)
            return value
        if is_array(value) and all(
            isinstance(v, Expression) and v.op == "const" for v in value.flat
        ):
            return broadcast(value, component.dims) if component.dims else value
        return None

    def constant(self, component: Component) -> Value:
        """The value of a component that is no variable: a constant of a package, an object."""
        leaf = component.leaf
        value = self.bound(component)
        if leaf is not None or component.type.is_external_object:
            if value is None:
                start = component.attributes.of("start").binding if leaf is not None else None
                if start is not None:
                    return self.bound_value(start)
                raise error_at(
                    "S074",
                    component.owner,
                    component.declaration.at,
                    f"'{component.owner.name}.{component.name}' has no value",
                )
            dims = component.dims if leaf is not None else ()
            return broadcast(value, dims) if dims else value
        if value is not None and not self._has_field_values(component):
            if component.dims and not is_array(value):
                value = broadcast(value, component.dims)
            return value
        if component.dims:
            elements = [self._constant_record(e) for e in component.elements()]
            return make_nested(elements, component.dims)
        return self._constant_record(component)

    def _constant_record(self, component: Component) -> Record:
        cls = component.class_
        return Record({c.name: self.constant(c) for c in cls.components() if c.present}, cls)

    def _has_field_values(self, component: Component) -> bool:
        return any(
            m.binding is not None and not m.overridden for m in component.modifiers.members.values()
        )

    def bound(self, component: Component) -> Value:
        """What a component is set to, in terms of others; None where it is set to nothing."""
        if component not in self._bound:
            if component in self._pending:
                circle = [c.path for c in self._pending[self._pending.index(component) :]]
                raise SourceError(
                    "S010",
                    "parameters depend on each other in a circle: "
                    + " -> ".join([*circle, component.path]),
                )
            self._pending.append(component)
            try:
                self._bound[component] = self._value_of(component)
            finally:
                self._pending.pop()
        return self._bound[component]

    def _value_of(self, component: Component) -> Value:
        binding = component.binding
        if binding is not None:
            self._require_kind(component, binding)
            return self.bound_value(binding)
        if component in self.initial_definitions:
            return self._defined(component)
        parent = component.parent
        if parent is not None and not parent.is_root and parent.has_value:
            own = component.default.binding
            if own is not None and component.variability and component.original.prefixes.final:
                # no value of the whole can change it: it follows the fields beside it
                return self.bound_value(own)
            whole = self.bound(parent)
            value: Value = None
            if isinstance(whole, Record):
                value = whole.get(component.name)
            elif is_array(whole) and whole.size and isinstance(whole.flat[0], Record):
                value = field_of(whole, component.name)
            if component.index is not None and is_array(value):
                value = value[component.index]
            if value is not None:
                return value
            if component.default.binding is not None:
                return self.bound_value(component.default.binding)
        return None

    def _require_kind(self, component: Component, binding: Binding) -> None:
        leaf = component.leaf
        expression, scope = binding.expression, binding.scope
        if leaf is None or is_clock(component) or scope is self.world.root:
            return  # values that are given with the request are numbers, also for enumerations
        expected = ScalarType(leaf.kind, leaf.type.literals)
        with self.evaluator.at(expression_origin(expression, scope, "value")):
            self.evaluator.require_one_kind((expression,), scope, {}, expected)

    def bound_value(self, binding: Binding) -> Value:
        """The value of a binding, for the element of an array that it is for."""
        known = self._bindings.get(binding)
        if known is None:
            known = self.value_at(binding.expression, binding.scope, None, binding.output)
            for index in binding.indices:
                if is_array(known) and known.ndim >= len(index):
                    try:
                        known = known[index]
                    except IndexError:
                        raise error_at(
                            "S075",
                            binding.scope,
                            getattr(binding.expression, "at", 0),
                            f"the value has the size {known.shape} and lacks the element "
                            f"{[i + 1 for i in index]}",
                        ) from None
            self._bindings[binding] = known
        return known

    def value_at(
        self,
        expression: tree.Expression,
        scope: Class,
        frame: Frame | None = None,
        output: int = 0,
    ) -> Value:
        """The value of an expression, which messages name as it stands there."""
        with self.evaluator.at(expression_origin(expression, scope, "value")):
            value = self.evaluator.value(expression, scope, frame or {})
            return value[output] if isinstance(value, tuple) and value else value

    # --- what the evaluator asks ---------------------------------------------------------------

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

    def binding(self, name: str) -> Expression | str | None:
        """The value of a scalar parameter or constant in terms of others."""
        view = self._views[name]
        component = view.component
        value = self.bound(component)
        if value is None and component.variability:
            start = component.attributes.of("start").binding
            if start is None or view.solved:
                return None
            value = self.bound_value(start)
        if value is None:
            return None
        if component.dims:
            try:
                value = broadcast(value, component.dims)[view.position]
            except ValueMismatch as mismatch:
                raise SourceError("S011", f"the value of '{component.path}': {mismatch}") from None
        elif is_array(value) and value.size == 1:
            value = value.flat[0]
        if not isinstance(value, (Expression, str)):
            raise SourceError("S011", f"the value of '{name}' is not a single number")
        return value

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


def _declared_first(component: Component) -> Component:
    """The same component as its owner has it: one that is inherited along two ways is one."""
    owner = component.parent
    found = owner.class_.find(component.name) if owner is not None else None
    return found if isinstance(found, Component) else component
