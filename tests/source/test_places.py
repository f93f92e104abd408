"""Where classes are found: beside the model, in `libraries`, on MODELICAPATH; and where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica import SourceError
from estimica.source.load import load_flat

HEATER = "model Heater\n  parameter Real G = 2;\n  output Real q = G*time;\nend Heater;\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MODELICAPATH", "")
    own = tmp_path / "own"
    own.mkdir()
    return own


def names(path: Path, text: str, *libraries: Path) -> list[str]:
    path.write_text(text)
    return [v.name for v in load_flat(path, libraries=libraries).variables]


USES = ["Heater h;", "extends Heater;"]
FOUND = [["h.G", "h.q"], ["G", "q"]]
WAYS = list(zip(USES, FOUND, strict=True))


@pytest.mark.parametrize(("use", "found"), WAYS)
@pytest.mark.parametrize("file", ["Heater.mo", "parts.mo"])
def test_a_file_beside_the_model(folder: Path, file: str, use: str, found: list[str]) -> None:
    (folder / file).write_text(HEATER)
    assert names(folder / "M.mo", f"model M\n  {use}\nend M;") == found


@pytest.mark.parametrize(("use", "found"), WAYS)
def test_a_package_beside_the_model(folder: Path, use: str, found: list[str]) -> None:
    package = folder / "Parts"
    package.mkdir()
    (package / "package.mo").write_text("package Parts\nend Parts;")
    (package / "Heater.mo").write_text(f"within Parts;\n{HEATER}")
    text = f"model M\n  {use.replace('Heater', 'Parts.Heater')}\nend M;"
    assert names(folder / "M.mo", text) == found
    imported = f"model M\n  import Parts.Heater;\n  {use}\nend M;"
    assert names(folder / "M.mo", imported) == found
    renamed = f"model M\n  import P = Parts;\n  {use.replace('Heater', 'P.Heater')}\nend M;"
    assert names(folder / "M.mo", renamed) == found


@pytest.mark.parametrize(("use", "found"), WAYS)
@pytest.mark.parametrize("file", ["Heater.mo", "parts.mo"])
@pytest.mark.parametrize("given", ["folder", "file"])
def test_a_file_of_libraries(
    folder: Path, file: str, given: str, use: str, found: list[str]
) -> None:
    libraries = folder.parent / "libs"
    libraries.mkdir()
    (libraries / file).write_text(f"model Other\nend Other;\n{HEATER}")
    place = libraries if given == "folder" else libraries / file
    assert names(folder / "M.mo", f"model M\n  {use}\nend M;", place) == found


@pytest.mark.parametrize(("use", "found"), WAYS)
@pytest.mark.parametrize("by", ["libraries", "MODELICAPATH"])
def test_a_package_of_a_library_folder(
    folder: Path, by: str, use: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = folder.parent / "libs" / "Parts"
    package.mkdir(parents=True)
    (package / "package.mo").write_text(f"package Parts\n{HEATER}\nend Parts;")
    text = f"model M\n  import Parts.*;\n  {use}\nend M;"
    if by == "MODELICAPATH":
        monkeypatch.setenv("MODELICAPATH", str(package.parent))
        assert names(folder / "M.mo", text) == found
    else:
        assert names(folder / "M.mo", text, package.parent) == found
        assert names(folder / "M.mo", text, package) == found


def test_a_file_of_a_package_finds_its_siblings(folder: Path) -> None:
    (folder / "package.mo").write_text("package own\nend own;")
    (folder / "Heater.mo").write_text(f"within own;\n{HEATER}")
    assert names(folder / "M.mo", "within own;\nmodel M\n  Heater h;\nend M;") == ["h.G", "h.q"]


def test_files_beside_files(folder: Path) -> None:
    (folder / "Heater.mo").write_text("model Heater\n  extends Basis;\nend Heater;")
    (folder / "bases.mo").write_text(HEATER.replace("Heater", "Basis"))
    assert names(folder / "M.mo", "model M\n  Heater h;\nend M;") == ["h.G", "h.q"]


def test_a_changed_neighbour_is_read_again(folder: Path) -> None:
    (folder / "parts.mo").write_text(HEATER)
    assert names(folder / "M.mo", "model M\n  Heater h;\nend M;") == ["h.G", "h.q"]
    (folder / "parts.mo").write_text(HEATER.replace("G", "conductance"))
    assert [v.name for v in load_flat(folder / "M.mo").variables] == ["h.conductance", "h.q"]


def test_a_class_that_two_files_hold(folder: Path) -> None:
    (folder / "a.mo").write_text(HEATER)
    (folder / "b.mo").write_text(HEATER)
    wanted = (
        "several files beside it hold one, 'a.mo', 'b.mo'; name the one that is meant 'Heater.mo'"
    )
    with pytest.raises(SourceError, match=wanted):
        names(folder / "M.mo", "model M\n  Heater h;\nend M;")


def test_a_broken_neighbour_that_is_not_needed_does_no_harm(folder: Path) -> None:
    (folder / "parts.mo").write_text("model Broken\n  Real x = ;\nend")
    (folder / "Heater.mo").write_text(HEATER)
    assert names(folder / "M.mo", "model M\n  Heater h;\nend M;") == ["h.G", "h.q"]


def test_an_unknown_class_is_never_a_parameter_that_sounds_alike(folder: Path) -> None:
    with pytest.raises(SourceError) as caught:
        names(folder / "M.mo", "model M\n  parameter Real heat = 1;\n  Heat h(u=heat);\nend M;")
    message = str(caught.value)
    assert (
        f"M.mo:3:3: class 'Heat' not found; looked in '{folder / 'M.mo'}' and the files" in message
    )
    assert "MODELICAPATH names no library folder" in message
    assert "did you mean" not in message


def test_a_misspelt_class_is_recognised(folder: Path) -> None:
    text = HEATER + "model M\n  Heatr h;\nend M;"
    with pytest.raises(
        SourceError, match=r"class 'Heatr' not found; looked in .*; did you mean 'Heater'"
    ):
        names(folder / "M.mo", text)
    with pytest.raises(
        SourceError, match=r"class 'P.Heatr' not found: package P has no 'Heatr'; did"
    ):
        names(folder / "M.mo", f"package P\n{HEATER}\nend P;\nmodel M\n  P.Heatr h;\nend M;")


def test_an_unknown_library_and_an_unknown_import(folder: Path, tmp_path: Path) -> None:
    wanted = "class 'Buildings.X' not found: there is no 'Buildings'; looked in"
    with pytest.raises(SourceError, match=wanted):
        names(folder / "M.mo", "model M\n  Buildings.X x;\nend M;")
    with pytest.raises(
        SourceError, match=r"'Own.X', which is to be imported, was not found; looked"
    ):
        names(folder / "M.mo", "model M\n  import Own.X;\n  X x;\nend M;")
    with pytest.raises(SourceError, match=r"nothing is called 'Own.f'; looked in"):
        names(folder / "M.mo", "model M\n  Real x = Own.f(time);\nend M;")


def test_many_places_are_not_all_listed(folder: Path) -> None:
    libraries = [folder.parent / f"lib{k}" for k in range(9)]
    for library in libraries:
        library.mkdir()
    with pytest.raises(SourceError, match=r"lib2' and 6 more \(MODELICAPATH"):
        names(folder / "M.mo", "model M\n  Heater h;\nend M;", *libraries)
