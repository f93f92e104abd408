"""Equations and statements of Base Modelica as the nodes that sections are decoded from."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.source.base_modelica.document import Node
from estimica.source.base_modelica.expressions import Expressions, span_from
from estimica.source.syntax import tree
from estimica.source.syntax.nodes import argument_value
from estimica.source.syntax.parser import component_node


class Statements(Expressions):
    """Makes nodes of equations and statements."""

    # --- equations ---

    def equations(self, body: Sequence[tree.Equation]) -> list[Node]:
        """The nodes of equations."""
        return [self._equation(e) for e in body]

    def _equation(self, equation: tree.Equation) -> Node:
        span = span_from(equation.at, equation.end)
        match equation:
            case tree.Equality(left, right):
                content = {"lhs": self.node(left), "rhs": self.node(right)}
                return {"Equation": {**content, "span": span}}
            case tree.CallEquation(call):
                return self._call_equation(call, span)
            case tree.If(branches):
                made, other = [], []
                for condition, body in branches:
                    if condition is None:
                        other = self.equations(body)
                    else:
                        made.append((self.node(condition), self.equations(body)))
                return {"IfEquation": {"branches": made, "else": other, "span": span}}
            case tree.For(iterators, body):
                indices = self._identified(iterators)
                loop: Node = {"indices": indices, "body": self.equations(body)}
                return {"ForEquation": {**loop, "span": span}}
            case tree.When(branches):
                pairs = [(self.node(c), self.equations(body)) for c, body in branches]
                return {"WhenEquation": {"branches": pairs, "span": span}}
        raise self.refused(equation.at, "an equation of Base Modelica; it has no connections")

    def _call_equation(self, call: tree.Call, span: Node) -> Node:
        node = self.node(call)
        made = node.get("FunctionCall") or node.get("BuiltinCall")
        if made is None:
            raise self.refused(call.at, "a call that can stand alone, or '=' behind it")
        name = made["name"]["name"] if "name" in made else made["function"]
        return _action(name, made["args"], span) or {
            "Call": {"name": name, "args": made["args"], "span": span}
        }

    # --- statements ---

    def statements(self, body: Sequence[tree.Equation]) -> list[Node]:
        """The nodes of statements."""
        return [self._statement(s) for s in body]

    def _statement(self, statement: tree.Equation) -> Node:
        span = span_from(statement.at, statement.end)
        match statement:
            case tree.Assignment(tree.Reference() as target, value):
                comp = component_node(self.parts(target))
                return {"Assignment": {"comp": comp, "value": self.node(value), "span": span}}
            case tree.Assignment(tree.Several(targets), value):
                if not isinstance(value, tree.Call):
                    raise self.refused(value.at, "a call with several results")
                return self._assigned(targets, value, span)
            case tree.CallEquation(call):
                name = self.name_of(call.function)
                name = "Reinit" if name == "reinit" else name
                return _action(name, self.arguments(call), span) or self._assigned((), call, span)
            case tree.Jump(word):
                return {word.capitalize(): {"span": span}}
            case tree.If(branches):
                blocks, other = [], None
                for condition, body in branches:
                    if condition is None:
                        other = self.statements(body)
                    else:
                        blocks.append(self._block(condition, body))
                return {"If": {"cond_blocks": blocks, "else_block": other, "span": span}}
            case tree.For(iterators, body):
                indices = self._identified(iterators)
                content = {"indices": indices, "equations": self.statements(body)}
                return {"For": {**content, "span": span}}
            case tree.While(condition, body):
                return {"While": {"block": self._block(condition, body), "span": span}}
            case tree.When(branches):
                blocks = [self._block(c, body) for c, body in branches]
                return {"When": {"blocks": blocks, "span": span}}
        raise self.refused(statement.at, "a statement of Base Modelica")

    def _block(self, condition: tree.Expression, body: Sequence[tree.Equation]) -> Node:
        return {"cond": self.node(condition), "stmts": self.statements(body)}

    def _identified(self, iterators: Sequence[tree.Iterator]) -> list[Node]:
        return [{"ident": name, "range": values} for name, values in self.indices(iterators)]

    def _assigned(
        self, targets: Sequence[tree.Expression | None], call: tree.Call, span: Node
    ) -> Node:
        outputs: list[Node | None] = []
        for target in targets:
            if target is not None and not isinstance(target, tree.Reference):
                raise self.refused(target.at, "a variable to assign to")
            outputs.append(None if target is None else component_node(self.parts(target)))
        name = self.name_of(call.function)
        content = {"comp": {"name": name}, "args": self.arguments(call), "outputs": outputs}
        return {"FunctionCall": {**content, "span": span}}


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
