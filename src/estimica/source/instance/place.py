"""Places in sources, for messages: file, line, column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.source.syntax.tokens import place

if TYPE_CHECKING:
    from estimica.source.instance.classes import Class


def error_at(code: str, scope: Class, at: int, message: str) -> SourceError:
    """What is wrong at a place of the class `scope`."""
    return SourceError(code, f"{place(scope.definition.source, at)}: {message}")


def refusal_at(code: str, scope: Class, at: int, message: str) -> UnsupportedError:
    """What is not supported at a place of the class `scope`."""
    return UnsupportedError(code, f"{place(scope.definition.source, at)}: {message}")
