"""FmuArchive: the file of an FMU, unpacked once for each content into the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean_file
from estimica.source.cache import cache_folder

MOST = 8 * 2**30  # bytes that an FMU may unpack to
_DONE = ".complete"


@dataclass(frozen=True)
class FmuArchive:
    """Where an FMU is, what its content's digest is, and where it is unpacked."""

    path: Path
    digest: str
    folder: Path


def unpack_fmu(path: Path) -> FmuArchive:
    """The FMU, unpacked; the same content is unpacked once on a computer."""
    try:
        digest = _digest(path)
    except FileNotFoundError:
        hint = did_you_mean_file(path)
        raise ModelError("M200", f"there is no file '{path}'{hint}") from None
    except OSError as error:
        raise ModelError("M200", f"cannot read '{path}': {error.strerror}") from None
    folder = cache_folder() / "fmu" / digest
    if not (folder / _DONE).exists():
        try:
            _unpack(path, folder)
        except zipfile.BadZipFile:
            raise ModelError(
                "M201", f"'{path}' is no FMU: an FMU is a zip file with modelDescription.xml"
            ) from None
        except (zlib.error, EOFError):
            raise ModelError(
                "M201", f"'{path}' is damaged: its content cannot be unpacked; copy it anew"
            ) from None
        except (OSError, RuntimeError) as error:  # runtime: encrypted, or packed in another way
            raise ModelError("M201", f"'{path}' cannot be unpacked: {error}") from None
    return FmuArchive(path.resolve(), digest, folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _unpack(path: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _require_sound(path, members)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            for member in members:
                archive.extract(member, fresh)
            (fresh / _DONE).touch()
            try:
                fresh.rename(folder)
            except OSError:  # another process was quicker, or left a torso
                if not (folder / _DONE).exists():
                    shutil.rmtree(folder, ignore_errors=True)
                    fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _require_sound(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = {m.filename for m in members}
    if "modelDescription.xml" not in names:
        raise ModelError("M201", f"'{path}' is no FMU: it holds no modelDescription.xml")
    if sum(m.file_size for m in members) > MOST:
        raise ModelError("M202", f"'{path}' unpacks to more than {MOST // 2**30} GiB; refused")
    for member in members:
        parts = member.filename.replace("\\", "/").split("/")
        link = stat.S_ISLNK(member.external_attr >> 16)
        if ".." in parts or os.path.isabs(member.filename) or ":" in parts[0] or link:
            raise ModelError(
                "M202",
                f"'{path}' would write outside its folder, to '{member.filename}'; refused",
            )
