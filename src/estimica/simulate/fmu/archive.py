"""FmuArchive: the file of an FMU, unpacked once for each content into the cache."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO

from estimica.base.code.consent import NamedCode, require_agreed
from estimica.base.errors import ModelError
from estimica.base.files.read import open_regular
from estimica.base.suggest import did_you_mean_file
from estimica.source.cache import cache_folder, is_private

#: bytes that an FMU may unpack to. Chosen: room for large tables, and a zip bomb ends there
MOST = 8 * 2**30
#: bytes of an archive that are kept in memory; larger ones go to a file. Chosen: any machine has it
IN_MEMORY = 64 << 20
_DONE = ".complete"  # holds the hashes of all files
_BINARIES = "binaries/"


@dataclass(frozen=True)
class FmuArchive:
    """Where an FMU is, what its content's digest is, and where it is unpacked.

    `unpacked` is the digest of what is in the folder: whoever loads a library of it asks
    `require_intact` first.
    """

    path: Path
    digest: str
    folder: Path
    unpacked: str = ""


def unpack_fmu(path: Path) -> FmuArchive:
    """The FMU, unpacked; the same content is unpacked once on a computer.

    The archive is read once: what is hashed, agreed to and unpacked are the same bytes. A copy that
    was unpacked before must still hold exactly that.
    """
    try:
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as content:
            sha256 = _read(path, content)
            require_agreed([NamedCode("", path.name, path.resolve(), "FMU", sha256)])
            digest = sha256[:32]
            folder = _place() / digest
            with zipfile.ZipFile(content) as archive:
                _require_sound(path, archive.infolist())
                hashes = _hashes(archive)
                if not _is_intact(folder, hashes):
                    _unpack(archive, folder)
                return FmuArchive(path.resolve(), digest, folder, _note(folder, hashes))
    except zipfile.BadZipFile:
        raise ModelError(
            "M201", f"'{path}' is not an FMU: an FMU is a zip file with modelDescription.xml"
        ) from None
    except (zlib.error, EOFError):
        raise ModelError(
            "M201", f"'{path}' is damaged: its content cannot be unpacked; copy it anew"
        ) from None
    except (OSError, RuntimeError) as error:  # runtime: encrypted, or packed in another way
        raise ModelError("M201", f"'{path}' cannot be unpacked: {error}") from None


def _place() -> Path:
    """Where FMUs are unpacked: where nobody else can put anything in the place of it."""
    return cache_folder() / "fmu" if is_private("fmu") else _own_place()


@cache
def _own_place() -> Path:
    """A folder of this process."""
    folder = tempfile.mkdtemp(prefix="estimica-fmu-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def require_intact(name: str, folder: Path, unpacked: str) -> None:
    """What is about to be loaded is what was unpacked; `unpacked` is the digest of that."""
    try:
        note = (folder / _DONE).read_bytes()
        intact = hashlib.sha256(note).hexdigest() == unpacked and _is_intact(
            folder, json.loads(note)
        )
    except (OSError, ValueError):
        intact = False
    if not intact:
        raise ModelError(
            "M218",
            f"'{name}': its unpacked copy in '{folder}' has changed since it was loaded, and is "
            "not run; load the FMU again",
        )


def _hash(file: IO[bytes], copy: IO[bytes] | None = None) -> str:
    """The hash of all that is read from a file, which is copied along."""
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return digest.hexdigest()


def _read(path: Path, content: IO[bytes]) -> str:
    """Copy a file and hash the copy."""
    try:
        with open_regular(path) as file:
            sha256 = _hash(file, content)
    except FileNotFoundError:
        hint = did_you_mean_file(path)
        raise ModelError("M200", f"there is no file '{path}'{hint}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ModelError("M200", f"cannot read '{path}': {why}") from None
    content.seek(0)
    return sha256


def _hashes(archive: zipfile.ZipFile) -> dict[str, str]:
    """The hash of each file in an archive, by the path that it is unpacked to."""
    hashes = {}
    for member in archive.infolist():
        if not member.is_dir():
            with archive.open(member) as file:
                parts = [p for p in member.filename.split("/") if p not in ("", ".")]
                hashes["/".join(parts)] = _hash(file)
    return hashes


def _is_intact(folder: Path, hashes: Mapping[str, str]) -> bool:
    """Whether a folder holds these files, all of its own, and no other binaries.

    An FMU may write files of its own, but not among those that are loaded.
    """
    try:
        if not _is_owned_by_user(folder):
            return False
        real = Path(os.path.realpath(folder))
        for name, sha256 in hashes.items():
            path = real / name
            if Path(os.path.realpath(path)) != path:  # a link leads elsewhere
                return False
            with path.open("rb") as file:
                if _hash(file) != sha256:
                    return False
        there = {p.relative_to(folder).as_posix() for p in (folder / _BINARIES).rglob("*")}
        folders = {str(p) for n in hashes for p in PurePosixPath(n).parents}
        return there <= set(hashes) | folders
    except (OSError, ValueError):
        return False


def _is_owned_by_user(folder: Path) -> bool:
    """A folder of this user that others cannot write into."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (
        status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _note(folder: Path, hashes: Mapping[str, str]) -> str:
    """Write down what a folder holds; the digest of that."""
    note = json.dumps(dict(sorted(hashes.items()))).encode()
    path = folder / _DONE
    if not path.is_file() or path.is_symlink() or path.read_bytes() != note:
        path.unlink(missing_ok=True)
        path.write_bytes(note)
    return hashlib.sha256(note).hexdigest()


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    """Into a folder of its own first: another process may be doing the same."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))  # of this user alone
    try:
        for member in archive.infolist():
            archive.extract(member, fresh)
        for _ in range(3):  # another process may be quicker; what it left is looked at
            try:
                fresh.rename(folder)
                return
            except OSError:
                if _is_intact(folder, _hashes(archive)):
                    return
                _remove(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _remove(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _require_sound(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = {m.filename for m in members}
    if "modelDescription.xml" not in names:
        raise ModelError("M201", f"'{path}' is not an FMU: it holds no modelDescription.xml")
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
