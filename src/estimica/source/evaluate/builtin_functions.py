"""The built-in functions and operators of the language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, time_derivative
from estimica.flat.expression import Expression
from estimica.source.evaluate import array_functions as arrays
from estimica.source.evaluate import reductions
from estimica.source.evaluate.names import Scope
from estimica.source.evaluate.operators import kind_text
from estimica.source.evaluate.texts import as_text, formatted
from estimica.source.evaluate.values import (
    Frame,
    Record,
    Value,
    ValueMismatch,
    elementwise,
    first_of,
    is_array,
    make_array,
    over_arrays,
    sizes_of,
)
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

Lazy = Callable[["Evaluator", tree.Call, Scope, Frame], Value]

_SCALAR = {
    **{name: (name, 1) for name in ex.ELEMENTARY},
    **{name: (name, 1) for name in ("sign", "floor", "ceil", "integer")},
    "atan2": ("atan2", 2), "div": ("idiv", 2), "mod": ("mod", 2), "rem": ("rem", 2),
}  # fmt: skip


def is_builtin(name: str) -> bool:
    """Whether the language itself has a function or operator of this name."""
    return any(name in table for table in (_LAZY, _SCALAR, _SIZED, _TOTALS, arrays.PLAIN))


def call_builtin(
    evaluator: Evaluator, name: str, call: tree.Call, scope: Scope, frame: Frame
) -> Value:
    """The value of a call of the built-in `name`."""
    if call.iterators:
        return reductions.reduced(evaluator, name, call, scope, frame)
    lazy = _LAZY.get(name)
    if lazy is not None:
        return lazy(evaluator, call, scope, frame)
    if call.named:
        raise ValueMismatch(f"{name}() has no argument '{call.named[0][0]}'")
    return builtin_of_values(
        evaluator, name, [evaluator.one(a, scope, frame) for a in call.arguments]
    )


def builtin_of_values(evaluator: Evaluator, name: str, arguments: Sequence[Value]) -> Value:
    """The value of a built-in function that looks at nothing but the values of its arguments."""
    arguments = [first_of(a) for a in arguments]
    if name in _SCALAR:
        op, count = _SCALAR[name]
        _require(name, arguments, count)
        return over_arrays(lambda *a: ex.call(op, *_numbers(name, a)), *arguments)
    if name in arrays.PLAIN:
        count, function = arrays.PLAIN[name]
        _require(name, arguments, count)
        return function(*arguments)
    if name in _TOTALS:
        return _TOTALS[name](evaluator, *arguments)
    if name in _SIZED:
        return _SIZED[name](evaluator, *arguments)
    evaluator.refuse(f"the built-in '{name}'", "write it with other means")


def _require(name: str, arguments: Sequence[Value], count: int) -> None:
    if len(arguments) != count:
        raise ValueMismatch(f"{name}() takes {count} arguments, not {len(arguments)}")


def _numbers(name: str, values: Sequence[Value]) -> list[Expression]:
    for value in values:
        if not isinstance(value, Expression):
            raise ValueMismatch(f"{name}() of {kind_text(value)}")
    return values  # type: ignore[return-value]


def _ordered(call: tree.Call, *names: str, least: int | None = None) -> list[tree.Expression]:
    """The argument nodes of an operator by its argument names."""
    given = dict(zip(names, call.arguments, strict=False))
    for name, node in call.named:
        if name not in names or name in given:
            raise ValueMismatch(f"{call.function.text}() has no (other) argument '{name}'")
        given[name] = node
    needed = names[: len(names) if least is None else least]
    if len(call.arguments) > len(names) or any(n not in given for n in needed):
        raise ValueMismatch(f"{call.function.text}() takes the arguments {', '.join(names)}")
    return [given[n] for n in names if n in given]


# --- operators that look at their argument's name, not its value ---------------------------------


def _of_variables(
    one: Callable[[Evaluator, Expression], Expression],
) -> Lazy:
    def make(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
        (node,) = _ordered(call, "x")
        value = evaluator.one(node, scope, evaluator.without_variables(frame))
        name = call.function.text
        return elementwise(lambda a: one(evaluator, *_numbers(name, [a])), value)

    return make


def _derivative(evaluator: Evaluator, a: Expression) -> Expression:
    if a.op == "neg":
        return ex.neg(_derivative(evaluator, a.operands[0]))
    if a.op == "const":
        return ex.ZERO
    if a.op == "name":
        variable = evaluator.names.variable(a.target)
        return ex.ZERO if variable is not None and variable.is_parameter else ex.der(a.target)
    try:
        return time_derivative(a, lambda leaf: _rate(evaluator, leaf))
    except DerivativeError as reason:
        evaluator.refuse(f"der() of an expression that has no derivative ({reason})", "rewrite it")


def _rate(evaluator: Evaluator, leaf: Expression) -> Expression:
    if leaf.op == "time":
        return ex.ONE
    return _derivative(evaluator, leaf) if leaf.op == "name" else ex.ZERO


def _previous(evaluator: Evaluator, a: Expression) -> Expression:
    if a.op == "const":
        return a
    if a.op == "name":
        variable = evaluator.names.variable(a.target)
        return a if variable is not None and variable.is_parameter else ex.pre(a.target)
    evaluator.refuse("pre() of an expression", "introduce a variable for the expression")


def _edge(evaluator: Evaluator, a: Expression) -> Expression:
    return ex.ZERO if a.op == "const" else ex.node("edge", a)


def _change(evaluator: Evaluator, a: Expression) -> Expression:
    return ex.ZERO if a.op == "const" else ex.node("change", a)


# --- operators on values -------------------------------------------------------------------------


def _delay(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    nodes = _ordered(call, "expr", "delayTime", "delayMax", least=2)
    values = [evaluator.one(n, scope, frame) for n in nodes]
    return elementwise(lambda *args: _delayed(evaluator, *_numbers("delay", args)), *values)


def _delayed(evaluator: Evaluator, signal: Expression, *times: Expression) -> Expression:
    """A delay; a parameter that makes it none is built in, since no history can be so short."""
    parameters = evaluator.parameters
    if parameters.peek(times[0]) == 0.0:
        parameters.number(times[0], evaluator.why("is a delay of zero"))
        return signal
    return ex.node("delay", signal, *times)


def _smooth(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    order, body = (evaluator.one(n, scope, frame) for n in _ordered(call, "p", "expr"))
    return elementwise(lambda a: _wrapped("smooth", a, order), body)


def _no_event(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    (node,) = _ordered(call, "expr")
    return elementwise(lambda a: _wrapped("noEvent", a), evaluator.one(node, scope, frame))


def _wrapped(op: str, a: Value, *more: Value) -> Value:
    if isinstance(a, str) or (isinstance(a, Expression) and a.op in ex.LEAVES):
        return a
    return ex.node(op, *_numbers(op, [a, *more]))


def _homotopy(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    actual, simplified = (
        evaluator.one(n, scope, frame) for n in _ordered(call, "actual", "simplified")
    )
    return elementwise(
        lambda a, s: a if a is s else ex.node("homotopy", *_numbers("homotopy", (a, s))),
        actual,
        simplified,
    )


def _sample(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    if len(call.arguments) + len(call.named) != 2:
        evaluator.refuse("sample() of a clock", "use sample(start, interval) in a when-clause")
    start, interval = (
        evaluator.scalar(n, scope, frame) for n in _ordered(call, "start", "interval")
    )
    if interval.op == "const" and not interval.value > 0.0:
        raise ValueMismatch(f"sample() with the interval {interval.value:g}; it must be positive")
    return ex.node("sample", start, interval)


def _semi_linear(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    def one(x: Expression, above: Expression, below: Expression) -> Expression:
        choice = ex.conditional(ex.relation("ge", x, ex.ZERO), ex.mul(above, x), ex.mul(below, x))
        return ex.node("smooth", choice, ex.ZERO)

    nodes = _ordered(call, "x", "positiveSlope", "negativeSlope")
    return elementwise(one, *(evaluator.one(n, scope, frame) for n in nodes))


def _size(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    nodes = _ordered(call, "A", "i", least=1)
    value = evaluator.one(nodes[0], scope, frame)
    shape = value.shape if is_array(value) else ()
    if len(nodes) == 1:
        return make_array([ex.const(n) for n in shape])
    which = evaluator.number(evaluator.one(nodes[1], scope, frame), "it selects a dimension")
    if not 1 <= which <= len(shape):
        raise ValueMismatch(f"size(…, {which:g}) of a value of {len(shape)} dimensions")
    return ex.const(shape[int(which) - 1])


def _string(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    if not call.arguments:
        raise ValueMismatch("String() without an argument")
    node, *more = call.arguments
    value = evaluator.one(node, scope, frame)
    options = {n: evaluator.one(a, scope, frame) for n, a in call.named}
    if isinstance(value, Record):
        function = evaluator.names.operator("'String'", [value])
        if function is None:
            raise ValueMismatch("String() of a record that has no such operator")
        return evaluator.call(
            function, [value, *(evaluator.one(a, scope, frame) for a in more)], options
        )
    positional = ("minimumLength", "leftJustified")
    options |= {n: evaluator.one(a, scope, frame) for n, a in zip(positional, more, strict=False)}
    if not isinstance(value, Expression):
        return as_text(value)
    return formatted(value, evaluator.type_of(node, value, scope, frame), options)


def _integer(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    """Integer(e): the ordinal of an enumeration value, which is how it is held anyway."""
    (node,) = _ordered(call, "e")
    return evaluator.one(node, scope, frame)


def _refused(what: str, remedy: str) -> Lazy:
    def refuse(evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame) -> Value:
        evaluator.refuse(what, remedy)

    return refuse


_LAZY: dict[str, Lazy] = {
    "der": _of_variables(_derivative),
    "pre": _of_variables(_previous),
    "edge": _of_variables(_edge),
    "change": _of_variables(_change),
    "delay": _delay,
    "noEvent": _no_event,
    "smooth": _smooth,
    "homotopy": _homotopy,
    "sample": _sample,
    "semiLinear": _semi_linear,
    "size": _size,
    "String": _string,
    "Integer": _integer,
    "initial": lambda evaluator, call, scope, frame: ex.INITIAL,
    "terminal": lambda evaluator, call, scope, frame: ex.TERMINAL,
    "spatialDistribution": _refused(
        "spatialDistribution()", "use delay(), or divide the pipe into volumes"
    ),
}
#: operators of the language that no class can declare anew
OPERATORS = frozenset(_LAZY) - {"sample", "delay", "semiLinear", "spatialDistribution"}


# --- functions whose arguments set sizes ---------------------------------------------------------


def _sizes(evaluator: Evaluator, arguments: Sequence[Value]) -> tuple[int, ...]:
    return sizes_of(*(evaluator.number(a, "it sets the size of an array") for a in arguments))


def _linspace(evaluator: Evaluator, first: Value, last: Value, n: Value) -> Value:
    return arrays.linspace(first, last, *_sizes(evaluator, [n]))


def _cat(evaluator: Evaluator, axis: Value, *parts: Value) -> Value:
    (which,) = _sizes(evaluator, [axis])
    if which < 1 or not parts:
        raise ValueMismatch("cat() takes a dimension, counted from 1, and arrays")
    return arrays.concatenated(which - 1, parts)


def _identity(evaluator: Evaluator, n: Value) -> Value:
    return arrays.diagonal(arrays.filled(_sizes(evaluator, [n]), ex.ONE))


_SIZED: dict[str, Callable[..., Value]] = {
    "zeros": lambda evaluator, *n: arrays.filled(_sizes(evaluator, n), ex.ZERO),
    "ones": lambda evaluator, *n: arrays.filled(_sizes(evaluator, n), ex.ONE),
    "fill": lambda evaluator, v, *n: arrays.filled(_sizes(evaluator, n), v),
    "identity": _identity,
    "linspace": _linspace,
    "cat": _cat,
    "promote": lambda evaluator, a, n: arrays.promote(a, *_sizes(evaluator, [n])),
}
_TOTALS: dict[str, Callable[..., Value]] = {
    "min": lambda evaluator, *a: arrays.extreme("min", *a),
    "max": lambda evaluator, *a: arrays.extreme("max", *a),
    "sum": lambda evaluator, a: arrays.total(a, evaluator.overload),
    "product": lambda evaluator, a: arrays.product(a, evaluator.overload),
    "outerProduct": lambda evaluator, a, b: arrays.outer_product(a, b, evaluator.overload),
    "array": lambda evaluator, *a: make_array(a),
}
