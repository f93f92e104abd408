"""Calls of functions and record constructors, written out in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.source.interpreter import external_functions as library_functions
from estimica.source.interpreter import statements
from estimica.source.interpreter.values import (
    FunctionValue,
    Value,
    ValueMismatch,
    broadcast,
    elementwise,
    full,
    is_array,
    make_nested,
)
from estimica.source.syntax.nodes import Node, argument_name, argument_value

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Frame, Interpreter

#: functions that call themselves more deeply than this are refused
MAX_DEPTH = 60
#: functions of the C library whose meaning is that of a built-in one
_LIBRARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "log": "log", "log10": "log10",
    "sqrt": "sqrt", "fabs": "abs", "floor": "floor", "ceil": "ceil", "atan2": "atan2", "pow": "pow",
    "fmin": "min", "fmax": "max",
}  # fmt: skip


#: arguments that only say where a search begins; a known beginning lets its loop be unrolled
_FIRST_GUESSES: dict[str, dict[str, Value]] = {
    "Modelica.Blocks.Sources.TimeTable.getInterpolationCoefficients": {"last": ex.ONE}
}


class FunctionTable:
    """The functions of a flat model."""

    def __init__(self, functions: Mapping[str, Node]) -> None:
        self._by_name = dict(functions)
        self._by_number = {f["instance_id"]: f for f in functions.values()}

    def all(self) -> list[Node]:
        """Every function."""
        return list(self._by_name.values())

    def named(self, last: str) -> Node | None:
        """The function whose simple name is `last`."""
        return next((f for n, f in self._by_name.items() if n.rsplit(".", 1)[-1] == last), None)

    def restore(self, function: Node, body: list[Node], records: Mapping[str, list[str]]) -> None:
        """Give a function the body that was hidden; `records` are inputs that were expanded."""
        whole = {**function, "external": None, "body": body, "records": records}
        self._by_name[function["name"]] = whole
        for key, other in list(self._by_name.items()):
            if other is function:
                self._by_name[key] = whole
        self._by_number[function["instance_id"]] = whole

    def find(self, reference: Node) -> Node | None:
        """The function that a call's name refers to."""
        resolved = reference.get("resolved_function")
        if resolved is not None and resolved["instance_id"] in self._by_number:
            return self._by_number[resolved["instance_id"]]
        name: str = reference["name"]
        if name in self._by_name:
            return self._by_name[name]
        last = name.rsplit(".", 1)[-1]
        found = [f for n, f in self._by_name.items() if n.rsplit(".", 1)[-1] == last]
        return found[0] if len(found) == 1 else None


def call_function(interpreter: Interpreter, content: Node, frame: Frame) -> Value:
    """The value of a function call node (a tuple for several outputs)."""
    name: str = content["name"]["name"]
    if argument_name({"FunctionCall": content}) is not None:
        return interpreter.value(content["args"][0], frame)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(interpreter, content["args"], frame)
    held = frame.get(name)
    if isinstance(held, FunctionValue):
        content = {**content, "name": {"name": held.name}}
    function = interpreter.functions.find(content["name"])
    if function is None:
        raise UnsupportedError(
            "U002",
            f"{interpreter.place}: the function '{name}' is not supported: its body is not part of "
            "the model; write it as a Modelica function with an algorithm section",
        )
    given = held.given if isinstance(held, FunctionValue) else {}
    if function.get("derivative_of"):
        return _derivative(interpreter, function, content["args"], frame)
    return _evaluate(interpreter, function, content["args"], frame, given)


def function_argument(interpreter: Interpreter, content: Node, frame: Frame) -> Value:
    """A function as an argument: by its name, or `function f(a = 1)`."""
    held = frame.get(content["name"])
    if isinstance(held, FunctionValue):
        return held
    given = {argument_name(a) or "": interpreter.value(a, frame) for a in content["args"]}
    return FunctionValue(content["name"], given)


def call_statement(interpreter: Interpreter, content: Node, frame: Frame) -> Value:
    """The value of a call that stands as a statement."""
    return call_function(interpreter, {"name": content["comp"], "args": content["args"]}, frame)


def _evaluate(
    interpreter: Interpreter,
    function: Node,
    nodes: list[Any],
    frame: Frame,
    already: Mapping[str, Value],
) -> Value:
    arguments = _bound_arguments(interpreter, function, nodes, frame, already)
    arguments.update(_FIRST_GUESSES.get(function["name"], {}))
    if function["is_constructor"]:
        return arguments
    shape = _vectorised_shape(function, arguments)
    if shape:
        return _for_every_element(interpreter, function, arguments, shape)
    return _applied(interpreter, function, arguments)


def _derivative(interpreter: Interpreter, function: Node, nodes: list[Any], frame: Frame) -> Value:
    """`function g = der(f, x, y)`: the partial derivative of f by its inputs x and y."""
    base = interpreter.functions.find({"name": function["derivative_of"]})
    if base is None:
        raise ValueMismatch(f"there is no function '{function['derivative_of']}'")
    arguments = _bound_arguments(interpreter, base, nodes, frame, {})
    leaves = {name: ex.name(f"${name}") for name in function["derivative_by"]}
    value = _applied(interpreter, base, {**arguments, **leaves})
    for leaf in leaves.values():
        value = elementwise(lambda e, leaf=leaf: partial(e, leaf), value)
    given = {leaf: arguments[name] for name, leaf in leaves.items()}
    return elementwise(lambda e: _put(e, given), value)


def _put(root: ex.Expression, given: Mapping[ex.Expression, Value]) -> ex.Expression:
    """`root` with expressions in the place of leaves."""
    memo: dict[ex.Expression, Any] = {}
    for e in ex.walk(root):
        operands = [memo[a] for a in e.operands]
        memo[e] = ex.rebuild(e, operands) if operands else given.get(e, e)
    return memo[root]  # type: ignore[no-any-return]


def _vectorised_shape(function: Node, arguments: Frame) -> tuple[int, ...]:
    """The sizes that arguments have beyond those their inputs declare; () for a plain call."""
    shapes = {
        value.shape[: value.ndim - _rank(declaration)]
        for declaration in function["inputs"]
        if is_array(value := arguments[declaration["name"]]) and value.ndim > _rank(declaration)
    }
    if len(shapes) > 1:
        raise ValueMismatch(f"'{function['name']}' is called with arrays of different sizes")
    return shapes.pop() if shapes else ()


def _rank(declaration: Node) -> int:
    """How many dimensions an input has; those of its type do not stand in its declaration."""
    effective = declaration.get("effective_type") or {}
    return max(len(declaration["shape_expr"]), len(effective.get("dimensions") or ()))


def _for_every_element(
    interpreter: Interpreter, function: Node, arguments: Frame, shape: tuple[int, ...]
) -> Value:
    ranks = {d["name"]: _rank(d) for d in function["inputs"]}
    elements = []
    for index in np.ndindex(*shape):
        single = {
            name: value[index] if is_array(value) and value.ndim > ranks[name] else value
            for name, value in arguments.items()
        }
        result = _applied(interpreter, function, single)
        elements.append(result[0] if isinstance(result, tuple) else result)
    return make_nested(elements, shape)


def _applied(interpreter: Interpreter, function: Node, arguments: Frame) -> Value:
    if function["external"] is not None:
        return _external(interpreter, function, arguments)
    interpreter.depth += 1
    try:
        if interpreter.depth > MAX_DEPTH:
            interpreter.refuse(
                f"the function '{function['name']}', whose calls are nested more than {MAX_DEPTH} "
                "deep,",
                "write it as a loop",
            )
        local = _with_locals(interpreter, function, _regrouped(function, arguments))
        after = statements.frame_after(interpreter, function["body"], local)
    finally:
        interpreter.depth -= 1
    return _outputs(interpreter, function, after)


def _bound_arguments(
    interpreter: Interpreter,
    function: Node,
    nodes: list[Any],
    frame: Frame,
    already: Mapping[str, Value],
) -> Frame:
    inputs = [i for i in function["inputs"] if i["name"] not in already]
    given: Frame = dict(already)
    position = 0
    for node in nodes:
        name = argument_name(node)
        value = interpreter.value(argument_value(node), frame)
        if isinstance(value, tuple):
            value = value[0]
        if name is None and position >= len(inputs):
            raise ValueMismatch(f"'{function['name']}' takes {len(inputs)} arguments")
        if isinstance(value, dict) and (name or inputs[position]["name"]) not in _records(function):
            # the compiler has made one input of every field
            fields = list(_fields(value))
            first = name or inputs[position]["name"].rsplit("_", 1)[0]
            if name is not None:
                given.update({f"{first}_{k}": v for k, v in fields})
                continue
            for _, field_value in fields:
                given[inputs[position]["name"]] = field_value
                position += 1
            continue
        given[name or inputs[position]["name"]] = value
        position += 1
    bound: Frame = {}
    for declaration in function["inputs"]:
        name = declaration["name"]
        if name in given:
            bound[name] = given[name]
        elif declaration["default"] is not None:
            bound[name] = interpreter.value(declaration["default"], bound)
        else:
            raise ValueMismatch(f"'{function['name']}' is called without its argument '{name}'")
    return bound


def _records(function: Node) -> set[str]:
    """Inputs that really are records: those of constructors."""
    return {i["name"] for i in function["inputs"] if i.get("type_class") == "Record"}


def _fields(record: dict[str, Value], prefix: str = "") -> Iterator[tuple[str, Value]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}_")
        else:
            yield prefix + name, value


def _regrouped(function: Node, arguments: Frame) -> Frame:
    """The record inputs that the compiler expanded, as records again, for a body of our reading."""
    records = function.get("records") or {}
    return {
        **arguments,
        **{
            name: {field[len(name) + 1 :]: arguments[field] for field in fields}
            for name, fields in records.items()
        },
    }


def _with_locals(interpreter: Interpreter, function: Node, arguments: Frame) -> Frame:
    local = dict(arguments)
    for declaration in [*function["outputs"], *function["locals"]]:
        if declaration["default"] is not None:
            value = interpreter.value(declaration["default"], local)
            shape = _shape(interpreter, declaration, local)
            if shape and None not in shape:
                value = broadcast(value, tuple(n for n in shape if n is not None))
            local[declaration["name"]] = value
        else:
            local[declaration["name"]] = _unassigned(interpreter, declaration, local)
    return local


def _unassigned(interpreter: Interpreter, declaration: Node, local: Frame) -> Value:
    shape = _shape(interpreter, declaration, local)
    if None in shape:
        return None
    if declaration.get("type_class") == "Record":
        fields = declaration.get("fields") or ()
        record: Value = {f["name"]: _unassigned(interpreter, f, local) for f in fields}
        return record if not shape else full([n for n in shape if n is not None], record)
    return full([n for n in shape if n is not None], None) if shape else None


def _shape(interpreter: Interpreter, declaration: Node, local: Frame) -> list[int | None]:
    shape: list[int | None] = []
    for subscript in declaration["shape_expr"]:
        if subscript == "Colon" or "Colon" in subscript:
            shape.append(None)
        elif "Index" in subscript:
            shape.append(int(subscript["Index"]["value"]))
        else:
            value = interpreter.value(subscript["Expr"]["expr"], local)
            shape.append(int(interpreter.number(value, "it sets the size of an array")))
    return shape


def _outputs(interpreter: Interpreter, function: Node, frame: Frame) -> Value:
    results = []
    for declaration in function["outputs"]:
        value = frame[declaration["name"]]
        if value is None or (is_array(value) and any(v is None for v in value.flat)):
            raise SourceError(
                "S014",
                f"{interpreter.place}: the function '{function['name']}' ends without a value for "
                f"its output '{declaration['name']}'",
            )
        results.append(value)
    return results[0] if len(results) == 1 else tuple(results)


def _external(interpreter: Interpreter, function: Node, arguments: Frame) -> Value:
    external = function["external"]
    name = external["function_name"] or function["name"].rsplit(".", 1)[-1]
    if name in library_functions.FUNCTIONS:
        return library_functions.FUNCTIONS[name](interpreter, arguments)
    if name not in _LIBRARY or len(function["outputs"]) != 1:
        raise UnsupportedError(
            "U003",
            f"{interpreter.place}: the function '{function['name']}' is external (it calls "
            f"'{name}' of language {external['language']}) and cannot be differentiated; write it "
            "as a Modelica function with an algorithm section, or as a table",
        )
    values = (
        [interpreter.value(a, arguments) for a in external["args"]]
        if external.get("args")
        else list(arguments.values())
    )
    return elementwise(lambda *a: ex.build(_LIBRARY[name], *a), *values)


def _integer_of(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    """Integer(e): the ordinal of an enumeration value, which is how it is held anyway."""
    return interpreter.value(nodes[0], frame)


def _string_of(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    from estimica.source.interpreter.operators import as_text

    return as_text(interpreter.value(nodes[0], frame))


_SPECIAL = {
    "Integer": _integer_of,
    "String": _string_of,
}
