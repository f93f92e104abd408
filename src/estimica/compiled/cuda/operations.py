"""CasADi's operations as expressions of C."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

_INFIX = {ca.OP_ADD: "+", ca.OP_SUB: "-", ca.OP_MUL: "*", ca.OP_DIV: "/"}
_RELATION = {ca.OP_LT: "<", ca.OP_LE: "<=", ca.OP_EQ: "==", ca.OP_NE: "!="}
_CALL = {
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh", ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh", ca.OP_EXP: "exp",
    ca.OP_LOG: "log", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_ERF: "erf",
    ca.OP_ERFINV: "erfinv", ca.OP_SQRT: "sqrt", ca.OP_FABS: "fabs", ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil", ca.OP_POW: "pow", ca.OP_CONSTPOW: "pow", ca.OP_ATAN2: "atan2",
    ca.OP_FMOD: "fmod", ca.OP_HYPOT: "hypot", ca.OP_REMAINDER: "remainder", ca.OP_FMIN: "fmin",
    ca.OP_FMAX: "fmax", ca.OP_COPYSIGN: "copysign",
}  # fmt: skip
_PATTERN = {
    ca.OP_ASSIGN: "{0}",
    ca.OP_LIFT: "{0}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "2.0 * {0}",
    ca.OP_INV: "1.0 / {0}",
    ca.OP_NOT: "({0} == 0.0 ? 1.0 : 0.0)",
    ca.OP_AND: "({0} != 0.0 && {1} != 0.0 ? 1.0 : 0.0)",
    ca.OP_OR: "({0} != 0.0 || {1} != 0.0 ? 1.0 : 0.0)",
    ca.OP_IF_ELSE_ZERO: "({0} != 0.0 ? {1} : 0.0)",
    # a number that is not one keeps being none
    ca.OP_SIGN: "({0} < 0.0 ? -1.0 : ({0} > 0.0 ? 1.0 : {0}))",
}


def operation(op: int, operands: Sequence[str]) -> str:
    """One operation on names and literals."""
    if op in _INFIX:
        return f"{operands[0]} {_INFIX[op]} {operands[1]}"
    if op in _CALL:
        return f"{_CALL[op]}({', '.join(operands)})"
    if op in _RELATION:
        return f"({operands[0]} {_RELATION[op]} {operands[1]} ? 1.0 : 0.0)"
    if op in _PATTERN:
        return _PATTERN[op].format(*operands)
    raise NotImplementedError(f"CasADi operation {op} has no text in C")


def literal(value: float) -> str:
    """A number that reads back to the last bit; negative ones in brackets."""
    if math.isnan(value):
        return "NOT_A_NUMBER"
    if math.isinf(value):
        return "INFINITE" if value > 0 else "(-INFINITE)"
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text
