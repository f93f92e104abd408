"""Sections that are kept from the compiler, because it flattens them but refuses them later.

`hide` cuts algorithm sections, bodies of functions and, at the second level, equations out of a
text and puts a marker in their place: a variable whose flat name tells in which instances the
section stands, bound to a function whose local variables hold the outer names that the section
uses, so that the compiler resolves them. What was cut out is read by our own parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimica.base.errors import SourceError
from estimica.source.nodes import BUILTINS, NAMED_ARGUMENT, Node
from estimica.source.outline import ClassOutline, Outline, Token
from estimica.source.parser import ParseFailure, Parser

if TYPE_CHECKING:
    from estimica.source.interpreter import Interpreter

#: beginnings and names of what `hide` and the wrapper put into a text
GENERATED = "estimica_"
PADDING = "estimica_padding"
_MARKER = "estimica_marker_"
_BODY = "estimica_body_"
_NAME = "estimica_name_"

_SECTION_WORDS = frozenset(
    ["equation", "algorithm", "initial", "public", "protected", "external", "annotation"]
)
_OPENERS = frozenset(["if", "for", "while", "when"])


@dataclass(frozen=True, slots=True)
class Section:
    """One algorithm section of one instance; its names are those of the flat model."""

    statements: Sequence[Node]
    component: str = ""


@dataclass(slots=True)
class HiddenSections:
    """Hidden code of every instance, with the names of the flat model."""

    algorithms: list[Section] = field(default_factory=list)
    initial_algorithms: list[Section] = field(default_factory=list)
    equations: list[Node] = field(default_factory=list)
    initial_equations: list[Node] = field(default_factory=list)
    whens: list[Node] = field(default_factory=list)
    assertions: list[Node] = field(default_factory=list)


class OuterNames(Exception):
    """Hidden sections use names that are no members of their class; hide again, knowing them."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of the original text and what stands in its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Section:
    kind: str  # equation, initial equation, algorithm, initial algorithm
    nodes: list[dict[str, Any]]
    outer: list[str]  # expressions whose names the compiler resolves, in the order of _NAME numbers


@dataclass(frozen=True, slots=True)
class _Body:
    statements: list[dict[str, Any]]
    inputs: list[str]
    outer: list[str]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A rewritten text with what was cut out of it."""

    text: str
    cuts: tuple[Cut, ...]
    sections_by_number: Mapping[int, _Section]
    bodies: Mapping[int, _Body]

    def original_offset(self, offset: int) -> int:
        """Where in the original text the character at `offset` of the rewritten one stands."""
        shift = 0
        for cut in self.cuts:
            begin = cut.start + shift
            if offset < begin:
                break
            if offset < begin + len(cut.text):
                return cut.start
            shift += len(cut.text) - (cut.end - cut.start)
        return offset - shift

    def sections(self, interpreter: Interpreter) -> HiddenSections:
        """The hidden code of every instance; function bodies are put back where they belong."""
        from estimica.source.hidden_sections import placed

        return placed(self, interpreter)


def is_generated(name: str) -> bool:
    """Whether a flat variable is none of the user's."""
    return name.rpartition(".")[2].startswith(GENERATED)


def hide(text: str, outlined: Outline, outer: frozenset[str], equations: bool) -> Hidden | None:
    """Cut out what the compiler may refuse; None where there is nothing (or nothing readable).

    `outer` are names that are known to be no members of the classes that use them.
    """
    cutter = _Cutter(outlined, outer, equations)
    try:
        for outline in outlined.classes:
            cutter.visit(outline)
    except ParseFailure:
        return None
    if not cutter.cuts:
        return None
    cuts = tuple(sorted(cutter.cuts, key=lambda c: c.start))
    parts, at = [], 0
    for cut in cuts:
        parts += [text[at : cut.start], cut.text]
        at = cut.end
    parts.append(text[at:])
    return Hidden("".join(parts), cuts, cutter.sections, cutter.bodies)


class _Cutter:
    def __init__(self, outlined: Outline, outer: frozenset[str], equations: bool) -> None:
        self._outlined = outlined
        self._tokens = outlined.tokens
        self._outer = outer
        self._equations = equations
        self.cuts: list[Cut] = []
        self.sections: dict[int, _Section] = {}
        self.bodies: dict[int, _Body] = {}

    def visit(self, outline: ClassOutline) -> None:
        if outline.word == "function":
            self._function(outline)
        elif outline.word in ("model", "block", "class"):
            for kind, first, stop in self._found_sections(outline):
                if "algorithm" in kind:
                    self._section(kind, first, stop)
                elif self._equations:
                    self._equation_section(kind, first, stop)

    # --- finding ---------------------------------------------------------------------------------

    def _found_sections(self, outline: ClassOutline) -> Iterator[tuple[str, int, int]]:
        """(kind, first token, token after the last) of the sections of one class."""
        inner = {c.first: c.last for c in self._outlined.classes if c is not outline}
        i = outline.first
        while self._tokens[i].text != outline.word:
            i += 1
        begin: tuple[str, int] | None = None
        depth = 0
        while i < outline.last - 1:
            if i in inner:
                i = inner[i] + 1
                continue
            text = self._tokens[i].text
            if text == "end" and self._tokens[i + 1].text in _OPENERS:
                depth -= 1
                i += 2
                continue
            if begin and text in _OPENERS and self._starts_block(i):
                depth += 1
            if depth == 0 and text in _SECTION_WORDS and self._starts_section(i):
                if begin:
                    yield begin[0], begin[1], i
                    begin = None
                if text == "initial":
                    begin = (f"initial {self._tokens[i + 1].text}", i)
                    i += 1
                elif text in ("equation", "algorithm"):
                    begin = (text, i)
            i += 1
        if begin:
            yield begin[0], begin[1], outline.last - 1

    def _starts_block(self, i: int) -> bool:
        """Whether if/for/while/when opens a block: it then begins an equation or statement."""
        return self._tokens[i - 1].text in (";", "then", "else", "loop", "equation", "algorithm")

    def _starts_section(self, i: int) -> bool:
        if self._tokens[i].text == "initial":
            return self._tokens[i + 1].text in ("equation", "algorithm")
        if self._tokens[i].text == "annotation":
            return self._tokens[i - 1].text == ";"
        return True

    # --- cutting ---------------------------------------------------------------------------------

    def _section(self, kind: str, first: int, stop: int) -> None:
        body = first + len(kind.split())
        parser = Parser(self._tokens, body, stop)
        nodes = parser.statements()
        if not nodes:
            return
        number = self._keep(kind, nodes)
        self._cut(first, stop, self._marker(number))

    def _equation_section(self, kind: str, first: int, stop: int) -> None:
        parser = Parser(self._tokens, first + len(kind.split()), stop)
        nodes: list[dict[str, Any]] = []
        kept: list[str] = []
        while not parser.done:
            at = parser.at
            node = parser.equation()
            if _connects(node):
                kept.append(self._text(at, parser.at))
            else:
                nodes.append(node)
        if not nodes:
            return
        number = self._keep(kind, nodes)
        rest = f" {kind} " + " ".join(kept) if kept else ""
        self._cut(first, stop, self._marker(number) + rest)

    def _keep(self, kind: str, nodes: list[dict[str, Any]]) -> int:
        number = len(self.sections) + 1
        calls, names = used_names(nodes)
        outer = [*calls, *(n for n in names if n in self._outer)]
        self.sections[number] = _Section(kind, nodes, outer)
        return number

    def _marker(self, number: int) -> str:
        locals_ = _name_declarations(self.sections[number].outer)
        function = f"{_MARKER}names_{number}"
        return (
            f" protected pure function {function} input Real x; output Real y;{locals_} "
            f'external "C" y = {function}(x); end {function}; '
            f"Real {_MARKER}{number} = {function}(0); "
        )

    def _function(self, outline: ClassOutline) -> None:
        found = [s for s in self._found_sections(outline) if s[0] == "algorithm"]
        if len(found) != 1:
            return
        _, first, stop = found[0]
        statements = Parser(self._tokens, first + 1, stop).statements()
        declared, inputs, outputs = self._declarations(outline, first)
        calls, names = used_names(statements)
        outer = [*calls, *(n for n in names if n.partition(".")[0] not in declared)]
        number = len(self.bodies) + 1
        self.bodies[number] = _Body(statements, inputs, outer)
        entry = f"{_BODY}{number}"
        call = (
            f"{outputs[0]} = {entry}(1)" if len(outputs) == 1 else f"{entry}({', '.join(outputs)})"
        )
        self._cut(first, stop, f'{_name_declarations(outer)} external "C" {call}; ')
        self._purify(outline)

    def _purify(self, outline: ClassOutline) -> None:
        at = next(
            i for i in range(outline.first, outline.last) if self._tokens[i].text == "function"
        )
        if self._tokens[at - 1].text not in ("pure", "impure"):
            start = self._tokens[at].start
            self.cuts.append(Cut(start, start, "pure "))

    def _declarations(
        self, outline: ClassOutline, stop: int
    ) -> tuple[set[str], list[str], list[str]]:
        """Names that a function declares; its inputs; its outputs."""
        declared: set[str] = set()
        inputs: list[str] = []
        outputs: list[str] = []
        start = next(i for i in range(outline.first, stop) if self._tokens[i].text == "function")
        for clause in _clauses(self._tokens, start + 2, stop):
            names = _declared_in(clause)
            declared.update(names)
            words = {t.text for t in clause[:3]}
            if "input" in words:
                inputs += names
            elif "output" in words:
                outputs += names
        return declared, inputs, outputs

    def _cut(self, first: int, stop: int, text: str) -> None:
        start = self._tokens[first].start
        end = self._tokens[stop].start
        self.cuts.append(Cut(start, end, text))

    def _text(self, first: int, stop: int) -> str:
        return " ".join(t.text for t in self._tokens[first:stop])


def used_names(nodes: Sequence[Node]) -> tuple[list[str], list[str]]:
    """What hidden nodes refer to: calls (with arguments that only count them), and variables."""
    calls: dict[str, None] = {}
    names: dict[str, None] = {}
    for kind, content, bound in _visited(nodes, frozenset()):
        if kind == "VarRef":
            name = content["name"]["name"]
            if name not in bound and name not in ("time", "end"):
                names[name] = None
        elif kind == "FunctionCall":
            name = _called_name(content)
            if name and not name.startswith(NAMED_ARGUMENT) and name not in _STATEMENTS:
                calls[f"{name}({', '.join(_dummies(content['args']))})"] = None
    return list(calls), list(names)


_STATEMENTS = frozenset({"assert", "terminate", "String", "Integer", *BUILTINS})


def _called_name(content: Node) -> str:
    name: str = (content.get("comp") or content["name"])["name"]
    return name


def _dummies(arguments: Sequence[Node]) -> Iterator[str]:
    for argument in arguments:
        call = argument.get("FunctionCall")
        name = call["name"]["name"] if call else ""
        named = name.startswith(NAMED_ARGUMENT)
        yield f"{name.removeprefix(NAMED_ARGUMENT)} = 1" if named else "1"


def _visited(node: Any, bound: frozenset[str]) -> Iterator[tuple[str, Any, frozenset[str]]]:
    """Every tagged node below `node`, with the loop indices that are bound there."""
    if isinstance(node, (list, tuple)):
        for item in node:
            yield from _visited(item, bound)
        return
    if not isinstance(node, dict):
        return
    for key, content in node.items():
        if key == "span":
            continue
        inner = bound
        if isinstance(content, dict) and "indices" in content:
            names = [i.get("ident") or i.get("name") for i in content["indices"]]
            inner = bound | frozenset(n for n in names if n)
        if isinstance(content, dict) and key[:1].isupper():
            yield key, content, inner
        yield from _visited(content, inner)


def _connects(node: Node) -> bool:
    kind, content = next(iter(node.items()))
    if kind == "Call":
        name: str = content["name"]
        return name == "connect" or name.startswith("Connections.")
    found = False
    if kind == "ForEquation":
        found = any(_connects(n) for n in content["body"])
    elif kind == "IfEquation":
        bodies = [*(b for _, b in content["branches"]), content["else"]]
        found = any(_connects(n) for body in bodies for n in body)
    return found


def _name_declarations(outer: Sequence[str]) -> str:
    if not outer:
        return ""
    lines = " ".join(f"Real {_NAME}{k} = {text};" for k, text in enumerate(outer, 1))
    return f" protected {lines}"


def _clauses(tokens: Sequence[Token], start: int, stop: int) -> Iterator[list[Token]]:
    clause: list[Token] = []
    for token in tokens[start:stop]:
        if token.text == ";":
            yield clause
            clause = []
        elif token.text not in ("public", "protected") and not (
            token.kind == "string" and not clause
        ):
            clause.append(token)


def _declared_in(clause: Sequence[Token]) -> list[str]:
    """The names of a component clause: `input Real x[3] = 1, y` gives x and y."""
    names = []
    depth = 0
    for i, token in enumerate(clause):
        depth += (token.text in "([{" and token.kind == "symbol") - (
            token.text in ")]}" and token.kind == "symbol"
        )
        after = clause[i + 1].text if i + 1 < len(clause) else ";"
        if token.kind != "name" or depth or (i and clause[i - 1].text in (".", "=")):
            continue
        before = clause[i - 1] if i else None
        follows = before is not None and (before.kind == "name" or before.text in ("]", ","))
        ends = after in ("[", "(", "=", ",", ";", "if") or clause[i + 1].kind == "string"
        if follows and ends and (after != "[" or _is_name_before_bracket(clause, i)):
            names.append(token.text)
    return names


def _is_name_before_bracket(clause: Sequence[Token], i: int) -> bool:
    """In `Real[3] x` the bracket belongs to the type: then a name follows the closing one."""
    depth = 0
    for k in range(i + 1, len(clause)):
        depth += (clause[k].text == "[") - (clause[k].text == "]")
        if depth == 0:
            return k + 1 >= len(clause) or clause[k + 1].kind != "name"
    raise SourceError("S004", f"a bracket is not closed after '{clause[i].text}'")
