"""For-loops of equations: one frame for each round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from estimica.source.evaluate.reductions import iterator_type, iterator_values
from estimica.source.evaluate.values import Frame
from estimica.source.instance.classes import Class
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator


def rounds(
    evaluator: Evaluator,
    iterators: tuple[tree.Iterator, ...],
    body: tuple[tree.Equation, ...],
    scope: Class,
    frame: Frame,
) -> Iterator[Frame]:
    """The frames in which the body of a loop is to be read."""
    if not iterators:
        yield frame
        return
    first, rest = iterators[0], iterators[1:]
    values = iterator_values(evaluator, first, body, scope, frame)
    known = iterator_type(evaluator, first, body, values, scope, frame)
    for value in values:
        with evaluator.typed({first.name: known}):  # while the round is read
            yield from rounds(evaluator, rest, body, scope, {**frame, first.name: value})
