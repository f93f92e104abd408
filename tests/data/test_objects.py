"""DataFrames and mappings of series as data: every stamp is kept, nothing is resampled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimica.base.errors import DataError
from estimica.base.signals import Signal
from estimica.data.readers import as_data

nan = np.nan


def same(found: object, expected: list[float]) -> None:
    np.testing.assert_array_equal(found, expected)  # type: ignore[arg-type]


def test_data_is_left_as_it_is() -> None:
    data = as_data({"t": [0.0, 1.0], "x": [1.0, 2.0]})
    assert as_data(data) is data


def test_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,x\n0,1\n1,2\n")
    assert as_data(tmp_path / "a.csv").names == ("t", "x")
    assert as_data(str(tmp_path / "a.csv")).names == ("t", "x")


def test_frame_keeps_names_units_and_kinds() -> None:
    frame = pd.DataFrame(
        {
            "time [min]": [0, 1],
            "T [degC]": np.array([1, 2], np.float32),
            "on": [True, False],
            "n": pd.array([1, None], "Int64"),
            "mode": ["a", "b"],
            "level": pd.Categorical([3, 4]),
            "wait": pd.to_timedelta([1, 2], unit="min"),
        }
    )
    data = as_data(frame)
    assert data.source == "DataFrame"
    assert data.names == ("time", "T", "on", "n", "level", "wait")
    assert data.units == {"time": "min", "T": "degC"}
    same(data.column("on"), [1, 0])
    same(data.column("n"), [1, nan])
    same(data.column("level"), [3, 4])
    same(data.column("wait"), [60, 120])
    with pytest.raises(DataError, match="D006"):
        data.column("mode")


def test_frame_index_is_the_time_only_if_it_carries_one() -> None:
    values = {"T": [1.0, 2.0]}
    assert as_data(pd.DataFrame(values)).names == ("T",)
    assert as_data(pd.DataFrame(values, index=[0.5, 1.5])).names == ("time", "T")
    assert as_data(pd.DataFrame(values, index=pd.Index([0, 1], name="t"))).names == ("t", "T")
    assert as_data(pd.DataFrame(values, index=["a", "b"])).names == ("T",)
    assert as_data(pd.DataFrame({"t": [3.0, 4.0], **values}, index=[0.5, 1.5])).names == ("t", "T")


def test_frame_of_floats_is_not_copied() -> None:
    frame = pd.DataFrame(np.arange(20.0).reshape(10, 2), columns=["t", "x"])
    assert np.shares_memory(as_data(frame).column("x"), frame["x"].to_numpy())


def test_series_with_their_own_stamps_meet_in_the_union() -> None:
    data = as_data(
        {
            "T [degC]": pd.Series([1.0, 2.0, 3.0], index=[0.0, 1.0, 2.0]),
            "p": ([0.5, 2.0], [10.0, 20.0]),
            "u": Signal(np.array([0.0]), np.array([7.0])),
            "m": {"2.0": 5.0, "0.5": 4.0},
        }
    )
    assert data.names == ("time", "T", "p", "u", "m")
    assert data.units == {"T": "degC"}
    same(data.time(), [0.0, 0.5, 1.0, 2.0])
    same(data.column("T"), [1, nan, 2, 3])
    same(data.column("p"), [nan, 10, nan, 20])
    same(data.column("u"), [7, nan, nan, nan])
    same(data.column("m"), [nan, 4, nan, 5])


def test_jump_of_one_series_is_kept() -> None:
    data = as_data({"u": ([0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 5.0, 5.0]), "y": ([1.0, 0.0], [2, 1])})
    same(data.time(), [0, 1, 1, 2])
    same(data.column("u"), [0, 0, 5, 5])
    same(data.column("y"), [1, 2, nan, nan])


def test_arrays_take_the_stamps_of_the_time_beside_them() -> None:
    data = as_data({"time": [0.0, 1.0], "u": [5.0, 6.0], "y": ([0.5], [1.0])})
    same(data.time(), [0, 0.5, 1])
    same(data.column("u"), [5, nan, 6])


def test_dates_of_several_series_count_from_the_earliest() -> None:
    a = pd.Series([1.0, 2.0], index=pd.to_datetime(["2026-11-15 06:01", "2026-11-15 06:02"]))
    b = pd.Series([3.0], index=pd.to_datetime(["2026-11-15 06:00"]))
    data = as_data({"a": a, "b": b})
    same(data.time(), [0, 60, 120])
    same(data.column("b"), [3, nan, nan])
    assert data.origins == {"time": "2026-11-15T06:00:00"}
