"""Tables of the standard library inside a running model, with their values as tuners."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

pytestmark = pytest.mark.msl
OPTIONS = es.Options(rtol=1e-9, atol=1e-11)

TEXT = """
model M
  Modelica.Blocks.Tables.CombiTable1Ds curve(table=[0, 0; 1, 2; 2, 3; 4, 5]);
  Modelica.Blocks.Sources.CombiTimeTable schedule(table=[0, 1; 1, 1; 1, 3; 2, 0]);
  Real x(start=0, fixed=true);
equation
  curve.u = 2*time;
  der(x) = curve.y[1] + schedule.y[1];
end M;
"""


def test_tables_against_numpy_and_their_values_as_tuners():
    model = es.load_model(TEXT)
    t = np.linspace(0, 2, 41)
    run = model.sensitivities(
        t, wrt=["curve.table[2,2]"], outputs=["curve.y[1]", "schedule.y[1]", "x"], options=OPTIONS
    )
    np.testing.assert_allclose(
        run.value("curve.y[1]"), np.interp(2 * t, [0, 1, 2, 4], [0, 2, 3, 5]), atol=1e-9
    )
    wanted = np.where(t < 1, 1.0, 3 - 3 * (t - 1))
    np.testing.assert_allclose(run.value("schedule.y[1]"), wanted, atol=1e-9)
    # x = integral of both; d(curve)/d(value at 1) is the hat function between 0 and 2
    hat = np.interp(2 * t, [0, 1, 2], [0, 1, 0])
    np.testing.assert_allclose(run.derivative("curve.y[1]", "curve.table[2,2]"), hat, atol=1e-7)
    assert run.derivative("x", "curve.table[2,2]")[-1] == pytest.approx(0.5, abs=1e-7)
    assert run.value("x")[-1] == pytest.approx(0.5 * (1 + 2.5 + 8) + 1 + 1.5, abs=1e-6)
