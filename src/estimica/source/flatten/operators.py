"""Operators of operator records, such as Complex: which function an operator means."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.flat.expression import Expression
from estimica.source.evaluate.names import Function, Parameter
from estimica.source.evaluate.values import Record, Value, is_array
from estimica.source.flatten.functions import FunctionReader
from estimica.source.instance.classes import Class


def chosen_operator(
    functions: FunctionReader, op: str, operands: Sequence[Value]
) -> Function | None:
    """The function for `op` of the operator record among `operands`; None where there is none."""
    owner = next((c for c in map(_type_of, operands) if c is not None), None)
    if owner is None:
        return None
    operator = owner.find(op)
    if not isinstance(operator, Class):
        return None
    candidates = functions.operator_functions(operator)
    if op == "'constructor'":
        operands = [v for v in operands if not isinstance(v, Record)] or operands
    exact = [f for f in candidates if _fits(f, operands, exactly=True)]
    if exact:
        return exact[0]
    loose = [f for f in candidates if _fits(f, operands, exactly=False)]
    return loose[0] if loose else None


def _type_of(value: Value) -> Class | None:
    if is_array(value) and value.size:
        return _type_of(value.flat[0])
    return value.type if isinstance(value, Record) and isinstance(value.type, Class) else None


def _fits(function: Function, operands: Sequence[Value], *, exactly: bool) -> bool:
    needed = [p for p in function.inputs if p.default is None]
    if not len(needed) <= len(operands) <= len(function.inputs):
        return False
    return all(
        _matches(p, v, exactly=exactly) for p, v in zip(function.inputs, operands, strict=False)
    )


def _matches(parameter: Parameter, value: Value, *, exactly: bool) -> bool:
    rank = value.ndim if is_array(value) else 0
    if rank != len(parameter.dimensions):
        return False
    item = value.flat[0] if is_array(value) and value.size else value
    if isinstance(item, Record):
        return parameter.fields is not None
    if isinstance(item, Expression):  # a number, or one that is to be converted
        return parameter.kind is not None or (not exactly and parameter.fields is not None)
    return True
