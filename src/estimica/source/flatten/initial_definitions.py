"""Parameters with fixed = false that an initial equation or algorithm defines outright.

`seed = if automatic then … else fixedSeed` needs no solver: where the right side depends on
parameters alone, it is the parameter's value, and sizes and branches may depend on it. So does an
initial algorithm that looks for the place of a name in a list, say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate import statements
from estimica.source.evaluate.values import Frame, Value, ValueMismatch, first_of
from estimica.source.flatten.special import TOO_EARLY
from estimica.source.flatten.walk import Parts, PlacedSection
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.modifiers import Binding
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.flatten.names.model import ModelNames


@dataclass(frozen=True, slots=True)
class InitialAlgorithm:
    """An algorithm that assigns parameters and nothing else, seen from one of them."""

    placed: PlacedSection
    assigned: tuple[str, ...]
    name: str

    def value(self, evaluator: Evaluator) -> Value:
        """What it leaves in the parameter; None where only the run could tell."""
        frame: Frame = dict.fromkeys(self.assigned, ex.ZERO)
        body, scope = self.placed.section.body, self.placed.scope
        try:
            with evaluator.algorithm(frozenset(self.assigned)):
                return first_of(statements.body_after(evaluator, body, scope, frame)[self.name])
        except (SourceError, UnsupportedError, ValueMismatch):
            return None


Definition = Binding | InitialAlgorithm


def initial_definitions(parts: Parts, names: ModelNames) -> dict[Component, Definition]:
    """What initial equations set parameters equal to, whatever stands on the right side."""
    found: dict[Component, Definition] = {}
    twice: set[Component] = set()
    for placed in parts.sections:
        if not placed.section.initial:
            continue
        for component, definition in _definitions(placed, names):
            if component in found:
                twice.add(component)
            found[component] = definition
    return {c: b for c, b in found.items() if c not in twice}


def _definitions(
    placed: PlacedSection, names: ModelNames
) -> Iterator[tuple[Component, Definition]]:
    if placed.section.algorithm:
        yield from _of_algorithm(placed, names)
        return
    for node in _chosen(placed.section.body, placed.scope, names):
        left = node.left.elements if isinstance(node.left, tree.Several) else (node.left,)
        for k, element in enumerate(left):
            if not isinstance(element, tree.Reference):
                continue
            component = _parameter(element, placed.scope)
            if component is not None and names.is_free(component):
                yield component, Binding(node.right, placed.scope, output=k)


def _of_algorithm(
    placed: PlacedSection, names: ModelNames
) -> Iterator[tuple[Component, InitialAlgorithm]]:
    """The parameters of an algorithm that assigns free scalar parameters only."""
    assigned: dict[str, Component] = {}
    for reference in _targets(placed.section.body):
        component = _parameter(reference, placed.scope)
        if component is None or component.dims or not names.is_free(component):
            return
        assigned[component.name] = component
    for name, component in assigned.items():
        yield component, InitialAlgorithm(placed, tuple(assigned), name)


def _targets(nodes: tuple[tree.Equation, ...]) -> Iterator[tree.Reference]:
    """Whatever the statements assign."""
    for node in nodes:
        if isinstance(node, tree.Assignment):
            target = node.target
            for element in target.elements if isinstance(target, tree.Several) else (target,):
                if isinstance(element, tree.Reference):
                    yield element
        elif isinstance(node, (tree.For, tree.While)):
            yield from _targets(node.body)
        elif isinstance(node, (tree.If, tree.When)):
            for _, body in node.branches:
                yield from _targets(body)


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
                    value = _known_now(condition, scope, names)
                    if value is None:
                        break
                    truth = names.evaluator.parameters.settle(value, "it selects a branch")
                if truth.op != "const":
                    break
                if truth.value:
                    yield from _chosen(body, scope, names)
                    break


def _known_now(condition: tree.Expression, scope: Class, names: ModelNames) -> Expression | None:
    """A condition; None where it asks for connections, which are known later."""
    try:
        value = names.value_at(condition, scope)
    except SourceError as error:
        if error.code != TOO_EARLY:
            raise
        return None
    return value if isinstance(value, Expression) else None


def _parameter(reference: tree.Reference, scope: Class) -> Component | None:
    """The parameter that a reference without subscripts means."""
    if len(reference.parts) != 1 or reference.parts[0].subscripts or reference.from_root:
        return None
    found = scope.find(reference.parts[0].name)
    if isinstance(found, Component) and found.leaf is not None and found.in_model:
        return found if found.variability == "parameter" else None
    return None
