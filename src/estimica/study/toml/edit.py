"""Edits of a TOML text at known spots; whatever stands around them stays as it is.

Written by hand because tomlkit keeps less. Put behind the same functions (0.15.2, 150 lines), it
failed 99 of the 191 tests of edits, mostly for reasons that more lines of ours would not cure:

- The comment above a `[[case]]` belongs to the table before it. It is lost when that case is
  removed, does not move with its own case, and a new key of the table before comes below it.
- A table of dotted keys (`fix.a = 1`, `fix.b = 2`) takes no third one.
- Nothing renames a key. Its inner replacement leaves headers such as `[tune.a]` as they are, and
  makes of `a.b = 1` a `[table]` that swallows the keys below it: the file means something else.
- A `[case.outputs]` that stands apart from its case is moved; the last case that is removed leaves
  `case = []`, and a key of an inline table leaves a gap.
- New lines end with a line feed also in a text of Windows, new keys are not aligned with those
  above, and a comment behind a value does not keep its column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from estimica.base.files.toml import BOM
from estimica.study.toml.layout import Entry, Node, Section
from estimica.study.toml.write import toml_key, toml_value

#: a table that makes a longer line gets a section of its own: two editors side by side show as much
WIDTH = 100
_COMMA = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*,")
_REST = re.compile(r"[ \t]*(,?)[ \t]*(?:#[^\n]*)?\n")
_GAP = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^#"'\s]|[ \t](?![ \t]*\#))*([ ]{2,})\#""")
_EMPTY_LINES = re.compile(r"(?:[ \t]*\r?\n)*")


def newline_of(text: str) -> str:
    """How lines of the text end."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def line_begin(text: str, at: int) -> int:
    """Where the line of a position begins."""
    return max(text.rfind("\n", 0, at) + 1, 1 if text.startswith(BOM) else 0)


def line_end(text: str, at: int) -> int:
    """Where the line of a position ends, before its line break."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1] == "\r" else end


def with_replaced_range(text: str, begin: int, end: int, new: str) -> str:
    """The text with something else between two positions."""
    return text[:begin] + new + text[end:]


def _within(text: str, begin: int, end: int, new: str) -> str:
    """The same inside a line; a comment behind keeps its column where there is room."""
    gap = _GAP.match(text, end)
    if gap is None:
        return with_replaced_range(text, begin, end, new)
    room = gap.end() - gap.start(1) - 1
    room = max(2, room - len(new) + end - begin)
    return text[:begin] + new + text[end : gap.start(1)] + " " * room + text[gap.end() - 1 :]


def with_node(text: str, node: Node, value: object) -> str:
    """Another value in the place of one."""
    new = toml_value(value, text[node.begin : node.end])
    return _within(text, node.begin, node.end, new)


# --- sections ------------------------------------------------------------------------------------


def with_line(text: str, section: Section, key: str, value: object) -> str:
    """One more key at the end of a section, written like those above it."""
    nl, at = newline_of(text), line_end(text, section.last)
    if section.entries:
        last = section.entries[-1]
        indent = text[line_begin(text, last.begin) : last.begin]
        line = indent + _aligned(text, section.entries, key) + toml_value(value)
    elif section.place:
        indent = text[line_begin(text, section.begin) : section.begin]
        line = f"{indent}{toml_key(key)} = {toml_value(value)}"
    else:  # before everything else
        return with_replaced_range(
            text, section.end, section.end, f"{toml_key(key)} = {toml_value(value)}{nl}"
        )
    if isinstance(value, Mapping) and value and section.place and len(line) > WIDTH:
        keys = [str(s) for s in section.place if isinstance(s, str)]
        return with_section(text, [*keys, key], value, at)
    return with_replaced_range(text, at, at, nl + line)


def with_section(
    text: str, keys: Sequence[str], value: Mapping[str, object], at: int, *, several: bool = False
) -> str:
    """A new `[table]` or `[[table]]` behind a position, with a blank line before it."""
    nl = newline_of(text)
    block = nl.join(_section_lines(keys, value, several=several))
    before, after = text[:at].rstrip(" \t\r\n"), text[at:]
    if not before.removeprefix(BOM):
        return before + block + nl + after.lstrip("\r\n")
    if not after.strip():
        return before + nl * 2 + block + nl
    return before + nl * 2 + block + after


def with_header(text: str, keys: Sequence[str], key: str, value: object, before: Section) -> str:
    """The header of a table that only had tables below it, with its first key."""
    nl, at = newline_of(text), line_begin(text, before.begin)
    head = ".".join(map(toml_key, keys))
    return with_replaced_range(
        text, at, at, f"[{head}]{nl}{toml_key(key)} = {toml_value(value)}{nl * 2}"
    )


def without_line(text: str, entry: Entry) -> str:
    """The text without an entry of a section, and the comment behind it."""
    return _without_lines(text, line_begin(text, entry.begin), line_end(text, entry.end))


def without_section(text: str, section: Section) -> str:
    """The text without a section; comments behind its last line stay."""
    begin, end = line_begin(text, section.begin), line_end(text, section.last)
    text = _without_lines(text, begin, end)
    empty = _EMPTY_LINES.match(text, begin)
    text = text[:begin] + text[empty.end() if empty else begin :]
    if not text[begin:].strip() and text[:begin].strip():
        return text[:begin].rstrip(" \t\r\n") + newline_of(text)
    return text


def _without_lines(text: str, begin: int, end: int) -> str:
    rest = text[end:]
    if rest:
        return text[:begin] + rest.removeprefix("\r").removeprefix("\n")
    return text[:begin].removesuffix("\n").removesuffix("\r")


def _section_lines(keys: Sequence[str], value: Mapping[str, object], *, several: bool) -> list[str]:
    head = ".".join(map(toml_key, keys))
    lines, below = [f"[[{head}]]" if several else f"[{head}]"], []
    for key, inner in value.items():
        if inner is None:
            continue
        line = f"{toml_key(key)} = {toml_value(inner)}"
        if isinstance(inner, Mapping) and len(line) > WIDTH:
            below += ["", *_section_lines([*keys, key], inner, several=False)]
        else:
            lines.append(line)
    return lines + below


def _aligned(text: str, entries: Sequence[Entry], key: str) -> str:
    """A key and its equals sign as the neighbours have them."""
    ends = [text.index("=", e.spots[-1][1]) - e.begin for e in entries]
    padded = any(text[e.spots[-1][1] : e.node.begin].find("=") > 1 for e in entries)
    width = ends[0] - 1 if padded and len(set(ends)) == 1 else 0
    return toml_key(key).ljust(width) + _equals(text, entries[-1])


def _equals(text: str, entry: Entry) -> str:
    return "=" if text[entry.spots[-1][1] : entry.node.begin] == "=" else " = "


# --- inline tables and lists ---------------------------------------------------------------------


def with_key(text: str, node: Node, key: str, value: object) -> str:
    """One more key at the end of an inline table."""
    entries = node.entries or ()
    equals = _equals(text, entries[-1]) if entries else " = "
    return _with_part(text, node, len(entries), f"{toml_key(key)}{equals}{toml_value(value)}")


def with_dotted(
    text: str, owner: Section | Node, like: Entry, depth: int, key: str, value: object
) -> str:
    """One more dotted key behind a like one, with the same beginning."""
    head = text[like.begin : like.spots[depth - 1][1]]
    part = f"{head}.{toml_key(key)}{_equals(text, like)}{toml_value(value)}"
    if isinstance(owner, Node):
        return _with_part(text, owner, len(owner.entries or ()), part)
    at, begin = line_end(text, like.end), line_begin(text, like.begin)
    return with_replaced_range(text, at, at, newline_of(text) + text[begin : like.begin] + part)


def with_item(text: str, node: Node, at: int, value: object) -> str:
    """One more item of a list, before the one at an index or at the end."""
    return _with_part(text, node, at, toml_value(value))


def _with_part(text: str, node: Node, at: int, new: str) -> str:
    parts: tuple[Node | Entry, ...] = (node.items if node.entries is None else node.entries) or ()
    if not parts:
        pad = "" if node.entries is None else " "
        if text[node.begin + 1 : node.end - 1].strip():  # a comment
            return with_replaced_range(text, node.begin + 1, node.begin + 1, new)
        return _within(text, node.begin + 1, node.end - 1, pad + new + pad)
    if at < len(parts):
        begin = parts[at].begin
        indent = text[line_begin(text, begin) : begin]
        alone = not indent.strip() and line_begin(text, begin) > node.begin
        return with_replaced_range(
            text, begin, begin, f"{new},{newline_of(text) + indent if alone else ' '}"
        )
    first, last = parts[0], parts[-1]
    comma = _COMMA.match(text, last.end)
    behind = comma.end() if comma else last.end
    end = line_end(text, behind)
    if "\n" in text[node.begin : first.begin] and end < node.end:
        line = newline_of(text) + text[line_begin(text, first.begin) : first.begin] + new
        text = with_replaced_range(text, end, end, line + ("," if comma else ""))
        return text if comma else with_replaced_range(text, last.end, last.end, ",")
    return _within(text, behind, behind, f" {new}," if comma else f", {new}")


def without_part(text: str, node: Node, k: int) -> str:
    """The text without an item of a list or a key of an inline table."""
    parts: tuple[Node | Entry, ...] = (node.items if node.entries is None else node.entries) or ()
    part, is_last = parts[k], k == len(parts) - 1
    start = line_begin(text, part.begin)
    rest = _REST.match(text, part.end)
    alone = start > node.begin and not text[start : part.begin].strip()
    if alone and rest and (is_last or rest[1]):
        return with_replaced_range(text, start, rest.end(), "")
    if not is_last:
        return _within(text, part.begin, parts[k + 1].begin, "")
    comma = _COMMA.match(text, part.end)
    end = comma.end() if comma else part.end
    if k == 0:
        inner = text[node.begin + 1 : part.begin] + text[end : node.end - 1]
        begin, end = (node.begin + 1, node.end - 1) if not inner.strip() else (part.begin, end)
        return _within(text, begin, end, "")
    if "#" in text[parts[k - 1].end : part.begin]:  # the comment of the one before
        return with_replaced_range(text, part.begin, end, "")
    return _within(text, parts[k - 1].end, part.end, "")
