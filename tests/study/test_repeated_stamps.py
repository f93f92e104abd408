"""Rows that repeat a time stamp: told by check and fit with their count and the setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.study.check.run import check_file

STUDY = """[model]
source = "K/(1 + tau*s)"
[tune]
K = { start = 1 }
tau = { start = 3, min = 0.1, max = 100 }
[[case]]
name = "log"
data = "log.csv"
inputs = { u = "u" }
outputs = { y = "y" }
"""
K, TAU = 2.0, 5.0


def rows(step: float, count: int = 80) -> list[tuple[float, float, float]]:
    """A first-order lag behind an input of 1, in closed form, with noise."""
    time = np.arange(count) * step
    y = K * (1 - np.exp(-time / TAU))
    y += 0.01 * np.random.default_rng(4).standard_normal(count)
    return [(float(t), 1.0, float(v)) for t, v in zip(time, y, strict=True)]


def study(folder: Path, lines: list[tuple[float, float, float]], more: str = "") -> Path:
    text = "time,u,y\n" + "".join(f"{t:g},{u:g},{y!r}\n" for t, u, y in lines)
    (folder / "log.csv").write_text(text)
    (folder / "log.toml").write_text(STUDY + more)
    return folder / "log.toml"


def told(*words: object) -> str:
    return " ".join(CliRunner().invoke(app, [str(w) for w in words]).output.split())


def twice(lines: list[tuple[float, float, float]], *at: int) -> list[tuple[float, float, float]]:
    return [line for k, line in enumerate(lines) for _ in range(2 if k in at else 1)]


def test_a_row_that_was_written_twice_is_told_by_check_and_fit(tmp_path: Path) -> None:
    path = study(tmp_path, twice(rows(0.5), 10, 40))
    for command in ("check", "fit"):
        words = told(command, path)
        assert "2 of 82 rows have the time stamp of the row before" in words
        assert "the first is row 12; they count as samples of their own" in words
        assert "all repeat the whole row" in words
        assert 'write duplicates = "first", "last" or "mean" in [reading]' in words
        assert 'or duplicates = "replicates" if each was measured' in words
    fit = es.fit(es.read_study(path))
    assert fit.n_samples == 82
    assert any("2 of 82 rows" in r for r in fit.to_dict()["remarks"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("said", ["first", "last", "mean", "replicates"])
def test_a_study_that_says_what_they_are_is_not_warned(tmp_path: Path, said: str) -> None:
    more = f'[reading]\nduplicates = "{said}"\n'
    path = study(tmp_path, twice(rows(0.5), 10, 40), more)
    assert "C114" not in [p.code for p in check_file(path)]
    fit = es.fit(es.read_study(path))
    assert fit.n_samples == (82 if said == "replicates" else 80)
    assert not any("time stamp" in r for r in fit.remarks)


def test_rows_of_one_stamp_are_refused_on_request(tmp_path: Path) -> None:
    path = study(tmp_path, twice(rows(0.5), 10), '[reading]\nduplicates = "error"\n')
    words = told("fit", path)
    assert "rows 11 and 12 have one time stamp" in words
    assert 'write duplicates = "first", "last" or "mean"' in words


def test_stamps_of_whole_seconds_at_ten_hertz_are_called_rounded(tmp_path: Path) -> None:
    rounded = [(float(int(t)), u, y) for t, u, y in rows(0.1, 200)]
    path = study(tmp_path, rounded)
    for command in ("check", "fit"):
        words = told(command, path)
        assert "180 of 200 rows" in words
        assert "the stamps look rounded to 1 s: name a column with all digits" in words
    moving = [(t, float(k % 7), y) for k, (t, _, y) in enumerate(rounded)]
    words = told("fit", study(tmp_path, moving))
    assert "has two values at time 0" in words
    assert "the stamps look rounded to 1 s" in words


def test_rows_outside_of_what_counts_are_not_told(tmp_path: Path) -> None:
    path = study(tmp_path, twice(rows(0.5), 70), "to = 30\n")
    assert "C114" not in [p.code for p in check_file(path)]


def test_files_that_continue_each_other_are_told_by_fit_too(tmp_path: Path) -> None:
    path = study(tmp_path, rows(0.5))
    (tmp_path / "logs").mkdir()
    for name, part in (("a", rows(0.5)[:40]), ("b", rows(0.5)[40:])):
        text = "time,u,y\n" + "".join(f"{t:g},{u:g},{y!r}\n" for t, u, y in part)
        (tmp_path / "logs" / f"{name}.csv").write_text(text)
    path.write_text(STUDY.replace('name = "log"\n', "").replace("log.csv", "logs/*.csv"))
    for command in ("check", "fit"):
        words = told(command, path)
        assert "its 2 files continue each other, and each begins anew" in words
        assert "write join = true" in words
