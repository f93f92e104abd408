"""The operators of the language on values; complex numbers are records with `re` and `im`."""

from __future__ import annotations

from collections.abc import Callable

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.interpreter.values import (
    Value,
    ValueMismatch,
    elementwise,
    full,
    is_array,
    matrix_product,
    numeric,
    scalars,
)

_ELEMENTWISE: dict[str, Callable[[Expression, Expression], Expression]] = {
    "Add": ex.add,
    "Sub": ex.sub,
    "AddElem": ex.add,
    "SubElem": ex.sub,
    "MulElem": ex.mul,
    "Div": ex.div,
    "DivElem": ex.div,
    "ExpElem": ex.power,
    "And": ex.logical_and,
    "Or": ex.logical_or,
}
_RELATIONS = {"Lt": "lt", "Le": "le", "Gt": "gt", "Ge": "ge", "Eq": "eq", "Neq": "ne"}


def binary(op: str, a: Value, b: Value) -> Value:
    """a `op` b in the compiler's words for operators."""
    if isinstance(a, str) or isinstance(b, str):
        return _texts(op, a, b)
    if isinstance(a, dict) or isinstance(b, dict):
        complex_ = complex_operation(op, a, b)
        if complex_ is not None:
            return complex_
    a, b = numeric(a), numeric(b)
    if op == "Mul":
        return matrix_product(a, b) if is_array(a) and is_array(b) else elementwise(ex.mul, a, b)
    if op == "Exp":
        return _matrix_power(a, b) if is_array(a) else elementwise(ex.power, a, b)
    if op in _RELATIONS:
        return elementwise(lambda x, y: ex.relation(_RELATIONS[op], x, y), a, b)
    if op in _ELEMENTWISE:
        return elementwise(_ELEMENTWISE[op], a, b)
    raise ValueMismatch(f"the operator {op} is unknown")


def unary(op: str, a: Value) -> Value:
    """`op` a."""
    a = numeric(a)
    match op:
        case "Minus" | "MinusElem" | "DotMinus":
            return elementwise(ex.neg, a)
        case "Plus" | "PlusElem" | "DotPlus":
            return a
        case "Not":
            return elementwise(ex.logical_not, a)
    raise ValueMismatch(f"the operator {op} is unknown")


def choose(condition: Expression, yes: Value, no: Value) -> Value:
    """if condition then yes else no, for values of the same shape."""
    if yes is no or no is None:
        return yes
    if yes is None:
        return no
    if isinstance(yes, dict) and isinstance(no, dict):
        # a field that only one branch has assigned
        return {k: choose(condition, yes.get(k), no.get(k)) for k in {**yes, **no}}
    if isinstance(yes, tuple) and isinstance(no, tuple):
        return tuple(choose(condition, y, n) for y, n in zip(yes, no, strict=True))
    if isinstance(yes, str) or isinstance(no, str):
        if yes == no:
            return yes
        raise ValueMismatch("a text that depends on a condition known only during the run")
    if is_array(yes) and is_array(no) and yes.shape != no.shape:
        raise ValueMismatch(f"branches of different sizes {yes.shape} and {no.shape}")
    return elementwise(lambda y, n: _choose_scalar(condition, y, n), yes, no)


def _choose_scalar(condition: Expression, yes: Value, no: Value) -> Value:
    if isinstance(yes, Expression) and isinstance(no, Expression):
        return ex.conditional(condition, yes, no)
    return choose(condition, yes, no)


def _texts(op: str, a: Value, b: Value) -> Value:
    if op in ("Add", "AddElem"):
        return as_text(a) + as_text(b)
    if isinstance(a, str) and isinstance(b, str):
        match op:
            case "Eq":
                return ex.const(a == b)
            case "Neq":
                return ex.const(a != b)
            case "Lt":
                return ex.const(a < b)
            case "Gt":
                return ex.const(a > b)
            case "Le":
                return ex.const(a <= b)
            case "Ge":
                return ex.const(a >= b)
    raise ValueMismatch(f"the operator {op} between a text and another value")


def as_text(value: Value) -> str:
    """A value inside a message: a text, a number, or `{name}` for what is known in the run only."""
    if isinstance(value, str):
        return value
    if isinstance(value, Expression):
        if value.op == "const":
            return f"{value.value:g}"
        return "{" + (value.target if value.op == "name" else "…") + "}"
    return ", ".join(as_text(v) for v in scalars(value))


def _matrix_power(a: Value, b: Value) -> Value:
    assert is_array(a)
    if not isinstance(b, Expression) or b.op != "const" or b.value != int(b.value) or b.value < 0:
        raise ValueMismatch("a matrix is raised to a power that is not a natural number")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueMismatch(f"a power of a matrix of size {a.shape}")
    result: Value = full(a.shape, ex.ZERO)
    assert is_array(result)
    for i in range(a.shape[0]):
        result[i, i] = ex.ONE
    for _ in range(int(b.value)):
        assert is_array(result)
        result = matrix_product(result, a)
    return result


_FIELDS = {"re", "im"}
_BY_FIELD = frozenset(("Add", "Sub", "AddElem", "SubElem"))


def complex_operation(op: str, a: Value, b: Value) -> Value:
    """a `op` b where one of them is a record; None where each field is taken by itself.

    Fields of records of other kinds can be compared and subtracted, as an equation between two
    records needs it; anything else is not an operation of the language.
    """
    if op in _BY_FIELD and isinstance(a, dict) and isinstance(b, dict):
        return None
    (ar, ai), (br, bi) = _parts(op, a), _parts(op, b)
    match op:
        case "Add" | "AddElem":
            return _number(ex.add(ar, br), ex.add(ai, bi))
        case "Sub" | "SubElem":
            return _number(ex.sub(ar, br), ex.sub(ai, bi))
        case "Mul" | "MulElem":
            return _number(
                ex.sub(ex.mul(ar, br), ex.mul(ai, bi)), ex.add(ex.mul(ar, bi), ex.mul(ai, br))
            )
        case "Div" | "DivElem":
            if ex.is_const(bi, 0.0):
                return _number(ex.div(ar, br), ex.div(ai, br))
            size = ex.add(ex.mul(br, br), ex.mul(bi, bi))
            real = ex.add(ex.mul(ar, br), ex.mul(ai, bi))
            imaginary = ex.sub(ex.mul(ai, br), ex.mul(ar, bi))
            return _number(ex.div(real, size), ex.div(imaginary, size))
        case "Eq":
            return ex.logical_and(ex.relation("eq", ar, br), ex.relation("eq", ai, bi))
        case "Neq":
            return ex.logical_or(ex.relation("ne", ar, br), ex.relation("ne", ai, bi))
    raise ValueMismatch(f"the operator {op} between records")


def _number(real: Expression, imaginary: Expression) -> dict[str, Value]:
    return {"re": real, "im": imaginary}


def _parts(op: str, value: Value) -> tuple[Expression, Expression]:
    if isinstance(value, Expression):
        return value, ex.ZERO
    if isinstance(value, dict) and set(value) == _FIELDS:
        real, imaginary = value["re"], value["im"]
        if isinstance(real, Expression) and isinstance(imaginary, Expression):
            return real, imaginary
    raise ValueMismatch(f"the operator {op} between records, or between arrays of complex numbers")
