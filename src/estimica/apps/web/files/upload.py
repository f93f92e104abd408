"""Upload: a file that is being received; its type, size and content are looked at on the way."""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from estimica.base.errors import WebError

TEXTS = (
    *(".csv", ".tsv", ".txt", ".dat", ".z", ".mpt", ".dta"),
    *(".mo", ".mop", ".bmo", ".toml", ".json", ".py"),
)
BINARIES = (".parquet", ".xlsx", ".mat", ".fmu")
HEAD = 1024  # bytes that tell what a file is: marks of formats stand in the first few
#: files in one archive. Chosen: an FMU with sources and documentation has thousands
MEMBERS = 20_000
#: how many times the upload limit an archive may have when it is unpacked. Chosen: text shrinks by
#: as much, a zip bomb by thousands
SWELLING = 10
PROGRAMS = (
    *(b"\x7fELF", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"),
    b"\xca\xfe\xba\xbe",
)
ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh9", b"%PDF")
UTF16 = (b"\xff\xfe", b"\xfe\xff")
HDF = b"\x89HDF\r\n\x1a\n"


def require_type(name: str) -> None:
    """The ending is one of those that may be sent."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in (*TEXTS, *BINARIES):
        known = ", ".join(sorted((*TEXTS, *BINARIES)))
        what = f"files that end in '{suffix}'" if suffix else "files without an ending"
        raise WebError("G014", f"'{name}': {what} are not taken; there are {known}")


class IncomingUpload:
    """A file on its way: beside its place under a hidden name until all of it is here."""

    def __init__(self, path: Path, name: str, limit: int, *, replace: bool) -> None:
        self._path = path
        self._name = name
        self._limit = limit
        self._replace = replace
        self._suffix = path.suffix.lower()
        self._head = b""
        self._size = 0
        self._part = path.with_name(f".{secrets.token_hex(8)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(self._part, flags | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise WebError("G015", f"cannot write '{name}': {error.strerror}") from None
        self._file = os.fdopen(handle, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._part.unlink()

    def write(self, chunk: bytes) -> None:
        """The next bytes; too many, or of another kind, end it."""
        self._size += len(chunk)
        if self._size > self._limit:
            raise WebError(
                "G016",
                f"'{self._name}' is larger than the {self._limit / 1e6:g} MB that are taken; "
                "copy it into the folder",
            )
        if len(self._head) < HEAD:
            self._head += chunk[: HEAD - len(self._head)]
            if len(self._head) == HEAD:
                self._require_head()
        if self._suffix in TEXTS and b"\0" in chunk and not self._head.startswith(UTF16):
            raise self._odd("it is not text")
        try:
            self._file.write(chunk)
        except OSError as error:
            raise WebError("G015", f"cannot write '{self._name}': {error.strerror}") from None

    def finish(self) -> Path:
        """Put the whole file in its place."""
        if not self._size:
            raise self._odd("it is empty")
        self._require_head()
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if self._suffix in (".xlsx", ".fmu"):
                self._require_archive()
            self._put()
        except OSError as error:
            raise WebError("G015", f"cannot write '{self._name}': {error.strerror}") from None
        return self._path

    def _put(self) -> None:
        if self._replace:
            os.replace(self._part, self._path)
            return
        try:
            os.link(self._part, self._path)  # fails where one has come meanwhile
        except FileExistsError:
            raise WebError("G013", f"there is a file '{self._name}' already") from None
        except OSError:  # no hard links on this file system
            if self._path.exists():
                raise WebError("G013", f"there is a file '{self._name}' already") from None
            os.replace(self._part, self._path)

    def _require_head(self) -> None:
        head, suffix = self._head, self._suffix
        windows = head.startswith(b"MZ") and b"\0" in head  # a column may be called MZ
        if head.startswith(PROGRAMS) or windows:
            raise self._odd("it is a program")
        if suffix in TEXTS:
            if head.startswith((*ARCHIVES, HDF, b"PAR1", b"\x89PNG", b"\xff\xd8\xff", b"\x80\x04")):
                raise self._odd("it is not text")
            if suffix == ".json" and not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(
                (b"{", b"[")
            ):
                raise self._odd("it is not a JSON object")
            return
        kinds: dict[str, tuple[Callable[[bytes], bool], str]] = {
            ".parquet": (lambda h: h.startswith(b"PAR1"), "a Parquet file"),
            ".xlsx": (lambda h: h.startswith(b"PK\x03\x04"), "a workbook"),
            ".fmu": (lambda h: h.startswith(b"PK\x03\x04"), "an FMU"),
            ".mat": (_is_matlab, "a MATLAB file"),
        }
        fits, what = kinds[suffix]
        if not fits(head):
            raise self._odd(f"it is not {what}")

    def _require_archive(self) -> None:
        """What an archive holds is what its ending says, and unpacks inside its own folder."""
        needed = "modelDescription.xml" if self._suffix == ".fmu" else "[Content_Types].xml"
        try:
            with zipfile.ZipFile(self._part) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise self._odd("it is damaged") from None
        if needed not in {m.filename for m in members}:
            raise self._odd(f"it holds no {needed}")
        if len(members) > MEMBERS or sum(m.file_size for m in members) > SWELLING * self._limit:
            raise self._odd("it is too large when it is unpacked")
        for member in members:
            place = PurePosixPath(member.filename.replace("\\", "/"))
            if place.is_absolute() or ".." in place.parts or ":" in member.filename:
                raise self._odd(f"'{member.filename}' in it would be unpacked elsewhere")

    def _odd(self, why: str) -> WebError:
        return WebError("G017", f"'{self._name}' is not what its ending says: {why}")


def _is_matlab(head: bytes) -> bool:
    if head.startswith((b"MATLAB ", HDF)) or head[512:520] == HDF:
        return True
    if len(head) < 20:
        return False
    kinds = struct.unpack_from("<i", head)[0], struct.unpack_from(">i", head)[0]
    return any(_is_version_4(kind) for kind in kinds)


def _is_version_4(kind: int) -> bool:
    """Version 4 begins with a number MOPT: machine, 0, precision, type of the first matrix."""
    if not 0 <= kind <= 4052:
        return False
    m, o, p, t = (kind // 10**k % 10 for k in (3, 2, 1, 0))
    return m <= 4 and o == 0 and p <= 5 and t <= 2
