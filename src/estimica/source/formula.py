"""Formulas: expressions of the user's own in Modelica syntax, with exact derivatives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NoReturn

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SourceError
from estimica.base.saving.packing import restores
from estimica.base.suggest import did_you_mean
from estimica.flat import calculus
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.flat.vectorised import ArrayProgram
from estimica.source.syntax import tree
from estimica.source.syntax.expressions import SUM, Expressions
from estimica.source.syntax.tokens import Tokens, unchecked_tokens

#: a formula of a user: a sum of 5,000 terms is read and differentiated in two seconds
CHARACTERS = 30_000
WORDS = 12_000
#: parts of a derivative, which is written out: that of a product of n factors has n products of n
#: factors each, with 500 factors 250,000 parts and 0.15 GB, with 2,500 more than 6 GB
PARTS = 300_000
#: names that are numbers; written in quotes they are ordinary names
CONSTANTS = {
    "pi": math.pi,
    "e": math.e,
    "Modelica.Constants.pi": math.pi,
    "Modelica.Constants.e": math.e,
}
_ONE_ARGUMENT = (*sorted(ex.ELEMENTARY), "sign", "floor", "ceil", "integer", "noEvent")
_TWO_ARGUMENTS = {
    "atan2": "atan2",
    "min": "min",
    "max": "max",
    "div": "idiv",
    "mod": "mod",
    "rem": "rem",
}
#: the functions of a formula and how many arguments each takes
FUNCTIONS = dict.fromkeys(_ONE_ARGUMENT, 1) | dict.fromkeys(_TWO_ARGUMENTS, 2)
#: what flows in through a connector of a Modelica model
IN_STREAM = "inStream"
_OTHER_WORDS = {
    "ln": "write log for the natural logarithm",
    "pow": "write a^b for the power",
    "power": "write a^b for the power",
    "fabs": "did you mean 'abs'?",
    "arcsin": "did you mean 'asin'?",
    "arccos": "did you mean 'acos'?",
    "arctan": "did you mean 'atan'?",
    "arctan2": "did you mean 'atan2'?",
    "round": "write floor(x + 0.5)",
}
_SPELT_OTHERWISE = {
    "**": "write ^ for the power",
    "!=": "write <> for 'is not equal to'",
    "&&": "write 'and'",
    "||": "write 'or'",
}
SHOWN = 300  # letters of a formula that a message quotes
_WORDS = frozenset(["if", "then", "elseif", "else", "and", "or", "not"])
_ARITHMETIC = {
    "+": ex.add, "-": ex.sub, "*": ex.mul, "/": ex.div, "^": ex.power,
    ".+": ex.add, ".-": ex.sub, ".*": ex.mul, "./": ex.div, ".^": ex.power,
}  # fmt: skip
_RELATIONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "<>": "ne"}
_LOGIC = {"and": ex.logical_and, "or": ex.logical_or}
_SIGNS = frozenset(["+", "-", ".+", ".-"])
_LETTER = re.compile(r"[A-Za-z_]|'.")


@dataclass(frozen=True)
class Formula:
    """A scalar expression; `names` are its free names in the order in which they appear."""

    text: str
    expression: Expression
    names: tuple[str, ...]

    def at(self, values: Mapping[str, float | Vector]) -> float | Vector:
        """The value for numbers or arrays of one length; NaN or ±∞ where it is undefined."""
        given = {n: np.asarray(_value(self, n, values), np.float64) for n in self.names}
        sizes = {v.shape: n for n, v in given.items() if v.ndim}
        if len(sizes) > 1 or any(len(shape) > 1 for shape in sizes):
            told = ", ".join(f"'{n}' {shape}" for shape, n in sizes.items())
            raise ModelError("M070", f"'{self.text}': arrays of different sizes: {told}")
        shape = next(iter(sizes), (1,))
        result = np.empty((1, *shape))
        arrays = tuple(bool(given[n].ndim) for n in self.names)
        _program(self, arrays).run(list(given.values()), result)
        return result[0] if sizes else float(result[0, 0])

    def partial(self, name: str) -> Formula:
        """The exact derivative with respect to `name`, all other names held."""
        if name not in self.names:
            hint = did_you_mean(name, self.names) or f" (names: {', '.join(self.names) or 'none'})"
            raise ModelError("M071", f"'{self.text}' has no name '{name}'{hint}")
        derivative = calculus.partial(self.expression, ex.name(name))
        parts = ex.written_size(derivative)
        if parts > PARTS:
            raise ModelError(
                "M073",
                f"the derivative of '{self.text[:40]}…' by '{name}' has {parts} parts, and at most "
                f"{PARTS} are possible; divide the formula, or write it as a Modelica model",
            )
        used = ex.names_in(derivative)
        text = write_expression(derivative, spell=str)
        return Formula(text, derivative, tuple(n for n in self.names if n in used))

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.text,)


def parse_formula(text: str, where: str = "expression") -> Formula:
    """The formula that `text` means; `where` says in messages where it stands."""
    tokens = unchecked_tokens(tree.Source(text)) if len(text) <= CHARACTERS else None
    words = sum(map(bool, tokens.texts)) if tokens is not None else 0
    if tokens is None or words > WORDS:
        size = f"{words} words and signs" if words else f"{len(text)} characters"
        raise SourceError(
            "S044",
            f"{where}: '{text[:40]}…' has {size}, and a formula has at most {WORDS} in "
            f"{CHARACTERS} characters; divide it, or write it as a Modelica model",
        )
    return _parsed(text, tokens, where)


@restores
def _restored(text: str) -> Formula:
    """A formula that was one already; a derivative may be longer than what a user may write."""
    return _parsed(text, unchecked_tokens(tree.Source(text)), "expression")


def _parsed(text: str, tokens: Tokens, where: str) -> Formula:
    reader = _Reader(text, where)
    try:
        expression = reader.number(_Syntax(tokens, reader).formula())
    except RecursionError:
        raise SourceError("S042", f"{where}: brackets are nested too deeply") from None
    return Formula(text, expression, tuple(reader.names))


@lru_cache(maxsize=256)
def _program(formula: Formula, arrays: tuple[bool, ...]) -> ArrayProgram:
    return ArrayProgram([formula.expression], [ex.name(n) for n in formula.names], arrays)


def _value(formula: Formula, name: str, values: Mapping[str, float | Vector]) -> float | Vector:
    if name in values:
        return values[name]
    hint = did_you_mean(name, values) or f" (given: {', '.join(values) or 'nothing'})"
    raise ModelError("M072", f"'{formula.text}': no value for '{name}'{hint}")


class _Reader:
    """Turns the nodes of the syntax tree into an expression and collects the names."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.names: dict[str, None] = {}

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises with the place marked below the line it stands in."""
        if at is None:
            shown = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}…"
            raise SourceError("S041", f"{self.where}: {message}, in '{shown}'") from None
        begin = max(self.text.rfind("\n", 0, at) + 1, at - SHOWN)
        line = self.text[begin : at + SHOWN].split("\n", 1)[0].rstrip()
        marked = f"  {line}\n  {' ' * (at - begin)}^"
        raise SourceError("S040", f"{self.where}: {message}\n{marked}") from None

    # --- numbers and truth values ----------------------------------------------------------------

    def number(self, node: tree.Expression) -> Expression:
        """A node that must be a number."""
        match node:
            case tree.Number():
                if not math.isfinite(node.value):
                    self.fail("a number is too large")
                return ex.const(node.value)
            case tree.Reference() | tree.Field() | tree.Indexed():
                return self._name(node)
            case tree.Unary() if node.op in _SIGNS:
                operand = self.number(node.operand)
                return ex.neg(operand) if "-" in node.op else operand
            case tree.Binary() if node.op in _ARITHMETIC:
                return self._arithmetic(node)
            case tree.IfExpression():
                return self._choice(node, self.number)
            case tree.Call():
                return self._call(node)
            case tree.Unary() | tree.Binary():
                self.fail("a truth value where a number is needed; write if ... then 1 else 0")
            case tree.Truth():
                self.fail("a truth value where a number is needed")
            case tree.Text():
                self.fail(f'the text "{node.value}" where a number is needed')
        self.fail("only scalars can be used: no arrays, ranges or lists")

    def truth(self, node: tree.Expression) -> Expression:
        """A node that must be true or false; a name is true where it is not zero."""
        match node:
            case tree.Truth():
                return ex.const(node.value)
            case tree.Reference() | tree.Field() | tree.Indexed():
                return self._name(node)
            case tree.Unary(op="not"):
                return ex.logical_not(self.truth(node.operand))
            case tree.Binary() if node.op in _RELATIONS:
                left, right = self.number(node.left), self.number(node.right)
                return ex.relation(_RELATIONS[node.op], left, right)
            case tree.Binary() if node.op in _LOGIC:
                return _LOGIC[node.op](self.truth(node.left), self.truth(node.right))
            case tree.IfExpression():
                return self._choice(node, self.truth)
            case tree.Call() if node.function.text == "noEvent" and len(node.arguments) == 1:
                return self.truth(node.arguments[0])
        self.fail("a number where a condition is needed; compare it, as in x > 0")

    def _arithmetic(self, node: tree.Expression) -> Expression:
        """A chain of operators; long sums lean to the left, so that side is not a recursion."""
        rest: list[tree.Binary] = []
        while isinstance(node, tree.Binary) and node.op in _ARITHMETIC:
            rest.append(node)
            node = node.left
        value = self.number(node)
        for operation in reversed(rest):
            value = _ARITHMETIC[operation.op](value, self.number(operation.right))
        return value

    def _choice(
        self, node: tree.IfExpression, read: Callable[[tree.Expression], Expression]
    ) -> Expression:
        pairs = [(self.truth(condition), read(value)) for condition, value in node.branches]
        result = read(node.otherwise)
        for condition, value in reversed(pairs):
            result = ex.conditional(condition, value, result)
        return result

    # --- names and functions ---------------------------------------------------------------------

    def _name(self, node: tree.Expression) -> Expression:
        if not isinstance(node, tree.Reference):
            self.fail("an element of something that has no name")
        name = self._spelt(node)
        if name in CONSTANTS:
            return ex.const(CONSTANTS[name])
        self.names[name] = None
        return ex.name(name)

    def _spelt(self, node: tree.Reference) -> str:
        if node.from_root:
            self.fail("'.' cannot stand here", node.at)
        return ".".join(part.name + self._subscripts(part.subscripts) for part in node.parts)

    def _subscripts(self, subscripts: Sequence[tree.Expression]) -> str:
        if not subscripts:
            return ""
        numbers = []
        for subscript in subscripts:
            if not isinstance(subscript, tree.Number) or not subscript.whole:
                self.fail("a subscript must be a whole number, as in a[1,2]")
            if not math.isfinite(subscript.value):
                self.fail("a number is too large")
            numbers.append(str(int(subscript.value)))
        return f"[{','.join(numbers)}]"

    def _call(self, node: tree.Call) -> Expression:
        called = node.function.text
        if called == IN_STREAM:
            return self._inflow(node)
        if called not in FUNCTIONS:
            hint = (
                did_you_mean(called, FUNCTIONS) or f" (functions: {', '.join(sorted(FUNCTIONS))})"
            )
            hint = f"; {_OTHER_WORDS[called]}" if called in _OTHER_WORDS else hint
            self.fail(f"unknown function '{called}'{hint}", node.at)
        arguments, needed = node.arguments, FUNCTIONS[called]
        if node.named or node.iterators:
            self.fail(f"{called} takes its arguments without names", node.at)
        if len(arguments) != needed:
            plural = "argument" if needed == 1 else "arguments"
            self.fail(f"{called} takes {needed} {plural}, not {len(arguments)}", node.at)
        if called == "noEvent":
            return self.number(arguments[0])
        return ex.call(_TWO_ARGUMENTS.get(called, called), *(self.number(a) for a in arguments))

    def _inflow(self, node: tree.Call) -> Expression:
        """What flows in through a connector is a variable, as far as formulas are concerned."""
        if len(node.arguments) != 1 or not isinstance(node.arguments[0], tree.Reference):
            self.fail("inStream takes the name of a stream, as in inStream(port.h_outflow)")
        stream = self._spelt(node.arguments[0])
        name = f"{IN_STREAM}({stream})"
        self.names[name] = None
        return ex.name(name)


class _Syntax(Expressions):
    """The grammar of expressions, with complaints in the words of a formula."""

    def __init__(self, tokens: Tokens, reader: _Reader) -> None:
        super().__init__(tokens)
        self._reader = reader
        self._end = len(tokens.source.text.rstrip())

    def formula(self) -> tree.Expression:
        """An expression that is all there is."""
        self._check_words()
        found = self.expression()
        if self.texts[self.i]:
            self._reader.fail(_left_over(self.texts[self.i]), self.starts[self.i])
        return found

    def operation(self, weakest: int = 1) -> tree.Expression:
        """A sign inside a product or power is written in brackets."""
        if weakest > SUM and self.texts[self.i] in _SIGNS:
            self.fail("an expression")
        return super().operation(weakest)

    def fail(self, expected: str, i: int | None = None) -> NoReturn:
        """Say what is wrong here, or at the end where something is missing."""
        i = self.i if i is None else i
        word = self.texts[i]
        at = self.starts[i] if word else self._end
        if expected in ("an expression", "a name"):
            self._reader.fail(_misplaced(word) if word else "it ends too early", at)
        if expected.startswith("brackets"):
            self._reader.fail(_left_over(word), at)
        missing = expected.rpartition(" or ")[2]
        where = f"before '{word}'" if word else "at the end"
        self._reader.fail(f"{missing} is missing {where}", at)

    def _check_words(self) -> None:
        """What the grammar would blame on another place, or in words that do not help."""
        words = [(t, s) for t, s in zip(self.texts, self.starts, strict=True) if t]
        if not words:
            raise SourceError("S043", f"{self._reader.where}: the formula is empty")
        for word, start in words:
            if word == "'" or word.startswith("/*") or (word[0] == '"' and not _is_closed(word)):
                self._reader.fail(f"'{word[:2]}' is not closed", start)
        for (left, start), (right, at) in pairwise(words):
            pair = left + right if start + len(left) == at else ""
            if pair in _SPELT_OTHERWISE:
                self._reader.fail(_SPELT_OTHERWISE[pair], start)
            if _ends_operand(left) and _begins_operand(left, right):
                self._reader.fail(f"an operator is missing before '{right}'", at)


def _is_closed(text: str) -> bool:
    return re.fullmatch(r'"(?:[^"\\]|\\.)*"', text, re.DOTALL) is not None


def _is_letters(word: str) -> bool:
    return _LETTER.match(word) is not None


def _is_number(word: str) -> bool:
    return word[0].isdigit() or (word[0] == "." and word[1:2].isdigit())


def _ends_operand(word: str) -> bool:
    if _is_letters(word):
        return word not in _WORDS
    return _is_number(word) or word in (")", "]")


def _begins_operand(left: str, word: str) -> bool:
    if word == "(":
        return not _is_letters(left)
    return _is_number(word) or (_is_letters(word) and word not in _WORDS | {"for", "in"})


def _left_over(word: str) -> str:
    match word:
        case "=":
            return "a formula has no '='; write == to compare"
        case "^" | ".^":
            return "a power of a power needs brackets, as in (a^b)^c"
        case ")" | "]":
            return f"'{word}' closes nothing"
    return f"'{word}' cannot stand here"


def _misplaced(word: str) -> str:
    if word in ("-", "+"):
        return f"put the sign into brackets, as in a*({word}b)"
    if not word.isascii():
        return f"'{word}' cannot stand here; write a name with other letters in quotes, as in 'α'"
    return f"'{word}' cannot stand here"
