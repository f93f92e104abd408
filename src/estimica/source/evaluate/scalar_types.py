"""Types of scalar expressions, where a value alone does not tell them: 1 and true are both 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind
from estimica.source.evaluate.names import ScalarType, Scope
from estimica.source.evaluate.values import Frame, Value
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

_REAL = ScalarType(Kind.REAL)
_INTEGER = ScalarType(Kind.INTEGER)
_BOOLEAN = ScalarType(Kind.BOOLEAN)
_TEXT = ScalarType(Kind.STRING)
#: operations of expressions whose type is known by themselves
_OPERATIONS = {
    **dict.fromkeys([*ex.RELATIONS, "and", "or", "not", "initial", "terminal"], _BOOLEAN),
    **dict.fromkeys(["sample", "edge", "change"], _BOOLEAN),
    **dict.fromkeys(["integer"], _INTEGER),
    **dict.fromkeys(["div", "time", "der", *(ex.ELEMENTARY - {"abs"})], _REAL),
}
_OPERATORS = {
    **dict.fromkeys(["<", "<=", ">", ">=", "==", "<>", "and", "or", "not"], _BOOLEAN),
    **dict.fromkeys(["/", "./", "^", ".^"], _REAL),
}
_FUNCTIONS = {
    **dict.fromkeys(["edge", "change", "initial", "terminal", "sample"], _BOOLEAN),
    **dict.fromkeys(["Integer", "integer", "size", "ndims", "cardinality"], _INTEGER),
    **dict.fromkeys(["floor", "ceil", "sqrt", "sin", "cos", "exp", "log", "der"], _REAL),
}
_OF_FIRST = frozenset(["pre", "noEvent", "min", "max", "sum", "product", "abs", "div", "mod"])


def type_of(
    evaluator: Evaluator, node: tree.Expression, value: Value, scope: Scope, frame: Frame
) -> ScalarType | None:
    """The type of `node`, whose value is `value`; None where it is not known."""
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, Expression) and value.op != "const":
        known = _of_expression(evaluator, value)
        if known is not None and known.kind is not Kind.ENUMERATION:
            return known
    return _of_node(evaluator, node, scope, frame)


def _of_expression(evaluator: Evaluator, value: Expression) -> ScalarType | None:
    if value.op in ("name", "pre"):
        variable = evaluator.names.variable(value.target)
        return ScalarType(variable.kind) if variable is not None else None
    if value.op == "if":
        return _of_expression(evaluator, value.operands[1])
    return _OPERATIONS.get(value.op)


def _of_node(
    evaluator: Evaluator, node: tree.Expression, scope: Scope, frame: Frame
) -> ScalarType | None:
    def below(*nodes: tree.Expression) -> ScalarType | None:
        found = [_of_node(evaluator, n, scope, frame) for n in nodes]
        return _REAL if _REAL in found else found[0] if found else None

    match node:
        case tree.Number():
            return _INTEGER if node.whole else _REAL
        case tree.Truth():
            return _BOOLEAN
        case tree.Text():
            return _TEXT
        case tree.End():
            return _INTEGER
        case tree.Reference():
            return _of_reference(evaluator, node, scope, frame)
        case tree.Binary():
            return _OPERATORS.get(node.op) or below(node.left, node.right)
        case tree.Unary():
            return _OPERATORS.get(node.op) or below(node.operand)
        case tree.IfExpression():
            return below(node.branches[0][1], node.otherwise)
        case tree.Range():
            return below(node.first, *([node.step] if node.step else []), node.last)
        case tree.ArrayOf():
            return below(*node.elements)
        case tree.Indexed():
            return below(node.base)
        case tree.Call():
            return _of_call(evaluator, node, scope, frame)
    return None


def _of_reference(
    evaluator: Evaluator, node: tree.Reference, scope: Scope, frame: Frame
) -> ScalarType | None:
    first = node.parts[0].name
    if first in frame and not node.from_root:
        return evaluator.local_types.get(first) if len(node.parts) == 1 else None
    if node.text == "Boolean":
        return _BOOLEAN
    if node.text == "time":
        return _REAL
    ask = getattr(evaluator.names, "type_of", None)  # a model need not answer it
    return ask(node, scope) if ask is not None else None


def _of_call(
    evaluator: Evaluator, node: tree.Call, scope: Scope, frame: Frame
) -> ScalarType | None:
    name = node.function.text
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    if name in _OF_FIRST and node.arguments:
        return _of_node(evaluator, node.arguments[0], scope, frame)
    function = evaluator.names.function(node.function, scope) if name not in frame else None
    if function is not None and function.outputs:
        output = function.outputs[0]
        return ScalarType(output.kind, output.literals) if output.kind is not None else None
    return None
