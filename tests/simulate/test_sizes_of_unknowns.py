"""Initial values whose unknowns are many decades apart, in the units that physics has."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

#: a valve of some 1e-6 m2 beside pressures of 1e5 Pa and enthalpies of 1e5 J/kg
VALVE = """
model Valve
  type Given = enumeration(area, point);
  parameter Given given = Given.{given};
  parameter Real nominal = 0.02;
  parameter Real A(fixed = given == Given.area, start = {A});
  Real p(start = 1.3e5), h(start = 1e5), m;
  Real level(start = 1);
initial equation
  if given == Given.point then
    nominal = A*sqrt(1000*1e4);
  end if;
  der(p) = 0;
  der(h) = 0;
equation
  m = A*sqrt(1000)*(p - 1e5)/sqrt(abs(p - 1e5) + 1);
  der(p) = 1e9*(0.01 - m);
  der(h) = (500 - m*(h - 8.4e4))/1e3;
  der(level) = 0;
end Valve;
"""


@pytest.mark.parametrize("given", ["area", "point"])
def test_a_parameter_is_given_or_found_as_another_one_says(given):
    model = es.load_model(VALVE.format(given=given, A="5e-6"))
    run = model.simulate(np.linspace(0, 1, 3), outputs=["p", "h", "m", "level"])
    area = 5e-6 if given == "area" else 0.02 / np.sqrt(1000 * 1e4)
    root = (0.01 / area) ** 2 / 1000  # y = dp/sqrt(dp + 1): dp² = y²·(dp + 1)
    drop = root / 2 + np.sqrt(root**2 / 4 + root)
    np.testing.assert_allclose(run.value("p"), 1e5 + drop, rtol=1e-8)
    np.testing.assert_allclose(run.value("h"), 8.4e4 + 500 / 0.01, rtol=1e-8)
    np.testing.assert_allclose(run.value("level"), 1.0)
