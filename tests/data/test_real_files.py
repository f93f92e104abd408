"""Measurements as people publish them: every reference file is read as it lies there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from estimica.data.readers import as_data, read_data

TEMPERATURES = (
    "Time",
    "Heater 1",
    "Heater 2",
    "Temperature 1",
    "Temperature 2",
    "Set Point 1",
    "Set Point 2",
)


@pytest.mark.parametrize(
    ("path", "names", "rows"),
    [
        ("cascaded_tanks/dataBenchmark.csv", ("uEst", "uVal", "yEst", "yVal", "Ts"), 1024),
        ("tclab/siso_step_test.csv", ("column 1", "column 2", "column 3"), 571),
        ("tclab/hybrid_mimo_data.txt", TEMPERATURES[:5], 201),
        ("tclab/mimo_energy_balance_data.txt", TEMPERATURES, 599),
        ("modestpy_2R1C/inputs.csv", ("time", "Ti1", "Ti2"), 3600),
        ("modestpy_2R1C/result.csv", ("time", "T"), 3600),
        ("aixcalibuha_pumpvalve/PumpAndValve.csv", ("t", "TPipe", "TCapacity"), 1001),
        ("parmest/reactor_data.csv", ("sv", "caf", "ca", "cb", "cc", "cd"), 19),
    ],
)
def test_reference_file_is_read(cases: Path, path: str, names: tuple[str, ...], rows: int) -> None:
    data = read_data(cases / path)
    assert data.names == names
    assert len(data) == rows
    assert not data.texts
    assert not data.notes
    skip = 0 if names[0] == "column 1" else 1
    expected = np.genfromtxt(cases / path, delimiter=",", skip_header=skip)[:, : len(names)]
    np.testing.assert_array_equal(np.column_stack(list(data.columns.values())), expected)


def test_cascaded_tanks_sample_period_stands_alone(cases: Path) -> None:
    data = read_data(cases / "cascaded_tanks" / "dataBenchmark.csv")
    period = data.column("Ts")
    assert period[0] == 4.0
    assert np.isnan(period[1:]).all()


def test_temperature_lab_units_and_time(cases: Path) -> None:
    data = read_data(cases / "tclab" / "mimo_energy_balance_data.txt")
    assert data.units["Temperature 1"] == "degC"
    assert data.units["Heater 2"] == "%"
    assert data.time_name() == "Time"
    assert read_data(cases / "tclab" / "siso_step_test.csv").time_name() == "column 1"


def test_semibatch_series_with_stamps_of_their_own(cases: Path) -> None:
    content = json.loads((cases / "parmest" / "semibatch" / "exp1.out").read_text())
    series = {name: s for name, s in content.items() if isinstance(s, dict)}
    data = as_data(series)
    stamps = sorted({float(t) for s in series.values() for t in s})
    assert data.time().tolist() == stamps
    for name, samples in series.items():
        column = data.column(name)
        there = ~np.isnan(column)
        found = dict(zip(data.time()[there], column[there], strict=True))
        assert found == {float(t): v for t, v in samples.items()}
