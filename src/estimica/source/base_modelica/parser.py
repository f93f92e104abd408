"""Base Modelica text as classes of Modelica: its parser with the few rules that it has not.

Names lose their quotes: `'a.b[2]'` is one name, a.b[2]. Tolerant: sections in any order, prefixes
of full Modelica, sizes before or behind the name, dotted names of components, texts without a
package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from estimica.base.errors import SourceError
from estimica.source.syntax import tree
from estimica.source.syntax.classes import Classes, Elements
from estimica.source.syntax.tokens import Tokens, tokenise

_PARTITION = re.compile(r"^[ \t]*(?:sub)?partition\b", re.MULTILINE)
_ELEMENT = re.compile(r"(.*)\[(\d+(?:,\s*\d+)*)\]")
_SUBSCRIPTS = re.compile(r"\[([^\[\]]*)\]")


def parse(text: str, label: str) -> tree.File:
    """The classes of a Base Modelica text; `label` names its file in messages."""
    source = tree.Source(text, label)
    try:
        return tree.File((), tuple(_classes(source)), source)
    except SourceError:
        clocked = _PARTITION.search(text)
        if clocked is None:
            raise
        line, _ = source.line_and_column(clocked.end())
        what = "clocked partitions are not supported"
        raise SourceError("S202", f"{label}:{line}: {what}; leave the clocked part out") from None


@dataclass(frozen=True, slots=True, eq=False)
class _BaseTokens(Tokens):
    """The words of a text, with what is known of its names when it is read a second time."""

    ordinals: dict[str, int] = field(default_factory=dict)  # E.literal of all enumerations

    def named(self, word: str) -> str:
        """An identifier without its quotes; subscripts that are literals become numbers."""
        name = plain_name(word)
        if "['" not in name and ",'" not in name:
            return name

        def numbered(match: re.Match[str]) -> str:
            parts = (part.strip().replace("'", "") for part in match[1].split(","))
            return f"[{','.join(str(self.ordinals.get(p, p)) for p in parts)}]"

        return _SUBSCRIPTS.sub(numbered, name)


def plain_name(word: str) -> str:
    """An identifier without its quotes."""
    if word.startswith("'"):
        return word[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    return word


class _Reader(Classes):
    """What Base Modelica has besides: plain names, parameter equations, dotted names, array()."""

    tokens: _BaseTokens
    _whole: frozenset[str] | set[str] = frozenset()  # declared as a.b or 'a[2]'
    _arrays: Mapping[str, Mapping[tuple[int, ...], str]] = {}

    def name(self) -> str:
        """An identifier without its quotes."""
        return self.tokens.named(super().name())

    def body(self, end: int) -> tree.Body:
        """Names that are dotted or elements are known only once all are declared."""
        begin = self.i
        found = super().body(end)
        whole = {c.name for c in found.components if "." in c.name or "[" in c.name}
        if whole:
            self._whole = whole
            self._arrays = _arrays_of(whole)
            self.i = begin
            found = super().body(end)
        return found

    def component_name(self) -> str:
        """A name, perhaps dotted; kept as one."""
        return ".".join(self.names())

    def reference(self) -> tree.Reference:
        """a.b[2].c, of which a.b or a.b[2] may be one name."""
        found = super().reference()
        parts = found.parts
        for k in range(len(parts), 0, -1) if self._whole else ():
            before = [_spelt(part) for part in parts[: k - 1]]
            last = parts[k - 1]
            for spelt, subscripts in ((_spelt(last), ()), (last.name, last.subscripts)):
                name = ".".join([*before, spelt])
                if name in self._whole or name in self._arrays:
                    whole = tree.Part(name, subscripts)
                    return replace(found, parts=(whole, *parts[k:]))
        return found

    def primary(self) -> tree.Expression:
        """What Modelica has, and arrays of which only the elements are declared."""
        found = super().primary()
        if not isinstance(found, tree.Reference) or found.parts[0].name not in self._arrays:
            return found
        first = found.parts[0]
        result = _array(self._arrays[first.name], (), found.at)
        return tree.Indexed(result, first.subscripts, found.at) if first.subscripts else result

    def element(self, found: Elements, protected: bool) -> None:
        """`parameter equation guess(p) = 1;`, or an element of Modelica."""
        if self.texts[self.i] != "parameter" or self.texts[self.i + 1] != "equation":
            super().element(found, protected)
            return
        self.i += 2
        guesses = (self.equation(),)
        found.sections.append(tree.Section(False, False, guesses, of_parameters=True))

    def call(self, function: tree.Reference) -> tree.Expression:
        """Functions of the language that are spelt otherwise; names in quotes are others."""
        quoted = self.texts[self.i - 1].startswith("'")
        call = super().call(function)
        if quoted or not isinstance(call, tree.Call):
            return call
        match call.function.text:
            case "pure" if len(call.arguments) == 1:
                return call.arguments[0]
            case "array" if call.arguments:
                return tree.ArrayOf(call.arguments, call.at, call.iterators)
            case "sample" if len(call.arguments) == 3:
                # later stages of OpenModelica put a number first
                return replace(call, arguments=call.arguments[1:])
        return call


def _arrays_of(names: Iterable[str]) -> dict[str, dict[tuple[int, ...], str]]:
    """The elements of arrays that are not declared themselves, by array and index."""
    found: dict[str, dict[tuple[int, ...], str]] = {}
    for name in names:
        match = _ELEMENT.fullmatch(name)
        if match is not None and match[1] not in names:
            index = tuple(int(i) for i in match[2].split(","))
            found.setdefault(match[1], {})[index] = name
    return found


def _array(
    elements: Mapping[tuple[int, ...], str], before: tuple[int, ...], at: int
) -> tree.Expression:
    if before in elements:
        return tree.Reference((tree.Part(elements[before]),), at)
    depth = len(before)
    following = sorted({i[depth] for i in elements if i[:depth] == before and len(i) > depth})
    return tree.ArrayOf(tuple(_array(elements, (*before, k), at) for k in following), at)


def _spelt(part: tree.Part) -> str:
    """A part of a name with its subscripts; "?" stands for those that are no numbers."""
    if not part.subscripts:
        return part.name
    numbers = (str(int(s.value)) if isinstance(s, tree.Number) else "?" for s in part.subscripts)
    return f"{part.name}[{','.join(numbers)}]"


def _classes(source: tree.Source) -> list[tree.ClassDefinition]:
    words = tokenise(source, base=True)
    tokens = _BaseTokens(words.source, words.texts, words.starts, words.closing)
    found = _read(tokens)
    for definition in _all_of(found):
        literals = [name for name, _ in definition.literals or ()]
        tokens.ordinals.update({f"{definition.name}.{x}": k + 1 for k, x in enumerate(literals)})
    literal_names = any("[\\'" in t or ",\\'" in t for t in tokens.texts)
    return _read(tokens) if literal_names else found


def _read(tokens: _BaseTokens) -> list[tree.ClassDefinition]:
    reader = _Reader(tokens)
    found = []
    while reader.texts[reader.i]:
        found.append(reader.class_definition(tree.NO_PREFIXES))
        reader.expect(";")
        while reader.accept(";"):
            pass
    for definition in _all_of(found):
        _ = definition.body  # what is wrong in it is told now
    return found


def _all_of(classes: list[tree.ClassDefinition]) -> Iterator[tree.ClassDefinition]:
    pending = list(classes)
    while pending:
        definition = pending.pop()
        yield definition
        if definition.body is not None:
            pending += definition.body.classes
