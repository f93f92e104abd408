"""The operators of the language on values; those between records are looked up by their type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.texts import as_text, joined
from estimica.source.evaluate.values import (
    Array,
    Record,
    RuntimeText,
    Value,
    ValueMismatch,
    first_of,
    full,
    is_array,
    over_arrays,
)

#: op and operands of an operation with a record among them: what its type makes of it
Overload = Callable[[str, Sequence[Value]], Value]

SCALAR: dict[str, Callable[[Expression, Expression], Expression]] = {
    "+": ex.add,
    "-": ex.sub,
    "*": ex.mul,
    "/": ex.div,
    "^": ex.power,
    "<": partial(ex.relation, "lt"),
    "<=": partial(ex.relation, "le"),
    ">": partial(ex.relation, "gt"),
    ">=": partial(ex.relation, "ge"),
    "==": partial(ex.relation, "eq"),
    "<>": partial(ex.relation, "ne"),
    "and": ex.logical_and,
    "or": ex.logical_or,
}
SCALAR |= {f".{op}": SCALAR[op] for op in "+-*/^"}
_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "==": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def binary(op: str, a: Value, b: Value, overload: Overload) -> Value:
    """a `op` b, as the language writes `op`."""
    if isinstance(a, Expression) and isinstance(b, Expression):
        return SCALAR[op](a, b)
    a, b = first_of(a), first_of(b)
    if op == "*" and is_array(a) and is_array(b):
        return matrix_product(a, b, overload)
    if op == "^" and is_array(a):
        return _matrix_power(a, b, overload)
    if op in ("/", "^") and is_array(b):
        raise ValueMismatch(f"{op} with an array on its right; .{op} takes element by element")
    plain = op.lstrip(".")
    return over_arrays(lambda x, y: _single(plain, x, y, overload), a, b)


def _single(op: str, a: Value, b: Value, overload: Overload) -> Value:
    if isinstance(a, Expression) and isinstance(b, Expression):
        return SCALAR[op](a, b)
    if isinstance(a, Record) or isinstance(b, Record):
        return overload(op, (a, b))
    if isinstance(a, str) or isinstance(b, str):
        return _texts(op, a, b)
    raise ValueMismatch(f"the operator {op} between {kind_text(a)} and {kind_text(b)}")


def unary(op: str, a: Value, overload: Overload) -> Value:
    """`op` a."""
    return over_arrays(lambda x: _signed(op, x, overload), first_of(a))


def _signed(op: str, a: Value, overload: Overload) -> Value:
    if isinstance(a, Expression):
        match op:
            case "-" | ".-":
                return ex.neg(a)
            case "+" | ".+":
                return a
            case "not":
                return ex.logical_not(a)
    if isinstance(a, Record):
        return a if op in ("+", ".+") else overload(op.lstrip("."), (a,))
    raise ValueMismatch(f"the operator {op} of {kind_text(a)}")


def kind_text(value: Value) -> str:
    """What a value is, for messages."""
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Record):
        return "a record"
    if is_array(value):
        return f"an array of {value.ndim} dimensions"
    if isinstance(value, Expression):
        return "a number"
    return "nothing" if value is None else "a function or external object"


def choose(condition: Expression, yes: Value, no: Value) -> Value:
    """if condition then yes else no, for values of the same shape.

    What only one branch has assigned is worth that.
    """
    if yes is no or no is None:
        return yes
    if yes is None:
        return no
    if isinstance(yes, Expression) and isinstance(no, Expression):
        return ex.conditional(condition, yes, no)
    if ex.is_const(condition):
        return yes if condition.value else no
    if isinstance(yes, Record) and isinstance(no, Record):
        return Record(
            {k: choose(condition, yes.get(k), no.get(k)) for k in {**yes, **no}}, yes.type
        )
    if isinstance(yes, tuple) and isinstance(no, tuple):
        return tuple(choose(condition, y, n) for y, n in zip(yes, no, strict=True))
    if isinstance(yes, str) and isinstance(no, str):
        return yes if yes == no else RuntimeText("{…}")
    if is_array(yes) and is_array(no):
        if yes.shape != no.shape:
            raise ValueMismatch(f"branches of different sizes {yes.shape} and {no.shape}")
        return over_arrays(partial(choose, condition), yes, no)
    raise ValueMismatch(f"branches of different kinds: {kind_text(yes)} and {kind_text(no)}")


def _texts(op: str, a: Value, b: Value) -> Value:
    if op == "+":
        return joined(as_text(a), as_text(b))
    if op not in _TEXTS or not isinstance(a, str) or not isinstance(b, str):
        raise ValueMismatch(f"the operator {op} between {kind_text(a)} and {kind_text(b)}")
    if isinstance(a, RuntimeText) or isinstance(b, RuntimeText):
        raise ValueMismatch("a comparison of a text that is known only during the run")
    return ex.const(_TEXTS[op](a, b))


# --- matrices ------------------------------------------------------------------------------------


def matrix_product(a: Array, b: Array, overload: Overload) -> Value:
    """a·b for vectors and matrices; a vector times a vector is their scalar product."""
    if a.ndim > 2 or b.ndim > 2 or a.shape[-1] != b.shape[0]:
        raise ValueMismatch(f"cannot multiply sizes {a.shape} and {b.shape}")
    if a.ndim == 1 and b.ndim == 1:
        return _inner(a, b, overload)
    rows = a if a.ndim == 2 else a[np.newaxis, :]
    columns = b.T if b.ndim == 2 else b[np.newaxis, :]
    result = np.empty((rows.shape[0], columns.shape[0]), dtype=object)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            result[i, j] = _inner(row, column, overload)
    if a.ndim == 1:
        return result[0]  # type: ignore[no-any-return]
    return result[:, 0] if b.ndim == 1 else result


def _inner(a: Array, b: Array, overload: Overload) -> Value:
    """The sum of the products; 0 for none."""
    total: Value = None
    for x, y in zip(a, b, strict=True):
        product = _single("*", x, y, overload)
        total = product if total is None else _single("+", total, product, overload)
    return ex.ZERO if total is None else total


def _matrix_power(a: Array, b: Value, overload: Overload) -> Value:
    if not isinstance(b, Expression) or b.op != "const" or b.value != int(b.value) or b.value < 0:
        raise ValueMismatch("a matrix is raised to a power that is not a natural number")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueMismatch(f"a power of a matrix of size {a.shape}")
    result = full(a.shape, ex.ZERO)
    for i in range(a.shape[0]):
        result[i, i] = ex.ONE
    for _ in range(int(b.value)):
        product = matrix_product(result, a, overload)
        assert is_array(product)
        result = product
    return result
