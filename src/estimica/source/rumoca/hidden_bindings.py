"""Declarations such as `Real y = der(m*v)`: what they compute, to be read as an equation instead.

The compiler passes plain bindings on; it refuses some that call functions, take records, or ask for
the derivative of an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estimica.source.syntax.nodes import Node
from estimica.source.syntax.outline import CLASS_WORDS, ClassOutline, Token
from estimica.source.syntax.parser import ParseFailure, Parser

#: words at the beginning of what is not a variable, or one that has its value before the run
_NOT_COMPUTED = CLASS_WORDS | {
    "parameter", "constant", "input", "extends", "import", "redeclare", "replaceable", "outer"
}  # fmt: skip
_SECTIONS = frozenset(("equation", "algorithm", "initial", "external", "annotation", "end"))


@dataclass(frozen=True, slots=True)
class Binding:
    """Tokens from `first` (the sign =) up to `stop` bind a variable; `equation` says the same."""

    first: int
    stop: int
    equation: dict[str, Any]


def computed_bindings(
    tokens: Sequence[Token], outlined: ClassOutline, inner: Mapping[int, int], source: int
) -> tuple[list[Binding], int]:
    """The bindings of a class that call something, and the token before which others may stand.

    inner: first and last tokens of the classes inside.
    """
    found: list[Binding] = []
    clauses, place = _clauses(tokens, outlined, inner)
    for first, stop in clauses:
        words = {t.text for t in tokens[first : min(first + 4, stop)] if t.kind == "name"}
        if not words & _NOT_COMPUTED:
            found.extend(_in_clause(tokens, first, stop, source))
    return found, place


def _clauses(
    tokens: Sequence[Token], outlined: ClassOutline, inner: Mapping[int, int]
) -> tuple[list[tuple[int, int]], int]:
    """Declarations as ranges of tokens, and where they end."""
    clauses: list[tuple[int, int]] = []
    i = first = _after_header(tokens, outlined)
    depth = 0
    while i < outlined.last:
        token = tokens[i]
        if i in inner and depth == 0:
            i = inner[i] + 1
            first = i + 1  # after its semicolon
        elif token.kind == "name" and token.text in _SECTIONS and depth == 0 and i == first:
            return clauses, i
        elif token.text in ("public", "protected") and depth == 0:
            first = i + 1
        elif token.kind == "symbol":
            depth += (token.text in "([{") - (token.text in ")]}")
            if token.text == ";" and depth == 0:
                clauses.append((first, i))
                first = i + 1
        i += 1
    return clauses, first


def _after_header(tokens: Sequence[Token], outlined: ClassOutline) -> int:
    at = outlined.first
    while tokens[at].text != outlined.word:
        at += 1
    at += 2
    while tokens[at].kind == "string" or tokens[at].text == "+":
        at += 1
    return at


def _in_clause(tokens: Sequence[Token], first: int, stop: int, source: int) -> Iterator[Binding]:
    if any(t.text == ":" for t in tokens[first:stop]):
        return  # a size that only the binding tells
    depth, name, i = 0, "", first
    while i < stop:
        token = tokens[i]
        if token.kind == "symbol":
            depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 and token.kind == "name":
            if token.text in ("if", "annotation"):
                return
            name = token.text
        elif depth == 0 and token.text == "=" and name:
            parser = Parser(tokens, i + 1, stop, source)
            try:
                value = parser.expression()
            except ParseFailure:
                return
            rest = tokens[parser.at].text if parser.at < stop else ";"
            if rest == "if":
                return  # of a component that may not be there
            if _calls(value):
                yield Binding(i, parser.at, _equation(tokens, name, i, parser.at, value, source))
            i, name = parser.at, ""
            continue
        i += 1


def _equation(
    tokens: Sequence[Token], name: str, first: int, stop: int, value: Node, source: int
) -> dict[str, Any]:
    span = {"source": source, "start": tokens[first].start, "end": tokens[stop - 1].end}
    left = {"VarRef": {"name": {"name": name}, "span": span, "subscripts": []}}
    return {"Equation": {"lhs": left, "rhs": value, "span": span}}


def _calls(node: Any) -> bool:
    """Whether a function is called, but for the derivative of one variable."""
    if isinstance(node, (list, tuple)):
        return any(_calls(n) for n in node)
    if not isinstance(node, dict):
        return False
    call = node.get("BuiltinCall")
    if call and call["function"] == "Der" and "VarRef" in call["args"][0]:
        return False
    if call or "FunctionCall" in node:
        return True
    return any(_calls(n) for key, n in node.items() if key != "span")
