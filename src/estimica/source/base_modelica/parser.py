"""Base Modelica text to a document, by the grammar in grammar.lark."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Lark, Token, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, VisitError

from estimica.base.errors import SourceError
from estimica.source.base_modelica.document import (
    Class,
    Component,
    Document,
    External,
    Modification,
    Node,
    Section,
)
from estimica.source.base_modelica.expressions import Reference, plain_name, span_of_text
from estimica.source.base_modelica.statements import Statements
from estimica.source.syntax.parser import unescaped

if TYPE_CHECKING:
    from lark.tree import Meta

_GRAMMAR = Path(__file__).with_name("grammar.lark")
_SECTION = re.compile(
    r"""^[ \t]*(?:(?:partial|pure|impure)\s+)*(model|function|record|type|class|package)\s+
    ('(?:[^'\\]|\\.)*'|\w+)|^[ \t]*((?:initial\s+)?(?:equation|algorithm))\b""",
    re.MULTILINE | re.VERBOSE,
)
_PARTITION = re.compile(r"^[ \t]*(?:sub)?partition\b", re.MULTILINE)
_UNSEEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)


def parse(text: str, label: str) -> Document:
    """The classes of a Base Modelica text; `label` names its file in messages."""
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(error, text, label) from None
    try:
        document: Document = _Classes().transform(tree)
    except VisitError as error:
        if not isinstance(error.orig_exc, _OtherEnd):
            raise
        raise SourceError("S201", f"{label}:{error.orig_exc}") from None
    return document


@lru_cache(maxsize=1)
def grammar() -> str:
    """The grammar, which the meaning of a text depends on."""
    return _GRAMMAR.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _lark() -> Lark:
    return Lark(grammar(), parser="lalr", propagate_positions=True)


# --- errors --------------------------------------------------------------------------------------


def _syntax_error(error: UnexpectedInput, text: str, label: str) -> SourceError:
    token = getattr(error, "token", None)
    if isinstance(error, UnexpectedEOF) or (token is not None and token.type == "$END"):
        where = _construct(text, len(text))
        return SourceError(
            "S200",
            f"{label}: the Base Modelica text ends too early, in {where}; write it out again",
        )
    at = error.pos_in_stream or 0
    line = text.count("\n", 0, at) + 1
    word = str(token).strip() if token is not None else text[at]
    if isinstance(error, UnexpectedCharacters) and word in "\"'":
        word = f"{word}, which is not closed,"
    clocked = _PARTITION.search(text, 0, at + len(word))
    if clocked is not None:
        line = text.count("\n", 0, clocked.end()) + 1
        what = "clocked partitions are not supported"
        return SourceError("S202", f"{label}:{line}: {what}; leave the clocked part out")
    where = _construct(text, at)
    quoted = " ".join(text.splitlines()[line - 1].split())[:100]
    return SourceError("S200", f"{label}:{line}: {word} cannot stand here, in {where}: {quoted}")


def _construct(text: str, at: int) -> str:
    """The section and the class around a place, by the words before it."""
    words = _SECTION.findall(_UNSEEN.sub("", text[:at]))
    owner = next((f"{word} {name}" for word, name, _ in reversed(words) if word), "the text")
    section = " ".join(words[-1][2].split()) if words else ""
    return f"the {section} section of {owner}" if section else owner


# --- classes and declarations --------------------------------------------------------------------


class _OtherEnd(Exception):
    """A class that is closed by the name of another."""


class _Declaration(NamedTuple):
    name: str
    subscripts: list[Node]
    modification: Modification
    comment: tuple[str, Modification]
    span: Node


class _Visibility(NamedTuple):
    word: str


class _Guess(NamedTuple):
    target: Node
    value: Node


class _Annotation(NamedTuple):
    modification: Modification


class _Extends(NamedTuple):
    name: str


@v_args(inline=True)
class _Classes(Statements):
    """The rules of the grammar for classes and declarations."""

    def start(self, *found: Any) -> Document:
        name = ""
        classes: list[Class] = []
        constants: list[Component] = []
        for item in found:
            if isinstance(item, Document):
                name = item.name
                classes += item.classes
                constants += item.constants
            elif isinstance(item, Class):
                classes.append(item)
        return Document(name, classes, constants, self.references)

    def package(self, token: Token, _: str, *rest: Any) -> Document:
        classes = [item for item in rest if isinstance(item, Class)]
        constants = [c for item in rest if isinstance(item, list) for c in item]
        return Document(plain_name(token), classes, constants, ())

    def class_prefix(self, *_: Any) -> None:
        return None

    def class_word(self, token: Token) -> Token:
        return token

    @v_args(meta=True)
    def long_class(self, meta: Meta, children: list[Any]) -> Class:
        word, token, description, *rest = [c for c in children if c is not None]
        components: list[Component] = []
        protected = False
        if plain_name(rest[-1]) != plain_name(token):
            raise _OtherEnd(f"{rest[-1].line}: {word} {token} is closed by 'end {rest[-1]}'")
        for item in rest[:-1]:
            if isinstance(item, _Visibility):
                protected = item.word == "protected"
            elif isinstance(item, list):
                components += [_protected(c) for c in item] if protected else item
        return Class(
            str(word),
            plain_name(token),
            description,
            components,
            [c for c in rest if isinstance(c, Class)],
            [(g.target, g.value) for g in rest if isinstance(g, _Guess)],
            [s for s in rest if isinstance(s, Section)],
            next((e for e in rest if isinstance(e, External)), None),
            next((a.modification for a in rest if isinstance(a, _Annotation)), Modification()),
            next((e.name for e in rest if isinstance(e, _Extends)), ""),
            span=span_of_text(meta),
        )

    @v_args(meta=True)
    def short_class(self, meta: Meta, children: list[Any]) -> Class:
        kept = [c for c in children[:-3] if c is not None and not isinstance(c, frozenset)]
        word, token, base = [c for c in kept if isinstance(c, str)]
        subscripts, modifiers, (description, annotation) = children[-3:]
        return Class(
            str(word),
            plain_name(token),
            description,
            annotation=annotation,
            base=base,
            subscripts=subscripts or (),
            modification=Modification(modifiers or {}),
            span=span_of_text(meta),
        )

    @v_args(meta=True)
    def enumeration(self, meta: Meta, children: list[Any]) -> Class:
        word, token, literals, (description, _) = children[-4:]
        return Class(
            str(word),
            plain_name(token),
            description,
            base="enumeration",
            literals=literals or (),
            span=span_of_text(meta),
        )

    @v_args(meta=True)
    def derivative(self, meta: Meta, children: list[Any]) -> Class:
        word, token, base, *inputs, (description, _) = [c for c in children if c is not None]
        return Class(
            str(word),
            plain_name(token),
            description,
            derivative_of=base,
            derivative_by=[plain_name(i) for i in inputs],
            span=span_of_text(meta),
        )

    def literals(self, *found: str) -> list[str]:
        return list(found)

    def literal(self, token: Token, _: object) -> str:
        return plain_name(token)

    def parameter_equation(self, target: Node, value: Node, _: object) -> _Guess:
        return _Guess(target, value)

    def extends(self, name: str, _: object) -> _Extends:
        return _Extends(name)

    def visibility(self, token: Token) -> _Visibility:
        return _Visibility(str(token))

    def external_call(self, result: Reference | None, token: Token, *arguments: Node) -> External:
        given = [a for a in arguments if a is not None]
        return External("", plain_name(token), given)

    def external(self, token: Token | None, call: External | None, _: object) -> External:
        language = unescaped(token) if token is not None else "C"
        call = call or External()
        return External(language, call.function, call.arguments)

    def prefix(self, token: Token) -> frozenset[str]:
        return frozenset((str(token),))

    def component_clause(self, *children: Any) -> list[Component]:
        prefixes = frozenset(p for c in children if isinstance(c, frozenset) for p in c)
        type_name, sizes, *declarations = [c for c in children if not isinstance(c, frozenset)]
        return [
            Component(
                d.name,
                type_name,
                prefixes,
                [*d.subscripts, *(sizes or [])],
                d.modification,
                d.comment[0],
                d.comment[1],
                False,
                d.span,
            )
            for d in declarations
        ]

    @v_args(meta=True)
    def declaration(self, meta: Meta, children: list[Any]) -> _Declaration:
        name, subscripts, modification, comment = children
        given = modification or Modification()
        return _Declaration(name, subscripts or [], given, comment, span_of_text(meta))

    def type_name(self, *parts: str | None) -> str:
        return str(parts[-1])

    def name(self, *tokens: Token) -> str:
        return ".".join(plain_name(t) for t in tokens)

    def modification(self, inner: dict[str, Modification], value: Node | None) -> Modification:
        return Modification(inner, value)

    def value_modification(self, value: Node) -> Modification:
        return Modification(value=value)

    def modifiers(self, *found: tuple[str, Modification] | None) -> dict[str, Modification]:
        return dict(f for f in found if f is not None)

    def spread(self, token: Token) -> Token:
        return token

    def argument(self, *children: Any) -> tuple[str, Modification]:
        *spreads, name, modification, _ = children
        given: Modification = modification or Modification()
        return name, Modification(given.inner, given.value, "each" in spreads)

    def annotation(self, modifiers: dict[str, Modification]) -> _Annotation:
        return _Annotation(Modification(modifiers))

    def description(self, *tokens: Token | None) -> str:
        return "".join(unescaped(t) for t in tokens if t is not None)

    def comment(self, description: str, annotation: _Annotation | None) -> tuple[str, Modification]:
        return description, annotation.modification if annotation is not None else Modification()


def _protected(component: Component) -> Component:
    return Component(
        component.name,
        component.type_name,
        component.prefixes,
        component.subscripts,
        component.modification,
        component.description,
        component.annotation,
        True,
        component.span,
    )
