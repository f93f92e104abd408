"""Functions `g = der(f, x)`: the compiler hands over f's body for g, which is marked here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from estimica.source.syntax.outline import ClassOutline, Outline


def mark_derivatives(flat: Mapping[str, Any], outlined: Outline) -> None:
    """Tell the functions of `flat` by which of their inputs they are derivatives."""
    for definition in outlined.classes:
        inputs = _differentiated(definition, outlined)
        for name, function in flat["functions"].items() if inputs else ():
            if definition.name == name or name.endswith(f".{definition.name}"):
                function["derivative_of"] = name
                function["derivative_by"] = inputs


def _differentiated(definition: ClassOutline, outlined: Outline) -> list[str]:
    """The inputs of a short definition by `der`; none for any other class."""
    words = [t.text for t in outlined.tokens[definition.first : definition.last]]
    if definition.word != "function" or "=" not in words:
        return []
    after = words[words.index("=") + 1 :]
    if after[:2] != ["der", "("]:
        return []
    inside = after[2 : after.index(")")] if ")" in after else []
    return [word for before, word in pairwise(inside) if before == ","]
