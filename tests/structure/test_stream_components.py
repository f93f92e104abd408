"""Components with stream connectors taken alone: what flows in is an input where it matters."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import StructureError

PARTS = """
package Streams
  connector Port
    Real p(unit = "Pa");
    flow Real m_flow(unit = "kg/s");
    stream Real h_outflow(unit = "J/kg");
  end Port;
  partial model TwoPort
    Port a;
    Port b;
    Real dp = a.p - b.p;
    Real m_flow = a.m_flow;
  equation
    a.m_flow + b.m_flow = 0;
  end TwoPort;
  model Valve "m_flow does not depend on the enthalpy, T_in does"
    extends TwoPort;
    parameter Real Kv = 2e-5;
    parameter Real rho = 1000;
    Real T_in;
  equation
    m_flow = Kv*sqrt(rho*dp);
    a.h_outflow = inStream(b.h_outflow);
    b.h_outflow = inStream(a.h_outflow);
    T_in = inStream(a.h_outflow)/4180;
  end Valve;
  model Warm "Lighter where it is warm"
    extends TwoPort;
    parameter Real Kv = 2e-5;
    Real rho = 1000 - 1e-3*inStream(a.h_outflow);
  equation
    m_flow = Kv*sqrt(rho*dp);
    a.h_outflow = inStream(b.h_outflow);
    b.h_outflow = inStream(a.h_outflow);
  end Warm;
  model Heater "Warms what comes from either side"
    extends TwoPort;
    parameter Real Q = 4180;
  equation
    dp = 0;
    a.h_outflow = inStream(b.h_outflow) - Q/m_flow;
    b.h_outflow = inStream(a.h_outflow) + Q/m_flow;
  end Heater;
  model Line "Two valves in a row, and the enthalpy that passes"
    Port a;
    Port b;
    Valve first;
    Valve second(Kv = 1e-5);
    Real H = actualStream(a.h_outflow)*a.m_flow;
  equation
    connect(a, first.a);
    connect(first.b, second.a);
    connect(second.b, b);
  end Line;
  model Tank "What flows out is what is in it"
    Port a;
    parameter Real M = 10;
    Real h(start = 100, fixed = true);
  equation
    M*der(h) = a.m_flow*(actualStream(a.h_outflow) - h);
    a.h_outflow = h;
    a.p = 1e5;
  end Tank;
end Streams;
"""
IN_A = "inStream(a.h_outflow)"


def load(name: str, *inputs: str, **options: object) -> es.Model:
    return es.load_model(PARTS, f"Streams.{name}", inputs=inputs, **options)  # type: ignore[arg-type,call-overload,no-any-return]


def at(model, outputs, **inputs):  # type: ignore[no-untyped-def]
    names = {n.replace("_p", ".p").replace("_m", ".m_flow"): v for n, v in inputs.items()}
    return model.at_points().evaluate(names, outputs=outputs)


def test_a_valve_needs_no_enthalpy_where_nothing_asks_for_it() -> None:
    model = load("Valve", "a.p", "b.p")
    found = at(model, ["m_flow", "b.m_flow"], a_p=[2e5, 3e5], b_p=1e5)
    by_hand = [2e-5 * math.sqrt(1000 * dp) for dp in (1e5, 2e5)]
    assert found["m_flow"].tolist() == pytest.approx(by_hand, rel=1e-12)
    assert found["b.m_flow"].tolist() == pytest.approx([-m for m in by_hand], rel=1e-12)
    assert any(
        n == "not given: inStream(a.h_outflow), inStream(b.h_outflow), and with it T_in, "
        "a.h_outflow, b.h_outflow"
        for n in model.notes
    )


def test_what_depends_on_a_missing_inflow_is_told() -> None:
    with pytest.raises(es.ModelError) as error:
        at(load("Valve", "a.p", "b.p"), ["T_in"], a_p=2e5, b_p=1e5)
    assert str(error.value) == (
        "M001: model 'Streams.Valve': 'T_in' depends on what flows in, which is not given: make "
        "'inStream(a.h_outflow)' or 'inStream(b.h_outflow)' an input too; a number will do"
    )


def test_the_inflow_is_an_input_and_passes_through() -> None:
    model = load("Valve", "a.p", "b.p", IN_A)
    point = {"a.p": 2e5, "b.p": 1e5, IN_A: 83600.0}
    names = ["T_in", "b.h_outflow", "a.h_outflow", "inStream(b.h_outflow)"]
    found = model.at_points().evaluate(point, outputs=names)
    # around b there is what flows out of it, since nothing else is said
    assert found[names].iloc[0].tolist() == pytest.approx([20.0, 83600.0, 83600.0, 83600.0])


def test_an_inflow_is_found_from_what_was_measured_instead() -> None:
    found = (
        load("Valve", "a.p", "b.p", "T_in")
        .at_points()
        .evaluate({"a.p": 2e5, "b.p": 1e5, "T_in": 20.0}, outputs=[IN_A, "b.h_outflow"])
    )
    assert found[[IN_A, "b.h_outflow"]].iloc[0].tolist() == pytest.approx([83600.0, 83600.0])


def test_a_flow_that_depends_on_the_inflow_asks_for_it() -> None:
    with pytest.raises(StructureError) as error:
        load("Warm", "a.p", "b.p")
    assert str(error.value) == (
        "E208: 'a.m_flow' of 'Streams.Warm' depends on what flows in: make "
        "'inStream(a.h_outflow)' or 'inStream(b.h_outflow)' an input too; a number will do"
    )
    found = (
        load("Warm", "a.p", "b.p", IN_A)
        .at_points()
        .evaluate({"a.p": 2e5, "b.p": 1e5, IN_A: 1e5}, outputs=["m_flow"])
    )
    assert found["m_flow"].iloc[0] == pytest.approx(2e-5 * math.sqrt(900 * 1e5), rel=1e-12)


def test_a_heater_is_not_closed_upon_itself() -> None:
    found = (
        load("Heater", "a.m_flow", "b.p", IN_A)
        .at_points()
        .evaluate({"a.m_flow": [0.1, 1.0], "b.p": 1e5, IN_A: 0.0}, outputs=["b.h_outflow"])
    )
    assert found["b.h_outflow"].tolist() == pytest.approx([41800.0, 4180.0], rel=1e-12)


def test_streams_pass_through_components() -> None:
    found = (
        load("Line", "a.p", "b.p", IN_A)
        .at_points()
        .evaluate({"a.p": 2.25e5, "b.p": 1e5, IN_A: 5e4}, outputs=["a.m_flow", "b.h_outflow", "H"])
    )
    m = 1e-5 * math.sqrt(1000 * 1e5)  # 1e5 Pa over the narrow valve, 0.25e5 over the wide one
    assert found[["a.m_flow", "b.h_outflow", "H"]].iloc[0].tolist() == pytest.approx(
        [m, 5e4, m * 5e4], rel=1e-9
    )


def test_a_store_gives_what_it_holds() -> None:
    times = np.linspace(0, 20, 5)
    emptied = load("Tank", "a.m_flow").simulate(times, {"a.m_flow": -1.0}, outputs=["h"])
    assert emptied.values[:, 0] == pytest.approx(100.0)
    filled = load("Tank", "a.m_flow", IN_A).simulate(
        times, {"a.m_flow": 1.0, IN_A: 300.0}, outputs=["h"]
    )
    by_hand = 300 - 200 * np.exp(-times / 10)
    assert filled.values[:, 0] == pytest.approx(by_hand, rel=1e-5)


def test_proposals_name_the_inflows_that_matter() -> None:
    choice = load("Valve", "a.p", "b.p").choose_inputs()  # type: ignore[attr-defined]
    assert choice.proposals[0] == ("a.p", "b.p", IN_A)
    assert choice.needed == 3


def test_streams_are_no_first_choice_of_inputs() -> None:
    model = load("Heater", "a.m_flow", "b.p", IN_A)
    choice = model.choose_inputs()  # type: ignore[attr-defined]
    assert not any("h_outflow" in n for names in choice.proposals[:2] for n in names[:2])


def test_a_fit_with_bounds_and_scaled_columns() -> None:
    dp = np.linspace(0.5e5, 3e5, 12)
    rho = 1000 - 1e-3 * 84e3
    data = pd.DataFrame({"p": (dp + 1e5) / 1e5, "h": 84.0, "m": 3e-5 * np.sqrt(rho * dp)})
    case = es.Case(
        "points",
        data,
        inputs={
            "a.p": es.InputColumn("p", scale=1e5),
            "b.p": 1e5,
            IN_A: es.InputColumn("h", scale=1e3),
        },
        outputs={"m_flow": "m"},
    )
    model = load("Warm", "a.p", "b.p", IN_A).at_points()  # type: ignore[attr-defined]
    tuner = es.Tuner("Kv", start=1e-5, min=1e-6, max=1e-4, scale="log")
    assert es.fit(es.Study(model, [tuner], [case]))["Kv"] == pytest.approx(3e-5, rel=1e-9)


def test_back_calculation_leaves_the_law_of_a_valve_out() -> None:
    dp = np.linspace(0.5e5, 3e5, 8)
    data = pd.DataFrame({"p": dp + 1e5, "m": 3e-5 * np.sqrt(1000 * dp)})
    case = es.Case("points", data, inputs={"a.p": "p", "b.p": 1e5}, outputs={"m_flow": "m"})
    study = es.Study(load("Valve", "a.p", "b.p").at_points(), [], [case])  # type: ignore[attr-defined]
    assert es.backcalculate(study, "Kv").column("Kv") == pytest.approx(3e-5, rel=1e-9)
