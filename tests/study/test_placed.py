"""Problems stand at the field where they are fixed, in the words of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.problems import Problem
from estimica.study.check.run import check_file
from estimica.study.file.located import (
    LocatedProblem,
    located_problem,
    located_problems,
    place_of_problem,
)

BROKEN = Path(__file__).parent / "broken"
TEXT = """
[model]
source = "Tank.mo"
class = "Tnk"
fix = { bb = 1 }
[static]
by = "x"
[tune]
a = 1
b = { start = 2, max = 1 }
[[case]]
name = "run 1"
data = "run1.csv"
time = "t"
inputs = { u = "current" }
outputs = { y = "level", "n.v" = { column = "temp" } }
free_start = ["x", "T"]
fix = { b = 2 }
[[case]]
name = "run 1"
[[criterion]]
name = "speed"
"""


@pytest.mark.parametrize(
    ("written", "place", "message"),
    [
        ('[tune]\nb = "x"', ("tune", "b", "start"), "'x' is not a number"),
        ("[tune]\na = { min = 5, max = 0 }", ("tune", "a", "min"), "min 5 is above max 0; swap them"),
        ("[tune]\na = { start = 7, max = 5 }", ("tune", "a", "start"), "start 7 is above max 5; move one of them"),
        ("[tune]\na = { strat = 7 }", ("tune", "a"), "unknown key 'strat'; did you mean 'start'?"),
        ("[tune]\na = { prior = { mean = 1 } }", ("tune", "a", "prior", "sigma"), "'sigma' is missing"),
        ("[solver]\nrtol = 1", ("solver", "rtol"), "1 is wrong, it must be below 1"),
        ("[sweep]\nvary = { a = { from = 1 } }", ("sweep", "vary", "a", "to"), "'to' is missing"),
        ('[release]\norder = [["a"], 3]', ("release", "order", 1), "write a name, or a list of candidates"),
        ("[[case]]\ndata = 'x'", ("case", 0, "name"), "'name' is missing"),
        ("[[case]]\nname = 'x'\ndata = 3", ("case", 0, "data"), "write the path of a file, in quotes, or a list of them"),
        ("[[case]]\nname = 'x'\nfrom = 5\nto = 1", ("case", 0, "from"), "from 5 is not before to 1"),
        (
            "[[case]]\nname = 'x'\noutputs = { y = { column = 'c', weight = -1 } }",
            ("case", 0, "outputs", "y", "weight"),
            "-1 is wrong, it must be above 0",
        ),
        (
            "[[case]]\nname = 'x'\ninputs = { 'a.b' = { hold = 'linear' } }",
            ("case", 0, "inputs", "a.b", "column"),
            "'column' is missing",
        ),
        (
            "[[case]]\nname = 'x'\ninputs = { u = true }",
            ("case", 0, "inputs", "u"),
            'write a column "…", a number, or a table { column = "…", … }',
        ),
        (
            "[[case]]\nname = 'x'\nfree_start = { x = { min = 2, max = 1 } }",
            ("case", 0, "free_start", "x", "min"),
            "min 2 is not below max 1; swap them",
        ),
        (
            "[[case]]\nname = 'x'\noutputs = { y = { real = 'r', imag = 'i' } }",
            ("case", 0, "outputs", "y"),
            "output 'y' is a frequency response; say which column holds the frequency, as in "
            'frequency = "f" (Hz) or angular_frequency = "w" (rad/s)',
        ),
        ("tunes = 3", (), "unknown key 'tunes'; did you mean 'tune'?"),
        ("[case]\nname = 'x'", ("case",), "write [[case]] with two brackets: there may be several"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_text_stands_at_its_field(
    written: str, place: tuple[str | int, ...], message: str
) -> None:
    (found,) = located_problems(written)
    assert (found.place, found.message) == (place, message)


def test_all_problems_of_a_text_are_told_at_the_cases_they_are_in() -> None:
    text = (
        "[[case]]\nname = 'a'\ndata = 3\n[[case]]\nname = 'b'\nto = 'x'\n[[case]]\nname = 'c'\n"
        "from = 2\nto = 1\nbegin = 'y'\n[[case]]\nname = 'd'\n[[case]]\nname = 'd'\n[estimate]\nstarts = 0\n"
    )
    assert [(p.place, p.code) for p in located_problems(text)] == [
        (("case", 0, "data"), "C001"),
        (("case", 1, "to"), "C136"),
        (("case", 2, "begin"), "C001"),
        (("estimate", "starts"), "Q002"),
        (("case", 4, "name"), "C003"),
    ]


def test_a_right_text_has_no_problems() -> None:
    assert located_problems("[tune]\na = 1\n") == ()
    assert located_problems("") == ()


def test_a_text_that_is_no_toml_has_one_problem_with_its_line() -> None:
    assert located_problems("[tune]\na = \n") == (
        LocatedProblem((), "Q070", "line 2, column 5: Invalid value"),
    )


@pytest.mark.parametrize(
    ("code", "where", "message", "place"),
    [
        ("T016", "tuner 'a'", "the model has no parameter 'a'", ("tune", "a")),
        ("T012", "tuner 'a'", "has no start, and the model has no value for it", ("tune", "a", "start")),
        ("T011", "tuner 'a'", "drives 'b': 'm' in 'k*m' is not a tuner", ("tune", "a", "drives")),
        ("T001", "[tune] b", "start: '1.5' is a text", ("tune", "b", "start")),
        ("C003", "case 'run 1'", "is given 2 times", ("case", 1, "name")),
        ("C020", "case 'run 1'", "the model has no input 'u'", ("case", 0, "inputs", "u")),
        ("C021", "case 'run 1'", "the model has no variable 'n.v'", ("case", 0, "outputs", "n.v")),
        ("C021", "case 'run 1'", "output 'y' is a parameter", ("case", 0, "outputs", "y")),
        ("C022", "case 'run 1'", "free_start: 'T' is not a state", ("case", 0, "free_start", "T")),
        ("C024", "case 'run 1'", "fix: 'b' is tuned too", ("case", 0, "fix", "b")),
        ("C025", "case 'run 1'", "input 'w' is not given", ("case", 0, "inputs")),
        ("C004", "case 'run 1'", "has no outputs", ("case", 0, "outputs")),
        ("C007", "case 'run 1'", "time 't' of 'x' goes back from 3 to 2", ("case", 0, "time")),
        ("C029", "case 'run 1'", "output 'y': column 'level' is in K", ("case", 0, "outputs", "y", "column")),
        ("C095", "[[case]] 2", "'data' is missing; write data", ("case", 1, "data")),
        ("D001", "case 'run 1'", "there is no file 'run1.csv'", ("case", 0, "data")),
        ("D004", "case 'run 1'", "no column 't' in 'run1.csv'", ("case", 0, "time")),
        ("D004", "case 'run 1'", "input 'u': no column 'current' in 'x'", ("case", 0, "inputs", "u", "column")),
        ("C031", "case 'run 1'", "the simulation fails", ("case", 0)),
        ("S001", "[model]", "no such file: Tank.mo", ("model", "source")),
        ("S002", "[model]", "no class 'Tnk' in Tank.mo", ("model", "class")),
        ("S021", "[model]", "fix, class Tank: no parameter 'bb'", ("model", "fix", "bb")),
        ("Q041", "[static]", "by needs against: which variable to draw against", ("static", "by")),
        ("S040", "[static]", "formula of output 'y': an operator is missing", ("static", "expression")),
        ("Q010", "[estimate]", "criterion 'lm' is neither 'oe' nor 'ml'", ("estimate", "criterion")),
        ("O003", "criterion 'speed'", "kind 'value' needs of", ("criterion", 0, "kind")),
        ("Q006", "", "there is no [model]; write [model]", ("model",)),
        ("Q015", "", "too few samples", ()),
    ],
)  # fmt: skip
def test_problems_of_a_check_are_brought_to_their_fields(
    code: str, where: str, message: str, place: tuple[str | int, ...]
) -> None:
    assert place_of_problem(Problem(code, where, message), TEXT) == place


def test_the_words_that_name_the_place_are_left_out() -> None:
    found = located_problem(
        Problem("C021", "case 'run 1'", "output 'y': prefilter: 1 Hz", "lower it"), TEXT
    )
    assert found == LocatedProblem(
        ("case", 0, "outputs", "y", "prefilter"), "C021", "1 Hz", "lower it"
    )
    assert found.text == "1 Hz; lower it"
    advised = Problem("T005", "tuner 'b'", "the model's value 2 is above max 1", "give a start")
    assert place_of_problem(advised, TEXT) == ("tune", "b", "start")


def test_a_text_that_is_no_toml_still_places_a_problem() -> None:
    assert place_of_problem(
        Problem("T016", "tuner 'a'", "the model has no parameter 'a'"), "["
    ) == (
        "tune",
        "a",
    )


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("unknown_input", ("case", 0, "inputs", "v")),
        ("missing_column", ("case", 0, "inputs", "u", "column")),
        ("swapped_bounds", ("tune", "a", "min")),
    ],
)
def test_broken_studies_have_their_problem_at_its_field(
    name: str, place: tuple[str | int, ...]
) -> None:
    path = BROKEN / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    assert [place_of_problem(p, text) for p in check_file(path) if not p.warning] == [place]


def test_equations_that_are_left_out_stand_at_the_model_also_of_operating_points(
    tmp_path: Path,
) -> None:
    (tmp_path / "Law.mo").write_text(
        "model Law\n  parameter Real k = 1;\n  input Real u;\n  output Real y = k*u;\nend Law;"
    )
    (tmp_path / "s.csv").write_text("u,y\n1,2\n2,4\n3,6\n")
    text = (
        '[model]\nsource = "Law.mo"\nleave_out = ["nothing"]\n[static]\nmode = "static"\n[tune]\nk = 1\n'
        '[[case]]\nname = "a"\ndata = "s.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n'
    )
    (tmp_path / "law.toml").write_text(text)
    (problem,) = [p for p in check_file(tmp_path / "law.toml") if p.code == "E206"]
    assert problem.where == "[model]"
    assert place_of_problem(problem, text)[:2] == ("model", "leave_out")
