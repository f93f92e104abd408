"""Iterators: array constructors and reductions over them, and ranges that nobody has written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.system import Kind
from estimica.source.evaluate import array_functions as arrays
from estimica.source.evaluate.names import ScalarType, Scope
from estimica.source.evaluate.references import subscripted_by
from estimica.source.evaluate.values import (
    Array,
    Frame,
    Value,
    ValueMismatch,
    is_array,
    make_array,
)
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator


def iterator_values(
    evaluator: Evaluator,
    iterator: tree.Iterator,
    body: Iterable[tree.Expression | tree.Equation],
    scope: Scope,
    frame: Frame,
) -> Array:
    """The values of an iterator; without a range it runs through what it is a subscript of."""
    if iterator.range is None:
        return _inferred(evaluator, iterator.name, body, scope, frame)
    values = evaluator.one(iterator.range, scope, frame)
    if not is_array(values):
        raise ValueMismatch(f"'{iterator.name}' iterates over something that is not an array")
    return values


def iterator_type(
    evaluator: Evaluator,
    iterator: tree.Iterator,
    body: Iterable[tree.Expression | tree.Equation],
    values: Array,
    scope: Scope,
    frame: Frame,
) -> ScalarType | None:
    """The type of an iterator, where that is known."""
    if not values.size:
        return None
    if iterator.range is None:
        boolean = ex.is_const(values.flat[0], 0.0)  # others are counted from 1
        return ScalarType(Kind.BOOLEAN if boolean else Kind.INTEGER)
    return evaluator.type_of(iterator.range, values.flat[0], scope, frame)


def _inferred(
    evaluator: Evaluator,
    name: str,
    body: Iterable[tree.Expression | tree.Equation],
    scope: Scope,
    frame: Frame,
) -> Array:
    for reference, position in subscripted_by(name, body):
        value = evaluator.one(reference, scope, frame)
        if not is_array(value) or position >= value.ndim:
            raise ValueMismatch(f"'{name}' is a subscript of '{reference.text}', which is no array")
        begin = 0 if evaluator.counts_truths(reference, position, scope, frame) else 1
        return make_array([ex.const(begin + k) for k in range(value.shape[position])])
    raise ValueMismatch(
        f"the iterator '{name}' has no range and is no subscript of an array; give it a range"
    )


def array_of(
    evaluator: Evaluator,
    body: tree.Expression,
    iterators: Sequence[tree.Iterator],
    scope: Scope,
    frame: Frame,
) -> Array:
    """{body for i in …, j in …}: the last iterator is the first dimension."""
    *inner, last = iterators
    elements: list[Value] = []
    values = iterator_values(evaluator, last, [body], scope, frame)
    known = iterator_type(evaluator, last, [body], values, scope, frame)
    with evaluator.typed({last.name: known}):
        for value in values:
            local = {**frame, last.name: value}
            elements.append(
                array_of(evaluator, body, inner, scope, local)
                if inner
                else evaluator.one(body, scope, local)
            )
    if not elements and inner:
        return np.empty((0,) * len(iterators), dtype=object)
    return make_array(elements)


def reduced(evaluator: Evaluator, name: str, call: tree.Call, scope: Scope, frame: Frame) -> Value:
    """sum(body for i in …), also product, min, max and array."""
    if len(call.arguments) != 1 or call.named:
        raise ValueMismatch(f"{name}() over an iterator takes one expression")
    (body,) = call.arguments
    if name == "array":
        return array_of(evaluator, body, call.iterators, scope, frame)
    if name not in ("sum", "product", "min", "max"):
        raise ValueMismatch(f"{name}() cannot be taken over an iterator")
    values = list(_each(evaluator, body, call.iterators, scope, frame))
    if name in ("min", "max"):
        return arrays.extreme(name, make_array(values))
    if not values:
        return ex.ZERO if name == "sum" else ex.ONE
    whole = np.empty(len(values), dtype=object)  # of arrays where the body is one
    for k, value in enumerate(values):
        whole[k] = value
    fold = arrays.total if name == "sum" else arrays.product
    return fold(whole, evaluator.overload)


def _each(
    evaluator: Evaluator,
    body: tree.Expression,
    iterators: Sequence[tree.Iterator],
    scope: Scope,
    frame: Frame,
) -> Iterator[Value]:
    if not iterators:
        yield evaluator.one(body, scope, frame)
        return
    first, *rest = iterators
    values = iterator_values(evaluator, first, [body], scope, frame)
    known = iterator_type(evaluator, first, [body], values, scope, frame)
    for value in values:
        with evaluator.typed({first.name: known}):
            found = list(_each(evaluator, body, rest, scope, {**frame, first.name: value}))
        yield from found
