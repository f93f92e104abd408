"""Formulas as models of a new study: columns are inputs, other names tuners."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from estimica.base.errors import SourceError, StudyError
from estimica.data.readers import read_data
from estimica.study.check.run import check_file
from estimica.study.draft.columns import Table
from estimica.study.draft.formula import draft_formulas, read_formulas


def drafted(folder: Path, formula: str, columns: str = "") -> str:
    tables = []
    if columns:
        path = folder / "points.csv"
        path.write_text(f"{columns}\n1,2.9\n2,5.1\n3,7.0\n")
        tables = [Table("points.csv", read_data(path))]
    text = draft_formulas(read_formulas(formula), tables)
    (folder / "study.toml").write_text(text)
    return text


def test_a_line_through_points_is_ready_to_be_fitted(tmp_path: Path) -> None:
    study = tomllib.loads(drafted(tmp_path, "a + b*x", "X,power"))
    assert study["static"] == {"expression": "a + b*x"}
    assert study["tune"] == {"a": 1.0, "b": 1.0}
    (case,) = study["case"]
    assert case["inputs"] == {"x": "X"}
    assert case["outputs"] == {"y": "power"}  # the only column that is left
    assert check_file(tmp_path / "study.toml") == []


def test_several_formulas_are_named_and_the_draft_waits_for_data(tmp_path: Path) -> None:
    study = tomllib.loads(drafted(tmp_path, "p = a*x; q = a*x^2"))
    assert study["static"]["expression"] == {"p": "a*x", "q": "a*x^2"}
    assert study["tune"] == {"a": 1.0}
    assert "case" not in study


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        (" \n", "there is no formula; write one"),
        ("a*x\nb*x", "there are two formulas of 'y'"),
        ("y = a ** x", "formula of y"),
    ],
)
def test_what_is_no_formula_is_told(formula: str, why: str) -> None:
    with pytest.raises((StudyError, SourceError), match=why):
        read_formulas(formula)
