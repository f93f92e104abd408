"""Studies of components at points: what is left out, chosen, modified, and has no default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.study.check.run import check_file

PARTS = """
package Parts
  model Pump "A speed that is the derivative of an angle"
    Real phi;
    Real w;
    Real V;
    Real head;
    parameter Real h0 "No value";
    parameter Real k = 160;
  equation
    w = der(phi);
    head = w^2*h0 - k*V^2;
  end Pump;
  model Heater
    input Real m;
    input Real T_in;
    parameter Real eta = 0.5;
    Real P;
    Real Q;
    Real T_out;
    Real T_mean;
  equation
    Q = m*4180*(T_out - T_in);
    T_mean = (T_in + T_out)/2;
    Q = eta*P;
    P = 1000;
  end Heater;
  record State
    Real T;
    Real p = 1e5;
  end State;
  function density
    input State s;
    input Real R;
    output Real d;
  algorithm
    d := s.p/(R*s.T);
  end density;
  package Thick
    constant Real rho = 1200;
  end Thick;
  package Thin
    constant Real rho = 800;
  end Thin;
  model Column
    replaceable package Medium = Thin;
    input Real h;
    parameter Real g = 9;
    output Real p = g*Medium.rho*h;
  end Column;
end Parts;
"""
PUMP = """
[model]
source = "Parts.mo"
class = "Parts.Pump"
leave_out = "w = der(phi)"
[static]
[tune]
h0 = { start = 50, min = 1, max = 500 }
[[case]]
name = "points"
data = "pump.csv"
inputs = { V = "V", w = "w", phi = 0 }
outputs = { head = "head" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Parts.mo").write_text(PARTS)
    w, V = np.repeat([0.8, 1.0], 4), np.tile([0.05, 0.1, 0.2, 0.3], 2)
    pump = pd.DataFrame({"w": w, "V": V, "head": 100 * w**2 - 160 * V**2})
    pump.to_csv(tmp_path / "pump.csv", index=False)
    return tmp_path


def test_a_shaft_is_left_out_and_a_parameter_without_default_is_tuned(folder: Path) -> None:
    (folder / "pump.toml").write_text(PUMP)
    assert check_file(folder / "pump.toml") == []
    fit = es.fit(es.read_study(folder / "pump.toml"))
    assert fit["h0"] == pytest.approx(100, rel=1e-9)


def test_an_equation_that_is_not_there_is_told_with_the_one_that_is(folder: Path) -> None:
    (folder / "pump.toml").write_text(PUMP.replace("w = der(phi)", "w = der(phy)"))
    found = [p.text for p in check_file(folder / "pump.toml")]
    assert any("no equation reads 'w = der(phy)'" in t for t in found)
    assert any("did you mean 'w = der(phi)'" in t for t in found)


def test_only_a_modelica_class_has_equations_to_leave_out(folder: Path) -> None:
    study = PUMP.replace('"Parts.mo"', '"1/(1 + tau*s)"').replace('class = "Parts.Pump"\n', "")
    (folder / "pump.toml").write_text(study)
    found = [p.text for p in check_file(folder / "pump.toml")]
    assert any("a transfer function has no equations; leave that out" in t for t in found)


def test_without_a_value_the_parameter_is_asked_for(folder: Path) -> None:
    model = es.load_model(
        folder / "Parts.mo", "Parts.Pump", inputs=["V", "w", "phi"], leave_out="w = der(phi)"
    )
    point = {"V": 0.1, "w": 1.0, "phi": 0.0}
    with pytest.raises(es.ModelError, match=r"M038: parameter 'h0' of 'Parts.Pump' has no value"):
        model.at_points().evaluate(point, outputs=["head"])
    found = model.at_points().evaluate(point, {"h0": 100.0}, outputs=["head"])
    assert found["head"].iloc[0] == pytest.approx(98.4)


def test_back_calculation_chooses_among_several_outputs(folder: Path) -> None:
    m = np.linspace(0.1, 1, 6)
    T_out = 300 + 900 / (m * 4180)
    data = pd.DataFrame({"m": m, "T_in": 300.0, "T_out": T_out, "T_mean": (300 + T_out) / 2})
    names = ("T_mean", "T_out")
    case = es.Case("points", data, inputs={"m": "m", "T_in": "T_in"}, outputs={n: n for n in names})
    model = es.load_model(folder / "Parts.mo", "Parts.Heater").at_points()
    found = es.backcalculate(es.Study(model, [], [case]), "eta", against="m")
    assert found.column("eta") == pytest.approx(0.9, rel=1e-9)
    assert found.to_dict()["inputs"] == {"points": ["m", "T_in", "T_mean"]}
    told = " ".join(s.text for s in found.page().sections)
    assert "Given at every point: m, T_in, T_mean. Not needed: T_out." in told


def test_a_field_of_a_record_is_measured_and_another_is_tuned(folder: Path) -> None:
    model = es.load_model(folder / "Parts.mo", "Parts.density", inputs=["s.T"]).at_points()
    roles = {q.name: (q.role, q.value) for q in model.quantities()}
    assert roles["s.T"][0] == "input"
    assert roles["s.p"] == ("parameter", 1e5)
    T = np.array([280.0, 300.0, 320.0])
    case = es.Case(
        "points",
        pd.DataFrame({"T": T, "d": 2e5 / (287 * T)}),
        inputs={"s.T": "T"},
        outputs={"d": "d"},
        fix={"R": 287.0},
    )
    fit = es.fit(es.Study(model, [es.Tuner("s.p", min=1e4, max=1e6)], [case]))
    assert fit["s.p"] == pytest.approx(2e5, rel=1e-9)
    with pytest.raises(es.SourceError, match=r"has no input 's.t'; did you mean 's.T'"):
        es.load_model(folder / "Parts.mo", "Parts.density", inputs=["s.t"])


def test_a_class_is_taken_with_a_modification(folder: Path) -> None:
    def pressure(class_: str) -> float:
        model = es.load_model(folder / "Parts.mo", class_).at_points()
        return float(model.evaluate({"h": 1.0})["p"].iloc[0])

    assert pressure("Parts.Column") == 7200
    assert pressure("Parts.Column(redeclare package Medium = Parts.Thick, g = 10)") == 12000
    with pytest.raises(es.SourceError, match="has no 'Medum' that could be modified"):
        pressure("Parts.Column(redeclare package Medum = Parts.Thick)")


def test_the_fitted_class_keeps_the_modification(folder: Path) -> None:
    model = es.load_model(
        folder / "Parts.mo", "Parts.Column(redeclare package Medium = Parts.Thick)"
    ).at_points()
    data = pd.DataFrame({"h": [1.0, 2.0], "p": [12000.0, 24000.0]})
    case = es.Case("points", data, inputs={"h": "h"}, outputs={"p": "p"})
    fit = es.fit(es.Study(model, [es.Tuner("g")], [case]))
    text = fit.write_modelica(folder / "Fitted.mo").read_text()
    assert "extends Parts.Column(redeclare package Medium = Parts.Thick," in text
    again = es.load_model(folder / "Fitted.mo").at_points()
    assert again.evaluate({"h": 1.0})["p"].iloc[0] == pytest.approx(12000, rel=1e-9)
