"""Types of scalar expressions, where a value alone does not tell them: 1 and true are both 1.

Numbers, truth values, texts and the values of one enumeration cannot take each other's place. That
is looked at once for every expression of the text (`require_one_kind`, `require_truth`); what is
not known here (records, functions, clocks) is left to the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind
from estimica.source.evaluate.names import Parameter, ScalarType, Scope
from estimica.source.evaluate.values import Frame, FunctionValue, Value, ValueMismatch
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
_RELATIONS = frozenset(["<", "<=", ">", ">=", "==", "<>"])
_FUNCTIONS = {
    **dict.fromkeys(["edge", "change", "initial", "terminal"], _BOOLEAN),
    **dict.fromkeys(["Integer", "integer", "size", "ndims", "cardinality", "sign"], _INTEGER),
    **dict.fromkeys(["floor", "ceil", "der", *(ex.ELEMENTARY - {"abs"})], _REAL),
    "String": _TEXT,
}
#: functions whose value has the type of all their arguments
_LIKE_ALL = frozenset(["min", "max", "sum", "product", "abs", "div", "mod", "rem", "homotopy"])
#: functions whose value has the type of one of their arguments, by its place
_LIKE_ONE = {"pre": 0, "noEvent": 0, "previous": 0, "hold": 0, "delay": 0, "smooth": 1}
#: functions of numbers
_OF_NUMBERS = frozenset(["floor", "ceil", "sign", "abs", "div", "mod", "rem", *ex.ELEMENTARY])


def require_one_kind(
    evaluator: Evaluator,
    nodes: Sequence[tree.Expression],
    scope: Scope,
    frame: Frame,
    expected: ScalarType | None = None,
) -> None:
    """ValueMismatch unless all `nodes` can take each other's place, and that of `expected`."""
    new = [n for n in nodes if n not in evaluator.typed_nodes]
    if not new:
        return
    evaluator.typed_nodes.update(new)
    _common([expected, *(_of_node(evaluator, n, scope, frame) for n in nodes)])


def require_truth(evaluator: Evaluator, node: tree.Expression, scope: Scope, frame: Frame) -> None:
    """ValueMismatch unless `node` is a condition."""
    if node not in evaluator.typed_nodes:
        evaluator.typed_nodes.add(node)
        _truth(_of_node(evaluator, node, scope, frame))


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
    """The type of `node`, None where it is not known; ValueMismatch where its parts do not fit."""

    def below(*nodes: tree.Expression) -> list[ScalarType | None]:
        return [_of_node(evaluator, n, scope, frame) for n in nodes]

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
            return _of_binary(evaluator, node, scope, frame)
        case tree.Unary():
            (operand,) = below(node.operand)
            if node.op == "not":
                _truth(operand)
                return _BOOLEAN
            return _number(node.op, operand)
        case tree.IfExpression():
            for condition, _ in node.branches:
                _truth(*below(condition))
            return _common(below(*(branch for _, branch in node.branches), node.otherwise))
        case tree.Range():
            return _common(below(node.first, *([node.step] if node.step else []), node.last))
        case tree.ArrayOf():
            return None if node.iterators else _common(below(*node.elements))
        case tree.Matrix():
            return _common(below(*(e for row in node.rows for e in row)))
        case tree.Indexed():
            return below(node.base)[0]
        case tree.Call():
            return _of_call(evaluator, node, scope, frame)
    return None


def _of_binary(
    evaluator: Evaluator, node: tree.Binary, scope: Scope, frame: Frame
) -> ScalarType | None:
    chain = [node]  # a long sum is a deep tree on its left side
    while isinstance(left := chain[-1].left, tree.Binary):
        chain.append(left)
    found = _of_node(evaluator, chain[-1].left, scope, frame)
    for operation in reversed(chain):
        right = _of_node(evaluator, operation.right, scope, frame)
        found = _operated(operation.op, found, right)
    return found


def _operated(op: str, left: ScalarType | None, right: ScalarType | None) -> ScalarType | None:
    if op in ("and", "or"):
        _truth(left, right)
        return _BOOLEAN
    if op in _RELATIONS:
        _common([left, right])
        return _BOOLEAN
    if op == "+" and _TEXT in (left, right):
        return _TEXT
    found = _common([_number(op, left), _number(op, right)])
    return _REAL if found is not None and op in ("/", "./", "^", ".^") else found


def _common(types: Sequence[ScalarType | None]) -> ScalarType | None:
    """The type of values that take each other's place; None where one of them is not known."""
    known = [t for t in types if t is not None]
    for other in known[1:]:
        if _family(other) != _family(known[0]):
            raise ValueMismatch(f"{_told(known[0])} and {_told(other)} are mixed")
    if len(known) < len(types) or not known:
        return None
    return _REAL if _REAL in known else known[0]


def _family(type_: ScalarType) -> object:
    if type_.kind is Kind.ENUMERATION:
        return type_.literals
    return Kind.REAL if type_.kind is Kind.INTEGER else type_.kind


def _truth(*types: ScalarType | None) -> None:
    for type_ in types:
        if type_ is not None and type_.kind is not Kind.BOOLEAN:
            raise ValueMismatch(f"a condition is needed, not {_told(type_)}")


def _number(op: str, type_: ScalarType | None) -> ScalarType | None:
    if type_ is not None and _family(type_) is not Kind.REAL:
        raise ValueMismatch(f"{op} needs numbers, not {_told(type_)}")
    return type_


def _told(type_: ScalarType) -> str:
    if type_.kind is Kind.ENUMERATION:
        return f"a value of the enumeration ({', '.join(type_.literals)})"
    names = {Kind.BOOLEAN: "a truth value (Boolean)", Kind.STRING: "a text (String)"}
    return names.get(type_.kind, "a number")


def _of_reference(
    evaluator: Evaluator, node: tree.Reference, scope: Scope, frame: Frame
) -> ScalarType | None:
    first = node.parts[0].name
    if first in frame and not node.from_root and not evaluator.is_model_variable(first):
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
    if node.iterators or isinstance(frame.get(name), FunctionValue):
        return None
    function = evaluator.names.function(node.function, scope)
    if function is not None:
        inputs = {i.name: i for i in function.inputs}
        for parameter, argument in [
            *zip(function.inputs, node.arguments, strict=False),
            *((inputs[n], a) for n, a in node.named if n in inputs),
        ]:
            found = _of_node(evaluator, argument, scope, frame)
            _fitting(function.name, parameter, found)
        output = function.outputs[0] if function.outputs else None
        if output is None or output.kind is None:
            return None
        return ScalarType(output.kind, output.literals)
    types = [_of_node(evaluator, a, scope, frame) for a in node.arguments]
    if name in _OF_NUMBERS:
        for found in types:
            _number(f"{name}()", found)
    if name in _LIKE_ALL:
        return _common(types)
    if name in _LIKE_ONE:
        place = _LIKE_ONE[name]
        return types[place] if place < len(types) else None
    return _FUNCTIONS.get(name)


def _fitting(function: str, parameter: Parameter, given: ScalarType | None) -> None:
    if given is None or parameter.kind is None:
        return
    expected = ScalarType(parameter.kind, parameter.literals)
    if _family(given) != _family(expected):
        raise ValueMismatch(
            f"the input '{parameter.name}' of '{function}' is {_told(expected)}; it is given "
            f"{_told(given)}"
        )
