"""A parser of Modelica expressions, statements and equations into the nodes of the flat JSON.

It is needed for what the compiler flattens but then refuses to go on with: such sections are cut
out of the text (see `hidden`), read here, and given to the interpreter like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from estimica.source.syntax.nodes import BUILTINS, NAMED_ARGUMENT
from estimica.source.syntax.outline import Token

_RELATIONS = {"<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge", "==": "Eq", "<>": "Neq"}
_SUMS = {"+": "Add", "-": "Sub", ".+": "AddElem", ".-": "SubElem"}
_PRODUCTS = {"*": "Mul", "/": "Div", ".*": "MulElem", "./": "DivElem"}
_POWERS = {"^": "Exp", ".^": "ExpElem"}
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}

Node = dict[str, Any]


class ParseFailure(Exception):
    """The text is not what the grammar allows here."""

    def __init__(self, message: str, token: Token | None) -> None:
        super().__init__(message)
        self.token = token


class Parser:
    """Reads tokens from `start` on."""

    def __init__(
        self, tokens: Sequence[Token], start: int = 0, stop: int | None = None, source: int = 0
    ) -> None:
        self._tokens = tokens
        self._source = source
        self.at = start
        self._stop = len(tokens) if stop is None else stop

    # --- tokens ----------------------------------------------------------------------------------

    @property
    def word(self) -> str:
        """The text of the present token, empty at the end."""
        return self._tokens[self.at].text if self.at < self._stop else ""

    @property
    def kind(self) -> str:
        """The kind of the present token, empty at the end."""
        return self._tokens[self.at].kind if self.at < self._stop else ""

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.at >= self._stop

    def take(self) -> Token:
        """The present token; goes on to the next."""
        if self.done:
            raise ParseFailure("the text ends too early", None)
        self.at += 1
        return self._tokens[self.at - 1]

    def accept(self, word: str) -> bool:
        """Go on if the present token is `word`."""
        if self.word == word and self.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        """Go on; fail unless the present token is `word`."""
        if not self.accept(word):
            token = self._tokens[self.at] if not self.done else None
            raise ParseFailure(f"'{word}' is missing before '{self.word}'", token)

    def span(self, start: int) -> Node:
        """From token `start` to the last one read."""
        return {
            "source": self._source,
            "start": self._tokens[start].start,
            "end": self._tokens[max(self.at - 1, start)].end,
        }

    # --- expressions -----------------------------------------------------------------------------

    def expression(self) -> Node:
        """Any expression."""
        if self.word == "if" and self.kind == "name":
            return self._if_expression()
        first = self._logical()
        if self.word != ":":
            return first
        self.take()
        second = self._logical()
        if self.accept(":"):
            return {"Range": {"start": first, "step": second, "end": self._logical()}}
        return {"Range": {"start": first, "step": None, "end": second}}

    def _if_expression(self) -> Node:
        branches = []
        self.expect("if")
        while True:
            condition = self.expression()
            self.expect("then")
            branches.append([condition, self.expression()])
            if not self.accept("elseif"):
                break
        self.expect("else")
        return {"If": {"branches": branches, "else_branch": self.expression()}}

    def _logical(self) -> Node:
        left = self._conjunction()
        while self.accept("or"):
            left = _binary("Or", left, self._conjunction())
        return left

    def _conjunction(self) -> Node:
        left = self._negation()
        while self.accept("and"):
            left = _binary("And", left, self._negation())
        return left

    def _negation(self) -> Node:
        if self.accept("not"):
            return {"Unary": {"op": "Not", "rhs": self._relation()}}
        return self._relation()

    def _relation(self) -> Node:
        left = self._sum()
        if self.word in _RELATIONS:
            op = _RELATIONS[self.take().text]
            return _binary(op, left, self._sum())
        return left

    def _sum(self) -> Node:
        if self.word in ("-", ".-"):
            self.take()
            left: Node = {"Unary": {"op": "Minus", "rhs": self._product()}}
        else:
            if self.word in ("+", ".+"):
                self.take()
            left = self._product()
        while self.word in _SUMS and self.kind == "symbol":
            op = _SUMS[self.take().text]
            left = _binary(op, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._factor()
        while self.word in _PRODUCTS and self.kind == "symbol":
            op = _PRODUCTS[self.take().text]
            left = _binary(op, left, self._factor())
        return left

    def _factor(self) -> Node:
        base = self._primary()
        if self.word in _POWERS and self.kind == "symbol":
            op = _POWERS[self.take().text]
            return _binary(op, base, self._primary())
        return base

    def _primary(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "string":
            return {"Literal": {"value": {"String": unescaped(token.text)}}}
        match token.text:
            case "true" | "false":
                return {"Literal": {"value": {"Boolean": token.text == "true"}}}
            case "(":
                return self._parenthesis()
            case "{":
                return self._array()
            case "[":
                return self._matrix()
            case "end":
                return {"VarRef": {"name": {"name": "end"}, "subscripts": []}}
            case ".":
                token = self.take()
        if token.kind != "name":
            raise ParseFailure(f"'{token.text}' cannot stand here", token)
        self.at -= 1
        return self._reference_or_call()

    def _parenthesis(self) -> Node:
        elements: list[Node] = []
        single = True
        while not self.accept(")"):
            if self.word == ",":
                elements.append({"Empty": {}})
            else:
                elements.append(self.expression())
            if self.accept(","):
                single = False
                if self.word == ")":
                    elements.append({"Empty": {}})
        if single and len(elements) == 1:
            return elements[0]
        return {"Tuple": {"elements": elements}}

    def _array(self) -> Node:
        first = self.expression()
        if self.accept("for"):
            indices = self.indices("name")
            self.expect("}")
            return {"ArrayComprehension": {"expr": first, "indices": indices, "filter": None}}
        elements = [first]
        while self.accept(","):
            elements.append(self.expression())
        self.expect("}")
        return {"Array": {"elements": elements, "kind": "Array"}}

    def _matrix(self) -> Node:
        rows = []
        while True:
            row = [self.expression()]
            while self.accept(","):
                row.append(self.expression())
            rows.append({"Array": {"elements": row, "kind": "Horizontal"}})
            if not self.accept(";"):
                break
        self.expect("]")
        return {"Array": {"elements": rows, "kind": "Vertical"}}

    def indices(self, key: str) -> list[Node]:
        """`i in 1:n, j in 1:m`; the index's name is stored under `key`."""
        indices = []
        while True:
            name = self.take().text
            self.expect("in")
            indices.append({key: name, "range": self.expression()})
            if not self.accept(","):
                return indices

    def _reference_or_call(self) -> Node:
        start = self.at
        parts = self.reference()
        if self.word == "(" and not any(subs for _, subs in parts):
            name = ".".join(ident for ident, _ in parts)
            called = self._called(name, self._arguments(), start)
            subscripts = self._subscripts()
            return {"Index": {"base": called, "subscripts": subscripts}} if subscripts else called
        return reference_node(parts, self.span(start))

    def reference(self) -> list[tuple[str, list[Node]]]:
        """A component reference as (identifier, subscripts) pairs."""
        parts = []
        self.accept(".")
        while True:
            token = self.take()
            if token.kind != "name":
                raise ParseFailure(f"a name is missing before '{token.text}'", token)
            parts.append((token.text, self._subscripts()))
            if self.word != ".":
                return parts
            self.take()

    def _subscripts(self) -> list[Node]:
        subscripts: list[Node] = []
        if not self.accept("["):
            return subscripts
        while True:
            if self.word == ":":
                self.take()
                subscripts.append({"Colon": {}})
            else:
                subscripts.append({"Expr": {"expr": self.expression()}})
            if not self.accept(","):
                break
        self.expect("]")
        return subscripts

    def _arguments(self) -> list[Node]:
        arguments: list[Node] = []
        self.expect("(")
        while not self.accept(")"):
            named = self.kind == "name" and self._tokens[self.at + 1].text == "="
            name = self.take().text if named else ""
            if named:
                self.expect("=")
            value = self.expression()
            if self.accept("for"):
                indices = self.indices("name")
                value = {"ArrayComprehension": {"expr": value, "indices": indices, "filter": None}}
            if named:
                value = {"FunctionCall": {"name": {"name": NAMED_ARGUMENT + name}, "args": [value]}}
            arguments.append(value)
            if self.word != ")":
                self.expect(",")
        return arguments

    def _called(self, name: str, arguments: list[Node], start: int) -> Node:
        if name in BUILTINS:
            return {
                "BuiltinCall": {
                    "function": BUILTINS[name],
                    "args": arguments,
                    "span": self.span(start),
                }
            }
        call = {"name": {"name": name}, "args": arguments, "span": self.span(start)}
        return {"FunctionCall": call}

    # --- statements ------------------------------------------------------------------------------

    def statements(self, *ends: str) -> list[Node]:
        """Statements up to (not including) one of the words `ends`, or the end of the text."""
        statements = []
        while not self.done and self.word not in ends:
            statements.append(self.statement())
        return statements

    def statement(self) -> Node:
        """One statement with its semicolon."""
        start = self.at
        match self.word:
            case "if":
                node = self._if_statement()
            case "for":
                self.take()
                indices = self.indices("ident")
                self.expect("loop")
                body = self.statements("end")
                self._close("for")
                node = {"For": {"indices": indices, "equations": body}}
            case "while":
                self.take()
                condition = self.expression()
                self.expect("loop")
                body = self.statements("end")
                self._close("while")
                node = {"While": {"block": {"cond": condition, "stmts": body}}}
            case "when":
                node = self._when_statement()
            case "break":
                self.take()
                node = {"Break": {}}
            case "return":
                self.take()
                node = {"Return": {}}
            case "(":
                node = self._several()
            case _:
                node = self._assignment()
        if self.kind == "string":
            self.take()
        self._annotation()
        self.expect(";")
        next(iter(node.values()))["span"] = self.span(start)
        return node

    def _if_statement(self) -> Node:
        blocks = []
        self.expect("if")
        while True:
            condition = self.expression()
            self.expect("then")
            body = self.statements("elseif", "else", "end")
            blocks.append({"cond": condition, "stmts": body})
            if not self.accept("elseif"):
                break
        other = self.statements("end") if self.accept("else") else None
        self._close("if")
        return {"If": {"cond_blocks": blocks, "else_block": other}}

    def _when_statement(self) -> Node:
        blocks = []
        self.expect("when")
        while True:
            condition = self.expression()
            self.expect("then")
            blocks.append({"cond": condition, "stmts": self.statements("elsewhen", "end")})
            if not self.accept("elsewhen"):
                break
        self._close("when")
        return {"When": {"blocks": blocks}}

    def _several(self) -> Node:
        self.expect("(")
        outputs: list[Node | None] = []
        while not self.accept(")"):
            outputs.append(None if self.word == "," else component_node(self.reference()))
            if self.word != ")":
                self.expect(",")
                if self.word == ")":
                    outputs.append(None)
        self.expect(":=")
        function = self.reference()
        return {
            "FunctionCall": {
                "comp": {"name": ".".join(ident for ident, _ in function)},
                "args": self._arguments(),
                "outputs": outputs,
            }
        }

    def _assignment(self) -> Node:
        target = self.reference()
        if self.accept(":="):
            return {"Assignment": {"comp": component_node(target), "value": self.expression()}}
        name = ".".join(ident for ident, _ in target)
        arguments = self._arguments()
        match name:
            case "assert":
                return _assertion(arguments)
            case "reinit":
                return {"Reinit": {"target": arguments[0], "value": arguments[1]}}
            case "terminate":
                return {"Terminate": {"message": arguments[0]}}
        call = {"comp": {"name": name}, "args": arguments, "outputs": []}
        return {"FunctionCall": call}

    # --- equations -------------------------------------------------------------------------------

    def equations(self, *ends: str) -> list[Node]:
        """Equations up to (not including) one of the words `ends`, or the end of the text."""
        equations = []
        while not self.done and self.word not in ends:
            equations.append(self.equation())
        return equations

    def equation(self) -> Node:
        """One equation with its semicolon: Equation, IfEquation, ForEquation, WhenEquation, ..."""
        start = self.at
        match self.word:
            case "if":
                node = self._if_equation()
            case "for":
                self.take()
                indices = self.indices("ident")
                self.expect("loop")
                node = {"ForEquation": {"indices": indices, "body": self.equations("end")}}
                self._close("for")
            case "when":
                node = self._when_equation()
            case _:
                node = self._simple_equation()
        if self.kind == "string":
            self.take()
        self._annotation()
        self.expect(";")
        next(iter(node.values()))["span"] = self.span(start)
        return node

    def _simple_equation(self) -> Node:
        start = self.at
        left = self.expression()
        if self.accept("="):
            return {"Equation": {"lhs": left, "rhs": self.expression()}}
        call = left.get("FunctionCall") or left.get("BuiltinCall")
        if call is None:
            raise ParseFailure("an equation without '='", self._tokens[start])
        name = call["name"]["name"] if "name" in call else call["function"]
        arguments = call["args"]
        match name:
            case "assert":
                return _assertion(arguments)
            case "terminate":
                return {"Terminate": {"message": arguments[0]}}
            case "Reinit":
                return {"Reinit": {"target": arguments[0], "value": arguments[1]}}
        return {"Call": {"name": name, "args": arguments}}

    def _if_equation(self) -> Node:
        branches = []
        self.expect("if")
        while True:
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.equations("elseif", "else", "end")))
            if not self.accept("elseif"):
                break
        other = self.equations("end") if self.accept("else") else []
        self._close("if")
        return {"IfEquation": {"branches": branches, "else": other}}

    def _when_equation(self) -> Node:
        branches = []
        self.expect("when")
        while True:
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.equations("elsewhen", "end")))
            if not self.accept("elsewhen"):
                break
        self._close("when")
        return {"WhenEquation": {"branches": branches}}

    def _close(self, word: str) -> None:
        self.expect("end")
        self.expect(word)

    def _annotation(self) -> None:
        if self.word == "annotation" and self.kind == "name":
            self.take()
            self._arguments_skipped()

    def _arguments_skipped(self) -> None:
        depth = 0
        while True:
            text = self.take().text
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return


def reference_node(parts: list[tuple[str, list[Node]]], span: Node) -> Node:
    """A reference as the compiler writes it: fields of elements as FieldAccess and Index."""
    names: list[str] = []
    for k, (ident, subscripts) in enumerate(parts):
        names.append(ident)
        if subscripts:
            node: Node = _variable(".".join(names), subscripts, span)
            for inner, subs in parts[k + 1 :]:
                node = {"FieldAccess": {"base": node, "field": inner}}
                if subs:
                    node = {"Index": {"base": node, "subscripts": subs}}
            return node
    return _variable(".".join(names), [], span)


def component_node(parts: list[tuple[str, list[Node]]]) -> Node:
    """A reference that is assigned to."""
    return {"parts": [{"ident": ident, "subs": subs} for ident, subs in parts]}


def _variable(name: str, subscripts: list[Node], span: Node) -> Node:
    return {"VarRef": {"name": {"name": name}, "subscripts": subscripts, "span": span}}


def _assertion(arguments: list[Node]) -> Node:
    level = arguments[2] if len(arguments) > 2 else None
    return {"Assert": {"condition": arguments[0], "message": arguments[1], "level": level}}


def _binary(op: str, left: Node, right: Node) -> Node:
    return {"Binary": {"op": op, "lhs": left, "rhs": right}}


def _number(text: str) -> Node:
    if text.isdigit():
        return {"Literal": {"value": {"Integer": int(text)}}}
    return {"Literal": {"value": {"Real": float(text)}}}


def unescaped(text: str) -> str:
    """The text of a string literal in its quotes."""
    result, escaped = [], False
    for c in text[1:-1]:
        if escaped:
            result.append(_ESCAPES.get(c, c))
        elif c != "\\":
            result.append(c)
        escaped = c == "\\" and not escaped
    return "".join(result)
