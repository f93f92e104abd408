"""Which sources are Base Modelica, and what their text declares, as it stands there.

Classes, components and modifications; nothing here needs the parser.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from estimica.source.libraries.files import read_text

Node = dict[str, Any]
#: identifiers of a reference, each with its subscripts
Parts = list[tuple[str, list[Node]]]


@dataclass(frozen=True, slots=True)
class Modification:
    """`(inner modifications) = value`; `each` holds for every element of an array."""

    inner: Mapping[str, Modification] = field(default_factory=dict)
    value: Node | None = None
    each: bool = False

    def at(self, name: str) -> Modification:
        """The modification of a part; an empty one where there is none."""
        return self.inner.get(name, Modification())

    def over(self, other: Modification) -> Modification:
        """This modification where it says something, `other` elsewhere."""
        inner = {
            **other.inner,
            **{k: m.over(other.at(k)) for k, m in self.inner.items()},
        }
        if self.value is None:
            return Modification(inner, other.value, other.each)
        return Modification(inner, self.value, self.each)


UNMODIFIED = Modification()


@dataclass(frozen=True, slots=True)
class Component:
    """One declared name."""

    name: str
    type_name: str
    prefixes: frozenset[str]
    subscripts: Sequence[Node]  # of its sizes, those of the declaration first
    modification: Modification
    description: str
    annotation: Modification
    protected: bool
    span: Node


@dataclass(frozen=True, slots=True)
class External:
    """`external "C" result = function(arguments)`."""

    language: str = "C"
    function: str = ""
    arguments: Sequence[Node] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Equations or statements; kind: `equation`, `initial equation`, `algorithm`, …"""

    kind: str
    nodes: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Class:
    """A model, function, record, type or external object."""

    word: str
    name: str
    description: str = ""
    components: Sequence[Component] = ()
    classes: Sequence[Class] = ()  # the functions of an external object
    guesses: Sequence[tuple[Node, Node]] = ()  # `parameter equation guess(p) = value`
    sections: Sequence[Section] = ()
    external: External | None = None
    annotation: Modification = UNMODIFIED
    base: str = ""  # of a type: what it is, with sizes and attributes
    subscripts: Sequence[Node] = ()
    modification: Modification = UNMODIFIED
    literals: Sequence[str] = ()  # of an enumeration
    derivative_of: str = ""  # of a function: which, by the inputs `derivative_by`
    derivative_by: Sequence[str] = ()
    span: Node = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text.

    `references` are all references in expressions with their parts, in the order of the text, each
    a node that may still be rewritten once it is known what the names mean.
    """

    name: str
    classes: Sequence[Class]
    constants: Sequence[Component]
    references: Sequence[tuple[Node, Parts]]


SUFFIX = ".bmo"
_HEADER = re.compile(r"\ufeff?\s*//!\s*base\b")


@dataclass(frozen=True, slots=True)
class BaseText:
    """A Base Modelica text; `label` is its file, "" where it has none."""

    text: str
    label: str


def base_text(source: str | Path) -> BaseText | None:
    """The text of a source that is Base Modelica; None for any other source."""
    if isinstance(source, str) and "\n" in source:
        return BaseText(source, "") if _HEADER.match(source) else None
    path = Path(source)
    if path.suffix.lower() not in (SUFFIX, ".mo") or not os.path.isfile(path):
        return None
    if path.suffix.lower() == ".mo":
        text = read_text(path)
        return BaseText(text, str(path)) if _HEADER.match(text) else None
    return BaseText(read_text(path), str(path))
