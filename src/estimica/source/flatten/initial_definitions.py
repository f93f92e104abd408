"""Parameters with fixed = false that an initial equation defines outright.

`seed = if automatic then … else fixedSeed` needs no solver: where the right side depends on
parameters alone, it is the parameter's value, and sizes and branches may depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        for node in placed.section.body:
            if not isinstance(node, tree.Equality):
                continue
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


def _parameter(reference: tree.Reference, scope: Class) -> Component | None:
    """The parameter that a reference without subscripts means."""
    if len(reference.parts) != 1 or reference.parts[0].subscripts or reference.from_root:
        return None
    found = scope.find(reference.parts[0].name)
    if isinstance(found, Component) and found.leaf is not None and found.in_model:
        return found if found.variability == "parameter" else None
    return None
