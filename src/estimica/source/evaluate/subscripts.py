"""Elements of arrays, read and written: subscripts, slices, and subscripts that the run decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.operators import choose
from estimica.source.evaluate.values import Array, Value, ValueMismatch, is_array

#: counted from 0; a list for slices; an expression (counted from 1) where the run decides
Index: TypeAlias = "int | list[int] | Expression"


def position(number: float, size: int) -> int:
    """A subscript as the language counts, from 1, counted from 0."""
    if not (1 <= number <= size) or number != int(number):
        raise ValueMismatch(f"the subscript {number:g} is outside 1:{size}")
    return int(number) - 1


def select(base: Array, index: Sequence[Index]) -> Value:
    """base[index], outer product of lists; a subscript of the run becomes a choice."""
    if all(type(i) is int for i in index):
        return base[tuple(index)]  # type: ignore[arg-type]
    for k, i in enumerate(index):
        if isinstance(i, Expression):
            options = [select(base, [*index[:k], j, *index[k + 1 :]]) for j in range(base.shape[k])]
            if not options:
                raise ValueMismatch("an element of an empty array")
            result = options[-1]
            for j in reversed(range(len(options) - 1)):
                result = choose(ex.relation("eq", i, ex.const(j + 1)), options[j], result)
            return result
    value = base
    axis = 0
    for i in index:
        if isinstance(i, list):
            value = np.take(value, np.array(i, dtype=int), axis=axis)
            axis += 1
        else:
            assert isinstance(i, int)
            value = value.take(i, axis=axis)
    return value


def replaced(base: Array, index: Sequence[Index], value: Value) -> Array:
    """A copy of `base` with `value` at `index`: an array for slices, a scalar counts for all."""
    result = base.copy()
    if len(index) == base.ndim and all(type(i) is int for i in index):
        result[tuple(index)] = _scalar(value)  # type: ignore[index]
        return result
    whole: list[Index] = [*index, *(list(range(n)) for n in base.shape[len(index) :])]
    shape = tuple(len(i) for i in whole if isinstance(i, list))
    parts = _fitted(value, shape)
    choices = [
        i if isinstance(i, list) else [i] if isinstance(i, int) else list(range(base.shape[k]))
        for k, i in enumerate(whole)
    ]
    runtime = [(k, i) for k, i in enumerate(whole) if isinstance(i, Expression)]
    lists = [isinstance(i, list) for i in whole]
    for places in product(*(range(len(c)) for c in choices)):
        target = tuple(c[j] for c, j in zip(choices, places, strict=True))
        piece: Value = parts
        if is_array(parts):
            piece = parts[tuple(j for j, is_list in zip(places, lists, strict=True) if is_list)]
        for k, i in runtime:
            here = ex.relation("eq", i, ex.const(target[k] + 1))
            piece = choose(here, piece, result[target])
        result[target] = piece
    return result


def _scalar(value: Value) -> Value:
    if is_array(value):
        if value.size != 1:
            raise ValueMismatch(f"an array of size {value.shape} is assigned to one element")
        return value.flat[0]  # type: ignore[no-any-return]
    return value


def _fitted(value: Value, shape: tuple[int, ...]) -> Value:
    if not is_array(value) or value.shape == shape:
        return value
    if not shape:
        return _scalar(value)
    if value.size == 0 and math.prod(shape) == 0:
        return np.empty(shape, dtype=object)
    raise ValueMismatch(f"a value of size {value.shape} is assigned to a part of size {shape}")
