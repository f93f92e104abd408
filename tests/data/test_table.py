"""Data: columns, the time among them, and how they show themselves."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from estimica.data.readers import as_data
from estimica.data.table import Data


@pytest.fixture
def data() -> Data:
    return Data(
        "run1.csv",
        {"time": np.array([0.0, 1.0]), "power": np.array([1.0, np.nan])},
        units={"power": "W"},
        texts={"mode": "'heat' in line 2"},
    )


def test_columns_are_read_only_floats_also_after_a_journey(data: Data) -> None:
    for one in (data, pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert len(one) == 2
        assert one.names == ("time", "power")
        assert one.units == {"power": "W"}
        with pytest.raises(ValueError, match="read-only"):
            one.column("power")[0] = 3.0


@pytest.mark.parametrize(
    ("names", "time"),
    [
        (("x", "time"), "time"),
        (("x", "Time"), "Time"),
        (("x", "TIME"), "TIME"),
        (("x", "t"), "t"),
        (("T", "t"), "t"),
        (("t", "time"), "time"),
        (("x", "Zeit"), "Zeit"),
        (("x", "Timestamp"), "Timestamp"),
        (("x", "Date"), "Date"),
    ],
)
def test_time_is_found_by_its_name(names: tuple[str, str], time: str) -> None:
    data = Data("a.csv", dict.fromkeys(names, np.array([5.0, 4.0])))
    assert data.time_name() == time


def test_first_column_is_the_time_if_it_rises() -> None:
    data = Data("a.csv", {"x": np.array([1.0, 2.0]), "u": np.array([5.0, 5.0])})
    assert data.time_name() == "x"
    assert data.time("u").tolist() == [5.0, 5.0]


def test_data_shows_itself(data: Data) -> None:
    assert repr(data).splitlines() == [
        "Data from 'run1.csv': 2 rows of time, power [W]",
        "  mode: no numbers, 'heat' in line 2",
    ]
    page = data._repr_html_()
    assert "<td>power</td><td>W</td><td>1</td><td>1</td><td>1</td>" in page
    wide = as_data({f"c{k}": [1.0] for k in range(100)})
    assert repr(wide).endswith("c11 and 88 more")


def test_frame_and_back(data: Data) -> None:
    frame = data.to_frame()
    assert list(frame.columns) == ["time", "power"]
    np.testing.assert_array_equal(as_data(frame).column("power"), data.column("power"))


def test_data_does_not_load_pandas() -> None:
    code = (
        "import sys, estimica.data.table, estimica.data.readers; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
