"""Equations and statements of Modelica, and the comments that follow them."""

from __future__ import annotations

from estimica.source.syntax import tree
from estimica.source.syntax.expressions import Expressions, unescaped
from estimica.source.syntax.tokens import is_name

_BRANCH_ENDS = frozenset(["end", "else", "elseif", "elsewhen"])
_SECTION_ENDS = frozenset(
    ["", "end", "public", "protected", "equation", "algorithm", "initial", "external", "annotation"]
)
_STATEMENT_STARTS = frozenset(["(", ".", "der", "initial", "pure"])


class Equations(Expressions):
    """Reads equations and statements."""

    def description(self) -> str:
        """A string, or several joined by +; "" where there is none."""
        if self.texts[self.i][:1] != '"':
            return ""
        found = unescaped(self.texts[self.i])
        self.i += 1
        while self.texts[self.i] == "+":
            self.i += 1
            if self.texts[self.i][:1] != '"':
                self.fail("a string")
            found += unescaped(self.texts[self.i])
            self.i += 1
        return found

    def skip_annotation(self) -> None:
        """Past annotation(…), if one stands here."""
        if self.accept("annotation"):
            if self.texts[self.i] != "(":
                self.fail("'('")
            self.i = self.tokens.closing[self.i] + 1

    def _finish(self) -> None:
        self.description()
        self.skip_annotation()
        self.expect(";")

    def section(self, algorithm: bool) -> tuple[tree.Equation, ...]:
        """All equations or statements up to a word that begins something else."""
        texts = self.texts
        found: list[tree.Equation] = []
        while True:
            word = texts[self.i]
            if word in _SECTION_ENDS and not (word == "initial" and texts[self.i + 1] == "("):
                return tuple(found)
            found.append(self.statement() if algorithm else self.equation())

    # --- equations ---

    def equation(self) -> tree.Equation:
        """One equation with its semicolon."""
        word = self.texts[self.i]
        at = self.starts[self.i]
        found: tree.Equation
        if word == "if":
            found = self._if_of(False)
        elif word == "for":
            found = self._for_of(False)
        elif word == "when":
            found = self._when_of(False)
        elif word == "connect":
            found = self.connect()
        else:
            left = self.operation()
            if self.accept("="):
                right = self.expression()
                found = tree.Equality(left, right, at, self.end_of_last())
            elif isinstance(left, tree.Call):
                found = tree.CallEquation(left, at, self.end_of_last())
            else:
                self.fail("'='")
        self._finish()
        return found

    def connect(self) -> tree.Connect:
        """connect(a, b)."""
        at = self.starts[self.i]
        self.expect("connect")
        self.expect("(")
        left = self.reference()
        self.expect(",")
        right = self.reference()
        self.expect(")")
        return tree.Connect(left, right, at, self.end_of_last())

    # --- statements ---

    def statement(self) -> tree.Equation:
        """One statement with its semicolon."""
        word = self.texts[self.i]
        found: tree.Equation
        if word == "if":
            found = self._if_of(True)
        elif word == "for":
            found = self._for_of(True)
        elif word == "when":
            found = self._when_of(True)
        elif word == "while":
            found = self._while()
        elif word in ("break", "return"):
            at = self.starts[self.i]
            self.i += 1
            found = tree.Jump(word, at, self.end_of_last())
        else:
            found = self._assignment()
        self._finish()
        return found

    def _assignment(self) -> tree.Equation:
        at = self.starts[self.i]
        if not (is_name(self.texts[self.i]) or self.texts[self.i] in _STATEMENT_STARTS):
            self.fail("a statement")
        target = self.primary()
        if self.texts[self.i] != ":=":
            if isinstance(target, tree.Call):
                return tree.CallEquation(target, at, self.end_of_last())
            self.fail("':='")
        if not isinstance(target, tree.Reference | tree.Several):
            self.fail("a variable before ':='")
        self.i += 1
        value = self.expression()
        return tree.Assignment(target, value, at, self.end_of_last())

    # --- both ---

    def _branch(self, algorithm: bool) -> tuple[tree.Equation, ...]:
        found = []
        while self.texts[self.i] not in _BRANCH_ENDS:
            found.append(self.statement() if algorithm else self.equation())
        return tuple(found)

    def _end(self, word: str) -> int:
        self.expect("end")
        self.expect(word)
        return self.end_of_last()

    def _if_of(self, algorithm: bool) -> tree.If:
        at = self.starts[self.i]
        branches: list[tuple[tree.Expression | None, tuple[tree.Equation, ...]]] = []
        while self.texts[self.i] == ("elseif" if branches else "if"):
            self.i += 1
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self._branch(algorithm)))
        if self.accept("else"):
            branches.append((None, self._branch(algorithm)))
        return tree.If(tuple(branches), at, self._end("if"))

    def _for_of(self, algorithm: bool) -> tree.For:
        at = self.starts[self.i]
        iterators = self.iterators()
        self.expect("loop")
        body = self._branch(algorithm)
        return tree.For(iterators, body, at, self._end("for"))

    def _when_of(self, algorithm: bool) -> tree.When:
        at = self.starts[self.i]
        branches: list[tuple[tree.Expression, tuple[tree.Equation, ...]]] = []
        while self.texts[self.i] == ("elsewhen" if branches else "when"):
            self.i += 1
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self._branch(algorithm)))
        return tree.When(tuple(branches), at, self._end("when"))

    def _while(self) -> tree.While:
        at = self.starts[self.i]
        self.expect("while")
        condition = self.expression()
        self.expect("loop")
        body = self._branch(True)
        return tree.While(condition, body, at, self._end("while"))
