"""Symbolic derivatives of expressions: by a leaf, or in total by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from estimica.flat import expression as ex
from estimica.flat.derived_function import FunctionJacobian, directional, jacobian_of
from estimica.flat.expression import Expression
from estimica.flat.function import FlatFunction, called, invoke

#: a function of more inputs is differentiated in one direction at a time: the table of all its
#: derivatives, of which several directions can be had at once, would be large and mostly unused
MOST_COLUMNS = 12
#: operations whose value does not change between events, or changes by jumps only
_FLAT = (
    ex.RELATIONS
    | frozenset({"and", "or", "not", "sign", "floor", "ceil", "integer", "idiv"})
    | frozenset({"sample", "edge", "change", "table_slope"})
)
_TWO = ex.const(2.0)
_LN10 = ex.const(2.302585092994046)


class DerivativeError(ValueError):
    """An expression that has no derivative in closed form; the message says which and why."""


def time_derivative(
    e: Expression,
    rate: Callable[[Expression], Expression],
    memo: dict[Expression, Expression] | None = None,
) -> Expression:
    """d e / d t; `rate(leaf)` gives the time derivative of every leaf that is not a number."""
    return tangent([e], lambda leaf: ex.ONE if leaf.op == "time" else rate(leaf), memo)[0]


def partial(e: Expression, leaf: Expression) -> Expression:
    """∂ e / ∂ leaf, all other leaves held."""
    return tangent([e], lambda other: ex.ONE if other is leaf else ex.ZERO)[0]


def tangent(
    roots: Iterable[Expression],
    seed: Callable[[Expression], Expression],
    memo: dict[Expression, Expression] | None = None,
) -> list[Expression]:
    """The directional derivatives of `roots`, `seed(leaf)` being the direction of every leaf.

    Pass the same `memo` for several calls with the same `seed` to share the work.
    """
    memo = {} if memo is None else memo
    roots = list(roots)
    for e in ex.walk(*(r for r in roots if r not in memo)):
        if e in memo:
            continue
        if e.op == "const":
            memo[e] = ex.ZERO
        elif e.op in ex.LEAVES:
            memo[e] = seed(e)
        else:
            memo[e] = _chain(e, [memo[a] for a in e.operands])
    return [memo[r] for r in roots]


def _chain(e: Expression, d: list[Expression]) -> Expression:
    """The derivative of the node `e`, given the derivatives `d` of its operands."""
    if e.op in _FLAT or all(ex.is_const(x, 0.0) for x in d):
        return ex.ZERO
    if e.op == "element" and all(ex.is_const(x, 0.0) for x in d[1:]):
        return ex.ZERO
    rule = _RULES.get(e.op)
    if rule is None:
        raise DerivativeError(f"the derivative of {e.op}(...) is not known")
    return rule(e, e.operands, d)


Operands = tuple[Expression, ...]
Rule = Callable[[Expression, Operands, list[Expression]], Expression]


def _sin(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(ex.call("cos", a[0]), d[0])


def _cos(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.neg(ex.mul(ex.call("sin", a[0]), d[0]))


def _tan(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(ex.add(ex.ONE, ex.mul(e, e)), d[0])


def _asin(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.div(d[0], ex.call("sqrt", ex.sub(ex.ONE, ex.mul(a[0], a[0]))))


def _acos(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.neg(_asin(e, a, d))


def _atan(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.div(d[0], ex.add(ex.ONE, ex.mul(a[0], a[0])))


def _sinh(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(ex.call("cosh", a[0]), d[0])


def _cosh(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(ex.call("sinh", a[0]), d[0])


def _tanh(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(ex.sub(ex.ONE, ex.mul(e, e)), d[0])


def _exp(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.mul(e, d[0])


def _log(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.div(d[0], a[0])


def _log10(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.div(d[0], ex.mul(_LN10, a[0]))


def _sqrt(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.div(d[0], ex.mul(_TWO, e))


def _abs(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.conditional(_silent("ge", a[0], ex.ZERO), d[0], ex.neg(d[0]))


def _min(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.conditional(_silent("lt", a[0], a[1]), d[0], d[1])


def _max(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.conditional(_silent("gt", a[0], a[1]), d[0], d[1])


def _silent(op: str, a: Expression, b: Expression) -> Expression:
    """A relation that makes no event: the functions it stands for make none either."""
    condition = ex.relation(op, a, b)
    return condition if ex.is_const(condition) else ex.node("noEvent", condition)


def _mul(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.add(ex.mul(d[0], a[1]), ex.mul(a[0], d[1]))


def _div(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    if ex.is_const(d[1], 0.0):
        return ex.div(d[0], a[1])
    return ex.div(ex.sub(d[0], ex.mul(e, d[1])), a[1])


def _pow(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    base, exponent = a
    by_base = ex.mul(ex.mul(exponent, ex.power(base, ex.sub(exponent, ex.ONE))), d[0])
    if ex.is_const(d[1], 0.0):
        return by_base
    by_exponent = ex.mul(ex.mul(e, ex.call("log", base)), d[1])
    return by_exponent if ex.is_const(d[0], 0.0) else ex.add(by_base, by_exponent)


def _mod(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    whole = ex.node("noEvent", ex.call("floor", ex.div(a[0], a[1])))
    return ex.sub(d[0], ex.mul(whole, d[1]))


def _rem(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    whole = ex.node("noEvent", ex.call("idiv", a[0], a[1]))
    return ex.sub(d[0], ex.mul(whole, d[1]))


def _atan2(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    top = ex.sub(ex.mul(a[1], d[0]), ex.mul(a[0], d[1]))
    return ex.div(top, ex.add(ex.mul(a[0], a[0]), ex.mul(a[1], a[1])))


def _smooth(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    order = a[1]
    if order.op == "const" and order.value >= 1:
        return ex.node("smooth", d[0], ex.const(order.value - 1))
    return ex.node("noEvent", d[0])


def _table(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    """slope·(u' - x'(u)) + y'(u): moving a node sideways lowers the line by slope times its hat."""
    abscissae = a[1::2]
    sideways = _interpolated(a[0], abscissae, d[1::2])
    upwards = _interpolated(a[0], abscissae, d[2::2])
    along = ex.sub(d[0], sideways)
    if ex.is_const(along, 0.0):
        return upwards
    return ex.add(ex.mul(ex.node("table_slope", *a), along), upwards)


def _interpolated(u: Expression, x: Operands, y: list[Expression]) -> Expression:
    if all(ex.is_const(v, 0.0) for v in y):
        return ex.ZERO
    return ex.node("table", u, *(v for pair in zip(x, y, strict=True) for v in pair))


def _if(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.conditional(a[0], d[1], d[2])


def function_jacobian(function: FlatFunction, columns: tuple[int, ...]) -> FunctionJacobian | None:
    """The derivatives by the inputs numbered `columns`; None where these are too many."""
    return jacobian_of(function, columns, tangent) if len(columns) <= MOST_COLUMNS else None


def function_change(function: FlatFunction) -> FlatFunction:
    """The changes of outputs as a function of inputs and then of their changes."""
    return directional(function, tangent)


def _call(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    function, output = called(e)
    columns = tuple(k for k, x in enumerate(a) if x.op != "const")
    table = function_jacobian(function, columns)
    if table is None:
        return invoke(function_change(function), (*a, *d))[output]
    outputs = invoke(table.function, a)
    moving = [j for j in columns if (output, j) in table.place and not ex.is_const(d[j], 0.0)]
    return ex.total(ex.mul(outputs[table.place[output, j]], d[j]) for j in moving)


def _element(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    return ex.node("element", a[0], *d[1:])


def _delay(e: Expression, a: Operands, d: list[Expression]) -> Expression:
    raise DerivativeError("a delayed signal has no derivative in closed form")


_RULES: dict[str, Rule] = {
    "add": lambda e, a, d: ex.add(d[0], d[1]),
    "sub": lambda e, a, d: ex.sub(d[0], d[1]),
    "neg": lambda e, a, d: ex.neg(d[0]),
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "exp": _exp,
    "log": _log,
    "log10": _log10,
    "sqrt": _sqrt,
    "abs": _abs,
    "min": _min,
    "max": _max,
    "mod": _mod,
    "rem": _rem,
    "atan2": _atan2,
    "if": _if,
    "noEvent": lambda e, a, d: ex.node("noEvent", d[0]),
    "smooth": _smooth,
    "homotopy": lambda e, a, d: d[0],
    "table": _table,
    "call": _call,
    "element": _element,
    "delay": _delay,
}
