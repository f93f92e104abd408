"""Sizes of models and formulas have limits, told with the thing, its size and the limit."""

from __future__ import annotations

import time

import pytest

from estimica.base.errors import EstimicaError, ModelError, SourceError
from estimica.simulate.linear.constructors import model_of_text
from estimica.source.flatten import variables
from estimica.source.formula import parse_formula
from estimica.source.load import load_flat

MODEL = "model M\n  {}\n  Real x(start=1);\nequation\n  der(x) = -x;\n{}end M;"


def _model(declared: str, equations: str = "") -> str:
    return MODEL.format(declared, equations)


BEYOND = {
    "array": (_model("Real y[1000000000] = zeros(1000000000);"), "U004: 'y' has 1000000000 elem"),
    "parameter": (
        _model("parameter Integer n = 1000000000; parameter Real y[n];"),
        "U004: 'y' has 1000000000 elements, the model 100000000. variables or more",
    ),
    "fill": (_model("Real y = sum(fill(1, 1000000000));"), "S012.*an array of 1000000000 elem"),
    "range": (_model("Real y = sum(1:1000000000);"), "S012.*an array of 1000000000 elements"),
    "comprehension": (_model("Real y = sum(i for i in 1:1000000000);"), "S012.*an array of 10+ e"),
    "brackets": (
        _model("Real y = " + "(" * 10_000 + "1" + ")" * 10_000 + ";"),
        r"S045: text:2:\d+: brackets and classes are nested more than 500 deep; divide",
    ),
    "classes": (
        _model(
            "\n".join(f"model A{k}" for k in range(5000))
            + "\n"
            + "\n".join(f"end A{k};" for k in reversed(range(5000)))
        ),
        r"S045: text:\d+:1: brackets and classes are nested more than 500 deep; divide",
    ),
    "chain of extends": (
        "model A0 Real x = 1; end A0;\n"
        + "\n".join(f"model A{k} extends A{k - 1}; end A{k};" for k in range(1, 3000)),
        r"S045: text:\d+:13: the chain of extends is longer than 200, or a circle; shorten",
    ),
}


@pytest.mark.parametrize("what", BEYOND)
def test_a_model_beyond_the_limits_is_told(what: str) -> None:
    text, told = BEYOND[what]
    begun = time.process_time()
    with pytest.raises(EstimicaError, match=told):
        load_flat(text, cache=False)
    assert time.process_time() - begun < 10


def test_the_variables_of_all_arrays_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "MOST_SCALARS", 20)
    with pytest.raises(EstimicaError, match=r"U004: .* 1 elements, the model 21 variables or more"):
        load_flat(_model("Real y[10] = zeros(10); Real z[10] = zeros(10);"), cache=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        _model("", 'for i in 1:1000000000 loop\n assert(x < i, "");\n end for;\n'),
        _model("Real y[100000,100000] = zeros(100000,100000);"),
        "model A0 Real x = 1; end A0;\n"
        + "\n".join(f"model A{k} A{k - 1} a; A{k - 1} b; end A{k};" for k in range(1, 26)),
    ],
)
def test_a_class_that_takes_too_much_is_given_up(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESTIMICA_LOAD_SECONDS", "20")
    monkeypatch.setenv("ESTIMICA_LOAD_MEMORY", "1.5")
    with pytest.raises(EstimicaError):
        load_flat(text, cache=False)


def test_a_formula_of_a_million_characters_is_told() -> None:
    with pytest.raises(
        SourceError,
        match=r"S044: expression: '(a\*){20}…' has 1000001 characters, and a formula has at most "
        r"12000 in 30000 characters; divide it",
    ):
        parse_formula("a*" * 500_000 + "x")
    with pytest.raises(SourceError, match=r"S044: .* has 14001 words and signs"):
        parse_formula("a*" * 7_000 + "x")


def test_a_formula_of_5000_characters_is_read() -> None:
    formula = parse_formula("a*" * 2499 + "x")
    assert formula.at({"a": 1.0, "x": 3.0}) == 3.0
    with pytest.raises(
        ModelError, match=r"M073: the derivative of '(a\*){20}…' by 'a' has 6\d{6} pa"
    ):
        formula.partial("a")


def test_a_transfer_function_of_many_factors_is_not_written_out() -> None:
    factors = "*".join(f"(1 + T{k}*s)" for k in range(40))
    assert len(model_of_text(f"1/({factors})").parameters) == 40
