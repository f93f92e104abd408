"""Contents of packages: one level at a time, from folders and files, no more than heads."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source.libraries import contents
from estimica.source.libraries.contents import (
    ClassEntry,
    classes_within,
    known_libraries,
    library_of,
)

TOP = """// a comment before
/* and another */
within ;
package Plant "Parts of \\"a\\" plant"
  model Whole "All of it" end Whole;
end Plant;
"""
TANKS = """within Plant;
encapsulated package Tanks
  partial model Base Real h; end Base;
  model Leaky "With a leak" extends Base; end Leaky;
  package More function area "In m2" input Real d; output Real a; algorithm a := d; end area; end More;
end Tanks;
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plant = tmp_path / "libs" / "Plant 1.2"
    (plant / "Pumps").mkdir(parents=True)
    (plant / "package.mo").write_text(TOP)
    (plant / "package.order").write_text("Tanks\nWhole\nPumps\n")
    (plant / "Tanks.mo").write_text(TANKS)
    (plant / "Pumps" / "package.mo").write_text("within Plant; package Pumps end Pumps;")
    (plant / "Pumps" / "Gear.mo").write_text("within Plant.Pumps;\nblock Gear end Gear;")
    (plant / "Pumps" / "broken.mo").write_text("this is no Modelica")
    monkeypatch.setenv("MODELICAPATH", str(tmp_path / "libs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return plant


def test_a_library_is_opened_level_by_level(folder: Path) -> None:
    assert [e.name for e in known_libraries()] == ["Modelica", "Plant"]
    root = library_of("Plant.Tanks").root
    assert root == folder
    (top,) = classes_within(root, "")
    assert (top.name, top.description) == ("Plant", 'Parts of "a" plant')
    assert classes_within(root, "Plant") == [  # as its author has ordered it
        ClassEntry("Plant.Tanks", "package"),
        ClassEntry("Plant.Whole", "model", "All of it"),
        ClassEntry("Plant.Pumps", "package"),
    ]
    tanks = classes_within(root, "Plant.Tanks")
    assert [(e.name, e.partial, e.can_be_model) for e in tanks] == [
        ("Plant.Tanks.Base", True, False),
        ("Plant.Tanks.Leaky", False, True),
        ("Plant.Tanks.More", False, False),
    ]
    (area,) = classes_within(root, "Plant.Tanks.More")
    assert area == ClassEntry("Plant.Tanks.More.area", "function", "In m2")
    assert classes_within(root, "Plant.Tanks.Leaky") == []
    pumps = classes_within(root, "Plant.Pumps")
    assert [(e.name, e.word) for e in pumps] == [
        ("Plant.Pumps.broken", "class"),  # its own page says what is wrong with it
        ("Plant.Pumps.Gear", "block"),
    ]


def test_only_heads_of_files_are_read_beside_an_opened_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = contents.library_text
    monkeypatch.setattr(contents, "library_text", lambda p: read.append(p.name) or whole(p))
    contents._parsed.cache_clear()
    classes_within(folder, "Plant")
    assert [name for name in read if name.endswith(".mo")] == ["package.mo"]


def test_a_file_has_its_classes_and_a_misspelt_library_is_told(folder: Path) -> None:
    file = folder.parent / "Two.mo"
    file.write_text("model A end A;\npackage P model B end B; end P;")
    assert [e.name for e in classes_within(file, "")] == ["A", "P"]
    assert [e.name for e in classes_within(file, "P")] == ["P.B"]
    with pytest.raises(SourceError, match="there is no library 'Plnt'; did you mean 'Plant'"):
        library_of("Plnt.Tanks")
