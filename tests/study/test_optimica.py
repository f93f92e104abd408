"""Files of JModelica.org's users: free attributes and optimization classes become studies."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.source.optimica.problem import is_optimica, read_problem

runner = CliRunner()
TANK = """
model Tank
  parameter Real T = 3.0 "time constant";
  parameter Real K(free = false) = 2;
  parameter Real x0 = 0.0;
  input Real u;
  Real x(fixed = true, start = x0);
  Real level;
equation
  der(x) = (K*u - x)/T;
  level = x^2 + x;
end Tank;
"""
#: in the form of the thesis: residuals, covariances and free parameters in the optimization class
LISTED = (
    TANK
    + """
optimization ML (objectiveIntegrand = (v1^2)*(r1)^(-1) + (v2^2)*(r2)^(-1) + log(r1*r2),
    startTime = 0.0, finalTime = 10.0)
  //noise covariances
  parameter Real r1(free = true, initialGuess = 1.0, min = 0.0, max = 100.0) = 1.0;
  parameter Real r2(free = true, initialGuess = 1.0, min = 0.04, max = 100.0) = 1.0;
  Tank tank(T = T, x0 = x0);
  parameter Real T(free = true, initialGuess = 4.0, nominal = 3,
    min = 0.5, max = 20) = 3.0; // time constant
  parameter Real x0(free = true, initialGuess = 0.1);
  input Real u;
  input Real x, h;
  Real v1;
  Real v2;
equation
  v1 = (tank.x - x);
  v2 = (h - tank.level);
  u = tank.u;
end ML;
"""
)


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "Tank.mop"
    path.write_text(LISTED)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def data(folder: Path) -> Path:
    """Of the tank with T = 3, K = 2, x0 = 0.2 and u = 1: x = 2 − 1.8 exp(−t/3)."""
    t = np.linspace(0, 12, 241)
    x = 2 - 1.8 * np.exp(-t / 3)
    rng = np.random.default_rng(4)
    columns = (t, np.ones_like(t), x + 0.1 * rng.standard_normal(241))
    columns += (x**2 + x + 0.5 * rng.standard_normal(241),)
    path = folder / "run.csv"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header="time,u,x,h", comments="")
    return path


def test_listing_is_read(listed: Path) -> None:
    problem = read_problem(listed)
    assert problem.class_ == "ML"
    assert [(p.name, p.start, p.minimum, p.maximum, p.nominal) for p in problem.free] == [
        ("T", 4.0, 0.5, 20.0, 3.0),
        ("x0", 0.1, -math.inf, math.inf, None),
    ]
    assert problem.inputs == ("u",)
    assert [(r.simulated, r.measured, r.variance) for r in problem.residuals] == [
        ("tank.x", "x", "r1"),
        ("tank.level", "h", "r2"),
    ]
    assert problem.likelihood
    assert (problem.start, problem.stop) == (0.0, 10.0)
    model = es.load_model(problem.modelica, "ML")
    assert set(model.inputs.index) == {"u"}
    assert not {"r1", "r2", "v1", "v2", "x", "h"} & set(model.variables.index)
    assert problem.modelica.count("\n") == LISTED.count("\n")  # lines stay where they were


def test_command_writes_a_study_that_fits(listed: Path) -> None:
    """As a study by hand of the plain model finds: T = 3, x0 = 0.2, σ = 0.1 and 0.5."""
    folder = listed.parent
    study = folder / "tank.toml"
    done = runner.invoke(
        app, ["new", str(listed), str(data(folder)), "--output", str(study), "--json"]
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["problems"] == []
    assert "the model without its objective" in told["notes"][0]
    found = json.loads(runner.invoke(app, ["fit", str(study), "--no-store", "--json"]).stdout)
    assert found["criterion"] == "ml"
    assert found["n_samples"] == 2 * 201  # up to finalTime
    by_hand = es.fit(
        es.Study(
            es.load_model(TANK),
            [es.Tuner("T", start=4, min=0.5, max=20), es.Tuner("x0", start=0.1)],
            [
                es.Case(
                    "run",
                    es.read_data(folder / "run.csv"),
                    inputs={"u": "u"},
                    outputs={"x": "x", "level": "h"},
                    to=10.0,
                )
            ],
            criterion="ml",
        )
    )
    for name in ("T", "x0"):
        one = found["parameters"][name]
        assert one["value"] == pytest.approx(by_hand[name], rel=1e-5)
    assert abs(found["parameters"]["T"]["value"] - 3) < 4 * found["parameters"]["T"]["stderr"]
    assert found["noise"]["tank.x"]["variance"] == pytest.approx(0.01, rel=0.3)
    text = study.read_text()
    assert "sigma = { max = 10 }" in text
    assert "sigma = { min = 0.2, max = 10 }" in text  # covariances there, deviations here


def test_squares_alone_are_output_errors_with_the_weights_written(tmp_path: Path) -> None:
    text = LISTED.replace(" + log(r1*r2)", "").replace("(v1^2)*(r1)^(-1)", "4*v1^2/r1")
    for r, value in (("r1", "1.0"), ("r2", "0.25")):
        text = text.replace(
            f"parameter Real {r}(free = true, ", f"parameter Real {r}(free = false, "
        )
        start = text.index(f"parameter Real {r}")
        end = text.index(";", start)
        text = text[:start] + f"parameter Real {r}(free = false) = {value}" + text[end:]
    path = written(tmp_path / "Oe.mop", text)
    problem = read_problem(path)
    assert not problem.likelihood
    assert problem.known == {"r1": 1.0, "r2": 0.25}
    study = tmp_path / "oe.toml"
    assert (
        runner.invoke(
            app, ["new", str(path), str(data(tmp_path)), "--output", str(study)]
        ).exit_code
        == 0
    )
    assert es.read_study(study).cases[0].columns_of_outputs["tank.x"].weight == 2.0
    assert es.read_study(study).cases[0].columns_of_outputs["tank.level"].weight == 2.0


def test_extended_model_and_modifiers_free_parameters(tmp_path: Path) -> None:
    text = (
        TANK
        + """
optimization Est (objectiveIntegrand = (x - x_meas)^2, finalTime = 10)
  extends Tank(T(free = true, initialGuess = 2, min = 1), x0(free = true), u(start = 1));
  input Real x_meas;
end Est;
optimization Other (objectiveIntegrand = (t.x - x_meas)^2)
  Tank t(T(free = true, min = 1, max = 9));
  input Real u = t.u;
  input Real x_meas;
end Other;
"""
    )
    path = written(tmp_path / "Two.mop", text)
    with pytest.raises(es.StudyError, match=r"Q163: .*has optimizations Est, Other; name one"):
        read_problem(path)
    with pytest.raises(es.StudyError, match="did you mean 'Other'"):
        read_problem(path, "Othr")
    one = read_problem(path, "Est")
    assert [(p.name, p.start, p.minimum) for p in one.free] == [
        ("T", 2.0, 1.0),
        ("x0", None, -math.inf),
    ]
    assert [(r.simulated, r.measured) for r in one.residuals] == [("x", "x_meas")]
    assert es.load_model(one.modelica, "Est").inputs.index.tolist() == ["u"]
    other = read_problem(path, "Other")
    assert [(p.name, p.maximum) for p in other.free] == [("t.T", 9.0)]


def test_plain_model_with_free_attributes(tmp_path: Path) -> None:
    """`free` and `initialGuess` are read by `new` and do no harm elsewhere."""
    text = TANK.replace(
        "parameter Real T = 3.0", "parameter Real T(free = true, initialGuess = 5, min = 1) = 3.0"
    )
    path = written(tmp_path / "Tank.mo", text)
    assert is_optimica(str(path))
    assert not is_optimica(str(written(tmp_path / "Plain.mo", TANK)))
    assert es.load_model(path).parameters.value["T"] == 3.0
    study = tmp_path / "tank.toml"
    done = runner.invoke(app, ["new", str(path), str(data(tmp_path)), "--output", str(study)])
    assert done.exit_code == 0, done.output
    read = es.read_study(study)
    assert [(t.name, t.start, t.min) for t in read.tuners] == [("T", 5.0, 1.0)]
    assert read.cases[0].columns_of_outputs.keys() == {"x"}
    assert path.read_text() == text  # never written over


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("equation\n  v1", "constraint\n  tank.x <= 3;\nequation\n  v1"), "Q160: .*'tank.x <= 3'.*min and max.*optimise"),
        (("finalTime = 10.0", "finalTime(free = true) = 10.0"), "Q164: .*finalTime.*horizon of a fit"),
        (("startTime = 0.0", "horizon = 0.0"), "Q164: .*'horizon'.*leave it out"),
        (("objectiveIntegrand = (v1^2)", "objective = cost(finalTime), objectiveIntegrand = (v1^2)"), "Q165: .*value at single times"),
        (("(v1^2)*(r1)^(-1)", "v1^2*tank.x"), "Q165: .*not a sum of squared residuals.*criterion"),
        (("(v1^2)*(r1)^(-1)", "abs(v1)"), "Q165: .*not a sum of squared residuals"),
        (("input Real u;\n  input Real x, h;", "input Real u, x, h;"), "Q166: .*'x' is measured and 'u' is not"),
    ],
    ids=["constraint", "free time", "unknown argument", "objective", "product", "absolute", "together"],
)  # fmt: skip
def test_rest_is_refused_with_the_way_out(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    text = LISTED.replace("  input Real u;\n  Real x(", "  input Real u ;\n  Real x(")
    assert change[0] in text
    path = written(tmp_path / "Bad.mop", text.replace(*change))
    with pytest.raises(es.StudyError, match=message) as told:
        read_problem(path)
    assert "Bad.mop:" in str(told.value)
    done = runner.invoke(app, ["new", str(path), "--output", str(tmp_path / "bad.toml")])
    assert done.exit_code == 2
    assert not (tmp_path / "bad.toml").exists()


def test_nothing_free_and_no_optimization_are_told(tmp_path: Path) -> None:
    nothing = LISTED.replace("free = true", "free = false")
    with pytest.raises(es.StudyError, match=r"Q162: .*frees no parameter; write free = true"):
        read_problem(written(tmp_path / "None.mop", nothing))
    with pytest.raises(es.StudyError, match=r"Q163: .*no optimization class"):
        read_problem(written(tmp_path / "Empty.mop", TANK))


# --- the file as the source of a study -------------------------------------------------------------

NAMED = """[model]
source = "Tank.mop"
{more}
[tune]
T = {{ start = 4, min = 0.5, max = 20 }}
x0 = {{ start = 0.1 }}
[[case]]
name = "run"
data = "run.csv"
inputs = {{ u = "u" }}
outputs = {{ {output} = "x" }}
"""


def named(folder: Path, output: str, more: str = "") -> Path:
    data(folder)
    return written(folder / "tank.toml", NAMED.format(output=f'"{output}"', more=more))


def test_a_study_names_the_file_itself(listed: Path) -> None:
    """Of the optimization class, and of the plain model beside it, the same is found by hand."""
    study = named(listed.parent, "tank.x")
    checked = runner.invoke(app, ["check", str(study)])
    assert checked.exit_code == 0, checked.output
    fit = es.fit(es.read_study(study))
    # a constraint of an optimization class is nothing to its plain neighbour
    text = LISTED.replace("equation\n  v1", "constraint\n  tank.x <= 3;\nequation\n  v1")
    listed.write_text(text)
    plain = es.fit(es.read_study(named(listed.parent, "x", 'class = "Tank"')))
    by_hand = es.fit(
        es.Study(
            es.load_model(TANK),
            [es.Tuner("T", start=4, min=0.5, max=20), es.Tuner("x0", start=0.1)],
            [es.Case("run", listed.parent / "run.csv", inputs={"u": "u"}, outputs={"x": "x"})],
        )
    )
    for name, truth in (("T", 3.0), ("x0", 0.2)):
        expected = by_hand.parameters.loc[name, "value"]
        assert expected == pytest.approx(truth, abs=0.2)
        assert fit.parameters.loc[name, "value"] == pytest.approx(expected, rel=1e-5)
        assert plain.parameters.loc[name, "value"] == pytest.approx(expected, rel=1e-5)
    refused = runner.invoke(app, ["check", str(named(listed.parent, "tank.x"))])
    assert refused.exit_code == 2
    assert "Q160" in refused.output


def test_a_model_of_an_optimica_file_is_inspected(listed: Path) -> None:
    shown = json.loads(runner.invoke(app, ["inspect", str(listed), "--json"]).stdout)
    assert shown["model"] == "ML"
    assert {"T", "x0"} <= shown["parameters"].keys()
    assert {"tank.x", "u"} <= shown["variables"].keys()
    assert not {"r1", "v1", "h"} & (shown["parameters"].keys() | shown["variables"].keys())
    plain = json.loads(runner.invoke(app, ["inspect", str(listed), "Tank", "--json"]).stdout)
    assert plain["model"] == "Tank"


def test_python_loads_the_file_too(listed: Path, tmp_path: Path) -> None:
    model = es.load_model(listed)
    assert model.name == "ML"
    plain = es.load_model(str(listed), "Tank", fix={"T": 2.0})
    same = es.load_model(TANK, fix={"T": 2.0})
    times, u = np.linspace(0, 5, 6), {"u": 1.5}
    for one, name in ((plain, "x"), (model, "tank.x")):
        ours = one.simulate(times, u, {"T": 2.0, "x0": 0.1}, outputs=[name])[name]
        theirs = same.simulate(times, u, {"x0": 0.1}, outputs=["x"])["x"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    study = es.Study(
        plain,
        [es.Tuner("x0", start=0.1)],
        [es.Case("run", data(listed.parent), inputs={"u": "u"}, outputs={"x": "x"})],
    )
    again = es.read_study(study.write(listed.parent / "again.toml")[0])
    assert again.bare.origin.class_ == "Tank"
    with pytest.raises(es.EstimicaError, match=r"Q005.*leave frontend out"):
        es.load_model(listed, frontend="openmodelica")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('class = "Tnk"', "S002: .*no class 'Tnk'.*did you mean 'Tank'"),
        ('frontend = "openmodelica"', "Q005: .*Estimica reads Optimica itself; leave frontend out"),
    ],
)
def test_wrong_names_of_such_a_study_are_told(listed: Path, more: str, message: str) -> None:
    with pytest.raises(es.EstimicaError, match=message):
        es.read_study(named(listed.parent, "tank.x", more))


def test_a_file_that_is_missing_or_needs_a_neighbour(listed: Path) -> None:
    folder = listed.parent
    written(folder / "Tank.mo", TANK)
    alone = LISTED.removeprefix(TANK)
    listed.write_text(alone)
    assert "tank.x" in es.read_study(named(folder, "tank.x")).model.variables.index
    listed.unlink()
    with pytest.raises(es.EstimicaError, match=r"no such file: .*Tank\.mop"):
        es.read_study(folder / "tank.toml")
