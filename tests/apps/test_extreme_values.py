"""Extreme numbers and damaged files: a clear message with its code or a true result, never a fault."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.test_injured_files import trouble
from tests.fuzz.warm_cli import Ended, run_command

from estimica.base.problems import Problem
from estimica.study.case import Case
from estimica.study.file.read import examine_tables
from estimica.study.record.samples import Record, examine

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands run in forks")
MODEL = """model M
  parameter Real k = 1; parameter Real a = 2; input Real u(start = 0);
  Real x(start = 1, fixed = true); output Real y;
equation der(x) = -k*x + u; y = a*x; end M;
"""
STUDY = """[model]
source = "M.mo"
[tune]
k = {k}
a = {{ start = 1 }}
[[case]]
name = "run"
data = "run.csv"
inputs = {{ u = "u" }}
outputs = {{ y = {y} }}
"""
K, Y = "{ start = 1, min = 0.1, max = 9 }", '"y"'
ROWS = [
    (t / 10, int(t / 20) % 2, 2 * math.exp(-0.05 * t) + 0.01 * math.sin(7 * t)) for t in range(60)
]


def written(folder: Path, k: str = K, y: str = Y, rows: list[Any] = ROWS, more: str = "") -> Path:
    (folder / "M.mo").write_text(MODEL)
    (folder / "s.toml").write_text(STUDY.format(k=k, y=y) + more, encoding="utf-8")
    lines = [",".join(map(str, row)) for row in rows]
    (folder / "run.csv").write_text("\n".join(["time,u,y", *lines]), encoding="utf-8")
    return folder


def told(folder: Path, *args: str) -> tuple[Ended, dict[str, Any]]:
    ended = run_command([*args, "--json"], folder)
    assert not trouble(ended), (ended.code, ended.err, ended.out[:500])
    return ended, json.loads(ended.out)


FIT = ("fit", "s.toml", "--no-store", "--quiet")


@pytest.mark.parametrize(
    "number", ["1e300", "1e-300", "5e-324", "-1.0", "nan", "inf", "0x" + "f" * 10_000]
)
@pytest.mark.parametrize(
    ("k", "y", "code"),
    [
        ("{{ start = 1, scale = {} }}", Y, "T001"),
        ("{{ start = 1, prior = {{ mean = 1, sigma = {} }} }}", Y, "T001"),
        (K, '{{ column = "y", sigma = {} }}', "C001"),
        (K, '{{ column = "y", weight = {} }}', "C001"),
    ],
)  # fmt: skip
def test_a_size_that_cannot_be_computed_with_is_refused(
    k: str, y: str, code: str, number: str
) -> None:
    k, y = (text.format(number) if "{}" in text else text for text in (k, y))
    (problem,) = examine_tables(tomllib.loads(STUDY.format(k=k, y=y)))
    assert problem.code == code
    assert len(problem.text) < 200


@pytest.mark.parametrize("k", ["{ start = 1, min = -1e308, max = 1e308 }", "{ start = 1e308 }"])
def test_bounds_and_starts_beyond_all_sizes_are_refused(tmp_path: Path, k: str) -> None:
    ended, outcome = told(written(tmp_path, k), *FIT)
    assert ended.code == 2
    assert outcome["outcome"]["code"] in ("T001", "Q001")
    assert "too large to compute with" in ended.err


def test_the_largest_and_smallest_sizes_that_are_allowed_end_without_a_fault(
    tmp_path: Path,
) -> None:
    for k in ("{ start = 1, scale = 1e100 }", "{ start = 1, scale = 1e-100 }",
              "{ start = 1, prior = { mean = 1, sigma = 1e-100 } }"):  # fmt: skip
        ended, outcome = told(written(tmp_path, k), *FIT)
        assert outcome["outcome"]["status"] in ("converged", "stalled", "failed"), ended.err


def _changed(column: int, value: Any, row: int | None = None) -> list[Any]:
    rows = [list(r) for r in ROWS]
    for number, one in enumerate(rows):
        if row is None or number == row:
            one[column] = value(one[column]) if callable(value) else value
    return rows


def test_one_sample_that_is_too_large_does_not_count_and_is_told(tmp_path: Path) -> None:
    ended, outcome = told(written(tmp_path, rows=_changed(2, "1e308", 30)), *FIT)
    assert ended.code == 0
    assert "C096" in ended.err
    assert outcome["n_samples"] == 59


@pytest.mark.parametrize("cell", ["1e308", "-1e101", "1e400", "inf", "9" * 10_000, "9" * 300])
def test_cells_that_are_too_large_are_gaps(tmp_path: Path, cell: str) -> None:
    (problem,), found = _examined(written(tmp_path, rows=_changed(2, cell, 30)))
    assert (problem.code, problem.warning) == ("C096", True)
    assert found is not None
    assert found.n_samples == 59


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        (2, lambda y: 1e200 * y, "C010"), (2, lambda y: 1e-200 * y, "C098"), (2, "nan", "C010"),
        (0, lambda t: 1e300 * t, "C098"), (0, lambda t: 1e-300 * t, "C098"), (0, 1, "C008"),
        (0, lambda t: -t, "C007"), (1, "1e308", "C009"), (0, "9" * 10_000, "C006"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_computed_with_are_refused(
    tmp_path: Path, column: int, value: Any, code: str
) -> None:
    begun = time.process_time()
    problems, _ = _examined(written(tmp_path, rows=_changed(column, value)))
    assert [p.code for p in problems if not p.warning] == [code]
    # a long row of digits was once tried in all its divisions, for a minute
    assert time.process_time() - begun < 5


def _examined(folder: Path) -> tuple[list[Problem], Record | None]:
    case = Case("run", str(folder / "run.csv"), inputs={"u": "u"}, outputs={"y": "y"})
    found, problems = examine(case)
    return problems, found


@pytest.mark.parametrize("cell", ["run.csv\\u0000"])
def test_nul_in_any_text_of_a_study_is_refused(tmp_path: Path, cell: str) -> None:
    for old, new in (('"run.csv"', f'"{cell}"'), ('"M.mo"', f'"{cell}"'), ('"y"', f'"{cell}"'),
                     ("[tune]", f'libraries = ["{cell}"]\n[tune]')):  # fmt: skip
        written(tmp_path)
        study = tmp_path / "s.toml"
        study.write_text(study.read_text().replace(old, new, 1))
        ended, outcome = told(tmp_path, *FIT)
        assert (ended.code, outcome["outcome"]["code"]) == (2, "Q004")


def test_numbers_of_ten_thousand_digits_are_told(tmp_path: Path) -> None:
    digits = "9" * 10_000
    written(tmp_path, k=digits)
    assert told(tmp_path, *FIT)[0].code == 2
    written(tmp_path)
    for option in ("--set=a=", "--start-value=x=", "--input=u="):
        ended, outcome = told(tmp_path, "simulate", "M.mo", "--stop", "1", option + digits)
        assert (ended.code, outcome["outcome"]["status"]) == (2, "wrong input")
    for text in (f"a*{digits}", f"a*1e{digits}"):
        (tmp_path / "f.toml").write_text(_formula(text))
        ended, _ = told(tmp_path, "fit", "f.toml", "--no-store", "--quiet")
        assert ended.code == 2
        assert len(ended.err) < 1000


@pytest.mark.parametrize("text", ["9^(9^(9^9))*a", "integer(9^400)*a"])
def test_a_formula_that_is_infinite_is_told(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    (tmp_path / "f.toml").write_text(_formula(text))
    ended, outcome = told(tmp_path, "fit", "f.toml", "--no-store", "--quiet")
    assert ended.code == 2
    assert outcome["outcome"]["code"] == "C031"


def _formula(text: str) -> str:
    case = '[[case]]\nname = "c"\ndata = "run.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n'
    return f'[static]\nexpression = "{text} + 0*u"\n[tune]\na = 1\n{case}'


def test_wrong_arguments_are_told_in_json_too(tmp_path: Path) -> None:
    for args in (("fit", "s.toml", "--nope"), ("fitt",), ("fit", "s.toml", "--seed", "9" * 10_000)):
        ended = run_command([*args, "--json"], written(tmp_path))
        assert ended.code == 2
        assert json.loads(ended.out)["outcome"]["code"] == "M055"


# --- the store -----------------------------------------------------------------------------------

BROKEN = ["{", "", "null", "[]", "3", '"x', "9" * 10_000, "[" * 100_000, b"\xff\xfe{", "\0"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = written(tmp_path_factory.mktemp("store"))
    assert run_command(["fit", "s.toml", "--quiet"], folder).code == 0
    with sqlite3.connect(folder / ".estimica" / "runs.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return (folder / ".estimica" / "runs.sqlite").read_bytes()


@pytest.mark.parametrize("place", ["run.settings", "run.result", "run.study", "iteration.payload"])
def test_broken_json_in_a_store_is_told_and_the_run_can_be_deleted(
    tmp_path: Path, store: bytes, place: str
) -> None:
    from estimica.base.errors import StoreError
    from estimica.execute.runs.store import Store

    path = tmp_path / "runs.sqlite"
    table, _, column = place.partition(".")
    for text in BROKEN:
        if column == "study" and text == '"x"':
            continue
        path.write_bytes(store)
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE {table} SET {column} = ?", (text,))
        connection.close()
        with pytest.raises(StoreError, match="damaged") as error:
            Store(path).run("last")
        assert error.value.code == "B033"
    ended, outcome = told(tmp_path, "runs", "show", "last", "--store", str(path))
    assert (ended.code, outcome["outcome"]["code"]) == (2, "B033")
    assert told(tmp_path, "runs", "delete", "last", "--yes", "--store", str(path))[0].code == 0


def test_a_store_that_is_none_is_told(tmp_path: Path, store: bytes) -> None:
    path = tmp_path / "runs.sqlite"
    for content, code in ((b"hello", 2), (store[: len(store) // 2], 2), (bytes(5000), 2), (b"", 0)):
        path.write_bytes(content)
        assert told(tmp_path, "runs", "--store", str(path))[0].code == code
    for damage in ("PRAGMA user_version = 99", "DROP TABLE iteration", "PRAGMA application_id = 7"):
        path.write_bytes(store)
        with sqlite3.connect(path) as connection:
            connection.execute(damage)
        connection.close()
        assert told(tmp_path, "runs", "--store", str(path))[0].code == 2


# --- the last line -------------------------------------------------------------------------------


def test_a_fault_of_our_own_is_one_honest_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.apps.cli.console import FAULT, report_internal_error

    monkeypatch.delenv("ESTIMICA_DEBUG", raising=False)
    assert (
        report_internal_error(_raised(ZeroDivisionError("oh\nno")), ["fit", "s.toml", "--json"])
        == FAULT
    )
    out, err = capsys.readouterr()
    assert json.loads(out)["outcome"] == {
        "status": "fault", "code": "Z001", "message": err.strip().removeprefix("error Z001: "),
    }  # fmt: skip
    assert len(err.strip().splitlines()) == 1
    assert "ZeroDivisionError: oh no" in err
    assert "ESTIMICA_DEBUG=1 estimica fit" in err
    assert "Traceback" not in err
    monkeypatch.setenv("ESTIMICA_DEBUG", "1")
    report_internal_error(_raised(ValueError("x")), ["fit"])
    assert "Traceback" in capsys.readouterr().err


def test_want_of_memory_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    from estimica.apps.cli.console import report_internal_error

    report_internal_error(_raised(MemoryError()), ["sweep"])
    err = capsys.readouterr().err
    assert "Z002" in err
    assert "fault" not in err


def _raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught
