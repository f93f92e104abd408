"""Flat systems on disk, keyed by everything they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from estimica import flat
from estimica.flat.serialise import FORMAT, from_json, to_json
from estimica.flat.system import FlatSystem
from estimica.source.flattener import RUMOCA_VERSION

#: entries beyond this number are dropped, those not used for longest first
MAX_ENTRIES = 400


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
    versions = (FORMAT, _own_version(), RUMOCA_VERSION)
    return hashlib.sha256(repr((versions, parts)).encode()).hexdigest()


@lru_cache(maxsize=1)
def _own_version() -> str:
    """Changes whenever the code that makes flat systems does."""
    digest = hashlib.sha256()
    rooms = Path(__file__).parent, Path(flat.__file__).parent
    for path in sorted(f for room in rooms for f in room.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(files: Iterable[Path]) -> str:
    """Changes whenever one of `files` does: path, size and time of change, not the content."""
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        digest.update(f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def stored(key: str) -> FlatSystem | None:
    """The entry of that name; None where there is none that can be read."""
    path = _path(key)
    try:
        system = from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, AssertionError):
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return system


def store(key: str, system: FlatSystem) -> None:
    """Write an entry; where the disk does not let us, do without."""
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # written beside and renamed, so that nobody ever sees half an entry
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(to_json(system))
        os.replace(name, path)
        _drop_old(path.parent)
    except OSError:
        return


def _path(key: str) -> Path:
    return cache_folder() / "flat" / f"{key}.json"


def _drop_old(folder: Path) -> None:
    entries = [e for e in os.scandir(folder) if e.name.endswith(".json")]
    if len(entries) <= MAX_ENTRIES:
        return
    entries.sort(key=lambda e: e.stat().st_mtime)
    for entry in entries[: len(entries) - MAX_ENTRIES]:
        with contextlib.suppress(OSError):
            os.unlink(entry.path)
