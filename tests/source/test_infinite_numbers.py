"""Numbers of a model beyond what can be: told, or infinite, never a fault."""

from __future__ import annotations

import math

import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.source.evaluate.values import MOST_ELEMENTS, ValueMismatch, sizes_of

MODEL = "model M {} Real x(start = 1, fixed = true); equation der(x) = -x; {} end M;"


@pytest.mark.parametrize("value", ["9^(9^(9^9))", "integer(9^400)", "0^(-1)", "2^1024", "10^400"])
@pytest.mark.parametrize("kind", ["Integer", "Real"])
def test_a_parameter_may_be_infinite_and_the_rest_is_computed(kind: str, value: str) -> None:
    model = es.load_model(MODEL.format(f"parameter {kind} n = {value};", ""))
    assert math.isinf(model.parameters.value["n"])
    assert model.simulate([0.0, 1.0]).value("x")[-1] == pytest.approx(math.exp(-1), rel=1e-4)


def test_an_output_that_is_infinite_stops_the_simulation() -> None:
    model = es.load_model(MODEL.format("output Real y;", "y = 9^(9^(9^9))*x;"))
    with pytest.raises(EstimicaError, match="not a finite number"):
        model.simulate([0.0, 1.0])


@pytest.mark.parametrize(
    ("declared", "equation"),
    [
        ("Real z[2147483648];", "z[1] = x;"),
        ("discrete Real z(start = 0, fixed = true);", "when x < 0.5 then z = sum(fill(0, 99999999)); end when;"),
        ("discrete Real z(start = 0, fixed = true);", "when x < 0.5 then z = sum(1:99999999); end when;"),
    ],
)  # fmt: skip
def test_arrays_without_end_are_refused_before_they_are_made(declared: str, equation: str) -> None:
    with pytest.raises(EstimicaError):
        es.load_model(MODEL.format(declared, equation))


def test_sizes_are_whole_numbers_up_to_a_limit() -> None:
    assert sizes_of(2.0, 3.0) == (2, 3)
    assert sizes_of(0.0, float(MOST_ELEMENTS)) == (0, MOST_ELEMENTS)
    for wrong in ((-1.0,), (math.nan,), (math.inf,), (1001.0, 1000.0), (0.0, math.inf)):
        with pytest.raises(ValueMismatch):
            sizes_of(*wrong)


def test_a_class_inside_one_that_does_not_end_is_told() -> None:
    with pytest.raises(EstimicaError) as error:
        es.load_model("package P\n  model A Real x; equation x = 1; end A;\n")
    assert error.value.code == "S200"
    assert "text:1:1: expected 'end P;'" in str(error.value)
