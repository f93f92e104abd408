"""Visible text: characters that steer a terminal or deceive a reader are written as codes.

A name may come from anywhere: a study, a store, a model, a column. An escape character in it would
steer the terminal, a bidirectional one would turn a line of a page around. All that is printed or
sent to a page passes here, and nothing before: files and stores keep what was written.
"""

from __future__ import annotations

import re

#: controls but tab and newline; then what is drawn as nothing or moves others
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0, DEL and C1: what terminals obey
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # fillers, joiners, separators
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width; line ends; bidirectional order
    "\u3164\ufeff\uffa0\ufff0-\ufffb"  # more fillers, byte order mark, annotation
    "\ud800-\udfff"  # halves of pairs, which are not a text in UTF-8
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # formats, tags
)
#: a return alone goes back to the beginning of a line and overwrites it
_PATTERN = re.compile(f"[{_HIDDEN}]|\r(?!\n)")
_IN_LINE = re.compile(f"[{_HIDDEN}\t\n\r]")


def visible(text: str) -> str:
    """The text with a code such as \\u001b in the place of each character that is not seen.

    The code is what TOML, JSON and Python write for the same character.
    """
    return text if text.isascii() and text.isprintable() else _PATTERN.sub(_code, text)


def visible_line(text: str) -> str:
    """The same in one line: tabs and line ends are codes too, so that nobody's name adds a line."""
    return text if text.isascii() and text.isprintable() else _IN_LINE.sub(_code, text)


def is_visible(text: str) -> bool:
    """Whether all of a text can be seen."""
    return _PATTERN.search(text) is None


def _code(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
