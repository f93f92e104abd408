"""Files of impedance analysers, and columns of complex numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimica.base.errors import DataError
from estimica.data.readers import as_data, read_data

ZPLOT = """ZPLOT2 ASCII
  Measured Data, ZPlot:       3.2c
  Date:                       10-12-2018
  Freq(Hz)	Ampl	Bias	Time(Sec)	Z'(a)	Z''(b)	GD	Err	Range
End Comments
1.0E+03	1.0E-02	0.0E+00	2.59E+00	2.9E+01	-6.3E-01	0.0E+00	0	4
1.0E+02	1.0E-02	0.0E+00	3.28E+00	3.1E+01	-3.4E+00	0.0E+00	0	4
"""
BIOLOGIC = """EC-Lab ASCII FILE
Nb header lines : 5

Potentio Electrochemical Impedance Spectroscopy
freq/Hz	Re(Z)/Ohm	-Im(Z)/Ohm	|Z|/Ohm	Phase(Z)/deg	time/s	cycle number
1,0E+003	2,9E+001	6,3E-001	2,9E+001	-1,2E+000	2,0E+000	1
1,0E+002	3,1E+001	3,4E+000	3,1E+001	-6,3E+000	3,0E+000	1
"""
GAMRY = """EXPLAIN
TAG	EISPOT
TITLE	LABEL	Potentiostatic EIS	Test &Identifier
ZCURVE	TABLE
	Pt	Time	Freq	Zreal	Zimag	Zsig	Zmod	Zphz	Idc	Vdc	IERange
	#	s	Hz	ohm	ohm	V	ohm	°	A	V	#
	0	2	1000	29	-0.63	1	29.0	-1.2	0.1	0.2	8
	1	4	100	31	-3.4	1	31.2	-6.3	0.1	0.2	8
"""


@pytest.mark.parametrize(("name", "text"), [("a.z", ZPLOT), ("a.mpt", BIOLOGIC), ("a.DTA", GAMRY)])
def test_analysers_files_have_frequency_and_both_parts(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="latin-1")
    data = read_data(path)
    assert data.column("frequency").tolist() == [1000, 100]
    assert data.column("Re(Z)").tolist() == [29, 31]
    assert data.column("Im(Z)").tolist() == [-0.63, -3.4]
    assert data.units["frequency"] == "Hz"
    assert data.units["Re(Z)"] == data.units["Im(Z)"] == "Ohm"


def test_a_plain_table_that_ends_in_z_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.z"
    path.write_text("f,re,im\n1,2,3\n10,3,4\n")
    assert read_data(path).names == ("f", "re", "im")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.z", "x\nEnd Comments\n1 2 3\n", "has 3 columns below 'End Comments'"),
        ("a.z", "x\nEnd Comments\n", "holds no rows below its header"),
        ("a.z", ZPLOT + "1.0E+01 1.0E-02\n", "line 8 has 2 cells, the first row 9"),
        ("a.z", ZPLOT.replace("3.28E+00", "3.2x"), "'3.2x' in line 7 is not a number"),
        ("a.mpt", "EC-Lab ASCII FILE\nno number\n", "does not say 'Nb header lines"),
        (
            "a.mpt",
            BIOLOGIC.replace("Re(Z)", "Ewe"),
            "has no column for Re(Z) (there are frequency, Ewe, Im(Z)",
        ),
        ("a.DTA", "EXPLAIN\nTAG\tCV\n", "has no table ZCURVE"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="latin-1")
    with pytest.raises(DataError) as caught:
        read_data(path)
    assert message in caught.value.message


def test_complex_cells_become_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("f [Hz],Z [Ohm]\n1,1.5-2j\n10,(1.2-1e-1j)\n100,1 + 0.5i\n")
    data = read_data(path)
    assert data.column("Re(Z)").tolist() == [1.5, 1.2, 1]
    assert data.column("Im(Z)").tolist() == [-2, -0.1, 0.5]
    assert data.units == {"f": "Hz", "Z": "Ohm", "Re(Z)": "Ohm", "Im(Z)": "Ohm"}


def test_complex_arrays_become_two_columns() -> None:
    Z = np.array([1 + 2j, 3 - 1j])
    for given in ({"f": [1, 2], "Z": Z}, pd.DataFrame({"f": [1, 2], "Z": Z})):
        data = as_data(given)
        assert data.names == ("f", "Re(Z)", "Im(Z)")
        assert data.column("Im(Z)").tolist() == [2, -1]
