"""Columns with known units: what a record holds is in the model's unit, and it is said once."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import CaseError
from estimica.base.quantities import Quantity
from estimica.data.readers import as_data
from estimica.data.table import Data
from estimica.study.check.run import check_file
from estimica.study.file.read import read_study
from estimica.study.record.samples import Record, record

ROOM = """
model Room
  parameter Real C(unit = "J/K", min = 1e4, max = 1e7) = 1e5;
  parameter Real G(unit = "W/K", min = 0) = 50;
  input Real Q(unit = "W");
  input Real T_out(unit = "K");
  Real T(unit = "K", start = 293.15, fixed = true, min = 0);
  output Real T_room(unit = "K") = T;
equation
  C*der(T) = Q - G*(T - T_out);
end Room;
"""
STUDY = """
[model]
source = "Room.mo"
[tune]
C = { start = 0.8e5, min = 1e4, max = 1e7 }
G = { start = 40, min = 0, max = 1000 }
[[case]]
name = "logged"
data = "log.csv"
inputs = { Q = { column = "heat", hold = "previous" }, T_out = "outside" }
outputs = { T_room = "room" }
"""


def room_log(*, celsius: bool = True, seed: int = 1) -> str:
    """An hour of a room of C = 1e5 J/K and G = 50 W/K, exactly, with noise of 0.02 K."""
    minutes = np.arange(0.0, 61.0)
    steady = 273.15 + 5.0 + 2000.0 / 50.0
    kelvin = steady + (293.15 - steady) * np.exp(-50.0 / 1e5 * 60 * minutes)
    kelvin += np.random.default_rng(seed).normal(0, 0.02, len(minutes))
    if celsius:
        head = "time [min],heat [kW],outside [°C],room [°C]"
        rows = [f"{m:g},2,5,{k - 273.15:.6f}" for m, k in zip(minutes, kelvin, strict=True)]
    else:
        head = "time [s],heat [W],outside [K],room [K]"
        rows = [f"{60 * m:g},2000,278.15,{k:.6f}" for m, k in zip(minutes, kelvin, strict=True)]
    return "\n".join([head, *rows]) + "\n"


def written(folder: Path, log: str, study: str = STUDY) -> Path:
    (folder / "Room.mo").write_text(ROOM, encoding="utf-8")
    (folder / "log.csv").write_text(log, encoding="utf-8")
    (folder / "room.toml").write_text(study, encoding="utf-8")
    return folder / "room.toml"


def test_a_fit_of_converted_data_is_that_of_data_in_the_units_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    logged = es.fit(read_study(written(tmp_path / "a", room_log())))
    plain = es.fit(read_study(written(tmp_path / "b", room_log(celsius=False))))
    for name, truth in (("C", 1e5), ("G", 50.0)):
        value, error = logged.parameters.loc[name, ["value", "stderr"]]
        assert value == pytest.approx(plain.parameters.loc[name, "value"], rel=1e-6)
        assert error == pytest.approx(plain.parameters.loc[name, "stderr"], rel=1e-4)
        assert abs(value - truth) < 3 * error
    (output,) = logged.case("logged").outputs
    assert output.unit == "K"
    assert 290 < float(output.measured.min()) < 295


def test_check_and_fit_say_once_what_is_converted(tmp_path: Path) -> None:
    path = written(tmp_path, room_log())
    second = STUDY + STUDY[STUDY.index("[[case]]") :].replace("logged", "again")
    path.write_text(second, encoding="utf-8")
    told = CliRunner().invoke(app, ["check", str(path)])
    assert told.exit_code == 0, told.output
    lines = [line for line in told.stdout.splitlines() if line.startswith("note ")]
    assert lines == [
        "note C130: 2 cases: column 'heat' is converted from kW to W for 'Q': scale = 1000",
        "note C130: 2 cases: column 'outside' is converted from °C to K for 'T_out': "
        "offset = 273.15",
        "note C130: 2 cases: column 'room' is converted from °C to K for 'T_room': offset = 273.15",
        "note C019: 2 cases: column 'time' is converted from min to s for 'time': scale = 60; "
        "write time_scale = 1 to keep the numbers",
    ]
    assert told.stdout.endswith("room.toml: nothing is wrong\n")
    fitted = CliRunner().invoke(app, ["fit", str(path), "--json", "--store", str(tmp_path / "s")])
    notes = json.loads(fitted.stdout)["data_notes"]["logged"]
    assert "column 'heat' is converted from kW to W for 'Q': scale = 1000" in notes
    assert fitted.stderr.count("column 'heat' is converted") == 1


def examined(data: Data, given: object, **quantity: object) -> Record:
    known = {"y": Quantity("y", role="algebraic", **quantity)}  # type: ignore[arg-type]
    return record(es.Case("a", data, outputs={"y": given}), known=known)  # type: ignore[dict-item]


def table(header: str, values: object = (20.0, 21.0), **more: object) -> Data:
    return as_data({"time": [0.0, 1.0], header: np.asarray(values, float), **more})


@pytest.mark.parametrize(
    ("header", "given", "unit", "first"),
    [
        ("T_room [°C]", "T_room", "K", 293.15),
        ("p (bar)", "p", "Pa", 20e5),
        ("n_rpm", "n_rpm", "rad/s", 20 * 2 * math.pi / 60),
        ("f [kHz]", "f", "Hz", 20e3),
        ("n [rev/s]", "n", "rad/s", 20 * 2 * math.pi),
        ("phi / deg", "phi", "rad", 20 * math.pi / 180),
        ("V [l/min]", "V", "m3/s", 20e-3 / 60),
        ("u [%]", "u", "1", 0.2),
        ("E [kWh]", "E", "J", 72e6),
        ("T [°F]", "T", "degC", -20 / 3),
        ("p [psi]", "p", "bar", 20 * 0.06894757293168361),
        ("x [mm]", "x", "m", 0.02),
        ("y", {"column": "y", "unit": "kW"}, "W", 20e3),
        # the scaled column is in the unit that is given, and then converted
        ("y", {"column": "y", "unit": "degC", "scale": 0.1, "offset": 1.0}, "K", 276.15),
        # a scale without a unit leads to the model's
        ("y [bar]", {"column": "y", "scale": 2.0}, "Pa", 40.0),
        # without a unit on one of the sides numbers stay
        ("y [bar]", "y", "", 20.0),
        ("y", "y", "Pa", 20.0),
        # a mean, and a word that is not a unit here
        ("x_bar", "x_bar", "m", 20.0),
        ("T_min", "T_min", "K", 20.0),
    ],
)
def test_samples_are_in_the_unit_of_the_model(
    header: str, given: object, unit: str, first: float
) -> None:
    column = es.OutputColumn(**given) if isinstance(given, dict) else given
    (output,) = examined(table(header), column, unit=unit).outputs
    assert output.value[0] == pytest.approx(first, rel=1e-12)


def test_differences_of_temperatures_have_no_zero() -> None:
    data = table("dT [°C]")
    assert examined(data, "dT", unit="K", difference=True).outputs[0].value[0] == 20
    assert examined(data, "dT", unit="K", difference=False).outputs[0].value[0] == 293.15
    with pytest.raises(CaseError, match="may be a temperature, or a difference of two"):
        examined(data, "dT", unit="K")
    slope = table("G [kW/°C]")
    assert examined(slope, "G", unit="W/K").outputs[0].value[0] == 20e3


def test_the_standard_library_says_which_temperature_is_a_difference(tmp_path: Path) -> None:
    source = """
model Two
  type Temperature = Real(final quantity = "ThermodynamicTemperature", final unit = "K",
    min = 0.0, start = 288.15, nominal = 300, displayUnit = "degC");
  type TemperatureDifference = Real(final quantity = "ThermodynamicTemperature",
    final unit = "K");
  Temperature a = 300 + time;
  TemperatureDifference b = time;
  Real c(unit = "K") = time;
end Two;
"""
    (tmp_path / "Two.mo").write_text(source, encoding="utf-8")
    model = es.load_model(tmp_path / "Two.mo")
    assert {q.name: q.difference for q in model.quantities() if q.name in "abc"} == {
        "a": False,
        "b": True,
        "c": None,
    }


def test_a_column_of_deviations_or_limits_may_have_a_unit_of_its_own() -> None:
    data = table("p [bar]", s=np.array([50.0, 100.0]), low=np.array([2050.0, 0.0]))
    data = Data("table", data.columns, {**data.units, "s": "kPa", "low": "kPa"})
    own = es.OutputColumn("p", sigma={"column": "s"}, limits={"min": "low"})  # type: ignore[arg-type]
    (output,) = examined(data, own, unit="Pa").outputs
    assert output.relative is not None
    assert output.limits is not None
    assert output.relative.tolist() == pytest.approx([50e3, 100e3])
    assert output.value.tolist() == pytest.approx([2.05e6, 2.1e6])
    assert output.censored.tolist() == [True, False]


def test_a_number_for_the_noise_counts_in_the_unit_of_the_model() -> None:
    own = es.OutputColumn("p", sigma=1000.0, weight=2.0)
    (output,) = examined(table("p [bar]"), own, unit="Pa").outputs
    assert (output.sigma, output.weight) == (1000.0, 2.0)


def test_units_that_contradict_are_refused_with_both_named(tmp_path: Path) -> None:
    path = written(tmp_path, room_log().replace("room [°C]", "room [bar]"))
    (problem,) = [p for p in check_file(path) if not p.warning]
    assert problem.text == (
        "case 'logged': output 'T_room': column 'room' is in bar, the model wants K, which "
        'measures something else; take another column, or write unit = "K" where the file is wrong'
    )
    with pytest.raises(CaseError, match="measures something else"):
        es.fit(read_study(path))


def test_back_calculation_takes_its_inputs_in_the_unit_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("U [mV],R\n2000,4\n3000,6\n", encoding="utf-8")
    (tmp_path / "Ohm.mo").write_text(
        'model Ohm\n input Real U(unit = "V");\n input Real R;\n Real i = U/R;\nend Ohm;\n',
        encoding="utf-8",
    )
    path = tmp_path / "ohm.toml"
    path.write_text(
        '[model]\nsource = "Ohm.mo"\n[static]\n[backcalculate]\ncompute = "i"\n[[case]]\n'
        'name = "p"\ndata = "points.csv"\ninputs = { U = "U", R = "R" }\n',
        encoding="utf-8",
    )
    found = es.backcalculate(read_study(path))
    assert found.column("i").tolist() == pytest.approx([0.5, 0.5])
