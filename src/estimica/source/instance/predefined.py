"""The predefined types of the language."""

from __future__ import annotations

from estimica.flat.system import Kind
from estimica.source.syntax import tree

SOURCE = tree.Source("", "predefined")

#: predefined scalar types
KINDS = {
    "Real": Kind.REAL,
    "Integer": Kind.INTEGER,
    "Boolean": Kind.BOOLEAN,
    "String": Kind.STRING,
}


def _type(name: str, literals: tuple[str, ...] | None = None) -> tree.ClassDefinition:
    return tree.ClassDefinition(
        name,
        "type",
        partial=False,
        encapsulated=False,
        prefixes=tree.NO_PREFIXES,
        description="",
        at=0,
        source=SOURCE,
        literals=None if literals is None else tuple((x, "") for x in literals),
    )


#: an external object is a class that extends this one; clocks are a type of their own
EXTERNAL_OBJECT = _type("ExternalObject")
CLOCK = _type("Clock")
DEFINITIONS: dict[str, tree.ClassDefinition] = {
    **{name: _type(name) for name in KINDS},
    "ExternalObject": EXTERNAL_OBJECT,
    "Clock": CLOCK,
    "StateSelect": _type("StateSelect", ("never", "avoid", "default", "prefer", "always")),
    "AssertionLevel": _type("AssertionLevel", ("warning", "error")),
}
#: kinds of the predefined definitions, enumerations aside
KIND_OF = {DEFINITIONS[name]: kind for name, kind in KINDS.items()}
