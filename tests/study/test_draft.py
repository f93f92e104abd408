"""Drafts: `estimica new` writes studies that can be read, and that are sound where names match."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.study.check.run import check_file


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def estimica(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def table(path: Path, header: str) -> None:
    old = Path("run1.csv").read_text(encoding="utf-8")
    path.write_text(header + old[old.index("\n") :], encoding="utf-8")


def test_a_draft_with_matching_names_passes_the_check(folder: Path) -> None:
    table(folder / "run2.csv", "t [min],U [mA],y [cm],tank.T [degC],other")
    result = estimica("new", "Tank.mo", "run2.csv")
    assert result.exit_code == 0, result.output
    text = (folder / "tank.toml").read_text(encoding="utf-8")
    assert 'u = { column = "U", scale = 0.001 }' in text
    assert 'y = { column = "y", scale = 0.01 }' in text
    assert 'T = { column = "tank.T", offset = 273.15 }' in text
    assert "time_scale = 60   # seconds in a min" in text
    assert '# free_start = ["x", "z"]   # start values that are not known' in text
    assert check_file(folder / "tank.toml") == []


def test_bounds_units_and_descriptions_come_from_the_model(folder: Path) -> None:
    table(folder / "run2.csv", "t,u,y,T,other")
    estimica("new", "Tank.mo", "run2.csv")
    text = (folder / "tank.toml").read_text(encoding="utf-8")
    assert "a = { start = 0.5, min = 0, max = 10 }   # [1/s] Outflow rate (nominal 1)" in text
    found = es.read_study(folder / "tank.toml")
    tuners = {t.name: t for t in found.tuners}
    assert (tuners["a"].min, tuners["a"].max, tuners["a"].start) == (0.0, 10.0, 0.5)


def test_parameters_without_effect_are_left_out(folder: Path) -> None:
    table(folder / "run2.csv", "t,u,y,T,other")
    estimica("new", "Tank.mo", "run2.csv")
    names = [t.name for t in es.read_study(folder / "tank.toml").tuners]
    assert names == ["a", "b", "w[1]", "w[2]"]
    assert "# idle = 1 " in (folder / "tank.toml").read_text(encoding="utf-8")


def test_columns_of_other_names_are_proposed(folder: Path) -> None:
    table(folder / "run2.csv", "t [s],current,level,temperature,other")
    result = estimica("new", "Tank.mo", "run2.csv")
    text = (folder / "tank.toml").read_text(encoding="utf-8")
    assert '# u = "current"   # [A] Current of the pump' in text
    assert '# y = "level"   # [m] Level' in text
    assert '# T = "temperature"   # [K] Temperature' in text
    assert "C004: case 'run2': has no outputs" in result.stdout
    es.read_study(folder / "tank.toml")


def test_each_proposal_is_a_line_of_its_own_with_its_factor_the_likeliest_first(
    folder: Path,
) -> None:
    model = (folder / "Tank.mo").read_text(encoding="utf-8")
    (folder / "Tank.mo").write_text(
        model.replace('"Temperature"', '"Temperature of the water"'), encoding="utf-8"
    )
    table(folder / "run2.csv", "t,u,y,air temperature [degC],water temperature [degC]")
    estimica("new", "Tank.mo", "run2.csv")
    lines = (folder / "tank.toml").read_text(encoding="utf-8").splitlines()
    proposed = [line.partition("   #")[0] for line in lines if line.startswith("# T = ")]
    assert proposed == [
        '# T = { column = "water temperature", offset = 273.15 }',
        '# T = { column = "air temperature", offset = 273.15 }',
    ]
    lines[lines.index(next(x for x in lines if x.startswith(proposed[0])))] = proposed[0][2:]
    (folder / "tank.toml").write_text("\n".join(lines), encoding="utf-8")
    assert set(es.read_study(folder / "tank.toml").cases[0].outputs) == {"y", "T"}


def test_without_data_the_draft_holds_a_commented_case(folder: Path) -> None:
    assert estimica("new", "Tank.mo", "Tank", "--output", "empty.toml").exit_code == 0
    text = (folder / "empty.toml").read_text(encoding="utf-8")
    assert 'class = "Tank"' in text
    assert '# inputs = { u = "…" }' in text
    assert es.read_study(folder / "empty.toml").cases == ()


def test_each_file_is_a_case(folder: Path) -> None:
    table(folder / "run2.csv", "t,u,y,T,other")
    (folder / "more").mkdir()
    table(folder / "more" / "run2.csv", "t,u,y,T,other")
    estimica("new", "Tank.mo", "run2.csv", "more/run2.csv", "run1.csv", "--output", "more/s.toml")
    found = es.read_study(folder / "more" / "s.toml")
    assert [c.name for c in found.cases] == ["../run2.csv", "run2.csv", "run1"]


def test_nothing_is_overwritten_unless_asked(folder: Path) -> None:
    (folder / "tank.toml").write_text("mine", encoding="utf-8")
    result = estimica("new", "Tank.mo")
    assert result.exit_code == 2
    assert (
        "Q017: 'tank.toml' is there already; write to another --output, or use --force"
        in result.stderr
    )
    assert (folder / "tank.toml").read_text(encoding="utf-8") == "mine"
    assert estimica("new", "Tank.mo", "--force").exit_code == 0
    assert "[model]" in (folder / "tank.toml").read_text(encoding="utf-8")


def test_of_several_classes_one_must_be_chosen(folder: Path) -> None:
    both = "model A parameter Real p = 1; Real x(start = 1); equation der(x) = -p*x; end A;\n"
    (folder / "Two.mo").write_text(both + both.replace(" A", " B"), encoding="utf-8")
    result = estimica("new", "Two.mo")
    assert result.exit_code == 2
    assert "Q016: 'Two.mo' holds 2 models: A, B; say which, as in estimica new Two.mo B" in (
        result.stderr
    )
    assert estimica("new", "Two.mo", "A").exit_code == 0
    assert es.read_study(folder / "a.toml").model.name == "A"


def test_what_cannot_be_read_or_written_is_told(folder: Path) -> None:
    result = estimica("new", "Tank.mo", "missing.csv")
    assert result.exit_code == 2
    assert "D001: there is no file 'missing.csv'" in result.stderr
    result = estimica("new", "Tank.mo", "--output", "nowhere/tank.toml")
    assert result.exit_code == 2
    assert "P001: cannot write 'nowhere/tank.toml': there is no folder 'nowhere'" in result.stderr


def test_a_draft_says_as_json_where_it_is(folder: Path) -> None:
    result = estimica("new", "Tank.mo", "--json")
    assert json.loads(result.stdout)["study"] == "tank.toml"


def test_odd_names_are_written_so_that_they_can_be_read(folder: Path) -> None:
    table(folder / 'ru"n.csv', 't,u,"y ""q""",T,other')
    text = Path("Tank.mo").read_text(encoding="utf-8")
    text = text.replace("idle = 1", "'a b' = 1").replace("Nothing follows", 'Nothing \\"# follows')
    text = text.replace("T = 300 + x", "T = 299 + 'a b' + x")
    Path("Tank.mo").write_text(text, encoding="utf-8")
    assert estimica("new", "Tank.mo", 'ru"n.csv').exit_code == 0
    found = es.read_study(folder / "tank.toml")
    assert found.cases[0].name == 'ru"n'
    assert "'a b'" in [t.name for t in found.tuners]


RIG = """
model Rig
  model Sensor
    Real T(unit = "K") "Shown";
  end Sensor;
  model Box "Drawn"
    parameter Real color[3](each min = 0, each max = 255) = {1, 2, 3};
    Real shade = sum(color);
    Real shape = time;
    Real w(unit = "rad/s") = time;
  end Box;
  Sensor sensor;
  Box box;
  parameter Real k(min = 0, max = 2) = 1;
  Real x(start = 1, fixed = true, unit = "m");
  Real T(unit = "K") = 3*x;
equation
  der(x) = -k*x;
  sensor.T = 2*x;
end Rig;
"""


def test_sensors_and_states_are_proposed_and_never_what_is_only_drawn(folder: Path) -> None:
    Path("Rig.mo").write_text(RIG, encoding="utf-8")
    assert estimica("new", "Rig.mo", "Rig").exit_code == 0
    text = Path("rig.toml").read_text(encoding="utf-8")
    assert (
        '# outputs = { "sensor.T" = "…", x = "…", T = "…", "box.w" = "…", "box.shade" = "…" }'
        in text
    )
    assert "color" not in text
    assert "box.shape" not in text


def test_a_column_belongs_to_the_sensor_that_is_called_alike(folder: Path) -> None:
    Path("Rig.mo").write_text(RIG.replace('Real T(unit = "K") = 3*x;', ""), encoding="utf-8")
    Path("run.csv").write_text("time,T,shape\n0,2,0\n1,0.7,1\n2,0.3,2\n", encoding="utf-8")
    assert estimica("new", "Rig.mo", "Rig", "run.csv").exit_code == 0
    assert list(es.read_study(folder / "rig.toml").cases[0].outputs) == ["sensor.T"]


def test_something_measured_is_left_to_compare_with(folder: Path) -> None:
    Path("Part.mo").write_text(
        "model Part connector Pin Real v; flow Real i; end Pin; Pin p; Pin n; "
        "parameter Real R(min = 0, max = 9) = 2; equation p.v - n.v = R*p.i; p.i + n.i = 0; "
        "end Part;",
        encoding="utf-8",
    )
    Path("points.csv").write_text("p.v,n.v\n2,0\n3,1\n7,2\n", encoding="utf-8")
    assert estimica("new", "Part.mo", "points.csv").exit_code == 0
    case = es.read_study(folder / "part.toml").cases[0]
    assert len(case.outputs) == 1
    assert not set(case.outputs) & set(case.inputs)


def test_a_class_with_a_modification_is_drafted_under_its_own_name(folder: Path) -> None:
    Path("Part.mo").write_text(
        "package Part model Gain parameter Real k(min = 0, max = 9) = 2; input Real u; "
        "output Real y = k*u; end Gain; end Part;",
        encoding="utf-8",
    )
    Path("points.csv").write_text("u,y\n1,3\n2,6\n", encoding="utf-8")
    done = estimica("new", "Part.mo", "Part.Gain(k = 3)", "points.csv")
    assert done.exit_code == 0, done.stderr
    drafted = es.read_study(folder / "gain.toml")
    assert es.fit(drafted)["k"] == pytest.approx(3)
    assert 'class = "Part.Gain(k = 3)"' in Path("gain.toml").read_text(encoding="utf-8")


VALVE = """
model Valve
  connector Port Real p(start = 1e5, unit = "Pa"); flow Real m; end Port;
  Port a; Port b;
  input Real opening(min = 0, max = 1) "1: open";
  input Real h(nominal = 2e5) "Enthalpy that flows in";
  parameter Real k(nominal = 1e-5) "No value";
  parameter Real guess(min = -1.7976931348623157e+308, max = 9) = 2;
equation
  a.m + b.m = 0;
  a.m = opening*k*(a.p - b.p)*h/2e5;
end Valve;
"""


def test_inputs_without_a_column_take_what_the_model_offers_and_never_zero(folder: Path) -> None:
    Path("Valve.mo").write_text(VALVE, encoding="utf-8")
    Path("points.csv").write_text("a.p,a.m\n2e5,3\n3e5,6\n4e5,9\n", encoding="utf-8")
    done = estimica("new", "Valve.mo", "points.csv")
    assert "input 'opening' is not given" in done.output  # what is left to do
    text = Path("valve.toml").read_text(encoding="utf-8")
    told = "for all points, or a column"
    assert f'"b.p" = 100000   # a number {told}; the model\'s start value; [Pa]\n' in text
    assert f"# opening = …   # give a number {told}; 1: open\n" in text
    assert f"h = 200000   # a number {told}; the model's nominal value; Enthalpy that" in text
    # what the model has no value for is tuned, from its nominal value; a guess value moves nothing
    drafted = text[text.index("[tune]") : text.index("[[case]]")].splitlines()
    assert [n.split(" = ")[0] for n in drafted if " = " in n] == ["k", "# guess"]
    assert "k = 1e-05   # No value (the model has no value: this is its nominal one)" in text
    assert "e+308" not in text
    Path("valve.toml").write_text(text.replace("# opening = …", "opening = 0.5"), encoding="utf-8")
    fit = es.fit(es.read_study(folder / "valve.toml"))
    assert fit["k"] == pytest.approx(3.0 / (0.5 * 1e5), rel=1e-9)


def test_a_class_of_a_library_without_a_source_says_where_it_goes(folder: Path) -> None:
    tune = "[tune]\nk = 1\n"
    Path("a.toml").write_text(f'[model]\nclass = "Lib.Valves.Linear"\n{tune}', encoding="utf-8")
    with pytest.raises(es.StudyError, match=r'write source = "Lib.Valves.Linear" instead of class'):
        es.read_study("a.toml")
    Path("b.toml").write_text(f"[model]\nfix = {{ k = 1 }}\n{tune}", encoding="utf-8")
    with pytest.raises(es.StudyError, match="write the file of the model, as source = "):
        es.read_study("b.toml")


ROOM = """model Room
  parameter Real C(unit = "J/K", min = 0) = 4;
  parameter Real R(unit = "K/W") = 0.5;
  parameter Real eta = 0.9;
  parameter Real share = 1.5;
  parameter Real useless = 3;
  input Real Q(unit = "W") "Heating power";
  input Real T_amb(unit = "K") "Temperature outdoors";
  output Real T(unit = "K", start = 293, fixed = true) "Room temperature";
  Modelica.Thermal.HeatTransfer.Components.ThermalConductor side(G = 0.6);
  Modelica.Thermal.HeatTransfer.Components.HeatCapacitor wall(C = 9, T(start = 290, fixed = true));
  Modelica.Thermal.HeatTransfer.Sources.PrescribedTemperature air(T = T);
  Modelica.Thermal.HeatTransfer.Sources.FixedHeatFlow sun(Q_flow = 0);
equation
  C*der(T) = eta*share*Q + (T_amb - T)/R - side.Q_flow;
  connect(air.port, side.port_a);
  connect(side.port_b, wall.port);
  connect(sun.port, wall.port);
end Room;
"""


@pytest.fixture
def room(folder: Path) -> Path:
    (folder / "Room.mo").write_text(ROOM, encoding="utf-8")
    rows = [f"{k},{40 if k % 8 < 4 else 0},{5 + k % 5},{20 - 0.1 * k}" for k in range(24)]
    header = "time,Q [W],outside [degC],T [degC]"
    (folder / "room.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    return folder / "room.toml"


def test_all_parameters_that_the_data_determine_are_drafted_in_groups(room: Path) -> None:
    assert estimica("new", "Room.mo", "room.csv").exit_code == 0
    text = room.read_text(encoding="utf-8")
    assert [t.name for t in es.read_study(room).tuners] == ["C", "R", "eta", "side.G"]
    active, _, rest = text.partition("# These data do not determine these beside others")
    assert active.index("eta = 0.9") < active.index("# side:") < active.index('"side.G" = 0.6')
    # eta and share are one factor: either may be tuned, not both
    assert "# share = 1.5 " in rest
    # both capacities, both conductances and eta times the same number give the same temperature
    assert '# "wall.C" = 9 ' in rest
    assert "# useless = 3" in rest
    # a part that is switched off stays so
    assert '# "sun.Q_flow" = 0' in rest


def test_what_was_measured_is_never_an_input(room: Path, folder: Path) -> None:
    assert estimica("new", "Room.mo", "room.csv").exit_code == 0
    text = room.read_text(encoding="utf-8")
    assert '# T_amb = { column = "outside", offset = 273.15 }' in text
    assert 'T = { column = "T", offset = 273.15 }' in text
    # the output has no column of its name: what is called more like it is not offered to inputs
    data = (folder / "room.csv").read_text(encoding="utf-8").replace("T [degC]", "T_room [degC]")
    (folder / "room.csv").write_text(data, encoding="utf-8")
    assert estimica("new", "Room.mo", "room.csv", "--force").exit_code == 0
    inputs, outputs = room.read_text(encoding="utf-8").split("[case.outputs]")
    assert "T_room" not in inputs.split("[case.inputs]")[1]
    assert '# T = { column = "T_room", offset = 273.15 }' in outputs


def test_a_column_called_like_a_variable_is_not_given_to_an_input_of_that_ending(
    folder: Path,
) -> None:
    (folder / "Two.mo").write_text(
        "model Two\n  connector In = input Real;\n  record Ambient\n    In T;\n  end Ambient;\n"
        "  Ambient a;\n  parameter Real k = 2;\n  Real T(start = 0, fixed = true);\nequation\n"
        "  der(T) = k*(a.T - T);\nend Two;\n",
        encoding="utf-8",
    )
    (folder / "two.csv").write_text("time,T\n0,0\n1,0.5\n2,0.8\n3,0.9\n", encoding="utf-8")
    assert estimica("new", "Two.mo", "two.csv").exit_code == 0
    text = (folder / "two.toml").read_text(encoding="utf-8")
    assert '"a.T" = "T"' not in text
    assert 'T = "T"' in text.split("[case.outputs]")[1]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("b/(z - a)", ["b = 0.5", "a = 0.5"]),
        ("K/(1 + tau*s)", ["K = ", "tau = "]),
        ("b/(s - a)", ["a = -0.5"]),
    ],
)
def test_transfer_functions_start_stable(folder: Path, source: str, lines: list[str]) -> None:
    rows = [f"{0.1 * k:.1f},{1 if k % 7 < 3 else 0},{0.1 * (k % 5)}" for k in range(12)]
    (folder / "z.csv").write_text("\n".join(["time,u,y", *rows]), encoding="utf-8")
    assert estimica("new", source, "z.csv", "--output", "z.toml").exit_code == 0
    text = (folder / "z.toml").read_text(encoding="utf-8")
    assert all(line in text for line in lines), text
