"""ServedFolder: the served folder, and the only way from a name to a path."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from estimica.apps.web.files.upload import IncomingUpload, require_type
from estimica.base.errors import WebError
from estimica.base.files.read import open_file
from estimica.base.visible import visible_line

# all chosen: a list is made while somebody waits, and a folder may be a whole disk
DEPTH = 6  # folders below the served one that lists look into
ENTRIES = 20_000  # files and folders that one list looks at
LISTED = 1_000  # files in one list: more cannot be read
HEAD = 200_000  # bytes of a TOML file in which a table of a study must stand
MODELS = (".mo", ".mop", ".bmo", ".fmu", ".py")
CODE = (".py", ".fmu")  # what would run as a program of this machine
DATA = (
    *(".csv", ".tsv", ".txt", ".dat", ".asc", ".prn", ".data", ".z", ".mpt", ".dta"),
    *(".parquet", ".pq", ".xlsx", ".xlsm", ".xls", ".mat"),
)
_PASSED_OVER = {"__pycache__", "node_modules", "site-packages"}
_NO_STUDY = {"pyproject.toml", "estimica-forms.toml"}
_STUDY = re.compile(
    rb"^\s*\[{1,2}\s*\"?(model|static|tune|case|estimate|criterion)\"?\s*[.\]]", re.MULTILINE
)


def is_code(name: str) -> bool:
    """Whether a file would run as a program when a study uses it."""
    return name.lower().endswith(CODE)


@dataclass(frozen=True)
class ListedFile:
    """A file of the folder."""

    name: str  # relative, with "/"
    path: Path
    size: int  # bytes
    modified: float  # seconds since 1970
    code: bool  # would run as a program


@dataclass(frozen=True)
class Listing:
    """Files of one kind, by name; the note says what was not looked at."""

    files: tuple[ListedFile, ...]
    note: str = ""

    def __iter__(self) -> Iterator[ListedFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


class ServedFolder:
    """What a browser may see and write: files of `root` that are not hidden."""

    def __init__(self, root: str | os.PathLike[str], *, upload_limit: int = 200_000_000) -> None:
        self.root = Path(root).resolve(strict=True)
        self.upload_limit = upload_limit

    def at(self, name: str) -> Path:
        """The path of a name, links resolved; it need not exist yet, but is inside."""
        return self._found(safe_parts(name), name)

    def existing(self, name: str) -> Path:
        """The path of a file that is there."""
        path = self.at(name)
        if not path.is_file():
            raise WebError("G012", f"there is no file '{name}' in the served folder")
        return path

    def name_of(self, path: str | os.PathLike[str]) -> str:
        """The name of a path of the folder, relative and with '/'."""
        whole = Path(os.path.abspath(path))
        for root in (self.root, Path(os.path.abspath(self.root))):
            if whole.is_relative_to(root):
                return unicodedata.normalize("NFC", whole.relative_to(root).as_posix())
        raise WebError("G011", f"'{whole.name}' is outside the served folder")

    def url_of(self, path: str | os.PathLike[str]) -> str:
        """The name of a path as a part of an address."""
        return quote(self.name_of(path))

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path, links resolved, is a visible one inside."""
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.root):
            return False
        return not any(part.startswith(".") for part in real.relative_to(self.root).parts)

    def _found(self, parts: Iterable[str], name: str) -> Path:
        path = self.root
        for part in parts:
            path = path / _spelt(path, part)
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            raise refused(name, "its links lead in a circle") from None
        if not self.holds(real):
            raise WebError("G011", f"'{name}' leads out of the served folder")
        if real.exists() and not (real.is_file() or real.is_dir()):
            raise refused(name, "it is neither a file nor a folder")
        return real

    def studies(self) -> Listing:
        """The TOML files that hold a table of a study, broken ones too."""
        return self._listing(_looks_like_a_study)

    def models(self) -> Listing:
        """Modelica and Base Modelica files, FMUs and Python files."""
        return self._listing(lambda entry: entry.name.lower().endswith(MODELS))

    def data_files(self) -> Listing:
        """Tables of data, by the endings that readers know."""
        return self._listing(lambda entry: entry.name.lower().endswith(DATA))

    def _listing(self, wanted: Callable[[os.DirEntry[str]], bool]) -> Listing:
        walk = _Walk(self.root)
        files: list[ListedFile] = []
        for entry in walk:
            if len(files) == LISTED:
                walk.notes.append(f"only the first {LISTED} files are listed")
                break
            if wanted(entry) and (not entry.is_symlink() or self.holds(entry.path)):
                files.append(self._listed(entry))
        files.sort(key=lambda f: f.name.casefold())
        return Listing(tuple(files), "; ".join(dict.fromkeys(walk.notes)))

    def _listed(self, entry: os.DirEntry[str]) -> ListedFile:
        stat = entry.stat()
        name = self.name_of(entry.path)
        return ListedFile(name, Path(entry.path), stat.st_size, stat.st_mtime, is_code(name))

    def save(
        self, name: str, stream: BinaryIO | Iterable[bytes] | bytes, *, replace: bool = False
    ) -> Path:
        """Keep what was sent, all of it or nothing; a file of that name stays unless `replace`."""
        chunks = [stream] if isinstance(stream, bytes) else _chunks(stream)
        with self._receiving(name, replace) as receiving:
            for chunk in chunks:
                receiving.write(chunk)
            return receiving.finish()

    async def save_from(
        self, name: str, stream: AsyncIterable[bytes], *, replace: bool = False
    ) -> Path:
        """Like `save`, from a stream that is waited for."""
        with self._receiving(name, replace) as receiving:
            async for chunk in stream:
                receiving.write(chunk)
            return receiving.finish()

    def _receiving(self, name: str, replace: bool) -> IncomingUpload:
        parts = safe_new_name(name)
        require_type(name)
        path = self._found(parts, name)
        if path.is_dir():
            raise refused(name, "it is a folder")
        if path.exists() and not replace:
            raise WebError("G013", f"there is a file '{name}' already; say that it is replaced")
        if not path.parent.is_dir():
            raise WebError("G012", f"there is no folder '{'/'.join(parts[:-1])}'")
        return IncomingUpload(path, name, self.upload_limit, replace=replace)


class _Walk:
    """The visible files below a folder, nearest first, no links to folders followed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes: list[str] = []
        self._seen = 0

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        level = [str(self.root)]
        for _ in range(DEPTH + 1):
            below: list[str] = []
            for folder in level:
                for entry in self._entries(folder):
                    if self._seen >= ENTRIES:
                        self.notes.append(
                            f"the folder is large: only {ENTRIES} of its files were looked at"
                        )
                        return
                    self._seen += 1
                    if _is_folder(entry):
                        below.append(entry.path)
                    elif _is_file(entry):
                        yield entry
            level = below
        if level:
            self.notes.append(f"folders more than {DEPTH} deep were not looked into")

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name == "pyvenv.cfg":
                        return []  # an environment of Python
                    if not entry.name.startswith(".") and entry.name not in _PASSED_OVER:
                        found.append(entry)
                    if len(found) > ENTRIES:
                        break
        except OSError:
            self.notes.append("some folders could not be read")
        return sorted(found, key=lambda e: e.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        if not entry.is_file():
            return False
        entry.stat()
    except OSError:
        return False
    try:
        safe_parts(unicodedata.normalize("NFC", entry.name))
    except WebError:
        return False  # what could not be asked for is not offered
    return True


def _looks_like_a_study(entry: os.DirEntry[str]) -> bool:
    if not entry.name.lower().endswith(".toml") or entry.name.lower() in _NO_STUDY:
        return False
    try:
        with open_file(entry.path) as file:
            return _STUDY.search(file.read(HEAD)) is not None
    except OSError:
        return False


def _spelt(folder: Path, part: str) -> str:
    """A name as the disk spells it: some systems store é as two characters."""
    if part.isascii() or (folder / part).exists():
        return part
    try:
        names = os.listdir(folder)
    except OSError:
        return part
    return next((n for n in names if unicodedata.normalize("NFC", n) == part), part)


def _chunks(stream: BinaryIO | Iterable[bytes]) -> Iterable[bytes]:
    read = getattr(stream, "read", None)
    return iter(lambda: read(1 << 20), b"") if read else stream


LONGEST = 1000  # characters of a name with its folders: with those of the root within PATH_MAX
LONGEST_PART = 255  # bytes, what file systems allow
DEEPEST = 32  # folders of a name; chosen: nobody nests as deep
_DRIVE = re.compile(r"[A-Za-z]:")
_ESCAPED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
_RESERVED = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE
)
_FORBIDDEN = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}  # controls, bidi and invisible characters
_NOT_IN_NEW = set('<>:"|?*%#')


def safe_parts(name: str) -> tuple[str, ...]:
    """The folders and the file of a name relative to the served folder, normalised.

    The name is decoded already: what still holds an escaped dot or slash is refused.
    """
    if not name or name.isspace():
        raise refused(name, "it is empty")
    name = unicodedata.normalize("NFC", name)
    if len(name) > LONGEST:
        raise refused(name[:40] + "…", f"it has more than {LONGEST} characters")
    if any(unicodedata.category(c) in _FORBIDDEN for c in name):
        raise refused(name, "it holds control characters, or ones that cannot be seen")
    if "\\" in name or _ESCAPED.search(name):
        raise refused(name, "it holds a backslash or an escape; write folders with '/'")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        raise refused(name, "write it relative to the served folder")
    parts = tuple(name.split("/"))
    if len(parts) > DEEPEST:
        raise refused(name[:40] + "…", f"it is more than {DEEPEST} folders deep")
    for part in parts:
        _require_part(part, name)
    return parts


def _require_part(part: str, name: str) -> None:
    if part in ("", ".", ".."):
        raise refused(name, "it does not stay in the served folder")
    if part.startswith("."):
        raise refused(name, "hidden files are not served")
    if part != part.rstrip(" ."):
        raise refused(name, "a part ends in a dot or a space")
    if len(part.encode()) > LONGEST_PART:
        raise refused(name[:40] + "…", f"a part has more than {LONGEST_PART} bytes")
    if _RESERVED.match(part) or _DRIVE.match(part):
        raise refused(name, f"'{part}' means a device or a drive on some machines")


def safe_new_name(name: str) -> tuple[str, ...]:
    """The parts of a name for a new file, which every file system can hold."""
    parts = safe_parts(name)
    odd = sorted(_NOT_IN_NEW & set(name))
    if odd:
        raise refused(name, f"leave out {' '.join(odd)} in names of new files")
    return parts


def refused(name: str, why: str) -> WebError:
    """The error about a name; what cannot be printed is shown as its code."""
    return WebError("G010", f"'{visible_line(name)}' is not a name of a file here: {why}")
