"""Where equations stand in the user's source."""

from __future__ import annotations

import re
from pathlib import Path

from estimica.flat.system import Origin
from estimica.source.instance.classes import Class
from estimica.source.syntax import tree

#: longer texts are cut: they are shown in one line of a message
LONGEST = 160
#: a comment, or a string, in which two slashes are none
_COMMENT = re.compile(r'(?P<string>"(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def origin_of(
    node: tree.Equation, scope: Class, kind: str = "equation", component: str = ""
) -> Origin:
    """The origin of an equation or statement of the class `scope`."""
    return _origin(scope.definition.source, node.at, node.end, kind, component)


def declaration_origin(
    declaration: tree.Component, kind: str = "declaration", component: str = ""
) -> Origin:
    """Where a component is declared."""
    source = declaration.source
    end = source.text.find(";", declaration.at)
    return _origin(source, declaration.at, end if end >= 0 else None, kind, component)


def _origin(source: tree.Source, at: int, end: int | None, kind: str, component: str) -> Origin:
    text = source.text[at:end]
    if "//" in text or "/*" in text:
        text = _COMMENT.sub(lambda found: found["string"] or " ", text)
    text = " ".join(text.split()).removesuffix(";").rstrip()
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    label = _label(source.label) if source.label else ""
    return Origin(text, component, kind, label, *source.line_and_column(at))


def expression_origin(node: tree.Expression, scope: Class, kind: str) -> Origin:
    """Where an expression stands, with its text."""
    source = scope.definition.source
    return _origin(source, node.at, _end_of_expression(source.text, node.at), kind, "")


#: what may end an expression: strings, brackets, and signs between expressions
_SIGN = re.compile(r'"(?:\\.|[^"\\])*"|[()\[\]{},;]|\bannotation\b|//|/\*')


def _end_of_expression(text: str, at: int) -> int | None:
    """The offset at which the expression that begins at `at` ends, or where it is cut anyway."""
    depth = 0
    for found in _SIGN.finditer(text, at, at + 2 * LONGEST):
        sign = found[0]
        if sign[0] == '"':
            before = text[at : found.start()].rstrip()
            if not depth and before and before[-1] not in "+=<>":
                return found.start()  # a description
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        if depth < 0 or (not depth and sign in (",", ";", "annotation", "//", "/*")):
            return found.start()
    return at + 2 * LONGEST


def _label(path: str) -> str:
    """The name of a file; of `package.mo`, which every package has, with its folder."""
    *above, name = Path(path).parts
    return f"{above[-1]}/{name}" if name == "package.mo" and above else name
