"""Regular files: opened without waiting for a pipe or following a link that was put there since."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

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
