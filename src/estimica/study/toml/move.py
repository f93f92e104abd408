"""Moves in a TOML text: a `[[table]]` or a key goes before another, with the comments above it."""

from __future__ import annotations

from estimica.base.errors import StudyError
from estimica.study.toml.edit import line_begin, line_end
from estimica.study.toml.layout import Place, Section, locate, sections_of


def item_moved(text: str, place: Place, old: int, new: int) -> str:
    """The text with one of several `[[table]]` at another position; blank lines stay."""
    sections = sections_of(text)
    size = len(place)
    count = 1 + max(int(s.place[size]) for s in sections if s.place[:size] == place)
    blocks = [_block(text, sections, (*place, k)) for k in range(count)]
    order = [k for k in range(count) if k != old]
    order.insert(new, old)
    return _rearranged(text, blocks, order)


def entry_moved(text: str, place: Place, key: str, new: int) -> str:
    """The text with a key of a table at another position."""
    found = locate(sections_of(text), place)
    if found is None or (found.section is None and found.node is None):
        raise StudyError("Q075", f"'{key}' has its place by a dotted key; move it by hand")
    if found.section is not None:
        entries = found.section.entries
        blocks = [(_above(text, e.begin), line_end(text, e.end)) for e in entries]
    else:
        assert found.node is not None
        entries = found.node.entries or ()
        blocks = [(e.begin, e.end) for e in entries]
    names = [e.keys[0] for e in entries]
    if names.count(key) != 1 or new >= len(names):
        raise StudyError("Q075", f"'{key}' is not written in one line; move it by hand")
    order = [k for k, name in enumerate(names) if name != key]
    order.insert(new, names.index(key))
    return _rearranged(text, blocks, order)


def _rearranged(text: str, blocks: list[tuple[int, int]], order: list[int]) -> str:
    """The blocks in another order, each in the room of another, with what lies between as it is."""
    result, at = "", 0
    for (begin, end), k in zip(blocks, order, strict=True):
        result += text[at:begin] + text[blocks[k][0] : blocks[k][1]]
        at = end
    return result + text[at:]


def _block(text: str, sections: tuple[Section, ...], place: Place) -> tuple[int, int]:
    """From the comments above a table to its last value, tables below it included."""
    own = [k for k, s in enumerate(sections) if s.place[: len(place)] == place]
    if own != list(range(own[0], own[-1] + 1)):
        name = f"[[{place[0]}]] {int(place[-1]) + 1}"
        raise StudyError("Q075", f"other tables stand between those of {name}; move it by hand")
    return _above(text, sections[own[0]].begin), line_end(text, sections[own[-1]].last)


def _above(text: str, at: int) -> int:
    """Where the comment lines right above a line begin."""
    begin = line_begin(text, at)
    while begin > 0:
        before = line_begin(text, begin - 1)
        if before == begin or not text[before:begin].lstrip().startswith("#"):
            break
        begin = before
    return begin
