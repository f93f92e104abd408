"""Types of a Base Modelica text, and references that mean something else than a variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.source.base_modelica.document import (
    UNMODIFIED,
    Class,
    Component,
    Document,
    Modification,
    Node,
    Parts,
)

#: the numbers that stand for types in the flat model
REAL, INTEGER, BOOLEAN, STRING, ENUMERATION, HANDLE = range(1, 7)
_BUILTIN = {"Real": REAL, "Integer": INTEGER, "Boolean": BOOLEAN, "String": STRING}
#: enumerations of the language itself
_OWN_ENUMERATIONS = {
    "StateSelect": ("never", "avoid", "default", "prefer", "always"),
    "AssertionLevel": ("warning", "error"),
}


@dataclass(frozen=True, slots=True)
class Type:
    """A type with all its aliases resolved; `record` is the class of a record."""

    number: int
    subscripts: Sequence[Node] = ()
    modification: Modification = UNMODIFIED
    record: Class | None = None
    enumeration: str = ""


class Types:
    """The types of one text."""

    def __init__(self, document: Document, label: str) -> None:
        self._label = label
        self._classes = {c.name: c for c in document.classes if c.word not in ("model", "block")}
        enumerations = {c.name: c.literals for c in document.classes if c.base == "enumeration"}
        self.enumerations = {**_OWN_ENUMERATIONS, **enumerations}

    def ordinals(self) -> dict[str, int]:
        """The literals of all enumerations with their numbers."""
        return {
            f"{name}.{literal}": k
            for name, literals in self.enumerations.items()
            for k, literal in enumerate(literals, 1)
        }

    def plain(self, name: str) -> str:
        """`x['E'.'b']` as x[2]: elements have numbers, also where an enumeration counts them."""
        if "['" not in name and ",'" not in name:
            return name
        ordinals = self.ordinals()

        def numbered(match: re.Match[str]) -> str:
            parts = (part.strip().replace("'", "") for part in match[1].split(","))
            return f"[{','.join(str(ordinals.get(p, p)) for p in parts)}]"

        return re.sub(r"\[([^\[\]]*)\]", numbered, name)

    def is_function(self, name: str) -> bool:
        """Whether a function of that name stands in the text."""
        definition = self._classes.get(name)
        return definition is not None and definition.word == "function"

    def of(self, component: Component) -> Type:
        """The type of a declaration."""
        return self._resolved(component.type_name, component, ())

    def _resolved(self, name: str, component: Component, seen: tuple[str, ...]) -> Type:
        if name in _BUILTIN:
            return Type(_BUILTIN[name])
        if name in self.enumerations:
            return Type(ENUMERATION, enumeration=name)
        definition = self._classes.get(name)
        if definition is None or name in seen:
            known = [*_BUILTIN, *self.enumerations, *self._classes]
            raise SourceError(
                "S203",
                f"{self._label}: '{component.name}' is of the type '{name}', which is not declared"
                f"{did_you_mean(name, known)}",
            )
        if definition.word == "record":
            return Type(0, record=definition)
        if definition.word == "function" or definition.base == "ExternalObject":
            return Type(HANDLE)
        base = self._resolved(definition.base, component, (*seen, name))
        return Type(
            base.number,
            (*definition.subscripts, *base.subscripts),
            definition.modification.over(base.modification),
            base.record,
            base.enumeration,
        )


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
