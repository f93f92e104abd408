"""Operators on complex numbers, which are records with the fields `re` and `im`."""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.interpreter.values import Value, ValueMismatch

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
