"""The page of a fit to points: over the points, against a variable, the last iterations."""

from __future__ import annotations

import numpy as np
import pandas as pd

import estimica as es
from estimica.base.view import Curves

MODEL = """
model Machine "Two outputs with units"
  input Real n(unit = "1/min") "Speed";
  input Real pi "Pressure ratio";
  parameter Real a = 1;
  parameter Real b = 0.1;
  output Real eta;
  output Real P(unit = "W");
equation
  eta = exp(-a*pi)*(1 - b*n);
  P = 1000*a*n;
end Machine;
"""


def study() -> es.Study:
    n, pi = np.tile(np.linspace(1, 5, 5), 2), np.repeat([1.0, 2.0], 5)
    noise = np.random.default_rng(1).normal(0, 1, 10)
    eta, P = np.exp(-0.5 * pi) * (1 - 0.05 * n) + 1e-3 * noise, 500 * n + noise
    map_ = pd.DataFrame({"n": n, "pi": pi, "eta": eta})
    bench = pd.DataFrame({"rpm": n, "kW": P / 1000})
    cases = [
        es.Case("map", map_, inputs={"n": "n", "pi": "pi"}, outputs={"eta": "eta"}),
        es.Case(
            "bench",
            bench,
            inputs={"n": "rpm", "pi": 1.5},
            outputs={"P": es.OutputColumn("kW", scale=1000.0, weight=0.01)},
        ),
    ]
    model = es.load_model(MODEL).at_points()
    return es.Study(model, [es.Tuner("a", start=1.0), es.Tuner("b")], cases, name="machine")


def test_the_page_has_the_points_in_order_the_curves_and_the_last_iterations() -> None:
    fit = es.fit(study())
    page = fit.page(against="n", by="pi")
    pictures = {s.heading: s.shown[0] for s in page.sections if s.shown}
    over = pictures["Point by point"]
    assert isinstance(over, Curves)
    assert over.time_label == "point"
    assert [p.label for p in over.panels] == ["eta", "P [W]"]
    assert list(over.panels[0].curves[0].time) == list(range(10))
    curves = pictures["Measured and simulated"]
    assert curves.time_label == "n [1/min]"
    assert {c.name for c in curves.panels[0].curves} >= {"pi = 1", "pi = 2"}
    last = pictures["Residuals of the last iterations"]
    drawn = [c.name for c in last.panels[0].curves if c.name.startswith("iteration")]
    assert 1 <= len(drawn) <= 4  # and the last one itself
    assert last.panels[1].label.endswith("[W]")


def test_weights_count_and_each_table_has_its_own_inputs() -> None:
    fit = es.fit(study())
    assert abs(fit["a"] - 0.5) < 0.01
    assert abs(fit["b"] - 0.05) < 0.01


def test_iterations_are_drawn_whatever_the_study_draws_against() -> None:
    fit = es.fit(study())
    assert fit.plot("residuals", iterations=3) is not None
