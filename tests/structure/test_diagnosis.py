"""What the user is told about models that cannot be sorted; every message by its text."""

from __future__ import annotations

import pytest
from tests.structure.building import equation, input_, parameter, real, system

from estimica.base.errors import StructureError
from estimica.flat.system import FlatSystem
from estimica.structure.sort import sort_system


def message(flat: FlatSystem, **options: object) -> str:
    with pytest.raises(StructureError) as error:
        sort_system(flat, **options)  # type: ignore[arg-type]
    return str(error.value)


def test_missing_equation() -> None:
    flat = system([real("x", 0.0), "y", "z"], ["der(x) = y + z", "y = 2*z"])
    assert message(flat) == (
        "E201: model 'M' is not balanced: 2 equations for 3 unknowns; "
        "1 equation missing among those for 'x', 'y', 'z'; "
        "likely cause: an equation or an input is missing"
    )


def test_variable_in_no_equation() -> None:
    flat = system([real("x", 0.0), "u"], ["der(x) = -x"])
    assert message(flat) == (
        "E201: model 'M' is not balanced: 1 equation for 2 unknowns; no equation determines 'u'; "
        "likely cause: 'u' stands in no equation: connect it, give it a value, or declare it an input"
    )


def test_missing_equation_in_a_component() -> None:
    flat = system(["a.v", "a.i"], [equation("a.v = a.i^2", component="a")])
    assert message(flat).endswith(
        "likely cause: an equation or a connection is missing in component 'a'"
    )


def test_equation_too_many() -> None:
    flat = system([real("x", 0.0)], ["der(x) = -x", "x^2 = sin(time)"])
    assert message(flat) == (
        "E201: model 'M' is not balanced: 2 equations for 1 unknown; "
        "1 equation too many for 'x' among: equation 'der(x) = -x', equation 'x^2 = sin(time)'; "
        "likely cause: the same quantity is determined twice; remove one of the equations"
    )


def test_too_many_equations_in_a_component() -> None:
    equations = [
        equation(t, component="c") for t in ("c.x = sin(time)", "c.x = 2*c.y^2", "c.y^3 = time")
    ]
    assert message(system(["c.x", "c.y"], equations)).endswith(
        "likely cause: too many equations in component 'c'"
    )


def test_singular_although_balanced() -> None:
    flat = system(["a", "b", "c"], ["a^2 = time", "a^3 + a = 2*time", "b + c = a"])
    assert message(flat) == (
        "E202: model 'M' is singular: 3 equations for 3 unknowns, but they do not fit together; "
        "1 equation missing among those for 'b', 'c'; "
        "1 equation too many for 'a' among: equation 'a^2 = time', equation 'a^3 + a = 2*time'; "
        "likely cause: the same quantity is determined twice; remove one of the equations"
    )


def test_circuit_without_ground() -> None:
    equations = [
        equation("r.v = r.p - r.n"),
        equation("r.v = R*r.i^3"),
        equation("s.v = s.p - s.n"),
        equation("s.v = u"),
        equation("s.p = r.p", "connection"),
        equation("s.n = r.n", "connection"),
        equation("s.i + r.i = 0", "flow sum"),
        equation("s.j + r.j = 0", "flow sum"),
        equation("s.j + s.i = 0"),
        equation("r.j + r.i = 0"),
    ]
    names = ["r.v", "r.p", "r.n", "r.i", "r.j", "s.v", "s.p", "s.n", "s.i", "s.j"]
    assert message(system([parameter("R", 1.0), input_("u"), *names], equations)) == (
        "E202: model 'M' is singular: 10 equations for 10 unknowns, but they do not fit together; "
        "1 equation missing among those for 'r.v', 'r.p', 'r.n', 'r.i'; "
        "says nothing new: equation 's.j + s.i = 0'; "
        "likely cause: the flows balance by themselves and no potential is given: "
        "connect a ground, a fixed flange or another reference point"
    )


def test_contradiction() -> None:
    assert message(system(["x"], ["x = 2", "x = 3"])) == (
        "E104: equation 'x = 3' cannot hold: its sides are 2 and 3; "
        "remove it or what contradicts it"
    )


def test_input_with_an_equation() -> None:
    assert message(system([input_("u"), real("x", 0.0)], ["der(x) = u", "u = 3"])) == (
        "E201: model 'M' is not balanced: 2 equations for 1 unknown; "
        "no unknown is left in equation 'u = 3'; "
        "likely cause: the same quantity is determined twice; remove one of the equations"
    )


def test_parameters_in_a_circle() -> None:
    flat = system([parameter("a", "b + 1"), parameter("b", "2*a"), real("x", 0.0)], ["der(x) = a"])
    assert message(flat) == "E103: parameters depend on each other: a → b → a; break the circle"


def test_parameter_bound_to_a_variable() -> None:
    flat = system([parameter("a", "x + 1"), real("x", 0.0)], ["der(x) = a"])
    assert message(flat) == (
        "E102: parameter 'a' is bound to 'x', which is not a parameter; "
        "make it a variable with an equation"
    )


def test_input_whose_derivative_is_needed() -> None:
    flat = system([input_("u"), real("x", 0.0), "F"], ["der(x) = F", "x + x^3 = u"])
    assert message(flat) == (
        "E302: equation 'x + x^3 = u' ties states together and must be differentiated, but that "
        "needs the derivative of input 'u' (put a filter behind the input, or make the prescribed "
        "variable the input); choose the states by stateSelect or write it differently"
    )


def test_unknown_name_for_an_input() -> None:
    flat = system([real("speed", 0.0)], ["der(speed) = 1"])
    assert message(flat, inputs=["sped"]) == (
        "E203: 'sped' cannot become an input: the model has no such variable; did you mean 'speed'?"
    )


def test_no_room_for_an_input() -> None:
    flat = system([real("x", 0.0), "y"], ["der(x) = y", "y = -x^2"])
    assert message(flat, inputs=["y"]) == (
        "E204: 'M' has no room for the input 'y'; 'y' follows already from equation 'der(x) = y', "
        "equation 'y = -x^2' (which determine 'x' too); no connector is open: leave an equation "
        "out (leave_out), or make a parameter unknown"
    )
