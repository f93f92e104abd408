"""Check: all that is wrong with a study, each told by its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.study.check.run import check, check_file

Write = Callable[..., Path]
ESTIMATE = 'free_start = ["x"]\n[estimate]\ncriterion = '
START = 'free_start = ["x"]'


def told(path: Path) -> list[str]:
    return [f"{'warning ' if p.warning else ''}{p.code}: {p.text}" for p in check_file(path)]


def test_a_sound_study_has_no_problems(study: Write) -> None:
    assert told(study()) == []


MISTAKES = {
    "an unknown tuner": (
        ("b = 1.5", "B = 1.5"),
        "T016: tuner 'B': the model has no parameter 'B'; did you mean 'b'?",
    ),
    "a structural parameter": (
        ("b = 1.5", "n = 3"),
        "T008: tuner 'n': 'n' cannot be tuned: it is structural, because it sets the size of an "
        "array; set it with [model] fix",
    ),
    "a final parameter": (
        ("b = 1.5", "g = 3"),
        "T008: tuner 'g': 'g' cannot be tuned: it is declared final; leave it out, or change the "
        "model",
    ),
    "a constant": (
        ("b = 1.5", "c = 3"),
        "T008: tuner 'c': 'c' cannot be tuned: it is a constant; leave it out, or change the model",
    ),
    "an array": (
        ("b = 1.5", "w = 3"),
        "T016: tuner 'w': 'w' is an array; name an element, as 'w[1]'",
    ),
    "an input as tuner": (
        ("b = 1.5", "u = 3"),
        "T009: tuner 'u': 'u' is an input, not a parameter; give it in the inputs of a case",
    ),
    "a state as tuner": (
        ("b = 1.5", "x = 3"),
        "T009: tuner 'x': 'x' is a variable, not a parameter; to find its start value, put it into "
        "free_start of a case",
    ),
    "a tuner without effect": (
        ("b = 1.5", "idle = 3"),
        "T014: tuner 'idle': has no effect on any output at the start values; leave it out (active "
        "= false), or measure something that depends on it",
    ),
    "the model's own value outside the bounds": (
        ("b = 1.5", "b = { min = 3 }"),
        "T005: tuner 'b': the model's value 2 is below min 3; give a start",
    ),
    "the logarithm of the model's own value": (
        ("b = 1.5", '"w[2]" = { scale = "log" }'),
        "T006: tuner 'w[2]': scale 'log' needs a positive start, and the model's value is 0; give "
        "a start",
    ),
    "a start that the model does not allow": (
        ("start = 0.4, min = 0, max = 5", "start = 20"),
        "warning T013: tuner 'a': start 20 is above max 10 that the model declares; are the units "
        "right?",
    ),
    "a parameter that is tuned and driven": (
        ("b = 1.5", 'k = { start = 1, drives = ["a", "b"] }'),
        "T010: tuner 'k': parameter 'a' is set by tuner 'a' already; let one of them set it",
    ),
    "an unknown parameter that is driven": (
        ("b = 1.5", 'k = { start = 1, drives = ["bb"] }'),
        "T016: tuner 'k': the model has no parameter 'bb'; did you mean 'b'?",
    ),
    "an unknown name in an expression": (
        ("b = 1.5", 'k = { start = 1, drives = { b = "k*m" } }'),
        "T011: tuner 'k': drives 'b': 'm' in 'k*m' is not a tuner; the tuners are a, k",
    ),
    "an expression without the tuner": (
        ("b = 1.5", 'k = { start = 1, drives = { b = "2*a" } }'),
        "T011: tuner 'k': drives 'b': '2*a' does not contain 'k'; write an expression in the tuner",
    ),
    "a driving tuner without start": (
        ("b = 1.5", 'k = { drives = { b = "2*k" } }'),
        "T012: tuner 'k': has no start, and the model has no value for it; give one",
    ),
    "an unknown input": (
        ('u = "current"', 'q = "current"'),
        "C020: case 'run 1': the model has no input 'q'; there are u",
    ),
    "a variable as input": (
        ('u = "current"', 'u = "current", x = 3'),
        "C020: case 'run 1': 'x' is a variable, not an input; the inputs are u",
    ),
    "an unknown output": (
        ('y = "level"', 'Y = "level"'),
        "C021: case 'run 1': the model has no variable 'Y'; did you mean 'y'?",
    ),
    "a parameter as output": (
        ('y = "level"', 'b = "level"'),
        "C021: case 'run 1': output 'b' is a parameter, which does not change; measure a variable",
    ),
    "an input as output": (
        ('y = "level"', 'u = "level"'),
        "C021: case 'run 1': output 'u' is an input, which nothing can change; put it into inputs",
    ),
    "no outputs": (
        ('outputs = { y = "level" }\n', ""),
        "C004: case 'run 1': has no outputs; say which variables were measured",
    ),
    "a missing column": (
        ('u = "current"', 'u = "curent"'),
        "D004: case 'run 1': input 'u': no column 'curent' in '{folder}/run1.csv'; "
        "did you mean 'current'?",
    ),
    "two outputs of one column": (
        ('y = "level"', 'y = "level", x = "level"'),
        "C026: case 'run 1': outputs 'y' and 'x' both take column 'level'; give each its own "
        "column",
    ),
    "an unknown state": (
        (START, 'free_start = ["xx"]'),
        "C022: case 'run 1': free_start: the model has no state 'xx'; did you mean 'x'?",
    ),
    "a parameter as start value": (
        (START, 'free_start = ["idle"]'),
        "C022: case 'run 1': free_start: 'idle' is a parameter, not a state; put it into [tune]",
    ),
    "an output as start value": (
        (START, 'free_start = ["T"]'),
        "C022: case 'run 1': free_start: 'T' is not a state, so it has no start value; the states are "
        "x, z",
    ),
    "a start value without effect": (
        (START, 'free_start = ["x", "z"]'),
        "C032: case 'run 1': free_start: 'z' has no effect on any output of the case; leave it out",
    ),
    "the model's start value outside the bounds": (
        (START, "free_start = { x = { min = 3 } }"),
        "C034: case 'run 1': free_start: 'x' starts from the model's value 1, below min 3; give a "
        "start",
    ),
    "an unknown name in fix": (
        (START, "fix = { idel = 1 }"),
        "C023: case 'run 1': fix: the model has no parameter or state 'idel'; did you mean 'idle'?",
    ),
    "a structural parameter in fix": (
        (START, "fix = { n = 1 }"),
        "C023: case 'run 1': fix: 'n' cannot differ between cases: it is structural, because it "
        "sets the size of an array; set it with [model] fix",
    ),
    "a tuner in fix": (
        (START, "fix = { b = 1 }"),
        "C024: case 'run 1': fix: 'b' is tuned too; leave out one of the two",
    ),
    "a free start value in fix": (
        (START, START + "\nfix = { x = 1 }"),
        "C024: case 'run 1': fix: 'x' is in free_start too; leave out one of the two",
    ),
    "an input in fix": (
        (START, "fix = { u = 1 }"),
        "C023: case 'run 1': fix: 'u' is an input; put it into inputs: a number holds for the "
        "whole case",
    ),
    "inputs that begin late": (
        (START, START + "\nbegin = -1"),
        "C027: case 'run 1': input 'u' has its first sample at 0, after the simulation begins at "
        "-1; write begin = 0, or fill the column",
    ),
    "a unit with an offset": (
        ('y = "level"', 'y = "level", T = "temp"'),
        "C029: case 'run 1': output 'T': column 'temp' is in degC, the model wants K; write "
        '{ column = "temp", offset = 273.15 }',
    ),
    "a unit of something else": (
        ('y = "level"', 'y = "temp"'),
        "C029: case 'run 1': output 'y': column 'temp' is in degC, the model wants m, which "
        'measures something else; take another column, or write unit = "m" where the file is wrong',
    ),
    "too few samples": (
        (START, START + "\nto = 0.6"),
        "Q015: too few samples: 2 samples for 3 free quantities; fix some of them, or give more "
        "data",
    ),
    "just enough samples": (
        (START, START + "\nto = 1"),
        "warning Q015: no sample is left to judge the fit: 3 samples for 3 free quantities; fix "
        "some of them, or give more data",
    ),
    "no sample that counts": (
        (START, START + "\nfrom = 100"),
        "C010: case 'run 1': output 'y': no sample of column 'level' counts; look at from, to, "
        "exclude and begin, the time runs from 0 to 10",
    ),
    "nothing to calibrate from": (
        (START, START + '\nrole = "validate"'),
        "Q008: all cases only validate, so that there is nothing to find the tuners from; give a "
        '[[case]] with role = "calibrate"',
    ),
    "no case": (
        (START, START + "\nactive = false"),
        "Q008: there is no case, so that there is nothing to find the tuners from; give a "
        '[[case]] with role = "calibrate"',
    ),
    "a misspelt criterion": (
        (START, ESTIMATE + '"mle"'),
        "Q010: [estimate]: criterion 'mle' is neither 'oe' nor 'ml'; did you mean 'ml'?",
    ),
    "an unknown criterion": (
        (START, ESTIMATE + '"chisquare"'),
        "Q010: [estimate]: criterion 'chisquare' is neither 'oe' nor 'ml'; write one of them, an "
        "expression in residual, weight, time, dt, measured, simulated, sigma, or file.py:function",
    ),
    "an unknown name in the criterion": (
        (START, ESTIMATE + '"residul^2"'),
        "Q011: [estimate]: criterion: unknown name 'residul' in 'residul^2'; did you mean "
        "'residual'?",
    ),
    "a criterion without the simulation": (
        (START, ESTIMATE + '"weight*measured^2"'),
        "Q012: [estimate]: criterion 'weight*measured^2' does not depend on the simulation; write "
        "it in residual or simulated",
    ),
    "a missing file of the criterion": (
        (START, ESTIMATE + '"own.py:score"'),
        "Q013: [estimate]: criterion: there is no file '{folder}/own.py'",
    ),
    "a prior without noise": (
        ("b = 1.5", "b = { start = 1.5, prior = { mean = 1, sigma = 1 } }"),
        "warning T015: tuner 'b': how much its prior counts depends on the noise, and output 'y' "
        'has no sigma; give sigma, or write criterion = "ml"',
    ),
    "noise bounds without likelihood": (
        ('y = "level"', 'y = { column = "level", sigma = { min = 1 } }'),
        "warning C033: case 'run 1': output 'y': bounds of sigma are not used by criterion 'oe'; "
        'write criterion = "ml", or sigma = a number',
    ),
    "an unknown transform": (
        ('y = "level"', 'y = { column = "level", transform = "logg" }'),
        "C018: case 'run 1': output 'y': transform 'logg' must be one of log, log10, sqrt, exp, "
        "abs, sin, cos, tan, atan, tanh, or an expression in `value`, as value^2",
    ),
    "a logarithm of data that are zero": (
        ('y = "level"', 'y = { column = "other", transform = "log" }'),
        "C017: case 'run 1': output 'y': transform 'log' is not defined for 0, a value of column "
        "'other' (1 of 21 samples)",
    ),
    "a simulation that fails at the start": (
        ("start = 0.4, min = 0, max = 5", "start = -1000, min = -2000"),
        "C031: case 'run 1': the simulation fails at the start values: a derivative is not a "
        "finite number; change the start values of tuners or states",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(mistake: str, study: Write, folder: Path) -> None:
    change, expected = MISTAKES[mistake]
    found = [t for t in told(study(change)) if "T013" not in t or "T013" in expected]
    assert found == [expected.replace("{folder}", str(folder))]


def test_no_tuner_and_no_free_start_is_nothing_to_find(study: Write) -> None:
    path = study(("b = 1.5", "b = { start = 1.5, active = false }"), (START, ""))
    path.write_text(path.read_text().replace("a = { start = 0.4, min = 0, max = 5 }\n", ""))
    assert told(path) == [
        "Q009: no tuner is active, so that there is nothing to find; add one to [tune]"
    ]


def test_free_starts_alone_are_something_to_find(study: Write) -> None:
    path = study(("b = 1.5\n", ""), ("a = { start = 0.4, min = 0, max = 5 }\n", ""))
    assert told(path) == []


def test_a_tuner_may_drive_several_parameters(study: Write) -> None:
    change = ("b = 1.5", 'k = { start = 1, drives = { b = "k*a", "w[1]" = "k" } }')
    assert told(study(change)) == []


def test_an_input_that_no_column_gives_keeps_its_value(study: Write) -> None:
    assert told(study(('inputs = { u = "current" }\n', ""), ("b = 1.5\n", ""))) == [
        "warning C025: case 'run 1': input 'u' is not given; it keeps its value 0"
    ]


@pytest.mark.parametrize(
    "column",
    [
        '{ column = "temp", offset = 273.15 }',
        '{ column = "temp", scale = 1 }',
        '{ column = "temp", unit = "K" }',
        '"other"',
    ],
)
def test_units_are_silent_where_the_user_has_spoken(study: Write, column: str) -> None:
    assert told(study(('y = "level"', f'y = "level", T = {column}'))) == []


def test_an_unknown_unit_is_a_warning(study: Write, folder: Path) -> None:
    table = (folder / "run1.csv").read_text().replace("level [m]", "level [furlong]")
    (folder / "run1.csv").write_text(table)
    assert told(study()) == [
        "warning C030: case 'run 1': output 'y': column 'level' is in furlong, the model wants m, "
        "and 'furlong' is not a unit known here; "
        'write unit = "m" where they are the same, or scale and offset'
    ]


def test_time_in_minutes_needs_a_scale(study: Write, folder: Path) -> None:
    table = (folder / "run1.csv").read_text().replace("t [s]", "t [min]")
    (folder / "run1.csv").write_text(table)
    assert told(study()) == [
        f"C019: case 'run 1': time 't' of '{folder}/run1.csv' is in min, the model's in s; "
        "write time_scale = 60, or time_scale = 1 to keep the numbers"
    ]
    assert told(study((START, START + "\ntime_scale = 60"))) == []


TIMES = {
    "back": (
        [0.0, 2.0, 1.0, 3.0],
        "C007: case 'c': time 't' of 'table' goes back from 2 to 1 in row 3; sort the rows, or "
        "split the file into cases",
    ),
    "missing": (
        [0.0, np.nan, 1.0, 3.0],
        "C006: case 'c': time 't' is missing in row 2 of 'table'",
    ),
}


@pytest.mark.parametrize("kind", TIMES)
def test_time_must_rise(kind: str, folder: Path) -> None:
    time, expected = TIMES[kind]
    table = {"t": time, "u": [1.0] * 4, "y": [1.0, 2.0, 3.0, 4.0]}
    case = es.Case("c", table, inputs={"u": "u"}, outputs={"y": "y"}, time="t")
    found = check(es.Study(es.load_model(folder / "Tank.mo"), ["a"], [case]))
    assert [f"{p.code}: {p.text}" for p in found] == [expected]


@pytest.mark.parametrize(
    ("hold", "warning"), [("previous", True), ("linear", False), ("spline", False)]
)
def test_an_input_that_ends_early_is_told(hold: str, warning: bool, folder: Path) -> None:
    t = np.arange(10.0)
    table = pd.DataFrame({"t": t, "u": np.where(t < 6, 1.0, np.nan), "y": t})
    column = es.InputColumn("u", hold=hold)
    case = es.Case("c", table, inputs={"u": column}, outputs={"y": "y"})
    (found,) = check(es.Study(es.load_model(folder / "Tank.mo"), ["a"], [case]))
    assert found.warning is warning
    assert found.text == (
        "case 'c': input 'u' has its last sample at 5, but the outputs go on until 9; "
        "write to = 5, or fill the column"
    )


def test_what_is_wrong_with_file_and_study_is_told_together(study: Write) -> None:
    path = study(
        ("start = 0.4", 'start = "abc"'), ("b = 1.5", "B = 1.5"), ('u = "current"', 'v = "current"')
    )
    assert told(path) == [
        "T001: [tune] a: start: 'abc' is not a number",
        "T016: tuner 'B': the model has no parameter 'B'; did you mean 'b'?",
        "C020: case 'run 1': the model has no input 'v'; there are u",
    ]


def test_without_a_model_the_data_are_still_looked_at(study: Write, folder: Path) -> None:
    found = told(study(("Tank.mo", "Tank.fmu"), ('"level"', '"levl"')))
    assert [t.split(":")[0] for t in found] == ["M200", "D004"]


def test_the_criterion_of_a_file_must_be_there(study: Write, folder: Path) -> None:
    (folder / "own.py").write_text("def score(residual):\n    return residual**2\n")
    assert told(study((START, ESTIMATE + '"own.py:score"'))) == []
    assert told(study((START, ESTIMATE + '"own.py:scor"'))) == [
        f"Q014: [estimate]: criterion: '{folder}/own.py' has no function 'scor'; "
        "did you mean 'score'?"
    ]


def static(folder: Path, rows: str, *, tune: str = "p = 1\nq = 0", more: str = "") -> Path:
    (folder / "points.csv").write_text("x,y\n" + rows, encoding="utf-8")
    path = folder / "line.toml"
    path.write_text(
        f'[static]\nexpression = "p*x + q"\n[tune]\n{tune}\n[[case]]\nname = "points"\n'
        'data = "points.csv"\ninputs = { x = "x" }\noutputs = { y = "y" }\n' + more,
        encoding="utf-8",
    )
    return path


def test_a_static_study_is_checked_too(tmp_path: Path) -> None:
    assert told(static(tmp_path, "1,2\n2,3\n3,5\n")) == []
    assert told(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1\nr = 2\nq = 1")) == [
        "T016: tuner 'r': the model has no parameter 'r'; there are p, q"
    ]
    assert told(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1")) == [
        "M081: case 'points': at the start values: parameter 'q' of output 'y' has no value; "
        "tune it or set it"
    ]
    assert told(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1", more="fix = { q = 1 }")) == []


def test_a_point_without_input_does_not_count(tmp_path: Path) -> None:
    assert told(static(tmp_path, "1,2\n,3\n3,5\n4,6\n")) == [
        "warning C035: case 'points': input 'x' is missing at 1 of 4 points; they do not count"
    ]


def test_a_point_that_cannot_be_computed_is_to_be_left_out(tmp_path: Path) -> None:
    path = static(tmp_path, "1,2\n0,3\n3,5\n4,6\n")
    path.write_text(path.read_text().replace("p*x + q", "p/x + q"))
    assert told(path) == [
        "C031: case 'points': the start values do not suit: output 'y' is not finite at point 1 "
        "(x = 0), with p = 1, q = 0; leave such points out with exclude, or change the start "
        "values of tuners"
    ]
    left_out = path.read_text().replace('name = "points"', 'name = "points"\nexclude = [[1, 1]]')
    path.write_text(left_out)
    assert told(path) == []


def test_inputs_of_a_case_that_cannot_be_read_are_not_missed(tmp_path: Path) -> None:
    pins = "connector Pin Real v; flow Real i; end Pin;"
    body = "Pin p; Pin n; parameter Real R = 1; equation p.v - n.v = R*p.i; 0 = p.i + n.i;"
    (tmp_path / "Part.mo").write_text(f"package P {pins} model Part {body} end Part; end P;")
    path = tmp_path / "study.toml"
    path.write_text(
        '[model]\nsource = "Part.mo"\nclass = "P.Part"\n[static]\nmode = "static"\n[tune]\nR = 2\n'
        '[[case]]\nname = "points"\ndata = "points.csv"\ninputs = { p.i = "i", "n.v" = 0 }\n'
        'outputs = { "p.v" = "v" }\n'
    )
    (found,) = told(path)
    assert found.startswith("C001: case 'points': inputs: p: ")


def test_check_as_a_command(study: Write) -> None:
    good = CliRunner().invoke(app, ["check", str(study())])
    assert good.exit_code == 0
    assert good.stdout.endswith("study.toml: nothing is wrong\n")
    bad = CliRunner().invoke(app, ["check", str(study(("b = 1.5", "B = 1.5")))])
    assert bad.exit_code == 2
    assert "error T016: tuner 'B': the model has no parameter 'B'; did you mean 'b'?" in bad.stdout
    assert bad.stdout.endswith("study.toml: 1 error\n")


def test_check_as_json(study: Write) -> None:
    path = str(study(("b = 1.5", "B = 1.5"), ('inputs = { u = "current" }\n', "")))
    result = CliRunner().invoke(app, ["check", path, "--json"])
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert found["command"] == "check"
    assert found["outcome"] == {"status": "wrong input", "message": "1 error, 1 warning"}
    assert found["problems"] == [
        {
            "code": "T016",
            "where": "tuner 'B'",
            "message": "the model has no parameter 'B'",
            "suggestion": "did you mean 'b'?",
            "severity": "error",
        },
        {
            "code": "C025",
            "where": "case 'run 1'",
            "message": "input 'u' is not given; it keeps its value 0",
            "suggestion": "",
            "severity": "warning",
        },
    ]
    fine = CliRunner().invoke(app, ["check", str(study()), "--json"])
    assert json.loads(fine.stdout) == {
        "command": "check",
        "outcome": {"status": "done", "message": "nothing is wrong"},
        "problems": [],
    }


def test_a_unit_that_is_nearly_known_is_suggested(study: Write, folder: Path) -> None:
    table = (folder / "run1.csv").read_text().replace("temp [degC]", "temp [degc]")
    (folder / "run1.csv").write_text(table)
    (problem,) = told(study(('y = "level"', 'y = "level", T = "temp"')))
    assert "'degc' is not a unit known here; did you mean 'degC'" in problem
