"""History of a text, and writing it only over what was read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from estimica.base.errors import StudyError
from estimica.study.file.edit import MOST, Revision
from estimica.study.file.save import fingerprint, read_text, write_text_if_unchanged


def test_undo_and_redo_go_through_the_edits() -> None:
    there = Revision("a").edit("b").edit("c")
    back = there.undo().undo()
    assert back.text == "a"
    assert not back.can_undo
    assert back.can_redo
    assert back.undo() is back
    assert back.redo().redo() == there
    assert there.redo() is there
    assert back.edit("d").future == ()
    assert there.edit("c") is there


def test_history_is_bounded() -> None:
    revision = Revision("start")
    for k in range(MOST + 50):
        revision = revision.edit(str(k))
    assert len(revision.past) == MOST
    for _ in range(MOST):
        revision = revision.undo()
    assert revision.text == "49"
    assert not revision.can_undo
    assert len(revision.future) == MOST


def test_a_text_is_written_and_read_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    text = "\ufeff[tune]\r\nä = 1"
    mark = write_text_if_unchanged(path, text, None)
    assert path.read_bytes() == text.encode("utf-8")
    assert read_text(path) == (text, mark)
    assert fingerprint(path) == mark
    assert os.listdir(tmp_path) == ["a.toml"]


def test_an_edit_by_someone_else_is_noticed_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("one", encoding="utf-8")
    _, known = read_text(path)
    path.write_text("two", encoding="utf-8")
    with pytest.raises(StudyError, match="Q077"):
        write_text_if_unchanged(path, "three", known)
    assert path.read_text(encoding="utf-8") == "two"
    path.unlink()
    with pytest.raises(StudyError, match="Q077"):
        write_text_if_unchanged(path, "three", known)
    path.write_text("four", encoding="utf-8")
    with pytest.raises(StudyError, match="Q077"):
        write_text_if_unchanged(path, "three", None)
    assert os.listdir(tmp_path) == ["a.toml"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.toml", tmp_path / "link.toml"
    path.write_text("one", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text_if_unchanged(link, "two", fingerprint(link))
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "two"
    assert path.stat().st_mode & 0o777 == 0o640
