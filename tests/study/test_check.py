"""Check: all that is wrong with a study is found; test_messages.py pins how it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.study.check.run import check_file

Write = Callable[..., Path]
ESTIMATE = 'free_start = ["x"]\n[estimate]\ncriterion = '
START = 'free_start = ["x"]'


def told(path: Path) -> list[str]:
    return [f"{'warning ' if p.warning else ''}{p.code}: {p.text}" for p in check_file(path)]


def codes(path: Path) -> list[str]:
    return [p.code for p in check_file(path)]


def test_a_sound_study_has_no_problems(study: Write) -> None:
    assert told(study()) == []


def test_free_starts_alone_are_something_to_find(study: Write) -> None:
    path = study(("b = 1.5\n", ""), ("a = { start = 0.4, min = 0, max = 5 }\n", ""))
    assert told(path) == []


def test_a_tuner_may_drive_several_parameters(study: Write) -> None:
    change = ("b = 1.5", 'k = { start = 1, drives = { b = "k*a", "w[1]" = "k" } }')
    assert told(study(change)) == []


@pytest.mark.parametrize(
    "column",
    [
        '{ column = "temp", offset = 273.15 }',
        '{ column = "temp", scale = 1 }',
        '{ column = "temp", unit = "degC" }',
        '"other"',
    ],
)
def test_units_are_silent_where_the_user_has_spoken(study: Write, column: str) -> None:
    problems = check_file(study(('y = "level"', f'y = "level", T = {column}')))
    assert [p for p in problems if not p.note] == []


def test_time_in_minutes_is_converted_unless_a_scale_is_given(study: Write, folder: Path) -> None:
    table = (folder / "run1.csv").read_text().replace("t [s]", "t [min]")
    (folder / "run1.csv").write_text(table)
    assert codes(study()) == ["C019"]
    (note,) = check_file(study())
    assert note.severity == "note"
    assert "converted from min to s" in note.text
    assert told(study((START, START + "\ntime_scale = 60"))) == []


def test_what_is_wrong_with_file_and_study_is_told_together(study: Write) -> None:
    path = study(
        ("start = 0.4", 'start = "abc"'), ("b = 1.5", "B = 1.5"), ('u = "current"', 'v = "current"')
    )
    assert codes(path) == ["T001", "T016", "C020"]


def test_without_a_model_the_data_are_still_looked_at(study: Write, folder: Path) -> None:
    assert codes(study(("Tank.mo", "Tank.fmu"), ('"level"', '"levl"'))) == ["M200", "D004"]


def test_the_criterion_of_a_file_must_be_there(study: Write, folder: Path) -> None:
    (folder / "own.py").write_text("def score(residual):\n    return residual**2\n")
    assert told(study((START, ESTIMATE + '"own.py:score"'))) == []
    assert codes(study((START, ESTIMATE + '"own.py:scor"'))) == ["Q014"]


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
    assert codes(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1\nr = 2\nq = 1")) == ["T016"]
    assert codes(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1")) == ["M081"]
    assert told(static(tmp_path, "1,2\n2,3\n3,5\n", tune="p = 1", more="fix = { q = 1 }")) == []


def test_a_point_that_cannot_be_computed_is_to_be_left_out(tmp_path: Path) -> None:
    path = static(tmp_path, "1,2\n0,3\n3,5\n4,6\n")
    path.write_text(path.read_text().replace("p*x + q", "p/x + q"))
    assert codes(path) == ["C031"]
    left_out = path.read_text().replace('name = "points"', 'name = "points"\nexclude = [[1, 1]]')
    path.write_text(left_out)
    assert told(path) == []


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
        "libraries": [],  # the model reads none
    }
