"""Modifications and annotations of Modelica."""

from __future__ import annotations

from abc import abstractmethod

from estimica.base.errors import SourceError
from estimica.source.syntax import tree
from estimica.source.syntax.equations import Equations
from estimica.source.syntax.tokens import Tokens, place


def too_deep(tokens: Tokens, i: int) -> SourceError:
    """What to say where Python's stack does not suffice for a text."""
    return SourceError(
        "S045",
        f"{place(tokens.source, tokens.starts[i])}: what begins here is nested too deeply;"
        " divide the expression",
    )


class LazyModification:
    """The arguments of an annotation, read by the first call."""

    __slots__ = ("_found", "_i", "_reader", "_tokens")

    def __init__(self, reader: type[Modifications], tokens: Tokens, i: int) -> None:
        self._reader = reader
        self._tokens = tokens
        self._i = i
        self._found: tree.Modification | None = None

    def __call__(self) -> tree.Modification:
        """Read once; the opening bracket is the first word."""
        if self._found is None:
            try:
                reader = self._reader(self._tokens, self._i)
                self._found = tree.Modification(reader.arguments(), None, reader.starts[self._i])
            except RecursionError:
                raise too_deep(self._tokens, self._i) from None
        return self._found


class Modifications(Equations):
    """Reads modifications; what is redeclared in them is read by `redeclaration`."""

    @abstractmethod
    def redeclaration(
        self, redeclare: bool, each: bool, final: bool, at: int
    ) -> tree.Redeclaration:
        """The element after `redeclare each final`, or from `replaceable` on."""

    def annotation(self) -> tree.Annotation | None:
        """annotation(…), if one stands here; its inside is left for later."""
        if self.texts[self.i] != "annotation":
            return None
        at = self.starts[self.i]
        begin = self.i + 1
        self.skip_annotation()
        return tree.Annotation(LazyModification(type(self), self.tokens, begin), at)

    def modification(self) -> tree.Modification | None:
        """(…) = value; None where neither is there."""
        word = self.texts[self.i]
        at = self.starts[self.i]
        if word == "(":
            arguments = self.arguments()
            word = self.texts[self.i]
        elif word in ("=", ":="):
            arguments = ()
        else:
            return None
        if word not in ("=", ":="):
            return tree.Modification(arguments, None, at)
        self.i += 1
        if self.accept("break"):
            return tree.Modification(arguments, None, at, removed=True)
        return tree.Modification(arguments, self.expression(), at)

    def class_modification(self) -> tree.Modification | None:
        """(…) without a value, if it stands here."""
        if self.texts[self.i] != "(":
            return None
        at = self.starts[self.i]
        return tree.Modification(self.arguments(), None, at)

    def arguments(self) -> tuple[tree.Argument, ...]:
        """(argument, …)."""
        self.expect("(")
        found = []
        if self.texts[self.i] != ")":
            found.append(self._argument_of_modification())
            while self.accept(","):
                found.append(self._argument_of_modification())
        if self.texts[self.i] != ")":
            self.fail("',' or ')'")
        self.i += 1
        return tuple(found)

    def _argument_of_modification(self) -> tree.Argument:
        at = self.starts[self.i]
        if self.texts[self.i] == "break":
            return self._break()
        redeclare = self.accept("redeclare")
        each = self.accept("each")
        final = self.accept("final")
        if redeclare or self.texts[self.i] == "replaceable":
            return self.redeclaration(redeclare, each, final, at)
        path = self.names()
        modification = self.modification() or tree.Modification(at=at)
        return tree.Modifier(path, modification, each, final, at, self.description())

    def _break(self) -> tree.Break:
        at = self.starts[self.i]
        self.expect("break")
        if self.texts[self.i] == "connect":
            return tree.Break("", self.connect(), at)
        return tree.Break(self.name(), None, at)
