"""Expressions of Base Modelica as the nodes that the interpreter of the flat JSON reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Token, v_args
from lark.visitors import Transformer_NonRecursive

from estimica.source.base_modelica.document import Node, Parts
from estimica.source.syntax.nodes import BUILTINS, NAMED_ARGUMENT, USER_DOCUMENT
from estimica.source.syntax.parser import reference_node, unescaped

if TYPE_CHECKING:
    from lark.tree import Meta

_OPERATORS = {
    "<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge", "==": "Eq", "<>": "Neq",
    "+": "Add", "-": "Sub", ".+": "AddElem", ".-": "SubElem",
    "*": "Mul", "/": "Div", ".*": "MulElem", "./": "DivElem", "^": "Exp", ".^": "ExpElem",
}  # fmt: skip


def plain_name(token: str) -> str:
    """An identifier without its quotes."""
    if token.startswith("'"):
        return token[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    return str(token)


def span_of_text(meta: Meta) -> Node:
    """Where something stands in the text."""
    if meta.empty:
        return {"source": USER_DOCUMENT, "start": 0, "end": 0}
    return {"source": USER_DOCUMENT, "start": meta.start_pos, "end": meta.end_pos}


def _literal(kind: str, value: object) -> Node:
    return {"Literal": {"value": {kind: value}}}


def _binary(op: str, left: Node, right: Node) -> Node:
    return {"Binary": {"op": op, "lhs": left, "rhs": right}}


class Reference(NamedTuple):
    """A name with subscripts, wherever it stands."""

    parts: Parts
    quoted: bool
    span: Node

    @property
    def name(self) -> str:
        """Without subscripts."""
        return ".".join(ident for ident, _ in self.parts)


@v_args(inline=True)
class Expressions(Transformer_NonRecursive[Token, Any]):
    """The rules of the grammar for expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[tuple[Node, Parts]] = []

    def number(self, token: Token) -> Node:
        """A number: whole, or Real."""
        if token.isdigit():
            return _literal("Integer", int(token))
        return _literal("Real", float(token))

    def string(self, token: Token) -> Node:
        """A text in its quotes."""
        return _literal("String", unescaped(token))

    def true(self) -> Node:
        """`true`."""
        return _literal("Boolean", True)

    def false(self) -> Node:
        """`false`."""
        return _literal("Boolean", False)

    def end(self) -> Node:
        """`end` in a subscript."""
        return {"VarRef": {"name": {"name": "end"}, "subscripts": []}}

    def binary(self, left: Node, token: Token, right: Node) -> Node:
        """Two operands and what stands between them."""
        return _binary(_OPERATORS[token], left, right)

    def or_(self, left: Node, right: Node) -> Node:
        """`a or b`."""
        return _binary("Or", left, right)

    def and_(self, left: Node, right: Node) -> Node:
        """`a and b`."""
        return _binary("And", left, right)

    def not_(self, operand: Node) -> Node:
        """`not a`."""
        return {"Unary": {"op": "Not", "rhs": operand}}

    def sign(self, token: Token, operand: Node) -> Node:
        """`-a` or `+a`."""
        return {"Unary": {"op": "Minus", "rhs": operand}} if "-" in token else operand

    def if_expression(self, *parts: Node) -> Node:
        """`if a then b elseif c then d else e`."""
        branches = [list(pair) for pair in zip(parts[:-1:2], parts[1:-1:2], strict=True)]
        return {"If": {"branches": branches, "else_branch": parts[-1]}}

    def range(self, first: Node, last: Node) -> Node:
        """`a:b`."""
        return {"Range": {"start": first, "step": None, "end": last}}

    def stepped_range(self, first: Node, step: Node, last: Node) -> Node:
        """`a:step:b`."""
        return {"Range": {"start": first, "step": step, "end": last}}

    def output(self, value: Node | None = None) -> Node:
        """One of several results, perhaps left out."""
        return {"Empty": {}} if value is None else value

    def outputs(self, *values: Node) -> list[Node]:
        """The list of results in parentheses."""
        return list(values)

    def parenthesis(self, values: list[Node]) -> Node:
        """`(a)`, or several results."""
        return values[0] if len(values) == 1 else {"Tuple": {"elements": values}}

    def row(self, *values: Node) -> list[Node]:
        """A row of a matrix."""
        return list(values)

    def matrix(self, *rows: list[Node]) -> Node:
        """`[a, b; c, d]`."""
        made = [{"Array": {"elements": r, "kind": "Horizontal"}} for r in rows]
        return {"Array": {"elements": made, "kind": "Vertical"}}

    def array(self, *values: Node | None) -> Node:
        """`{a, b}`."""
        return {"Array": {"elements": [v for v in values if v is not None], "kind": "Array"}}

    def comprehension(self, value: Node, indices: list[tuple[str, Node]]) -> Node:
        """`a for i in r`."""
        named = [{"name": name, "range": values} for name, values in indices]
        return {"ArrayComprehension": {"expr": value, "indices": named, "filter": None}}

    def element_of(self, value: Node, subscripts: list[Node]) -> Node:
        """`(a)[i]`."""
        return {"Index": {"base": value, "subscripts": subscripts}}

    def field_of(self, value: Node, token: Token) -> Node:
        """`(a).b`."""
        return {"FieldAccess": {"base": value, "field": plain_name(token)}}

    def index(self, token: Token, values: Node) -> tuple[str, Node]:
        """`i in r`."""
        return plain_name(token), values

    def indices(self, *found: tuple[str, Node]) -> list[tuple[str, Node]]:
        """`i in r, j in s`."""
        return list(found)

    def colon(self) -> Node:
        """`:` as a subscript."""
        return {"Colon": {}}

    def subscript(self, value: Node) -> Node:
        """Any other subscript."""
        return {"Expr": {"expr": value}}

    def subscripts(self, *found: Node) -> list[Node]:
        """`[i, j]`."""
        return list(found)

    # --- references and calls ---

    def reference_part(
        self, token: Token, subscripts: list[Node] | None
    ) -> tuple[Token, list[Node]]:
        """An identifier with its subscripts."""
        return token, subscripts or []

    @v_args(meta=True)
    def reference(self, meta: Meta, children: list[Any]) -> Reference:
        """A name, perhaps dotted, with subscripts."""
        named = [c for c in children if c is not None]
        parts = [(plain_name(token), subscripts) for token, subscripts in named]
        return Reference(parts, any(t.startswith("'") for t, _ in named), span_of_text(meta))

    def variable(self, reference: Reference) -> Node:
        """A name as a value."""
        node = reference_node(reference.parts, reference.span)
        self.references.append((node, reference.parts))
        return node

    def arguments(self, *found: Node | None) -> list[Node]:
        """`(a, b = c)`."""
        return [a for a in found if a is not None]

    def named_argument(self, token: Token, value: Node) -> Node:
        """`b = c` in a call."""
        name = {"name": NAMED_ARGUMENT + plain_name(token)}
        return {"FunctionCall": {"name": name, "args": [value]}}

    def partial_application(self, name: str, arguments: list[Node]) -> Node:
        """`function f(a = 1)`."""
        return {"FunctionReference": {"name": name, "args": arguments}}

    def named_partial_application(self, token: Token, name: str, arguments: list[Node]) -> Node:
        """`g = function f(a = 1)`."""
        return self.named_argument(token, self.partial_application(name, arguments))

    @v_args(meta=True)
    def call(self, meta: Meta, children: list[Any]) -> Node:
        """`f(a)`."""
        reference, arguments = children
        return call_node(reference, arguments, span_of_text(meta))

    @v_args(meta=True)
    def initial_call(self, meta: Meta, children: list[Any]) -> Node:
        """`initial()`."""
        return call_node(Reference([("initial", [])], False, {}), children[0], span_of_text(meta))

    def pure_call(self, arguments: list[Node]) -> Node:
        """`pure(f(a))`."""
        return arguments[0]


def call_node(reference: Reference, arguments: list[Node], span: Node) -> Node:
    """A call; names in quotes are functions of the text, others those of the language."""
    name = reference.name
    if not reference.quoted:
        if name == "array":
            return {"Array": {"elements": arguments, "kind": "Array"}}
        if name == "sample":
            arguments = arguments[-2:]  # later stages of OpenModelica put a number first
        if name in BUILTINS:
            return {"BuiltinCall": {"function": BUILTINS[name], "args": arguments, "span": span}}
    return {"FunctionCall": {"name": {"name": name}, "args": arguments, "span": span}}
