"""Tables in text files: separators, decimal signs, headers, units, comments and what is amiss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estimica.base.errors import DataError
from estimica.data.readers import read_data
from estimica.data.table import Data


def read(folder: Path, text: str | bytes, name: str = "run.csv", **options: str) -> Data:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_data(path, **options)  # type: ignore[arg-type]


def table(data: Data) -> list[list[float]]:
    return np.column_stack(list(data.columns.values())).tolist()


EXPECTED = [[0.0, 1.5, -2.0], [0.5, 2.5, 3e-3], [1.0, 3.25, 4e5]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", [True, False])
def test_separator_and_line_ends_are_found_out(
    tmp_path: Path, separator: str, ends: str, header: bool
) -> None:
    rows = [["t", "a", "b"]] if header else []
    rows += [["0", "1.5", "-2"], ["0.5", "2.5", "3e-3"], ["1", "3.25", "4E5"]]
    data = read(tmp_path, ends.join(separator.join(row) for row in rows))
    assert table(data) == EXPECTED
    assert data.names == (("t", "a", "b") if header else ("column 1", "column 2", "column 3"))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_comma_is_found_out(tmp_path: Path, separator: str) -> None:
    rows = [["t", "a", "b"], ["0", "1,5", "-2"], ["0,5", "2,5", "3e-3"], ["1", "3,25", "4E5"]]
    assert table(read(tmp_path, "\n".join(separator.join(row) for row in rows))) == EXPECTED


def test_decimal_comma_beyond_the_sample_is_found_out(tmp_path: Path) -> None:
    text = "t;a\n" + "".join(f"{k};1\n" for k in range(20_000)) + "20000;1,5\n"
    assert read(tmp_path, text).column("a")[-1] == 1.5


def test_what_the_user_says_about_separator_and_decimal_holds(tmp_path: Path) -> None:
    data = read(tmp_path, "t:a\n0:1,5\n1:2,5\n", separator=":", decimal=",")
    assert data.column("a").tolist() == [1.5, 2.5]
    assert read(tmp_path, "t a\n0 1\n1 2\n", separator=" ").column("a").tolist() == [1.0, 2.0]


def test_excels_own_line_about_the_separator_is_obeyed(tmp_path: Path) -> None:
    assert read(tmp_path, "sep=;\nt;a\n0;1\n1;2\n").names == ("t", "a")


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("T [degC]", "T", "degC"),
        ("T[degC]", "T", "degC"),
        ("T (degC)", "T", "degC"),
        ("T / degC", "T", "degC"),
        ("m flow [kg/s]", "m flow", "kg/s"),
        ("ratio [-]", "ratio", "1"),
        ("U (W/(m2.K))", "U", "W/(m2.K)"),
        ("x[1]", "x[1]", ""),
        ("x[1] [m]", "x[1]", "m"),
        ("R[1,2]", "R[1,2]", ""),
        ("der(x)", "der(x)", ""),
        ("der(x) [m/s]", "der(x)", "m/s"),
        ("a/b", "a/b", ""),
        ("T (2)", "T (2)", ""),
    ],
)
def test_headers_name_units(tmp_path: Path, header: str, name: str, unit: str) -> None:
    data = read(tmp_path, f'time,"{header}"\n0,1\n1,2\n')
    assert data.names == ("time", name)
    assert data.units.get(name, "") == unit


def test_second_row_of_units_is_understood(tmp_path: Path) -> None:
    data = read(tmp_path, "Zeit;T;p;x\ns;°C;mbar;-\n0;1,5;2;3\n1;2,5;3;4\n")
    assert data.names == ("Zeit", "T", "p", "x")
    assert data.units == {"Zeit": "s", "T": "°C", "p": "mbar", "x": "1"}
    assert data.time().tolist() == [0.0, 1.0]


def test_units_in_brackets_of_any_kind_are_a_row_of_units(tmp_path: Path) -> None:
    data = read(tmp_path, "t,a\n[s],[furlong]\n0,1\n1,2\n")
    assert data.units == {"t": "s", "a": "furlong"}


def test_first_row_of_data_that_is_half_text_is_no_header(tmp_path: Path) -> None:
    data = read(tmp_path, "t,u\nx0,5\n1,6\n2,7\n")
    assert data.column("u").tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(DataError, match="D006"):
        data.column("t")


@pytest.mark.parametrize("mark", ["#", "%", "//"])
def test_comments_are_skipped_above_and_between(tmp_path: Path, mark: str) -> None:
    text = f"{mark} made by hand, 1, 2\nt,a\n{mark} first\n0,1\n\n{mark} odd, one, out\n1,2\n"
    assert table(read(tmp_path, text)) == [[0.0, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize("mark", ["#", "%", "//"])
def test_comments_beyond_the_sample_are_skipped(tmp_path: Path, mark: str) -> None:
    rows = "".join(f"{k},1\n" for k in range(20_000))
    for comment in ("one", "one, two, three"):
        data = read(tmp_path, f"t,a\n{rows}{mark} {comment}\n20000,2\n")
        assert len(data) == 20_001
        assert data.column("a")[-1] == 2.0


def test_percent_and_hash_in_headers_and_cells_are_no_comments(tmp_path: Path) -> None:
    data = read(tmp_path, "t,valve (%),n [#]\n0,1,#N/A\n1,2,3\n")
    assert data.names == ("t", "valve", "n")
    assert data.units == {"valve": "%", "n": "#"}
    assert np.isnan(data.column("n")[0])
    assert data.column("n")[1] == 3.0


def test_header_in_a_comment_is_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.txt"
    np.savetxt(path, [[0, 1], [1, 2]], header="made by numpy\ntime T")
    assert read_data(path).names == ("time", "T")


def test_preamble_is_skipped_and_said(tmp_path: Path) -> None:
    text = "Bench 3\nOperator;Smith\nVersion;1.2\n\nt [s];T [degC]\n0;20,5\n1;21,5\n"
    data = read(tmp_path, text)
    assert data.names == ("t", "T")
    assert table(data) == [[0.0, 20.5], [1.0, 21.5]]
    assert "3 lines above the table are skipped" in repr(data)


def test_header_with_units_among_blanks(tmp_path: Path) -> None:
    data = read(tmp_path, "time [s]   T [degC]\n 0.0   20\n 1.0   21\n", "run.dat")
    assert data.names == ("time", "T")
    assert data.units == {"time": "s", "T": "degC"}


@pytest.mark.parametrize(
    "cell", ["", " ", "NaN", "nan", "NA", "-", " - ", "--", "N/A", "null", '""']
)
def test_what_means_not_sampled(tmp_path: Path, cell: str) -> None:
    data = read(tmp_path, f"t,a,b\n0,1,1\n1,{cell},2\n2,3,3\n")
    assert np.isnan(data.column("a")[1])
    assert data.column("a")[[0, 2]].tolist() == [1.0, 3.0]


def test_quotes_marks_and_other_encodings(tmp_path: Path) -> None:
    text = '"t, in s","Tür [°C]"\n"0","1.5"\n1,2\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        data = read(tmp_path, text.encode(encoding))
        assert data.names == ("t, in s", "Tür")
        assert data.units == {"Tür": "°C"}
        assert table(data) == [[0.0, 1.5], [1.0, 2.0]]


def test_byte_order_mark_of_a_file_without_header(tmp_path: Path) -> None:
    assert table(read(tmp_path, b"\xef\xbb\xbf0,1\n1,2\n")) == [[0.0, 1.0], [1.0, 2.0]]


def test_foreign_letters_beyond_the_sample(tmp_path: Path) -> None:
    rows = "".join(f"{k},1,x\n" for k in range(20_000))
    data = read(tmp_path, f"t,a,b\n{rows}20000,2,\xe4\n".encode("latin-1"))
    assert data.column("a")[-1] == 2.0


def test_doubled_names_are_made_unique_and_said(tmp_path: Path) -> None:
    data = read(tmp_path, "t,T [degC],T [K],T\n0,1,2,3\n1,2,3,4\n")
    assert data.names == ("t", "T", "T (2)", "T (3)")
    assert data.units == {"T": "degC", "T (2)": "K"}
    assert "a second column 'T' is called 'T (2)'" in repr(data)


def test_separator_at_the_end_of_each_line_makes_no_column(tmp_path: Path) -> None:
    for header in ("t,a", "t,a,"):
        assert read(tmp_path, f"{header}\n0,1,\n1,2,\n").names == ("t", "a")
    assert read(tmp_path, "t,a,\n0,1\n1,2\n").names == ("t", "a")


def test_unnamed_column_with_numbers_gets_a_name(tmp_path: Path) -> None:
    assert read(tmp_path, "t,,b\n0,1,2\n1,2,3\n").names == ("t", "column 2", "b")


def test_rows_of_nothing_at_the_end_are_dropped(tmp_path: Path) -> None:
    assert len(read(tmp_path, "t,a\n0,1\n1,2\n,\n,\n\n")) == 2


def test_names_that_are_numbers(tmp_path: Path) -> None:
    assert read(tmp_path, "time,1,2\n0,5,6\n1,7,8\n").names == ("time", "1", "2")


def test_truth_values_are_numbers(tmp_path: Path) -> None:
    assert read(tmp_path, "t,on\n0,true\n1,false\n").column("on").tolist() == [1.0, 0.0]


def test_text_columns_hurt_only_when_used(tmp_path: Path) -> None:
    data = read(tmp_path, "t,mode,a\n0,heat,1\n1,cool,2\n")
    assert data.names == ("t", "a")
    with pytest.raises(DataError, match="D006"):
        data.column("mode")


def test_openmodelica_csv_result(tmp_path: Path) -> None:
    data = read(tmp_path, '"time","body.r[1]","der(x)"\n0,1,2\n0.5,3,4\n0.5,5,6\n')
    assert data.names == ("time", "body.r[1]", "der(x)")
    assert data.time().tolist() == [0.0, 0.5, 0.5]
