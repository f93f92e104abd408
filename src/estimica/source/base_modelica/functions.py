"""Functions, record constructors and external objects of Base Modelica in the flat form."""

from __future__ import annotations

from typing import Any

from estimica.source.base_modelica.document import Class, Component, Document, Node
from estimica.source.base_modelica.types import Types


def flat_functions(document: Document, types: Types) -> dict[str, Node]:
    """Every function by its name, constructors of records and external objects among them."""
    found: dict[str, Node] = {}
    for definition in document.classes:
        number = len(found) + 1
        if definition.word == "function":
            found[definition.name] = _function(definition, definition.name, number, types)
        elif definition.word == "record":
            found[definition.name] = _constructor(definition, number, types)
        for inner in definition.classes:
            if definition.base == "ExternalObject" and inner.name == "constructor":
                found[definition.name] = _function(inner, definition.name, number, types)
    return found


def _function(definition: Class, name: str, number: int, types: Types) -> Node:
    components = definition.components
    inputs = [c for c in components if "input" in c.prefixes]
    outputs = [c for c in components if "output" in c.prefixes]
    others = [c for c in components if not c.prefixes & {"input", "output"}]
    external = definition.external
    return {
        "name": name,
        "instance_id": number,
        "is_constructor": False,
        "inputs": [_declaration(c, types) for c in inputs],
        "outputs": [_declaration(c, types) for c in outputs],
        "locals": [_declaration(c, types) for c in others],
        "body": [n for s in definition.sections for n in s.nodes],
        "derivative_of": definition.derivative_of,
        "derivative_by": list(definition.derivative_by),
        "external": None
        if external is None
        else {
            "function_name": external.function,
            "language": external.language,
            "args": list(external.arguments or ()),
        },
    }


def _constructor(record: Class, number: int, types: Types) -> Node:
    return {
        "name": record.name,
        "instance_id": number,
        "is_constructor": True,
        "inputs": [_declaration(c, types) for c in record.components],
        "outputs": [],
        "locals": [],
        "body": [],
        "external": None,
    }


def _declaration(component: Component, types: Types) -> Node:
    found = types.of(component)
    declared: dict[str, Any] = {
        "name": component.name,
        "default": component.modification.value,
        "shape_expr": [*component.subscripts, *found.subscripts],
    }
    if found.record is not None:
        declared["type_class"] = "Record"
        declared["fields"] = [_declaration(c, types) for c in found.record.components]
    return declared
