"""Components as they stand in expressions: names of variables, numbers of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate.texts import settled
from estimica.source.evaluate.values import (
    Record,
    RuntimeText,
    Value,
    broadcast,
    is_array,
    make_array,
    make_nested,
    scalars,
)
from estimica.source.flatten.names.bindings import Bindings, ScalarView
from estimica.source.instance.components import Component, all_indices
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.world import World

_VARIABILITIES = {
    "": Variability.CONTINUOUS,
    "discrete": Variability.DISCRETE,
    "parameter": Variability.PARAMETER,
    "constant": Variability.CONSTANT,
}


class Symbols(Bindings):
    """The symbol of each component: what expressions have in its place."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._symbols: dict[Component, Value] = {}

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
