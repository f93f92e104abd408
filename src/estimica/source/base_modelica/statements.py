"""Equations and statements of Base Modelica as the nodes of our own parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lark import v_args

from estimica.source.base_modelica.document import Node, Section
from estimica.source.base_modelica.expressions import Expressions, Reference, span_of_text
from estimica.source.syntax.nodes import argument_value
from estimica.source.syntax.parser import component_node

if TYPE_CHECKING:
    from lark.tree import Meta


class _Block(list[Node]):
    """The equations or statements of one branch."""


@v_args(inline=True)
class Statements(Expressions):
    """The rules of the grammar for sections."""

    def equations(self, *nodes: Node) -> Section:
        """An equation section."""
        return Section("equation", nodes)

    def initial_equations(self, *nodes: Node) -> Section:
        """An initial equation section."""
        return Section("initial equation", nodes)

    def algorithm(self, *nodes: Node) -> Section:
        """An algorithm section."""
        return Section("algorithm", nodes)

    def initial_algorithm(self, *nodes: Node) -> Section:
        """An initial algorithm section."""
        return Section("initial algorithm", nodes)

    def equation_list(self, *nodes: Node) -> _Block:
        """The equations of a branch or loop."""
        return _Block(nodes)

    def statement_list(self, *nodes: Node) -> _Block:
        """The statements of a branch or loop."""
        return _Block(nodes)

    # --- equations ---

    @v_args(meta=True)
    def equality(self, meta: Meta, children: list[Any]) -> Node:
        """`a = b`."""
        left, right, _ = children
        return {"Equation": {"lhs": left, "rhs": right, "span": span_of_text(meta)}}

    @v_args(meta=True)
    def call_equation(self, meta: Meta, children: list[Any]) -> Node:
        """A call where an equation may stand."""
        call = children[0].get("FunctionCall") or children[0].get("BuiltinCall")
        if call is None:
            nothing: Node = {"without '='": {}}  # refused with its place when it is looked at
            content = {"lhs": children[0], "rhs": nothing, "span": span_of_text(meta)}
            return {"Equation": content}
        name = call["name"]["name"] if "name" in call else call["function"]
        return _action(name, call["args"], span_of_text(meta)) or {
            "Call": {"name": name, "args": call["args"], "span": span_of_text(meta)}
        }

    @v_args(meta=True)
    def if_equation(self, meta: Meta, children: list[Any]) -> Node:
        """`if … then … end if`."""
        branches, other = _branches(children)
        content = {"branches": branches, "else": other or [], "span": span_of_text(meta)}
        return {"IfEquation": content}

    @v_args(meta=True)
    def for_equation(self, meta: Meta, children: list[Any]) -> Node:
        """`for … loop … end for`."""
        indices, body, _ = children
        content = {"indices": _identified(indices), "body": body, "span": span_of_text(meta)}
        return {"ForEquation": content}

    @v_args(meta=True)
    def when_equation(self, meta: Meta, children: list[Any]) -> Node:
        """`when … then … end when`."""
        branches = _pairs(children[:-1])
        return {"WhenEquation": {"branches": branches, "span": span_of_text(meta)}}

    # --- statements ---

    @v_args(meta=True)
    def assignment(self, meta: Meta, children: list[Any]) -> Node:
        """`a := b`."""
        target, value, _ = children
        comp = component_node(target.parts)
        return {"Assignment": {"comp": comp, "value": value, "span": span_of_text(meta)}}

    @v_args(meta=True)
    def call_statement(self, meta: Meta, children: list[Any]) -> Node:
        """A call as a statement."""
        reference, arguments, _ = children
        span = span_of_text(meta)
        name = "Reinit" if reference.name == "reinit" else reference.name
        return _action(name, arguments, span) or _assigned([], reference, arguments, span)

    @v_args(meta=True)
    def several_assignment(self, meta: Meta, children: list[Any]) -> Node:
        """`(a, b) := f(c)`."""
        *targets, reference, arguments, _ = children
        return _assigned(targets, reference, arguments, span_of_text(meta))

    def target(self, reference: Reference | None) -> Reference:
        """What is assigned, or nothing."""
        return reference or Reference([], False, {})

    @v_args(meta=True)
    def break_statement(self, meta: Meta, _: list[Any]) -> Node:
        """`break`."""
        return {"Break": {"span": span_of_text(meta)}}

    @v_args(meta=True)
    def return_statement(self, meta: Meta, _: list[Any]) -> Node:
        """`return`."""
        return {"Return": {"span": span_of_text(meta)}}

    @v_args(meta=True)
    def if_statement(self, meta: Meta, children: list[Any]) -> Node:
        """`if … then … end if`."""
        branches, other = _branches(children)
        blocks = [{"cond": condition, "stmts": body} for condition, body in branches]
        return {"If": {"cond_blocks": blocks, "else_block": other, "span": span_of_text(meta)}}

    @v_args(meta=True)
    def for_statement(self, meta: Meta, children: list[Any]) -> Node:
        """`for … loop … end for`."""
        indices, body, _ = children
        content = {"indices": _identified(indices), "equations": body, "span": span_of_text(meta)}
        return {"For": content}

    @v_args(meta=True)
    def while_statement(self, meta: Meta, children: list[Any]) -> Node:
        """`while … loop … end while`."""
        condition, body, _ = children
        block = {"cond": condition, "stmts": body}
        return {"While": {"block": block, "span": span_of_text(meta)}}

    @v_args(meta=True)
    def when_statement(self, meta: Meta, children: list[Any]) -> Node:
        """`when … then … end when`."""
        blocks = [{"cond": c, "stmts": body} for c, body in _pairs(children[:-1])]
        return {"When": {"blocks": blocks, "span": span_of_text(meta)}}


def _pairs(children: Sequence[Any]) -> list[tuple[Node, list[Node]]]:
    return list(zip(children[::2], children[1::2], strict=True))


def _branches(children: Sequence[Any]) -> tuple[list[tuple[Node, list[Node]]], list[Node] | None]:
    """Conditions with what they guard, and the last branch, None where there is none."""
    *branches, other, _ = children
    return _pairs(branches), other


def _identified(indices: Sequence[tuple[str, Node]]) -> list[Node]:
    return [{"ident": name, "range": values} for name, values in indices]


def _action(name: str, arguments: list[Node], span: Node) -> Node | None:
    """What has a meaning of its own among calls without a result."""
    values = [argument_value(a) for a in arguments]
    match name:
        case "assert" if len(values) in (2, 3):
            level = values[2] if len(values) == 3 else None
            content = {"condition": values[0], "message": values[1], "level": level}
            return {"Assert": {**content, "span": span}}
        case "terminate" if len(values) == 1:
            return {"Terminate": {"message": values[0], "span": span}}
        case "Reinit" if len(values) == 2:
            return {"Reinit": {"target": values[0], "value": values[1], "span": span}}
    return None


def _assigned(
    targets: Sequence[Reference], reference: Reference, arguments: list[Node], span: Node
) -> Node:
    outputs = [component_node(t.parts) if t.parts else None for t in targets]
    content = {"comp": {"name": reference.name}, "args": arguments, "outputs": outputs}
    return {"FunctionCall": {**content, "span": span}}
