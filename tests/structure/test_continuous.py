"""Sorting of continuous equations: states, order, blocks."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.structure.building import Point, equation, input_, parameter, parse, real, system

from estimica.flat import expression as ex
from estimica.flat.system import StateSelect
from estimica.structure.sort import sort_system
from estimica.structure.sorted_system import Assignment, Block


def two_pin(name: str) -> list[str]:
    """Equations of a component with pins p and n."""
    return [
        f"{name}.v = {name}.p.v - {name}.n.v",
        f"0 = {name}.p.i + {name}.n.i",
        f"{name}.i = {name}.p.i",
    ]


def pins(*names: str) -> list[str]:
    return [f"{n}.{q}" for n in names for q in ("v", "i", "p.v", "p.i", "n.v", "n.i")]


def rlc_circuit():  # type: ignore[no-untyped-def]
    parts = pins("s", "r", "l", "c")
    states = [real("l.i", 0.0), real("c.v", 0.0)]
    plain = [p for p in parts if p not in ("l.i", "c.v")]
    equations = [e for n in ("s", "r", "l", "c") for e in two_pin(n)]
    equations += ["s.v = u", "r.v = R*r.i", "L*der(l.i) = l.v", "C*der(c.v) = c.i", "g.p.v = 0"]
    equations += ["s.p.v = r.p.v", "s.p.i + r.p.i = 0"]
    equations += ["r.n.v = l.p.v", "r.n.i + l.p.i = 0"]
    equations += ["l.n.v = c.p.v", "l.n.i + c.p.i = 0"]
    equations += ["c.n.v = g.p.v", "s.n.v = g.p.v", "c.n.i + s.n.i + g.p.i = 0"]
    constants = [parameter("R", 2.0), parameter("L", 0.5), parameter("C", 0.25)]
    return system([*constants, input_("u"), *states, *plain, "g.p.v", "g.p.i"], equations)


def test_rlc_circuit_has_two_states_and_no_loops() -> None:
    result = sort_system(rlc_circuit())
    assert result.states == ("l.i", "c.v")
    assert all(isinstance(b, Assignment) for b in result.blocks)
    point = Point(result, {"l.i": 0.3, "c.v": -1.2, "u": 5.0})
    assert point.worst_residual() < 1e-14
    assert point["der(l.i)"] == pytest.approx((5.0 - 2.0 * 0.3 + 1.2) / 0.5)


def test_every_removed_name_can_be_evaluated() -> None:
    result = sort_system(rlc_circuit())
    point = Point(result, {"l.i": 0.3, "c.v": -1.2, "u": 5.0})
    assert point["s.p.i"] == pytest.approx(-0.3)
    assert point["g.p.v"] == 0.0
    assert set(result.aliases).isdisjoint(b.unknown for b in result.blocks)  # type: ignore[union-attr]


def test_same_input_same_output() -> None:
    first, second = sort_system(rlc_circuit()), sort_system(rlc_circuit())
    assert first.blocks == second.blocks
    assert list(first.aliases) == list(second.aliases)


def pendulum(**wishes: StateSelect):  # type: ignore[no-untyped-def]
    variables = [
        *(parameter(n, v) for n, v in (("L", 1.0), ("g", 9.81), ("m", 1.0))),
        real("x", 1.0, state_select=wishes.get("x", StateSelect.DEFAULT)),
        real("y", 0.0, fixed=False),
        real("vx", 0.0, state_select=wishes.get("vx", StateSelect.DEFAULT)),
        "vy",
        "F",
    ]
    equations = [
        "der(x) = vx",
        "der(y) = vy",
        "m*der(vx) = -F*x/L",
        "m*der(vy) = -F*y/L - m*g",
        "x^2 + y^2 = L^2",
    ]
    return system(variables, equations)


def test_pendulum_has_index_three() -> None:
    result = sort_system(pendulum())
    assert "index 3" in result.notes[0]
    assert result.states == ("x", "y", "vx", "vy")
    position, velocity = result.constraints
    assert position.lhs is parse("x^2 + y^2")
    point = Point(result, {"x": 0.6, "y": -0.8, "vx": 0.8, "vy": 0.6})
    assert point.worst_residual() < 1e-14
    assert point.value(ex.sub(velocity.lhs, velocity.rhs)) == pytest.approx(0.0, abs=1e-15)
    assert point["F"] == pytest.approx(9.81 * 0.8 + 1.0)


def test_pendulum_never_divides_by_a_coordinate() -> None:
    result = sort_system(pendulum())
    for x, y in ((1.0, 0.0), (0.0, -1.0)):
        point = Point(result, {"x": x, "y": y, "vx": -2 * y, "vy": 2 * x})
        assert point["F"] == pytest.approx(4.0 - 9.81 * y)


def test_pendulum_obeys_state_select_always() -> None:
    wish = {"x": StateSelect.ALWAYS, "vx": StateSelect.ALWAYS}
    result = sort_system(pendulum(**wish))
    assert result.states == ("x", "vx")
    assert not result.constraints
    assert "'vy', 'y' follow from the states by stateSelect" in " ".join(result.notes)


def test_angle_is_the_state_where_it_is_there() -> None:
    variables = [parameter("L", 1.0), real("phi", 0.1), "w", "x", "y", "vx", "vy", "F"]
    equations = [
        "x = L*sin(phi)",
        "y = -L*cos(phi)",
        "der(phi) = w",
        "der(x) = vx",
        "der(y) = vy",
        "der(vx) = -F*x",
        "der(vy) = -F*y - 9.81",
    ]
    result = sort_system(system(variables, equations))
    assert result.states == ("phi", "w")
    assert not result.constraints
    point = Point(result, {"phi": 0.4, "w": 0.7})
    assert point.worst_residual() < 1e-13
    assert point["der(w)"] == pytest.approx(-9.81 * np.sin(0.4))


def test_two_capacitors_in_parallel_are_one_state() -> None:
    variables = [
        *(parameter(n, v) for n, v in (("C1", 1.0), ("C2", 2.0), ("R", 3.0))),
        input_("u"),
        real("v1", 0.5),
        *("v2", "i1", "i2", "i"),
    ]
    equations = ["C1*der(v1) = i1", "C2*der(v2) = i2", "v1 = v2", "i = i1 + i2", "u - v1 = R*i"]
    result = sort_system(system(variables, equations))
    assert result.states == ("v1",)
    point = Point(result, {"v1": 0.5, "u": 2.0})
    assert point["der(v1)"] == pytest.approx(1.5 / 3.0 / 3.0)
    assert point.worst_residual() < 1e-14


def gear(**wishes: StateSelect):  # type: ignore[no-untyped-def]
    constants = [parameter("J1", 1.0), parameter("J2", 2.0), parameter("n", 3.0)]
    states = [
        real(v, state_select=wishes.get(v, StateSelect.DEFAULT)) for v in ("p1", "p2", "w1", "w2")
    ]
    equations = [
        "der(p1) = w1",
        "der(p2) = w2",
        "J1*der(w1) = u - t1",
        "J2*der(w2) = t2",
        "p1 = n*p2",
        "t2 = n*t1",
    ]
    return system([*constants, input_("u"), *states, "t1", "t2"], equations)


def test_gear_with_two_inertias_has_one_of_them_as_state() -> None:
    result = sort_system(gear())
    assert len(result.states) == 2
    assert not result.constraints
    point = Point(result, dict.fromkeys(result.states, 1.0) | {"u": 1.0})
    assert point["der(w1)"] == pytest.approx(1.0 / (1.0 + 2.0 / 9.0))
    assert point.worst_residual() < 1e-14


@pytest.mark.parametrize("wish", [StateSelect.PREFER, StateSelect.ALWAYS])
def test_state_select_decides_between_equals(wish: StateSelect) -> None:
    assert sort_system(gear(p2=wish, w2=wish)).states == ("p2", "w2")
    assert sort_system(gear(p1=wish, w1=wish)).states == ("p1", "w1")


@pytest.mark.parametrize("name", ["p1", "w1", "p2", "w2"])
def test_position_and_speed_become_states_together(name: str) -> None:
    number = name[-1]
    states = sort_system(gear(**{name: StateSelect.PREFER})).states
    assert states == (f"p{number}", f"w{number}")


@pytest.mark.parametrize("wish", [StateSelect.AVOID, StateSelect.NEVER])
def test_state_select_keeps_variables_out(wish: StateSelect) -> None:
    assert sort_system(gear(p2=wish, w2=wish)).states == ("p1", "w1")


def test_state_select_always_makes_a_state_of_any_variable() -> None:
    variables = [real("x", 1.0), real("y", state_select=StateSelect.ALWAYS)]
    result = sort_system(system(variables, ["der(x) = -x", "y = 2*x + 1"]))
    assert result.states == ("y",)
    assert result.fixed == {"x"}
    point = Point(result, {"y": 5.0})
    assert point["x"] == 2.0
    assert point["der(y)"] == -4.0
    assert not any("$rate" in str(b) for b in result.blocks)


def test_fixed_start_values_decide_where_nothing_else_does() -> None:
    flat = gear()
    variables = [real(v.name, 0.0) if v.name in ("p2", "w2") else v for v in flat.variables]
    result = sort_system(system(variables, list(flat.equations)))
    assert result.states == ("p2", "w2")


def test_algebraic_loop_of_three_is_one_linear_block() -> None:
    equations = ["a + b = x", "b + 2*c = 1", "c - a = 3*b", "der(x) = a"]
    result = sort_system(system([real("x", 1.0), "a", "b", "c"], equations))
    block, rate = result.blocks
    assert isinstance(block, Block)
    assert block.linear
    assert len(block.torn) == 1
    assert set(block.unknowns) == {"a", "b", "c"}
    assert isinstance(rate, Assignment)
    assert Point(result, {"x": 1.0}).worst_residual() < 1e-14


def test_nonlinear_resistor_is_a_block_of_one() -> None:
    variables = [parameter("R1", 0.5), parameter("R2", 1.0), real("q", 1.0), "i"]
    result = sort_system(system(variables, ["q = R1*i + R2*i^5", "der(q) = -i"]))
    block = result.blocks[0]
    assert isinstance(block, Block)
    assert block.torn == ("i",)
    assert not block.linear
    assert Point(result, {"q": 1.5}).worst_residual() < 1e-12


def test_nonlinear_loop_is_torn_at_the_unknown_that_frees_the_rest() -> None:
    equations = ["v = 5 - i", "i = 0.1*(exp(w) - 1)", "w = v - 2*i", "der(x) = i"]
    result = sort_system(system([real("x", 0.0), "v", "i", "w"], equations))
    block = result.blocks[0]
    assert isinstance(block, Block)
    assert len(block.torn) == 1
    assert Point(result, {"x": 0.0}).worst_residual() < 1e-9


def test_no_division_by_a_parameter_that_is_zero() -> None:
    variables = [parameter("k", 0.0), real("x", 1.0), "a", "b"]
    equations = ["k*a + b = x", "a - b = 2*x", "der(x) = a"]
    result = sort_system(system(variables, equations))
    assert Point(result, {"x": 1.0}).worst_residual() < 1e-14


def test_tearing_avoids_factors_that_may_vanish() -> None:
    equations = ["x*a + b = 1", "a + x*b = 2", "der(x) = a"]
    result = sort_system(system([real("x", 0.0), "a", "b"], equations))
    block = result.blocks[0]
    assert isinstance(block, Block)
    for value in (0.0, 0.5):
        assert Point(result, {"x": value}).worst_residual() < 1e-14


def test_constants_are_followed_through_the_equations() -> None:
    variables = [parameter("p", 2.0), "a", "b", "c", real("x", 0.0)]
    equations = ["a = 0", "b = a*x + p", "c = b + 1", "der(x) = c"]
    result = sort_system(system(variables, equations))
    assert result.aliases["b"] is ex.name("p")
    assert result.aliases["c"] is parse("p + 1")
    assert [b.unknown for b in result.blocks] == ["der(x)"]  # type: ignore[union-attr]


def test_alias_of_time_and_its_derivative() -> None:
    result = sort_system(
        system(["t", "r", real("x", 0.0)], ["t = time", "r = der(t)", "der(x) = t"])
    )
    assert result.aliases["t"] is ex.TIME
    assert result.aliases["r"] is ex.ONE


def test_start_values_pass_on_to_the_alias_that_stays() -> None:
    variables = [real("x"), real("y", -2.0), "z"]
    result = sort_system(system(variables, ["der(x) = z", "y = -x", "z = 1 - x"]))
    assert result.states == ("y",)
    assert result.fixed == {"y"}
    result = sort_system(
        system([real("x", fixed=False), real("y", 3.0, fixed=False)], ["der(x) = -x", "y = -x"])
    )
    assert result.states == ("x",)
    assert result.starts["x"] is ex.const(-3.0)


def test_two_fixed_start_values_for_one_quantity_are_noted() -> None:
    result = sort_system(system([real("x", 1.0), real("y", 2.0)], ["der(x) = -x", "x = y"]))
    assert result.notes == (
        "'y' and 'x' are one quantity with two fixed start values; that of 'x' is taken",
    )


def test_input_takes_the_place_of_its_aliases() -> None:
    result = sort_system(system([input_("u"), "y", real("x", 0.0)], ["y = -u", "der(x) = y"]))
    assert result.aliases["y"] is parse("-u")


def test_prescribed_motion_is_differentiated_twice() -> None:
    variables = [real("x", 0.0, fixed=False), real("z", 0.0, fixed=False), "F"]
    equations = ["der(x)^3 + der(x) = z", "der(z) = F - x", "x = sin(time)"]
    result = sort_system(system(variables, equations))
    assert result.states == ()
    t = 0.3
    speed, acceleration = np.cos(t), -np.sin(t)
    expected = (3 * speed**2 + 1) * acceleration + np.sin(t)
    assert Point(result, {}, time=t)["F"] == pytest.approx(expected, rel=1e-12)


def test_derivative_that_must_stay_a_state() -> None:
    variables = [real("x", 0.5), real("q", 0.0), "v", real("w", 1.0), "F"]
    equations = [
        "der(q) + 0.1*der(q)^3 = w + 0.1*w^3",
        "der(w) = F - x",
        "x^3 + x = q + 0.1*q^3",
        "der(x) = v",
        "der(v) = F",
    ]
    result = sort_system(system(variables, equations))
    assert "$der(q)" in result.states
    q, w = 0.6, 0.2
    x = np.roots([1.0, 0.0, 1.0, -(q + 0.1 * q**3)]).real[-1]
    v = w * (1 + 0.3 * q**2) / (1 + 3 * x**2)
    known = {"q": q, "$der(q)": w, "w": w, "x": x, "v": v}
    point = Point(result, {s: known[s] for s in result.states})
    assert point["der(q)"] == w
    assert point.worst_residual() < 1e-9
    assert all(abs(point.value(ex.sub(c.lhs, c.rhs))) < 1e-9 for c in result.constraints)


def test_initial_equations_and_assertions_lose_their_aliases() -> None:
    flat = system(
        [real("x"), "y"],
        ["der(x) = 1 - x", "y = x"],
        initial=["y = 2"],
        asserts=["y > 0"],
    )
    result = sort_system(flat)
    assert result.initial_equations[0].lhs is ex.name("x")
    assert result.assertions[0].condition is parse("x > 0")


def test_free_parameters_are_left_to_the_initial_equations() -> None:
    flat = system(
        [parameter("p", None), real("x", 1.0)], ["der(x) = -p*x"], initial=["der(x) = -3"]
    )
    result = sort_system(flat)
    assert result.free_parameters == ("p",)
    assert result.parameters == ("p",)
    assert "p" not in result.bindings


def test_parameters_come_after_those_they_need() -> None:
    variables = [
        parameter("a", "2*b"),
        parameter("b", "c + 1"),
        parameter("c", 3.0),
        real("x", 0.0),
    ]
    result = sort_system(system(variables, ["der(x) = a"]))
    assert result.parameters == ("c", "b", "a")


def test_unconnected_flow_makes_room_for_an_input() -> None:
    equations = [
        equation("C*der(v) = i"),
        equation("i = p.i"),
        equation("p.v = v"),
        equation("p.i = 0", "unconnected flow"),
    ]
    flat = system(
        [parameter("C", 2.0), real("v", 0.0, fixed=False), "i", "p.v", "p.i", "w"],
        [*equations, "w = der(i)"],
    )
    plain = sort_system(flat)
    assert plain.states == ("v",)
    filtered = system(
        [parameter("R", 2.0), "v", "i", "p.v", "p.i"],
        [equation("v = R*i"), *equations[1:]],
    )
    turned = sort_system(filtered, inputs=["p.v"])
    assert turned.inputs == ("p.v",)
    point = Point(turned, {"p.v": 3.0})
    assert point["p.i"] == pytest.approx(1.5)


def resistor_grid(m: int):  # type: ignore[no-untyped-def]
    """m by m nodes joined by resistors, fed at one corner and grounded at the other."""
    names, equations = ["v[0,0]"], ["der(x) = v[0,0] - x", f"v[{m - 1},{m - 1}] = 0*x"]
    flows: dict[tuple[int, int], list[str]] = {(i, j): [] for i in range(m) for j in range(m)}
    for i, j in flows:
        if (i, j) != (0, 0):
            names.append(f"v[{i},{j}]")
        for a, b in ((i + 1, j), (i, j + 1)):
            if a < m and b < m:
                current = f"i[{i},{j},{a},{b}]"
                names.append(current)
                equations.append(f"R*{current} = v[{i},{j}] - v[{a},{b}]")
                flows[i, j].append(f"- {current}")
                flows[a, b].append(f"+ {current}")
    for (i, j), terms in flows.items():
        if (i, j) != (m - 1, m - 1):
            source = "x - v[0,0]" if (i, j) == (0, 0) else "0"
            equations.append(f"{source} {' '.join(terms)} = 0")
    return system([parameter("R", 1.0), real("x", 1.0), *names], equations)


def test_large_linear_block_does_not_drown_in_rounding() -> None:
    result = sort_system(resistor_grid(14))
    (block,) = [b for b in result.blocks if isinstance(b, Block)]
    assert block.linear
    assert len(block.torn) < 0.4 * len(block.unknowns)
    assert Point(result, {"x": 1.0}).worst_residual() < 1e-6


def test_five_thousand_equations_take_seconds() -> None:
    n = 1000
    variables = [parameter("C", 1.0), parameter("G", 2.0)]
    equations: list[str] = []
    for k in range(n):
        variables += [real(f"c{k}.T", 1.0), *(f"{q}{k}" for q in ("c.Q", "k.a", "k.b", "k.q"))]
        following = f"c{k + 1}.T" if k + 1 < n else "0"
        before = f"k.q{k - 1} - " if k else "-"
        equations += [f"C*der(c{k}.T) = c.Q{k}", f"k.q{k} = G*(k.a{k} - k.b{k})"]
        equations += [f"k.a{k} = c{k}.T", f"k.b{k} = {following}", f"c.Q{k} = {before}k.q{k}"]
    flat = system(variables, equations)
    begin = time.process_time()
    result = sort_system(flat)
    assert time.process_time() - begin < 10.0
    assert len(result.states) == n
