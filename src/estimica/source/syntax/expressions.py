"""The expressions of Modelica, read by recursive descent with a table of precedences."""

from __future__ import annotations

import re
from typing import NoReturn

from estimica.base.errors import SourceError
from estimica.source.syntax import tree
from estimica.source.syntax.tokens import KEYWORDS, Tokens, is_name, place

# How tightly operators bind; `not` stands between `and` and the relations.
_OR, _AND, _NOT, _RELATION, SUM, _PRODUCT, _POWER, _PRIMARY = range(1, 9)
_LEVELS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(["<", "<=", ">", ">=", "==", "<>"], _RELATION),
    **dict.fromkeys(["+", "-", ".+", ".-"], SUM),
    **dict.fromkeys(["*", "/", ".*", "./"], _PRODUCT),
    **dict.fromkeys(["^", ".^"], _POWER),
}
_SIGNS = frozenset(["+", "-", ".+", ".-"])
_DIGITS = frozenset("0123456789")
_OPERATORS_AS_CALLS = frozenset(["der", "initial", "pure"])
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unescaped(word: str) -> str:
    """The text of a string literal in its quotes; an unknown escape stands for its character."""
    text = word[1:-1]
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda m: _ESCAPES.get(m[1], m[1]), text)


class Expressions:
    """Reads expressions from `i` on; the base of the readers of everything larger."""

    def __init__(self, tokens: Tokens, start: int = 0) -> None:
        self.tokens = tokens
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.source = tokens.source
        self.i = start

    # --- words ---

    def fail(self, expected: str, i: int | None = None) -> NoReturn:
        """Say what should stand here instead."""
        i = self.i if i is None else i
        word = self.texts[i]
        found = (
            f"'{word if len(word) < 60 else word[:57] + '…'}'" if word else "the end of the text"
        )
        where = place(self.source, self.starts[i])
        raise SourceError("S200", f"{where}: expected {expected}, found {found}")

    def expect(self, word: str) -> None:
        """Go past `word`."""
        if self.texts[self.i] != word:
            self.fail(f"'{word}'")
        self.i += 1

    def accept(self, word: str) -> bool:
        """Go past `word` if it is there."""
        if self.texts[self.i] == word:
            self.i += 1
            return True
        return False

    def name(self) -> str:
        """An identifier."""
        word = self.texts[self.i]
        if not is_name(word):
            self.fail("a name")
        self.i += 1
        return word

    def names(self) -> tuple[str, ...]:
        """a.b.c."""
        found = [self.name()]
        while self.texts[self.i] == ".":
            self.i += 1
            found.append(self.name())
        return tuple(found)

    def type_name(self) -> tree.TypeName:
        """A.B, or .A.B."""
        at = self.starts[self.i]
        from_root = self.accept(".")
        return tree.TypeName(self.names(), at, from_root)

    def end_of_last(self) -> int:
        """The offset after the word that was read last."""
        return self.starts[self.i - 1] + len(self.texts[self.i - 1])

    # --- expressions ---

    def expression(self) -> tree.Expression:
        """Any expression."""
        if self.texts[self.i] == "if":
            return self._if()
        at = self.starts[self.i]
        first = self.operation(_OR)
        if self.texts[self.i] != ":":
            return first
        self.i += 1
        second = self.operation(_OR)
        if self.texts[self.i] != ":":
            return tree.Range(first, None, second, at)
        self.i += 1
        return tree.Range(first, second, self.operation(_OR), at)

    def _if(self) -> tree.Expression:
        at = self.starts[self.i]
        branches = []
        while self.texts[self.i] in ("if", "elseif"):
            self.i += 1
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.expression()))
            if self.texts[self.i] not in ("elseif", "else"):
                self.fail("'elseif' or 'else'")
            if self.texts[self.i] == "else":
                break
        self.expect("else")
        return tree.IfExpression(tuple(branches), self.expression(), at)

    def operation(self, weakest: int = _OR) -> tree.Expression:
        """Operands with the operators between them that bind at least as tightly as `weakest`."""
        texts = self.texts
        word = texts[self.i]
        at = self.starts[self.i]
        left: tree.Expression
        if word in _SIGNS:  # -a*b is -(a*b), -a^2 is -(a^2); a*-b and a^-b are understood too
            self.i += 1
            left = tree.Unary(word, self.operation(max(weakest, _PRODUCT)), at)
        elif word == "not" and weakest <= _NOT:
            self.i += 1
            left = tree.Unary(word, self.operation(_RELATION), at)
        else:
            left = self.primary()
        while True:
            op = texts[self.i]
            level = _LEVELS.get(op)
            if level is None or level < weakest:
                return left
            self.i += 1
            left = tree.Binary(op, left, self.operation(level + 1), at)
            if level in (_RELATION, _POWER) and _LEVELS.get(texts[self.i]) == level:
                self.fail(f"brackets, because 'a {op} b {texts[self.i]} c' has no meaning")

    def primary(self) -> tree.Expression:
        """A number, string, name, call, or something in brackets."""
        word = self.texts[self.i]
        at = self.starts[self.i]
        first = word[:1]
        if first in _DIGITS or (first == "." and word[1:2] in _DIGITS):
            self.i += 1
            return tree.Number(float(word), word.isdigit(), at)
        if first == '"':
            self.i += 1
            return tree.Text(unescaped(word), at)
        if first == "(":
            return self._suffixes(self._brackets(), at)
        if first == "{":
            return self._suffixes(self._array(), at)
        if first == "[":
            return self._suffixes(self._matrix(), at)
        if word in KEYWORDS:
            return self._keyword(word, at)
        if is_name(word) or word == ".":
            reference = self.reference()
            if self.texts[self.i] == "(":
                return self._suffixes(self.call(reference), at)
            return reference
        self.fail("an expression")

    def _keyword(self, word: str, at: int) -> tree.Expression:
        if word in ("true", "false"):
            self.i += 1
            return tree.Truth(word == "true", at)
        if word == "end" and not is_name(self.texts[self.i + 1]):
            self.i += 1
            return tree.End(at)
        if word in _OPERATORS_AS_CALLS and self.texts[self.i + 1] == "(":
            self.i += 1
            return self._suffixes(self.call(tree.Reference((tree.Part(word),), at)), at)
        self.fail("an expression")

    def reference(self) -> tree.Reference:
        """a.b[2].c."""
        at = self.starts[self.i]
        from_root = self.accept(".")
        texts = self.texts
        parts = []
        while True:
            name = self.name()
            subscripts = self.subscripts() if texts[self.i] == "[" else ()
            parts.append(tree.Part(name, subscripts))
            if texts[self.i] != ".":
                return tree.Reference(tuple(parts), at, from_root)
            self.i += 1

    def subscripts(self) -> tuple[tree.Expression, ...]:
        """[i, :, 2:end]."""
        self.expect("[")
        found: list[tree.Expression] = []
        while True:
            if self.texts[self.i] == ":":
                found.append(tree.Colon(self.starts[self.i]))
                self.i += 1
            else:
                found.append(self.expression())
            if not self.accept(","):
                break
        self.expect("]")
        return tuple(found)

    def _suffixes(self, base: tree.Expression, at: int) -> tree.Expression:
        while True:
            word = self.texts[self.i]
            if word == "[":
                base = tree.Indexed(base, self.subscripts(), at)
            elif word == ".":
                self.i += 1
                base = tree.Field(base, self.name(), at)
            else:
                return base

    # --- calls ---

    def call(self, function: tree.Reference) -> tree.Expression:
        """The call of a function, from its opening bracket on."""
        self.expect("(")
        arguments: list[tree.Expression] = []
        named: list[tuple[str, tree.Expression]] = []
        iterators: tuple[tree.Iterator, ...] = ()
        if self.texts[self.i] != ")":
            while True:
                if self.texts[self.i + 1] == "=":
                    named.append(self._named_argument())
                elif named:
                    self.fail("an argument with a name, as before")
                else:
                    arguments.append(self._argument())
                    if self.texts[self.i] == "for" and len(arguments) == 1:
                        iterators = self.iterators()
                        break
                if not self.accept(","):
                    break
        if self.texts[self.i] != ")":
            self.fail("',' or ')'")
        self.i += 1
        return tree.Call(function, tuple(arguments), tuple(named), function.at, iterators)

    def _argument(self) -> tree.Expression:
        if self.texts[self.i] != "function":
            return self.expression()
        at = self.starts[self.i]
        self.i += 1
        start = self.starts[self.i]
        from_root = self.accept(".")
        parts = tuple(tree.Part(name) for name in self.names())
        named: list[tuple[str, tree.Expression]] = []
        self.expect("(")
        if self.texts[self.i] != ")":
            named.append(self._named_argument())
            while self.accept(","):
                named.append(self._named_argument())
        self.expect(")")
        return tree.PartialCall(tree.Reference(parts, start, from_root), tuple(named), at)

    def _named_argument(self) -> tuple[str, tree.Expression]:
        name = self.name()
        self.expect("=")
        return name, self._argument()

    def iterators(self) -> tuple[tree.Iterator, ...]:
        """For i in r, j in s; the present word is `for`."""
        self.expect("for")
        found = []
        while True:
            at = self.starts[self.i]
            name = self.name()
            found.append(tree.Iterator(name, self.expression() if self.accept("in") else None, at))
            if not self.accept(","):
                return tuple(found)

    # --- brackets ---

    def _brackets(self) -> tree.Expression:
        at = self.starts[self.i]
        self.expect("(")
        found: list[tree.Expression | None] = []
        while True:
            omitted = self.texts[self.i] in (",", ")")
            found.append(None if omitted else self.expression())
            if not self.accept(","):
                break
        if self.texts[self.i] != ")":
            self.fail("',' or ')'")
        self.i += 1
        if len(found) == 1:
            return tree.Several((), at) if found[0] is None else found[0]
        return tree.Several(tuple(found), at)

    def _array(self) -> tree.Expression:
        at = self.starts[self.i]
        self.expect("{")
        if self.accept("}"):
            return tree.ArrayOf((), at)
        elements = [self._argument()]
        iterators: tuple[tree.Iterator, ...] = ()
        if self.texts[self.i] == "for":
            iterators = self.iterators()
        else:
            while self.accept(","):
                elements.append(self._argument())
        if self.texts[self.i] != "}":
            self.fail("',' or '}'")
        self.i += 1
        return tree.ArrayOf(tuple(elements), at, iterators)

    def _matrix(self) -> tree.Expression:
        at = self.starts[self.i]
        self.expect("[")
        rows = []
        while True:
            row = [self.expression()]
            while self.accept(","):
                row.append(self.expression())
            rows.append(tuple(row))
            if not self.accept(";"):
                break
        if self.texts[self.i] != "]":
            self.fail("',', ';' or ']'")
        self.i += 1
        return tree.Matrix(tuple(rows), at)
