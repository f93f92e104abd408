"""Several files of one kind: `data = "logs/*.csv"` makes cases, or one record of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.data.patterns import file_labels, matching_files, natural_key
from estimica.study.check.run import check_file

STUDY = """\
[model]
source = "K/(1 + tau*s)"
[tune]
K = { start = 1 }
tau = { start = 3, min = 0.1, max = 100 }
[[case]]
%s
inputs = { u = "u" }
outputs = { y = "y" }
"""
K, TAU = 2.0, 5.0


def table(begin: float, count: int = 60, *, y0: float = 0.0, seed: int = 1) -> str:
    """Samples of a first-order lag in closed form, one a second."""
    random = np.random.default_rng(seed)
    time, u, y = begin + np.arange(count), random.integers(0, 2, count), np.empty(count)
    y[0] = y0
    for k in range(count - 1):
        y[k + 1] = K * u[k] + (y[k] - K * u[k]) * np.exp(-1 / TAU)
    rows = "".join(f"{t:g},{a},{b!r}\n" for t, a, b in zip(time, u, map(float, y), strict=True))
    return f"time,u,y\n{rows}"


def folder(tmp_path: Path, entry: str, **files: str) -> Path:
    (tmp_path / "logs").mkdir()
    for name, text in files.items():
        (tmp_path / "logs" / name.replace("__", ".")).write_text(text)
    study = tmp_path / "study.toml"
    study.write_text(STUDY % entry)
    return study


def names(study: Path) -> list[str]:
    return [c.name for c in es.read_study(study).cases]


RUNS = {
    "run10__csv": table(0, seed=1),
    "run2__csv": table(0, seed=2),
    "run1__csv": table(0, seed=3),
}


def test_each_file_is_a_case_in_natural_order(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.csv"', notes__txt="not data", **RUNS)
    assert names(study) == ["run1", "run2", "run10"]
    fit = es.fit(es.read_study(study))
    assert fit["tau"] == pytest.approx(TAU, rel=1e-4)
    assert [c.name for c in fit.cases] == ["run1", "run2", "run10"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ('name = "day *"\ndata = "logs/run?.csv"', ["day run1", "day run2"]),
        ('name = "test"\ndata = "logs/run1*.csv"', ["test run1", "test run10"]),
        ('data = ["logs/run2.csv", "logs/run1*.csv"]', ["run2", "run1", "run10"]),
        ('data = ["logs/*.csv", "logs/run2.csv"]', ["run1", "run2", "run10"]),
        ('name = "one"\ndata = "logs/run2.csv"', ["one"]),
    ],
)
def test_cases_are_called_like_their_files(tmp_path: Path, entry: str, expected: list[str]) -> None:
    assert names(folder(tmp_path, entry, **RUNS)) == expected


def test_settings_are_those_of_all_files(tmp_path: Path) -> None:
    entry = 'data = "logs/*.csv"\nfree_start = ["x1"]\nto = 30'
    cases = es.read_study(folder(tmp_path, entry, **RUNS)).cases
    assert {(c.to, tuple(c.start_values)) for c in cases} == {(30.0, ("x1",))}


def test_a_pattern_without_a_match_names_the_folder_and_what_is_there(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.tsv"', **RUNS)
    (problem,) = check_file(study)
    assert problem.code == "D060"
    assert "no file matches 'logs/*.tsv'" in problem.message
    assert "holds 'run1.csv', 'run2.csv', 'run10.csv'" in problem.message


def test_a_folder_that_is_not_there_gets_the_near_name(tmp_path: Path) -> None:
    (problem,) = check_file(folder(tmp_path, 'data = "log/*.csv"', **RUNS))
    assert "there is no folder" in problem.message
    assert "did you mean 'logs'?" in problem.message


def test_one_bad_file_among_many_is_named(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.csv"', bad__csv="", **RUNS)
    errors = [p for p in check_file(study) if not p.warning]
    assert len(errors) == 1
    assert errors[0].where == "case 'bad'"
    assert "bad.csv" in errors[0].message


def test_a_file_without_a_column_is_named(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.csv"', odd__csv="time,u\n0,1\n1,0\n", **RUNS)
    errors = [p for p in check_file(study) if not p.warning]
    assert [p.where for p in errors] == ["case 'odd'"]
    assert "no column 'y'" in errors[0].message
    assert "odd.csv" in errors[0].message


def test_a_file_that_is_called_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    study = folder(tmp_path, 'name = "a"\ndata = "logs/run[1].csv"', **RUNS)
    (tmp_path / "logs" / "run[1].csv").write_text(table(0, 20))
    (case,) = es.read_study(study).cases
    assert (case.name, len(case.data)) == ("a", 20)  # type: ignore[arg-type]


def test_hidden_files_lock_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*"', **RUNS)
    (tmp_path / "logs" / ".run0.csv").write_text("x")
    (tmp_path / "logs" / "~$run0.xlsx").write_text("x")
    (tmp_path / "logs" / "old").mkdir()
    os.mkfifo(tmp_path / "logs" / "pipe.csv")
    assert names(study) == ["run1", "run2", "run10"]


def test_folders_within_folders_are_not_searched(tmp_path: Path) -> None:
    (problem,) = check_file(folder(tmp_path, 'data = "**/*.csv"', **RUNS))
    assert "** is not understood" in problem.message


def test_a_wildcard_may_stand_for_a_folder(tmp_path: Path) -> None:
    for day in ("mon", "tue"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "log.csv").write_text(table(0))
    study = tmp_path / "study.toml"
    study.write_text(STUDY % 'data = "*/log.csv"')
    assert names(study) == ["mon/log", "tue/log"]


def test_data_must_be_names(tmp_path: Path) -> None:
    for entry in ("data = [1, 2]", "data = []", "data = 3"):
        path = tmp_path / "study.toml"
        path.write_text(STUDY % f'name = "a"\n{entry}')
        assert "write the path of a file, in quotes, or a list of them" in check_file(path)[0].text


def test_labels_keep_what_tells_files_apart() -> None:
    assert file_labels(["a/x.csv", "a/y.csv"]) == ["x", "y"]
    assert file_labels(["a/x.csv", "a/x.tsv"]) == ["x.csv", "x.tsv"]
    assert file_labels(["a/x.csv", "b/x.csv"]) == ["a/x", "b/x"]
    assert file_labels(["a/x.csv", "b/x.csv", "b/x.tsv"]) == ["a/x.csv", "b/x.csv", "b/x.tsv"]
    assert sorted(["B10", "b9", "a"], key=natural_key) == ["a", "b9", "B10"]


def test_order_does_not_depend_on_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path, "", **RUNS)
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: sorted(listed(path), reverse=True))
    assert matching_files("logs/*.csv", tmp_path)[0] == "logs/run1.csv"


# --- one record of several files -----------------------------------------------------------------


def pieces() -> dict[str, str]:
    lines = table(0, 180, seed=4).splitlines(keepends=True)
    return {f"part{k}__csv": lines[0] + "".join(lines[1 + 60 * k : 61 + 60 * k]) for k in range(3)}


def test_files_that_continue_each_other_are_told(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.csv"', **pieces())
    (note,) = [p for p in check_file(study) if p.code == "C112"]
    assert "3 files continue each other" in note.text
    assert "join = true" in note.text


def test_joined_files_are_one_record(tmp_path: Path) -> None:
    study = folder(tmp_path, 'name = "week"\ndata = "logs/*.csv"\njoin = true', **pieces())
    assert not [p for p in check_file(study) if p.code == "C112"]
    (case,) = es.read_study(study).cases
    assert case.name == "week"
    fit = es.fit(es.read_study(study))
    assert fit.n_samples == 180
    assert fit["tau"] == pytest.approx(TAU, rel=1e-4)
    files = [s for s in fit.page().sections if "part2.csv" in str(s.shown)]
    assert files, "the checksums are those of all files"


def test_a_lost_file_among_joined_ones_is_a_gap(tmp_path: Path) -> None:
    parts = pieces()
    del parts["part1__csv"]
    fit = es.fit(es.read_study(folder(tmp_path, 'data = "logs/*.csv"\njoin = true', **parts)))
    assert [c.name for c in fit.cases] == ["part0"]
    assert [c.name for c in fit.stretches] == ["part0", "part0/2"]
    assert fit["tau"] == pytest.approx(TAU, rel=1e-4)


def test_joined_dates_count_from_the_first_of_all(tmp_path: Path) -> None:
    head = "date,u,y\n"
    days = {
        "b__csv": head + "2026-03-02 00:00,1,1\n2026-03-02 00:10,1,1\n",
        "a__csv": head + "2026-03-01 00:00,1,1\n2026-03-01 00:10,1,-\n",
    }
    study = folder(tmp_path, 'data = ["logs/b.csv", "logs/a.csv"]\njoin = true', **days)
    (case,) = es.read_study(study).cases
    assert case.data.time().tolist() == [0.0, 600.0, 86400.0, 87000.0]  # type: ignore[union-attr]
    assert case.data.gaps("y").first == 2  # type: ignore[union-attr]


def test_files_that_each_begin_at_zero_are_not_joined(tmp_path: Path) -> None:
    study = folder(tmp_path, 'data = "logs/*.csv"\njoin = true', **RUNS)
    with pytest.raises(EstimicaError, match=r"run2\.csv' begins at 0 s, before .*run1\.csv' ends"):
        es.read_study(study)
