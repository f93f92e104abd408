"""Values of a TOML text by their place: put, taken out, put in between, and moved.

What is already there stays as it is written; a table or list is changed key by key, and a
`[[table]]` or a key moves with the comments above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from estimica.base.errors import StudyError
from estimica.study.toml.edit import (
    line_begin,
    line_end,
    with_dotted,
    with_header,
    with_item,
    with_key,
    with_line,
    with_node,
    with_section,
    without_line,
    without_part,
    without_section,
)
from estimica.study.toml.layout import (
    Node,
    Place,
    Section,
    entries_below,
    locate,
    parse_toml,
    sections_of,
)
from estimica.study.toml.short_forms import to_short_form
from estimica.study.toml.write import same_value

NOTHING = object()


def value_at_place(data: object, place: Place) -> Any:
    """The value at a place, or NOTHING."""
    for step in place:
        if isinstance(data, dict) and isinstance(step, str):
            data = data.get(step, NOTHING)
        elif isinstance(data, list) and isinstance(step, int):
            data = data[step] if 0 <= step < len(data) else NOTHING
        else:
            return NOTHING
    return data


def place_text(place: Place) -> str:
    """A place as messages name it."""
    return ": ".join(str(s + 1) if isinstance(s, int) else s for s in place)


def missing_error(place: Place) -> StudyError:
    """The error for a place where nothing stands."""
    return StudyError("Q071", f"there is no '{place_text(place)}' in the study file")


def _no_table(place: Place) -> StudyError:
    return StudyError("Q072", f"{place_text(place)}: each item is a table")


def put(text: str, place: Place, value: object) -> str:
    """The text with a value at a place, whatever stood there."""
    current = value_at_place(parse_toml(text), place)
    if current is NOTHING:
        return _created(text, place, value)
    if same_value(current, value):
        return text
    if isinstance(current, dict) and isinstance(value, Mapping):
        return _put_table(text, place, current, value)
    if _are_alike(current, value):
        return _put_list(text, place, current, list(cast("Sequence[object]", value)))
    location = locate(sections_of(text), place)
    if location is not None and location.node is not None:
        headed = len(place) == 1 and _is_tables(value)
        if not headed:
            return with_node(text, location.node, value)
    if isinstance(place[-1], int):
        raise _no_table(place[:-1])
    return _created(removed(text, place), place, value)


def _put_table(
    text: str, place: Place, current: Mapping[str, object], value: Mapping[str, object]
) -> str:
    for key in current:
        if value.get(key) is None:
            text = removed(text, (*place, key))
    for key, inner in value.items():
        if inner is not None:
            text = put(text, (*place, key), inner)
    return text


def _put_list(text: str, place: Place, current: list[object], value: list[object]) -> str:
    """Items that stay keep their lines; others are changed, taken out or put in between them."""
    old, new = len(current), len(value)
    head = 0
    while head < min(old, new) and same_value(current[head], value[head]):
        head += 1
    tail = 0
    while tail < min(old, new) - head and same_value(
        current[old - 1 - tail], value[new - 1 - tail]
    ):
        tail += 1
    shared = min(old, new) - head - tail
    for k in range(head, head + shared):
        text = put(text, (*place, k), value[k])
    for k in reversed(range(head + shared, old - tail)):
        text = removed(text, (*place, k))
    for k in range(head + shared, new - tail):
        text = _inserted(text, place, k, value[k])
    return text


def _inserted(text: str, place: Place, at: int, value: object) -> str:
    sections = sections_of(text)
    location = locate(sections, place)
    if location is not None and location.node is not None:
        return with_item(text, location.node, at, value)
    size = len(place)
    count = len({s.place[size] for s in sections if s.place[:size] == place})
    before = [s for s in sections if s.place[:size] == place]
    if not isinstance(value, Mapping):
        raise _no_table(place)
    last = max(before, key=lambda s: s.last)
    keys = [str(step) for step in place if isinstance(step, str)]
    text = with_section(text, keys, value, line_end(text, last.last), several=True)
    if at == count:
        return text
    return item_moved(text, place, count, at)


def _created(text: str, place: Place, value: object) -> str:
    data = parse_toml(text)
    n = next(
        k for k in reversed(range(len(place))) if value_at_place(data, place[:k]) is not NOTHING
    )
    for k in reversed(range(n + 1, len(place))):
        value = _wrapped(place[: k + 1], value)
    outer, key = place[:n], place[n]
    if isinstance(key, int):
        held = value_at_place(data, outer)
        if not isinstance(held, list) or key != len(held):
            raise missing_error(place)
        return _inserted(text, outer, key, value)
    return _added(text, outer, key, value)


def _wrapped(place: Place, value: object) -> object:
    """A value inside the table or list that must be there for it."""
    if place[-1] == 0:
        return [value]
    if isinstance(place[-1], int):
        raise missing_error(place)
    return to_short_form(place[:-1], {place[-1]: value})


def _added(text: str, outer: Place, key: str, value: object) -> str:
    if not outer and isinstance(value, Mapping):
        return with_section(text, [key], value, len(text))
    if not outer and isinstance(value, Sequence) and _is_tables(value):
        for item in value:
            text = with_section(text, [key], item, len(text), several=True)
        return text
    sections = sections_of(text)
    location = locate(sections, outer)
    if location is None:
        below = next(s for s in sections if s.place[: len(outer)] == outer)
        return with_header(text, [str(s) for s in outer], key, value, below)
    if location.section is not None:
        return with_line(text, location.section, key, value)
    if location.node is not None:
        return with_key(text, location.node, key, value)
    assert location.owner is not None
    like = location.dotted[-1]
    return with_dotted(text, location.owner, like, location.depth, key, value)


def removed(text: str, place: Place) -> str:
    """The text without what stands at a place, in whatever way it is written."""
    sections = sections_of(text)
    location = locate(sections, place)
    if location is not None and isinstance(location.owner, Node):
        if not location.dotted:
            return without_part(text, location.owner, location.index)
        index = (location.owner.entries or ()).index(location.dotted[-1])
        return removed(without_part(text, location.owner, index), place)
    size = len(place)
    gone: list[tuple[int, Any, Any]] = [
        (s.begin, without_section, s) for s in sections if size and s.place[:size] == place
    ]
    for section, entry in entries_below(sections, place):
        if section.place[:size] != place:
            gone.append((entry.begin, without_line, entry))
    for _, take_out, what in sorted(gone, key=lambda g: g[0], reverse=True):
        text = take_out(text, what)
    return text


def _are_alike(current: object, value: object) -> bool:
    """Whether two lists can be changed item by item."""
    if not (isinstance(current, list) and current and isinstance(value, (list, tuple)) and value):
        return False
    return _is_tables(value) or not _is_tables(current)


def _is_tables(value: object) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return bool(value) and all(isinstance(v, Mapping) for v in value)


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
    location = locate(sections_of(text), place)
    if location is None or (location.section is None and location.node is None):
        raise StudyError("Q075", f"'{key}' has its place by a dotted key; move it by hand")
    if location.section is not None:
        entries = location.section.entries
        blocks = [(_above(text, e.begin), line_end(text, e.end)) for e in entries]
    else:
        assert location.node is not None
        entries = location.node.entries or ()
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
