"""Operators on complex numbers against Python's own."""

from __future__ import annotations

import operator

import pytest

from estimica.flat import expression as ex
from estimica.source.interpreter.operators import binary, unary
from estimica.source.interpreter.values import ValueMismatch


def value(z: complex) -> dict:
    return {"re": ex.const(z.real), "im": ex.const(z.imag)}


def number(v: dict) -> complex:
    return complex(v["re"].value, v["im"].value)


A, B = 2 - 3j, -0.5 + 4j
OPERATIONS = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
}


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_four_operations(op):
    assert number(binary(op, value(A), value(B))) == pytest.approx(OPERATIONS[op](A, B))
    assert number(binary(op, ex.const(2.5), value(B))) == pytest.approx(OPERATIONS[op](2.5, B))
    assert number(binary(op, value(A), ex.const(2.5))) == pytest.approx(OPERATIONS[op](A, 2.5))


def test_signs_and_comparisons():
    assert number(unary("Minus", value(A))) == -A
    assert binary("Eq", value(A), value(A)) is ex.ONE
    assert binary("Neq", value(A), value(B)) is ex.ONE


@pytest.mark.parametrize("op", ["Exp", "Lt", "And"])
def test_what_complex_numbers_do_not_have_is_refused(op):
    with pytest.raises(ValueMismatch, match=f"the operator {op} between records"):
        binary(op, value(A), value(B))


def test_other_records_are_not_multiplied_field_by_field():
    record = {"p": ex.const(1), "T": ex.const(2)}
    assert binary("Sub", record, record) == {"p": ex.ZERO, "T": ex.ZERO}
    with pytest.raises(ValueMismatch, match="the operator Mul between records"):
        binary("Mul", record, record)
