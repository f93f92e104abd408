"""A Modelica text cut into words, numbers, strings and signs, with its classes and brackets paired.

Words are told apart by their first character; there are no kinds. The lists end with some "" at
the offset of the end of the text, so that a reader may always look ahead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NoReturn

from estimica.base.errors import SourceError
from estimica.source.syntax import tree

#: More brackets in each other than anybody writes; later stages descend into them one by one.
DEEPEST = 500

_LOOK_AHEAD = 4  # the most words that are looked at together: model extends A (

CLASS_WORDS = frozenset(
    ["class", "model", "block", "connector", "record", "type", "package", "function", "operator"]
)
_OTHER_WORDS = """
    algorithm and annotation break connect constant constrainedby der discrete each else elseif
    elsewhen encapsulated end enumeration equation expandable extends external false final
    flow for if import impure in initial inner input loop not or outer output parameter partial
    protected public pure redeclare replaceable return stream then true when while within"""
KEYWORDS = CLASS_WORDS | frozenset(_OTHER_WORDS.split())

_BLANK = r"(?:\s+|//[^\n]*|/\*(?s:.)*?\*/|\ufeff)+"
_STRING = r'"[^"\\]*(?:\\(?s:.)[^"\\]*)*"'
_QUOTED = r"'(?:[^'\\\n]|\\.)*'"
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_SIGN = r":=|<=|>=|==|<>|\.[-+*/^]"
# What is opened and not closed runs to the end of the text, so that it is tried only once.
_OPEN = r'"(?s:.)*|/\*(?s:.)*'
_WORD = re.compile(
    f"{_BLANK}|[A-Za-z_][A-Za-z_0-9]*|{_NUMBER}|{_STRING}|{_QUOTED}|{_SIGN}|{_OPEN}|(?s:.)"
)
# Base Modelica: names of generated variables with $, and decorations @1, which mean nothing.
_BASE_WORD = re.compile(
    rf"(?:{_BLANK}|@\d+)+|[A-Za-z_$][A-Za-z_0-9$]*|{_NUMBER}|{_STRING}|{_QUOTED}|{_SIGN}|{_OPEN}|(?s:.)"
)
_CLOSED = re.compile(_STRING)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME_STARTS = _LETTERS | {"'", "$"}
_KNOWN_STARTS = _LETTERS | frozenset("0123456789'\"()[]{}+-*/^=<>:;,.")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_CLOSING.values())
_MARKS = CLASS_WORDS | {"end"} | _CLOSING.keys() | _CLOSERS
# What may follow `function f` in an expression; `model M =` opens nothing either.
_NOT_OPENING = frozenset("=(.,)")


def is_name(word: str) -> bool:
    """Whether a word is an identifier, quoted ones included."""
    return word[:1] in _NAME_STARTS and word not in KEYWORDS


def place(source: tree.Source, at: int) -> str:
    """file:line:column of an offset."""
    line, column = source.line_and_column(at)
    return f"{source.label or 'text'}:{line}:{column}"


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The words of a text and where they start.

    `closing` says for the class word of a long class which `end` is its own, and for an opening
    bracket where it is closed.
    """

    source: tree.Source
    texts: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)
    closing: dict[int, int] = field(repr=False)


def tokenise(source: tree.Source, base: bool = False) -> Tokens:
    """The words of `source` without blanks and comments; `base` for Base Modelica."""
    texts, starts, last = _words(source, base)
    _require_known(source, texts, starts, last, base)
    _look_ahead(source, texts, starts)
    return Tokens(source, texts, starts, _pairs(source, texts, starts))


def unchecked_tokens(source: tree.Source) -> Tokens:
    """The words of an expression as they come, for a reader who says himself what is wrong."""
    texts, starts, last = _words(source, base=False)
    if last.startswith("/*") and not (len(last) > 3 and last.endswith("*/")):
        texts.append(last)
        starts.append(len(source.text) - len(last))
    _look_ahead(source, texts, starts)
    return Tokens(source, texts, starts, {})


def _words(source: tree.Source, base: bool) -> tuple[list[str], list[int], str]:
    pieces = (_BASE_WORD if base else _WORD).findall(source.text)
    texts: list[str] = []
    starts: list[int] = []
    for piece, start in zip(pieces, accumulate(map(len, pieces), initial=0), strict=False):
        first = piece[0]
        if first.isspace() or first == "\ufeff" or (len(piece) > 1 and first in "/@"):
            continue
        texts.append(piece)
        starts.append(start)
    return texts, starts, pieces[-1] if pieces else ""


def _look_ahead(source: tree.Source, texts: list[str], starts: list[int]) -> None:
    texts += [""] * _LOOK_AHEAD
    starts += [len(source.text)] * _LOOK_AHEAD


def _require_known(
    source: tree.Source, texts: list[str], starts: list[int], last: str, base: bool
) -> None:
    def fail(at: int, what: str) -> NoReturn:
        raise SourceError("S200", f"{place(source, at)}: {what}")

    if last.startswith("/*") and not (len(last) > 3 and last.endswith("*/")):
        fail(len(source.text) - len(last), "expected '*/' for this '/*', found the end of the text")
    if last.startswith('"') and _CLOSED.fullmatch(last) is None:
        fail(starts[-1], "expected '\"' for this '\"', found the end of the text")
    known = _KNOWN_STARTS | {"$"} if base else _KNOWN_STARTS
    odd = [t for t in set(texts) if t[0] not in known or t == "'"]
    if odd:
        at = min(starts[texts.index(t)] for t in odd)
        character = source.text[at]
        if character == "'":
            fail(at, "expected a second ' on this line, which closes a quoted name; found none")
        fail(at, f"expected Modelica, found the character '{character}' (U+{ord(character):04X})")


def _pairs(source: tree.Source, texts: list[str], starts: list[int]) -> dict[int, int]:
    """Which `end` belongs to which class and which bracket is closed where."""

    def fail(i: int, what: str) -> NoReturn:
        raise SourceError("S200", f"{place(source, starts[i])}: {what}")

    closing: dict[int, int] = {}
    opened: list[tuple[int, str]] = []  # what is open: where, and what closes it
    depth = 0  # of brackets in the class at hand
    for i in [i for i, t in enumerate(texts) if t in _MARKS]:
        word = texts[i]
        if len(opened) > DEEPEST:
            raise SourceError(
                "S045",
                f"{place(source, starts[opened[-1][0]])}: brackets and classes are nested more than"
                f" {DEEPEST} deep; divide what they are in",
            )
        if word in _CLOSING:
            opened.append((i, _CLOSING[word]))
            depth += 1
        elif word in _CLOSERS:
            if not depth:
                fail(i, f"expected no bracket to be closed, because none is open; found '{word}'")
            begin, expected = opened.pop()
            if expected != word:
                where = place(source, starts[begin])
                fail(i, f"expected '{expected}' for '{texts[begin]}' of {where}, found '{word}'")
            closing[begin] = i
            depth -= 1
        elif word == "end":
            name = texts[i + 1]
            if not is_name(name):
                continue
            if depth:
                begin, expected = opened[-1]
                fail(begin, f"expected '{expected}' for this '{texts[begin]}', found 'end {name}'")
            if not opened:
                fail(i, f"expected a class, found 'end {name}'; it closes no class")
            begin, expected = opened.pop()
            if expected != name:
                what = f"{texts[begin]} {expected}"
                where = place(source, starts[begin])
                fail(i, f"expected 'end {expected}' for the {what} of {where}, found 'end {name}'")
            closing[begin] = i
            # The brackets that were open around this class: a redeclaration in a modifier.
            depth = 0
            while depth < len(opened) and opened[-1 - depth][1] in _CLOSERS:
                depth += 1
        else:
            named = i + 2 if texts[i + 1] == "extends" else i + 1
            name = texts[named]
            if is_name(name) and (named == i + 2 or texts[named + 1] not in _NOT_OPENING):
                opened.append((i, name))
                depth = 0
    if opened:
        begin, expected = opened[-1]
        what = f"'{expected}'" if depth else f"'end {expected};'"
        fail(begin, f"expected {what} for this '{texts[begin]}', found the end of the text")
    return closing
