"""Signals from files: which column, which time, and what is wrong with the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estimica.data.readers import read_signal


def write(folder: Path, text: str) -> Path:
    path = folder / "run.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_found_out(tmp_path: Path, separator: str) -> None:
    rows = [("time", "u"), ("0", "1.5"), ("1", "2.5")]
    path = write(tmp_path, "\n".join(separator.join(row) for row in rows))
    time, value, _ = read_signal(path, None, prefer="u")
    assert list(time) == [0.0, 1.0]
    assert list(value) == [1.5, 2.5]


def test_time_column_need_not_be_the_first(tmp_path: Path) -> None:
    time, value, _ = read_signal(write(tmp_path, "u,t\n5,0\n6,1\n"), None, prefer="x")
    assert list(time) == [0.0, 1.0]
    assert list(value) == [5.0, 6.0]


def test_empty_cells_are_not_sampled(tmp_path: Path) -> None:
    value = read_signal(write(tmp_path, "t,u\n0,1\n1,\n2,3\n"), "u")[1]
    assert np.isnan(value[1])


def test_column_of_the_inputs_name_is_preferred(tmp_path: Path) -> None:
    path = write(tmp_path, "t,valve,uc\n0,1,2\n1,1,2\n")
    assert read_signal(path, None, prefer="uc")[1][0] == 2.0
    assert read_signal(path, "valve", prefer="uc")[1][0] == 1.0
