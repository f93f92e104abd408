"""Equation sections of the flat model as scalar equations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Origin
from estimica.source.decode.origins import SourceFiles
from estimica.source.decode.variables import declaration_origin
from estimica.source.interpreter.expressions import Frame, Interpreter
from estimica.source.interpreter.operators import as_text
from estimica.source.interpreter.values import (
    MOST_ELEMENTS,
    Value,
    ValueMismatch,
    is_array,
    scalars,
)
from estimica.source.syntax.nodes import PADDING, Node, is_generated, span_of

_KINDS = {
    "ComponentEquation": "equation",
    "Connection": "connection",
    "FlowSum": "flow sum",
    "UnconnectedFlow": "unconnected flow",
    "Binding": "binding",
}


def decode_equations(
    interpreter: Interpreter, flat: Mapping[str, Any], files: SourceFiles, more: Sequence[Node] = ()
) -> list[Equation]:
    """The equation section, those `more` of hidden sections and bindings of variables included."""
    found = _section(interpreter, files, flat["equations"], flat["structured_equations"], "")
    found += _section(interpreter, files, more, [], "")
    return [*found, *_bindings(interpreter, files)]


def decode_initial_equations(
    interpreter: Interpreter, flat: Mapping[str, Any], files: SourceFiles, more: Sequence[Node] = ()
) -> list[Equation]:
    """The initial equation section, those `more` of hidden sections included."""
    found = _section(
        interpreter,
        files,
        flat["initial_equations"],
        flat["initial_structured_equations"],
        "initial ",
    )
    return [*found, *_section(interpreter, files, more, [], "initial ")]


def decode_assertions(
    interpreter: Interpreter, flat: Mapping[str, Any], files: SourceFiles, more: Sequence[Node] = ()
) -> None:
    """The assertions of equation sections go where those of functions go."""
    for raw in [*flat["assert_equations"], *flat["initial_assert_equations"], *more]:
        origin = _origin(files, raw, "")
        origin = Origin(origin.text, origin.component, "assertion", origin.file, origin.line)
        with interpreter.at(origin):
            condition = interpreter.truth(raw["condition"], {})
            message = as_text(interpreter.value(raw["message"], {}))
            level = interpreter.value(raw["level"], {}) if raw["level"] else None
            warning = isinstance(level, Expression) and ex.is_const(level, 1.0)
            interpreter.check(condition, message, warning, origin)


def scalar_pairs(lhs: Value, rhs: Value) -> Iterator[tuple[Expression, Expression]]:
    """The scalar pairs of lhs = rhs for values of any shape; a skipped output gives none."""
    if isinstance(lhs, tuple) or isinstance(rhs, tuple):
        left = lhs if isinstance(lhs, tuple) else (lhs,)
        right = rhs if isinstance(rhs, tuple) else (rhs,)
        for a, b in zip(left, right, strict=False):
            yield from scalar_pairs(a, b)
    elif lhs is None or rhs is None:
        return
    elif isinstance(lhs, dict) and isinstance(rhs, dict):
        for key in lhs:
            if key not in rhs:
                raise ValueMismatch(f"the right side has no field '{key}'")
            yield from scalar_pairs(lhs[key], rhs[key])
    elif is_array(lhs) or is_array(rhs):
        yield from _equated_arrays(lhs, rhs)
    elif isinstance(lhs, Expression) and isinstance(rhs, Expression):
        yield lhs, rhs
    elif not (isinstance(lhs, str) and isinstance(rhs, str)):
        raise ValueMismatch("the two sides are of different kinds")


def _equated_arrays(lhs: Value, rhs: Value) -> Iterator[tuple[Expression, Expression]]:
    left, right = list(_items(lhs)), list(_items(rhs))
    shapes = [v.shape for v in (lhs, rhs) if is_array(v)]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        raise ValueMismatch(f"the sides have the sizes {shapes[0]} and {shapes[1]}")
    if len(left) != len(right):
        if len(left) > 1 and len(right) > 1:
            raise ValueMismatch(f"the sides have {len(left)} and {len(right)} elements")
        left = left * len(right) if len(left) == 1 else left
        right = right * len(left) if len(right) == 1 else right
    for a, b in zip(left, right, strict=True):
        yield from scalar_pairs(a, b)


def _items(value: Value) -> Iterator[Value]:
    if is_array(value):
        yield from value.flat
    else:
        yield value


def _section(
    interpreter: Interpreter,
    files: SourceFiles,
    equations: Sequence[Node],
    families: Sequence[Node],
    prefix: str,
) -> list[Equation]:
    result: list[Equation] = []
    hidden, unrolled = _families(families)
    for i, raw in enumerate(equations):
        if _is_padding(raw["residual"]):
            continue
        for body, frame in unrolled.get(i, ()):
            result += _decoded(interpreter, files, raw, body, frame, prefix)
        if i not in hidden:
            result += _decoded(interpreter, files, raw, raw["residual"], {}, prefix)
    return result


def _require_few(counts: Sequence[int], names: Sequence[str]) -> None:
    if math.prod(counts) > MOST_ELEMENTS:
        raise UnsupportedError(
            "U004",
            f"a for-loop over {', '.join(names)} has {math.prod(counts)} rounds; at most "
            f"{MOST_ELEMENTS} are supported; choose smaller sizes",
        )


def _families(families: Sequence[Node]) -> tuple[set[int], dict[int, list[tuple[Node, Frame]]]]:
    """Which equations are placeholders, and what stands in their place at the first of them."""
    hidden: set[int] = set()
    unrolled: dict[int, list[tuple[Node, Frame]]] = {}
    for family in families:
        if family["interiors_materialized"]:
            continue
        binders = family["domain"]["binders"]
        ranges = [range(b["lower"], b["upper"] + _sign(b["step"]), b["step"]) for b in binders]
        _require_few([len(r) for r in ranges], [b["display_name"] for b in binders])
        points = list(itertools.product(*ranges))
        first = family["first_equation_index"]
        hidden.update(range(first, first + len(points) * family["equations_per_point"]))
        names = [b["display_name"] for b in binders]
        unrolled[first] = [
            (body, {n: ex.const(v) for n, v in zip(names, point, strict=True)})
            for point in points
            for body in family["template"]["body"]
        ]
    return hidden, unrolled


def _is_padding(residual: Node) -> bool:
    """Whether an equation is one of those that only even out the count for the compiler."""
    right = (residual.get("Binary") or {}).get("rhs") or {}
    call = right.get("FunctionCall")
    return call is not None and call["name"]["name"].rpartition(".")[2] == PADDING


def _sign(step: int) -> int:
    return 1 if step > 0 else -1


def _decoded(
    interpreter: Interpreter, files: SourceFiles, raw: Node, body: Node, frame: Frame, prefix: str
) -> list[Equation]:
    origin = _origin(files, raw, prefix)
    with interpreter.at(origin):
        pairs = raw.get("pairs") or _sides(interpreter, raw["origin"], body, frame)
        return [Equation(lhs, rhs, origin) for lhs, rhs in pairs]


def scalar_equations(interpreter: Interpreter, raw: Node) -> list[tuple[Expression, Expression]]:
    """The two sides of every scalar equation of one equation of a hidden section."""
    found: list[tuple[Expression, Expression]] | None = raw.get("pairs")
    return found if found is not None else _sides(interpreter, raw["origin"], raw["residual"], {})


def _sides(
    interpreter: Interpreter, origin: Node, body: Node, frame: Frame
) -> list[tuple[Expression, Expression]]:
    body = _settled_branch(interpreter, body, frame)
    sub = body.get("Binary")
    if sub is None or sub["op"] != "Sub" or next(iter(origin)) in ("FlowSum", "UnconnectedFlow"):
        residual = interpreter.value(body, frame)
        return [(e, ex.ZERO) for e in scalars(residual) if isinstance(e, Expression)]
    lhs = interpreter.value(sub["lhs"], frame)
    rhs = interpreter.value(sub["rhs"], frame)
    if not isinstance(lhs, tuple) and isinstance(rhs, tuple):
        rhs = rhs[0]
    return list(scalar_pairs(lhs, rhs))


def _settled_branch(interpreter: Interpreter, body: Node, frame: Frame) -> Node:
    """An if-equation as the branch that parameters select, or as one equation with a choice."""
    choice = body.get("If")
    if choice is None:
        return body
    open_branches = []
    other = choice["else_branch"]
    for condition, branch in choice["branches"]:
        truth = interpreter.truth(condition, frame)
        if ex.is_const(truth, 0.0):
            continue
        if truth.op == "const":
            other = branch
            break
        open_branches.append([condition, branch])
    if not open_branches:
        return _settled_branch(interpreter, other, frame)
    return _joined({"If": {"branches": open_branches, "else_branch": other}})


def _joined(node: Node) -> Node:
    """`if c then a - b else a - d` as `a - (if c then b else d)` where the left sides agree."""
    rows = [r for _, r in node["If"]["branches"]] + [node["If"]["else_branch"]]
    lefts = [_spanless(r["Binary"]["lhs"]) if _is_difference(r) else None for r in rows]
    if any(left is None or left != lefts[0] for left in lefts):
        return node
    branches = [[c, r["Binary"]["rhs"]] for c, r in node["If"]["branches"]]
    right = {"If": {"branches": branches, "else_branch": rows[-1]["Binary"]["rhs"]}}
    return {"Binary": {"op": "Sub", "lhs": rows[0]["Binary"]["lhs"], "rhs": right}}


def _is_difference(node: Node) -> bool:
    return "Binary" in node and node["Binary"]["op"] == "Sub"


def _spanless(node: Any) -> Any:
    if isinstance(node, dict):
        return {k: _spanless(v) for k, v in node.items() if k != "span"}
    return [_spanless(v) for v in node] if isinstance(node, list) else node


def _origin(files: SourceFiles, raw: Node, prefix: str) -> Origin:
    word, content = next(iter(raw["origin"].items()))
    kind = prefix + _KINDS.get(word, "equation")
    component = content.get("component", "")
    span = raw.get("span") or span_of(raw.get("residual", raw))
    origin = files.origin(span, kind, component)
    match word:
        case "Connection":
            text = f"{content['lhs']} = {content['rhs']}"
        case "FlowSum":
            text = content["description"]
        case "UnconnectedFlow":
            text = f"{content['variable']} = 0"
        case _:
            return origin
    return Origin(text, component, kind, origin.file, origin.line)


def _bindings(interpreter: Interpreter, files: SourceFiles) -> Iterator[Equation]:
    for declared in interpreter.names.declared.values():
        if declared.is_parameter or declared.raw["binding"] is None:
            continue
        if is_generated(declared.name):
            continue
        origin = declaration_origin(declared, files, "binding")
        with interpreter.at(origin):
            value = interpreter.declared_value(declared, declared.raw["binding"])
            for lhs, rhs in scalar_pairs(declared.symbol, value):
                yield Equation(lhs, rhs, origin)
