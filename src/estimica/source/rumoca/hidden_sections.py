"""Hidden sections in their places: names become those of the flat model, loops are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from estimica.source.decode.sections import FlatSections, add_section
from estimica.source.rumoca.hidden import Hidden, OuterNames
from estimica.source.syntax.nodes import NAMED_ARGUMENT, Node

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Interpreter

_MARKER = "estimica_marker_"
_BODY = "estimica_body_"
_NAME = "estimica_name_"


def placed(hidden: Hidden, interpreter: Interpreter) -> FlatSections:
    """The hidden code of every instance; bodies of functions are put back."""
    _restore_bodies(hidden, interpreter)
    named: list[tuple[str, list[Node], str]] = []
    missing: set[str] = set()
    for name in list(interpreter.names.declared):
        prefix, _, last = name.rpartition(".")
        number = last.removeprefix(_MARKER)
        if not last.startswith(_MARKER) or not number.isdigit():
            continue
        section = hidden.sections_by_number[int(number)]
        function = interpreter.functions.named(f"{_MARKER}names_{number}")
        aliases = _aliases(section.outer, function)
        scope = _Scope(interpreter, prefix, aliases, missing)
        nodes = [scope.qualified(n, frozenset()) for n in section.nodes]
        if section.kind == "binding":
            nodes = [n for n in nodes if not _is_bound(interpreter, n)]
        named.append((section.kind, nodes, prefix))
    if missing:
        raise OuterNames(missing)
    result = FlatSections()
    for kind, nodes, prefix in named:
        add_section(interpreter, kind, nodes, prefix, result)
    return result


def _is_bound(interpreter: Interpreter, equation: Node) -> bool:
    """Whether a modifier gives the variable of a declaration another value."""
    name = equation["Equation"]["lhs"]["VarRef"]["name"]["name"]
    declared = interpreter.names.declared.get(name)
    return declared is not None and declared.raw.get("binding") is not None


def _restore_bodies(hidden: Hidden, interpreter: Interpreter) -> None:
    for function in interpreter.functions.all():
        external = function["external"]
        entry = external["function_name"] if external else ""
        if not (entry or "").startswith(_BODY):
            continue
        body = hidden.bodies[int(entry.removeprefix(_BODY))]
        aliases = _aliases(body.outer, function)
        statements = [_renamed(s, aliases, {}, frozenset()) for s in body.statements]
        records = {
            name: prefix_fields
            for name in body.inputs
            if (prefix_fields := _expanded_fields(function, name))
        }
        interpreter.functions.restore(function, statements, records)


def _expanded_fields(function: Node, name: str) -> list[str]:
    """The inputs that the compiler made of the record input `name`, empty if it is not a record."""
    inputs = [i["name"] for i in function["inputs"]]
    return [] if name in inputs else [i for i in inputs if i.startswith(f"{name}_")]


def _aliases(outer: Sequence[str], function: Node | None) -> dict[str, Node]:
    """For every outer name (or called function) the node that the compiler resolved it to."""
    if function is None:
        return {}
    found = {d["name"]: d["default"] for d in function["locals"]}
    return {
        text.partition("(")[0]: found[f"{_NAME}{k}"]
        for k, text in enumerate(outer, 1)
        if found.get(f"{_NAME}{k}") is not None
    }


class _Scope:
    """Names of one section in one instance."""

    def __init__(
        self, interpreter: Interpreter, prefix: str, aliases: Mapping[str, Node], missing: set[str]
    ) -> None:
        self._names = interpreter.names
        self._prefix = f"{prefix}." if prefix else ""
        self._aliases = aliases
        self._missing = missing

    def qualified(self, node: Node, bound: frozenset[str]) -> Node:
        """A copy of `node` with flat names."""
        scope = {"member": self._member, "prefix": self._prefix}
        renamed: Node = _renamed(node, self._aliases, scope, bound)
        return renamed

    def _member(self, name: str) -> str | None:
        """The flat name of a member; None where it must be resolved outside."""
        if name in ("time", "end"):
            return name
        full = self._prefix + name
        if full in self._names.handles or self._names.lookup(full) is not None:
            return full
        if name in self._aliases:
            return None
        # inner/outer: the nearest enclosing instance that has it
        scope = self._prefix.rstrip(".")
        while scope:
            scope = scope.rpartition(".")[0]
            candidate = f"{scope}.{name}" if scope else name
            if self._names.lookup(candidate) is not None:
                return candidate
        self._missing.add(name)
        return name


def _renamed(
    node: Any, aliases: Mapping[str, Node], scope: Mapping[str, Any], bound: frozenset[str]
) -> Any:
    if isinstance(node, (list, tuple)):
        return [_renamed(item, aliases, scope, bound) for item in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    for key, content in node.items():
        if key == "span":
            result[key] = content
        elif key == "VarRef":
            return _renamed_reference(content, aliases, scope, bound)
        elif key == "FunctionCall":
            result[key] = _renamed_call(content, aliases, scope, bound)
        elif key == "Assignment":
            inner = _renamed(content["value"], aliases, scope, bound)
            comp = _renamed_component(content["comp"], aliases, scope, bound)
            result[key] = {**content, "comp": comp, "value": inner}
        elif isinstance(content, dict) and "indices" in content:
            names = [i.get("ident") or i.get("name") for i in content["indices"]]
            result[key] = _renamed(content, aliases, scope, bound | frozenset(filter(None, names)))
        else:
            result[key] = _renamed(content, aliases, scope, bound)
    return result


def _renamed_reference(
    content: Node, aliases: Mapping[str, Node], scope: Mapping[str, Any], bound: frozenset[str]
) -> Node:
    name: str = content["name"]["name"]
    subscripts = _renamed(content["subscripts"], aliases, scope, bound)
    member: Callable[[str], str | None] | None = scope.get("member")
    if name.partition(".")[0] in bound:
        return {"VarRef": {**content, "subscripts": subscripts}}
    if member is not None:
        full = member(name)
        if full is not None:
            return {"VarRef": {**content, "name": {"name": full}, "subscripts": subscripts}}
    if name in aliases:
        if subscripts:
            return {"Index": {"base": aliases[name], "subscripts": subscripts}}
        return aliases[name]
    return {"VarRef": {**content, "subscripts": subscripts}}


def _renamed_call(
    content: Node, aliases: Mapping[str, Node], scope: Mapping[str, Any], bound: frozenset[str]
) -> Node:
    arguments = _renamed(content["args"], aliases, scope, bound)
    if "comp" in content:
        outputs = [o and _renamed_component(o, aliases, scope, bound) for o in content["outputs"]]
        comp = _function_reference(content["comp"]["name"], aliases)
        return {**content, "comp": comp, "args": arguments, "outputs": outputs}
    name = content["name"]["name"]
    if name.startswith(NAMED_ARGUMENT):
        return {**content, "args": arguments}
    return {**content, "name": _function_reference(name, aliases), "args": arguments}


def _function_reference(name: str, aliases: Mapping[str, Node]) -> Node:
    call = (aliases.get(name) or {}).get("FunctionCall")
    reference: Node = call["name"] if call else {"name": name}
    return reference


def _renamed_component(
    component: Node, aliases: Mapping[str, Node], scope: Mapping[str, Any], bound: frozenset[str]
) -> Node:
    parts = [{**p, "subs": _renamed(p["subs"], aliases, scope, bound)} for p in component["parts"]]
    prefix: str = scope.get("prefix", "")
    if prefix:
        parts = [{**parts[0], "ident": prefix + parts[0]["ident"]}, *parts[1:]]
    return {**component, "parts": parts}
