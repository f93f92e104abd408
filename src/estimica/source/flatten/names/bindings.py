"""What components are set to: numbers, or expressions of other names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate.names import ScalarType
from estimica.source.evaluate.values import (
    Frame,
    Record,
    Value,
    ValueMismatch,
    broadcast,
    field_of,
    is_array,
    make_nested,
    scalars,
)
from estimica.source.flatten.initial_definitions import Definition, InitialAlgorithm
from estimica.source.flatten.origins import expression_origin
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component, is_clock
from estimica.source.instance.modifiers import Binding
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.instance.world import World


@dataclass(frozen=True, slots=True, eq=False)
class ScalarView:
    """One scalar of the flat model: an element of a component."""

    component: Component
    position: tuple[int, ...]  # its index in the component, counted from 0
    kind: Kind
    variability: Variability
    bindings: Bindings

    @property
    def solved(self) -> bool:
        """Whether initialisation finds it: a parameter with fixed = false."""
        return self.variability is Variability.PARAMETER and self.bindings.is_solved(self.component)

    @property
    def is_parameter(self) -> bool:
        """Whether its value is settled before the run."""
        return self.variability in (Variability.PARAMETER, Variability.CONSTANT)


class Bindings:
    """The values of components in terms of others, each worked out once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.evaluator: Evaluator
        #: the scalars of the model that expressions have named so far
        self._views: dict[str, ScalarView] = {}
        self._bound: dict[Component, Value] = {}
        self._bindings: dict[Binding, Value] = {}
        self._pending: list[Component] = []
        self._free: dict[Component, bool] = {}
        #: what initial equations set parameters with fixed = false equal to
        self.initial_definitions: dict[Component, Definition] = {}

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

    # --- parameters with fixed = false

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
            value = definition.value(self.evaluator)
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

    # --- single scalars

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
