"""FmuArchive: what is unpacked and loaded is what was hashed and agreed to."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from estimica.base.code.consent import NamedCode, code_guard
from estimica.base.errors import ModelError, StudyError
from estimica.simulate.fmu import archive as fmu_archive
from estimica.simulate.fmu.archive import FmuArchive, require_intact, unpack_fmu

LIBRARY = "binaries/linux64/room.so"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links and owners differ there")


@pytest.fixture
def fmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path / "cache"))
    return packed(tmp_path / "room.fmu", b"right")


def packed(path: Path, library: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", "<fmiModelDescription/>")
        archive.writestr(LIBRARY, library)
        archive.writestr("resources/table.txt", "1 2 3")
    return path


def intact(archive: FmuArchive) -> bool:
    try:
        require_intact("room", archive.folder, archive.unpacked)
    except ModelError as error:
        return error.code != "M218"
    return True


def changed(folder: Path) -> None:
    (folder / LIBRARY).write_bytes(b"wrong")


def added(folder: Path) -> None:
    (folder / LIBRARY).with_name("libm.so.6").write_bytes(b"wrong")


def linked(folder: Path) -> None:
    other = folder.parent / "elsewhere.so"
    other.write_bytes(b"right")
    (folder / LIBRARY).unlink()
    (folder / LIBRARY).symlink_to(other)


def linked_folder(folder: Path) -> None:
    shutil.move(folder / "binaries", folder.parent / "moved")
    (folder / "binaries").symlink_to(folder.parent / "moved")


def noted_too(folder: Path) -> None:
    changed(folder)
    note = folder / ".complete"
    old, new = (hashlib.sha256(c).hexdigest() for c in (b"right", b"wrong"))
    note.write_text(note.read_text().replace(old, new))


def replaced(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / ".complete").touch()


def open_to_others(folder: Path) -> None:
    os.chmod(folder, 0o777)


WAYS = [changed, added, linked, linked_folder, noted_too, replaced, open_to_others]


@POSIX
@pytest.mark.parametrize("tampered", WAYS)
def test_a_tampered_copy_is_not_loaded_but_unpacked_anew(fmu: Path, tampered: object) -> None:
    first = unpack_fmu(fmu)
    assert intact(first)
    tampered(first.folder)  # type: ignore[operator]
    assert not intact(first)
    again = unpack_fmu(fmu)
    assert intact(again)
    assert again == first
    assert (again.folder / LIBRARY).read_bytes() == b"right"
    assert [p.name for p in (again.folder / LIBRARY).parent.iterdir()] == ["room.so"]


def test_an_fmu_may_write_beside_what_is_loaded(fmu: Path) -> None:
    found = unpack_fmu(fmu)
    (found.folder / "resources" / "log.txt").write_text("")
    assert intact(found)
    assert unpack_fmu(fmu) == found
    assert (found.folder / "resources" / "log.txt").exists()


def test_an_archive_that_is_swapped_after_it_was_hashed_is_not_unpacked(
    fmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fmu_archive, "require_agreed", lambda codes: packed(fmu, b"wrong"))
    assert (unpack_fmu(fmu).folder / LIBRARY).read_bytes() == b"right"


def test_without_consent_nothing_is_unpacked(fmu: Path, tmp_path: Path) -> None:
    class Refusing:
        def admit(self, study: Path, tables: object, codes: Sequence[NamedCode]) -> None: ...

        def require_agreed(self, codes: Sequence[NamedCode]) -> None:
            (code,) = codes
            assert code.sha256 == hashlib.sha256(fmu.read_bytes()).hexdigest()
            raise StudyError("Q053", "not agreed")

    with code_guard(Refusing()), pytest.raises(StudyError, match="Q053"):
        unpack_fmu(fmu)
    assert not (tmp_path / "cache").exists()


@POSIX
def test_a_cache_that_others_can_write_is_not_used(fmu: Path, tmp_path: Path) -> None:
    (tmp_path / "cache" / "fmu").mkdir(parents=True)
    os.chmod(tmp_path / "cache" / "fmu", 0o777)
    found = unpack_fmu(fmu)
    assert not found.folder.is_relative_to(tmp_path)
    assert found.folder.parent.stat().st_mode & 0o077 == 0
    assert intact(found)


@POSIX
def test_a_pipe_is_no_fmu(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "room.fmu")
    with pytest.raises(ModelError, match=r"M200: cannot read .*: it is not a regular file"):
        unpack_fmu(tmp_path / "room.fmu")
