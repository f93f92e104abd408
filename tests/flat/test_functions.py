"""Functions that stay functions: values, derivatives, texts and files of their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests import functions as given

from estimica.flat import expression as ex
from estimica.flat.calculus import function_change, function_jacobian, partial
from estimica.flat.evaluate import call_function, evaluate
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    FlatFunction,
    Foreign,
    dependencies,
    flat_function,
    functions_in,
    influences,
    invoke,
)
from estimica.flat.modelica_text import write_class, write_expression
from estimica.flat.serialise import from_json, to_json
from estimica.flat.vectorised import ArrayProgram

n, c = ex.name, ex.const


def value(function: FlatFunction, *arguments: float) -> float:
    return call_function(function, arguments)[0]


def derivative(e: Expression, name: str, **at: float) -> float:
    return evaluate(partial(e, n(name)), at)


def test_equal_functions_are_one() -> None:
    assert given.square_root() is given.square_root()
    assert invoke(given.polar(), [n("a"), n("b")])[1] is invoke(given.polar(), [n("a"), n("b")])[1]


def test_values() -> None:
    assert value(given.square_root(), 2.0) == pytest.approx(math.sqrt(2), rel=1e-14)
    assert value(given.fourth_root(), 3.0) == pytest.approx(3**0.25, rel=1e-14)
    assert call_function(given.polar(), [3.0, 4.0]) == pytest.approx((5.0, math.atan2(4, 3)))
    assert value(given.guarded_root(), -4.0) == -1.0
    assert value(given.guarded_root(), 4.0) == pytest.approx(2.0)
    assert value(given.chosen_root(), -4.0) == -1.0
    assert value(given.geometric_sum(), 0.5, 3.0) == 1.75
    assert value(given.geometric_sum(), 1.0, 99.0) == 30.0


def test_failures_are_not_numbers() -> None:
    """An iteration that never ends, a check that does not hold, and calls of either."""
    assert math.isnan(value(given.square_root(), -1.0))
    assert math.isnan(value(given.fourth_root(), -1.0))
    assert math.isnan(value(given.checked_logarithm(), -1.0))


def test_derivatives() -> None:
    a, b = n("a"), n("b")
    assert derivative(invoke(given.square_root(), [a])[0], "a", a=2.0) == pytest.approx(
        0.5 / math.sqrt(2), rel=1e-13
    )
    assert derivative(invoke(given.fourth_root(), [a])[0], "a", a=3.0) == pytest.approx(
        0.25 * 3**-0.75, rel=1e-13
    )
    radius, angle = invoke(given.polar(), [ex.mul(a, b), b])
    assert derivative(radius, "a", a=0.75, b=4.0) == pytest.approx(3 / 5 * 4)
    assert derivative(radius, "b", a=0.75, b=4.0) == pytest.approx((3 * 0.75 + 4) / 5)
    assert derivative(angle, "b", a=0.75, b=4.0) == pytest.approx(0.0, abs=1e-15)
    (s,) = invoke(given.geometric_sum(), [a, c(4.0)])
    assert derivative(s, "a", a=0.5) == pytest.approx(1 + 2 * 0.5 + 3 * 0.25)


def test_second_derivatives() -> None:
    (root,) = invoke(given.square_root(), [n("a")])
    second = partial(partial(root, n("a")), n("a"))
    assert evaluate(second, {"a": 2.0}) == pytest.approx(-0.25 * 2**-1.5, rel=1e-12)


def test_the_authors_derivative_is_used() -> None:
    """It leaves w out, though sin(w·x) depends on it."""
    (sine,) = invoke(given.given_sine(), [n("w"), n("x")])
    assert derivative(sine, "x", w=2.0, x=0.3) == pytest.approx(2 * math.cos(0.6))
    assert derivative(sine, "w", w=2.0, x=0.3) == 0.0
    change = function_change(given.given_sine())
    assert value(change, 2.0, 0.3, 5.0, 1.0) == pytest.approx(2 * math.cos(0.6))


def test_many_inputs_are_differentiated_in_one_direction() -> None:
    mean = given.mean_of(20)
    assert function_jacobian(mean, tuple(range(20))) is None
    (y,) = invoke(mean, [ex.mul(c(k), n("a")) for k in range(20)])
    exact = sum(2 * k * k * 1.5 for k in range(20)) / 20
    # constants are no columns, so that 0·a keeps this one below the limit of none
    assert derivative(y, "a", a=1.5) == pytest.approx(exact)


def test_derivatives_that_vanish_are_left_out() -> None:
    swap = flat_function("swap", ("a", "b"), ("x", "y"), (Assign(("x", "y"), (n("b"), n("a"))),))
    table = function_jacobian(swap, (0, 1))
    assert table is not None
    assert set(table.place) == {(0, 1), (1, 0)}
    assert dependencies(swap)["x"] == {1}


def test_what_chooses_a_value_influences_it() -> None:
    found = influences(given.geometric_sum())["s"]
    assert found == {0, 1}
    assert dependencies(given.geometric_sum())["s"] == {0}


def test_assignments_are_simultaneous() -> None:
    swap = Assign(("x", "y"), (n("y"), n("x")))
    body = (Assign(("x", "y"), (n("a"), n("b"))), swap)
    assert call_function(flat_function("swapped", ("a", "b"), ("x", "y"), body), [1, 2]) == (2, 1)


def test_an_unknown_algorithm_is_an_error() -> None:
    odd = flat_function("odd", ("a",), ("y",), (Foreign("no such", ("y",), (n("a"),)),))
    with pytest.raises(KeyError):
        call_function(odd, [1.0])


def test_systems_with_functions_survive() -> None:
    x, p = n("x"), n("p")
    for make in (given.polar, lambda: given.polar()):
        radius, angle = invoke(make(), [x, p])
        (sine,) = invoke(given.given_sine(), [p, x])
        (s,) = invoke(given.geometric_sum(), [x, p])
        (log,) = invoke(given.checked_logarithm(), [p])
        (guarded,) = invoke(given.guarded_root(), [x])
        rate = ex.total([radius, angle, sine, s, log, guarded])
        flat = given.system([given.state("x", 1), given.parameter("p", 2)], [(ex.der("x"), rate)])
        again = from_json(to_json(flat))
        assert again == flat
        assert again.equations[0].rhs is rate


def test_text() -> None:
    radius, angle = invoke(given.polar(), [n("x"), c(2)])
    assert write_expression(ex.add(radius, angle)) == "polar_1(x, 2) + polar_2(x, 2)"
    flat = given.system([given.state("x", 1)], [(ex.der("x"), radius)])
    text = write_class(flat)
    for line in (
        "  function root",
        "    while abs(y*y - a) > 1e-14*a loop",
        "  function polar_2",
        "    r := root(x*x + y*y);",
        "    phi := atan2(y, x);",
    ):
        assert line in text.splitlines()


def test_text_of_a_swap_keeps_its_meaning() -> None:
    body = (Assign(("x", "y"), (n("a"), n("b"))), Assign(("x", "y"), (n("y"), n("x"))))
    swap = flat_function("swap", ("a", "b"), ("x", "y"), body)
    text = write_class(
        given.system([given.state("z", 1)], [(ex.der("z"), invoke(swap, [n("z"), c(1)])[0])])
    )
    assert text.count("'x new' := y;") == 2
    assert text.count("x := 'x new';") == 2


def test_functions_are_listed_after_those_that_they_call() -> None:
    (y,) = invoke(given.fourth_root(), [n("a")])
    assert functions_in(y) == (given.square_root(), given.fourth_root())


def test_whole_columns() -> None:
    (y,) = invoke(given.square_root(), [ex.add(n("a"), n("b"))])
    program = ArrayProgram([y], [n("a"), n("b")], [True, False])
    a, out = np.linspace(0.1, 2.0, 7), np.empty((1, 7))
    assert program.run([a, 0.5], out)
    np.testing.assert_allclose(out[0], np.sqrt(a + 0.5), rtol=1e-13)


def test_elements_at_a_place_of_the_run() -> None:
    element = ex.node("element", n("i"), n("a"), c(5.0), ex.mul(n("a"), n("a")))
    at = {"a": 3.0}
    values = [evaluate(element, {**at, "i": i}) for i in (1.0, 2.0, 3.0, 9.0)]
    assert values == [3.0, 5.0, 9.0, 9.0]
    slope = partial(element, n("a"))
    assert [evaluate(slope, {**at, "i": i}) for i in (1.0, 2.0, 3.0)] == [1.0, 0.0, 6.0]
    assert partial(element, n("i")) is ex.ZERO
    assert write_expression(element) == "if i == 1 then a else if i == 2 then 5 else a*a"
    program = ArrayProgram([element], [n("i"), n("a")], [True, False])
    out = np.empty((1, 4))
    program.run([np.array([1.0, 2.0, 3.0, 9.0]), 3.0], out)
    assert out[0].tolist() == values
