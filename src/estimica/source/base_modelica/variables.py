"""Variables and functions of Base Modelica in the flat form; records and arrays in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimica.source.base_modelica.document import Class, Component, Document, Modification, Node
from estimica.source.base_modelica.types import Type, Types
from estimica.source.fixed_values import FixedValue

_STATE_SELECTS = ("never", "avoid", "default", "prefer", "always")


def flat_variable(
    component: Component,
    declared: Type,
    shape: tuple[int, ...],
    modification: Modification,
    binding: Node | None,
) -> Node:
    """One declaration, perhaps of an array, with its attributes."""

    def text(name: str) -> str:
        literal = (modification.at(name).value or {}).get("Literal")
        return str(literal["value"].get("String", "")) if literal else ""

    prefixes = component.prefixes
    words = {"constant": "Constant", "parameter": "Parameter", "discrete": "Discrete"}
    variability = next((w for p, w in words.items() if p in prefixes), "Continuous")
    return {
        "type_id": declared.number,
        "dims": list(shape),
        "variability": variability,
        "causality": {p.capitalize(): {} for p in ("input", "output") if p in prefixes} or "None",
        "binding": binding,
        "binding_from_modification": False,
        "start": modification.at("start").value,
        "min": modification.at("min").value,
        "max": modification.at("max").value,
        "nominal": modification.at("nominal").value,
        "fixed": _fixed(modification.at("fixed").value),
        "unit": text("unit"),
        "display_unit": text("displayUnit"),
        "quantity": text("quantity"),
        "description": component.description,
        "state_select": _state_select(modification.at("stateSelect").value),
        "is_protected": component.protected,
        "flow": "flow" in prefixes,
        "from_expandable_connector": False,
        "source_span": component.span,
    }


def _fixed(node: Node | None) -> list[bool] | None:
    """The truth values of an attribute, those of an array row by row."""
    if node is None:
        return None
    if "Array" in node:
        inner = [_fixed(e) for e in node["Array"]["elements"]]
        return [value for values in inner if values is not None for value in values]
    literal = node.get("Literal") or {}
    return [bool((literal.get("value") or {}).get("Boolean", True))]


def _state_select(node: Node | None) -> str:
    reference = (node or {}).get("VarRef")
    word: str = reference["name"]["name"].rpartition(".")[2] if reference else "default"
    return word if word in _STATE_SELECTS else "default"


def literal_node(value: FixedValue) -> Node:
    """A value that the user gives."""
    if isinstance(value, bool):
        return {"Literal": {"value": {"Boolean": value}}}
    if isinstance(value, str):
        return {"Literal": {"value": {"String": value}}}
    return {"Literal": {"value": {"Real": float(value)}}}


# --- elements and fields -------------------------------------------------------------------------


def element_of(node: Node | None, index: tuple[int, ...]) -> Node | None:
    """node[index]; the node itself where there is no index."""
    if node is None or not index:
        return node
    subscripts = [{"Index": {"value": i}} for i in index]
    return {"Index": {"base": node, "subscripts": subscripts}}


def modification_of_element(modification: Modification, index: tuple[int, ...]) -> Modification:
    """A modification of an array of records as it is for one of them."""
    if not index:
        return modification
    inner = {k: modification_of_element(m, index) for k, m in modification.inner.items()}
    literal = modification.value is not None and "Literal" in modification.value
    value = (
        modification.value
        if modification.each or literal
        else element_of(modification.value, index)
    )
    return Modification(inner, value)


def qualified(modification: Modification, prefix: str, names: frozenset[str]) -> Modification:
    """A modification inside a record, its fields named from outside."""
    inner = {k: qualified(m, prefix, names) for k, m in modification.inner.items()}
    value = modification.value
    return Modification(inner, value and qualified_node(value, prefix, names), modification.each)


def qualified_node(node: Any, prefix: str, names: frozenset[str]) -> Any:
    """An expression inside a record, its fields named from outside."""
    if isinstance(node, (list, tuple)):
        return [qualified_node(item, prefix, names) for item in node]
    if not isinstance(node, Mapping):
        return node
    result = {k: qualified_node(v, prefix, names) for k, v in node.items() if k != "span"}
    reference = result.get("VarRef")
    if reference is not None and reference["name"]["name"].partition(".")[0] in names:
        full = f"{prefix}.{reference['name']['name']}"
        return {"VarRef": {**reference, "name": {"name": full}}}
    return result


def flat_functions(document: Document, types: Types) -> dict[str, Node]:
    """Every function by its name, constructors of records and external objects among them."""
    functions: dict[str, Node] = {}
    for definition in document.classes:
        number = len(functions) + 1
        if definition.word == "function":
            functions[definition.name] = _function(definition, definition.name, number, types)
        elif definition.word == "record":
            functions[definition.name] = _constructor(definition, number, types)
        for inner in definition.classes:
            if definition.base == "ExternalObject" and inner.name == "constructor":
                functions[definition.name] = _function(inner, definition.name, number, types)
    return functions


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
    declared_type = types.of(component)
    declared: dict[str, Any] = {
        "name": component.name,
        "default": component.modification.value,
        "shape_expr": [*component.subscripts, *declared_type.subscripts],
    }
    if declared_type.record is not None:
        declared["type_class"] = "Record"
        declared["fields"] = [_declaration(c, types) for c in declared_type.record.components]
    return declared
