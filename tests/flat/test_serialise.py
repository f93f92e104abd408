"""Flat systems survive being written and read."""

from __future__ import annotations

import pytest

from estimica.flat import expression as ex
from estimica.flat.serialise import from_json, to_json
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Equation,
    Experiment,
    FlatSystem,
    Kind,
    Origin,
    StateSelect,
    Variability,
    Variable,
    When,
)

X = ex.name("x")
ORIGIN = Origin("der(x) = -x", "part", "equation", "a.mo", 3)
SYSTEM = FlatSystem(
    name="P.M",
    variables=(
        Variable("x", start=ex.ONE, fixed=True, state_select=StateSelect.PREFER, origin=ORIGIN),
        Variable("k", Kind.INTEGER, Variability.PARAMETER, binding=ex.const(2), evaluated="size"),
        Variable("s", Kind.STRING, Variability.PARAMETER, text='ö "quoted"'),
        Variable("e", Kind.ENUMERATION, Variability.PARAMETER, literals=("a", "b")),
    ),
    equations=(
        Equation(ex.der("x"), ex.neg(ex.mul(X, ex.call("sin", ex.add(X, ex.TIME)))), ORIGIN),
        Equation(ex.ZERO, X),
    ),
    initial_equations=(Equation(X, ex.name("k"), ORIGIN),),
    whens=(
        When(
            (
                Branch(
                    (ex.relation("lt", X, ex.ZERO), ex.INITIAL), (Action("x", ex.pre("x"), True),)
                ),
                Branch((ex.node("sample", ex.ZERO, ex.ONE),), ()),
            ),
            ORIGIN,
        ),
    ),
    assertions=(Assertion(ex.relation("gt", X, ex.ZERO), "positive", True, ORIGIN),),
    description="a model",
    experiment=Experiment(0.0, 5.0, 1e-6, None),
    notes=("one", "two"),
    source="a.mo",
)


def test_a_system_survives() -> None:
    assert from_json(to_json(SYSTEM)) == SYSTEM


def test_equal_nodes_stay_one_object() -> None:
    again = from_json(to_json(SYSTEM))
    assert again.equations[0].rhs is SYSTEM.equations[0].rhs


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": 0}', "not json"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        from_json(text)
