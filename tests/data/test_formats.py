"""Parquet, Excel, MATLAB and simulation results: what was written is read back exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from estimica.base.errors import DataError
from estimica.data.readers import read_data
from estimica.data.writers import write_csv

RNG = np.random.default_rng(3)
TIME = np.arange(7) / 4
T = RNG.normal(size=7).round(12)  # Excel keeps 15 to 16 digits
P = np.where(np.arange(7) == 2, np.nan, RNG.normal(size=7).round(12))
FRAME = pd.DataFrame({"time [s]": TIME, "T [degC]": T, "p": P})


def agrees(path: Path, **options: Any) -> None:
    data = read_data(path, **options)
    assert data.names == ("time", "T", "p")
    for name, expected in (("time", TIME), ("T", T), ("p", P)):
        np.testing.assert_array_equal(data.column(name), expected)


def test_csv_writer_is_read_back_to_the_last_bit(tmp_path: Path) -> None:
    hard = {
        "t": np.arange(6.0),
        "x": np.array([0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, np.nan]),
        "x[1]": np.array([np.inf, -np.inf, 2.0**53 + 2, np.pi, 1e-300, 1.0]),
        "der(x)": RNG.normal(size=6),
        "a, b": RNG.normal(size=6),
        "odd [K]": RNG.normal(size=6),
    }
    path = write_csv(tmp_path / "out.csv", hard, units={"x": "m", "der(x)": "m/s", "t": "s"})
    assert path.read_text().splitlines()[0] == 't [s],x [m],x[1],der(x) [m/s],"a, b",odd [K] []'
    data = read_data(path)
    assert data.names == tuple(hard)
    assert data.units == {"t": "s", "x": "m", "der(x)": "m/s"}
    for name, values in hard.items():
        np.testing.assert_array_equal(data.column(name), values)
        np.testing.assert_array_equal(np.signbit(data.column(name)), np.signbit(values))


def test_csv_of_random_bits_is_read_back_exactly(tmp_path: Path) -> None:
    bits = RNG.integers(0, 2**64, size=20_000, dtype=np.uint64).view(np.float64)
    columns = {"t": np.arange(20_000.0), "x": np.where(np.isfinite(bits), bits, 0.0)}
    data = read_data(write_csv(tmp_path / "bits.csv", columns))
    np.testing.assert_array_equal(data.column("x"), columns["x"])


def test_parquet_with_and_without_index(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "a.parquet")
    agrees(tmp_path / "a.parquet")
    FRAME.rename(columns={"time [s]": "time"}).set_index("time").to_parquet(tmp_path / "b.parquet")
    agrees(tmp_path / "b.parquet")


@pytest.mark.parametrize("above", [0, 3])
def test_excel_sheets(tmp_path: Path, above: int) -> None:
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["only", "words"]}).to_excel(book, sheet_name="about", index=False)
        FRAME.to_excel(book, sheet_name="run 1", index=False, startrow=above, startcol=above)
        (2 * FRAME).to_excel(book, sheet_name="run 2", index=False)
    agrees(path)
    agrees(path, sheet="run 1")
    agrees(path, sheet=2)
    np.testing.assert_array_equal(read_data(path, sheet="run 2").column("T"), 2 * T)


def test_excel_dates_units_and_strange_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    stamps = pd.date_range("2026-11-15 06:00", periods=4, freq="90s")
    rows = [["Date", "T", "p"], ["", "degC", "mbar"]]
    rows += [[s.to_pydatetime(), k, "bad" if k == 2 else k] for k, s in enumerate(stamps)]
    pd.DataFrame(rows).to_excel(path, index=False, header=False)
    data = read_data(path)
    assert data.units == {"T": "degC", "p": "mbar"}
    assert data.time().tolist() == [0.0, 90.0, 180.0, 270.0]
    assert data.origins == {"Date": "2026-11-15T06:00:00"}
    with pytest.raises(DataError, match="D006"):
        data.column("p")


def test_matlab_vectors_matrices_structs_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    matrix = RNG.normal(size=(7, 2))
    savemat(
        path,
        {
            "t": TIME[:, None],
            "row": T[None, :],
            "Y": matrix,
            "Z": matrix.T,
            "s": {"p": P, "deep": {"n": np.arange(7, dtype=np.int16)}},
            "Ts": 4.0,
            "other": np.arange(3.0),
            "name": "words",
            "cell": np.array([1.0, "a"], dtype=object),
        },
        oned_as="column",
    )
    data = read_data(path)
    assert data.names == ("t", "row", "Y[1]", "Y[2]", "Z[1]", "Z[2]", "s.p", "s.deep.n")
    assert data.constants == {"Ts": 4.0}
    assert "'other' (3×1) is left out: it has not 7 rows" in data.notes
    np.testing.assert_array_equal(data.time(), TIME)
    np.testing.assert_array_equal(data.column("row"), T)
    for name in ("Y", "Z"):
        np.testing.assert_array_equal(data.column(f"{name}[2]"), matrix[:, 1])
    np.testing.assert_array_equal(data.column("s.p"), P)
    np.testing.assert_array_equal(data.column("s.deep.n"), np.arange(7.0))


def write_new_matlab(path: Path) -> None:
    """As MATLAB writes `save -v7.3`: HDF5 behind 512 bytes of text, matrices transposed."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        file["time"] = TIME[None, :]
        file["Y"] = np.column_stack([T, P]).T
        file["s/n"] = np.arange(7, dtype=np.int32)[:, None]
        file["Ts"] = np.array([[4.0]])
        file["word"] = np.array([[104], [105]], dtype=np.uint16)
        file["word"].attrs["MATLAB_class"] = np.bytes_("char")
        file["#refs#/a"] = np.arange(7.0)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128))


def test_new_matlab_files(tmp_path: Path) -> None:
    write_new_matlab(tmp_path / "a.mat")
    data = read_data(tmp_path / "a.mat")
    assert set(data.names) == {"time", "Y[1]", "Y[2]", "s.n"}
    assert data.constants == {"Ts": 4.0}
    np.testing.assert_array_equal(data.time(), TIME)
    np.testing.assert_array_equal(data.column("Y[1]"), T)
    np.testing.assert_array_equal(data.column("Y[2]"), P)
    np.testing.assert_array_equal(data.column("s.n"), np.arange(7.0))


RESULT = [  # name, description, block, column
    ("time", "Simulation time [s]", 0, 1),
    ("x", "Position [m]", 2, 2),
    ("der(x)", "Speed [m/s|km/h]", 2, 3),
    ("k", "Gain", 1, 2),
    ("minus_k", "", 1, -2),
    ("body.r[1]", "[m]", 2, 2),
    ("x_back", "", 2, -2),
]


def characters(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [t.ljust(width) for t in texts]


def turned(texts: list[str]) -> list[str]:
    """The lines of the transposed matrix of characters."""
    return ["".join(column) for column in zip(*characters(texts), strict=True)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_simulation_results_of_dymola_and_openmodelica(
    tmp_path: Path, transposed: bool, kind: type
) -> None:
    info = np.array([[block, column, 0, -1] for _, _, block, column in RESULT], np.int32)
    constants = np.array([[0.0, 2.5], [2.0, 2.5]], kind)
    table = np.column_stack([TIME, T, -T]).astype(kind)
    names, about = [r[0] for r in RESULT], [r[1] for r in RESULT]
    write: Callable[[list[str]], list[str]] = turned if transposed else characters
    savemat(
        tmp_path / "Pendulum_res.mat",
        {
            "Aclass": characters(
                ["Atrajectory", "1.1", "", "binTrans" if transposed else "binNormal"]
            ),
            "name": write(names),
            "description": write(about),
            "dataInfo": info.T if transposed else info,
            "data_1": constants.T if transposed else constants,
            "data_2": table.T if transposed else table,
        },
        format="4",
    )
    data = read_data(tmp_path / "Pendulum_res.mat")
    assert data.names == ("time", "x", "der(x)", "body.r[1]", "x_back")
    assert data.constants == {"k": 2.5, "minus_k": -2.5}
    assert data.units == {"time": "s", "x": "m", "der(x)": "m/s", "body.r[1]": "m"}
    np.testing.assert_array_equal(data.time(), TIME.astype(kind))
    np.testing.assert_array_equal(data.column("x"), T.astype(kind))
    np.testing.assert_array_equal(data.column("x_back"), -T.astype(kind))
    assert np.shares_memory(data.column("x"), data.column("body.r[1]"))


def test_result_of_plotted_variables_only(tmp_path: Path) -> None:
    savemat(
        tmp_path / "plot.mat",
        {
            "Aclass": characters(["Atrajectory", "1.0", "", "binNormal"]),
            "names": characters(["Time", "x"]),
            "data": np.column_stack([TIME, T]),
        },
        format="4",
    )
    data = read_data(tmp_path / "plot.mat")
    np.testing.assert_array_equal(data.column("x"), T)
    assert data.time_name() == "time"


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx", "a.mat"])
def test_files_that_are_not_what_they_seem(tmp_path: Path, name: str) -> None:
    for content in (b"", b"t,a\n0,1\n", bytes(range(256)) * 8):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=rf"D002: cannot read '.*{name}'"):
            read_data(tmp_path / name)
