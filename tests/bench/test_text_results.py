"""Reference results as one text for each class, all in one folder of the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

TEXT = """last-generated=2024-01-31
statistics-simulation=
{
  "nonlinear": "2, 1, 1",
  "numerical Jacobians": "0"
}
time=[1e+00, 3e+00]
tank.T[1, 2]=[1e+00, 2.5e+00, 4e+00, 7e+00, 9e+00]
constant=[5e+00, 5e+00]
"""


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import campaign.reference as reference

    return reference


@pytest.fixture
def results(tmp_path):
    library = tmp_path / "Lib"
    (library / "Part_A" / "Examples").mkdir(parents=True)
    for folder in (library, library / "Part_A", library / "Part_A" / "Examples"):
        (folder / "package.mo").touch()
    (library / "Part_A" / "Examples" / "Tank_2.mo").touch()
    folder = library / "Resources" / "ReferenceResults" / "Tool"
    folder.mkdir(parents=True)
    (folder / "Lib_Part_A_Examples_Tank_2.txt").write_text(TEXT)
    (folder / "Lib_Other_Tank.txt").write_text("last-generated=2024-01-31\n")
    return folder


def test_files_and_folders_tell_which_underscores_are_dots(reference, results):
    assert list(reference.classes(results)) == ["Lib.Part_A.Examples.Tank_2"]
    assert reference.place(results, "Lib.Part_A.Examples.Tank_2").is_file()


def test_values_stand_at_equidistant_times(reference, results):
    found = reference.read_reference(results, "Lib.Part_A.Examples.Tank_2")
    assert found.wanted == ("tank.T[1,2]", "constant")
    np.testing.assert_allclose(found.times, [1.0, 1.5, 2.0, 2.5, 3.0])
    np.testing.assert_allclose(found.rows["tank.T[1,2]"], [1.0, 2.5, 4.0, 7.0, 9.0])
    np.testing.assert_allclose(found.rows["constant"], 5.0)
    assert found.interval == pytest.approx(0.5)


def test_a_text_without_curves_is_no_reference(reference, results):
    assert reference.read_reference(results, "Lib.Other.Tank") is None


def test_a_row_at_an_event_may_be_either_side(reference, results):
    found = reference.read_reference(results, "Lib.Part_A.Examples.Tank_2")
    curve = found.without_events(found.curve("tank.T[1,2]"), np.array([2.0, 2.7]))
    assert np.isnan(curve.low).tolist() == [False, False, True, False, False]
