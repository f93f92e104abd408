"""Files of a user: the one door through which they are opened, regular ones only, up to a size.

A pipe would be waited for, a device never ends, and a file of `/proc` is something else each time;
`open_file` refuses them, through links too, and waits for nothing. What is refused is an OSError
whose `strerror` says why, so that every reader tells it in its own words.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from io import BufferedReader
from pathlib import Path

#: bytes of a text that is read whole. The largest file of the Modelica Standard Library has 1 MB,
#: flat models of OpenModelica some MB; 20 MB are read in seconds and held in memory many times
TEXT_LIMIT = 20_000_000

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
#: where the kernel shows itself in files of no size
_KERNEL = ("/proc", "/sys")


def open_file(path: str | os.PathLike[str]) -> io.BufferedReader:
    """The file, opened to be read; an OSError where it is not a regular one.

    The kind is asked twice: before, because opening a device may already do something, and of what
    was opened, because a name can lead elsewhere a moment later.
    """
    try:
        status = os.stat(path)
    except ValueError:
        raise _refused(path, errno.EINVAL, "its name holds a character that no file has") from None
    _require_regular(path, status)
    file = open_regular(Path(path))
    try:
        _require_regular(path, os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def read_bytes(path: str | os.PathLike[str], limit: int = TEXT_LIMIT) -> bytes:
    """The content of a regular file of at most `limit` bytes."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > limit else file.read(limit + 1)
    if max(size, len(content)) > limit:
        raise _refused(
            path,
            errno.EFBIG,
            f"it has {size_text(max(size, len(content)))}, and at most {size_text(limit)} are read",
        )
    return content


def read_text(
    path: str | os.PathLike[str],
    encoding: str = "utf-8",
    errors: str = "strict",
    limit: int = TEXT_LIMIT,
) -> str:
    """The text of a regular file of at most `limit` bytes; its lines end in a line feed."""
    content = io.BytesIO(read_bytes(path, limit))
    return io.TextIOWrapper(content, encoding=encoding, errors=errors).read()


def size_text(size: float) -> str:
    """A number of bytes in words: `4 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def _require_regular(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    kind = next((name for is_it, name in _KINDS if is_it(status.st_mode)), "")
    if not kind and status.st_dev in _kernel_devices():
        kind = "a file of the kernel"
    if kind:
        raise _refused(
            path,
            errno.EINVAL,
            f"it is {kind}, and only regular files are read; copy what it gives into a file",
        )


def _kernel_devices() -> set[int]:
    return {os.stat(p).st_dev for p in _KERNEL if os.path.ismount(p)}


def _refused(path: str | os.PathLike[str], number: int, why: str) -> OSError:
    return OSError(number, why, os.fspath(path))


#: a file swapped for a link, a pipe or a device after it was looked at must not be followed
_SAFELY = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def open_regular(path: Path) -> BufferedReader:
    """The file at a path, links followed; OSError where it is a folder, a pipe or a device.

    The name of the stream is the resolved path.
    """
    real = os.path.realpath(path, strict=True)
    handle = os.open(real, _SAFELY)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return open(real, "rb", opener=lambda *_: handle)
