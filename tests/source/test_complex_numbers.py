"""Operator records: complex numbers against Python's own."""

from __future__ import annotations

import operator

import pytest
from tests.source.flat_checks import load, parameter_values

from estimica.base.errors import EstimicaError

COMPLEX = """
operator record Complex
  Real re; Real im;
  encapsulated operator 'constructor'
    function fromReal
      import Complex; input Real re; input Real im = 0; output Complex result(re = re, im = im);
    algorithm end fromReal;
  end 'constructor';
  encapsulated operator function '+'
    import Complex; input Complex a; input Complex b; output Complex c;
    algorithm c := Complex(a.re + b.re, a.im + b.im);
  end '+';
  encapsulated operator '-'
    function negate
      import Complex; input Complex a; output Complex c;
      algorithm c := Complex(-a.re, -a.im);
    end negate;
    function subtract
      import Complex; input Complex a; input Complex b; output Complex c;
      algorithm c := Complex(a.re - b.re, a.im - b.im);
    end subtract;
  end '-';
  encapsulated operator function '*'
    import Complex; input Complex a; input Complex b; output Complex c;
    algorithm c := Complex(a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re);
  end '*';
  encapsulated operator function '/'
    import Complex; input Complex a; input Complex b; output Complex c;
  algorithm
    c := Complex((a.re*b.re + a.im*b.im)/(b.re^2 + b.im^2), (-a.re*b.im + a.im*b.re)/(b.re^2 + b.im^2));
  end '/';
  encapsulated operator function '=='
    import Complex; input Complex a; input Complex b; output Boolean same;
    algorithm same := a.re == b.re and a.im == b.im;
  end '==';
end Complex;
"""
MODEL = """
model M
  parameter Complex a = Complex(2, -3);
  parameter Complex b = Complex(-0.5, 4);
  parameter {};
  Real x(start=1);
equation
  der(x) = -x;
end M;
"""
A, B = 2 - 3j, -0.5 + 4j
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def value(expression: str) -> complex:
    values = parameter_values(load(COMPLEX + MODEL.format(f"Complex c = {expression}"), "M"))
    return complex(values["c.re"], values["c.im"])


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_four_operations(op: str) -> None:
    assert value(f"a {op} b") == pytest.approx(OPERATIONS[op](A, B))
    assert value(f"2.5 {op} b") == pytest.approx(OPERATIONS[op](2.5, B))
    assert value(f"a {op} 2.5") == pytest.approx(OPERATIONS[op](A, 2.5))


def test_signs_and_chains() -> None:
    assert value("-a") == -A
    assert value("a*b - (a + b)/a") == pytest.approx(A * B - (A + B) / A)


def test_a_comparison() -> None:
    text = COMPLEX + MODEL.format("Real c = if a == b then 1 else 2")
    assert parameter_values(load(text, "M"))["c"] == 2.0


@pytest.mark.parametrize("op", ["^", "<", "and"])
def test_what_complex_numbers_do_not_have_is_refused(op: str) -> None:
    with pytest.raises(EstimicaError, match=r"value of 'c|a .* b"):
        load(COMPLEX + MODEL.format(f"Complex c = a {op} b"), "M")


def test_records_without_operators_are_not_multiplied() -> None:
    record = "record R Real p; Real T; end R;"
    text = record + MODEL.format("R r(p = 1, T = 2); parameter R s = r*r").replace("Complex", "R")
    with pytest.raises(EstimicaError, match="record"):
        load(text, "M")
