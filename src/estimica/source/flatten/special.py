"""Operators that need the whole model: streams, connections, the name of an instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.clocks.operators import ClockOperators
from estimica.source.connect.ends import End
from estimica.source.connect.streams import flow_of
from estimica.source.evaluate.values import Frame, Value, ValueMismatch, make_array
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.flatten.connections import Connections
    from estimica.source.flatten.names.model import ModelNames


#: the error of an operator that asks for connections before they are known
TOO_EARLY = "S084"


class SpecialOperators:
    """Their values; those of connections are known once all connections are."""

    def __init__(self, names: ModelNames) -> None:
        self._names = names
        self.connections: Connections | None = None
        self.clocks = ClockOperators(names)

    def value(self, call: tree.Call, scope: Class, frame: Frame) -> Value | None:
        """The value of a call of such an operator; None where it is none."""
        parts = call.function.parts
        operator = _OPERATORS.get(parts[0].name if len(parts) == 1 else call.function.text)
        if operator is None:
            return self.clocks.value(self._names.evaluator, call, scope, frame)
        return operator(self, call, scope, frame)

    def _known(self, call: tree.Call, scope: Class) -> Connections:
        if self.connections is None:
            raise error_at(
                TOO_EARLY,
                scope,
                call.at,
                f"'{call.function.text}' decides about sizes, components or connections; it is "
                "known only after them",
            )
        return self.connections

    def _ends(self, call: tree.Call, scope: Class, frame: Frame) -> list[End]:
        argument = call.arguments[0] if call.arguments else None
        if not isinstance(argument, tree.Reference):
            raise ValueMismatch(f"{call.function.text}() of something that is not a component")
        return self._names.ends(argument, scope, frame) or []

    def _stream_ends(self, call: tree.Call, scope: Class, frame: Frame) -> list[End]:
        ends = self._ends(call, scope, frame)
        for end in ends:
            if end.component.leaf is None or end.component.connection != "stream":
                raise ValueMismatch(
                    f"{call.function.text}() of '{end.name}', which is not declared as stream"
                )
        return ends

    def _shaped(
        self, call: tree.Call, values: list[Expression], scope: Class, frame: Frame
    ) -> Value:
        argument = call.arguments[0]
        assert isinstance(argument, tree.Reference)  # as `_ends` has seen
        shape = self._names.value(argument, scope, frame)
        if isinstance(shape, Expression):
            return values[0]
        array = make_array(list(values))
        return array.reshape(getattr(shape, "shape", array.shape))

    def _in_stream(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        streams = self._known(call, scope).streams
        values = [streams.into(end) for end in self._stream_ends(call, scope, frame)]
        return self._shaped(call, values, scope, frame)

    def _actual_stream(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        streams = self._known(call, scope).streams
        values = []
        for end in self._stream_ends(call, scope, frame):
            flow = ex.name(flow_of(end.component).name)
            inflow = ex.relation("gt", flow, ex.ZERO)
            choice = ex.conditional(inflow, streams.into(end), ex.name(end.name))
            # a stream always stands beside its flow, with which it is continuous
            values.append(ex.node("smooth", choice, ex.ZERO) if choice.op == "if" else choice)
        return self._shaped(call, values, scope, frame)

    def _cardinality(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        counts = self._known(call, scope).sets.counts
        return ex.const(sum(counts.get(end.component, 0) for end in self._ends(call, scope, frame)))

    def _node(self, call: tree.Call, scope: Class, frame: Frame) -> Component:
        ends = self._ends(call, scope, frame)
        if len(ends) != 1:
            raise ValueMismatch(f"{call.function.text}() takes one connector's record")
        return ends[0].component

    def _is_root(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        roots = self._known(call, scope).trees.roots
        return ex.const(self._node(call, scope, frame) in roots)

    def _rooted(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        trees = self._known(call, scope).trees
        return ex.const(trees.is_rooted(self._node(call, scope, frame)))

    def _instance_name(self, call: tree.Call, scope: Class, frame: Frame) -> Value:
        component = scope.component
        model = self._names.world.model
        path = component.path if component is not None else ""
        return f"{model.class_.definition.name}.{path}" if path else model.class_.definition.name


_Operator = Callable[[SpecialOperators, tree.Call, Class, Frame], Value]
_OPERATORS: dict[str, _Operator] = {
    "inStream": SpecialOperators._in_stream,
    "actualStream": SpecialOperators._actual_stream,
    "cardinality": SpecialOperators._cardinality,
    "Connections.isRoot": SpecialOperators._is_root,
    "Connections.rooted": SpecialOperators._rooted,
    "rooted": SpecialOperators._rooted,
    "getInstanceName": SpecialOperators._instance_name,
}
