"""Places in sources, for messages: file, line, column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.classes import Class


def place(source: tree.Source, at: int) -> str:
    """`file:line:column`, or `line 3, column 5` of a text."""
    line, column = source.line_and_column(at)
    if source.label:
        return f"{source.label}:{line}:{column}"
    return f"line {line}, column {column}"


def error_at(code: str, scope: Class, at: int, message: str) -> SourceError:
    """What is wrong at a place of the class `scope`."""
    return SourceError(code, f"{place(scope.definition.source, at)}: {message}")


def refusal_at(code: str, scope: Class, at: int, message: str) -> UnsupportedError:
    """What is not supported at a place of the class `scope`."""
    return UnsupportedError(code, f"{place(scope.definition.source, at)}: {message}")
