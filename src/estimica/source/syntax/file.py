"""Texts of Modelica as syntax trees: files, expressions, modifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from estimica.source.syntax import tree
from estimica.source.syntax.classes import Classes
from estimica.source.syntax.modifications import too_deep
from estimica.source.syntax.tokens import tokenise

_T = TypeVar("_T")


def parse_file(source: tree.Source) -> tree.File:
    """What a text defines. Only heads of classes are read; `body` of each reads on."""
    tokens = tokenise(source)
    reader = Classes(tokens)
    within: tuple[str, ...] = ()
    if reader.accept("within"):
        if reader.texts[reader.i] != ";":
            within = reader.names()
        reader.expect(";")
    classes = []
    try:
        while reader.texts[reader.i]:
            final = reader.accept("final")
            prefixes = tree.Prefixes(final=True) if final else tree.NO_PREFIXES
            classes.append(reader.class_definition(prefixes))
            if reader.texts[reader.i]:  # the semicolon after the last class may be forgotten
                reader.expect(";")
    except RecursionError:
        raise too_deep(tokens, 0) from None
    return tree.File(within, tuple(classes), source)


def parse_expression(text: str, label: str = "") -> tree.Expression:
    """An expression that is all of a text."""
    return _whole(text, label, Classes.expression)


def parse_modification(text: str, label: str = "") -> tree.Modification:
    """`(a = 1, b(start = 2)) = 3`, or a part of it, that is all of a text."""
    return _whole(text, label, Classes.modification) or tree.Modification()


def _whole(text: str, label: str, read: Callable[[Classes], _T]) -> _T:
    tokens = tokenise(tree.Source(text, label))
    reader = Classes(tokens)
    try:
        found = read(reader)
    except RecursionError:
        raise too_deep(tokens, 0) from None
    if reader.texts[reader.i]:
        reader.fail("the end of the text")
    return found
