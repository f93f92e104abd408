"""Small questions about the nodes of the flat JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Node = Mapping[str, Any]

#: how the compiler marks a named argument
NAMED_ARGUMENT = "__rumoca_named_arg__."

#: the number of the user's document in spans
USER_DOCUMENT = 0

#: how names begin that are put into a text before it is compiled, and the name of one of them
GENERATED = "estimica_"
PADDING = "estimica_padding"

#: the built-in functions and the compiler's names for them
BUILTINS = {
    "der": "Der", "pre": "Pre", "abs": "Abs", "sign": "Sign", "sqrt": "Sqrt", "div": "Div",
    "mod": "Mod", "rem": "Rem", "floor": "Floor", "ceil": "Ceil", "min": "Min", "max": "Max",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "atan2": "Atan2", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "exp": "Exp", "log": "Log",
    "log10": "Log10", "edge": "Edge", "change": "Change", "reinit": "Reinit", "sample": "Sample",
    "initial": "Initial", "terminal": "Terminal", "noEvent": "NoEvent", "smooth": "Smooth",
    "homotopy": "Homotopy", "semiLinear": "SemiLinear", "delay": "Delay", "integer": "Integer",
    "sum": "Sum", "product": "Product", "ndims": "Ndims", "size": "Size", "scalar": "Scalar",
    "vector": "Vector", "matrix": "Matrix", "identity": "Identity", "diagonal": "Diagonal",
    "zeros": "Zeros", "ones": "Ones", "fill": "Fill", "linspace": "Linspace",
    "transpose": "Transpose", "outerProduct": "OuterProduct", "symmetric": "Symmetric",
    "cross": "Cross", "skew": "Skew", "cat": "Cat",
}  # fmt: skip


def argument_name(node: Node) -> str | None:
    """The name of a named function argument, None for a positional one."""
    call = node.get("FunctionCall")
    name: str = call["name"]["name"] if call else ""
    return name[len(NAMED_ARGUMENT) :] if name.startswith(NAMED_ARGUMENT) else None


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


def is_generated(name: str) -> bool:
    """Whether a flat variable is none of the user's."""
    return name.rpartition(".")[2].startswith(GENERATED)
