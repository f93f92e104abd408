"""Formulas: expressions of the user's own in Modelica syntax, with exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat import calculus
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.flat.vectorised import ArrayProgram
from estimica.source.syntax.nodes import BUILTINS, argument_name, span_of
from estimica.source.syntax.outline import Token, tokenise
from estimica.source.syntax.parser import ParseFailure, Parser

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
    "Add": ex.add, "Sub": ex.sub, "Mul": ex.mul, "Div": ex.div, "Exp": ex.power,
    "AddElem": ex.add, "SubElem": ex.sub, "MulElem": ex.mul, "DivElem": ex.div,
    "ExpElem": ex.power,
}  # fmt: skip
_RELATIONS = {"Lt": "lt", "Le": "le", "Gt": "gt", "Ge": "ge", "Eq": "eq", "Neq": "ne"}
_LOGIC = {"And": ex.logical_and, "Or": ex.logical_or}
_CALLS = {spelt: name for name, spelt in BUILTINS.items()}


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
    tokens = _tokens(text) if len(text) <= CHARACTERS else []
    if len(text) > CHARACTERS or len(tokens) > WORDS:
        size = f"{len(tokens)} words and signs" if tokens else f"{len(text)} characters"
        raise SourceError(
            "S044",
            f"{where}: '{text[:40]}…' has {size}, and a formula has at most {WORDS} in "
            f"{CHARACTERS} characters; divide it, or write it as a Modelica model",
        )
    return _parsed(text, tokens, where)


def _tokens(text: str) -> list[Token]:
    return tokenise(f"{text}\n;")[:-1]  # a word after the last comment ends it


def _restored(text: str) -> Formula:
    """A formula that was one already; a derivative may be longer than what a user may write."""
    return _parsed(text, _tokens(text), "expression")


def _parsed(text: str, tokens: list[Token], where: str) -> Formula:
    reader = _Reader(text, where)
    reader.check_words(tokens)
    end = Token("end", "", len(text.rstrip()), len(text.rstrip()))
    parser = Parser([*tokens, end], stop=len(tokens))
    try:
        tree = parser.expression()
        if not parser.done:
            reader.fail(_left_over(parser.word), tokens[parser.at].start)
        expression = reader.number(tree)
    except ParseFailure as failure:
        place = end.start if failure.token is None else failure.token.start
        reader.fail(_told(str(failure), failure.token), place)
    except ValueError:  # Python's limit to the digits of an integer
        reader.fail("a number is too large")
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
    """Turns the parser's nodes into an expression and collects the names."""

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

    def check_words(self, tokens: Sequence[Token]) -> None:
        """What the grammar would blame on another place, or in words that do not help."""
        if not tokens:
            raise SourceError("S043", f"{self.where}: the formula is empty")
        for left, right in pairwise(tokens):
            pair = left.text + right.text if left.end == right.start else ""
            if pair in _SPELT_OTHERWISE:
                self.fail(_SPELT_OTHERWISE[pair], left.start)
            if _ends_operand(left) and _begins_operand(left, right):
                self.fail(f"an operator is missing before '{right.text}'", right.start)

    # --- numbers and truth values ----------------------------------------------------------------

    def number(self, node: Any) -> Expression:
        """A node that must be a number."""
        kind, content = next(iter(node.items()))
        match kind:
            case "Literal":
                return self._literal(content["value"])
            case "VarRef" | "FieldAccess" | "Index":
                return self._name(node)
            case "Unary" if content["op"] == "Minus":
                return ex.neg(self.number(content["rhs"]))
            case "Binary" if content["op"] in _ARITHMETIC:
                return self._arithmetic(node)
            case "If":
                return self._choice(content, self.number)
            case "BuiltinCall" | "FunctionCall":
                return self._call(node)
            case "Unary" | "Binary":
                self.fail("a truth value where a number is needed; write if ... then 1 else 0")
        self.fail("only scalars can be used: no arrays, ranges or lists")

    def truth(self, node: Any) -> Expression:
        """A node that must be true or false; a name is true where it is not zero."""
        kind, content = next(iter(node.items()))
        match kind:
            case "Literal" if "Boolean" in content["value"]:
                return ex.const(content["value"]["Boolean"])
            case "VarRef" | "FieldAccess" | "Index":
                return self._name(node)
            case "Unary" if content["op"] == "Not":
                return ex.logical_not(self.truth(content["rhs"]))
            case "Binary" if content["op"] in _RELATIONS:
                left, right = self.number(content["lhs"]), self.number(content["rhs"])
                return ex.relation(_RELATIONS[content["op"]], left, right)
            case "Binary" if content["op"] in _LOGIC:
                return _LOGIC[content["op"]](self.truth(content["lhs"]), self.truth(content["rhs"]))
            case "If":
                return self._choice(content, self.truth)
            case "BuiltinCall" if content["function"] == "NoEvent" and len(content["args"]) == 1:
                return self.truth(content["args"][0])
        self.fail("a number where a condition is needed; compare it, as in x > 0")

    def _literal(self, value: Mapping[str, Any]) -> Expression:
        if "Boolean" in value or "String" in value:
            what = "a truth value" if "Boolean" in value else f'the text "{value["String"]}"'
            self.fail(f"{what} where a number is needed")
        try:
            number = float(next(iter(value.values())))
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail("a number is too large")
        return ex.const(number)

    def _arithmetic(self, node: Any) -> Expression:
        """A chain of operators; long sums lean to the left, so that side is not a recursion."""
        rest: list[tuple[str, Any]] = []
        while "Binary" in node and node["Binary"]["op"] in _ARITHMETIC:
            rest.append((node["Binary"]["op"], node["Binary"]["rhs"]))
            node = node["Binary"]["lhs"]
        value = self.number(node)
        for op, right in reversed(rest):
            value = _ARITHMETIC[op](value, self.number(right))
        return value

    def _choice(self, content: Any, read: Any) -> Expression:
        pairs = [(self.truth(c), read(value)) for c, value in content["branches"]]
        result: Expression = read(content["else_branch"])
        for condition, value in reversed(pairs):
            result = ex.conditional(condition, value, result)
        return result

    # --- names and functions ---------------------------------------------------------------------

    def _name(self, node: Any) -> Expression:
        name = self._spelt(node)
        if name in CONSTANTS:
            return ex.const(CONSTANTS[name])
        if name in _WORDS:
            self.fail(f"'{name}' cannot stand here", (span_of(node) or {}).get("start"))
        self.names[name] = None
        return ex.name(name)

    def _spelt(self, node: Any) -> str:
        kind, content = next(iter(node.items()))
        if kind == "VarRef":
            return str(content["name"]["name"]) + self._subscripts(content["subscripts"])
        if kind == "FieldAccess":
            return f"{self._spelt(content['base'])}.{content['field']}"
        if kind == "Index":
            return self._spelt(content["base"]) + self._subscripts(content["subscripts"])
        self.fail("an element of something that has no name")

    def _subscripts(self, subscripts: Sequence[Any]) -> str:
        if not subscripts:
            return ""
        numbers = []
        for subscript in subscripts:
            inner = subscript.get("Expr", {}).get("expr", {})
            index = inner.get("Literal", {}).get("value", {}).get("Integer")
            if index is None:
                self.fail("a subscript must be a whole number, as in a[1,2]")
            numbers.append(str(index))
        return f"[{','.join(numbers)}]"

    def _call(self, node: Any) -> Expression:
        content = next(iter(node.values()))
        called = content["name"]["name"] if "name" in content else _CALLS[content["function"]]
        place = (span_of(node) or {}).get("start")
        if called not in FUNCTIONS:
            hint = (
                did_you_mean(called, FUNCTIONS) or f" (functions: {', '.join(sorted(FUNCTIONS))})"
            )
            hint = f"; {_OTHER_WORDS[called]}" if called in _OTHER_WORDS else hint
            self.fail(f"unknown function '{called}'{hint}", place)
        arguments, needed = content["args"], FUNCTIONS[called]
        if any(argument_name(a) is not None for a in arguments):
            self.fail(f"{called} takes its arguments without names", place)
        if len(arguments) != needed:
            plural = "argument" if needed == 1 else "arguments"
            self.fail(f"{called} takes {needed} {plural}, not {len(arguments)}", place)
        if called == "noEvent":
            return self.number(arguments[0])
        return ex.call(_TWO_ARGUMENTS.get(called, called), *(self.number(a) for a in arguments))


def _ends_operand(token: Token) -> bool:
    if token.kind == "name":
        return token.text not in _WORDS
    return token.kind == "number" or token.text in (")", "]")


def _begins_operand(left: Token, token: Token) -> bool:
    if token.text == "(":
        return left.kind != "name"
    return token.kind == "number" or (
        token.kind == "name" and token.text not in _WORDS | {"for", "in"}
    )


def _left_over(word: str) -> str:
    match word:
        case "=":
            return "a formula has no '='; write == to compare"
        case "^" | ".^":
            return "a power of a power needs brackets, as in (a^b)^c"
        case ")" | "]":
            return f"'{word}' closes nothing"
    return f"'{word}' cannot stand here"


def _told(message: str, token: Token | None) -> str:
    """The parser's complaint in the words of a formula."""
    if token is None:
        message = message.replace("before ''", "at the end").replace("the text ends", "it ends")
        return message.replace("',' is missing at", "')' is missing at")
    if token.text in ("-", "+"):
        return f"put the sign into brackets, as in a*({token.text}b)"
    if not token.text.isascii():
        return f"{message}; write a name with other letters in quotes, as in 'α'"
    return message
