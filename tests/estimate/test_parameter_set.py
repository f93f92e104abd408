"""The estimates as an SSP parameter set: valid for its schema, every value, unit and kind in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import FitError, ReportError

SPACES = {
    "ssv": "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
    "ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
}
ROOM = """
model Room "A room"
  parameter Real C(unit = "kJ/K") = 5 "Capacity";
  parameter Real R(unit = "K/W") = 0.1 "Resistance";
  parameter Real q(unit = "quid") = 1 "A price";
  parameter Real limit(unit = "degC") = 20 "A temperature";
  parameter Integer n = 2 "Windows";
  parameter Boolean open = false "Whether they are";
  output Real T(unit = "K", start = 3, fixed = true) "Excess";
equation
  C*der(T) = -T/R*n*q + (if open then limit else 0);
end Room;
"""


@pytest.fixture(scope="module")
def fit() -> es.Fit:
    model = es.load_model(ROOM, "Room", fix={"n": 3, "open": False, "q": 1.5})
    time = np.linspace(0, 1, 30)
    noise = 0.01 * np.random.default_rng(4).standard_normal(30)
    data = pd.DataFrame({"t": time, "T": 2.5 * np.exp(-time / 0.2) + noise})
    case = es.Case("cooling", data, outputs={"T": "T"}, free_start=["T"], fix={"limit": 21.0})
    return es.fit(es.Study(model, tuners=[es.Tuner("R", start=0.2)], cases=[case], name="Room <1>"))


def read(fit: es.Fit, path: Path) -> ElementTree.Element:
    return ElementTree.parse(fit.write_ssv(path)).getroot()


def test_parameter_set_is_valid_for_the_schema_of_ssp(fit: es.Fit, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy")
    etree = pytest.importorskip("lxml.etree")
    schemas = Path(fmpy.__file__).parent / "ssp" / "schema"
    schema = etree.XMLSchema(file=str(schemas / "SystemStructureParameterValues.xsd"))
    path = fit.write_ssv(tmp_path / "room.ssv")
    schema.assertValid(etree.parse(str(path)))


def test_estimates_start_values_and_fixed_values_are_in_it(fit: es.Fit, tmp_path: Path) -> None:
    root = read(fit, tmp_path / "room.ssv")
    assert root.get("name") == "Room <1>"
    found = {p.get("name"): p[0] for p in root.iterfind(".//ssv:Parameter", SPACES)}
    assert float(found["R"].get("value", "")) == fit["R"]
    assert found["R"].get("unit") == "K/W"
    start = fit.start_values.loc[("cooling", "T"), "value"]
    assert float(found["T"].get("value", "")) == start
    assert found["n"].tag == f"{{{SPACES['ssv']}}}Integer"
    assert found["n"].get("value") == "3"
    assert found["open"].attrib == {"value": "false"}
    assert found["q"].attrib == {"value": "1.5"}  # a unit that nobody knows is not referred to
    assert float(found["limit"].get("value", "")) == 21
    assert "C" not in found  # stays as the model has it


def test_units_are_defined_by_base_units(fit: es.Fit, tmp_path: Path) -> None:
    root = read(fit, tmp_path / "room.ssv")
    units = {u.get("name"): u[0].attrib for u in root.iterfind(".//ssc:Unit", SPACES)}
    assert units["K/W"] == {"m": "-2", "kg": "-1", "s": "3", "K": "1"}
    assert units["degC"] == {"K": "1", "offset": "273.15"}
    used = {r.get("unit") for r in root.iterfind(".//ssv:Real", SPACES)} - {None}
    assert used == set(units)


def test_standard_errors_and_unknown_units_are_told(fit: es.Fit, tmp_path: Path) -> None:
    root = read(fit, tmp_path / "room.ssv")
    told = {p.get("name"): p.get("description") for p in root.iterfind(".//ssv:Parameter", SPACES)}
    assert told["R"] is not None
    assert told["R"].startswith("Resistance; std. error 0.00")
    assert told["q"] == "A price; in quid"


def test_a_folder_that_is_missing_is_told(fit: es.Fit, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"P001: cannot write .*No such file"):
        fit.write_ssv(tmp_path / "none" / "room.ssv")


def test_a_fit_without_estimate_writes_nothing(fit: es.Fit, tmp_path: Path) -> None:
    with pytest.raises(FitError, match="F034: there is no estimate to write"):
        replace(fit, cost=float("inf")).write_ssv(tmp_path / "room.ssv")
    assert not list(tmp_path.iterdir())
