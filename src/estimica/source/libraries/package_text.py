"""A package in a folder as one text, as if it had been written into one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.base.files.read import read_bytes
from estimica.source.syntax.outline import outline, tokenise


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of the whole text from `start` on stand in `path` from `offset` on."""

    start: int
    length: int
    path: Path
    offset: int


@dataclass(frozen=True, slots=True)
class PackageText:
    """The text of a package with its sub-packages and classes put into their places."""

    text: str
    pieces: tuple[Piece, ...]


def read_package(root: Path) -> PackageText:
    """The package in folder (or file) `root`."""
    parts: list[str] = []
    pieces: list[Piece] = []
    at = 0
    for text, path, offset in _fragments(root):
        parts.append(text)
        if path is not None:
            pieces.append(Piece(at, len(text), path, offset))
        at += len(text)
    return PackageText("".join(parts), tuple(pieces))


def read_text(path: Path) -> str:
    """The text of a Modelica file, UTF-8 or, in old files, Latin-1."""
    content = _content(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def library_text(path: Path) -> str:
    """The text of a library's file; what is not UTF-8 stands in comments and does not matter."""
    return _content(path).decode("utf-8", errors="replace")


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise SourceError("S009", f"cannot read '{path}': {error.strerror}") from None


def _fragments(folder: Path) -> Iterator[tuple[str, Path | None, int]]:
    if not folder.is_dir():
        inner = read_text(folder)
        begin = _after_within(inner)
        yield inner[begin:], folder, begin
        return
    main = folder / "package.mo"
    text = read_text(main)
    start, inside = _after_within(text), _after_header(text)
    yield text[start:inside], main, start
    for child in _children(folder):
        yield "\n", None, 0
        if child.is_dir():
            yield from _fragments(child)
        else:
            inner = read_text(child)
            begin = _after_within(inner)
            yield inner[begin:], child, begin
    yield "\n", None, 0
    yield text[inside:], main, inside


def _children(folder: Path) -> list[Path]:
    children = {p.name: p for p in folder.iterdir() if (p / "package.mo").is_file()}
    children |= {p.stem: p for p in folder.glob("*.mo") if p.name != "package.mo"}
    order = folder / "package.order"
    named = library_text(order).split() if order.is_file() else []
    first = [children.pop(name) for name in named if name in children]
    return [*first, *(children[name] for name in sorted(children))]


def _after_within(text: str) -> int:
    tokens = tokenise(text[:2000])
    if not tokens or tokens[0].text != "within":
        return 0
    return next((t.end for t in tokens if t.text == ";"), 0)


def _after_header(text: str) -> int:
    """After `package Name "description"`: classes may stand there whatever follows."""
    outlined = outline(text)
    outer = outlined.classes[0]
    tokens = outlined.tokens
    at = outer.first
    while tokens[at].text != outer.word:
        at += 1
    at += 1
    while tokens[at + 1].kind == "string" or tokens[at + 1].text == "+":
        at += 1
    return tokens[at].end
