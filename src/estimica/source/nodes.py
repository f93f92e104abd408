"""Small questions about the nodes of the flat JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Node = Mapping[str, Any]

_NAMED_ARGUMENT = "__rumoca_named_arg__."


def argument_name(node: Node) -> str | None:
    """The name of a named function argument, None for a positional one."""
    call = node.get("FunctionCall")
    name: str = call["name"]["name"] if call else ""
    return name[len(_NAMED_ARGUMENT) :] if name.startswith(_NAMED_ARGUMENT) else None


def argument_value(node: Node) -> Node:
    """What an argument stands for, without its name."""
    value: Node = node["FunctionCall"]["args"][0] if argument_name(node) is not None else node
    return value


def ordered_arguments(nodes: list[Any], names: tuple[str, ...]) -> dict[str, Node]:
    """Arguments by name; positional ones take the names in order."""
    return {
        argument_name(node) or names[position]: argument_value(node)
        for position, node in enumerate(nodes)
    }


def span_of(node: Node) -> Node | None:
    """The place of a node in the source, None where it has none."""
    content = next(iter(node.values()))
    span: Node | None = content.get("span") if isinstance(content, Mapping) else None
    return span


def path_of(component: Node) -> list[tuple[str, list[Any]]]:
    """A component reference as (identifier, subscript nodes) pairs."""
    return [(part["ident"], part["subs"]) for part in component["parts"]]
