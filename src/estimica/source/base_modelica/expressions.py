"""Expressions of Base Modelica as the nodes that the interpreter of the flat JSON reads."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import SourceError
from estimica.source.base_modelica.document import Node, Parts
from estimica.source.syntax import tree
from estimica.source.syntax.nodes import BUILTINS, NAMED_ARGUMENT, USER_DOCUMENT
from estimica.source.syntax.parser import reference_node
from estimica.source.syntax.tokens import place

_OPERATORS = {
    "<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge", "==": "Eq", "<>": "Neq",
    "+": "Add", "-": "Sub", ".+": "AddElem", ".-": "SubElem", "or": "Or", "and": "And",
    "*": "Mul", "/": "Div", ".*": "MulElem", "./": "DivElem", "^": "Exp", ".^": "ExpElem",
}  # fmt: skip
#: Whole numbers from here on are not all floating-point numbers; they are read as Real.
_EXACT = 2.0**53


def plain_name(word: str) -> str:
    """An identifier without its quotes."""
    if word.startswith("'"):
        return word[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    return word


def plain_type(name: tree.TypeName) -> str:
    """The dotted name of a class without quotes."""
    return ".".join(map(plain_name, name.parts))


def span_from(at: int, end: int | None = None) -> Node:
    """Where something stands in the text; without `end` only its beginning counts."""
    return {"source": USER_DOCUMENT, "start": at, "end": at if end is None else end}


def _literal(kind: str, value: object) -> Node:
    return {"Literal": {"value": {kind: value}}}


class Expressions:
    """Makes nodes of the tree; `references` are those to variables, in the order of the text."""

    def __init__(self, source: tree.Source) -> None:
        self._source = source
        self.references: list[tuple[Node, Parts]] = []

    def refused(self, at: int, expected: str) -> SourceError:
        """What Modelica has and Base Modelica has not."""
        return SourceError("S200", f"{place(self._source, at)}: expected {expected}")

    def node(self, value: tree.Expression | None) -> Node:
        """The node of an expression."""
        match value:
            case None:
                return {"Empty": {}}
            case tree.Number(number, whole):
                exact = whole and number < _EXACT
                return _literal("Integer", int(number)) if exact else _literal("Real", number)
            case tree.Text(text):
                return _literal("String", text)
            case tree.Truth(truth):
                return _literal("Boolean", truth)
            case tree.End():
                return {"VarRef": {"name": {"name": "end"}, "subscripts": []}}
            case tree.Colon():
                return {"Colon": {}}
            case tree.Reference():
                return self._variable(value)
            case tree.Binary():
                return self._chain(value)
            case tree.Unary(op, operand):
                return self._sign(op, self.node(operand))
            case tree.IfExpression(branches, otherwise):
                made = [[self.node(c), self.node(v)] for c, v in branches]
                return {"If": {"branches": made, "else_branch": self.node(otherwise)}}
            case tree.Range(first, step, last):
                start = self.node(first)
                between = None if step is None else self.node(step)
                return {"Range": {"start": start, "step": between, "end": self.node(last)}}
            case tree.Call():
                return self._call(value)
            case _:
                return self._composed(value)

    def _composed(self, value: tree.Expression) -> Node:
        match value:
            case tree.PartialCall(function, named):
                name = self.name_of(function)
                return {"FunctionReference": {"name": name, "args": self._named(named)}}
            case tree.ArrayOf((element,), _, iterators) if iterators:
                return self._comprehension(element, iterators)
            case tree.ArrayOf(elements):
                return {"Array": {"elements": self.nodes(elements), "kind": "Array"}}
            case tree.Matrix(rows):
                made = [{"Array": {"elements": self.nodes(r), "kind": "Horizontal"}} for r in rows]
                return {"Array": {"elements": made, "kind": "Vertical"}}
            case tree.Several(elements):
                return {"Tuple": {"elements": self.nodes(elements)}}
            case tree.Indexed(base, subscripts):
                inner = self.node(base)
                return {"Index": {"base": inner, "subscripts": self.subscripts(subscripts)}}
            case tree.Field(base, name):
                return {"FieldAccess": {"base": self.node(base), "field": plain_name(name)}}
        raise self.refused(value.at, "an expression of Base Modelica")

    def nodes(self, values: Sequence[tree.Expression | None]) -> list[Node]:
        """The nodes of several expressions."""
        return [self.node(v) for v in values]

    def _chain(self, value: tree.Binary) -> Node:
        """A long sum leans to the left; to descend into each would end Python's stack."""
        rest: list[tree.Binary] = []
        left: tree.Expression = value
        while isinstance(left, tree.Binary):
            rest.append(left)
            left = left.left
        made = self.node(left)
        for binary in reversed(rest):
            right = self.node(binary.right)
            made = {"Binary": {"op": _OPERATORS[binary.op], "lhs": made, "rhs": right}}
        return made

    def _sign(self, op: str, operand: Node) -> Node:
        if op == "not":
            return {"Unary": {"op": "Not", "rhs": operand}}
        return {"Unary": {"op": "Minus", "rhs": operand}} if "-" in op else operand

    def subscripts(self, values: Sequence[tree.Expression]) -> list[Node]:
        """[i, :]."""
        return [
            {"Colon": {}} if isinstance(v, tree.Colon) else {"Expr": {"expr": self.node(v)}}
            for v in values
        ]

    # --- references and calls ---

    def name_of(self, reference: tree.Reference) -> str:
        """The dotted name without quotes and subscripts."""
        return ".".join([plain_name(part.name) for part in reference.parts])

    def parts(self, reference: tree.Reference) -> Parts:
        """The identifiers of a reference with their subscripts."""
        return [(plain_name(p.name), self.subscripts(p.subscripts)) for p in reference.parts]

    def _variable(self, reference: tree.Reference) -> Node:
        parts = self.parts(reference)
        node = reference_node(parts, span_from(reference.at))
        self.references.append((node, parts))
        return node

    def arguments(self, call: tree.Call) -> list[Node]:
        """The arguments of a call, those with names last."""
        if call.iterators:
            return [self._comprehension(call.arguments[0], call.iterators)]
        return [*self.nodes(call.arguments), *self._named(call.named)]

    def _named(self, named: Sequence[tuple[str, tree.Expression]]) -> list[Node]:
        return [
            {
                "FunctionCall": {
                    "name": {"name": NAMED_ARGUMENT + plain_name(name)},
                    "args": [self.node(value)],
                }
            }
            for name, value in named
        ]

    def _call(self, call: tree.Call) -> Node:
        """Names in quotes are functions of the text, others those of the language."""
        name = self.name_of(call.function)
        arguments = self.arguments(call)
        span = span_from(call.at)
        if not any(part.name.startswith("'") for part in call.function.parts):
            if name == "pure" and len(arguments) == 1:
                return arguments[0]
            if name == "array":
                return {"Array": {"elements": arguments, "kind": "Array"}}
            if name == "sample":
                arguments = arguments[-2:]  # later stages of OpenModelica put a number first
            if name in BUILTINS:
                return {
                    "BuiltinCall": {"function": BUILTINS[name], "args": arguments, "span": span}
                }
        return {"FunctionCall": {"name": {"name": name}, "args": arguments, "span": span}}

    def _comprehension(self, value: tree.Expression, iterators: Sequence[tree.Iterator]) -> Node:
        inner = self.node(value)
        indices = [{"name": name, "range": values} for name, values in self.indices(iterators)]
        return {"ArrayComprehension": {"expr": inner, "indices": indices, "filter": None}}

    def indices(self, iterators: Sequence[tree.Iterator]) -> list[tuple[str, Node]]:
        """`i in r, j in s`."""
        found = []
        for iterator in iterators:
            if iterator.range is None:
                raise self.refused(iterator.at, f"'{iterator.name} in' and a range")
            found.append((plain_name(iterator.name), self.node(iterator.range)))
        return found
