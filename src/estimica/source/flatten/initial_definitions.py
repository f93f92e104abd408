"""Parameters with fixed = false that an initial equation defines outright.

`seed = if automatic then … else fixedSeed` needs no solver: where the right side depends on
parameters alone, it is the parameter's value, and sizes and branches may depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.flatten.walk import Parts
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.modifiers import Binding
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.flatten.names import ModelNames


def initial_definitions(parts: Parts, names: ModelNames) -> dict[Component, Binding]:
    """What initial equations set parameters equal to, whatever stands on the right side."""
    found: dict[Component, Binding] = {}
    twice: set[Component] = set()
    for placed in parts.sections:
        if not placed.section.initial or placed.section.algorithm:
            continue
        for node in _chosen(placed.section.body, placed.scope, names):
            left = node.left.elements if isinstance(node.left, tree.Several) else (node.left,)
            for k, element in enumerate(left):
                if not isinstance(element, tree.Reference):
                    continue
                component = _parameter(element, placed.scope)
                if component is None or not names.is_free(component):
                    continue
                if component in found:
                    twice.add(component)
                found[component] = Binding(node.right, placed.scope, output=k)
    return {c: b for c, b in found.items() if c not in twice}


def _chosen(
    nodes: tuple[tree.Equation, ...], scope: Class, names: ModelNames
) -> Iterator[tree.Equality]:
    """The equations that hold in any case, those of branches that parameters choose included."""
    for node in nodes:
        if isinstance(node, tree.Equality):
            yield node
        elif isinstance(node, tree.If):
            for condition, body in node.branches:
                truth = ex.ONE
                if condition is not None:
                    value = names.value_at(condition, scope)
                    if not isinstance(value, Expression):
                        break
                    truth = names.evaluator.parameters.settle(value, "it selects a branch")
                if truth.op != "const":
                    break
                if truth.value:
                    yield from _chosen(body, scope, names)
                    break


def _parameter(reference: tree.Reference, scope: Class) -> Component | None:
    """The parameter that a reference without subscripts means."""
    if len(reference.parts) != 1 or reference.parts[0].subscripts or reference.from_root:
        return None
    found = scope.find(reference.parts[0].name)
    if isinstance(found, Component) and found.leaf is not None and found.in_model:
        return found if found.variability == "parameter" else None
    return None
