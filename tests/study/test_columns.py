"""`[columns]`: one mapping for all cases, with exceptions per case."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.tank import TANK
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import CaseError, DataError, EstimicaError, StudyError
from estimica.base.problems import Fix, Problem
from estimica.study.carry.write import text_with_values, without_starts
from estimica.study.check.run import check_file
from estimica.study.file.fixes import text_with_fix
from estimica.study.file.located import located_problem, located_problems
from estimica.study.origin import ValueChange

HEAD = """\
[model]
source = "Tank.mo"
[tune]
a = { start = 0.4, min = 0, max = 5 }
b = 1.5
"""
COLUMNS = """\
[columns]
u = "current"
y = { column = "level", sigma = 0.1 }
T = "temp"
"""


def table(names: str, *, seed: int, x0: float = 1.0) -> str:
    """Samples of the tank with a = 0.5, b = 2 in closed form, with some noise."""
    random = np.random.default_rng(seed)
    t, u = np.arange(0.0, 10.5, 0.5), 1.0
    x = 4 + (x0 - 4) * np.exp(-0.5 * t) + 0.01 * random.standard_normal(len(t))
    rows = [
        f"{a:g},{u:g},{c!r},{27 + c!r},{2 * c!r}" for a, c in zip(t, map(float, x), strict=True)
    ]
    return "\n".join([names, *rows]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Tank.mo").write_text(TANK)
    (tmp_path / "logs").mkdir()
    names = "t [s],current [A],level [m],temp [degC],other"
    for k in (1, 2, 3):
        (tmp_path / "logs" / f"run{k}.csv").write_text(table(names, seed=k))
    odd = names.replace("level", "lvel").replace("current [A],", "I [A],")
    (tmp_path / "odd.csv").write_text(table(odd, seed=9))
    return tmp_path


def study(folder: Path, text: str, head: str = HEAD) -> Path:
    path = folder / "study.toml"
    path.write_text(head + text)
    return path


def problems(path: Path) -> list[Problem]:
    return [p for p in check_file(path) if not p.note]


def texts(path: Path) -> list[str]:
    return [f"{p.code}: {p.text}" for p in problems(path)]


def fitted(path: Path | es.Study) -> dict[str, Any]:
    """What a fit finds, to the last bit."""
    fit = es.fit(es.read_study(path) if isinstance(path, Path) else path)
    curves = [o.simulated.tolist() for c in fit.cases for o in c.outputs]
    return {"parameters": fit.to_dict()["parameters"], "curves": curves, "cost": fit.cost}


# --- the same as written out ---------------------------------------------------------------------


def test_a_fit_is_the_one_with_the_mapping_written_out(folder: Path) -> None:
    """Glob, validation case and unit conversion (°C to K) with it, to the last bit."""
    rest = """
[[case]]
data = "logs/run[12].csv"
%s
[[case]]
name = "tried"
role = "validate"
data = "logs/run3.csv"
%s
"""
    each = 'inputs = { u = "current" }\n' + (
        'outputs = { y = { column = "level", sigma = 0.1 }, T = "temp" }'
    )
    shared = fitted(study(folder, COLUMNS + rest % ("", "")))
    assert shared == fitted(study(folder, rest % (each, each)))
    assert shared["parameters"]["a"]["value"] == pytest.approx(0.5, abs=0.02)
    assert len(shared["curves"]) == 6


def test_the_model_says_what_is_an_input(folder: Path) -> None:
    path = study(folder, COLUMNS + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n')
    (case,) = es.read_study(path).cases
    assert case.inputs == {"u": "current"}
    assert list(case.outputs) == ["y", "T"]
    assert not texts(path)


def test_what_a_case_says_replaces_the_whole_entry(folder: Path) -> None:
    text = (
        COLUMNS
        + """[[case]]
name = "plain"
data = "logs/run1.csv"
[[case]]
name = "other"
data = "logs/run2.csv"
inputs = { u = 1.0 }
outputs = { x = "other", y = "level" }
without = ["T"]
"""
    )
    read = es.read_study(study(folder, text))
    plain, other = read.cases
    assert plain.columns_of_outputs["y"].sigma == 0.1
    assert other.inputs == {"u": 1.0}
    assert other.columns_of_outputs["y"].sigma is None
    assert list(other.outputs) == ["y", "x"]  # in the order of [columns], then its own
    assert not texts(study(folder, text))


def test_a_case_may_make_an_output_its_input(folder: Path) -> None:
    """The name counts, wherever the case has it."""
    text = COLUMNS + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\noutputs = { u = "current" }\n'
    (case,) = es.read_study(study(folder, text)).cases
    assert "u" not in case.inputs
    assert texts(study(folder, text))[0].startswith("C021: case 'c': output 'u' is an input")


def test_a_case_without_data_takes_nothing(folder: Path) -> None:
    text = COLUMNS + '[[case]]\nname = "design"\nstop = 3\n'
    (case,) = es.read_study(study(folder, text)).cases
    assert not case.inputs
    assert not case.outputs
    assert [p.code for p in problems(study(folder, text)) if p.code == "C143"] == ["C143"] * 3


def test_joined_files_and_reading(folder: Path) -> None:
    lines = (folder / "logs" / "run1.csv").read_text().splitlines()
    (folder / "part1.csv").write_text("\n".join(lines[:12]) + "\n")
    (folder / "part2.csv").write_text("\n".join([lines[0], *lines[12:]]) + "\n")
    joined = '[[case]]\nname = "c"\ndata = "part*.csv"\njoin = true\n'
    whole = '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    assert fitted(study(folder, COLUMNS + joined)) == fitted(study(folder, COLUMNS + whole))


def test_all_that_an_output_can_say(folder: Path) -> None:
    shared = """
[columns]
u = { column = "current", hold = "linear" }
y = { column = "level", weight = 2, prefilter = { lowpass = 0.3 }, disturbance = true }
half = { column = "level", expression = "y/2", scale = 0.5, transform = "log" }
"""
    each = """
inputs = { u = { column = "current", hold = "linear" } }
[case.outputs]
y = { column = "level", weight = 2, prefilter = { lowpass = 0.3 }, disturbance = true }
half = { column = "level", expression = "y/2", scale = 0.5, transform = "log" }
"""
    case = '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    assert fitted(study(folder, shared + case)) == fitted(study(folder, case + each))


def test_units_of_an_entry_are_converted_in_every_case(folder: Path) -> None:
    """1 of `other` is half a metre: the file does not say so, the entry does."""
    shared = '[columns]\nu = "current"\ny = { column = "other", scale = 50, unit = "cm" }\n'
    case = '[[case]]\ndata = "logs/run?.csv"\n'
    path = study(folder, shared + case)
    assert fitted(path)["parameters"]["a"]["value"] == pytest.approx(0.5, abs=0.02)
    (note,) = [p for p in check_file(path) if p.code == "C130"]
    assert note.where == "3 cases"


# --- time ----------------------------------------------------------------------------------------


def test_the_column_of_the_time(folder: Path) -> None:
    """`t` is the first column; the minutes behind it are to be taken."""
    for k in (1, 2):
        lines = (folder / "logs" / f"run{k}.csv").read_text().splitlines()
        rows = [f"{line},{float(line.split(',')[0]) / 60!r}" for line in lines[1:]]
        (folder / f"m{k}.csv").write_text("\n".join([lines[0] + ",stamp", *rows]) + "\n")
    time = 'time = { column = "stamp", scale = 60 }\n'
    text = COLUMNS + time + '[[case]]\ndata = "m1.csv"\nname = "one"\n'
    text += '[[case]]\ndata = "m2.csv"\nname = "two"\nwithout = ["time"]\n'
    text += '[[case]]\ndata = "logs/run3.csv"\nname = "three"\ntime = "t"\n'
    read = es.read_study(study(folder, text))
    assert [(c.time, c.time_scale) for c in read.cases] == [
        ("stamp", 60.0),
        (None, None),
        ("t", None),
    ]
    ends = [float(c.outputs[0].time[-1]) for c in es.fit(read).cases]
    assert ends == pytest.approx([10, 10, 10])
    missing = study(folder, COLUMNS + time + '[[case]]\ndata = "logs/run1.csv"\nname = "one"\n')
    (told,) = texts(missing)
    assert told.startswith("D004: case 'one': no column 'stamp' in")
    assert "[columns] time says so for all cases" in told
    assert 'write time = "…" in this case' in told


@pytest.mark.parametrize(
    "entry", ["3", '{ column = "t", unit = "min" }', '{ column = "t", scale = -1 }']
)
def test_what_a_time_cannot_be(folder: Path, entry: str) -> None:
    text = COLUMNS + f'time = {entry}\n[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    (told,) = texts(study(folder, text))
    assert told.startswith("C141: [columns] time: the time has a column")


# --- frequency responses, formulas, functions ----------------------------------------------------


def bode(folder: Path) -> None:
    """2/(1 + 3 s) at some frequencies."""
    omega = np.logspace(-2, 1, 12)
    response = 2 / (1 + 3j * omega)
    rows = [
        f"{w!r},{g.real!r},{g.imag!r}"
        for w, g in zip(omega.tolist(), response.tolist(), strict=True)
    ]
    (folder / "bode.csv").write_text("\n".join(["w [rad/s],re,im", *rows]) + "\n")
    t = np.arange(0.0, 20.0, 0.5)
    y = 2 * (1 - np.exp(-t / 3))
    rows = [f"{a!r},1,{b!r}" for a, b in zip(t.tolist(), y.tolist(), strict=True)]
    (folder / "step.csv").write_text("\n".join(["time,volt,speed", *rows]) + "\n")


LAG = '[model]\nsource = "K/(1 + tau*s)"\n[tune]\nK = 1.0\ntau = { start = 1, min = 0.01 }\n'


def test_entries_of_responses_and_of_time_go_to_their_cases(folder: Path) -> None:
    bode(folder)
    frequency = '[[case]]\nname = "bode"\ndata = "bode.csv"\nangular_frequency = "w"\n'
    step = '[[case]]\nname = "step"\ndata = "step.csv"\n'
    shared = '[columns]\nu = "volt"\ny = { real = "re", imag = "im" }\n'
    own = 'outputs = { y = "speed" }\n'
    path = study(folder, shared + frequency + step + own, LAG)
    assert not texts(path)
    found = fitted(path)
    assert found["parameters"]["tau"]["value"] == pytest.approx(3, rel=1e-5)
    each = frequency + 'outputs = { y = { real = "re", imag = "im" } }\n' + step
    written = each + 'inputs = { u = "volt" }\noutputs = { y = "speed" }\n'
    assert found == fitted(study(folder, written, LAG))
    named = shared.replace("y =", '"y/u" =')
    assert found == fitted(study(folder, named + frequency + step + own, LAG))


def test_a_response_is_none_of_an_input(folder: Path) -> None:
    bode(folder)
    text = '[columns]\nu = { real = "re", imag = "im" }\n'
    text += '[[case]]\nname = "c"\ndata = "bode.csv"\nangular_frequency = "w"\n'
    assert any(
        t.startswith("C141: [columns] u: a frequency response")
        for t in texts(study(folder, text, LAG))
    )


def test_points_of_a_formula(folder: Path) -> None:
    """What stands in the formula is an input, the other is the output."""
    x = np.linspace(0, 3, 20)
    rows = [f"{a!r},{1 + 2 * a!r}" for a in x.tolist()]
    (folder / "points.csv").write_text("\n".join(["p,q", *rows]) + "\n")
    head = '[static]\nexpression = "c0 + c1*x"\n[tune]\nc0 = 0.0\nc1 = 1.0\n'
    text = '[columns]\nx = "p"\nout = "q"\n[[case]]\nname = "c"\ndata = "points.csv"\n'
    found = fitted(study(folder, text, head))
    assert found["parameters"]["c1"]["value"] == pytest.approx(2)
    several = head.replace('"c0 + c1*x"', '{ out = "c0 + c1*x" }')
    assert fitted(study(folder, text, several)) == found


def test_of_a_function_the_role_is_said(folder: Path) -> None:
    (folder / "F.mo").write_text(
        "function F\n  input Real x = 0;\n  input Real k = 1;\n  output Real y;\n"
        "algorithm\n  y := k*x;\nend F;\n"
    )
    rows = [f"{a},{3 * a}" for a in range(1, 9)]
    (folder / "points.csv").write_text("\n".join(["p,q", *rows]) + "\n")
    head = '[model]\nsource = "F.mo"\n[tune]\nk = 1.0\n'
    case = '[[case]]\nname = "c"\ndata = "points.csv"\n'
    plain = study(folder, '[columns]\nx = "p"\ny = "q"\n' + case, head)
    assert any('write role = "input" beside its column' in t for t in texts(plain))
    said = '[columns]\nx = { column = "p", role = "input" }\ny = "q"\n'
    assert fitted(study(folder, said + case, head))["parameters"]["k"]["value"] == pytest.approx(3)


def test_a_component_that_is_open_is_driven_as_said(folder: Path) -> None:
    (folder / "R.mo").write_text(
        "model R\n  parameter Real k = 1;\n  Real v;\n  Real i;\nequation\n  v = k*i;\nend R;\n"
    )
    rows = [f"{a},{a + 1},{3 * (a + 1)}" for a in range(8)]
    (folder / "r.csv").write_text("\n".join(["time,amp,volt", *rows]) + "\n")
    head = '[model]\nsource = "R.mo"\n[tune]\nk = 1.0\n'
    case = '[[case]]\nname = "c"\ndata = "r.csv"\n'
    plain = study(folder, '[columns]\ni = "amp"\nv = "volt"\n' + case, head)
    assert any('role = "input" } in [columns]' in t for t in texts(plain))
    said = '[columns]\ni = { column = "amp", role = "input" }\nv = "volt"\n'
    assert fitted(study(folder, said + case, head))["parameters"]["k"]["value"] == pytest.approx(3)


def test_a_back_calculation(folder: Path) -> None:
    """Without tuners the class is driven by as much of what was measured as it needs."""
    head = '[model]\nsource = "Tank.mo"\n[backcalculate]\ncompute = "u"\n'
    case = '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    shared = study(folder, '[columns]\nx = "level"\n' + case, head)
    found = es.backcalculate(es.read_study(shared)).to_dict() | {"seconds": 0}
    written = study(folder, case + 'outputs = { x = "level" }\n', head)
    assert found == es.backcalculate(es.read_study(written)).to_dict() | {"seconds": 0}


# --- what is wrong -------------------------------------------------------------------------------


def test_a_file_without_the_column(folder: Path) -> None:
    """File, column, entry, near names and both ways out; at the line of [columns]."""
    text = COLUMNS + '[[case]]\ndata = "logs/run*.csv"\n[[case]]\nname = "odd"\ndata = "odd.csv"\n'
    path = study(folder, text)
    told = [p for p in problems(path) if p.code == "D004"]
    assert [p.where for p in told] == ["case 'odd'"] * 2
    level = told[1]
    assert level.message.startswith("output 'y': no column 'level' in")
    assert "odd.csv'; did you mean 'lvel'?" in level.message
    assert level.suggestion == (
        '[columns] y says so for all cases: write outputs = { y = "…" } in this case where it is '
        'called otherwise, or without = ["y"] where there is none'
    )
    assert located_problem(level, path.read_text()).place == ("columns", "y", "column")
    assert located_problem(told[0], path.read_text()).place[:2] == ("columns", "u")
    with pytest.raises(EstimicaError, match=r"\[columns\] u says so for all cases"):
        es.fit(es.read_study(path))
    cured = text + 'inputs = { u = "I" }\nwithout = ["y"]\n'
    assert not texts(study(folder, cured))


def test_a_case_that_names_a_wrong_column_itself_is_to_blame(folder: Path) -> None:
    text = COLUMNS + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\noutputs = { y = "levle" }\n'
    path = study(folder, text)
    (told,) = [p for p in problems(path) if p.code == "D004"]
    assert told.suggestion == ""
    assert located_problem(told, path.read_text()).place[:4] == ("case", 0, "outputs", "y")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ('temp = "temp"', "C140: [columns] temp: the model has no input or output 'temp'"),
        ('copis = "temp"', "C140: [columns] copis: the model has no input or output 'copis'; did"),
        ('copies = "temp"', "C140: [columns] copies: 'copies' is an array; name an element"),
        ('a = "temp"', "C140: [columns] a: 'a' is a parameter, not an input or output; put it"),
        ("x = 3", "C141: [columns] x: 3 is a number, and an output has a column"),
        ('x = { column = "other", hold = "linear" }', "C141: [columns] x: hold is for an input"),
        ('x = { column = "other", holt = 1 }', "C001: [columns] x: unknown key 'holt'; did you"),
        ("x = { scale = 1 }", "C001: [columns] x: 'column' is missing"),
        ("x = true", "C001: [columns] x: write a column"),
    ],
)
def test_an_entry_that_is_wrong(folder: Path, entry: str, expected: str) -> None:
    text = f'{COLUMNS}{entry}\n[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    path = study(folder, text)
    (told,) = [p for p in problems(path) if not p.warning]
    assert f"{told.code}: {told.text}".startswith(expected)
    name = entry.partition(" ")[0]
    assert located_problem(told, path.read_text()).place[:2] == ("columns", name)


@pytest.mark.parametrize(
    "key", ["weight = 2", "transform = 'log'", "sigma = 'a'", "disturbance = true"]
)
def test_what_an_input_cannot_say(folder: Path, key: str) -> None:
    columns = COLUMNS.replace('u = "current"', f'u = {{ column = "current", {key} }}')
    (told,) = texts(study(folder, columns + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'))[:1]
    assert told.startswith("C141: [columns] u: ")


def test_what_is_left_out_must_be_there(folder: Path) -> None:
    text = COLUMNS + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\nwithout = ["Y", "T"]\n'
    assert texts(study(folder, text)) == [
        "C142: case 'c': without: [columns] has no 'Y'; did you mean 'y'?"
    ]
    path = study(folder, text.replace('"Y", "T"]', '"y"]\noutputs = { y = "level" }'))
    assert texts(path) == [
        "C142: case 'c': without: the case gives 'y' itself; leave out one of the two"
    ]
    assert located_problem(problems(path)[0], path.read_text()).place == ("case", 0, "without")


def test_one_that_nobody_takes_is_told(folder: Path) -> None:
    text = COLUMNS + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\nwithout = ["T"]\n'
    (told,) = problems(study(folder, text))
    assert (told.code, told.where, told.warning) == ("C143", "[columns] T", True)


def test_the_text_alone_is_looked_at_too() -> None:
    (told,) = located_problems("[columns]\nu = { column = 3 }\n")
    assert told.place == ("columns", "u", "column")


# --- Python, writing, carrying -------------------------------------------------------------------


def in_python(folder: Path, **columns: object) -> es.Study:
    model = es.load_model(folder / "Tank.mo")
    cases = [es.Case(f"run{k}", folder / "logs" / f"run{k}.csv", free_start=["x"]) for k in (1, 2)]
    cases.append(es.Case("odd", folder / "odd.csv", inputs={"u": 1.0}, without=["y"]))
    return es.Study(model, [es.Tuner("a", 0.4), es.Tuner("b", 1.5)], cases, columns=columns)


def test_columns_in_python(folder: Path) -> None:
    study = in_python(folder, u="current", y=es.OutputColumn("level", sigma=0.1), T="temp")
    assert [list(c.outputs) for c in study.cases] == [["y", "T"], ["y", "T"], ["T"]]
    assert list(study.columns) == ["u", "y", "T"]
    plain = es.Study(study.model, study.tuners, study.cases[:2])
    assert fitted(plain) == fitted(study.with_(cases=study.cases[:2]))


def test_what_is_wrong_in_python(folder: Path) -> None:
    with pytest.raises(CaseError, match=r"C140: \[columns\] yy: the model has no input or output"):
        in_python(folder, yy="level", y="level")
    with pytest.raises(CaseError, match=r"C140.*'u' is an input, which nothing can change"):
        in_python(folder, u=es.OutputColumn("current"), y="level")
    with pytest.raises(StudyError, match="2 things to fix"):
        in_python(folder, u=True, y=[1])
    with pytest.raises(CaseError, match="C142"):
        in_python(folder, u="current")
    with pytest.raises(DataError, match=r"D004.*\[columns\] T says so for all cases"):
        es.fit(in_python(folder, u="current", y="level", T="tempp"))


def test_a_study_is_written_and_read_back(folder: Path) -> None:
    study = in_python(
        folder,
        time="t",
        u=es.InputColumn("current", hold="linear"),
        y=es.OutputColumn("level", sigma=0.1, disturbance=True),
        T="temp",
    )
    path = folder / "written.toml"
    study.write(path)
    tables = tomllib.loads(path.read_text())
    assert tables["columns"] == {
        "time": "t",
        "u": {"column": "current", "hold": "linear", "role": "input"},
        "y": {"column": "level", "sigma": 0.1, "disturbance": True},
        "T": "temp",
    }
    assert tables["case"][0] == {"name": "run1", "data": "logs/run1.csv", "free_start": ["x"]}
    assert tables["case"][2]["without"] == ["y"]
    again = es.read_study(path)
    assert again.cases[0].outputs == study.cases[0].outputs
    assert fitted(again) == fitted(study)


def test_what_was_changed_since_is_written_in_the_case(folder: Path) -> None:
    """Cases of a study may lose or change what they had from all."""
    study = in_python(folder, time="t", u="current", y="level", T="temp")
    first = study.cases[0]
    changed = replace(first, outputs={"T": es.OutputColumn("temp", weight=2.0)}, time=None)
    other = study.with_(cases=[changed, *study.cases[1:]])
    other.write(folder / "written.toml")
    again = es.read_study(folder / "written.toml")
    assert again.cases[0].outputs == changed.outputs
    assert again.cases[0].time is None
    assert set(again.cases[0].without) == {"y", "time"}
    assert again.cases[1].outputs == study.cases[1].outputs


def test_values_of_a_run_are_written_and_taken_back(folder: Path) -> None:
    """A free constant of one case is not one of all: the case gets an entry of its own."""
    from estimica.apps.cli.commands.app import app

    columns = COLUMNS.replace("sigma = 0.1 }", "sigma = 0.1, disturbance = true }")
    text = columns + '# the first\n[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    path = study(folder, text)
    before = path.read_text()
    run = CliRunner()
    assert run.invoke(app, ["fit", str(path)]).exit_code == 0
    assert run.invoke(app, ["use", str(path)]).exit_code == 0
    tables = tomllib.loads(path.read_text())
    assert tables["columns"] == tomllib.loads(before)["columns"]
    own = tables["case"][0]["outputs"]["y"]
    assert own["column"] == "level"
    assert own["sigma"] == 0.1
    assert own["disturbance"]["start"] == pytest.approx(0, abs=0.1)
    assert not [t for t in texts(path) if "C143" not in t]
    assert without_starts(path.read_text()) == without_starts(before)
    assert run.invoke(app, ["use", str(path), "--undo"]).exit_code == 0
    assert path.read_text() == before


def test_a_start_goes_to_the_entry_that_is_there(folder: Path) -> None:
    """What the case has of its own is kept."""
    text = HEAD + COLUMNS + '[[case]]\nname = "c"\ndata = "d.csv"\n'
    text += 'outputs = { y = { column = "other", disturbance = true } }\n'
    change = ValueChange("disturbance", "y", "c", 0.0, 0.25, "m", found=0.25)
    written = text_with_values(text, [change])
    outputs = tomllib.loads(written.text)["case"][0]["outputs"]
    assert outputs == {"y": {"column": "other", "disturbance": {"start": 0.25}}}


def test_a_fit_carries_on_in_another_study(folder: Path) -> None:
    """[from_fit] brings values, [columns] the data."""
    path = study(folder, COLUMNS + '[[case]]\ndata = "logs/*.csv"\n')
    assert CliRunner().invoke(app, ["fit", str(path)]).exit_code == 0
    other = folder / "other.toml"
    case = '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n'
    other.write_text(HEAD + '[from_fit]\nstudy = "study.toml"\na = "a"\nb = "b"\n' + COLUMNS + case)
    read = es.read_study(other)
    assert read.tuners[0].start == pytest.approx(0.5, abs=0.02)
    assert list(read.cases[0].outputs) == ["y", "T"]


# --- fixes at one click --------------------------------------------------------------------------


def fixed(path: Path, label: str) -> dict[str, Any]:
    """The study file after the fix of that label was taken, which must cure its problem."""
    found = [(p, f) for p in problems(path) for f in p.fixes if f.label == label]
    assert found, [f.label for p in problems(path) for f in p.fixes]
    problem, fix = found[0]
    text = text_with_fix(path.read_text(), problem.where, fix, path.parent)
    assert text is not None
    path.write_text(text)
    assert problem.text not in [p.text for p in problems(path)]
    return tomllib.loads(text)


def test_a_missing_column_is_replaced_in_its_case(folder: Path) -> None:
    text = COLUMNS + '[[case]]\ndata = "logs/run*.csv"\n[[case]]\nname = "odd"\ndata = "odd.csv"\n'
    path = study(folder, text)
    tables = fixed(path, "Take column lvel in this case")
    assert tables["columns"]["y"]["column"] == "level"
    assert tables["case"][1]["outputs"] == {"y": {"column": "lvel", "sigma": 0.1}}
    problem = next(p for p in problems(path) if p.code == "D004")
    assert [f.label for f in problem.fixes] == ["Leave it out in this case"]
    assert fixed(path, "Leave it out in this case")["case"][1]["without"] == ["u"]
    assert not [p for p in problems(path) if not p.warning]


def test_a_missing_column_of_a_case_is_replaced_there(folder: Path) -> None:
    text = '[[case]]\nname = "c"\ndata = "logs/run1.csv"\ninputs = { u = "current" }\n'
    path = study(folder, text + 'outputs = { y = "levle" }\n')
    assert fixed(path, "Take column level")["case"][0]["outputs"] == {"y": "level"}


@pytest.mark.parametrize(
    ("unit", "label", "entry"),
    [
        ("bar", "Take it as m", {"column": "level", "sigma": 0.1, "unit": "m"}),
        ("meter", "Take it as m", {"column": "level", "sigma": 0.1, "unit": "m"}),
    ],
)
def test_a_wrong_unit_is_corrected_for_all(
    folder: Path, unit: str, label: str, entry: object
) -> None:
    for file in (folder / "logs").iterdir():
        file.write_text(file.read_text().replace("level [m]", f"level [{unit}]"))
    path = study(folder, COLUMNS + '[[case]]\ndata = "logs/*.csv"\n')
    assert fixed(path, label)["columns"]["y"] == entry
    assert {p.code for p in problems(path)} == {"C132"}  # the study is followed, and says so
    assert not any(p.fixes for p in problems(path))


def test_a_unit_that_the_file_contradicts(folder: Path) -> None:
    text = COLUMNS.replace("sigma = 0.1", 'unit = "cm"')
    path = study(folder, text + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n')
    assert fixed(path, "Take it as m")["columns"]["y"]["unit"] == "m"


def test_a_temperature_or_a_difference(folder: Path) -> None:
    """By a click the numbers are said to be one or the other; both are then converted so."""
    (folder / "Tank.mo").write_text(TANK.replace('"Temperature"', '"Temperature difference"'))
    text = COLUMNS.replace('T = "temp"', 'T = { column = "temp", unit = "degC" }')
    path = study(folder, text + '[[case]]\nname = "c"\ndata = "logs/run1.csv"\n')
    before = path.read_text()
    entry = fixed(path, "It is a temperature")["columns"]["T"]
    assert entry == {"column": "temp", "scale": 1.0, "offset": 273.15}
    path.write_text(before)
    entry = fixed(path, "It is a difference")["columns"]["T"]
    assert entry == {"column": "temp", "scale": 1.0}


def test_a_fix_of_one_of_several_files_is_one_of_their_entry(folder: Path) -> None:
    for file in (folder / "logs").iterdir():
        file.write_text(file.read_text().replace("level [m]", "level [bar]"))
    text = '[[case]]\ndata = "logs/*.csv"\ninputs = { u = "current" }\noutputs = { y = "level" }\n'
    path = study(folder, text)
    assert fixed(path, "Take it as m")["case"][0]["outputs"] == {
        "y": {"column": "level", "unit": "m"}
    }
    assert not [p for p in problems(path) if not p.warning]


def test_a_fix_of_what_is_gone_is_none(folder: Path) -> None:
    fix = Fix("Take it as m", "output", "q", (("unit", "m"),))
    text = HEAD + COLUMNS + '[[case]]\nname = "c"\n'
    assert text_with_fix(text, "case 'c'", fix, folder) is None
    assert text_with_fix(text, "case 'other'", fix, folder) is None


# --- drafts --------------------------------------------------------------------------------------


def drafted(folder: Path, *files: str) -> tuple[Path, dict[str, Any]]:
    path = folder / "new.toml"
    given = [str(folder / f) for f in files]
    done = CliRunner().invoke(
        app, ["new", str(folder / "Tank.mo"), *given, "--output", str(path), "--force"]
    )
    assert done.exit_code == 0, done.output
    return path, tomllib.loads(path.read_text())


def test_a_draft_says_once_what_all_files_have(folder: Path) -> None:
    path, tables = drafted(folder, "logs/run1.csv", "logs/run2.csv")
    assert set(tables["columns"]) == {"time", "u", "y", "T"}
    assert [set(c) for c in tables["case"]] == [{"name", "data"}] * 2
    assert not [p for p in problems(path) if not p.warning]
    single = drafted(folder, "logs/run1.csv")[1]
    assert "columns" not in single
    shared = {n: e for n, e in tables["columns"].items() if n != "time"}
    assert shared == single["case"][0]["inputs"] | single["case"][0]["outputs"]


def test_files_that_differ_are_drafted_each_for_itself(folder: Path) -> None:
    tables = drafted(folder, "logs/run1.csv", "odd.csv")[1]
    assert "columns" not in tables
    assert [c["inputs"]["u"] for c in tables["case"]] == ["current", "I"]


def test_minutes_of_all_files_are_drafted_as_their_scale(folder: Path) -> None:
    for k in (1, 2):
        file = folder / "logs" / f"run{k}.csv"
        file.write_text(file.read_text().replace("t [s]", "t [min]"))
    path, tables = drafted(folder, "logs/run1.csv", "logs/run2.csv")
    assert tables["columns"]["time"] == {"column": "t", "scale": 60}
    assert [c.time_scale for c in es.read_study(path).cases] == [60.0, 60.0]
