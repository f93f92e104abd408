"""Implicit laws at operating points, each from default start values, against independent roots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.implicit_laws import LAWS, Law, package

import estimica as es

SOURCE = package(LAWS)


def test_there_are_sixty_laws() -> None:
    assert len({law.name for law in LAWS}) == len(LAWS) == 60


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_is_solved_from_default_starts(law: Law) -> None:
    model = es.load_model(SOURCE, f"Laws.{law.name}").at_points()
    table = model.evaluate({"u": list(law.u)}, outputs=[law.asked])
    np.testing.assert_allclose(table[law.asked], [law.truth(u) for u in law.u], 1e-9, 1e-60)


LIBRARY_VALVE = """
model Turned "the drop over a valve of the library for a flow that is given"
  package Medium = Modelica.Media.Water.ConstantPropertyLiquidWater;
  inner Modelica.Fluid.System system;
  input Real m;
  Modelica.Fluid.Sources.MassFlowSource_T a(
    redeclare package Medium = Medium, use_m_flow_in = true, nPorts = 1, T = 293.15);
  Modelica.Fluid.Sources.FixedBoundary b(
    redeclare package Medium = Medium, p = 1e5, nPorts = 1, T = 293.15);
  Modelica.Fluid.Valves.ValveIncompressible v(
    redeclare package Medium = Medium, dp_nominal = 1e5, m_flow_nominal = 1,
    CvData = Modelica.Fluid.Types.CvTypes.Kv, Kv = 36);
equation
  a.m_flow_in = m;
  v.opening = 1;
  connect(a.ports[1], v.port_a);
  connect(v.port_b, b.ports[1]);
end Turned;
"""


@pytest.mark.msl
@pytest.mark.slow
def test_the_valve_of_the_library_is_solved_for_its_drop() -> None:
    m = np.array([0.5, 1.0, 5.0, 10.0])
    table = es.load_model(LIBRARY_VALVE, "Turned").at_points().evaluate({"m": m}, outputs=["v.dp"])
    # m = Av*sqrt(rho*dp), Av = 27.7e-6*Kv, water of 995.586 kg/m3
    np.testing.assert_allclose(table["v.dp"], (m / (27.7e-6 * 36)) ** 2 / 995.586, rtol=1e-6)
