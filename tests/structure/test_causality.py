"""Components taken alone: which variables can be inputs, and what is said of those that cannot."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.components import SOURCE

import estimica as es
from estimica.base.errors import EstimicaError, StructureError
from estimica.base.signals import Hold
from estimica.simulate.modelica.model import ModelicaModel


def load(name: str, *inputs: str, **options: object) -> ModelicaModel:
    return es.load_model(SOURCE, f"Parts.{name}", inputs=inputs, **options)  # type: ignore[arg-type,call-overload,no-any-return]


def refused(name: str, *inputs: str, **options: object) -> str:
    with pytest.raises(StructureError) as error:
        load(name, *inputs, **options)
    return str(error.value)


def at(model: ModelicaModel, inputs: dict[str, object], *outputs: str) -> list[float]:
    return [float(v) for v in model.simulate([0.0], inputs, outputs=outputs).values[0]]


def test_a_resistor_driven_by_its_current_and_grounded() -> None:
    model = load("Resistor", "i", "n.v")
    assert set(model.inputs.index) == {"i", "n.v"}
    assert at(model, {"i": 3.0, "n.v": 1.0}, "v", "p.v", "n.i") == [6.0, 7.0, -3.0]


def test_any_admissible_choice_gives_the_same_point() -> None:
    point = {"p.v": 7.0, "n.v": 1.0, "v": 6.0, "i": 3.0, "p.i": 3.0, "n.i": -3.0}
    for names in (
        es.load_model(SOURCE, "Parts.Resistor", inputs=["i", "n.v"]).choose_inputs().proposals
    ):
        model = load("Resistor", *names)
        found = at(model, {n: point[n] for n in names}, *point)
        assert found == pytest.approx(list(point.values()))


def test_a_parameter_becomes_the_unknown() -> None:
    model = load("Resistor", "v", "i", "n.v", unknowns=["R"])
    assert at(model, {"v": 6.0, "i": 1.5, "n.v": 0.0}, "R", "G", "p.v") == [4.0, 0.25, 6.0]
    assert "made unknowns: R" in model.notes


def test_a_relation_is_left_out_by_its_text_or_by_a_name_in_it() -> None:
    for name in ("v = R*i", "v=R*i;", "R"):
        model = load("Resistor", "v", "i", "n.v", leave_out=[name])
        assert at(model, {"v": 6.0, "i": 1.0, "n.v": 2.0}, "p.v", "n.i") == [8.0, -1.0]


def test_tied_variables_are_refused_with_the_equation_that_ties_them() -> None:
    assert refused("Resistor", "p.v", "n.v", "v") == (
        "E204: 'Parts.Resistor' needs 2 inputs, not 3: 'p.v', 'n.v', 'v'; 'p.v', 'n.v' and 'v' are "
        "tied to each other by equation 'v = p.v - n.v' (line 17); possible: p.v, n.v; "
        "or p.v, v; or n.v, p.i; or p.v, n.i"
    )


def test_what_is_left_undetermined_is_told() -> None:
    message = refused("Resistor", "p.v", "n.v", "v", leave_out=["v = R*i"])
    assert "needs 3 inputs, but these do not go together" in message
    assert "tied to each other by equation 'v = p.v - n.v'" in message
    assert "1 of 'p.i', 'n.i' and 'i' is left undetermined" in message


def test_two_flows_leave_the_potential_open() -> None:
    message = refused("Resistor", "p.i", "n.i")
    assert "'p.i' and 'n.i' are tied to each other by equation '0 = p.i + n.i'" in message
    assert "1 of 'p.v' and 'n.v' is left undetermined" in message


def test_too_few_inputs_are_counted() -> None:
    assert "needs 2 inputs, not 1: 'i'; 1 of 'p.v' and 'n.v' is left undetermined" in (
        refused("Resistor", "i")
    )


def test_a_component_without_inputs_is_told_which_it_needs() -> None:
    message = refused("Resistor")
    assert message.endswith(
        "taken alone, as a component, it needs 2 inputs: choose p.v, n.v; or p.i, n.v; or "
        "p.v, n.i; or n.v, v"
    )


def test_proposals_prefer_what_is_measured() -> None:
    model = load("Resistor", "i", "n.v")
    assert model.choose_inputs(["v"]).proposals[0] == ("v", "n.v")
    assert model.choose_inputs(["n.i", "p.v"]).proposals[0] == ("p.v", "n.i")
    choice = model.choose_inputs()
    assert choice.needed == 2
    assert choice.connectors == ("p", "n")


def test_proposals_of_a_line_of_components() -> None:
    model = load("Line", "a.p", "b.p")
    choice = model.choose_inputs(["second.m"])
    assert choice.needed == 2
    assert choice.proposals[0] == ("second.m", "b.p")
    (flow, middle) = at(
        load("Line", "second.m", "b.p"), {"second.m": 1.0, "b.p": 0.0}, "a.m", "a.p"
    )
    assert flow == pytest.approx(1.0)
    assert middle == pytest.approx(50.0**2 + 1.5 + (1 / 0.03) ** 2 + 1.5)


def test_the_flow_of_an_unconnected_component_stays_zero() -> None:
    source = (
        SOURCE.replace("end Parts;", "")
        + """
      model Half
        Pin a;
        Resistor r;
        Resistor loose;
      equation
        connect(a, r.p);
        r.n.v = 0;
        loose.n.v = 0;
      end Half;
    end Parts;
    """
    )
    model = es.load_model(source, "Parts.Half", inputs=["a.v"])
    assert at(model, {"a.v": 4.0}, "a.i", "loose.i") == [2.0, 0.0]


def test_names_that_cannot_become_inputs() -> None:
    assert refused("Resistor", "n.w", "i") == (
        "E203: 'n.w' cannot become an input: the model has no such variable; "
        "did you mean 'n.v' or 'n.i'?"
    )
    assert refused("Resistor", "R", "i") == (
        "E203: 'R' cannot become an input: it is a parameter; give it a value instead"
    )


def test_a_text_is_one_name() -> None:
    model = load("Resistor", "v", "i", "n.v", leave_out="v = R*i")
    assert at(model, {"v": 6.0, "i": 1.0, "n.v": 2.0}, "p.v") == [8.0]
    assert es.load_model(SOURCE, "Parts.Tube", inputs="T_in").inputs.index[0] == "T_in"
    assert refused("Resistor", 1) == "E203: inputs: 1 is not a name; write it in quotes"  # type: ignore[arg-type]


def test_names_that_cannot_be_computed_or_left_out() -> None:
    assert refused("Resistor", "i", "n.v", unknowns=["RR"]).startswith(
        "E205: 'RR' cannot be computed: the model has no such parameter; did you mean 'R'"
    )
    assert refused("Resistor", "i", "n.v", unknowns=["v"]) == (
        "E205: 'v' cannot be computed: it is a variable already, ask for it as an output"
    )
    assert "of type Integer" in refused("Tube", unknowns=["cells"])
    assert refused("Resistor", "i", "n.v", leave_out=["v"]) == (
        "E206: leave_out 'v' stands in 2 equations; write the one that does not hold: "
        '"v = p.v - n.v"; "v = R*i"'
    )
    assert refused("Resistor", "i", "n.v", leave_out=["w = 3"]).startswith(
        "E206: leave_out: no equation reads 'w = 3', and no variable is called so"
    )


def test_a_driven_state_takes_its_derivative_from_the_hold() -> None:
    model = load("Capacitor", "v", "n.v")
    assert list(model.states.index) == []
    assert "der(v)" not in model.inputs.index
    v = {"time": [0.0, 1.0, 2.0], "value": [0.0, 2.0, 3.0], "hold": "linear"}
    found = model.simulate([0.5, 1.5], {"v": v, "n.v": 1.0}, outputs=["i", "p.v"], begin=0.0)
    np.testing.assert_allclose(found.values, [[4.0, 2.0], [2.0, 3.5]])


def test_a_driven_state_that_jumps_is_refused() -> None:
    model = load("Capacitor", "v", "n.v")
    with pytest.raises(EstimicaError, match="M160: input 'v': the model needs its derivative, and"):
        model.simulate([0.0, 1.0], {"v": ([0.0, 1.0], [0.0, 2.0])})


def test_index_reduction_differentiates_driven_variables() -> None:
    model = load("Capacitor", "p.v", "n.v")
    p = {"time": [0.0, 2.0], "value": [1.0, 5.0], "hold": "linear"}
    found = model.simulate([1.0], {"p.v": p, "n.v": 1.0}, outputs=["i", "v"], begin=0.0)
    np.testing.assert_allclose(found.values, [[4.0, 2.0]])


def test_a_state_that_is_not_driven_stays_one() -> None:
    model = load("Capacitor", "i", "n.v")
    assert list(model.states.index) == ["v"]
    found = model.simulate([0.0, 2.0], {"i": 3.0, "n.v": 0.0}, start={"v": 1.0}, outputs=["p.v"])
    np.testing.assert_allclose(found.values[:, 0], [1.0, 4.0], rtol=1e-6)


def test_a_model_with_another_causality_travels() -> None:
    model = pickle.loads(pickle.dumps(load("Resistor", "v", "i", "n.v", unknowns=["R"])))
    assert at(model, {"v": 6.0, "i": 1.5, "n.v": 0.0}, "R") == [4.0]


def test_variants_for_other_inputs_are_kept() -> None:
    model = load("Resistor", "i", "n.v")
    assert model.driven_by(["i", "n.v"]) is model
    other = model.driven_by(["v", "n.v"])
    assert other is model.driven_by(["n.v", "v"])
    assert at(other, {"v": 6.0, "n.v": 0.0}, "i") == [3.0]


def test_the_derivative_of_an_input_under_another_name_is_refused_by_equation() -> None:
    text = "model M\n  input Real u;\n  Real w;\n  output Real a;\nequation\n  w = u;\n  a = der(w);\nend M;"
    with pytest.raises(StructureError, match=r"E302: equation 'a = der\(w\)' .*line 7.* input 'u'"):
        es.load_model(text)


def test_the_derivative_of_a_chosen_input_is_its_slope() -> None:
    text = "model M\n  Real u;\n  Real w;\n  Real a;\nequation\n  w = u;\n  a = der(w);\nend M;"
    ramp = es.Signal(np.array([0.0, 1.0]), np.array([0.0, 3.0]), Hold.LINEAR)
    for name in ("u", "w"):
        model = es.load_model(text, inputs=[name])
        slope = model.simulate([0.0, 0.5, 0.9], {name: ramp}, outputs=["a"]).value("a")
        np.testing.assert_allclose(slope, 3.0)
    assert {name for p in model.choose_inputs().proposals for name in p} == {"u", "w", "a"}
