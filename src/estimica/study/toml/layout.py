"""Layout of a TOML text: where each table, key and value stands, so that one can be changed alone.

The text is one that `tomllib` accepts; what is wrong with any other is told by `parsed`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from estimica.base.errors import StudyError
from estimica.base.files.toml import BOM, load_toml

Place = tuple[str | int, ...]
_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\r\n]+")
_TEXTS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"""(?:"{0,2}(?!"))', re.DOTALL),
    re.compile(r"'''.*?'''(?:'{0,2}(?!'))", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """A value: where it stands, and its parts where it is a list or an inline table."""

    begin: int
    end: int
    items: tuple[Node, ...] | None = None
    entries: tuple[Entry, ...] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, which may be dotted, and its value."""

    keys: tuple[str, ...]
    spots: tuple[tuple[int, int], ...]  # of each part of the key
    node: Node

    @property
    def begin(self) -> int:
        """Where the key begins."""
        return self.spots[0][0]

    @property
    def end(self) -> int:
        """Where the value ends."""
        return self.node.end


@dataclass(frozen=True, slots=True)
class Section:
    """A `[table]` or `[[table]]` with what stands below its header; the first has no header."""

    place: Place
    spots: tuple[tuple[int, int], ...]
    begin: int  # of the header
    end: int
    entries: tuple[Entry, ...]

    @property
    def last(self) -> int:
        """Where its last value, or its header, ends."""
        return self.entries[-1].end if self.entries else self.end


@dataclass(frozen=True, slots=True)
class Location:
    """What stands at a place: an entry, an item of a list, a section, or parts of dotted keys."""

    owner: Section | Node | None = None
    entry: Entry | None = None
    node: Node | None = None
    index: int = 0  # of the item in its list, or of the entry in its table
    section: Section | None = None
    dotted: tuple[Entry, ...] = ()
    depth: int = 0  # how many parts of the dotted keys lead here


@lru_cache(maxsize=16)  # a page asks for many values of one text
def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text, not to be changed, or an error that names the line."""
    try:
        return load_toml(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        message = _AT.sub("", str(error))
        end = "at the end of the text: " if "end of document" in message else ""
        where = f"line {at[1]}, column {at[2]}: " if at else end
        raise StudyError("Q070", where + message.replace(" (at end of document)", "")) from None


@lru_cache(maxsize=16)
def sections_of(text: str) -> tuple[Section, ...]:
    """The sections in the order of the text."""
    return tuple(_Scanner(text).sections())


def locate(sections: tuple[Section, ...], place: Place) -> Location | None:
    """What stands at a place; None where nothing does, or only tables further below."""
    for section in sections:
        if section.place == place:
            return Location(section=section)
    for section in sections:
        if section.place == place[: len(section.place)]:
            location = _among(section, section.entries, place[len(section.place) :])
            if location:
                return location
    return None


def entries_below(sections: tuple[Section, ...], place: Place) -> Iterator[tuple[Section, Entry]]:
    """The entries of sections whose keys lead to a place or beyond."""
    for section in sections:
        for entry in section.entries:
            if (*section.place, *entry.keys)[: len(place)] == place:
                yield section, entry


def _among(owner: Section | Node, entries: tuple[Entry, ...], rest: Place) -> Location | None:
    dotted = []
    for k, entry in enumerate(entries):
        size = len(entry.keys)
        if rest == entry.keys:
            return Location(owner, entry, entry.node, k)
        if rest[:size] == entry.keys:
            return _inside(entry.node, rest[size:])
        if entry.keys[: len(rest)] == rest:
            dotted.append(entry)
    return Location(owner, dotted=tuple(dotted), depth=len(rest)) if dotted else None


def _inside(node: Node, rest: Place) -> Location | None:
    if node.entries is not None:
        return _among(node, node.entries, rest)
    k = rest[0]
    if node.items is None or not isinstance(k, int) or not 0 <= k < len(node.items):
        return None
    if len(rest) == 1:
        return Location(node, None, node.items[k], k)
    return _inside(node.items[k], rest[1:])


class _Scanner:
    """Walks once through a text that is known to be right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith(BOM) else 0
        self.counts: dict[Place, int] = {}

    def sections(self) -> Iterator[Section]:
        start = self.at
        yield Section((), (), start, start, tuple(self._lines()))
        while self.at < len(self.text):
            begin = self.at
            brackets = 2 if self.text.startswith("[[", begin) else 1
            self.at += brackets
            keys, spots = self._key()
            self.at += brackets
            place = self._placed(keys, several=brackets == 2)
            end = self.at
            yield Section(place, spots, begin, end, tuple(self._lines()))

    def _placed(self, keys: tuple[str, ...], *, several: bool) -> Place:
        place: Place = ()
        for k, key in enumerate(keys):
            place = (*place, key)
            if several and k == len(keys) - 1:
                self.counts[place] = self.counts.get(place, 0) + 1
            if place in self.counts:
                place = (*place, self.counts[place] - 1)
        return place

    def _lines(self) -> Iterator[Entry]:
        self._skip(_BLANK)
        while self.at < len(self.text) and self.text[self.at] != "[":
            yield self._entry()
            self._skip(_BLANK)

    def _entry(self) -> Entry:
        keys, spots = self._key()
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        return Entry(keys, spots, self._node())

    def _key(self) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
        """A dotted key; what follows it is the next thing to be read."""
        keys, spots = [], []
        while True:
            self._skip(_SPACE)
            begin = self.at
            if self.text[begin] in "\"'":
                self._string()
                keys.append(str(load_toml(f"k = {self.text[begin : self.at]}")["k"]))
            else:
                self._skip(_BARE)
                keys.append(self.text[begin : self.at])
            spots.append((begin, self.at))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return tuple(keys), tuple(spots)
            self.at += 1

    def _node(self) -> Node:
        begin, first = self.at, self.text[self.at]
        if first == "[":
            items = tuple(self._parts("]", self._node))
            return Node(begin, self.at, items=items)
        if first == "{":
            entries = tuple(self._parts("}", self._entry))
            return Node(begin, self.at, entries=entries)
        if first in "\"'":
            self._string()
        else:
            self._skip(_PLAIN)
            self.at = begin + len(self.text[begin : self.at].rstrip())
        return Node(begin, self.at)

    def _parts(self, close: str, read: Any) -> Iterator[Any]:
        self.at += 1
        self._skip(_BLANK)
        while self.text[self.at] != close:
            yield read()
            self._skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(_BLANK)
        self.at += 1

    def _string(self) -> None:
        for kind in _TEXTS:
            match = kind.match(self.text, self.at)
            if match:
                self.at = match.end()
                return
        raise AssertionError(f"no text at {self.at}")  # tomllib has accepted it

    def _skip(self, what: re.Pattern[str]) -> None:
        match = what.match(self.text, self.at)
        self.at = match.end() if match else self.at
