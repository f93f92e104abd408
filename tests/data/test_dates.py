"""Time stamps as dates: seconds since the first one, its instant kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estimica.data.readers import as_data, read_data
from estimica.data.table import Data


def read(folder: Path, *stamps: str, name: str = "time") -> Data:
    path = folder / "run.csv"
    rows = "".join(f'"{s}";{k}\n' for k, s in enumerate(stamps))
    path.write_text(f"{name};T\n{rows}", encoding="utf-8")
    return read_data(path)


@pytest.mark.parametrize(
    ("first", "second", "origin", "seconds"),
    [
        ("2026-11-15T06:00:00", "2026-11-15T06:01:00", "2026-11-15T06:00:00", 60.0),
        ("2026-11-15 06:00", "2026-11-15 06:01", "2026-11-15T06:00:00", 60.0),
        ("2026-11-15", "2026-11-16", "2026-11-15T00:00:00", 86400.0),
        ("2026/11/15 06:00", "2026/11/15 06:01", "2026-11-15T06:00:00", 60.0),
        ("2026-11-15 06:00:00.25", "2026-11-15 06:00:01", "2026-11-15T06:00:00.250000", 0.75),
        ("2026-11-15T06:00:00Z", "2026-11-15T06:01:00Z", "2026-11-15T06:00:00+00:00", 60.0),
        (
            "2026-10-25T02:30:00+02:00",
            "2026-10-25T02:30:00+01:00",
            "2026-10-25T02:30:00+02:00",
            3600.0,
        ),
        ("15.11.2026 06:00", "15.11.2026 06:01", "2026-11-15T06:00:00", 60.0),
        ("5.1.2026 6:00:00", "5.1.2026 6:00:01", "2026-01-05T06:00:00", 1.0),
        ("15.11.2026 06:00:00,5", "15.11.2026 06:00:01,0", "2026-11-15T06:00:00.500000", 0.5),
        ("15.11.26, 06:00", "15.11.26, 06:01", "2026-11-15T06:00:00", 60.0),
        ("11/15/2026 6:00 PM", "11/15/2026 6:01 PM", "2026-11-15T18:00:00", 60.0),
        ("15/11/2026 06:00", "15/11/2026 06:01", "2026-11-15T06:00:00", 60.0),
    ],
)
def test_dates_become_seconds_since_the_first(
    tmp_path: Path, first: str, second: str, origin: str, seconds: float
) -> None:
    data = read(tmp_path, first, second)
    assert data.time().tolist() == [0.0, seconds]
    assert data.origins == {"time": origin}
    assert f"0 s is {origin}" in repr(data)


def test_date_that_is_missing_is_not_a_number(tmp_path: Path) -> None:
    time = read(tmp_path, "2026-11-15 06:00", "", "2026-11-15 06:02").time()
    assert np.isnan(time[1])
    assert time[[0, 2]].tolist() == [0.0, 120.0]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_dates_are_the_time(zone: str | None, unit: str) -> None:
    import pandas as pd

    index = pd.date_range("2026-03-29 00:30", periods=4, freq="30min", tz=zone, unit=unit)
    data = as_data(pd.DataFrame({"T": [1.0, 2, 3, 4]}, index=index))
    assert data.names == ("time", "T")
    assert data.time().tolist() == [0.0, 1800.0, 3600.0, 5400.0]
    assert data.origins["time"] == index[0].isoformat()


def test_seconds_of_a_century_are_exact() -> None:
    import pandas as pd

    stamps = pd.Series(pd.to_datetime(["1900-01-01", "2026-11-15T00:00:00.125"], format="ISO8601"))
    data = as_data(pd.DataFrame({"date": stamps, "x": [1.0, 2.0]}))
    assert data.time()[1] == (stamps[1] - stamps[0]) / pd.Timedelta(seconds=1)
