"""Twins of functions of the C library: expressions with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Value, ValueMismatch
from estimica.source.external.host import Host, Twin, scalar

#: functions whose meaning is that of a built-in operation
_SAME = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "log": "log", "log10": "log10",
    "sqrt": "sqrt", "fabs": "abs", "abs": "abs", "floor": "floor", "ceil": "ceil",
    "atan2": "atan2", "pow": "pow", "fmin": "min", "fmax": "max", "fmod": "rem",
}  # fmt: skip
_BINARY = {"atan2", "pow", "min", "max", "rem"}
_HALF, _TWO, _THIRD = ex.const(0.5), ex.const(2.0), ex.const(1.0 / 3.0)


def _same(op: str) -> Twin:
    count = 2 if op in _BINARY else 1
    return _of(count, lambda *arguments: ex.build(op, *arguments))


def _of(count: int, formula: Callable[..., Expression]) -> Twin:
    def twin(host: Host, a: Sequence[Value]) -> Value:
        if len(a) != count:
            raise ValueMismatch(f"a function of C takes {count} arguments and is given {len(a)}")
        return formula(*(scalar(x) for x in a))

    return twin


def _silently(op: str, a: Expression, b: Expression) -> Expression:
    """A relation that makes no event: C functions make none."""
    condition = ex.relation(op, a, b)
    return condition if ex.is_const(condition) else ex.node("noEvent", condition)


def _truncated(x: Expression) -> Expression:
    up = _silently("lt", x, ex.ZERO)
    return ex.conditional(up, ex.call("ceil", x), ex.call("floor", x))


def _rounded(x: Expression) -> Expression:
    """To the nearest whole number, halves away from 0."""
    up = _silently("lt", x, ex.ZERO)
    return ex.conditional(up, ex.call("ceil", ex.sub(x, _HALF)), ex.call("floor", ex.add(x, _HALF)))


def _cube_root(x: Expression) -> Expression:
    root = ex.power(ex.call("abs", x), _THIRD)
    return ex.conditional(_silently("lt", x, ex.ZERO), ex.neg(root), root)


def _with_sign(x: Expression, sign: Expression) -> Expression:
    size = ex.call("abs", x)
    return ex.conditional(_silently("lt", sign, ex.ZERO), ex.neg(size), size)


def _hypotenuse(x: Expression, y: Expression) -> Expression:
    return ex.call("sqrt", ex.add(ex.mul(x, x), ex.mul(y, y)))


ELEMENTARY_TWINS: dict[str, Twin] = {
    **{name: _same(op) for name, op in _SAME.items()},
    "trunc": _of(1, _truncated),
    "round": _of(1, _rounded),
    "cbrt": _of(1, _cube_root),
    "copysign": _of(2, _with_sign),
    "hypot": _of(2, _hypotenuse),
    "exp2": _of(1, lambda x: ex.power(_TWO, x)),
    "log2": _of(1, lambda x: ex.div(ex.call("log", x), ex.call("log", _TWO))),
    "expm1": _of(1, lambda x: ex.sub(ex.call("exp", x), ex.ONE)),
    "log1p": _of(1, lambda x: ex.call("log", ex.add(ex.ONE, x))),
    "fdim": _of(2, lambda x, y: ex.call("max", ex.sub(x, y), ex.ZERO)),
    "fma": _of(3, lambda x, y, z: ex.add(ex.mul(x, y), z)),
}
