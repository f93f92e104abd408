"""Visible text: nothing that steers a terminal or deceives a reader is left in it."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from estimica.base.visible import is_visible, visible, visible_line

#: marks of scripts that are drawn, although Unicode calls them formats, or has not named them
DRAWN = {
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    *range(0x13430, 0x13440),
}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("a\0b", "a\\u0000b"),
        ("\x9b2J", "\\u009b2J"),
        ("evil\u202egpj.exe", "evil\\u202egpj.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("done\rerror", "done\\u000derror"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\x07\x08\x7f", "\\u0007\\u0008\\u007f"),
    ],
)
def test_what_is_not_seen_becomes_its_code(raw: str, shown: str) -> None:
    assert visible(raw) == shown
    assert is_visible(shown)
    assert not is_visible(raw)
    shown.encode("utf-8")


@pytest.mark.parametrize("text", ["", "a b", "line\nline\r\nline", "\ttab", "äß℃Ω 温度 ﷼ é̈", "❤️"])
def test_what_is_seen_stays(text: str) -> None:
    assert visible(text) == text
    assert is_visible(text)


def test_a_name_stays_in_its_line() -> None:
    assert visible_line("a\tb\r\nc\x1b\u202e ä") == "a\\u0009b\\u000d\\u000ac\\u001b\\u202e ä"


def test_every_control_format_and_surrogate_of_unicode_is_caught() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    every = (chr(n) for n in range(sys.maxunicode + 1))
    left = {ord(c) for c in every if unicodedata.category(c) in hidden and is_visible(c)}
    assert left - DRAWN == {ord("\t"), ord("\n")}
