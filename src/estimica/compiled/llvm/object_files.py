"""Object code in files of their own, beside the source that it was made from.

There it is as safe as the byte code that Python keeps beside it; where that folder cannot be
written to, in the user's cache. `NUMBA_CACHE_DIR` names another folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from estimica.source.cache import cache_folder, is_private

_CHECKSUM = hashlib.sha256().digest_size
_DAY = 86_400  # s; younger files of another version may be those of a process that still runs


def read_object(source: Path, name: str) -> bytes | None:
    """The object code of that name for a source file; None where there is none that is whole."""
    for folder in _folders(source):
        with contextlib.suppress(OSError):
            content = (folder / f"{name}.o").read_bytes()
            if hashlib.sha256(content[_CHECKSUM:]).digest() == content[:_CHECKSUM]:
                return content[_CHECKSUM:]
    return None


def write_object(source: Path, name: str, code: bytes) -> None:
    """Keep object code in the first folder that can be written to; without one, do without."""
    content = hashlib.sha256(code).digest() + code
    for folder in _folders(source):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # written beside and renamed, so that nobody ever sees half a file
            handle, beside = tempfile.mkstemp(dir=folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(beside, folder / f"{name}.o")
            return


def drop_outdated(source: Path, base: str, stamp: str) -> None:
    """Remove what other versions have left behind under names that begin with `base`, when it is
    a day old."""
    for folder in _folders(source):
        for path in folder.glob(f"{base}-*.o"):
            with contextlib.suppress(OSError):
                if stamp not in path.name and time.time() - path.stat().st_mtime > _DAY:
                    path.unlink()


def _folders(source: Path) -> Iterator[Path]:
    """Where object code may be, the likeliest place first."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
        return
    yield source.parent / "__pycache__"
    if is_private("engine"):
        yield cache_folder() / "engine"
