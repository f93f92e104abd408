"""A function as a model: its inputs become inputs and parameters, its outputs are computed.

The model is written next to the function, so that the same names are seen there, and on the line
of the function's end, so that line numbers stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.source.libraries.package_text import Piece
from estimica.source.request import Request
from estimica.source.syntax.outline import ClassOutline, Outline, Token, outline

SUFFIX = "_at_points"
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ENDS = frozenset(["algorithm", "external", "protected", "annotation", "end", "equation"])
_OWN_TYPES = frozenset(["Real", "Integer", "Boolean"])


@dataclass(frozen=True, slots=True)
class Argument:
    """One input or output of a function as it is declared."""

    name: str
    causality: str
    type: str
    size: str  # "[3]", or empty
    modifiers: str  # "(unit = "Pa")", or empty
    default: str
    description: str

    def written(self, prefix: str, with_default: bool) -> str:
        """The declaration of a model's component."""
        binding = f" = {self.default}" if with_default and self.default else ""
        told = f' "{self.description}"' if self.description else ""
        return f"{prefix} {self.type} {self.name}{self.size}{self.modifiers}{binding}{told};"


def is_function(request: Request) -> bool:
    """Whether the class that is asked for is a function."""
    definition = request.outlined.find(request.local_name)
    return definition is not None and definition.word == "function"


def function_as_model(request: Request, inputs: Sequence[str]) -> Request:
    """The request for a model of the function; those of its inputs not in `inputs` are parameters.

    Without `inputs`, parameters are those that have a default.
    """
    # the libraries that are written below the text are seen too
    outlined = outline(request.document or request.text)
    definition = outlined.find(request.local_name)
    assert definition is not None
    arguments = list(_arguments(request.document or request.text, outlined, definition))
    _check(request.class_name, arguments, inputs)
    if request.document:
        name, text = request.local_name.rpartition(".")[2], request.text
        model = _model(name, name, arguments, inputs)
        at = outlined.tokens[definition.last].end
        at = text.index(";", at) + 1
        new = f"{text[:at]} {model}{text[at:]}"
        document = new + request.document[len(text) :]
        pieces = tuple(_moved(p, at, len(new) - len(text)) for p in request.pieces)
        return dataclasses.replace(
            request,
            class_name=request.class_name + SUFFIX,
            document=document,
            text=new,
            pieces=pieces,
        )
    name = request.class_name.rpartition(".")[2]
    plain = [_plain(a) for a in arguments]
    model = _model(name, request.class_name, plain, inputs)
    return dataclasses.replace(request, class_name=name + SUFFIX, document=model, text=model)


def _moved(piece: Piece, at: int, by: int) -> Piece:
    return dataclasses.replace(piece, start=piece.start + by) if piece.start >= at else piece


def _check(name: str, arguments: Sequence[Argument], inputs: Sequence[str]) -> None:
    known = [a.name for a in arguments if a.causality == "input"]
    if not any(a.causality == "output" for a in arguments):
        raise SourceError("S050", f"function '{name}' has no output to be compared with data")
    for given in inputs:
        if given.partition(".")[0].partition("[")[0] not in known:
            hint = did_you_mean(given, known) or f" (inputs: {', '.join(known)})"
            raise SourceError("S051", f"function '{name}' has no input '{given}'{hint}")


def _model(name: str, called: str, arguments: Sequence[Argument], inputs: Sequence[str]) -> str:
    """The model around one call."""
    lines = []
    for a in arguments:
        if a.causality == "output":
            lines.append(a.written("output", False))
        elif a.name in inputs or (not inputs and not a.default):
            lines.append(a.written("input", False))
        else:
            lines.append(a.written("parameter", True))
    given = ", ".join(f"{a.name} = {a.name}" for a in arguments if a.causality == "input")
    outputs = [a.name for a in arguments if a.causality == "output"]
    left = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    body = " ".join(lines)
    return f"model {name}{SUFFIX} {body} equation {left} = {called}({given}); end {name}{SUFFIX};"


def _plain(argument: Argument) -> Argument:
    """Types of a library file, whose names are not seen from outside, as plain numbers."""
    if argument.type in _OWN_TYPES:
        return argument
    return dataclasses.replace(argument, type="Real", modifiers="")


def _arguments(text: str, outlined: Outline, function: ClassOutline) -> Iterator[Argument]:
    """Inputs and outputs in their order, those of extended functions first."""
    for clause in _clauses(outlined.tokens, function):
        words = [t.text for t in clause]
        if words[0] == "extends":
            yield from _inherited(text, outlined, function, clause)
        for causality in ("input", "output"):
            if causality in words[:3]:
                rest = clause[words.index(causality) + 1 :]
                for argument in _declared(text, rest, causality):
                    own = _seen(outlined, function, argument.type)
                    kind = own.name if own is not None else argument.type
                    yield dataclasses.replace(argument, type=kind)


def _inherited(
    text: str, outlined: Outline, function: ClassOutline, clause: Sequence[Token]
) -> Iterator[Argument]:
    """Arguments of the function that a clause extends, changed as the clause says."""
    at = 1
    while at < len(clause) and (clause[at].text == "." or clause[at].kind == "name"):
        at += 1
    base = _seen(outlined, function, "".join(t.text for t in clause[1:at]))
    if base is None:
        return
    changes: dict[str, Argument] = {}
    if at < len(clause) and clause[at].text == "(":
        inner = clause[at + 1 : -1]
        # modifiers look like declarations without a type
        changes = {a.name: a for a in _declared(text, [inner[0], *inner], "")} if inner else {}
    for argument in _arguments(text, outlined, base):
        change = changes.get(argument.name)
        if change is not None:
            argument = dataclasses.replace(
                argument,
                default=change.default or argument.default,
                modifiers=change.modifiers or argument.modifiers,
            )
        yield argument


def _seen(outlined: Outline, function: ClassOutline, name: str) -> ClassOutline | None:
    """The class of the text that a name means in a function."""
    scope = function.name.rpartition(".")[0]
    while True:
        definition = outlined.find(f"{scope}.{name}" if scope else name)
        if definition is not None or not scope:
            return definition
        scope = scope.rpartition(".")[0]


def _clauses(tokens: Sequence[Token], function: ClassOutline) -> Iterator[list[Token]]:
    clause: list[Token] = []
    depth = 0
    first = function.first
    while tokens[first].text != "function":
        first += 1
    for token in tokens[first + 2 : function.last]:
        depth += (token.text in _OPEN) - (token.text in _CLOSE) if token.kind == "symbol" else 0
        if token.text in _ENDS and not clause:
            return
        if token.text == ";" and not depth:
            if clause:
                yield clause
            clause = []
        elif clause or not (token.kind == "string" or token.text == "public"):
            clause.append(token)


def _declared(text: str, clause: Sequence[Token], causality: str) -> Iterator[Argument]:
    """`Real[2] x(unit = "m") = 1 "how long", y`: x and y."""
    at = 1
    while at < len(clause) and clause[at].text == ".":
        at += 2
    kind = text[clause[0].start : clause[at - 1].end]
    common, at = _bracketed(text, clause, at, "[")
    while at < len(clause):
        name = clause[at].text
        size, at = _bracketed(text, clause, at + 1, "[")
        modifiers, at = _bracketed(text, clause, at, "(")
        default, at = _default(text, clause, at)
        description = ""
        if at < len(clause) and clause[at].kind == "string":
            description, at = clause[at].text[1:-1], at + 1
        while at < len(clause) and clause[at].text != ",":
            at += 1  # an annotation
        at += 1
        yield Argument(name, causality, kind, size or common, modifiers, default, description)


def _bracketed(text: str, clause: Sequence[Token], at: int, sign: str) -> tuple[str, int]:
    if at >= len(clause) or clause[at].text != sign:
        return "", at
    end, depth = at, 0
    while True:
        depth += (clause[end].text in _OPEN) - (clause[end].text in _CLOSE)
        end += 1
        if depth == 0:
            return text[clause[at].start : clause[end - 1].end], end


def _default(text: str, clause: Sequence[Token], at: int) -> tuple[str, int]:
    if at >= len(clause) or clause[at].text not in ("=", ":="):
        return "", at
    end, depth = at + 1, 0
    while end < len(clause):
        token = clause[end]
        if depth == 0 and (token.text == "," or token.kind == "string"):
            break
        depth += (token.text in _OPEN) - (token.text in _CLOSE) if token.kind == "symbol" else 0
        end += 1
    return text[clause[at + 1].start : clause[end - 1].end], end
