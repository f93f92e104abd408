"""Valves, orifices, pipes and pumps of the library taken alone, against hand calculations."""

from __future__ import annotations

import math

import pandas as pd
import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]

WATER = "redeclare package Medium = Modelica.Media.Water.ConstantPropertyLiquidWater"
RHO = 995.586  # of that medium
VISCOSITY = 1.0e-3
IN_A = "inStream(port_a.h_outflow)"
CURVE = (
    "redeclare function flowCharacteristic = "
    "Modelica.Fluid.Machines.BaseClasses.PumpCharacteristics.quadraticFlow("
    "V_flow_nominal={0, 0.25, 0.5}, head_nominal={100, 60, 0})"
)


def points(class_: str, given: dict[str, object], outputs: list[str], leave_out=()) -> pd.DataFrame:
    declared = ("opening", "N_in")
    inputs = [n for n in given if n not in declared]
    model = es.load_model(f"Modelica.Fluid.{class_}", inputs=inputs, leave_out=leave_out)
    return model.at_points().evaluate(given, outputs=outputs)


def test_a_linear_valve() -> None:
    found = points(
        f"Valves.ValveLinear({WATER}, dp_nominal=1e5, m_flow_nominal=2)",
        {"port_a.p": [3e5, 4e5], "port_b.p": 1e5, "opening": 0.5},
        ["m_flow"],
    )
    assert found["m_flow"].tolist() == pytest.approx([2.0, 3.0], rel=1e-12)


def test_a_valve_by_its_flow_coefficient() -> None:
    kv = "CvData=Modelica.Fluid.Types.CvTypes.Kv, Kv=7.2, dp_nominal=1e5, m_flow_nominal=2"
    found = points(
        f"Valves.ValveIncompressible({WATER}, {kv})",
        {"port_a.p": [3e5, 4e5], "port_b.p": 1e5, "opening": 1.0},
        ["m_flow"],
    )
    # the library rounds Kv of 1 m3/h to an area of 27.7e-6 m2
    by_hand = [27.7e-6 * 7.2 * math.sqrt(RHO * dp) for dp in (2e5, 3e5)]
    assert found["m_flow"].tolist() == pytest.approx(by_hand, rel=1e-6)


def test_an_orifice() -> None:
    found = points(
        f"Fittings.SimpleGenericOrifice({WATER}, diameter=0.05, zeta=2)",
        {"port_a.p": [1.2e5, 1.4e5], "port_b.p": 1e5},
        ["m_flow"],
    )
    area = math.pi / 4 * 0.05**2
    by_hand = [area * math.sqrt(2 * RHO * dp / 2) for dp in (2e4, 4e4)]
    assert found["m_flow"].tolist() == pytest.approx(by_hand, rel=1e-6)


def test_a_pipe_by_colebrook() -> None:
    found = points(
        f"Pipes.StaticPipe({WATER}, diameter=0.05, length=10)",
        {"port_a.m_flow": [1.0, 3.0], "port_b.p": 1e5},
        ["port_a.p"],
    )
    assert found["port_a.p"].tolist() == pytest.approx(
        [1e5 + _colebrook(m) for m in (1.0, 3.0)], rel=1e-5
    )


def _colebrook(m: float, d: float = 0.05, length: float = 10, roughness: float = 2.5e-5) -> float:
    reynolds, friction = 4 * m / (math.pi * d * VISCOSITY), 0.02
    for _ in range(50):
        inner = roughness / d / 3.7 + 2.51 / reynolds / math.sqrt(friction)
        friction = (-2 * math.log10(inner)) ** -2
    speed = m / RHO / (math.pi / 4 * d**2)
    return friction * length / d * RHO / 2 * speed**2


def test_a_pump_with_its_speed_and_one_whose_shaft_is_left_out() -> None:
    given = {"port_a.p": 1e5, "m_flow": [RHO * 0.1, RHO * 0.25], IN_A: 84e3}
    speeds = [1000.0, 1200.0]
    by_hand = [(100 - 120 * 0.12 - 160 * 0.12**2) / 1.44, 60.0]  # V/s and head/s², s = N/1200
    driven = points(
        f"Machines.PrescribedPump({WATER}, N_nominal=1200, use_N_in=true, {CURVE})",
        {**given, "N_in": speeds},
        ["head", "port_b.p"],
    )
    assert driven["head"].tolist() == pytest.approx(by_hand, rel=1e-9)
    pressures = [1e5 + RHO * 9.80665 * h for h in by_hand]
    assert driven["port_b.p"].tolist() == pytest.approx(pressures, rel=1e-6)
    shaft = points(
        f"Machines.Pump({WATER}, N_nominal=1200, {CURVE})",
        {**given, "N": speeds, "shaft.phi": 0.0},
        ["head"],
        leave_out=["omega = der(phi)"],
    )
    assert shaft["head"].tolist() == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("medium", "inflow", "density"),
    [
        # densities at 8 bar: IAPWS-IF97 at 20 °C; ideal gases p/(R T), with h = cp (T - 0 °C) of
        # moist air and h counted from 0 K of the NASA polynomials at 298.15 K
        ("Water.StandardWater", {IN_A: 84668.0}, 998.52),
        ("IdealGases.SingleGases.N2", {IN_A: 309498.4}, 8e5 / (296.803 * 298.15)),
        ("Air.DryAirNasa", {IN_A: 298609.7}, 8e5 / (287.051 * 298.15)),
        (
            "Air.MoistAir",
            {IN_A: 25 * 1006.0, "inStream(port_a.Xi_outflow[1])": 0.0},
            8e5 / (287.051 * 298.15),
        ),
    ],
)
def test_real_media(medium: str, inflow: dict[str, float], density: float) -> None:
    area = "CvData=Modelica.Fluid.Types.CvTypes.Av, Av=2e-4, dp_nominal=1e4, m_flow_nominal=1"
    found = points(
        f"Valves.ValveIncompressible(redeclare package Medium = Modelica.Media.{medium}, {area})",
        {"port_a.p": 8e5, "port_b.p": 7.9e5, "opening": 1.0, **inflow},
        ["m_flow"],
    )
    by_hand = 2e-4 * math.sqrt(density * 1e4)
    assert found["m_flow"].iloc[0] == pytest.approx(by_hand, rel=2e-3)


def test_a_partial_medium_says_what_to_redeclare() -> None:
    with pytest.raises(es.SourceError, match=r"redeclare the package, as in\s+Valve\(redeclare"):
        es.load_model("Modelica.Fluid.Valves.ValveIncompressible", inputs=["port_a.p", "port_b.p"])


def test_a_parameter_without_a_default_is_tuned_and_written_with_its_medium(tmp_path) -> None:
    opened = {"port_a.p": "p", "port_b.p": 1e5, "opening": 1.0}
    data = pd.DataFrame({"p": [2e5, 3e5, 4e5], "m": [3.0, 6.0, 9.0]})
    model = es.load_model(
        f"Modelica.Fluid.Valves.ValveLinear({WATER}, dp_nominal=1e5)",
        inputs=["port_a.p", "port_b.p"],
    ).at_points()
    case = es.Case("points", data, inputs=opened, outputs={"m_flow": "m"})
    fit = es.fit(es.Study(model, [es.Tuner("m_flow_nominal", start=1.0)], [case]))
    assert fit["m_flow_nominal"] == pytest.approx(3.0, rel=1e-9)
    path = fit.write_modelica(tmp_path / "Fitted.mo")
    again = es.load_model(path, inputs=["port_a.p", "port_b.p"]).at_points()
    assert again.evaluate({"port_a.p": 2e5, "port_b.p": 1e5, "opening": 1.0}, outputs=["m_flow"])[
        "m_flow"
    ].iloc[0] == pytest.approx(3.0, rel=1e-9)
