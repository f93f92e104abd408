"""The outline of a Modelica text: its classes, where they stand, and their annotations.

Only what a reader sees at a glance: no expressions, no lookup. The compiler does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from estimica.flat.system import Experiment

_TOKEN = re.compile(
    r"""(?:\s+|//[^\n]*|/\*.*?\*/)*
    (?:(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<name>[A-Za-z_][A-Za-z_0-9]*|'(?:[^'\\]|\\.)*')
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<symbol>:=|<=|>=|==|<>|\.[+\-*/^]|.)
    |\Z)""",
    re.VERBOSE | re.DOTALL,
)
CLASS_WORDS = frozenset(
    ["class", "model", "block", "connector", "record", "type", "package", "function", "operator"]
)
_BEFORE = frozenset(
    ["partial", "encapsulated", "expandable", "pure", "impure", "final", "replaceable", "redeclare"]
)


class Token(NamedTuple):
    """A word, number, string or symbol at a place in the text."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ClassOutline:
    """One class definition; `first` and `last` are indices of its tokens."""

    name: str  # qualified within the text
    word: str
    partial: bool
    description: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Outline:
    """All classes of a text in the order of their beginnings."""

    within: str
    tokens: tuple[Token, ...]
    classes: tuple[ClassOutline, ...] = field(default=())

    def find(self, name: str) -> ClassOutline | None:
        """The class of that qualified name."""
        return next((c for c in self.classes if c.name == name), None)

    def models(self) -> list[str]:
        """The names of classes that can be simulated, innermost included."""
        return [
            c.name for c in self.classes if c.word in ("model", "block", "class") and not c.partial
        ]


def tokenise(text: str) -> list[Token]:
    """Words, numbers, strings and symbols of `text`, comments left out."""
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            tokens.append(Token(kind, match[kind], *match.span(kind)))
    return tokens


@lru_cache(maxsize=512)
def outline(text: str) -> Outline:
    """The classes of `text`; an unfinished text gives those that are complete."""
    tokens = tokenise(text)
    reader = _Reader(tokens)
    within = ""
    if tokens and tokens[0].text == "within":
        end = next((i for i, t in enumerate(tokens) if t.text == ";"), 0)
        within = "".join(t.text for t in tokens[1:end])
    return Outline(within, tuple(tokens), tuple(reader.classes()))


def experiment_of(outlined: Outline, name: str) -> Experiment:
    """The experiment annotation of class `name`, empty where it has none."""
    definition = outlined.find(name)
    if definition is None:
        return Experiment()
    values: dict[str, float] = {}
    tokens = _own_tokens(outlined, definition)
    for i, token in enumerate(tokens):
        if token.text == "experiment" and i + 1 < len(tokens) and tokens[i + 1].text == "(":
            values = _numbers(tokens[i + 2 :])
    return Experiment(
        start=values.get("StartTime", 0.0),
        stop=values.get("StopTime"),
        tolerance=values.get("Tolerance"),
        interval=values.get("Interval"),
    )


def head_names(outlined: Outline) -> set[str]:
    """Names that a text uses as the beginning of a dotted name, or imports or extends."""
    tokens = outlined.tokens
    heads = set()
    for i, token in enumerate(tokens):
        if token.kind != "name" or (i and tokens[i - 1].text == "."):
            continue
        follows = tokens[i + 1].text if i + 1 < len(tokens) else ""
        leads = tokens[i - 1].text if i else ""
        if follows == "." or leads in ("extends", "import", "="):
            heads.add(token.text)
    return heads


def _own_tokens(outlined: Outline, outer: ClassOutline) -> list[Token]:
    inner = [
        (c.first, c.last)
        for c in outlined.classes
        if c is not outer and outer.first < c.first and c.last <= outer.last
    ]
    return [
        t
        for i, t in enumerate(outlined.tokens[outer.first : outer.last + 1], outer.first)
        if not any(a <= i <= b for a, b in inner)
    ]


def _numbers(tokens: list[Token]) -> dict[str, float]:
    """`name = number` pairs up to the closing parenthesis."""
    values: dict[str, float] = {}
    for i, token in enumerate(tokens):
        if token.text == ")":
            break
        if token.text == "=" and i and i + 1 < len(tokens):
            negative = tokens[i + 1].text == "-"
            number = tokens[i + 2] if negative and i + 2 < len(tokens) else tokens[i + 1]
            if number.kind == "number":
                values[tokens[i - 1].text] = float(number.text) * (-1.0 if negative else 1.0)
    return values


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def classes(self) -> Iterator[ClassOutline]:
        classes: list[ClassOutline] = []
        stack: list[tuple[str, str, bool, str, int]] = []
        i = 0
        while i < len(self._tokens):
            token = self._tokens[i]
            if token.kind == "name" and token.text in CLASS_WORDS and self._is_definition(i):
                i = self._open(i, stack, classes)
            elif (
                token.text == "end"
                and stack
                and self._text(i + 1) == stack[-1][0].rpartition(".")[2]
            ):
                name, word, partial, description, first = stack.pop()
                classes.append(ClassOutline(name, word, partial, description, first, i + 1))
                i += 2
            else:
                i += 1
        yield from sorted(classes, key=lambda c: c.first)

    def _open(
        self,
        i: int,
        stack: list[tuple[str, str, bool, str, int]],
        classes: list[ClassOutline],
    ) -> int:
        word = self._text(i)
        first = i
        while first and self._text(first - 1) in _BEFORE:
            first -= 1
        partial = any(self._text(k) == "partial" for k in range(first, i))
        at = i + 1
        if self._text(at) in CLASS_WORDS:  # operator record, operator function
            word, at = self._text(at), at + 1
        if self._text(at) == "extends":
            at += 1
        name = ".".join([*([stack[-1][0]] if stack else []), self._text(at)])
        at += 1
        if self._text(at) == "=":
            end = self._semicolon(at)
            classes.append(
                ClassOutline(name, word, partial, self._description(at, end), first, end)
            )
            return end
        description = self._string(at)
        stack.append((name, word, partial, description, first))
        return at

    def _is_definition(self, i: int) -> bool:
        """`operator` and `type` words may stand elsewhere; `end function` never happens."""
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        return following is not None and following.kind == "name" and self._text(i - 1) != "."

    def _text(self, i: int) -> str:
        return self._tokens[i].text if 0 <= i < len(self._tokens) else ""

    def _string(self, i: int) -> str:
        if i < len(self._tokens) and self._tokens[i].kind == "string":
            return self._tokens[i].text[1:-1]
        return ""

    def _semicolon(self, i: int) -> int:
        depth = 0
        for k in range(i, len(self._tokens)):
            text = self._tokens[k].text
            depth += (text in "([{") - (text in ")]}")
            if text == ";" and depth <= 0:
                return k
        return len(self._tokens)

    def _description(self, i: int, end: int) -> str:
        strings = [t.text[1:-1] for t in self._tokens[i:end] if t.kind == "string"]
        return strings[-1] if strings else ""
