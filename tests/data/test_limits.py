"""Small files with large tables are refused before they fill the memory, whatever they say."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from estimica.base.errors import DataError
from estimica.data.readers import read_data
from estimica.data.requirements import require_cells
from estimica.study.file.read import examine_file

h5py = pytest.importorskip("h5py")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
openpyxl = pytest.importorskip("openpyxl")

SHEET = "xl/worksheets/sheet1.xml"
BEGIN = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
END = "</sheetData></worksheet>"


def _book(path: Path, parts: dict[str, str]) -> None:
    """A workbook of which some parts are replaced."""
    whole = openpyxl.Workbook()
    whole.active.append(["t", "y"])
    plain = path.with_suffix(".plain")
    whole.save(plain)
    with (
        zipfile.ZipFile(plain) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in {*old.namelist(), *parts}:
            new.writestr(name, parts[name] if name in parts else old.read(name))


def _cell(place: str) -> str:
    return f'<c r="{place}"><v>1</v></c>'


def _far_corner(path: Path) -> None:
    far = f'<row r="1048576">{_cell("XFD1048576")}</row>'
    _book(path, {SHEET: f'{BEGIN}<row r="1">{_cell("A1")}</row>{far}{END}'})


def _far_row(path: Path) -> None:
    far = f'<row r="999999999">{_cell("A999999999")}</row>'
    _book(path, {SHEET: f'{BEGIN}<row r="1">{_cell("A1")}</row>{far}{END}'})


def _empty_cells(path: Path) -> None:
    rows = "".join(f'<row r="{k}"><c r="XFD{k}" s="0"/></row>' for k in range(1, 20_000))
    _book(path, {SHEET: BEGIN + rows + END})


def _many_cells(path: Path) -> None:
    _book(path, {SHEET: BEGIN + ("<row>" + "<c><v>1</v></c>" * 1000 + "</row>") * 11_000 + END})


def _many_texts(path: Path) -> None:
    texts = "<si><t>abcdefgh</t></si>" * 2_000_000
    _book(path, {"xl/sharedStrings.xml": f"<sst>{texts}</sst>"})


def _entities(path: Path) -> None:
    more = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 9))
    head = f'<!DOCTYPE x [<!ENTITY e0 "{"x" * 1000}">{more}]>'
    text = '<row><c t="inlineStr"><is><t>&e8;</t></is></c></row>'
    _book(path, {SHEET: head + BEGIN + text + END})


def _many_rows(path: Path) -> None:
    zeros = pa.array(np.zeros(6_000_000))
    pq.write_table(pa.table({f"c{k}": zeros for k in range(10)}), path, compression="zstd")


def _long_text(path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), ["x" * 100_000])
    table = pa.table({"time": np.arange(200_000.0), "a": texts})
    pq.write_table(table, path, store_schema=False)


def _packed_zeros(path: Path) -> None:
    scipy.io.savemat(path, {"t": np.zeros(60_000_000, np.uint8)}, do_compression=True)


def _zeros_in_a_struct(path: Path) -> None:
    inner = {"t": np.zeros(60_000_000, np.uint8)}
    scipy.io.savemat(path, {"s": {"inner": inner}}, do_compression=True)


def _nested_cells(path: Path) -> None:
    """Cell arrays in cell arrays, each a few bytes; the reader calls itself for each."""
    content = b""
    for k in range(20_000):
        head = struct.pack("<IIIIIIii", 6, 8, 1, 0, 5, 8, 1, 1)
        head += struct.pack("<HHI", 1, 1, 120) if k == 19_999 else struct.pack("<II", 1, 0)
        content = struct.pack("<II", 14, len(head) + len(content)) + head + content
    packed = zlib.compress(content)
    text = b"MATLAB 5.0 MAT-file".ljust(124, b"\0") + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(text + struct.pack("<II", 15, len(packed)) + packed)


def _unwritten_array(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("t", (10**6, 10**6), dtype="f8", chunks=(1000, 1000))


def _doubling_groups(path: Path) -> None:
    with h5py.File(path, "w") as file:
        group = file
        for _ in range(40):
            inner = group.create_group("a")
            group["b"], group = inner, inner


def _circle(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group("a")["b"] = h5py.SoftLink("/")


def _many_lines(path: Path) -> None:
    path.write_bytes(b"t,y,z\n" + b"1,,\n" * 17_000_000)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"t,y\n" + b"1,2\n" * 20_000)
        file.truncate(10**13)


BOMBS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "far corner": ("a.xlsx", _far_corner, "1048576 rows of 16384 columns"),
    "far row": ("a.xlsx", _far_row, "1048577 rows with"),
    "empty cells": ("a.xlsx", _empty_cells, "rows with .* cells, most of them empty"),
    "many cells": ("a.xlsx", _many_cells, "MB of content"),
    "many texts": ("a.xlsx", _many_texts, "unpacks to 48.* MB in .* parts besides its sheets"),
    "entities": ("a.xlsx", _entities, "its XML defines entities"),
    "many rows": ("a.parquet", _many_rows, "6000000 rows of 10 columns"),
    "long text": ("a.parquet", _long_text, "more than .* bytes of text in column 'a'"),
    "packed zeros": ("a.mat", _packed_zeros, "60000000 numbers"),
    "zeros in a struct": ("a.mat", _zeros_in_a_struct, "600000.. numbers"),
    "nested cells": ("a.mat", _nested_cells, "arrays within arrays, more than 64 deep"),
    "unwritten array": ("a.mat", _unwritten_array, r"1e\+12 numbers"),
    "doubling groups": ("a.mat", _doubling_groups, "the group '/.*' is reached twice"),
    "circle": ("a.mat", _circle, "the group '/a/b' is reached twice"),
    "many lines": ("a.csv", _many_lines, "17000001 rows of 3 columns"),
    "sparse file": ("a.csv", _sparse, "has 1e\\+04 GB, and at most 2 GB are read"),
    "sparse impedance": ("a.z", _sparse, "has 1e\\+04 GB, and at most 50 MB are read"),
}
#: take a second or more to make or to refuse
SLOW = {
    "many rows",
    "far corner",
    "far row",
    "empty cells",
    "many cells",
    "many texts",
    "many lines",
}
MEASURED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
from estimica.base.errors import DataError
from estimica.data.readers import read_data
import pandas
try:
    read_data(sys.argv[1])
except DataError as error:
    print(error)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(status["VmHWM"].split()[0])
"""


def _each() -> list[object]:
    return [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in BOMBS]


@pytest.mark.parametrize("bomb", _each())
def test_a_small_file_with_a_large_table_is_refused(bomb: str, tmp_path: Path) -> None:
    name, make, told = BOMBS[bomb]
    make(tmp_path / name)
    with pytest.raises(DataError, match=told) as error:
        read_data(tmp_path / name)
    assert str(tmp_path / name) in error.value.message  # which file it is


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts memory as Linux does")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_refused_table_takes_no_memory_and_no_time(bomb: str, tmp_path: Path) -> None:
    name, make, _ = BOMBS[bomb]
    make(tmp_path / name)

    command = [sys.executable, "-c", MEASURED, str(tmp_path / name)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("D0")
    # what it counts itself: ru_maxrss of a child begins with what the tests before have used here
    assert int(done.stdout.split()[-1]) < 1_000_000  # kB; 0.1 GB is Python with pandas


def test_the_message_says_how_to_raise_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"D021: .*ESTIMICA_MAX_CELLS=2\.2e\+08"):
        require_cells("a.parquet", 10_000_000, 20)
    monkeypatch.setenv("ESTIMICA_MAX_CELLS", "2.2e+08")
    require_cells("a.parquet", 10_000_000, 20)


FORMATS: dict[str, Callable[[Path], None]] = {
    "a.csv": lambda p: p.write_text("t,y\n" + "1,2\n" * 2000) and None,
    "a.parquet": lambda p: pq.write_table(pa.table({"t": np.arange(2e3), "y": np.arange(2e3)}), p),
    "a.mat": lambda p: scipy.io.savemat(p, {"t": np.arange(2e3), "y": np.arange(2e3)}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_raised_limit_reads_what_was_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FORMATS[name](tmp_path / name)
    monkeypatch.setenv("ESTIMICA_MAX_CELLS", "3000")
    with pytest.raises(DataError, match="D021"):
        read_data(tmp_path / name)
    monkeypatch.setenv("ESTIMICA_MAX_CELLS", "5000")
    assert len(read_data(tmp_path / name)) == 2000


def test_columns_of_lists_and_of_prefixed_texts_are_left_out(tmp_path: Path) -> None:
    columns = {"t": np.arange(3.0), "y": np.arange(3.0), "l": [[1.0]] * 3, "p": ["a", "ab", "abc"]}
    pq.write_table(
        pa.table(columns),
        tmp_path / "a.parquet",
        use_dictionary=False,
        column_encoding={"p": "DELTA_BYTE_ARRAY"},
    )
    data = read_data(tmp_path / "a.parquet")
    assert data.names == ("t", "y")
    assert data.notes[0] == "column 'l' is left out: it holds lists or tables"
    assert data.notes[1].startswith("column 'p' is left out: its texts are packed as DELTA_BYTE")


def test_the_tables_of_all_cases_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESTIMICA_MAX_CELLS", "5000")
    text = '[static]\nexpression = "a*t"\n[tune]\na = 1\n'
    for k in range(3):
        FORMATS["a.csv"](tmp_path / f"{k}.csv")
        text += f'[[case]]\nname = "{k}"\ndata = "{k}.csv"\ninputs = {{ t = "t" }}\n'
        text += 'outputs = { y = "y" }\n'
    (tmp_path / "a.toml").write_text(text)
    told = [p.text for p in examine_file(tmp_path / "a.toml").problems]
    assert len(told) == 2
    assert "8000 cells together with the tables of the cases before" in told[0]
