"""Which names an expression or statement mentions, and what they are subscripted with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from estimica.source.syntax import tree


def references(*nodes: tree.Expression | tree.Equation | None) -> Iterator[tree.Reference]:
    """Every reference below `nodes`, also those in subscripts and function names."""
    stack: list[tree.Expression | tree.Equation | None] = list(nodes)
    while stack:
        node = stack.pop()
        if node is None:
            continue
        if isinstance(node, tree.Reference):
            yield node
            for part in node.parts:
                stack.extend(part.subscripts)
        else:
            stack.extend(below(node))


def first_names(*nodes: tree.Expression | tree.Equation | None) -> set[str]:
    """The first identifiers of all names below `nodes`."""
    return {r.parts[0].name for r in references(*nodes) if not r.from_root}


def subscripted_by(
    name: str, nodes: Iterable[tree.Expression | tree.Equation]
) -> Iterator[tuple[tree.Reference, int]]:
    """Arrays with `name` as a subscript: a reference without that part's subscripts, which one."""
    for reference in references(*nodes):
        for k, part in enumerate(reference.parts):
            for position, subscript in enumerate(part.subscripts):
                if isinstance(subscript, tree.Reference) and subscript.text == name:
                    parts = (*reference.parts[:k], tree.Part(part.name))
                    yield tree.Reference(parts, reference.at, reference.from_root), position


def below(
    node: tree.Expression | tree.Equation,
) -> Iterable[tree.Expression | tree.Equation | None]:
    """What stands directly below a node; None where an optional part is absent."""
    match node:
        case tree.Call():
            ranges = [i.range for i in node.iterators]
            return [node.function, *node.arguments, *[v for _, v in node.named], *ranges]
        case tree.PartialCall():
            return [node.function, *[v for _, v in node.named]]
        case tree.Binary() | tree.Equality() | tree.Connect():
            return [node.left, node.right]
        case tree.Unary():
            return [node.operand]
        case tree.IfExpression():
            return [*[e for branch in node.branches for e in branch], node.otherwise]
        case tree.Range():
            return [node.first, node.step, node.last]
        case tree.ArrayOf():
            return [*node.elements, *[i.range for i in node.iterators]]
        case tree.Matrix():
            return [e for row in node.rows for e in row]
        case tree.Several():
            return node.elements
        case tree.Indexed():
            return [node.base, *node.subscripts]
        case tree.Field():
            return [node.base]
        case tree.CallEquation():
            return [node.call]
        case tree.Assignment():
            return [node.target, node.value]
        case tree.For():
            return [*[i.range for i in node.iterators], *node.body]
        case tree.If() | tree.When():
            return [e for condition, body in node.branches for e in (condition, *body)]
        case tree.While():
            return [node.condition, *node.body]
    return []
