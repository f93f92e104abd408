"""Cells that are not a number: none of them is dropped without a word, wherever it came from."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.data.readers import as_data, read_data
from estimica.data.table import Data
from estimica.study.record.samples import examine

ROWS = ["1,2", "inf,3", "1e999,4", "-,5", "6,n/a", "7,8", "8,", "9,nan", "-inf,10", "11,-"]


def table(path: Path, rows: list[str]) -> Data:
    lines = ["t,y,z", *(f"{k},{row}" for k, row in enumerate(rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_data(path)


def test_marks_and_infinite_numbers_of_a_text_file_are_counted(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", ROWS)
    y, z = data.gaps("y"), data.gaps("z")
    assert y is not None
    assert z is not None
    assert (y.first, y.texts, y.infinite, y.count) == (2, {"-": 1}, 3, 4)
    assert (z.first, z.texts, z.infinite) == (5, {"n/a": 1, "-": 1}, 0)
    assert data.gaps("t") is None
    assert y.in_words == (
        "4 cells do not hold a number ('-' once, infinite or too large 3 times), the first in row 2"
    )
    assert "column 'y': 4 cells do not hold a number" in repr(data)
    # empty cells and those that say "not a number" are what they say: not sampled
    assert np.isnan(data.column("z")[[6, 7]]).all()
    assert data.column("z")[5] == 8


def test_columns_without_such_cells_have_nothing_to_tell(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", ["1,2", ",3", "NaN,4", "5,6", "7,8"])
    assert data.gap_notes == ()
    assert np.isnan(data.column("y")[[1, 2]]).all()


@pytest.mark.parametrize("mark", ["-", "--", "---", "NA", "N/A", "n/a", "null", "NULL", "None"])
def test_every_mark_is_counted(tmp_path: Path, mark: str) -> None:
    data = table(tmp_path / "d.csv", ["1,2", "2,3", f"{mark},4", f" {mark} ,5", "5,6", "6,7"])
    gaps = data.gaps("y")
    assert gaps is not None
    assert (gaps.first, gaps.texts) == (3, {mark: 2})
    assert np.isnan(data.column("y")[[2, 3]]).all()


def test_decimal_commas_are_numbers_and_marks_among_them_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("t;y\n0,0;1,5\n0,1;-\n0,2;2,5\n0,3;inf\n0,4;3,5\n", encoding="utf-8")
    data = read_data(path)
    assert data.column("y")[[0, 2, 4]].tolist() == [1.5, 2.5, 3.5]
    gaps = data.gaps("y")
    assert gaps is not None
    assert (gaps.first, gaps.texts, gaps.infinite) == (2, {"-": 1}, 1)


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "mat"])
def test_infinite_numbers_of_other_files_are_counted(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"d.{ending}"
    frame = pd.DataFrame({"t": np.arange(6.0), "y": [1, np.inf, 3, -np.inf, 5, np.nan]})
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    else:
        from scipy.io import savemat

        savemat(path, {n: frame[n].to_numpy() for n in frame})
    gaps = read_data(path).gaps("y")
    assert gaps is not None
    assert (gaps.first, gaps.infinite) == (2, 2)


def test_objects_tell_it_as_files_do() -> None:
    for given in (
        pd.DataFrame({"t": [0, 1, 2.0], "y": ["1", "-", "inf"]}),
        {"t": [0, 1, 2.0], "y": pd.Series(["1", "-", "inf"])},
    ):
        gaps = as_data(given).gaps("y")
        assert gaps is not None
        assert (gaps.first, gaps.texts, gaps.infinite) == (2, {"-": 1}, 1)
    data = as_data({"t": [0, 1, 2.0], "y": np.array([1, np.inf, 2])})
    assert pickle.loads(pickle.dumps(data)).gaps("y") == data.gaps("y")


def test_infinite_time_is_refused() -> None:
    case = es.Case("a", pd.DataFrame({"t": [0, np.inf], "y": [1.0, 2]}), outputs={"y": "y"})
    record, problems = examine(case)
    assert record is None
    assert problems[0].code in ("C006", "D007")


def test_values_that_a_scale_makes_too_large_are_told() -> None:
    frame = pd.DataFrame({"t": [0, 1, 2.0], "y": [1, 1e95, 2]})
    case = es.Case("a", frame, outputs={"y": es.OutputColumn("y", scale=1e10)})
    record, problems = examine(case)
    assert record is not None
    assert [p.code for p in problems] == ["C097"]
    assert "make 1 values too large to compute with, the first in row 2" in record.notes[0]
    assert record.outputs[0].value.tolist() == [1e10, 2e10]


STUDY = """[static]
expression = "a*y"
[tune]
a = 1.0
[[case]]
name = "points"
data = "d.csv"
inputs = { y = "y" }
outputs = { z = { column = "z", weight = 1 } }
"""


def test_check_fit_and_page_tell_how_many_cells_do_not_count(tmp_path: Path) -> None:
    table(tmp_path / "d.csv", [f"{k},{2 * k + 0.1 * (-1) ** k}" for k in range(20)] + ROWS)
    study = tmp_path / "s.toml"
    study.write_text(STUDY, encoding="utf-8")
    run = CliRunner()
    checked = run.invoke(app, ["check", str(study), "--json"])
    problems = {p["code"]: p for p in json.loads(checked.stdout)["problems"]}
    assert problems["C096"]["severity"] == "warning"
    page = tmp_path / "fit.html"
    fitted = run.invoke(app, ["fit", str(study), "--json", "--report", str(page)])
    assert "warning C096: case 'points': column 'y'" in fitted.stderr
    told = json.loads(fitted.stdout)["data_notes"]["points"]
    assert "4 cells do not hold a number ('-' once, infinite or too large 3 times)" in told[0]
    assert "the first in row 22" in told[0]
    assert "Cells that do not count" in page.read_text(encoding="utf-8")
