"""Files that are written whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from estimica.base.errors import ReportError, WriteError
from estimica.base.files import write as output_file
from estimica.base.files.write import (
    atomic_replacement,
    require_writable,
    require_writable_folder,
    write_text,
)

NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")


def alone(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize("old", ["before", None])
def test_a_full_disk_at_any_step_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: str | None
) -> None:
    path = tmp_path / "out.txt"
    if old is not None:
        path.write_text(old, encoding="utf-8")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output_file.os, step, full)
    with pytest.raises(WriteError, match=r"P001: cannot write '.*out\.txt': No space left"):
        write_text(path, "after")
    monkeypatch.undo()
    assert alone(tmp_path) == (["out.txt"] if old else [])
    assert not old or path.read_text(encoding="utf-8") == old


@pytest.mark.parametrize(
    "end", [OSError(errno.EIO, "I/O error"), KeyboardInterrupt(), ValueError()]
)
def test_whatever_ends_the_writing_leaves_what_was_there(
    tmp_path: Path, end: BaseException
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")
    kind = WriteError if isinstance(end, OSError) else type(end)

    def half() -> None:
        with atomic_replacement(path) as draft:
            draft.write_text("half of", encoding="utf-8")
            raise end

    with pytest.raises(kind):
        half()
    assert path.read_text(encoding="utf-8") == "before"
    assert alone(tmp_path) == ["out.txt"]


def test_a_file_larger_than_allowed_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")
    script = (
        "import resource, signal, sys\n"
        "from estimica.base.files.write import write_text\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_text(sys.argv[1], 'x' * 100_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "WriteError: P001: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_text(encoding="utf-8") == "before"
    assert alone(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("moment", ["half", "whole"])
def test_a_killed_writer_leaves_the_old_file(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")
    script = (
        "import os, signal, sys\n"
        "from estimica.base.files import write as output_file\n"
        "kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if sys.argv[2] == 'whole': output_file.os.replace = kill\n"
        "with output_file.atomic_replacement(sys.argv[1]) as draft:\n"
        "    draft.write_text('half')\n"
        "    if sys.argv[2] == 'half': kill()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path), moment], check=False)
    assert done.returncode == -9
    assert path.read_text(encoding="utf-8") == "before"
    left = [n for n in alone(tmp_path) if n != "out.txt"]
    assert all(n.startswith(".estimica-") for n in left)  # hidden, and never taken for the file


def test_permissions_stay_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("before", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "after")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "after"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    made = write_text(tmp_path / "made", "x")
    assert made.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_devices_and_pipes_are_written_to_and_stay_what_they_are(tmp_path: Path) -> None:
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(WriteError, match="No space left on device"):
        write_text("/dev/full", "x")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_what_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, why in {
        tmp_path: "it is a folder",
        tmp_path / "no" / "out": "there is no folder",
        tmp_path / "file" / "out": "is not a folder",
        tmp_path / ("x" * 300): "File name too long",
    }.items():
        with pytest.raises(ReportError, match=f"P001: cannot write .*{why}") as told:
            require_writable(path)
        assert not isinstance(told.value, WriteError)  # the input is wrong: nothing was lost
    with pytest.raises(ReportError, match="is not a folder"):
        require_writable_folder(tmp_path / "file" / "below")
    require_writable(tmp_path / "new")
    require_writable("/dev/null")
    require_writable_folder(tmp_path / "to" / "be" / "made")


@pytest.mark.parametrize("name", ["a\0b", "half \ud800"])
def test_a_name_that_is_not_one_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(WriteError, match="P001: cannot write"):
        write_text(tmp_path / name, "x")


def test_long_names_and_endings_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "x" * 100 + "." + "y" * 154, "ö" * 120, ".hidden", "no.ending."):
        assert write_text(tmp_path / name, "x").read_text(encoding="utf-8") == "x"


@NOT_ROOT
def test_protected_files_and_folders_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.touch(mode=0o444)
    with pytest.raises(ReportError, match="write-protected"):
        require_writable(kept)
    with pytest.raises(WriteError, match="write-protected"):
        write_text(kept, "x")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    with pytest.raises(ReportError, match="you may not write into the folder"):
        require_writable(closed / "out")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_small_disk_that_is_full_keeps_the_old_file(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        path = disk / "out.txt"
        path.write_text("before", encoding="utf-8")
        with pytest.raises(WriteError, match="No space left on device"):
            write_text(path, "x" * 1_000_000)
        assert path.read_text(encoding="utf-8") == "before"
        assert alone(disk) == ["out.txt"]
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(ReportError, match="you may not write into the folder"):
            require_writable(disk / "new.txt")
        with pytest.raises(WriteError, match="P001"):
            write_text(path, "x")
    finally:
        subprocess.run(["umount", str(disk)], check=False)
