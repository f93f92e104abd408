"""Types of a Base Modelica text: what a declared type name stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
        found = self._classes.get(name)
        return found is not None and found.word == "function"

    def of(self, component: Component) -> Type:
        """The type of a declaration."""
        return self._resolved(component.type_name, component, ())

    def _resolved(self, name: str, component: Component, seen: tuple[str, ...]) -> Type:
        if name in _BUILTIN:
            return Type(_BUILTIN[name])
        if name in self.enumerations:
            return Type(ENUMERATION, enumeration=name)
        found = self._classes.get(name)
        if found is None or name in seen:
            known = [*_BUILTIN, *self.enumerations, *self._classes]
            raise SourceError(
                "S203",
                f"{self._label}: '{component.name}' is of the type '{name}', which is not declared"
                f"{did_you_mean(name, known)}",
            )
        if found.word == "record":
            return Type(0, record=found)
        if found.word == "function" or found.base == "ExternalObject":
            return Type(HANDLE)
        base = self._resolved(found.base, component, (*seen, name))
        return Type(
            base.number,
            (*found.subscripts, *base.subscripts),
            found.modification.over(base.modification),
            base.record,
            base.enumeration,
        )
