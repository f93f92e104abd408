"""Residuals as the model states them, with the size of what they are made of.

Inside the engine roots and powers are continued a little beyond their domain, and an infinite value
may cancel (u/(k/sqrt(m)) is 0 at m = 0). A solution must not rest on that: here roots are roots
again, nothing infinite may stand anywhere on the way, and a residual is small when it is small
beside its own terms. Sizes follow from |change| to first order when every number changes by its own
amount, so that |E| <= 1e-9·size means: numbers that differ by 1e-9 of themselves satisfy the
equation exactly (a backward error; Higham, Accuracy and Stability of Numerical Algorithms, 1.5).
Beside a pole any value could be had that way; so no operation counts for more than 1000 times what
it works on or gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import casadi as ca

from estimica.compiled.llvm.domain import FLOOR, POWER_FLOOR

_LARGEST = 1.7976931348623157e308
#: how much larger than operand and result the change of a result may be: with 1e-9 of it a residual
#: is below 1e-6 of its terms, which beside a pole, where it is as large as they are, it is not
_MOST = 1e3
_FLOORS = (FLOOR, POWER_FLOOR)
_UNARY: dict[int, Callable[[ca.SX], ca.SX]] = {
    ca.OP_SIN: ca.sin, ca.OP_COS: ca.cos, ca.OP_TAN: ca.tan, ca.OP_ASIN: ca.asin,
    ca.OP_ACOS: ca.acos, ca.OP_ATAN: ca.atan, ca.OP_SINH: ca.sinh, ca.OP_COSH: ca.cosh,
    ca.OP_TANH: ca.tanh, ca.OP_ASINH: ca.asinh, ca.OP_ACOSH: ca.acosh, ca.OP_ATANH: ca.atanh,
    ca.OP_EXP: ca.exp, ca.OP_LOG: ca.log, ca.OP_LOG1P: ca.log1p, ca.OP_EXPM1: ca.expm1,
    ca.OP_ERF: ca.erf, ca.OP_ERFINV: ca.erfinv, ca.OP_SQRT: ca.sqrt, ca.OP_SQ: lambda a: a * a,
    ca.OP_INV: lambda a: 1 / a,
}  # fmt: skip
_STEPS: dict[int, Callable[[ca.SX], ca.SX]] = {  # their slope is not a measure of their size
    ca.OP_NEG: lambda a: -a, ca.OP_FABS: ca.fabs, ca.OP_TWICE: lambda a: a + a,
    ca.OP_FLOOR: ca.floor, ca.OP_CEIL: ca.ceil, ca.OP_SIGN: ca.sign, ca.OP_NOT: ca.logic_not,
    ca.OP_ASSIGN: lambda a: a, ca.OP_LIFT: lambda a: a,
}  # fmt: skip
_BINARY: dict[int, Callable[[ca.SX, ca.SX], ca.SX]] = {
    ca.OP_ADD: lambda a, b: a + b, ca.OP_SUB: lambda a, b: a - b, ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b, ca.OP_POW: lambda a, b: a**b, ca.OP_CONSTPOW: lambda a, b: a**b,
    ca.OP_ATAN2: ca.atan2, ca.OP_FMOD: ca.fmod, ca.OP_HYPOT: ca.hypot,
    ca.OP_REMAINDER: ca.remainder, ca.OP_FMIN: ca.fmin, ca.OP_FMAX: ca.fmax,
    ca.OP_COPYSIGN: ca.copysign, ca.OP_LT: lambda a, b: a < b, ca.OP_LE: lambda a, b: a <= b,
    ca.OP_EQ: lambda a, b: a == b, ca.OP_NE: lambda a, b: a != b, ca.OP_AND: ca.logic_and,
    ca.OP_OR: ca.logic_or, ca.OP_IF_ELSE_ZERO: lambda a, b: ca.if_else(a, b, 0),
}  # fmt: skip
_SUMS = (ca.OP_ADD, ca.OP_SUB)
_CHOICES = (ca.OP_FMIN, ca.OP_FMAX)
_FIRST = (ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_COPYSIGN)  # change as the first operand does
_POWERS = (ca.OP_POW, ca.OP_CONSTPOW)
#: operations that may make something infinite, or a NaN, of finite numbers
_PERILOUS = frozenset((
    ca.OP_DIV, ca.OP_INV, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_EXP, ca.OP_EXPM1, ca.OP_LOG, ca.OP_LOG1P,
    ca.OP_SQRT, ca.OP_SINH, ca.OP_COSH, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ACOSH, ca.OP_ATANH,
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Number:
    """An intermediate result: its value, its size, and where all before it is finite (or True)."""

    value: ca.SX
    size: ca.SX
    finite: ca.SX | bool = True


def residual_with_scale(R: ca.SX, arguments: Sequence[ca.SX]) -> tuple[ca.SX, ca.SX]:
    """(E, size) of residuals R of the arguments; a size is -1 where something is not finite."""
    function = ca.Function("R", list(arguments), [ca.densify(R)], {"cse": True})
    symbols = [ca.SX(a) for a in arguments]
    work: dict[int, _Number] = {}
    E, sizes = ca.SX(R.shape[0], 1), ca.SX(R.shape[0], 1)
    for k in range(function.n_instructions()):
        op, out = function.instruction_id(k), function.instruction_output(k)
        places = function.instruction_input(k)
        if op == ca.OP_OUTPUT:
            found = work[places[0]]
            E[out[1]] = found.value
            whole = found.finite is True
            sizes[out[1]] = found.size if whole else ca.if_else(found.finite, found.size, -1.0)
        elif op == ca.OP_INPUT:
            leaf = symbols[places[0]].nz[places[1]]
            work[out[0]] = _Number(leaf, ca.fabs(leaf))
        elif op == ca.OP_CONST:
            number = function.instruction_constant(k)
            work[out[0]] = _Number(ca.SX(number), ca.SX(abs(number)))
        elif op == ca.OP_CALL:
            callee = function.instructions_sx()[k].which_function()
            results = _called(callee, [work[p] for p in places])
            work.update(dict(zip(out, results, strict=True)))
        else:
            work[out[0]] = _result(op, [work[p] for p in places])
    return ca.densify(E), ca.densify(sizes)


def _result(op: int, operands: list[_Number]) -> _Number:
    if op == ca.OP_FMAX:
        for floor, other in (operands, operands[::-1]):
            if floor.value.is_constant() and float(floor.value) in _FLOORS:
                return other
    if op in _UNARY or op in _STEPS:
        (a,) = operands
        value = (_UNARY if op in _UNARY else _STEPS)[op](a.value)
        size = ca.fabs(value) + _change(op, a, value) if op in _UNARY else a.size
        return _Number(value, size, _finite(op, value, a.finite))
    a, b = operands
    value = _BINARY[op](a.value, b.value)
    if op == ca.OP_IF_ELSE_ZERO:  # what is not chosen does not count
        chosen = b.finite is True or ca.logic_or(ca.logic_not(a.value), b.finite)
        return _Number(value, ca.if_else(a.value, b.size, 0), _both(a.finite, chosen))
    return _Number(value, _size(op, a, b, value), _finite(op, value, _both(a.finite, b.finite)))


def _called(function: ca.Function, operands: list[_Number]) -> list[_Number]:
    """The outputs of a call of scalars: |f'|·size for each argument, as for any operation."""
    arguments = [a.value for a in operands]
    values = function.call(arguments)
    changes = [ca.SX(0)] * len(values)
    slopes = function.forward(1)
    for j, a in enumerate(operands):
        unit = [ca.SX(float(k == j)) for k in range(len(operands))]
        for k, slope in enumerate(slopes.call([*arguments, *values, *unit])):
            changes[k] = changes[k] + ca.fabs(slope) * a.size
    before: ca.SX | bool = True
    for a in operands:
        before = _both(before, a.finite)
    largest = ca.SX(0)
    for a in operands:
        largest = ca.fmax(largest, a.size)
    return [
        _Number(
            v,
            ca.fabs(v) + ca.fmin(change, _MOST * ca.fmax(ca.fabs(v), largest)),
            _both(before, ca.fabs(v) <= _LARGEST),
        )
        for v, change in zip(values, changes, strict=True)
    ]


def _size(op: int, a: _Number, b: _Number, value: ca.SX) -> ca.SX:
    if op in _SUMS:
        return a.size + b.size
    if op == ca.OP_MUL:
        return a.size * ca.fabs(b.value) + ca.fabs(a.value) * b.size
    if op == ca.OP_DIV:
        below = ca.fabs(b.value)
        return a.size / below + ca.fabs(value) * ca.fmin(b.size / below, _MOST)
    if op in _CHOICES:
        return ca.if_else(value == a.value, a.size, b.size)
    if op == ca.OP_HYPOT:
        return a.size + b.size
    if op in _FIRST:
        return a.size
    if op == ca.OP_ATAN2:
        square = a.value**2 + b.value**2
        change = (a.size * ca.fabs(b.value) + ca.fabs(a.value) * b.size) / square
        return ca.fabs(value) + ca.fmin(change, _MOST)
    if op in _POWERS:
        change = ca.fabs(b.value * value) * a.size / ca.fabs(a.value)
        return ca.fabs(value) + ca.fmin(change, a.size**b.value)
    return ca.fabs(value)


def _finite(op: int, value: ca.SX, before: ca.SX | bool) -> ca.SX | bool:
    """A NaN is not smaller than anything."""
    if op not in _PERILOUS or value.is_constant():
        return before
    return _both(before, ca.fabs(value) <= _LARGEST)


def _both(a: ca.SX | bool, b: ca.SX | bool) -> ca.SX | bool:
    if a is True:
        return b
    return a if b is True else ca.logic_and(a, b)


def _change(op: int, a: _Number, value: ca.SX) -> ca.SX:
    """|f'(a)|·size; a root has no finite slope at zero, but is never above the root of the size."""
    if op == ca.OP_SQRT:
        return ca.fmin(a.size / (2 * ca.fabs(value)), ca.sqrt(a.size))
    change: ca.SX = _slope_function(op)(a.value) * a.size
    return ca.fmin(change, _MOST * ca.fmax(ca.fabs(value), a.size))


@cache
def _slope_function(op: int) -> ca.Function:
    a = ca.SX.sym("a")
    return ca.Function("slope", [a], [ca.fabs(ca.jacobian(_UNARY[op](a), a))])
