"""Files of impedance analysers, and columns of complex numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.data.analyser_files import BIOLOGIC, GAMRY, ZPLOT

from estimica.data.readers import as_data, read_data


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
