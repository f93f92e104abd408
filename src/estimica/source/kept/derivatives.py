"""The derivative that the author of a function names in its annotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.base.errors import SourceError
from estimica.source.evaluate.names import Function
from estimica.source.evaluate.values import ValueMismatch
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator


@dataclass(frozen=True, slots=True)
class StatedDerivative:
    """`derivative(noDerivative = ignored, zeroDerivative = zero) = function`, of first order."""

    function: Function
    ignored: frozenset[str]
    zero: frozenset[str]


def stated_derivative(evaluator: Evaluator, function: Function) -> StatedDerivative | None:
    """What the annotation says first; None where there is none that can be used."""
    annotation = function.annotation()
    for argument in annotation.arguments if annotation is not None else ():
        if isinstance(argument, tree.Modifier) and argument.path == ("derivative",):
            found = _read(evaluator, function, argument.modification)
            if found is not None:
                return found
    return None


def _read(
    evaluator: Evaluator, function: Function, modification: tree.Modification
) -> StatedDerivative | None:
    if not isinstance(modification.value, tree.Reference):
        return None
    names: dict[str, set[str]] = {"noDerivative": set(), "zeroDerivative": set()}
    for option in modification.arguments:
        if not isinstance(option, tree.Modifier) or len(option.path) != 1:
            return None
        value = option.modification.value
        if option.path == ("order",):
            if not isinstance(value, tree.Number) or value.value != 1:
                return None
        elif option.path[0] in names and isinstance(value, tree.Reference):
            names[option.path[0]].add(value.text)
        else:
            return None
    try:
        derivative = evaluator.names.function(modification.value, function.scope)
    except (SourceError, ValueMismatch):
        return None
    if derivative is None or not derivative.body:
        return None
    return StatedDerivative(
        derivative, frozenset(names["noDerivative"]), frozenset(names["zeroDerivative"])
    )
