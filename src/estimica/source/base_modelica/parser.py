"""Base Modelica text to a document: Modelica's parser with the few rules that it has not.

Tolerant: sections in any order, prefixes of full Modelica, sizes before or behind the name, dotted
names of components, texts without a package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from estimica.base.errors import SourceError
from estimica.source.base_modelica.document import (
    UNMODIFIED,
    Class,
    Component,
    Document,
    External,
    Modification,
    Section,
)
from estimica.source.base_modelica.expressions import plain_name, plain_type, span_from
from estimica.source.base_modelica.statements import Statements
from estimica.source.syntax import tree
from estimica.source.syntax.classes import Classes, Elements
from estimica.source.syntax.tokens import tokenise

_PARTITION = re.compile(r"^[ \t]*(?:sub)?partition\b", re.MULTILINE)


def parse(text: str, label: str) -> Document:
    """The classes of a Base Modelica text; `label` names its file in messages."""
    source = tree.Source(text, label)
    try:
        return _Document(source).made(_classes(source))
    except SourceError:
        clocked = _PARTITION.search(text)
        if clocked is None:
            raise
        line, _ = source.line_and_column(clocked.end())
        what = "clocked partitions are not supported"
        raise SourceError("S202", f"{label}:{line}: {what}; leave the clocked part out") from None
    except RecursionError:
        raise SourceError(
            "S209", f"{label}: an expression of the text is nested too deeply; split it"
        ) from None


class _Reader(Classes):
    """What Base Modelica has besides: parameter equations, dotted names of components."""

    def component_name(self) -> str:
        """A name, perhaps dotted; kept as one."""
        return ".".join([plain_name(name) for name in self.names()])

    def element(self, found: Elements, protected: bool) -> None:
        """`parameter equation guess(p) = 1;`, or an element of Modelica."""
        if self.texts[self.i] != "parameter" or self.texts[self.i + 1] != "equation":
            super().element(found, protected)
            return
        self.i += 2
        guesses = (self.equation(),)
        found.sections.append(tree.Section(False, False, guesses, of_parameters=True))


def _classes(source: tree.Source) -> list[tree.ClassDefinition]:
    reader = _Reader(tokenise(source, base=True))
    found = []
    while reader.texts[reader.i]:
        found.append(reader.class_definition(tree.NO_PREFIXES))
        reader.expect(";")
        while reader.accept(";"):
            pass
    return found


class _Document(Statements):
    """Makes a document of trees."""

    def made(self, classes: Sequence[tree.ClassDefinition]) -> Document:
        name = ""
        found: list[Class] = []
        constants: list[Component] = []
        for definition in classes:
            if definition.word == "package" and definition.body is not None:
                name = plain_name(definition.name)
                found += map(self._class, definition.body.classes)
                constants += map(self._component, definition.body.components)
            else:
                found.append(self._class(definition))
        return Document(name, found, constants, self.references)

    def _class(self, definition: tree.ClassDefinition) -> Class:
        body = definition.body
        return self._other(definition) if body is None else self._long(definition, body)

    def _long(self, definition: tree.ClassDefinition, body: tree.Body) -> Class:
        return Class(
            definition.word.rpartition(" ")[2],
            plain_name(definition.name),
            definition.description,
            [self._component(c) for c in body.components],
            [self._class(c) for c in body.classes],
            [(self.node(e.left), self.node(e.right)) for e in self._guesses(body)],
            [self._section(s) for s in body.sections if not s.of_parameters],
            self._external(body.external),
            self._annotation(body.annotation),
            plain_type(body.extends[0].type) if body.extends else "",
            span=span_from(definition.at),
        )

    def _other(self, definition: tree.ClassDefinition) -> Class:
        short = definition.short
        derivative = definition.derivative
        return Class(
            definition.word.rpartition(" ")[2],
            plain_name(definition.name),
            definition.description,
            annotation=self._annotation(definition.annotation),
            base=plain_type(short.type) if short else "" if derivative else "enumeration",
            subscripts=self.subscripts(short.dimensions) if short else (),
            modification=self._modification(short.modification if short else None),
            literals=[plain_name(name) for name, _ in definition.literals or ()],
            derivative_of=plain_type(derivative[0]) if derivative else "",
            derivative_by=[plain_name(name) for name in derivative[1]] if derivative else (),
            span=span_from(definition.at),
        )

    def _guesses(self, body: tree.Body) -> Iterator[tree.Equality]:
        for section in body.sections:
            for equation in section.body if section.of_parameters else ():
                if not isinstance(equation, tree.Equality):
                    raise self.refused(equation.at, "guess(name) = value")
                yield equation

    def _section(self, section: tree.Section) -> Section:
        kind = "initial " * section.initial + ("algorithm" if section.algorithm else "equation")
        made = self.statements if section.algorithm else self.equations
        return Section(kind, made(section.body))

    def _external(self, external: tree.External | None) -> External | None:
        if external is None:
            return None
        if not external.function:
            return External(external.language)
        arguments = self.nodes(external.arguments)
        return External(external.language, plain_name(external.function), arguments)

    def _component(self, component: tree.Component) -> Component:
        words = (component.connection, component.variability, component.causality)
        final = ("final",) if component.prefixes.final else ()
        return Component(
            component.name,
            plain_type(component.type),
            frozenset([*filter(None, words), *final]),
            self.subscripts(component.dimensions),
            self._modification(component.modification),
            component.description,
            self._annotation(component.annotation),
            component.prefixes.protected,
            span_from(component.at, component.at + 1),
        )

    def _annotation(self, annotation: tree.Annotation | None) -> Modification:
        return UNMODIFIED if annotation is None else self._modification(annotation.read())

    def _modification(
        self, modification: tree.Modification | None, each: bool = False
    ) -> Modification:
        if modification is None:
            return UNMODIFIED
        inner = {}
        for argument in modification.arguments:
            if not isinstance(argument, tree.Modifier):
                raise self.refused(argument.at, "name = value, because nothing is redeclared here")
            name = ".".join(map(plain_name, argument.path))
            inner[name] = self._modification(argument.modification, argument.each)
        value = None if modification.value is None else self.node(modification.value)
        return Modification(inner, value, each)
