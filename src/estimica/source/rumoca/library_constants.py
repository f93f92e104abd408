"""Constants of a library that the compiler fails to evaluate, as numbers in their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import EstimicaError
from estimica.flat.expression import Expression
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.interpreter.values import ValueMismatch
from estimica.source.libraries.package_text import read_text
from estimica.source.syntax.nodes import BUILTINS
from estimica.source.syntax.outline import Outline, outline
from estimica.source.syntax.parser import Node, ParseFailure, Parser

_NOTHING: Node = {
    "predefined_types": {"real": 0, "integer": 1, "boolean": 2, "string": 3},
    "effective_types": {},
    "enumeration_type_roots": [],
    "variables": {},
    "enum_literal_ordinals": {},
    "functions": {},
    "equations": [],
}


@dataclass(frozen=True, slots=True)
class Patch:
    """In file `path`, `old` is to be read as `new`."""

    path: Path
    old: str
    new: str


def numeric_constant(name: str, files: Sequence[Path]) -> Patch | None:
    """A patch that gives the constant of that full name its number; None if we cannot find it."""
    package, _, last = name.rpartition(".")
    for path in files:
        if not (path.stem == package.rpartition(".")[2] or path.name == "package.mo"):
            continue
        text = read_text(path)
        outlined = outline(text)
        within = f"{outlined.within}." if outlined.within else ""
        if not any(within + c.name == package for c in outlined.classes):
            continue
        span = _binding(outlined, last)
        if span is None:
            return None
        try:
            value = _value(outlined, last, ())
        except (ParseFailure, ValueMismatch, EstimicaError, AssertionError):
            return None
        start = outlined.tokens[span[0]].start
        end = outlined.tokens[span[1] - 1].end
        head = text[text.rfind("\n", 0, start) + 1 : start]
        return Patch(path, head + text[start:end], f"{head}{value!r}")
    return None


def _binding(outlined: Outline, name: str) -> tuple[int, int] | None:
    """The tokens of the expression in `constant … name(…) = expression`."""
    tokens = outlined.tokens
    for i, token in enumerate(tokens):
        if token.text != name or tokens[i - 1].kind != "name" or i < 2:
            continue
        at = i + 1
        if tokens[at].text == "(":
            depth = 1
            while depth:
                at += 1
                depth += (tokens[at].text == "(") - (tokens[at].text == ")")
            at += 1
        if tokens[at].text == "=":
            parser = Parser(tokens, at + 1)
            parser.expression()
            return at + 1, parser.at
    return None


def _value(outlined: Outline, name: str, above: tuple[str, ...]) -> float:
    span = _binding(outlined, name)
    if span is None or name in above:
        raise ValueMismatch(f"the constant '{name}' has no value")
    node = _with_builtins(Parser(outlined.tokens, *span).expression())
    frame = {n: _constant(outlined, n, (*above, name)) for n in _names(node)}
    value = Interpreter(_NOTHING).scalar(node, dict(frame))
    return value.value


def _constant(outlined: Outline, name: str, above: tuple[str, ...]) -> Expression:
    from estimica.flat.expression import const

    return const(_value(outlined, name, above))


def _names(node: object) -> set[str]:
    if isinstance(node, dict):
        reference = node.get("VarRef")
        if reference is not None:
            return {reference["name"]["name"]}
        return {n for v in node.values() for n in _names(v)}
    return {n for v in node for n in _names(v)} if isinstance(node, list) else set()


def _with_builtins(node: Node) -> Node:
    """`Modelica.Math.asin` and the like as the built-in functions they are."""
    if isinstance(node, list):
        return [_with_builtins(v) for v in node]
    if not isinstance(node, dict):
        return node
    call = node.get("FunctionCall")
    if call is not None and call["name"]["name"].rpartition(".")[2] in BUILTINS:
        function = BUILTINS[call["name"]["name"].rpartition(".")[2]]
        return {"BuiltinCall": {"function": function, "args": _with_builtins(call["args"])}}
    return {k: _with_builtins(v) for k, v in node.items()}
