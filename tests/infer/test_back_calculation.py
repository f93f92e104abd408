"""Back-calculation: what a relation hides, computed from data."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import EstimicaError, InferError, StructureError
from estimica.study.check.run import check_file

OHM = Path(__file__).parents[2] / "examples" / "ohm" / "Ohm.mo"
MOTOR = """
model Motor
  parameter Real J = 0.2;
  parameter Real k = 0.5;
  input Real i;
  output Real w(start = 0, fixed = true);
  Real friction;
equation
  J*der(w) = k*i - friction;
  friction = 0.1*w;
end Motor;
"""

FORMULA = """
[static]
expression = { K = "scale*sqrt(y)" }
[tune]
scale = 1.0
[[case]]
name = "points"
data = "points.csv"
inputs = { y = "y" }
[backcalculate]
compute = "K"
against = "x"
"""


def points(n=12, R=47.0, noise=0.0):
    i = np.linspace(0.1, 1, n)
    v = R * i + np.random.default_rng(1).normal(0, noise, n)
    return pd.DataFrame({"t": np.arange(n, dtype=float), "v": v, "i": i, "T": 20 + 50 * i})


def resistor(frame, **case):
    model = es.load_model(OHM, "Ohm.Resistor", inputs=["v", "i", "n.v"], unknowns=["R"])
    inputs = {"v": "v", "i": "i", "n.v": 0.0}
    return es.Study(model, [], [es.Case("points", frame, inputs=inputs, **case)])


def test_resistance_is_voltage_over_current_at_every_point():
    found = es.backcalculate(resistor(points()), "R", against="i")
    assert found.column("R") == pytest.approx(47.0, rel=1e-12)
    assert found.laws["R"].best.kind == "constant"
    table = found.table()
    assert list(table.columns) == ["case", "time", "R", "i", "v", "n.v"]
    assert len(table) == 12


def test_law_in_a_column_that_the_model_does_not_know():
    frame = points(20)
    frame["v"] *= 1 + 0.004 * (frame["T"] - 20)
    found = es.backcalculate(resistor(frame), "R", against="T")
    best = found.laws["R"].best
    assert best.kind == "line"
    assert best.parameters["b1"].value == pytest.approx(47 * 0.004)


def test_inputs_that_change_are_looked_at_where_none_is_named():
    assert es.backcalculate(resistor(points()), "R").against == ("v", "i")


def test_measured_outputs_drive_a_model_that_was_loaded_for_a_fit():
    model = es.load_model(OHM, "Ohm.Resistor", inputs=["i", "n.v"])
    case = es.Case("points", points(), inputs={"i": "i", "n.v": 0.0}, outputs={"v": "v"})
    found = es.backcalculate(es.Study(model, ["R"], [case]), "R", against="i")
    assert found.column("R") == pytest.approx(47.0, rel=1e-12)


def test_component_without_any_correlation():
    model = es.load_model(OHM, "Ohm.OnePort", inputs=["v", "i", "n.v"])
    case = es.Case("points", points(), inputs={"v": "v", "i": "i", "n.v": 1.0})
    found = es.backcalculate(es.Study(model, [], [case]), "p.v", against="i")
    assert found.column("p.v") == pytest.approx(points()["v"] + 1)
    assert {law.kind for law in found.laws["p.v"].tied} == {"line"}


def test_friction_of_a_motor_is_computed_over_time_from_its_measured_speed():
    model = es.load_model(MOTOR)
    t = np.linspace(0, 5, 201)
    i = 1 + np.sin(2 * t)
    run = model.simulate(t, {"i": {"time": t, "value": i, "hold": "linear"}}, outputs=["w"])
    frame = pd.DataFrame({"t": t, "i": i, "w": run.values[:, 0]})
    held = {n: es.InputColumn(n, hold="spline") for n in ("i", "w")}
    case = es.Case("run", frame, inputs=held)
    driven = model.with_inputs(["w"], leave_out=["friction = 0.1*w"])
    found = es.backcalculate(
        es.Study(driven, [], [case]), "friction", against="w", leave_out=["friction = 0.1*w"]
    )
    inner = slice(5, -5)
    assert found.has_time
    assert found.column("friction")[inner] == pytest.approx(0.1 * frame["w"][inner], abs=2e-3)


def test_formula_gives_its_output_at_every_point_and_tells_the_one_that_fails(tmp_path):
    x = np.arange(1.0, 13)
    frame = pd.DataFrame({"x": x, "y": 3 * x**2})
    frame.loc[4, "y"] = -1.0
    frame.to_csv(tmp_path / "points.csv", index=False)
    study = tmp_path / "study.toml"
    study.write_text(FORMULA)
    found = es.backcalculate(study)
    assert [f.point for f in found.failed] == [4]
    assert np.isnan(found.column("K")[4])
    assert found.laws["K"].n_points == 11
    assert found.outcome()[0] == "done"
    assert "1 of 12 points could not be computed: 4 (" in found.outcome()[1]
    assert found.laws["K"].best.kind in ("line", "power")


def test_formula_of_columns_alone_needs_no_tuner(tmp_path):
    x = np.arange(1.0, 13)
    pd.DataFrame({"x": x, "y": 3 * x**2}).to_csv(tmp_path / "points.csv", index=False)
    study = tmp_path / "study.toml"
    study.write_text(FORMULA.replace("scale*", "").replace("[tune]\nscale = 1.0\n", ""))
    assert check_file(study) == []
    found = es.backcalculate(study)
    assert found.column("K") == pytest.approx(np.sqrt(3) * x)


def test_tube_of_the_examples_follows_a_power_law_in_two_numbers():
    found = es.backcalculate(OHM.parents[1] / "tube" / "tube.toml")
    best = found.laws["Nu"].best
    assert (best.kind, best.regressors) == ("power", ("Re", "Pr"))
    for name, truth in {"c": 0.023, "a": 0.8, "b": 0.4}.items():
        p = best.parameters[name]
        assert abs(p.value - truth) < 3 * p.stderr
    figure = found.plot(against="Re", axes="log-log")
    assert any("moved to Pr = " in t.name for t in figure.data)


def test_point_without_a_solution_is_told_by_number():
    model = es.load_model(
        "model Root parameter Real a = 1; input Real b; Real x(start = 1); "
        "equation a*x^2 = b; end Root;",
        unknowns=["a"],
        inputs=["x"],
    )
    frame = pd.DataFrame({"x": [1.0, 2, 0, 4], "b": [2.0, 8, 1, 32]})
    case = es.Case("points", frame, inputs={"x": "x", "b": "b"})
    found = es.backcalculate(es.Study(model.at_points(), [], [case]), "a", against="b")
    assert [f.point for f in found.failed] == [2]
    assert found.column("a")[[0, 1, 3]] == pytest.approx(2)


def test_points_without_a_solution_are_told_by_number_where_others_are_left_out():
    model = es.load_model("model Root input Real u; Real x(start = 1); equation x^2 = u; end Root;")
    frame = pd.DataFrame({"u": [np.nan, 4.0, -1.0, 9.0, -2.0, 16.0]})
    case = es.Case("points", frame, inputs={"u": "u"}, exclude=[(1, 1)])
    found = es.backcalculate(es.Study(model.at_points(), [], [case]), "x", against="u")
    assert [(f.point, f.message.split(":")[0]) for f in found.failed] == [
        (2.0, "point 2 (u = -1)"),
        (4.0, "point 4 (u = -2)"),
    ]
    assert found.column("x") == pytest.approx([np.nan, 3.0, np.nan, 4.0], nan_ok=True)


def test_study_that_only_calculates_backwards_is_checked_as_such():
    assert check_file(OHM.with_name("ohm.toml")) == []


def test_all_points_failing_is_a_failure():
    frame = points()
    frame["i"] = 0.0
    frame["v"] = 1.0
    found = es.backcalculate(resistor(frame), "R", against="T")
    assert found.outcome()[0] == "failed"
    assert "R" in found.without_laws


def test_several_cases_are_one_cloud():
    first, second = points(8), points(8, R=50)
    study = resistor(first)
    cases = [*study.cases, es.Case("second", second, inputs={"v": "v", "i": "i", "n.v": 0.0})]
    found = es.backcalculate(study.with_(cases=cases), "R", against="i")
    assert found.n_points == 16
    assert found.laws["R"].n_points == 16
    assert set(found.table()["case"]) == {"points", "second"}


def test_points_are_written_and_read_back(tmp_path):
    study = resistor(points())
    found = es.backcalculate(study, "R", against="T")
    again = es.read_data(found.write(tmp_path / "points.csv"))
    assert again.units["R"] == "Ohm"
    assert np.array_equal(again.column("R"), found.column("R"))
    parquet = es.read_data(found.write(tmp_path / "points.parquet"))
    assert np.array_equal(parquet.column("R"), found.column("R"))
    second = es.Case("second", points(), inputs={"v": "v", "i": "i", "n.v": 0.0})
    both = es.backcalculate(study.with_(cases=[*study.cases, second]), "R", against="T")
    frame = pd.read_csv(both.write(tmp_path / "both.csv"))
    assert set(frame["case"]) == {"points", "second"}


def test_samples_outside_of_a_stretch_do_not_count():
    found = es.backcalculate(resistor(points(), from_=2.0, exclude=((4.0, 5.0),)), "R")
    assert found.table()["time"].tolist() == [2, 3, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("axes", ["linear", "lin-log", "log-lin", "log-log"])
def test_figure_has_the_axes_asked_for(axes):
    figure = es.backcalculate(resistor(points(noise=0.1)), "R", against="T").plot(axes=axes)
    kinds = {"lin-log": ("-", "log"), "log-lin": ("log", "-"), "log-log": ("log", "log")}
    across, up = kinds.get(axes, ("-", "-"))
    assert (figure.layout.xaxis.type == "log") == (across == "log")
    assert (figure.layout.yaxis.type == "log") == (up == "log")


def test_page_has_every_picture(tmp_path):
    found = es.backcalculate(resistor(points(noise=0.1)), "R", against=["T", "i"])
    html = found.report(tmp_path / "page.html").read_text()
    for text in ("Laws of R", "R against T", "R against i", "both axes logarithmic", "AICc"):
        assert text in html
    html = found.report(tmp_path / "page.html", axes="log-log").read_text()
    assert "linear axes" not in html


# --- what is wrong -------------------------------------------------------------------------------


def told(match, error=InferError):
    return pytest.raises(error, match=match)


def test_wrong_requests_are_told():
    study = resistor(points())
    with told("I614.*there is nothing to compute", EstimicaError):
        es.backcalculate(study)
    with told("E207: 'RR' cannot be computed: 'Ohm.Resistor' has no such name", StructureError):
        es.backcalculate(study, "RR")
    with told("E207: 'v' is given by the data; there is nothing to compute", StructureError):
        es.backcalculate(study, "v")
    with told("I610: against 'TT': neither the model nor DataFrame of case 'points' has it"):
        es.backcalculate(study, "R", against="TT")
    with told("I616.*'R' is to be computed and cannot stand in against", EstimicaError):
        es.backcalculate(study, "R", against="R")
    with told("I615.*there is no case", EstimicaError):
        es.backcalculate(study.with_(cases=[]), "R")
    with told(r"\[backcalculate\].*laws.*'powr'", EstimicaError):
        es.backcalculate(study, "R", laws=["powr"])


def test_too_few_or_many_inputs_are_told_by_count_and_name():
    model = es.load_model(OHM, "Ohm.Resistor", inputs=["i", "n.v"])
    few = es.Study(model, [], [es.Case("p", points(), inputs={"i": "i", "n.v": 0.0})])
    with told("E204: 'Ohm.Resistor' needs 3 inputs, not 2: 'i', 'n.v'", StructureError):
        es.backcalculate(few, "R")
    # without a current R would have to follow from a current of zero
    given = es.Case("p", points(), inputs={"v": "v", "n.v": 0.0})
    with told(
        "E204: 'Ohm.Resistor' needs 3 inputs, not 2: 'v', 'n.v'; .*possible: ", StructureError
    ):
        es.backcalculate(few.with_(cases=[given]), "R")
    inputs = {"v": "v", "i": "i", "n.v": 0.0, "p.v": "v"}
    with told("E204: 'Ohm.Resistor' needs 3 inputs, not 4", StructureError):
        es.backcalculate(few.with_(cases=[es.Case("p", points(), inputs=inputs)]), "R")


def test_column_of_words_is_told():
    frame = points().assign(T=["warm"] * 12)
    with told("D006: column 'T' of DataFrame is not numeric", EstimicaError):
        es.backcalculate(resistor(frame), "R", against="T")


def test_too_few_points_have_values_but_no_laws():
    found = es.backcalculate(resistor(points(3)), "R", against="T")
    assert len(found.table()) == 3
    assert "1 parameter needs at least 4 points, there are 3" in found.without_laws["R"]


def test_wrong_pictures_are_told():
    found = es.backcalculate(resistor(points()), "R", against="T")
    with told("I617: there is no kind of axes 'loglog'; did you mean 'log-log'"):
        found.plot(axes="loglog")
    with told("I617: there is no variable against 'TT'"):
        found.plot(against="TT")
    frame = points().assign(T=-1.0 * np.arange(12))
    below = es.backcalculate(resistor(frame), "R", against="T")
    with told("I619: axes 'log-log': 'T' is positive at no point; take linear"):
        below.plot(axes="log-log")


# --- the command ---------------------------------------------------------------------------------


def command(*arguments):
    return CliRunner().invoke(app, ["backcalculate", *map(str, arguments)])


def test_command_prints_points_and_laws(tmp_path):
    study = OHM.with_name("ohm.toml")
    done = command(study, "--json", "--csv", tmp_path / "R.csv", "--report", tmp_path / "R.html")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["command"] == "backcalculate"
    assert told["laws"][0]["kind"] == "line"
    assert told["laws"][0]["of"] == "R"
    assert len(told["points"]) == 20
    assert (tmp_path / "R.csv").exists()
    assert (tmp_path / "R.html").exists()
    plain = command(study)
    assert plain.exit_code == 0
    assert "line in T describes R best" in plain.stdout.replace("\n", " ")


def test_what_to_compute_may_stand_on_the_command_line_alone(tmp_path):
    points(noise=0.1).to_csv(tmp_path / "points.csv", index=False)
    study = tmp_path / "ohm.toml"
    study.write_text(
        f'[model]\nsource = "{OHM}"\nclass = "Ohm.Resistor"\n[static]\nmode = "static"\n'
        '[[case]]\nname = "points"\ndata = "points.csv"\n'
        'inputs = { v = "v", i = "i", "n.v" = 0.0 }\n'
    )
    done = command(study, "R", "--against", "T", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["points"][0]["R"] == pytest.approx(47, rel=0.1)
    done = command(study)
    assert done.exit_code == 2
    assert "E204" in done.stderr
    assert '[backcalculate] and compute = "…"' in done.stderr


def test_command_refuses_what_cannot_be(tmp_path):
    study = OHM.with_name("ohm.toml")
    for arguments, text in {
        ("--axes", "loglog"): "did you mean 'log-log'",
        ("--against", "TT"): "I610",
        ("--law", "powr"): "laws",
        ("X",): "'X' cannot be computed",
        ("--csv", str(tmp_path / "no" / "R.csv")): "P001",
    }.items():
        done = command(study, *arguments)
        assert done.exit_code == 2, done.output
        assert text in done.stderr


def test_laws_of_what_was_not_computed_are_told_with_what_was():
    found = es.backcalculate(resistor(points()), "R", against="i")
    with pytest.raises(InferError, match=r"I620: 'r' was not computed.*; did you mean 'R'"):
        found.laws["r"]
    with pytest.raises(InferError, match=r"I620: 'zeta' was not computed.*\(there are R\)"):
        found.laws["zeta"]
    assert found.laws.get("zeta") is None
    assert "zeta" not in found.laws
    few = es.backcalculate(resistor(points(3)), "R", against="i")
    with pytest.raises(InferError, match=r"I621: 'R' has no laws: .*at least 4 points"):
        few.laws["R"]
    again = pickle.loads(pickle.dumps(found.laws))
    assert list(again) == ["R"]
    with pytest.raises(InferError, match=r"did you mean 'R'"):
        again["r"]
