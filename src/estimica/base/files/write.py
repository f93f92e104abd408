"""Output files: written beside their place, then put there whole, or not at all."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from secrets import token_hex

from estimica.base.errors import ReportError, WriteError

PathText = str | PathLike[str]
LONGEST_ENDING = 16  # characters; a draft's name must not be longer than file systems allow (255)


@contextmanager
def atomic_replacement(path: PathText) -> Iterator[Path]:
    """A draft in the same folder; it takes the place of `path` when the block ends well.

    Whatever ends the block otherwise, an error, Ctrl-C or a kill, leaves what was there before.
    Permissions stay, a link stays a link, and a device or pipe is written to directly.
    """
    target = _target(path)
    with _told(path):
        if _is_special(target):
            yield target
            return
        _require_replaceable(target)
        draft = target.with_name(f".estimica-{token_hex(8)}.part{_ending(target)}")
        try:
            # the usual permissions of a new file, which the user's mask takes from
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield draft
            if target.exists():
                shutil.copymode(target, draft)
            _on_disk(draft)
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        with suppress(OSError):  # not every system can, and the file is whole already
            _on_disk(target.parent)


def write_text(path: PathText, text: str) -> Path:
    """Write a text in UTF-8, whole or not at all; returns where it is."""
    with atomic_replacement(path) as draft:
        # a name may hold half a surrogate pair, which is not text in UTF-8
        draft.write_text(text, encoding="utf-8", errors="replace")
    return Path(path)


def make_folder(folder: Path) -> None:
    """Make a folder for outputs where there is none."""
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)


def require_writable(path: PathText) -> None:
    """Refuse what cannot be written: before the work it is the input that is wrong."""
    path, target = Path(path), _target(path)
    folder = target.parent if os.path.islink(path) else path.parent
    with _told(path, ReportError):
        if target.is_dir():
            raise _cannot(path, "it is a folder", ReportError)
        if not folder.exists():
            raise _cannot(path, f"there is no folder '{folder}'", ReportError)
        if not folder.is_dir():
            raise _cannot(path, f"'{folder}' is not a folder", ReportError)
        _require_replaceable(target)
        if not _is_special(target) and not os.access(folder, os.W_OK | os.X_OK):
            raise _cannot(path, f"you may not write into the folder '{folder}'", ReportError)


def require_writable_folder(folder: PathText) -> None:
    """Refuse a folder that cannot be made or written into."""
    path = _target(folder)
    with _told(folder, ReportError):
        there = next(p for p in (path, *path.parents) if p.exists())
    if not there.is_dir():
        raise _cannot(folder, f"'{there}' is not a folder", ReportError)
    if not os.access(there, os.W_OK | os.X_OK):
        raise _cannot(folder, f"you may not write into the folder '{there}'", ReportError)


def _target(path: PathText) -> Path:
    """The file itself where `path` is a link to it."""
    try:
        os.fsencode(path)
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as error:  # a NUL, half a surrogate pair, links in a circle
        raise _cannot(path, str(error)) from None


def _require_replaceable(target: Path) -> None:
    """A file that is write-protected is not replaced, though its folder would allow it."""
    if target.is_dir():
        raise IsADirectoryError(0, "Is a directory")
    with suppress(FileNotFoundError):
        target.lstat()  # complains of names that are too long
        if not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is write-protected")


def _is_special(target: Path) -> bool:
    """Whether something is there that is neither a file nor a folder: a device, a pipe."""
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def _ending(target: Path) -> str:
    """Writers go by the ending of a name: it stays."""
    return target.suffix if len(target.suffix) <= LONGEST_ENDING else ""


def _on_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _told(path: PathText, kind: type[ReportError] = WriteError) -> Iterator[None]:
    """Errors of the system as errors that name the file and the reason."""
    try:
        yield
    except OSError as error:
        raise _cannot(path, error.strerror or str(error), kind) from None


def _cannot(path: PathText, why: str, kind: type[ReportError] = WriteError) -> ReportError:
    return kind("P001", f"cannot write '{os.fspath(path)}': {why}")
