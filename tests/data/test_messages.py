"""What is told of wrong data, word for word: the table is messages.toml, and `tests/messages.py`
says how it is renewed (`python -m tests.data.test_messages --renew`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from tests.data.analyser_files import BIOLOGIC, ZPLOT
from tests.messages import Messages, Provoke

from estimica.data.readers import as_data, read_data, read_signal
from estimica.data.requirements import cell_limit, require_cells
from estimica.data.table import Data
from estimica.data.writers import write_csv

FRAME = pd.DataFrame({"time [s]": [0.0, 1.0], "T [degC]": [20.0, 21.0]})


def file(
    content: str | bytes, name: str = "run.csv", use: Callable[[Data], object] = len, **options: Any
) -> Provoke:
    """Read a file of this content, and use the data."""

    def provoke(folder: Path) -> object:
        raw = content if isinstance(content, bytes) else content.encode("latin-1")
        (folder / name).write_bytes(raw)
        return use(read_data(folder / name, **options))

    return provoke


def read_with(text: str, **given: Any) -> Provoke:
    """Read a file with settings."""

    def provoke(folder: Path) -> object:
        (folder / "run.csv").write_text(text, encoding="utf-8")
        return read_data(folder / "run.csv", **given)

    return provoke


def column(name: str) -> Callable[[Data], object]:
    return lambda data: data.column(name)


def signal(text: str, name: str | None) -> Provoke:
    """Read one signal from a file of this text."""

    def provoke(folder: Path) -> object:
        (folder / "run.csv").write_text(text, encoding="utf-8")
        return read_signal(folder / "run.csv", name, prefer="u0")

    return provoke


def dates(*stamps: str) -> Provoke:
    """Read a column of dates as the time."""
    rows = "".join(f'"{s}";{k}\n' for k, s in enumerate(stamps))
    return file(f"time;T\n{rows}", use=Data.time)


def made(
    name: str, make: Callable[[Path], object], use: Callable[[Data], object] = len, **options: Any
) -> Provoke:
    """Read what `make` wrote."""

    def provoke(folder: Path) -> object:
        make(folder / name)
        return use(read_data(folder / name, **options))

    return provoke


def given(data: object) -> Provoke:
    return lambda _: as_data(data)  # type: ignore[arg-type]


def without(module: str, provoke: Provoke) -> Provoke:
    """The same where a library is missing."""

    def missing(folder: Path) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            return provoke(folder)

    return missing


def replaced(owner: object, name: str, error: BaseException, provoke: Provoke) -> Provoke:
    """The same where a call fails."""

    def fail(*_: object, **__: object) -> None:
        raise error

    def failing(folder: Path) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, fail)
            return provoke(folder)

    return failing


def limited(limit: str, provoke: Provoke) -> Provoke:
    """The same with a limit of cells."""

    def with_limit(folder: Path) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ESTIMICA_MAX_CELLS", limit)
            return provoke(folder)

    return with_limit


def book(path: Path) -> None:
    with pd.ExcelWriter(path) as sheets:
        pd.DataFrame({"note": ["only", "words"]}).to_excel(sheets, sheet_name="about", index=False)
        FRAME.to_excel(sheets, sheet_name="run 1", index=False)


def book_with_a_word(path: Path) -> None:
    rows = [["t", "p"], ["s", "mbar"], [0, 1], [1, 2], [2, "bad"], [3, 4]]
    pd.DataFrame(rows).to_excel(path, index=False, header=False)


def half_a_result(path: Path) -> None:
    kind = [text.ljust(11) for text in ("Atrajectory", "1.1", "", "binNormal")]
    savemat(path, {"Aclass": kind, "name": ["time"]}, format="4")


def close_name(folder: Path) -> object:
    (folder / "run1.csv").write_text("t,a\n0,1\n", encoding="utf-8")
    return read_data(folder / "rum1.csv")


TANK = Data(
    "run1.csv",
    {"time": np.array([0.0, 1.0]), "power": np.array([1.0, np.nan])},
    units={"power": "W"},
    texts={"mode": "'heat' in line 2"},
)
FALLING = Data("a.csv", {"T": np.array([5.0, 4.0]), "u": np.array([1.0, 2.0])})
RISING = Data("a.csv", {"x": np.array([1.0, 2.0]), "u": np.array([5.0, 5.0])})
WORDS = Data("a.csv", {"x": np.array([1.0, 2.0])}, texts={"time": "'noon' in line 2"})
DATED = pd.Series([1.0], index=pd.to_datetime(["2026-11-15"]))
SMALL = "t,a\n0,1\n1,2\n"
NEW_MATLAB = b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n"

TEXTS: Mapping[str, Provoke] = {
    "an empty file": file(b""),
    "only empty lines": file("\n\n  \n"),
    "only comments": file("# only\n# comments\n"),
    "only a header": file("t,u\n"),
    "no numbers": file("t,u\nfoo,bar\nbaz,qux\n"),
    "zero bytes": file(b"\x00\x01\x02\xff" * 50),
    "one column": file("T\n1\n2\n3\n"),
    "a row with more cells": file("t,a\n0,1\n1,2,3\n2,3\n"),
    "a header with fewer cells": file("t,a\n0,1,2\n1,2,3\n"),
    "a row with fewer cells among blanks": file("t a b\n0 1 2\n1 2\n2 3 4\n"),
    "an open quote": file('t,a\n0,1\n1,"2\n2,3\n'),
    "a first row that is half text": file("t,u\nx0,5\n1,6\n2,7\n", use=column("t")),
    "a column of words": file("t,mode,a\n0,heat,1\n1,cool,2\n", use=column("mode")),
    "a word below comments and empty lines": file(
        "# one\n\nt,a\n0,1\n\n# two\n1,bad\n2,3\n", use=column("a")
    ),
    "a file that is forbidden": replaced(
        os, "open", PermissionError(13, os.strerror(13)), file(SMALL)
    ),
    "a file larger than the memory": replaced(
        pd, "read_csv", MemoryError(), file("t,y\n0,1\n12,\n")
    ),
} | {
    f"{cell} among numbers": file(f"t,y\n0,1\n1,2\n2,3\n3,{cell}\n4,5\n5,6\n6,8\n", use=column("y"))
    for cell in ("#DIV/0!", "1.5e", "12 V", "error", "1;5")
}

PLACES: Mapping[str, Provoke] = {
    "no such file": lambda folder: read_data(folder / "none.csv"),
    "no such file of an unknown ending": lambda folder: read_data(folder / "none.pdf"),
    "no such Parquet file": lambda folder: read_data(folder / "a.parquet"),
    "no such workbook": lambda folder: read_data(folder / "a.xlsx"),
    "no such MATLAB file": lambda folder: read_data(folder / "a.mat"),
    "a file of a close name": close_name,
    "a folder": read_data,
    "an unknown ending": file("x", "run.pdf"),
    "a folder to write into that is missing": lambda folder: write_csv(
        folder / "no" / "out.csv", {"t": [0.0]}
    ),
    "a folder to write to": lambda folder: write_csv(folder, {"t": [0.0]}),
    "columns to write that differ in length": lambda folder: write_csv(
        folder / "out.csv", {"a": [0.0], "b": [0.0, 1.0]}
    ),
}

DATES: Mapping[str, Provoke] = {
    "a word among dates": dates("2026-11-15 06:00", "2026-11-15 06:01", "noon"),
    "a day that is not in the calendar": dates("15.11.2026 06:00", "32.11.2026 06:00"),
    "day or month first": dates("03/04/2026 06:00", "04/04/2026 06:00"),
    "a date among numbers": dates("12", "13", "2026-11-15"),
    "a date with a word behind": dates("2026-11-15T06:00Z", "2026-11-15 06:00 here"),
}

COLUMNS: Mapping[str, Provoke] = {
    "a misspelt column": lambda _: TANK.column("pwer"),
    "a column with its unit": lambda _: TANK.column("power [W]"),
    "an unknown column": lambda _: TANK.column("x"),
    "an unknown column of time": lambda _: RISING.time("v"),
    "no column of time": lambda _: FALLING.time(),
    "a column of time with words": lambda _: WORDS.time(),
    "columns of different length": lambda _: Data("table", {"a": np.zeros(2), "b": np.zeros(3)}),
    "a misspelt signal": signal("t,power,u\n0,1,2\n", "pwer"),
    "several columns for a signal": signal("t,a,b\n0,1,2\n", None),
    "a signal without rows": signal("t,u\n", None),
    "a signal of words": signal("t,u\n0,high\n", "u"),
    "a signal of an empty file": signal("", None),
}

OBJECTS: Mapping[str, Provoke] = {
    "a number": given(3.0),
    "an empty mapping": given({}),
    "lists of different length": given({"a": [1.0, 2.0], "b": [1.0]}),
    "a mapping with a number": given({"a": 1.0}),
    "a mapping with a matrix": given({"a": [[1.0, 2.0]]}),
    "a mapping with words": given({"a": ["x", "y"]}),
    "more stamps than values": given({"a": ([0.0, 1.0], [1.0])}),
    "a missing stamp": given({"a": ([0.0, np.nan], [1.0, 2.0])}),
    "stamps for one of two": given({"a": ([0.0], [1.0]), "b": [1.0]}),
    "dates and numbers as stamps": given({"a": DATED, "b": ([0.0], [1.0])}),
    "a word in a frame": lambda _: as_data(pd.DataFrame({"t": [0, 1], "mode": ["a", "b"]})).column(
        "mode"
    ),
}

ANALYSERS: Mapping[str, Provoke] = {
    "ZPlot with three columns": file("x\nEnd Comments\n1 2 3\n", "a.z"),
    "ZPlot without rows": file("x\nEnd Comments\n", "a.z"),
    "ZPlot with a short row": file(ZPLOT + "1.0E+01 1.0E-02\n", "a.z"),
    "ZPlot with a word": file(ZPLOT.replace("3.28E+00", "3.2x"), "a.z"),
    "EC-Lab without its number of lines": file("EC-Lab ASCII FILE\nno number\n", "a.mpt"),
    "EC-Lab without a real part": file(BIOLOGIC.replace("Re(Z)", "Ewe"), "a.mpt"),
    "Gamry without an impedance": file("EXPLAIN\nTAG\tCV\n", "a.DTA"),
}

BINARY: Mapping[str, Provoke] = {
    "an unknown sheet": made("a.xlsx", book, sheet="run1"),
    "a sheet of words": made("a.xlsx", book, sheet="about"),
    "a word in a sheet": made("a.xlsx", book_with_a_word, use=column("p")),
    "half a simulation result": made("half.mat", half_a_result),
    "pyarrow is missing": without("pyarrow", file(SMALL, "a.parquet")),
    "openpyxl is missing": without("openpyxl", file(SMALL, "a.xlsx")),
    "h5py is missing": without("h5py", file(NEW_MATLAB, "a.mat")),
    "xlrd is missing": without(
        "xlrd", file(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "a.xls")
    ),
    "a Parquet file without rows": made("a.parquet", FRAME.head(0).to_parquet),
    "a workbook without numbers": made(
        "a.xlsx", lambda path: FRAME.head(0).to_excel(path, index=False)
    ),
    "a MATLAB file without vectors": made("a.mat", lambda path: savemat(path, {"word": "x"})),
    "a Parquet file that its library cannot follow": replaced(
        pd,
        "read_parquet",
        TypeError("data type 'float.4' not understood"),
        made("run.parquet", FRAME.to_parquet),
    ),
}

LIMITS: Mapping[str, Provoke] = {
    "more cells than are read": lambda _: require_cells("a.parquet", 10_000_000, 20),
    "a file of more cells than are read": limited("3000", file("t,y\n" + "1,2\n" * 2000)),
} | {
    f"a limit of {limit}": limited(limit, lambda _: cell_limit())
    for limit in ("many", "0", "-3", "nan", "inf", "1e400")
}

DOUBLED = "time,y\n0,1\n1,2\n1,3\n2,4\n"
SETTINGS: Mapping[str, Provoke] = {
    "an unknown kind of dates": read_with(DOUBLED, dates="dayfirst"),
    "more bad cells than all": read_with(DOUBLED, bad_cells=5.0),
    "one sign for thousands and decimals": read_with(DOUBLED, thousands=",", decimal=","),
    "an unknown time zone": read_with(DOUBLED, timezone="Europe/Belin"),
    "stamps that come twice": read_with(DOUBLED, duplicates="error"),
    "a clock that is not there": read_with("time,y\n0,1\n1,2\n", clock="Uhrzeit"),
    "a clock without dates": read_with("time,clock\n0,06:00\n1,06:10\n", clock="clock"),
}
MISTAKES: Mapping[str, Provoke] = {
    **SETTINGS, **TEXTS, **PLACES, **DATES, **COLUMNS, **OBJECTS, **ANALYSERS, **BINARY, **LIMITS,
}  # fmt: skip
MESSAGES = Messages(__file__, MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_as_the_table_says(mistake: str, tmp_path: Path) -> None:
    assert MESSAGES.told(mistake, tmp_path) == MESSAGES.table[mistake]


def test_the_table_holds_these_mistakes_and_no_others() -> None:
    assert set(MESSAGES.table) == set(MISTAKES)


if __name__ == "__main__":
    MESSAGES.main()
