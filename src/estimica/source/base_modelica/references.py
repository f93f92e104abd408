"""References that mean something else than a variable, once all declarations are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from estimica.source.base_modelica.document import Node, Parts
from estimica.source.base_modelica.types import Types


def rewrite_references(
    references: Sequence[tuple[Node, Parts]], types: Types, ranks: Mapping[str, int]
) -> None:
    """Put in place what types as ranges, functions as values and slices of records stand for.

    ranks: the numbers of dimensions of arrays of records.
    """
    for node, parts in references:
        name = ".".join(ident for ident, _ in parts)
        plain = types.plain(name)
        if plain != name and "VarRef" in node:
            node["VarRef"]["name"] = {"name": plain}
        elif name in types.enumerations:
            _replace(node, _range(len(types.enumerations[name])))
        elif types.is_function(name) and not any(subs for _, subs in parts):
            _replace(node, {"FunctionReference": {"name": name, "args": []}})
        elif len(parts) > 1:
            sliced = _slice(parts, ranks)
            if sliced is not None:
                _replace(node, sliced)


def _replace(node: Node, other: Node) -> None:
    node.clear()
    node.update(other)


def _range(size: int) -> Node:
    first, last = ({"Literal": {"value": {"Integer": k}}} for k in (1, size))
    return {"Range": {"start": first, "step": None, "end": last}}


def _slice(parts: Parts, ranks: Mapping[str, int]) -> Node | None:
    """`records.field[i]`, of an array of records, which means the element i of every one."""
    for k in range(1, len(parts)):
        head = ".".join(ident for ident, _ in parts[:k])
        if head in ranks and not parts[k - 1][1] and any(subs for _, subs in parts[k:]):
            node: Node = {"VarRef": {"name": {"name": head}, "subscripts": []}}
            leading: list[Node] = [{"Colon": {}} for _ in range(ranks[head])]
            for ident, subscripts in parts[k:]:
                node = {"FieldAccess": {"base": node, "field": ident}}
                if subscripts:
                    node = {"Index": {"base": node, "subscripts": [*leading, *subscripts]}}
            return node
    return None
