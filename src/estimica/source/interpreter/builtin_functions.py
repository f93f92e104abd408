"""The built-in functions and operators of the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, time_derivative
from estimica.flat.expression import Expression
from estimica.source.interpreter.values import (
    Array,
    Value,
    ValueMismatch,
    elementwise,
    full,
    is_array,
    make_array,
    numeric,
    scalars,
    sizes_of,
)
from estimica.source.syntax.nodes import argument_value, ordered_arguments

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Frame, Interpreter

_SCALAR = {
    "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan",
    "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Log10": "log10",
    "Sqrt": "sqrt", "Abs": "abs", "Sign": "sign", "Floor": "floor", "Ceil": "ceil",
    "Integer": "integer",
}  # fmt: skip
_TWO = {"Atan2": "atan2", "Div": "idiv", "Mod": "mod", "Rem": "rem"}


def call_builtin(interpreter: Interpreter, function: str, nodes: list[Any], frame: Frame) -> Value:
    """The value of the built-in `function` for argument nodes."""
    if function in _LAZY:
        return _LAZY[function](interpreter, nodes, frame)
    arguments = [interpreter.value(argument_value(n), frame) for n in nodes]
    if function in _SCALAR:
        return elementwise(lambda a: ex.call(_SCALAR[function], a), *map(numeric, arguments))
    if function in _TWO:
        return elementwise(lambda a, b: ex.call(_TWO[function], a, b), *map(numeric, arguments))
    if function in _GENERAL:
        return _GENERAL[function](*arguments)
    if function in _SIZED:
        return _SIZED[function](interpreter, *arguments)
    interpreter.refuse(f"the built-in '{function}'", "write it with other means")


def as_matrix(value: Value) -> Array:
    """A scalar or a vector (as a column) as a matrix."""
    if not is_array(value):
        return full((1, 1), value)
    if value.ndim == 1:
        return value[:, np.newaxis]
    if value.ndim != 2:
        raise ValueMismatch(f"a matrix is made of an array of {value.ndim} dimensions")
    return value


# --- operators that look at their argument's name, not its value ---------------------------------


def _indices_only(interpreter: Interpreter, frame: Frame) -> Frame:
    """A frame without variables that an algorithm has assigned: these operators mean names."""
    return {k: v for k, v in frame.items() if k not in interpreter.names.declared}


def _der(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    value = interpreter.value(nodes[0], _indices_only(interpreter, frame))
    return elementwise(lambda a: _derivative(interpreter, a), value)


def _derivative(interpreter: Interpreter, a: Expression) -> Expression:
    if a.op == "neg":
        return ex.neg(_derivative(interpreter, a.operands[0]))
    if a.op == "const":
        return ex.ZERO
    if a.op == "name":
        owner = interpreter.names.owner.get(a.target)
        return ex.ZERO if owner is not None and owner.is_parameter else ex.der(a.target)
    try:
        return time_derivative(a, lambda leaf: _rate(interpreter, leaf))
    except DerivativeError as reason:
        interpreter.refuse(
            f"der() of an expression that has no derivative ({reason})", "rewrite it"
        )


def _rate(interpreter: Interpreter, leaf: Expression) -> Expression:
    if leaf.op == "time":
        return ex.ONE
    return _derivative(interpreter, leaf) if leaf.op == "name" else ex.ZERO


def _pre(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    value = interpreter.value(nodes[0], _indices_only(interpreter, frame))
    return elementwise(lambda a: _previous(interpreter, a), value)


def _previous(interpreter: Interpreter, a: Expression) -> Expression:
    if a.op == "const":
        return a
    if a.op == "name":
        owner = interpreter.names.owner.get(a.target)
        return a if owner is not None and owner.is_parameter else ex.pre(a.target)
    interpreter.refuse("pre() of an expression", "introduce a variable for the expression")


def _node(op: str) -> Callable[[Interpreter, list[Any], Frame], Value]:
    def make(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
        values = [interpreter.value(argument_value(n), frame) for n in nodes]
        return elementwise(lambda *args: ex.node(op, *args), *values)

    return make


def _smooth(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    order, body = (
        interpreter.value(ordered_arguments(nodes, ("p", "expr"))[n], frame) for n in ("p", "expr")
    )
    return elementwise(lambda a: _wrapped("smooth", a, order), body)


def _no_event(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    return elementwise(
        lambda a: _wrapped("noEvent", a), interpreter.value(argument_value(nodes[0]), frame)
    )


def _wrapped(op: str, a: Value, *more: Value) -> Value:
    if isinstance(a, Expression) and a.op in ex.LEAVES:
        return a
    return ex.node(op, a, *more)


def _homotopy(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    actual, simplified = (
        interpreter.value(ordered_arguments(nodes, ("actual", "simplified"))[n], frame)
        for n in ("actual", "simplified")
    )
    return elementwise(lambda a, s: a if a is s else ex.node("homotopy", a, s), actual, simplified)


def _edge(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    def one(a: Expression) -> Expression:
        return ex.ZERO if a.op == "const" else ex.node("edge", a)

    return elementwise(one, interpreter.value(nodes[0], _indices_only(interpreter, frame)))


def _change(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    def one(a: Expression) -> Expression:
        return ex.ZERO if a.op == "const" else ex.node("change", a)

    return elementwise(one, interpreter.value(nodes[0], _indices_only(interpreter, frame)))


def _sample(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    if len(nodes) != 2:
        interpreter.refuse("sample() of a clock", "use sample(start, interval) in a when-clause")
    start, interval = (interpreter.scalar(argument_value(n), frame) for n in nodes)
    return ex.node("sample", start, interval)


def _semi_linear(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    x, above, below = (interpreter.scalar(n, frame) for n in nodes)
    choice = ex.conditional(ex.relation("ge", x, ex.ZERO), ex.mul(above, x), ex.mul(below, x))
    return ex.node("smooth", choice, ex.ZERO)


def _size(interpreter: Interpreter, nodes: list[Any], frame: Frame) -> Value:
    value = interpreter.value(nodes[0], frame)
    shape = value.shape if is_array(value) else ()
    if len(nodes) == 1:
        return make_array([ex.const(n) for n in shape])
    which = int(interpreter.number(interpreter.value(nodes[1], frame), "it selects a dimension"))
    if not 1 <= which <= len(shape):
        raise ValueMismatch(f"size(…, {which}) of a value of {len(shape)} dimensions")
    return ex.const(shape[which - 1])


_LAZY: dict[str, Callable[[Any, list[Any], Any], Value]] = {
    "Der": _der,
    "Pre": _pre,
    "Edge": _edge,
    "Change": _change,
    "Delay": _node("delay"),
    "NoEvent": _no_event,
    "Smooth": _smooth,
    "Homotopy": _homotopy,
    "Sample": _sample,
    "SemiLinear": _semi_linear,
    "Size": _size,
    "Initial": lambda interpreter, nodes, frame: ex.INITIAL,
    "Terminal": lambda interpreter, nodes, frame: ex.TERMINAL,
}


# --- functions of values -------------------------------------------------------------------------


def _extreme(op: str) -> Callable[..., Value]:
    def find(*arguments: Value) -> Value:
        if len(arguments) == 2:
            return elementwise(lambda a, b: ex.call(op, a, b), *arguments)
        items = list(scalars(arguments[0]))
        if not items:
            raise ValueMismatch(f"{op}() of an empty array")
        result = items[0]
        for item in items[1:]:
            assert isinstance(result, Expression)
            assert isinstance(item, Expression)
            result = ex.call(op, result, item)
        return result

    return find


def _expressions(value: Value) -> list[Expression]:
    items = list(scalars(value))
    assert all(isinstance(i, Expression) for i in items)
    return items  # type: ignore[return-value]


def _product(value: Value) -> Value:
    result = ex.ONE
    for item in _expressions(value):
        result = ex.mul(result, item)
    return result


def _diagonal(value: Value) -> Value:
    assert is_array(value)
    result = full((len(value), len(value)), ex.ZERO)
    for i, entry in enumerate(value):
        result[i, i] = entry
    return result


def _cross(a: Value, b: Value) -> Value:
    if not (is_array(a) and is_array(b) and a.shape == b.shape == (3,)):
        raise ValueMismatch("cross() takes two vectors of size 3")
    return make_array(
        [ex.sub(ex.mul(a[i], b[j]), ex.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    )


def _skew(a: Value) -> Value:
    if not (is_array(a) and a.shape == (3,)):
        raise ValueMismatch("skew() takes a vector of size 3")
    x, y, z = a
    rows = [[ex.ZERO, ex.neg(z), y], [z, ex.ZERO, ex.neg(x)], [ex.neg(y), x, ex.ZERO]]
    return make_array([make_array(r) for r in rows])


def _outer(a: Value, b: Value) -> Value:
    assert is_array(a)
    assert is_array(b)
    return make_array([make_array([ex.mul(x, y) for y in b]) for x in a])


def _symmetric(a: Value) -> Value:
    assert is_array(a)
    assert a.ndim == 2
    result = a.copy()
    for i, j in np.ndindex(*a.shape):
        result[i, j] = a[min(i, j), max(i, j)]
    return result


def _scalar(a: Value) -> Value:
    items = list(scalars(a))
    if len(items) != 1:
        raise ValueMismatch(f"scalar() of {len(items)} elements")
    return items[0]


def _transpose(a: Value) -> Value:
    assert is_array(a)
    assert a.ndim >= 2
    return np.swapaxes(a, 0, 1)


_GENERAL: dict[str, Callable[..., Value]] = {
    "Min": _extreme("min"),
    "Max": _extreme("max"),
    "Sum": lambda a: ex.total(_expressions(a)),
    "Product": _product,
    "Diagonal": _diagonal,
    "Cross": _cross,
    "Skew": _skew,
    "OuterProduct": _outer,
    "Symmetric": _symmetric,
    "Scalar": _scalar,
    "Vector": lambda a: make_array(list(scalars(a))),
    "Matrix": as_matrix,
    "Transpose": _transpose,
    "Ndims": lambda a: ex.const(a.ndim if is_array(a) else 0),
}


# --- functions whose arguments set sizes ---------------------------------------------------------


def _sizes(interpreter: Interpreter, arguments: tuple[Value, ...]) -> tuple[int, ...]:
    return sizes_of(*(interpreter.number(a, "it sets the size of an array") for a in arguments))


def _identity(interpreter: Interpreter, n: Value) -> Value:
    (size,) = _sizes(interpreter, (n,))
    return _diagonal(full((size,), ex.ONE))


def _linspace(interpreter: Interpreter, first: Value, last: Value, n: Value) -> Value:
    (count,) = _sizes(interpreter, (n,))
    assert isinstance(first, Expression)
    assert isinstance(last, Expression)
    step = ex.sub(last, first)
    return make_array(
        [ex.add(first, ex.mul(step, ex.const(k / (count - 1)))) for k in range(count)]
    )


def _cat(interpreter: Interpreter, axis: Value, *arrays: Value) -> Value:
    (which,) = _sizes(interpreter, (axis,))
    parts = [a if is_array(a) else full((1,), a) for a in arrays]
    return np.concatenate(
        [p for p in parts if p.size or len(parts) == 1] or parts[:1], axis=which - 1
    )


_SIZED: dict[str, Callable[..., Value]] = {
    "Zeros": lambda interpreter, *n: full(_sizes(interpreter, n), ex.ZERO),
    "Ones": lambda interpreter, *n: full(_sizes(interpreter, n), ex.ONE),
    "Fill": lambda interpreter, v, *n: _filled(_sizes(interpreter, n), v),
    "Identity": _identity,
    "Linspace": _linspace,
    "Cat": _cat,
}


def _filled(shape: tuple[int, ...], value: Value) -> Value:
    if is_array(value):
        return np.broadcast_to(value, shape + value.shape)
    return full(shape, value)
