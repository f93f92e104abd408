"""The compiler's refusals as errors with a file, a line and one clear message."""

from __future__ import annotations

import re

from estimica.base.errors import SourceError
from estimica.source.flattener import Refusal
from estimica.source.request import Request


def explained(refusal: Refusal, request: Request) -> SourceError:
    """The error that tells the user what the compiler did not accept, and where."""
    where = request.label or "the text"
    lines = [d["line"] for d in refusal.diagnostics if d.get("line")]
    if lines:
        where += f", line {lines[0]}"
    message = _tidied(refusal.message)
    return SourceError("S030", f"class '{request.class_name}' ({where}): {message}")


def _tidied(message: str) -> str:
    first = message.split("\nRelated failures")[0]
    first = re.sub(r"^\w+ failed: ", "", first)
    return " ".join(first.split())
