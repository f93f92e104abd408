"""Sections in the form of the parser, put among the equations of the flat model.

Loops are unrolled, branches that are settled are dissolved, the others become conditional rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin
from estimica.source.decode.equations import scalar_equations
from estimica.source.interpreter.values import is_array
from estimica.source.syntax.nodes import Node

if TYPE_CHECKING:
    from estimica.source.interpreter.expressions import Interpreter


@dataclass(frozen=True, slots=True)
class AlgorithmSection:
    """One algorithm section of one instance; its names are those of the flat model."""

    statements: Sequence[Node]
    component: str = ""


@dataclass(slots=True)
class FlatSections:
    """Hidden code of every instance, with the names of the flat model."""

    algorithms: list[AlgorithmSection] = field(default_factory=list)
    initial_algorithms: list[AlgorithmSection] = field(default_factory=list)
    equations: list[Node] = field(default_factory=list)
    initial_equations: list[Node] = field(default_factory=list)
    whens: list[Node] = field(default_factory=list)
    assertions: list[Node] = field(default_factory=list)


def add_section(
    interpreter: Interpreter, kind: str, nodes: list[Node], prefix: str, result: FlatSections
) -> None:
    """Add the nodes of a section of the instance `prefix` to `result`."""
    match kind:
        case "algorithm":
            result.algorithms.append(AlgorithmSection(nodes, prefix))
        case "initial algorithm":
            result.initial_algorithms.append(AlgorithmSection(nodes, prefix))
        case "equation" | "binding":
            for node in nodes:
                _place(interpreter, node, prefix, result, result.equations)
        case "initial equation":
            for node in nodes:
                _place(interpreter, node, prefix, result, result.initial_equations)


def _place(
    interpreter: Interpreter,
    node: Node,
    prefix: str,
    result: FlatSections,
    simple: list[Node],
) -> None:
    """One equation among those of its kind; loops and settled branches are dissolved."""
    kind, content = next(iter(node.items()))
    origin = {"ComponentEquation": {"component": prefix}}
    span = content.get("span")
    match kind:
        case "Equation":
            residual = _difference(content["lhs"], content["rhs"])
            simple.append({"residual": residual, "origin": origin, "span": span})
        case "ForEquation":
            for body in _unrolled(interpreter, content):
                for inner in body:
                    _place(interpreter, inner, prefix, result, simple)
        case "IfEquation":
            _place_if(interpreter, content, prefix, result, simple)
        case "WhenEquation":
            first, *others = [
                {"condition": c, "equations": _actions(interpreter, body), "span": span}
                for c, body in content["branches"]
            ]
            result.whens.append({"first": first, "else_when": others})
        case "Assert":
            result.assertions.append({**content, "origin": origin})
        case "Call":
            interpreter.notes.append(f"a call without a result is left out: {content['name']}")
        case _:
            interpreter.refuse(f"the equation '{kind}'", "write it with other means")


@dataclass(slots=True)
class _Case:
    """One branch of an if-equation: its condition (None: else), and what it places."""

    condition: Node | None
    truth: Expression
    placed: FlatSections
    simple: list[Node]


def _place_if(
    interpreter: Interpreter,
    content: Node,
    prefix: str,
    result: FlatSections,
    simple: list[Node],
) -> None:
    cases = _cases(interpreter, content, prefix)
    if len(cases) > 1:
        result.assertions += _guarded_assertions(cases)
    rows = [_rows(interpreter, case) for case in cases] if len(cases) > 1 else []
    if len(cases) > 1 and not _alike(cases, rows):
        # such branches are allowed where parameters decide, whatever their kind
        cases = _decided(interpreter, cases)
    if not cases:
        return
    if len(cases) == 1:
        result.whens += cases[0].placed.whens
        result.assertions += cases[0].placed.assertions
        simple.extend(cases[0].simple)
        return
    pairs = _joined_rows([case.truth for case in cases], rows)
    if pairs:
        simple.append({**cases[0].simple[0], "pairs": pairs})


def _guarded_assertions(cases: Sequence[_Case]) -> list[Node]:
    """The assertions of branches, each counting only where its branch is the one that holds."""
    found: list[Node] = []
    excused: list[Node] = []
    for case in cases:
        own = [] if case.condition is None else [{"Unary": {"op": "Not", "rhs": case.condition}}]
        for assertion in case.placed.assertions:
            condition = assertion["condition"]
            for reason in [*own, *excused]:
                condition = {"Binary": {"op": "Or", "lhs": reason, "rhs": condition}}
            found.append({**assertion, "condition": condition})
        case.placed.assertions.clear()
        excused += [case.condition] if case.condition is not None else []
    return found


def _rows(interpreter: Interpreter, case: _Case) -> list[tuple[Expression, Expression]]:
    """The scalar equations of one branch."""

    with interpreter.guarded(case.truth):
        return [pair for raw in case.simple for pair in scalar_equations(interpreter, raw)]


def _joined_rows(
    truths: Sequence[Expression], rows: Sequence[list[tuple[Expression, Expression]]]
) -> list[tuple[Expression, Expression]]:
    """Branches as one set of equations: by their left sides where these agree, else in order."""
    lefts = [[left for left, _ in branch] for branch in rows]
    named = all(left.op in ("name", "der") for left in lefts[0])
    unique = all(len(branch) == len(set(branch)) for branch in lefts)
    if named and unique and all(set(branch) == set(lefts[0]) for branch in lefts):
        by_left = [dict(branch) for branch in rows]
        return [(left, _choice(truths, [b[left] for b in by_left])) for left in lefts[0]]
    return [
        (_choice(truths, [ex.sub(left, right) for left, right in row]), ex.ZERO)
        for row in zip(*rows, strict=True)
    ]


def _choice(truths: Sequence[Expression], values: Sequence[Expression]) -> Expression:
    result = values[-1]
    for truth, value in zip(reversed(truths[:-1]), reversed(values[:-1]), strict=True):
        result = ex.conditional(truth, value, result)
    return result


def _cases(interpreter: Interpreter, content: Node, prefix: str) -> list[_Case]:
    """The branches that are possible; a single one where it is clear which."""
    cases: list[_Case] = []
    for condition, body in [*content["branches"], (None, content["else"])]:
        truth = ex.ONE
        if condition is not None:
            with interpreter.at(Origin(kind="if-equation", component=prefix)):
                truth = interpreter.truth(condition, {})
        if ex.is_const(truth, 0.0):
            continue
        case = _Case(condition, truth, FlatSections(), [])
        for node in body:
            _place(interpreter, node, prefix, case.placed, case.simple)
        cases.append(case)
        if truth.op == "const":
            break
    return cases


def _alike(cases: Sequence[_Case], rows: Sequence[list[tuple[Expression, Expression]]]) -> bool:
    return (
        len({len(r) for r in rows}) == 1
        and cases[-1].truth.op == "const"
        and not any(c.placed.whens or c.placed.assertions for c in cases)
    )


def _decided(interpreter: Interpreter, cases: Sequence[_Case]) -> list[_Case]:
    for case in cases:
        value = interpreter.parameters.number(case.truth, "it selects the equations of a branch")
        if value is None:
            interpreter.refuse(
                "an if-equation whose branches have different numbers of equations",
                "give every branch, and an else, the same number",
            )
        if value:
            return [case]
    return []


def _difference(left: Node, right: Node) -> Node:
    return {"Binary": {"op": "Sub", "lhs": left, "rhs": right}}


def _unrolled(interpreter: Interpreter, content: Node) -> list[list[Node]]:
    """The body of a for-equation once for every value of its indices."""
    bodies: list[list[Node]] = [content["body"]]
    for index in content["indices"]:
        values = interpreter.value(index["range"], {})
        assert is_array(values)
        name = index["ident"]
        bodies = [
            [_substituted(node, name, v) for node in body] for body in bodies for v in values.flat
        ]
    return bodies


def _substituted(node: Any, name: str, value: Expression) -> Any:
    if isinstance(node, (list, tuple)):
        return [_substituted(item, name, value) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("VarRef")
    if reference is not None and reference["name"]["name"] == name:
        return {"Literal": {"value": {"Real": value.value}}}
    return {k: _substituted(v, name, value) if k != "span" else v for k, v in node.items()}


def _actions(interpreter: Interpreter, body: Sequence[Node]) -> list[Node]:
    """Equations inside a when in the compiler's form."""
    actions: list[Node] = []
    for node in body:
        kind, content = next(iter(node.items()))
        span = content.get("span")
        match kind:
            case "Equation" if "Tuple" in content["lhs"]:
                elements = content["lhs"]["Tuple"]["elements"]
                names = ["" if "Empty" in e else _flat_name(interpreter, e) for e in elements]
                actions.append(
                    {
                        "FunctionCallOutputs": {
                            "outputs": names,
                            "function": content["rhs"],
                            "span": span,
                        }
                    }
                )
            case "Equation":
                target = _flat_name(interpreter, content["lhs"])
                actions.append(
                    {"Assign": {"target": target, "value": content["rhs"], "span": span}}
                )
            case "Reinit":
                target = _flat_name(interpreter, content["target"])
                actions.append(
                    {"Reinit": {"state": target, "value": content["value"], "span": span}}
                )
            case "IfEquation":
                branches = [[c, _actions(interpreter, b)] for c, b in content["branches"]]
                other = _actions(interpreter, content["else"])
                actions.append(
                    {"Conditional": {"branches": branches, "else_branch": other, "span": span}}
                )
            case "ForEquation":
                for unrolled in _unrolled(interpreter, content):
                    actions += _actions(interpreter, unrolled)
            case "Call":
                interpreter.notes.append(f"a call without a result is left out: {content['name']}")
            case _:
                actions.append({kind: content})
    return actions


def _flat_name(interpreter: Interpreter, node: Node) -> str:
    value = interpreter.value(node, {})
    if isinstance(value, Expression) and value.op == "name":
        return value.target
    reference = node.get("VarRef")
    if reference is not None and not reference["subscripts"]:
        name: str = reference["name"]["name"]
        return name
    interpreter.refuse(
        "a when-equation whose left side is not a variable", "assign a variable there"
    )
