"""Sections that are kept from the compiler, because it flattens them but refuses them later.

`hide` cuts algorithm sections, bodies of functions and, at the second level, equations out of a
text and puts a marker in their place: a variable whose flat name tells in which instances the
section stands, bound to a function whose local variables hold the outer names that the section
uses, so that the compiler resolves them. What was cut out is read by our own parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.base.errors import SourceError
from estimica.source.decode.sections import FlatSections
from estimica.source.libraries.package_text import read_text
from estimica.source.rumoca.hidden_bindings import computed_bindings
from estimica.source.syntax.nodes import BUILTINS, NAMED_ARGUMENT, USER_DOCUMENT, Node
from estimica.source.syntax.outline import ClassOutline, Outline, Token, outline
from estimica.source.syntax.parser import ParseFailure, Parser

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Interpreter

_MARKER = "estimica_marker_"
_BODY = "estimica_body_"
_NAME = "estimica_name_"

_SECTION_ENDS = frozenset(
    ["equation", "algorithm", "initial", "public", "protected", "external", "annotation", "end"]
)


class OuterNames(Exception):
    """Hidden sections use names that are not members of their class; hide again, knowing them."""

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
    kind: str  # equation, initial equation, algorithm, initial algorithm, binding
    nodes: list[dict[str, Any]]
    outer: list[str]  # expressions whose names the compiler resolves, in the order of _NAME numbers


@dataclass(frozen=True, slots=True)
class _Found:
    """A section as it stands in the text; `kept` are connections, which the compiler sees."""

    kind: str
    first: int
    stop: int
    nodes: list[dict[str, Any]]
    kept: list[str]


@dataclass(frozen=True, slots=True)
class _Body:
    statements: list[dict[str, Any]]
    inputs: list[str]
    outer: list[str]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text after its cuts."""

    text: str
    cuts: tuple[Cut, ...]

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


@dataclass(frozen=True, slots=True)
class Hidden:
    """A document and files of libraries without what was cut out of them."""

    document: Rewritten
    files: Mapping[Path, Rewritten]
    sections_by_number: Mapping[int, _Section]
    bodies: Mapping[int, _Body]

    def sections(self, interpreter: Interpreter) -> FlatSections:
        """The hidden code of every instance; function bodies are put back where they belong."""
        from estimica.source.rumoca.hidden_sections import placed

        return placed(self, interpreter)


class Hiding(IntEnum):
    """How much of a text is kept from the compiler."""

    LOOPS = 0  # bodies of functions that have loops without a fixed end, or early exits
    ALGORITHMS = 1  # algorithm sections and bodies of functions
    EQUATIONS = 2  # equations too
    BINDINGS = 3  # and declarations that compute something


def hide(
    document: str, hiding: Hiding, files: Mapping[Path, tuple[int, Hiding]], outer: frozenset[str]
) -> Hidden | None:
    """Cut out what the compiler may refuse; None where there is nothing.

    files: library files to be rewritten as well, each with the number of its spans.
    outer: names that are known not to be members of the classes that use them.
    """
    store = _Store()
    for text in (document, *(read_text(path) for path in files)):
        store.ranks.update(_signatures(outline(text)))
    rewritten = _without(document, store, outer, hiding, USER_DOCUMENT)
    changed: dict[Path, Rewritten] = {}
    for path, (number, how) in files.items():
        result = _without(read_text(path), store, outer, how, number)
        if result.cuts:
            changed[path] = result
    if not rewritten.cuts and not changed:
        return None
    return Hidden(rewritten, changed, store.sections, store.bodies)


def _without(
    text: str, store: _Store, outer: frozenset[str], hiding: Hiding, source: int
) -> Rewritten:
    outlined = outline(text)
    cutter = _Cutter(outlined, store, outer, hiding, source)
    for found in outlined.classes:
        cutter.visit(found)
    cuts = tuple(sorted(cutter.cuts, key=lambda c: (c.start, c.end)))
    parts, at = [], 0
    for cut in cuts:
        parts += [text[at : cut.start], cut.text]
        at = cut.end
    parts.append(text[at:])
    return Rewritten("".join(parts), cuts)


@dataclass(slots=True)
class _Store:
    #: for functions by their full names the numbers of dimensions of their inputs
    ranks: dict[str, list[int]] = field(default_factory=dict)
    sections: dict[int, _Section] = field(default_factory=dict)
    bodies: dict[int, _Body] = field(default_factory=dict)


class _Cutter:
    def __init__(
        self,
        outlined: Outline,
        store: _Store,
        outer: frozenset[str],
        hiding: Hiding,
        source: int,
    ) -> None:
        self._outlined = outlined
        self._tokens = outlined.tokens
        self._outer = outer
        self._hiding = hiding
        self._source = source
        self.cuts: list[Cut] = []
        self._ranks = store.ranks
        self.sections = store.sections
        self.bodies = store.bodies

    def visit(self, outline: ClassOutline) -> None:
        """Cut out what is to be hidden of one class; what we cannot read stays."""
        if outline.word == "function":
            if self._hiding > Hiding.LOOPS or self._has_open_loops(outline):
                sections = [s for s in self._sections_of(outline) if s.kind == "algorithm"]
                if len(sections) == 1:
                    self._function(outline, sections[0])
        elif outline.word in ("model", "block", "class") and self._hiding > Hiding.LOOPS:
            for section in self._sections_of(outline):
                if "algorithm" in section.kind or self._hiding >= Hiding.EQUATIONS:
                    self._section(section)
            if self._hiding is Hiding.BINDINGS:
                self._bindings(outline)

    def _has_open_loops(self, outline: ClassOutline) -> bool:
        words = {t.text for t in self._tokens[outline.first : outline.last]}
        return bool(words & {"while", "break", "return"})

    # --- finding ---

    def _sections_of(self, outline: ClassOutline) -> Iterator[_Found]:
        """The sections of one class that we can read."""
        inner = {c.first: c.last for c in self._outlined.classes if c is not outline}
        i = outline.first
        while i < outline.last - 1:
            if i in inner:
                i = inner[i] + 1
                continue
            kind = self._tokens[i].text
            if kind == "initial":
                kind = f"initial {self._tokens[i + 1].text}"
            if kind in ("equation", "algorithm", "initial equation", "initial algorithm"):
                try:
                    found = self._read(kind, i)
                except ParseFailure:
                    i += 1
                    continue
                yield found
                i = found.stop
            else:
                i += 1

    def _read(self, kind: str, first: int) -> _Found:
        parser = Parser(self._tokens, first + len(kind.split()), None, self._source)
        nodes: list[dict[str, Any]] = []
        kept: list[str] = []
        while not parser.done and parser.word not in _SECTION_ENDS:
            at = parser.at
            node = parser.statement() if "algorithm" in kind else parser.equation()
            if _connects(node) or self._asks_about_connections(at, parser.at):
                kept.append(self._text(at, parser.at))
            else:
                nodes.append(node)
        return _Found(kind, first, parser.at, nodes, kept)

    def _asks_about_connections(self, first: int, stop: int) -> bool:
        """Whether it depends on the connections of a model, which only the compiler knows."""
        return any(t.text in ("Connections", "cardinality") for t in self._tokens[first:stop])

    # --- cutting ---

    def _section(self, found: _Found) -> None:
        if found.nodes:
            number = self._keep(found.kind, found.nodes)
            rest = f" {found.kind} {' '.join(found.kept)}" if found.kept else ""
            self._cut(found.first, found.stop, self._marker(number) + rest)

    def _bindings(self, outline: ClassOutline) -> None:
        """Variables whose declaration computes something are declared only."""
        inner = {c.first: c.last for c in self._outlined.classes if c is not outline}
        found, place = computed_bindings(self._tokens, outline, inner, self._source)
        if found:
            for b in found:
                self._cut(b.first, b.stop, "")
            number = self._keep("binding", [b.equation for b in found])
            start = self._tokens[place].start
            self.cuts.append(Cut(start, start, self._marker(number)))

    def _keep(self, kind: str, nodes: list[dict[str, Any]]) -> int:
        number = len(self.sections) + 1
        calls, names = used_names(nodes, self._ranks)
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

    def _function(self, outline: ClassOutline, found: _Found) -> None:
        declared, inputs, outputs = self._declarations(outline, found.first)
        calls, names = used_names(found.nodes, self._ranks)
        outer = [*calls, *(n for n in names if n.partition(".")[0] not in declared)]
        number = len(self.bodies) + 1
        self.bodies[number] = _Body(found.nodes, inputs, outer)
        entry = f"{_BODY}{number}"
        call = (
            f"{outputs[0]} = {entry}(1)" if len(outputs) == 1 else f"{entry}({', '.join(outputs)})"
        )
        declarations = _name_declarations(outer)
        self._cut(found.first, found.stop, f'{declarations} external "C" {call}; ')
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


def used_names(
    nodes: Sequence[Node], ranks: Mapping[str, list[int]]
) -> tuple[list[str], list[str]]:
    """What hidden nodes refer to: calls (with arguments that only fit in number), and variables."""
    calls: dict[str, None] = {}
    names: dict[str, None] = {}
    for kind, content, bound in _visited(nodes, frozenset()):
        if kind == "VarRef":
            name = content["name"]["name"]
            if name not in bound and name not in ("time", "end"):
                names[name] = None
        elif kind == "FunctionCall" and content.get("outputs") != []:
            name = _called_name(content)
            if name and not name.startswith(NAMED_ARGUMENT) and name not in _STATEMENTS:
                known = _ranks_of(name, ranks)
                calls[f"{name}({', '.join(_dummies(content['args'], known))})"] = None
    return list(calls), list(names)


_STATEMENTS = frozenset({"assert", "terminate", "String", "Integer", *BUILTINS})


def _called_name(content: Node) -> str:
    name: str = (content.get("comp") or content["name"])["name"]
    return name


def _dummies(arguments: Sequence[Node], ranks: Sequence[int]) -> Iterator[str]:
    for k, argument in enumerate(arguments):
        call = argument.get("FunctionCall")
        name = call["name"]["name"] if call else ""
        if name.startswith(NAMED_ARGUMENT):
            yield f"{name.removeprefix(NAMED_ARGUMENT)} = 1"
        else:
            yield _DUMMIES[min(ranks[k], 2)] if k < len(ranks) else "1"


_DUMMIES = ("1", "{1}", "[1]")


def _signatures(outlined: Outline) -> Iterator[tuple[str, list[int]]]:
    """The functions of a text with the numbers of dimensions of their inputs."""
    for found in outlined.classes:
        if found.word != "function":
            continue
        start = found.first
        ranks: list[int] = []
        for clause in _clauses(outlined.tokens, start, found.last):
            if any(t.text in ("algorithm", "external") for t in clause[:2]):
                break
            if any(t.text == "input" for t in clause):
                at = next(i for i, t in enumerate(clause) if t.text == "input")
                ranks += _ranks_in(clause[at:])
        prefix = f"{outlined.within}." if outlined.within else ""
        yield prefix + found.name, ranks


def _ranks_of(name: str, ranks: Mapping[str, list[int]]) -> list[int]:
    """The ranks of the function that `name` means; none where that is not clear."""
    if name in ranks:
        return ranks[name]
    found = [r for n, r in ranks.items() if n.endswith(f".{name}")]
    return found[0] if found and all(r == found[0] for r in found) else []


def _ranks_in(clause: Sequence[Token]) -> Iterator[int]:
    """For `input Real[2] x[3], y` the numbers of dimensions 2 and 1."""
    names = set(_declared_in(clause))
    shared, seen = 0, False
    for i, token in enumerate(clause):
        if token.kind == "name" and token.text in names and (i == 0 or clause[i - 1].text != "."):
            seen = True
            names.discard(token.text)
            yield shared + _dimensions(clause, i + 1)
        elif not seen and token.text == "[":
            shared = _dimensions(clause, i)
            seen = True


def _dimensions(clause: Sequence[Token], i: int) -> int:
    if i >= len(clause) or clause[i].text != "[":
        return 0
    depth, count = 0, 1
    for token in clause[i:]:
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0:
            break
        count += token.text == "," and depth == 1
    return count


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
