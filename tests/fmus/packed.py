"""FMUs that are packed wrongly, made from right ones."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path


def repacked(
    path: Path, out: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]
) -> Path:
    """A copy whose files went through `change`: (name, content) in, the same or None out."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as archive:
        for name in source.namelist():
            changed = change(name, source.read(name))
            if changed is not None:
                archive.writestr(*changed)
    return out


def without_binary(path: Path, out: Path) -> Path:
    """No binary at all."""
    return repacked(path, out, lambda n, c: None if n.startswith("binaries/") else (n, c))


def for_another_platform(path: Path, out: Path, folder: str = "win64") -> Path:
    """Binaries for another system only."""

    def move(name: str, content: bytes) -> tuple[str, bytes]:
        parts = name.split("/")
        return ("/".join((parts[0], folder, parts[2])) if len(parts) == 3 else name), content

    return repacked(path, out, move)


def with_broken_binary(path: Path, out: Path) -> Path:
    """A binary that the system cannot load."""
    return repacked(path, out, lambda n, c: (n, b"no library" if n.startswith("bin") else c))


def without_description(path: Path, out: Path) -> Path:
    """No modelDescription.xml."""
    return repacked(path, out, lambda n, c: None if n.endswith(".xml") else (n, c))


def with_description(path: Path, out: Path, text: str) -> Path:
    """Another modelDescription.xml."""
    return repacked(path, out, lambda n, c: (n, text.encode() if n.endswith(".xml") else c))


def corrupt(path: Path, out: Path) -> Path:
    """Half of the bytes."""
    content = path.read_bytes()
    out.write_bytes(content[: len(content) // 2])
    return out


def with_escaping_file(path: Path, out: Path, name: str = "../../escaped.txt") -> Path:
    """A file that would be written outside of the folder into which the FMU is unpacked."""
    repacked(path, out, lambda n, c: (n, c))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(name, "out")
    return out
