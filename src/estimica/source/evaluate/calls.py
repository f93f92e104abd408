"""Calls: which function is meant, its arguments by position, name and default, and its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.source.evaluate import bodies
from estimica.source.evaluate.builtin_functions import OPERATORS, call_builtin, is_builtin
from estimica.source.evaluate.names import Function, Parameter, Scope
from estimica.source.evaluate.references import first_names
from estimica.source.evaluate.values import (
    Frame,
    FunctionValue,
    Record,
    Value,
    ValueMismatch,
    elementwise,
    first_of,
    is_array,
    make_nested,
)
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator


def call_node(evaluator: Evaluator, node: tree.Call, scope: Scope, frame: Frame) -> Value:
    """The value of a call (a tuple for several outputs)."""
    name = node.function.text
    held = frame.get(name)
    if not isinstance(held, FunctionValue):
        if name in OPERATORS or (node.iterators and is_builtin(name)):
            return call_builtin(evaluator, name, node, scope, frame)
        special = evaluator.names.special(node, scope, frame)
        if special is not None:
            return special
        function = evaluator.names.function(node.function, scope)
        if function is None:
            if is_builtin(name):
                return call_builtin(evaluator, name, node, scope, frame)
            return _converted(evaluator, node, scope, frame)
        held = FunctionValue(function, {})
    if node.iterators:
        raise ValueMismatch(f"'{name}' cannot be taken over an iterator")
    inputs = [i for i in held.function.inputs if i.name not in held.given]
    by_name = {i.name: i for i in inputs}
    positional = [
        _argument(evaluator, a, inputs[k] if k < len(inputs) else None, scope, frame)
        for k, a in enumerate(node.arguments)
    ]
    named = {n: _argument(evaluator, a, by_name.get(n), scope, frame) for n, a in node.named}
    return called(evaluator, held.function, positional, named, held.given)


def _argument(
    evaluator: Evaluator,
    node: tree.Expression,
    parameter: Parameter | None,
    scope: Scope,
    frame: Frame,
) -> Value:
    if parameter is not None and parameter.function:
        return function_argument(evaluator, node, scope, frame)
    return evaluator.one(node, scope, frame)


def function_argument(
    evaluator: Evaluator, node: tree.Expression, scope: Scope, frame: Frame
) -> FunctionValue:
    """A function as an argument: by its name, or `function f(a = 1)`."""
    if not isinstance(node, (tree.Reference, tree.PartialCall)):
        raise ValueMismatch("a function is needed here: its name, or function f(a = …)")
    reference = node.function if isinstance(node, tree.PartialCall) else node
    held = frame.get(reference.text)
    if not isinstance(held, FunctionValue):
        function = evaluator.names.function(reference, scope)
        if function is None:
            raise ValueMismatch(f"there is no function '{reference.text}'")
        held = FunctionValue(function, {})
    if isinstance(node, tree.Reference):
        return held
    inputs = {i.name: i for i in held.function.inputs}
    unknown = [n for n, _ in node.named if n not in inputs]
    if unknown:
        raise ValueMismatch(f"'{held.function.name}' has no input '{unknown[0]}'")
    given = {n: _argument(evaluator, a, inputs[n], scope, frame) for n, a in node.named}
    return FunctionValue(held.function, {**held.given, **given})


def _converted(evaluator: Evaluator, node: tree.Call, scope: Scope, frame: Frame) -> Value:
    """E(2): the value of an enumeration with this number; an error for any other name."""
    name = node.function.text
    literals = evaluator.names.value(node.function, scope, frame)  # an unknown name is told there
    if not is_array(literals) or len(node.arguments) != 1 or node.named:
        raise SourceError(
            "S013",
            f"{evaluator.place}: there is no function '{name}'; declare it, import it, or check "
            "its name",
        )
    value = evaluator.scalar(node.arguments[0], scope, frame)
    if value.op == "const" and not 1 <= value.value <= len(literals):
        raise ValueMismatch(f"{name}({value.value:g}), which has {len(literals)} values")
    return value


def called(
    evaluator: Evaluator,
    function: Function,
    positional: Sequence[Value],
    named: Mapping[str, Value],
    already: Mapping[str, Value],
) -> Value:
    """The value of a call with these arguments, element by element where they are arrays of what
    the function takes."""
    if function.derivative_of is not None:
        return _derivative(evaluator, function, positional, named)
    arguments = _bound_arguments(evaluator, function, positional, named, already)
    shape = _vectorised_shape(function, arguments)
    if shape is None:
        return bodies.applied(evaluator, function, arguments)
    return _for_every_element(evaluator, function, arguments, shape)


def overloaded(evaluator: Evaluator, op: str, operands: Sequence[Value]) -> Value:
    """An operation with a record among its operands, by the functions of its type."""
    function = evaluator.names.operator(f"'{op}'", operands)
    if function is None:
        raise ValueMismatch(f"the operator {op} is not defined for such records")
    arguments = [
        _as_record(evaluator, v, operands) if p.fields is not None else v
        for v, p in zip(operands, function.inputs, strict=False)
    ]
    return called(evaluator, function, arguments, {}, {})


def _as_record(evaluator: Evaluator, value: Value, operands: Sequence[Value]) -> Value:
    """A number beside a record, as a record of that type."""
    if isinstance(value, Record):
        return value
    constructor = evaluator.names.operator("'constructor'", operands)
    return value if constructor is None else called(evaluator, constructor, [value], {}, {})


def _derivative(
    evaluator: Evaluator,
    function: Function,
    positional: Sequence[Value],
    named: Mapping[str, Value],
) -> Value:
    """`function g = der(f, x, y)`: the partial derivative of f by its inputs x and y."""
    assert function.derivative_of is not None
    base, inputs = function.derivative_of
    arguments = _bound_arguments(evaluator, base, positional, named, {})
    leaves = {name: ex.name(f"${name}") for name in inputs}
    value = called(evaluator, base, [], {**arguments, **leaves}, {})
    for leaf in leaves.values():
        value = elementwise(lambda e, leaf=leaf: partial(e, leaf), value)
    given = {leaf: arguments[name] for name, leaf in leaves.items()}
    if not all(isinstance(v, ex.Expression) for v in given.values()):
        raise ValueMismatch(f"'{function.name}' is a derivative by an input that is not a number")

    def put(e: Value) -> Value:
        assert isinstance(e, ex.Expression)
        return ex.rewrite([e], lambda leaf: given.get(leaf, leaf))[0]  # type: ignore[arg-type,return-value]

    return elementwise(put, value)


# --- arguments -----------------------------------------------------------------------------------


def _bound_arguments(
    evaluator: Evaluator,
    function: Function,
    positional: Sequence[Value],
    named: Mapping[str, Value],
    already: Mapping[str, Value],
) -> Frame:
    inputs = [i for i in function.inputs if i.name not in already]
    if len(positional) > len(inputs):
        raise ValueMismatch(
            f"'{function.name}' takes {len(inputs)} arguments, not {len(positional)}"
        )
    given: Frame = dict(already)
    given.update((i.name, first_of(v)) for i, v in zip(inputs, positional, strict=False))
    free = {i.name for i in inputs[len(positional) :]}
    for name, value in named.items():
        if name not in free:
            raise ValueMismatch(f"'{function.name}' has no (other) input '{name}'")
        given[name] = first_of(value)
    if len(given) == len(function.inputs):
        return {i.name: given[i.name] for i in function.inputs}
    return _with_defaults(evaluator, function, given)


def _with_defaults(evaluator: Evaluator, function: Function, given: Frame) -> Frame:
    """The inputs in order; a default may depend on other inputs, whatever their order."""
    by_name = {i.name: i for i in function.inputs}
    pending: list[str] = []

    def fill(name: str) -> None:
        parameter = by_name[name]
        if name in pending:
            raise ValueMismatch(f"the defaults of '{function.name}' depend on each other")
        pending.append(name)
        if parameter.default is None:
            if parameter.fields is None or not _has_defaults(parameter):
                raise ValueMismatch(f"'{function.name}' is called without its argument '{name}'")
            given[name] = bodies.declared(evaluator, parameter, function.scope, given)
        else:
            expression, scope = parameter.default
            seen = parameter.sees == "own"
            if seen:
                for other in first_names(expression) & by_name.keys() - given.keys():
                    fill(other)
            given[name] = evaluator.one(expression, scope, given if seen else {})
        pending.pop()

    for name in by_name:
        if name not in given:
            fill(name)
    return {name: given[name] for name in by_name}


def _has_defaults(parameter: Parameter) -> bool:
    return all(
        f.default is not None or (f.fields is not None and _has_defaults(f))
        for f in parameter.fields or ()
    )


# --- element by element --------------------------------------------------------------------------


def _vectorised_shape(function: Function, arguments: Frame) -> tuple[int, ...] | None:
    """The sizes that arguments have beyond those their inputs declare; None for a plain call."""
    found: tuple[int, ...] | None = None
    for parameter in function.inputs:
        value = arguments[parameter.name]
        rank = len(parameter.dimensions)
        if is_array(value) and value.ndim > rank:
            shape = value.shape[: value.ndim - rank]
            if found is not None and shape != found:
                raise ValueMismatch(f"'{function.name}' is called with arrays of different sizes")
            found = shape
    return found


def _for_every_element(
    evaluator: Evaluator, function: Function, arguments: Frame, shape: tuple[int, ...]
) -> Value:
    ranks = {i.name: len(i.dimensions) for i in function.inputs}
    elements = []
    for index in product(*map(range, shape)):
        single = {
            name: value[index] if is_array(value) and value.ndim > ranks[name] else value
            for name, value in arguments.items()
        }
        elements.append(bodies.applied(evaluator, function, single))
    if elements and isinstance(elements[0], tuple):
        return tuple(make_nested(column, shape) for column in zip(*elements, strict=True))
    if not elements and len(function.outputs) > 1:
        return tuple(make_nested([], shape) for _ in function.outputs)
    return make_nested(elements, shape)
