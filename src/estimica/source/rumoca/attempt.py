"""Attempts at a class: as it stands first, then with what the compiler refuses kept from it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import EstimicaError
from estimica.flat.expression import Expression
from estimica.flat.system import FlatSystem
from estimica.source.interpreter.expressions import Interpreter
from estimica.source.interpreter.values import ValueMismatch
from estimica.source.libraries.package_text import read_text
from estimica.source.request import WRAPPER, FixedValue, Request, wrapper_text
from estimica.source.rumoca.hidden import Hidden, Hiding, hide
from estimica.source.syntax.nodes import BUILTINS, PADDING
from estimica.source.syntax.outline import Outline, outline
from estimica.source.syntax.parser import Node, ParseFailure, Parser

_CONSTANT = re.compile(r"unresolved Flat reference `([\w.]+)`")
_BALANCE = re.compile(r"unbalanced model: .*\(balance = (-?\d+)\)")
#: equations that may be missing or too many: each is some 30 letters for the compiler to read
MOST_PADDING = 100_000
#: what is hidden of the document and of library files, level by level
_LEVELS: tuple[tuple[Hiding | None, Hiding | None], ...] = (
    (None, None),
    (Hiding.ALGORITHMS, None),
    (Hiding.EQUATIONS, None),
    (Hiding.BINDINGS, None),
    (Hiding.EQUATIONS, Hiding.LOOPS),
    (Hiding.EQUATIONS, Hiding.EQUATIONS),
    (Hiding.BINDINGS, Hiding.BINDINGS),
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is sent to the compiler for a request.

    The compiler counts equations before it hands the flat model over; `padding` (equations too few
    if positive, too many if negative) lets it pass, and the structure stage does the counting.
    """

    request: Request
    library_files: tuple[Path, ...] = ()  # those that may be rewritten
    level: int = 0
    padding: int = 0
    outer: frozenset[str] = frozenset()
    hidden: Hidden | None = None
    patches: tuple[Patch, ...] = ()

    def document(self, fix: Mapping[str, FixedValue], plain: FlatSystem | None) -> tuple[str, str]:
        """The text for the compiler, and the class in it."""
        text = self.hidden.document.text if self.hidden is not None else self.request.document
        # libraries are loaded where the text mentions them
        mention = "".join(f"// {library.name}\n" for library in self.request.libraries)
        if fix or not text or self.padding:
            more = _padding(self.padding)
            text += "\n" + wrapper_text(self.request.class_name, fix, plain, more)
            return text + mention, WRAPPER
        return text + ("\n" + mention if mention else ""), self.request.class_name

    @property
    def changed_files(self) -> dict[Path, str]:
        """Library files in the form that the compiler is to see."""
        hidden = self.hidden.files if self.hidden is not None else {}
        texts = {path: rewritten.text for path, rewritten in hidden.items()}
        for patch in self.patches:
            text = texts.get(patch.path) or read_text(patch.path)
            texts[patch.path] = text.replace(patch.old, patch.new)
        return texts

    @property
    def read_here(self) -> dict[int, Path]:
        """The library files that our own parser reads, by the numbers of their spans."""
        return {number: path for path, number in self._numbers().items()}

    def after(self, message: str) -> Attempt | None:
        """The attempt to make after a refusal; None where none is left."""
        balance = _BALANCE.search(message)
        if balance is not None:
            padding = self.padding - int(balance.group(1))
            possible = padding != self.padding and abs(padding) <= MOST_PADDING
            return dataclasses.replace(self, padding=padding) if possible else None
        if "failed in ToDae" not in message:
            return None
        constant = _CONSTANT.search(message)
        if constant is not None:
            patch = numeric_constant(constant.group(1), self.library_files)
            if patch is not None and patch not in self.patches:
                return dataclasses.replace(self, patches=(*self.patches, patch))
        following = self._hiding(self.level + 1)
        if following is not None and _LEVELS[following.level][1] is Hiding.LOOPS:
            # loops of functions are to blame only where a function is mentioned
            return following if "function" in message else self._hiding(following.level + 1)
        return following

    def knowing(self, names: set[str]) -> Attempt | None:
        """The attempt to make once `names` are known not to be members; None if they were known."""
        if names <= self.outer:
            return self._hiding(self.level + 1)
        known = dataclasses.replace(self, outer=self.outer | names)._hiding(self.level)
        return dataclasses.replace(known, padding=self.padding) if known is not None else None

    def notes(self) -> tuple[str, ...]:
        """What the user should know about the way the class was read."""
        if self.hidden is None:
            return ()
        what = (
            "algorithms and functions" if self.level == 1 else "algorithms, functions and equations"
        )
        return (f"{what} were read by Estimica itself, because the compiler refuses some of them",)

    def _numbers(self) -> dict[Path, int]:
        return {path: -1 - k for k, path in enumerate(self.library_files)}

    def _hiding(self, level: int) -> Attempt | None:
        for k in range(level, len(_LEVELS)):
            own, library = _LEVELS[k]
            assert own is not None
            files = {} if library is None else {p: (n, library) for p, n in self._numbers().items()}
            hidden = hide(self.request.document, own, files, self.outer)
            if hidden is not None and not (self.hidden is not None and hidden == self.hidden):
                return dataclasses.replace(self, level=k, hidden=hidden, padding=0)
        return None


def _padding(count: int) -> str:
    if count == 0:
        return ""
    if count < 0:
        return f"  Real {PADDING}_variable[{-count}];\n"
    equations = " ".join(f"0 = {PADDING}(time + {k});" for k in range(count))
    return (
        f"  pure function {PADDING} input Real x; output Real y; "
        f'external "C" y = {PADDING}(x); end {PADDING};\n'
        f"equation\n  {equations}\n"
    )


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
