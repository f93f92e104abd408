"""Elements of arrays, read and written: subscripts, slices, and subscripts that the run decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


class IndexBounds:
    """What is known of whole numbers of the run from arrays that they were subscripts of.

    A loop that looks into a table at a place that only the run knows ends with the table.
    """

    def __init__(self) -> None:
        self._known: dict[Expression, tuple[float, float]] = {}

    def learn(self, index: Expression, size: int) -> None:
        """`index`, counted from 1, was a subscript of an array with `size` elements."""
        base, added = _split(index)
        low, high = self._known.get(base, (-math.inf, math.inf))
        self._known[base] = (max(low, 1 - added), min(high, size - added))

    def add(self, other: IndexBounds) -> None:
        """What `other` knows is known here too."""
        for base, (low, high) in other._known.items():
            mine = self._known.get(base, (-math.inf, math.inf))
            self._known[base] = (max(low, mine[0]), min(high, mine[1]))

    def decided(self, condition: Expression) -> Expression:
        """`condition`, or false where it compares such a number with one that it cannot reach."""
        if condition.op not in _IMPOSSIBLE or condition.operands[1].op != "const":
            return condition
        base, added = _split(condition.operands[0])
        if base not in self._known:
            return condition
        low, high = (bound + added for bound in self._known[base])
        impossible = _IMPOSSIBLE[condition.op](low, high, condition.operands[1].value)
        return ex.ZERO if impossible else condition


#: whether no number between `low` and `high` is in this relation to `limit`
_IMPOSSIBLE: dict[str, Callable[[float, float, float], bool]] = {
    "lt": lambda low, high, limit: low >= limit,
    "le": lambda low, high, limit: low > limit,
    "gt": lambda low, high, limit: high <= limit,
    "ge": lambda low, high, limit: high < limit,
}


def _split(e: Expression) -> tuple[Expression, float]:
    """`e` as an expression and a number that is added to it."""
    added = 0.0
    while e.op in ("add", "sub") and any(a.op == "const" for a in e.operands):
        left, right = e.operands
        if right.op == "const":
            added += right.value if e.op == "add" else -right.value
            e = left
        elif e.op == "add":
            added += left.value
            e = right
        else:
            break
    return e, added
