"""Relations, whens and everything else that happens at events."""

from __future__ import annotations

import math

import pytest
from tests.structure.building import (
    boolean,
    discrete,
    input_,
    integer,
    parameter,
    parse,
    real,
    system,
    when,
)
from tests.structure.interpreter import Interpreter

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.system import Kind, Variable
from estimica.structure.sort import sort_system

MODE = [ex.node("mode", i) for i in range(4)]


# -- relations -----------------------------------------------------------------------------------


def value_of(result, unknown: str):  # type: ignore[no-untyped-def]
    """The right-hand side of an assignment of the blocks or the logical equations."""
    everything = (*result.blocks, *result.logical_equations, *result.memory_equations)
    return next(a.value for a in everything if a.unknown == unknown)


def test_relation_becomes_a_mode_with_its_difference() -> None:
    result = sort_system(system([real("x", 1.0)], ["der(x) = -x if x > 0.5 else 1"]))
    (relation,) = result.relations
    assert relation.difference is parse("x - 0.5")
    assert relation.strict
    assert relation.instant is None
    assert value_of(result, "der(x)") is ex.conditional(MODE[0], parse("-x"), ex.ONE)


@pytest.mark.parametrize(
    ("text", "difference", "strict"),
    [
        ("x > y", "x - y", True),
        ("x >= y", "x - y", False),
        ("x < y", "y - x", True),
        ("x <= y", "y - x", False),
    ],
)
def test_relations_are_normalised(text: str, difference: str, strict: bool) -> None:
    flat = system(
        [real("x", 0.0), real("y", 0.0), boolean("b")], ["der(x) = 1", "der(y) = 2", f"b = {text}"]
    )
    (relation,) = sort_system(flat).relations
    assert relation.difference is parse(difference)
    assert relation.strict is strict


def test_equal_and_opposite_relations_share_one_mode() -> None:
    names = ["a", "b", "c", "d"]
    equations = ["a = x > 1", "b = x <= 1", "c = 1 < x", "d = not (x > 1)"]
    result = sort_system(system([real("x", 0.0), *map(boolean, names)], ["der(x) = 1", *equations]))
    assert len(result.relations) == 1
    assert value_of(result, "a") is value_of(result, "c") is MODE[0]
    assert value_of(result, "b") is value_of(result, "d") is ex.logical_not(MODE[0])


@pytest.mark.parametrize(
    "text",
    [
        "noEvent(1 if x > 1 else 2)",
        "smooth(x - 1 if x > 1 else 0, 0)",
        "noEvent(floor(x) + sign(x))",
    ],
)
def test_no_event_inside_no_event_and_smooth(text: str) -> None:
    variables = [real("x", 0.0), real("s", 0.0), "y"]
    result = sort_system(system(variables, ["der(x) = 1", "der(s) = y", f"y = {text}"]))
    assert result.relations == ()
    assert result.logicals == ()
    outside = text.removeprefix("noEvent").removeprefix("smooth").replace(", 0)", ")")
    eventful = sort_system(system(variables, ["der(x) = 1", "der(s) = y", f"y = {outside}"]))
    assert eventful.relations


@pytest.mark.parametrize("text", ["1 if x > 1 else 2", "mod(x, 3)", "floor(x) + sign(x)"])
def test_what_is_only_looked_at_makes_no_event(text: str) -> None:
    variables = [real("x", 0.0), "y", "z"]
    looked_at = sort_system(system(variables, ["der(x) = 1", f"y = {text}", "z = 2 * y"]))
    assert looked_at.relations == looked_at.logicals == ()
    deciding = [*variables, boolean("b")]
    decides = sort_system(system(deciding, ["der(x) = 1", f"y = {text}", "z = 2 * y", "b = z > 1"]))
    assert len(decides.relations) > 1


def test_the_time_makes_events_for_what_is_only_looked_at() -> None:
    equations = ["der(x) = 1", "y = 1 if time > 1 else x"]
    (relation,) = sort_system(system([real("x", 0.0), "y"], equations)).relations
    assert relation.instant is not None


def test_parameter_relations_stay_expressions() -> None:
    flat = system([parameter("p", 1.0), real("x", 0.0)], ["der(x) = 1 if p > 2 else x"])
    result = sort_system(flat)
    assert result.relations == ()
    assert value_of(result, "der(x)") is parse("1 if p > 2 else x")


def test_relations_of_discrete_things_stay_expressions() -> None:
    flat = system(
        [real("x", 0.0), discrete("m", start=0.0), integer("k", 0.0), boolean("b")],
        ["der(x) = 1", "b = k > 2 and m > 0.5"],
        whens=[when(("x > 1", ["m = 2*x", "k = pre(k) + 1"]))],
    )
    result = sort_system(flat)
    assert len(result.relations) == 1
    assert value_of(result, "b") is parse("k > 2 and m > 0.5")


@pytest.mark.parametrize(
    ("text", "instant", "negated"),
    [
        ("time >= T", "T", False),
        ("T <= time", "T", False),
        ("time > T", "T", False),
        ("time < T", "T", True),
        ("T > time", "T", True),
        ("time - T > 0", "T", False),
        ("2*time > T", "T/2", False),
        ("-2*time > T", "-T/2", True),
        ("(time - T)/4 >= 1", "(1 + T/4)*4", False),
    ],
)
def test_time_relations_know_their_instant(text: str, instant: str, negated: bool) -> None:
    flat = system([parameter("T", 3.0), boolean("b")], [f"b = {text}"])
    result = sort_system(flat)
    (relation,) = result.relations
    assert relation.instant is not None
    values = {"T": 3.0}
    assert evaluate(relation.instant, values) == evaluate(parse(instant), values)
    assert value_of(result, "b") is (ex.logical_not(MODE[0]) if negated else MODE[0])


def test_sign_of_a_parameter_factor_is_decided_at_run_time() -> None:
    for a, truth in ((2.0, False), (-2.0, True), (0.0, True)):
        flat = system([parameter("a", a), boolean("b")], ["b = a*time > 3*a - 0.1"])
        run = Interpreter(sort_system(flat), start=1.0)
        assert run["b"] == truth, a


def test_time_relation_with_a_moving_partner_is_a_state_relation() -> None:
    result = sort_system(system([real("x", 0.0), boolean("b")], ["der(x) = 2", "b = time > x"]))
    assert result.relations[0].instant is None


def test_equality_of_reals_makes_no_event_but_a_note() -> None:
    variables = [real("x", 0.0), real("s", 0.0)]
    equations = ["der(x) = 1", "der(s) = 1 if x == 2 else 0"]
    result = sort_system(system(variables, equations))
    assert result.relations == ()
    assert "equality makes no event" in result.notes[0]


def test_input_relation_is_a_state_relation_boolean_input_is_none() -> None:
    flat = system(
        [input_("u"), input_("on", Kind.BOOLEAN), boolean("b"), boolean("c")],
        ["b = u > 0.5", "c = not on"],
    )
    result = sort_system(flat)
    assert len(result.relations) == 1
    assert value_of(result, "c") is parse("not on")


# -- functions with jumps ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("floor(x)", math.floor),
        ("integer(x)", math.floor),
        ("ceil(x)", math.ceil),
        ("mod(x, 0.75)", lambda x: x - 0.75 * math.floor(x / 0.75)),
        ("rem(x, 0.75)", lambda x: math.fmod(x, 0.75)),
        ("idiv(x, 0.75)", lambda x: float(int(x / 0.75))),
        ("sign(x)", lambda x: (x > 0) - (x < 0)),
    ],
)
@pytest.mark.parametrize(("start", "rate"), [(-2.3, 1.0), (2.3, -1.0)])
def test_stepwise_functions_follow_their_argument(text, function, start, rate) -> None:  # type: ignore[no-untyped-def]
    flat = system([real("x", start), "y"], [f"der(x) = {rate}", f"y = {text}"])
    run = Interpreter(sort_system(flat))
    for stop in (0.11, 1.0, 1.83, 2.45, 4.1, 4.61):
        run.run(stop, step=0.25)
        assert run["y"] == pytest.approx(function(start + rate * stop), abs=1e-9), stop


def test_stepwise_function_of_time_is_a_time_event() -> None:
    period = Variable("P", variability="parameter", binding=ex.const(0.4), minimum=ex.const(1e-9))  # type: ignore[arg-type]
    flat = system(
        [period, real("x", 0.0), integer("n")], ["der(x) = n", "n = integer((time - 0.1)/P)"]
    )
    result = sort_system(flat)
    assert all(r.instant is not None for r in result.relations)
    run = Interpreter(result).run(2.0)
    assert run["n"] == 4
    expected = -0.1 + sum(0.4 * k for k in range(4)) + 4 * 0.3
    assert run["x"] == pytest.approx(expected)


def test_stepwise_functions_of_discrete_arguments_stay() -> None:
    flat = system(
        [integer("k", 0.0), integer("h"), real("x", 0.0)],
        ["der(x) = h", "h = mod(k, 2)"],
        whens=[when(("x > 1", ["k = pre(k) + 1"]))],
    )
    assert value_of(sort_system(flat), "h") is parse("mod(k, 2)")


# -- whens ---------------------------------------------------------------------------------------


def thermostat():  # type: ignore[no-untyped-def]
    return system(
        [real("T", 18.0), boolean("on", 1.0)],
        ["der(T) = (5 if on else 0) - 0.1*(T - 10)", "on = T < 20 or pre(on) and T < 22"],
    )


def test_thermostat_switches_with_hysteresis() -> None:
    result = sort_system(thermostat())
    assert len(result.relations) == 2
    run = Interpreter(result)
    run.run(20.0, step=0.1)
    pairs = zip(run.log[1:], run.log[2:], strict=False)
    switches = [t for (_, old), (t, new) in pairs if old["on"] != new["on"]]
    heat = 10 * math.log((18 - 60) / (22 - 60))
    cool = 10 * math.log(12 / 10)
    again = 10 * math.log((20 - 60) / (22 - 60))
    assert switches[0] == pytest.approx(heat, rel=1e-6)
    assert switches[1] == pytest.approx(heat + cool, rel=1e-6)
    assert switches[2] == pytest.approx(heat + cool + again, rel=1e-6)


def test_bouncing_ball_reverses_its_speed() -> None:
    flat = system(
        [parameter("e", 0.8), real("h", 1.0), real("v", 0.0), integer("n", 0.0)],
        ["der(h) = v", "der(v) = -9.81"],
        whens=[when(("h <= 0", ["reinit(v, -e*pre(v))", "n = pre(n) + 1"]))],
    )
    result = sort_system(flat)
    (reinit,) = result.reinits
    assert reinit.state == "v"
    assert reinit.value is parse("-e*pre(v)")
    run = Interpreter(result).run(1.0)
    fall = math.sqrt(2 / 9.81)
    assert run["n"] == 1
    assert run["v"] == pytest.approx(0.8 * 9.81 * fall - 9.81 * (1.0 - fall), rel=1e-9)


def test_sampled_controller_fires_at_its_instants() -> None:
    flat = system(
        [parameter("Ts", 0.1), real("x", 1.0), discrete("u", start=0.0), integer("n", 0.0)],
        ["der(x) = u"],
        whens=[when(("sample(0, Ts)", ["u = -2*x", "n = pre(n) + 1"]))],
    )
    result = sort_system(flat)
    assert result.memories == ("u",)
    assert result.relations[0].instant is ex.mul(ex.name("$tick1"), ex.name("Ts"))
    run = Interpreter(result).run(0.95)
    assert run["n"] == 10
    assert run["x"] == pytest.approx(0.8**9 * (1 - 0.2 * 0.5))


def test_sample_starts_at_its_first_instant_after_the_start() -> None:
    flat = system(
        [integer("n", 0.0), parameter("s", -1.05), real("x", 0.0)],
        ["der(x) = 0"],
        whens=[when(("sample(s, 0.5)", ["n = pre(n) + 1"]))],
    )
    run = Interpreter(sort_system(flat), start=2.0)
    assert run["n"] == 0
    assert run._next_instant() == pytest.approx(2.45)
    assert run.run(3.0)["n"] == 2


def test_two_samples_that_meet_fire_together() -> None:
    flat = system(
        [discrete("a", start=0.0), discrete("b", start=0.0), real("x", 0.0)],
        ["der(x) = 1"],
        whens=[when(("sample(0, 0.1)", ["a = pre(a) + 1"])), when(("sample(0, 0.3)", ["b = a"]))],
    )
    run = Interpreter(sort_system(flat)).run(0.95)
    assert run["b"] == 10


def test_nothing_fires_at_the_start_without_initial() -> None:
    flat = system(
        [real("x", 2.0), integer("n", 0.0), integer("m", 0.0)],
        ["der(x) = -1"],
        whens=[
            when(("x > 1", ["n = pre(n) + 1"])),
            when((["initial()", "x < 1"], ["m = pre(m) + 1"])),
        ],
    )
    run = Interpreter(sort_system(flat))
    assert run["n"] == 0
    assert run["m"] == 1
    run.run(1.5)
    assert run["n"] == 0
    assert run["m"] == 2


def test_initial_or_condition_counts_as_two_conditions() -> None:
    flat = system(
        [real("x", 0.0), integer("n", 0.0)],
        ["der(x) = 1"],
        whens=[when(("initial() or x > 1", ["n = pre(n) + 1"]))],
    )
    run = Interpreter(sort_system(flat))
    assert run["n"] == 1
    assert run.run(2.0)["n"] == 2


def test_elsewhen_gives_way_to_the_first_branch() -> None:
    flat = system(
        [real("x", 0.0), integer("n", 0.0), integer("m", 0.0)],
        ["der(x) = 1"],
        whens=[
            when(("time >= 1", ["n = 10"]), ("time >= 1", ["n = 20"]), ("x > 2", ["n = 30"])),
            when(("x > 5", ["m = 1"]), ("time >= 1", ["m = 2"])),
        ],
    )
    run = Interpreter(sort_system(flat)).run(1.5)
    assert run["n"] == 10
    assert run["m"] == 2
    assert run.run(2.5)["n"] == 30


def test_edge_and_change() -> None:
    flat = system(
        [
            real("x", 0.0),
            boolean("b"),
            integer("edges", 0.0),
            integer("changes", 0.0),
        ],
        ["der(x) = 1", "b = sin(3*x) > 0.5"],
        whens=[
            when(("edge(b)", ["edges = pre(edges) + 1"])),
            when(("change(b)", ["changes = pre(changes) + 1"])),
        ],
    )
    run = Interpreter(sort_system(flat)).run(4.0, step=0.02)
    assert run["edges"] == 2
    assert run["changes"] == 4


def test_edge_of_a_boolean_input() -> None:
    flat = system(
        [input_("on", Kind.BOOLEAN), integer("n", 0.0), real("x", 0.0)],
        ["der(x) = 1"],
        whens=[
            when(("on", ["n = pre(n) + 1"])),
        ],
    )
    run = Interpreter(sort_system(flat), inputs=lambda t: {"on": float(0.5 <= t < 1 or t >= 2)})
    for t in (0.5, 1.0, 1.5, 2.0):
        run.run(t)
        run.time = t
        run.event()
    assert run["n"] == 2


def test_pre_in_continuous_equations_is_the_value_before_the_event() -> None:
    flat = system(
        [real("x", 0.0), discrete("m", start=1.0), "y"],
        ["der(x) = 1", "y = x + 10*pre(m)"],
        whens=[when(("x > 1", ["m = y"]))],
    )
    result = sort_system(flat)
    assert result.memories == ("m", "$pre(m)")
    assert result.starts["$pre(m)"] is ex.ONE
    run = Interpreter(result).run(1.5)
    assert run["m"] == pytest.approx(11.0)
    assert run["y"] == pytest.approx(1.5 + 110.0)


def test_pre_of_an_algebraic_variable_is_written_out() -> None:
    flat = system(
        [real("x", 0.0), "y", boolean("up"), discrete("m", start=0.0)],
        ["der(x) = 1", "y = 3*x if up else 2*x", "up = x > 1"],
        whens=[when(("up", ["m = pre(y)"]))],
    )
    result = sort_system(flat)
    assert Interpreter(result).run(1.5)["m"] == pytest.approx(2.0)


def test_pre_of_a_variable_from_a_block_is_refused() -> None:
    flat = system(
        [real("x", 0.5), "y", discrete("m", start=0.0)],
        ["der(x) = 1", "y + y^3 = x"],
        whens=[when(("x > 1", ["m = pre(y)"]))],
    )
    with pytest.raises(StructureError) as error:
        sort_system(flat)
    assert str(error.value) == (
        "E406: pre(y) cannot be evaluated: 'y' is neither a state nor discrete, and it is found by "
        "solving several equations together; store it in a discrete variable"
    )


def test_discrete_real_with_a_plain_equation_and_its_past() -> None:
    flat = system(
        [real("x", 0.0), boolean("b"), discrete("m", start=5.0)],
        ["der(x) = 1", "b = x > 1", "m = x if edge(b) else pre(m)"],
    )
    result = sort_system(flat)
    assert result.memories == ("m",)
    run = Interpreter(result)
    assert run["m"] == 5.0
    assert run.run(2.0)["m"] == pytest.approx(1.0)


def test_reinit_of_an_alias_sets_the_state() -> None:
    flat = system(
        [real("v", 1.0), "w"], ["der(v) = -1", "w = -v"], whens=[when(("v < 0", ["reinit(w, -3)"]))]
    )
    result = sort_system(flat)
    assert result.reinits[0].state == "v"
    assert Interpreter(result).run(1.5)["v"] == pytest.approx(2.5)


def test_reinit_of_something_else_is_refused() -> None:
    flat = system(
        [real("x", 1.0), "y"],
        ["der(x) = -1", "y = 2*x + 1"],
        whens=[when(("x < 0", ["reinit(y, 1)"]))],
    )
    with pytest.raises(StructureError) as error:
        sort_system(flat)
    assert str(error.value) == (
        "E407: when 'reinit(y, 1)': 'y' is not a state, so it cannot be set; "
        "reinit the state that it follows from"
    )


def test_two_whens_for_one_variable_are_refused() -> None:
    flat = system(
        [real("x", 1.0), integer("n", 0.0)],
        ["der(x) = -1"],
        whens=[when(("x < 0", ["n = 1"])), when(("x < 1", ["n = 2"]))],
    )
    with pytest.raises(StructureError, match=r"E403: 'n' is assigned in two .* elsewhen"):
        sort_system(flat)


def test_delay_becomes_a_signal() -> None:
    flat = system([parameter("T", 0.5), real("x", 1.0), "y"], ["y = delay(2*x, T)", "der(x) = -y"])
    (delay,) = sort_system(flat).delays
    assert delay.name == "$delay1"
    assert delay.expression is parse("2*x")
    assert delay.duration is ex.name("T")


def test_homotopy_is_kept_where_it_needs_nothing_new() -> None:
    kept = system([real("x", 1.0), "y"], ["der(x) = -y", "0 = homotopy(y^3 + y - x, y - x)"])
    block = sort_system(kept).blocks[0]
    assert any(e.op == "homotopy" for e in ex.walk(block.residuals[0]))  # type: ignore[union-attr]
    named = ["der(x) = -y", "0 = homotopy(y^3 + y - x, y - z)", "z = w/2", "w = 4*y"]
    block = sort_system(system([real("x", 1.0), "y", "z", "w"], named)).blocks[0]
    assert any(e.op == "homotopy" for e in ex.walk(block.residuals[0]))  # type: ignore[union-attr]
    foreign = ["der(x) = -y", "0 = homotopy(y^3 + y - x, y - z)", "0 = z^3 + z - 2*y"]
    block = sort_system(system([real("x", 1.0), "y", "z"], foreign)).blocks[0]
    assert not any(e.op == "homotopy" for e in ex.walk(block.residuals[0]))  # type: ignore[union-attr]


# -- logical equations ---------------------------------------------------------------------------


def test_logical_equations_are_solved_for_their_variable_in_order() -> None:
    flat = system(
        [real("x", 0.0), boolean("a"), boolean("b"), boolean("c"), integer("k")],
        ["der(x) = k", "c = b and a", "not b = x > 2", "a = x > 1", "k - 1 = 2 if c else 3"],
    )
    result = sort_system(flat)
    order = [a.unknown for a in result.logical_equations]
    assert order.index("c") > order.index("a")
    assert value_of(result, "b") is ex.logical_not(ex.node("mode", 0))
    run = Interpreter(result)
    assert run["k"] == 4
    assert run.run(0.4)["k"] == 3


def test_boolean_aliases_and_constants_leave() -> None:
    flat = system(
        [boolean("a"), boolean("b"), boolean("c"), real("x", 0.0)],
        ["der(x) = 1", "a = x > 1", "b = a", "c = true"],
    )
    result = sort_system(flat)
    assert result.logicals == ("a",)
    assert result.aliases["b"] is ex.name("a")
    assert result.aliases["c"] is ex.ONE


def test_implicit_logical_equation_is_refused() -> None:
    flat = system(
        [boolean("a"), boolean("b"), real("x", 0.0)],
        ["der(x) = 1", "(a or b) = x > 1", "(a and b) = x > 2"],
    )
    with pytest.raises(StructureError) as error:
        sort_system(flat)
    assert str(error.value) == (
        "E404: equation '(a or b) = x > 1' does not give 'a' explicitly; write it as a = ..."
    )


def test_initial_equations_give_discrete_variables_their_start() -> None:
    flat = system(
        [parameter("p", 3.0), real("x", 2.0), discrete("m"), integer("n"), boolean("b", 0.0)],
        ["der(x) = 1"],
        initial=["pre(m) = 2*p", "n = 4", "b = x > 1"],
        whens=[when(("x > 5", ["m = 0", "n = pre(n) + 1", "b = false"]))],
    )
    result = sort_system(flat)
    assert result.starts["m"] is parse("2*p")
    assert result.starts["n"] is ex.const(4.0)
    assert result.initial_equations == ()
    assert Interpreter(result)["b"] == 1.0


def test_condition_on_its_own_target_takes_the_previous_value() -> None:
    flat = system(
        [discrete("due", start=0.25), integer("n", 0.0), real("x", 0.0)],
        ["der(x) = 1"],
        whens=[when(("time >= due", ["due = pre(due) + 0.5", "n = pre(n) + 1"]))],
    )
    result = sort_system(flat)
    assert result.notes == ("the condition of when 'when' takes the previous value of 'due'",)
    assert Interpreter(result).run(1.5)["n"] == 3
