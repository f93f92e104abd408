"""What is kept on disk of models: flat systems and more, by keys of everything they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from estimica import flat
from estimica.base.process import garbage_collection_paused
from estimica.flat.serialise import FORMAT, from_json, to_json
from estimica.flat.system import FlatSystem

#: entries beyond this number, or beyond so many bytes, are dropped: those not used for longest;
#: chosen: more models than somebody works on at a time, and half a gigabyte of disk at most
MAX_ENTRIES = 400
MAX_BYTES = 500_000_000
_SUFFIX = {"flat": ".json", "sorted": ".json", "code": ".o"}
#: what reading a damaged entry may raise
UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError)


def cache_folder() -> Path:
    """ESTIMICA_CACHE, or the user's folder for caches."""
    named = os.environ.get("ESTIMICA_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "estimica" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "estimica"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "estimica"


def key_of(*parts: object) -> str:
    """A name for an entry that depends on `parts` and on the versions of all that made it."""

    rooms = Path(__file__).parent, Path(flat.__file__).parent
    # the code of this room also says which version of the compiler is used
    versions = (FORMAT, code_version(*rooms))
    return hashlib.sha256(repr((versions, parts)).encode()).hexdigest()


def content_key(text: str) -> str:
    """A name for a text that depends on nothing else."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=16)
def code_version(*rooms: Path) -> str:
    """Changes whenever the code in these folders does."""
    digest = hashlib.sha256()
    for path in sorted(f for room in rooms for f in room.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(files: Iterable[Path]) -> str:
    """Changes whenever one of `files` does: path, size and time of change, not the content."""
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        digest.update(f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def read_flat(key: str) -> FlatSystem | None:
    """The flat system of that name; None where there is none that can be read."""
    content = read_entry("flat", key)
    if content is None:
        return None
    try:
        with garbage_collection_paused():
            return from_json(content.decode()).named(key)
    except UNREADABLE:
        drop_entry("flat", key)
        return None


def write_flat(key: str, system: FlatSystem) -> None:
    """Keep a flat system under that name; where the disk does not let us, do without."""
    write_entry("flat", key, to_json(system).encode())


def read_entry(kind: str, key: str) -> bytes | None:
    """What is kept of that kind under that name."""
    path = _path(kind, key)
    try:
        content = path.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def write_entry(kind: str, key: str, content: bytes) -> None:
    """Keep an entry; where the disk does not let us, do without."""
    path = _path(kind, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # written beside and renamed, so that nobody ever sees half an entry
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
        _drop_old(path.parent)
    except OSError:
        return


def drop_entry(kind: str, key: str) -> None:
    """Forget an entry that cannot be used."""
    with contextlib.suppress(OSError):
        _path(kind, key).unlink()


def is_private(kind: str) -> bool:
    """Whether nobody but this user can have written the entries of that kind.

    Machine code is kept and run only where this holds.
    """
    if not hasattr(
        os, "getuid"
    ):  # pragma: no cover  # Windows: the folder is in the user's profile
        return "ESTIMICA_CACHE" not in os.environ
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return all(_only_ours(path) for path in (folder.resolve(), folder.resolve().parent))
    except OSError:
        return False


def _only_ours(path: Path) -> bool:
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _path(kind: str, key: str) -> Path:
    return cache_folder() / kind / f"{key}{_SUFFIX[kind]}"


def _drop_old(folder: Path) -> None:
    entries = []
    with os.scandir(folder) as found:
        for entry in found:
            # another process may have dropped it in the meantime
            with contextlib.suppress(OSError):
                if not entry.name.endswith(".tmp"):
                    entries.append((entry.path, entry.stat()))
    entries.sort(key=lambda e: e[1].st_mtime, reverse=True)
    total = 0
    for k, (path, status) in enumerate(entries):
        total += status.st_size
        if k >= MAX_ENTRIES or total > MAX_BYTES:
            with contextlib.suppress(OSError):
                os.unlink(path)
