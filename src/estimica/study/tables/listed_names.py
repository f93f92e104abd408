"""Names of which one may stand alone, without a list around it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from estimica.study.fields.kinds import Offer, VariableName


def several(value: object) -> object:
    """A list; a text is a list of one."""
    return (value,) if isinstance(value, str) else value


_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

Names = Annotated[
    tuple[VariableName, ...],
    BeforeValidator(several),
    WithJsonSchema(_SCHEMA),
]

#: equations, by their text or by a name in them
EquationNames = Annotated[
    tuple[Annotated[str, Offer("variable", "equation")], ...],
    BeforeValidator(several),
    WithJsonSchema(_SCHEMA),
]
