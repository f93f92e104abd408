"""What a Modelica text declares: classes, components, what they extend, and their modifiers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from estimica.source.syntax.outline import CLASS_WORDS, Token, tokenise
from estimica.source.syntax.parser import ParseFailure

_CLASS_PREFIXES = frozenset(["partial", "encapsulated", "expandable", "pure", "impure", "operator"])
_ELEMENT_PREFIXES = frozenset(["redeclare", "final", "inner", "outer", "replaceable", "each"])
_TYPE_PREFIXES = frozenset(
    ["flow", "stream", "discrete", "parameter", "constant", "input", "output"]
)
_SECTIONS = frozenset(["equation", "algorithm", "initial", "external"])
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Modifier:
    """One argument of a modification; `at` and `end` are places in the text."""

    name: str  # dotted where the source has it so
    at: int
    end: int
    inner: tuple[Modifier, ...] = ()
    bound: bool = False  # has "= value"
    redeclares: ComponentDeclaration | ClassDeclaration | None = None


@dataclass(frozen=True, slots=True)
class ComponentDeclaration:
    """A component; `constraint` are the modifiers of its constrainedby clause, None without one."""

    name: str
    type: str
    at: int
    end: int
    modifiers: tuple[Modifier, ...] = ()
    bound: bool = False
    redeclare: bool = False
    constraint: tuple[Modifier, ...] | None = None
    array: bool = False


@dataclass(frozen=True, slots=True)
class Extends:
    """An extends clause; `own` for `redeclare model extends L`, which extends the inherited L."""

    base: str
    at: int
    end: int
    modifiers: tuple[Modifier, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """`alias` is the name that the import brings in, "*" for all in `target`."""

    alias: str
    target: str


@dataclass(frozen=True, slots=True)
class ClassDeclaration:
    """A class; a short one has its only base in `extends` and is marked."""

    name: str
    word: str
    at: int
    end: int = 0
    short: bool = False
    redeclare: bool = False
    constraint: tuple[Modifier, ...] | None = None
    extends: tuple[Extends, ...] = ()
    components: tuple[ComponentDeclaration, ...] = ()
    classes: tuple[ClassDeclaration, ...] = ()
    imports: tuple[Import, ...] = ()
    names: frozenset[str] = frozenset()  # dotted names used outside of inner classes
    calls: frozenset[str] = frozenset()  # those of them that an opening parenthesis follows

    @property
    def modifiers(self) -> tuple[Modifier, ...]:
        """Those of a short class."""
        return self.extends[0].modifiers if self.short and self.extends else ()


@lru_cache(maxsize=256)
def declarations(text: str) -> tuple[ClassDeclaration, ...]:
    """The classes of `text`; none where it cannot be read, which the compiler will explain."""
    try:
        return tuple(_Reader(tokenise(text)).classes())
    except ParseFailure:
        return ()


@dataclass(slots=True)
class _Content:
    extends: list[Extends] = field(default_factory=list)
    components: list[ComponentDeclaration] = field(default_factory=list)
    classes: list[ClassDeclaration] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._skipped: list[tuple[int, int]] = []  # annotations and inner classes, by tokens

    # --- tokens ---

    def _word(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _take(self) -> str:
        if self._at >= len(self._tokens):
            raise ParseFailure("the text ends too early", None)
        self._at += 1
        return self._tokens[self._at - 1].text

    def _accept(self, word: str) -> bool:
        if self._word() == word:
            self._at += 1
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise ParseFailure(f"'{word}' is missing before '{self._word()}'", None)

    def _start(self) -> int:
        if self._at >= len(self._tokens):
            raise ParseFailure("the text ends too early", None)
        return self._tokens[self._at].start

    def _end(self) -> int:
        return self._tokens[self._at - 1].end

    def _dotted(self) -> str:
        parts = [""] if self._accept(".") else []
        parts.append(self._take())
        while self._word() == "." and self._at + 1 < len(self._tokens):
            if self._tokens[self._at + 1].kind != "name":
                break
            self._take()
            parts.append(self._take())
        return ".".join(parts)

    def _prefixes(self, allowed: frozenset[str]) -> set[str]:
        found = set()
        while self._word() in allowed:
            found.add(self._take())
        return found

    def _brackets(self) -> None:
        """Go behind the bracket that closes the present one."""
        depth = 0
        while True:
            word = self._take()
            depth += (word in _OPENING) - (word in _CLOSING)
            if depth == 0:
                return

    def _dimensions(self) -> bool:
        any_ = self._word() == "["
        while self._word() == "[":
            self._brackets()
        return any_

    def _expression(self) -> None:
        """Go to what may end an expression: , ; ) and words that follow a declaration."""
        while self._word() not in (",", ";", ")", "annotation", "constrainedby"):
            if self._word() in _OPENING:
                self._brackets()
            else:
                self._take()

    def _description(self) -> None:
        while self._at < len(self._tokens) and (
            self._tokens[self._at].kind == "string" or self._word() == "+"
        ):
            self._at += 1

    def _comment(self) -> None:
        self._description()
        if self._word() == "annotation":
            first = self._at
            self._take()
            self._brackets()
            self._skipped.append((first, self._at))

    # --- classes ---

    def classes(self) -> list[ClassDeclaration]:
        found = []
        if self._accept("within"):
            if self._word() != ";":
                self._dotted()
            self._expect(";")
        while self._at < len(self._tokens):
            self._prefixes(frozenset({"final"}))
            found.append(self._class(self._start(), set()))
            self._expect(";")
        return found

    def _class(self, at: int, prefixes: set[str]) -> ClassDeclaration:
        first = self._at
        self._prefixes(_CLASS_PREFIXES)
        word = self._take()
        if word not in CLASS_WORDS:
            if self._tokens[self._at - 2].text != "operator":
                raise ParseFailure(f"'{word}' cannot stand here", None)
            self._at -= 1
            word = "operator"
        redeclare = "redeclare" in prefixes
        own = self._accept("extends")
        name = self._take()
        if self._accept("="):
            return self._short(name, word, at, redeclare, first)
        content = _Content()
        if own:
            modifiers = self._modification()
            content.extends.append(Extends(name, at, self._end(), modifiers, own=True))
        self._description()
        self._body(name, content)
        names, calls = self._names(first, self._at)
        self._skipped.append((first, self._at))
        return ClassDeclaration(
            name, word, at, self._end(), False, redeclare, self._constraint(),
            tuple(content.extends), tuple(content.components), tuple(content.classes),
            tuple(content.imports), names, calls,
        )  # fmt: skip

    def _short(
        self, name: str, word: str, at: int, redeclare: bool, first: int
    ) -> ClassDeclaration:
        extends: tuple[Extends, ...] = ()
        if self._word() in ("enumeration", "der") and self._word(1) == "(":
            self._take()
            self._brackets()
        else:
            self._prefixes(_TYPE_PREFIXES)
            start = self._start()
            base = self._dotted()
            self._dimensions()
            modifiers = self._modification()
            extends = (Extends(base, start, self._end(), modifiers),)
        end = self._end()
        constraint = self._constraint()
        names, calls = self._names(first, self._at)
        self._skipped.append((first, self._at))
        self._comment()
        return ClassDeclaration(
            name, word, at, end, True, redeclare, constraint, extends, names=names, calls=calls
        )

    def _body(self, name: str, content: _Content) -> None:
        while not (self._word() == "end" and self._word(1) == name):
            word = self._word()
            if word in _SECTIONS:
                self._section(name)
            elif word in ("public", "protected"):
                self._take()
            elif word == "annotation":
                self._comment()
                self._expect(";")
            else:
                self._element(content)
                self._expect(";")
        self._at += 2

    def _section(self, name: str) -> None:
        self._take()
        while True:
            word = self._word()
            if word == "annotation":
                self._comment()
            elif word == "end" and self._word(1) == name and self._word(2) in (";", ""):
                return
            elif word in ("public", "protected", "equation", "algorithm", "initial"):
                if word != "initial" or self._word(1) != "(":
                    return
                self._take()
            else:
                self._take()

    def _names(self, first: int, stop: int) -> tuple[frozenset[str], frozenset[str]]:
        """Dotted names in a range of tokens, but for inner classes and annotations; and calls."""
        inside = {a: b for a, b in self._skipped if first <= a and b <= stop}
        found, calls, i = set(), set(), first
        while i < stop:
            if i in inside:
                i = inside[i]
                continue
            token = self._tokens[i]
            if token.kind != "name":
                i += 1
                continue
            parts = [token.text]
            while (
                i + 2 < stop
                and self._tokens[i + 1].text == "."
                and (self._tokens[i + 2].kind == "name")
            ):
                i += 2
                parts.append(self._tokens[i].text)
            found.add(".".join(parts))
            i += 1
            if i < stop and self._tokens[i].text == "(":
                calls.add(".".join(parts))
        return frozenset(found), frozenset(calls)

    # --- elements ---

    def _element(self, content: _Content) -> None:
        at = self._start()
        if self._accept("import"):
            content.imports.extend(self._import())
            return
        if self._accept("extends"):
            base = self._dotted()
            content.extends.append(Extends(base, at, self._end(), self._modification()))
            self._constraint()
            self._comment()
            return
        prefixes = self._prefixes(_ELEMENT_PREFIXES)
        if self._at_class():
            content.classes.append(self._class(at, prefixes))
            self._comment()
            return
        content.components.extend(self._components(at, prefixes))

    def _at_class(self) -> bool:
        ahead = 0
        while self._word(ahead) in _CLASS_PREFIXES:
            ahead += 1
        return self._word(ahead) in CLASS_WORDS or ahead > 0

    def _import(self) -> list[Import]:
        if self._word(1) == "=":
            alias = self._take()
            self._take()
            found = [Import(alias, self._dotted())]
        else:
            target = self._dotted()
            if self._accept(".") and self._accept("{"):
                found = []
                while not self._accept("}"):
                    name = self._take()
                    found.append(Import(name, f"{target}.{name}"))
                    self._accept(",")
            elif self._accept("*") or self._accept(".*"):
                found = [Import("*", target)]
            else:
                found = [Import(target.rpartition(".")[2], target)]
        self._comment()
        return found

    def _components(self, at: int, prefixes: set[str]) -> list[ComponentDeclaration]:
        self._prefixes(_TYPE_PREFIXES)
        type_name = self._dotted()
        arrays = self._dimensions()
        found: list[ComponentDeclaration] = []
        while True:
            start = at if not found else self._start()
            name = self._take()
            array = self._dimensions() or arrays
            modifiers = self._modification()
            bound = self._accept("=") or self._accept(":=")
            end = self._end()
            if bound:
                self._expression()
                end = self._end()
            if self._accept("if"):
                self._expression()
            self._comment()
            found.append(
                ComponentDeclaration(
                    name, type_name, start, end, modifiers, bound, "redeclare" in prefixes,
                    array=array,
                )
            )  # fmt: skip
            if not self._accept(","):
                break
        constraint = self._constraint()
        self._comment()
        if constraint is not None:
            found[-1] = dataclasses.replace(found[-1], constraint=constraint)
        return found

    def _constraint(self) -> tuple[Modifier, ...] | None:
        if not self._accept("constrainedby"):
            return None
        self._dotted()
        modifiers = self._modification()
        self._comment()
        return modifiers

    def _modification(self) -> tuple[Modifier, ...]:
        if not self._accept("("):
            return ()
        found: list[Modifier] = []
        while not self._accept(")"):
            found.append(self._argument())
            self._accept(",")
        return tuple(found)

    def _argument(self) -> Modifier:
        at = self._start()
        if self._accept("break"):
            self._expression()
            return Modifier("break", at, self._end())
        prefixes = self._prefixes(_ELEMENT_PREFIXES)
        if prefixes & {"redeclare", "replaceable"} or self._at_class():
            inner: ComponentDeclaration | ClassDeclaration
            if self._at_class():
                # its names belong to the class that the modifier stands in
                kept = len(self._skipped)
                inner = self._class(at, prefixes)
                del self._skipped[kept:]
            else:
                inner = self._redeclared_component(at)
            end = self._end()
            self._comment()
            return Modifier(inner.name, at, end, redeclares=inner)
        name = self._dotted()
        self._dimensions()
        modifiers, bound, end = self._modified()
        return Modifier(name, at, end, modifiers, bound)

    def _modified(self) -> tuple[tuple[Modifier, ...], bool, int]:
        """Modifiers, whether a value follows, and where it ends; a comment is passed over."""
        modifiers = self._modification()
        bound = self._accept("=") or self._accept(":=")
        if bound:
            self._expression()
        end = self._end()
        self._comment()
        return modifiers, bound, end

    def _redeclared_component(self, at: int) -> ComponentDeclaration:
        self._prefixes(_TYPE_PREFIXES)
        type_name = self._dotted()
        self._dimensions()
        name = self._take()
        self._dimensions()
        modifiers, bound, end = self._modified()
        constraint = self._constraint()
        return ComponentDeclaration(name, type_name, at, end, modifiers, bound, True, constraint)
