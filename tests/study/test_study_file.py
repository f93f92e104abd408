"""Study files: what they hold, and that all their mistakes are told at once in plain words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import CaseError
from estimica.study.file.read import examine_file
from estimica.study.record.samples import record

Write = Callable[..., Path]


def problems(path: Path) -> list[str]:
    return [f"{p.code}: {p.text}" for p in examine_file(path).problems]


def test_everything_of_a_study_file_arrives(study: Write) -> None:
    found = es.read_study(
        study(
            ("[tune]", "fix = { n = 3 }\n[tune]"),
            ('u = "current"', 'u = { column = "current", hold = "linear", scale = 2, offset = 1 }'),
            ('y = "level"', 'y = { column = "level", weight = 2, sigma = 0.3 }'),
            (
                'free_start = ["x"]',
                "free_start = { x = 1, z = { start = 2, min = 0 } }\nfix = { idle = 4 }\n"
                "from = 1\nto = 9\nexclude = [[3, 4]]\nrole = 'validate'\n"
                '[estimate]\ncriterion = "ml"\nstarts = 3\n[solver]\nrtol = 1e-7\n'
                "[release]\nnoise = { y = 1 }\n[[indicator]]\nname = 'x'\nshow = ['y']",
            ),
        )
    )
    a, b = found.tuners
    assert (a.name, a.start, a.min, a.max) == ("a", 0.4, 0.0, 5.0)
    assert (b.name, b.start) == ("b", 1.5)
    (case,) = found.cases
    assert (case.name, case.role, case.from_, case.to) == ("run 1", "validate", 1.0, 9.0)
    assert case.exclude == ((3.0, 4.0),)
    assert case.start_values["z"].min == 0.0
    assert case.fix == {"idle": 4.0}
    assert found.estimation.criterion == "ml"
    assert found.estimation.starts == 3
    assert found.solver.rtol == 1e-7
    assert found.name == "study"
    assert "copies[3]" in found.model.variables.index
    assert found.tables["release"] == {"noise": {"y": 1}}
    rec = record(case)
    np.testing.assert_allclose(rec.inputs["u"].value[:2], [3.0, 3.0])
    (y,) = rec.outputs
    assert y.sigma == 0.3
    assert y.time[0] == 1.0
    assert not ((y.time >= 3) & (y.time <= 4)).any()


def test_a_file_used_by_two_cases_is_read_once(study: Write) -> None:
    second = '[[case]]\nname = "run 2"\ndata = "./run1.csv"\noutputs = { y = "level" }\n'
    found = es.read_study(study(('free_start = ["x"]\n', 'free_start = ["x"]\n' + second)))
    one, two = (case.data for case in found.cases)
    assert one is two


def test_a_case_that_is_not_active_needs_no_data(study: Write) -> None:
    found = es.read_study(study(('"run1.csv"', '"missing.csv"\nactive = false')))
    assert found.active_cases == ()


def test_a_case_without_data_has_nothing_to_fit(study: Write) -> None:
    found = es.read_study(study(('data = "run1.csv"\n', "")))  # a design needs none
    with pytest.raises(CaseError) as told:
        es.fit(found)
    assert told.value.message == "case 'run 1': 'data' is missing; write data = \"file.csv\""


def test_a_static_study_needs_no_model(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y\n1,2\n2,3\n3,5\n", encoding="utf-8")
    path = tmp_path / "line.toml"
    path.write_text(
        '[static]\nexpression = "p*x + q"\n[tune]\np = 1\nq = 0\n'
        '[[case]]\nname = "points"\ndata = "points.csv"\n'
        'inputs = { x = "x" }\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )
    found = es.read_study(path)
    assert not found.model.has_time
    assert list(found.model.parameters.index) == ["p", "q"]


def test_all_mistakes_of_a_file_are_told_at_once(study: Write) -> None:
    path = study(
        ('source = "Tank.mo"', 'sorce = "Tank.mo"'),
        ("start = 0.4", 'start = "abc"'),
        ("b = 1.5", "b = { strat = 1.5 }"),
        ('u = "current"', 'u = { colum = "current" }'),
        ('free_start = ["x"]', "[estimate]\nloss = 'hubert'\nstarts = 0"),
    )
    assert problems(path) == [
        "Q002: [model]: unknown key 'sorce'; did you mean 'source'?",
        "T001: [tune] a: start: 'abc' is not a number",
        "T001: [tune] b: unknown key 'strat'; did you mean 'start'?",
        "C001: case 'run 1': inputs: u: unknown key 'colum'; did you mean 'column'?",
        "Q002: [estimate]: loss: 'hubert' is none of 'squared', 'huber', 'soft-l1', 'cauchy'; "
        "did you mean 'huber'?",
        "Q002: [estimate]: starts: 0 is wrong, it must be at least 1",
    ]
    with pytest.raises(es.StudyError, match=r"Q001: 6 things to fix:\n  Q002: \[model\]: unknown"):
        es.read_study(path)


MISTAKES = {
    "a text where a number is needed": (
        ("b = 1.5", 'b = "1.5"'),
        "T001: [tune] b: start: '1.5' is a text; write 1.5 without quotes",
    ),
    "a truth value where a number is needed": (
        ("b = 1.5", "b = true"),
        "T001: [tune] b: start: true is not a number",
    ),
    "bounds the wrong way round": (
        ("min = 0, max = 5", "min = 5, max = 0"),
        "T003: [tune] a: min 5 is above max 0; swap them",
    ),
    "bounds that leave nothing": (
        ("min = 0, max = 5", "min = 5, max = 5"),
        "T004: [tune] a: min and max are both 5; fix it instead of tuning it",
    ),
    "a start outside its bounds": (
        ("start = 0.4", "start = 7"),
        "T005: [tune] a: start 7 is above max 5; move one of them",
    ),
    "a logarithm of zero": (
        ("b = 1.5", 'b = { start = 0, scale = "log" }'),
        "T006: [tune] b: scale 'log' needs a positive start, not 0",
    ),
    "a logarithm below zero": (
        ("b = 1.5", 'b = { max = 0, scale = "log" }'),
        "T007: [tune] b: scale 'log' needs a positive max, not 0",
    ),
    "an unknown scale": (
        ("b = 1.5", 'b = { start = 1, scale = "lin" }'),
        "T001: [tune] b: scale: 'lin' is none of 'auto', 'log'",
    ),
    "a scale of the wrong kind": (
        ("b = 1.5", "b = { start = 1, scale = [1] }"),
        "T001: [tune] b: scale: write 'auto', 'log' or a positive number",
    ),
    "a prior without width": (
        ("b = 1.5", "b = { start = 1, prior = { mean = 1, sigma = 0 } }"),
        "T001: [tune] b: prior: sigma: 0 is wrong, it must be above 0",
    ),
    "a name besides the key": (
        ("b = 1.5", 'b = { name = "b" }'),
        "T001: [tune]: b: the key is the name already; leave 'name' out",
    ),
    "a dotted name without quotes": (
        ("b = 1.5", "pump.b = 1.5"),
        "T001: [tune] pump: unknown key 'b'; a dotted name stands in quotes: \"pump.b\" (or is it "
        "one of start, min, max, scale, drives, prior, active, unit, description?)",
    ),
    "a dotted name without quotes in fix": (
        ('free_start = ["x"]', "fix = { pump.b = 1 }"),
        "C001: case 'run 1': fix: a dotted name stands in quotes: \"pump.b\"",
    ),
    "an output that is a number": (
        ('y = "level"', "y = 3"),
        'C001: case \'run 1\': outputs: y: write a column "…", or a table { column = "…", … }',
    ),
    "an unknown hold": (
        ('u = "current"', 'u = { column = "current", hold = "liner" }'),
        "C001: case 'run 1': inputs: u: hold: 'liner' is none of 'previous', 'linear', 'spline'; "
        "did you mean 'linear' or 'spline'?",
    ),
    "an unknown role": (
        ('data = "run1.csv"', 'data = "run1.csv"\nrole = "validation"'),
        "C001: case 'run 1': role: 'validation' is none of 'calibrate', 'validate'; "
        "did you mean 'validate'?",
    ),
    "a weight below zero": (
        ('y = "level"', 'y = { column = "level", weight = -1 }'),
        "C001: case 'run 1': outputs: y: weight: -1 is wrong, it must be above 0",
    ),
    "noise bounds the wrong way round": (
        ('y = "level"', 'y = { column = "level", sigma = { min = 2, max = 1 } }'),
        "C011: case 'run 1': outputs: y: sigma: min 2 is above max 1; swap them",
    ),
    "a start value outside its bounds": (
        ('free_start = ["x"]', "free_start = { x = { start = 1, min = 2 } }"),
        "C013: case 'run 1': free_start: x: start 1 is outside its bounds 2 … inf",
    ),
    "bounds of a start value": (
        ('free_start = ["x"]', "free_start = { x = { max = 1, min = 2 } }"),
        "C012: case 'run 1': free_start: x: min 2 is not below max 1; swap them",
    ),
    "one name instead of a list": (
        ('free_start = ["x"]', 'free_start = "x"'),
        "C001: case 'run 1': free_start: write a list of names, or a table { name = start }",
    ),
    "a window that ends before it begins": (
        ('free_start = ["x"]', "from = 5\nto = 1"),
        "C014: case 'run 1': from 5 is not before to 1",
    ),
    "a stretch that goes back": (
        ('free_start = ["x"]', "exclude = [[5, 1]]"),
        "C015: case 'run 1': exclude [5, 1] does not go forward",
    ),
    "half a stretch": (
        ('free_start = ["x"]', "exclude = [[5]]"),
        "C001: case 'run 1': exclude: 1: two numbers are needed, where it begins and ends",
    ),
    "a filter": (
        ('free_start = ["x"]', "prefilter = { band = [2, 1] }"),
        "C082: case 'run 1': prefilter: band [2, 1] does not go upwards; swap the two",
    ),
    "a case without a name": (
        ('name = "run 1"\n', ""),
        "C001: [[case]] 1: 'name' is missing",
    ),
    "data that is not a path": (
        ('data = "run1.csv"', "data = 3"),
        "C001: case 'run 1': data: write the path of a file, in quotes",
    ),
    "one bracket too few": (
        ("[[case]]", "[case]"),
        "Q002: write [[case]] with two brackets: there may be several",
    ),
    "a misspelt table": (
        ("[tune]", "[tuners]"),
        "Q002: unknown key 'tuners'; did you mean 'tune'?",
    ),
    "an unknown table": (
        ("[tune]", "[xyzzy]"),
        "Q002: unknown key 'xyzzy'; there are model, static, tune, outputs, case, estimate, solver, "
        "release, bootstrap, sample, profile, crossvalidate, backcalculate, input_design, criterion, "
        "optimise, sweep, montecarlo, indicator",
    ),
    "no model": (
        ('[model]\nsource = "Tank.mo"\n', ""),
        'Q006: there is no [model]; write [model] and source = "Model.mo"',
    ),
    "an FMU with a class": (
        ('"Tank.mo"', '"Tank.fmu"\nclass = "Tank"'),
        "Q005: [model]: source 'Tank.fmu': an FMU has no class; leave that out",
    ),
    "a function": (
        ("Tank.mo", "tank.py:simulate"),
        "M140: [model]: there is no file 'tank.py'",
    ),
    "a static study of a model": (
        ("[tune]", '[static]\nmode = "static"\n[tune]'),
        "M167: [static]: 'Tank' has states (x, z), so that mode 'static' does not suit it; use "
        "mode 'steady', which sets their derivatives to zero",
    ),
    "half a number of starts": (
        ("[tune]", "[estimate]\nstarts = 1.5\n[tune]"),
        "Q002: [estimate]: starts: 1.5 is not a whole number",
    ),
    "a tolerance of one": (
        ("[tune]", "[solver]\nrtol = 1\n[tune]"),
        "Q002: [solver]: rtol: 1 is wrong, it must be below 1",
    ),
    "not a number": (
        ("b = 1.5", "b = nan"),
        "T001: [tune] b: start: nan is not a number",
    ),
    "an infinite start": (
        ("b = 1.5", "b = inf"),
        "T001: [tune] b: start: inf is not finite",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_place(mistake: str, study: Write) -> None:
    change, expected = MISTAKES[mistake]
    assert problems(study(change)) == [expected]


def test_a_doubled_case_is_told(study: Write) -> None:
    second = '[[case]]\nname = "run 1"\ndata = "run1.csv"\noutputs = { y = "level" }\n'
    path = study(('free_start = ["x"]\n', 'free_start = ["x"]\n' + second))
    assert problems(path) == ["C003: case 'run 1': is given 2 times; rename one"]


def test_a_syntax_error_has_line_and_column(study: Write) -> None:
    (message,) = problems(study(("b = 1.5", "b = ")))
    assert message.startswith("Q004: study.toml, line 7, column 5: ")


def test_missing_files_are_named(study: Write, folder: Path) -> None:
    (message,) = problems(study(("run1.csv", "run2.csv")))
    assert message.startswith(f"D001: case 'run 1': there is no file '{folder / 'run2.csv'}'")
    assert "did you mean 'run1.csv'?" in message
    (message,) = problems(study(("Tank.mo", "Tnk.mo")))
    assert "no such file" in message
    assert "did you mean 'Tank.mo'?" in message
    (message,) = problems(folder / "stdy.toml")
    assert message == (
        f"Q003: there is no file '{folder / 'stdy.toml'}'; did you mean 'study.toml'?"
    )
    (message,) = problems(folder)
    assert message == f"Q003: cannot read '{folder}': Is a directory"


def test_a_file_of_other_bytes_is_refused(folder: Path) -> None:
    (folder / "odd.toml").write_bytes(b"\xff\xfe\x00")
    (message,) = problems(folder / "odd.toml")
    assert message == f"Q003: '{folder / 'odd.toml'}' is not text in UTF-8; is it a study file?"


def test_one_expression_for_two_outputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y,z\n1,2,3\n2,3,4\n", encoding="utf-8")
    path = tmp_path / "line.toml"
    path.write_text(
        '[static]\nexpression = "p*x"\n[tune]\np = 1\n[[case]]\nname = "points"\n'
        'data = "points.csv"\ninputs = { x = "x" }\noutputs = { y = "y", z = "z" }\n',
        encoding="utf-8",
    )
    assert problems(path) == [
        "Q007: [static]: one expression, but the cases have 2 outputs; "
        'write expression = { y = "…", z = "…" }'
    ]
