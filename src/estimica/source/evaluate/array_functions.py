"""The built-in functions that make, join and reduce arrays, on values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.operators import Overload, binary
from estimica.source.evaluate.values import (
    Array,
    Value,
    ValueMismatch,
    elementwise,
    expressions,
    full,
    is_array,
    make_array,
    sizes_of,
)

#: the least of no numbers is the greatest there is, and the other way round
_GREATEST = {"min": ex.const(sys.float_info.max), "max": ex.const(-sys.float_info.max)}


def promote(value: Value, dimensions: int) -> Array:
    """`value` with as many dimensions, the added ones of size 1 at the end."""
    array = value if is_array(value) else full((), value)
    if array.ndim > dimensions:
        raise ValueMismatch(f"an array of {array.ndim} dimensions where {dimensions} are needed")
    return array.reshape(array.shape + (1,) * (dimensions - array.ndim))


def concatenated(axis: int, arrays: Sequence[Value]) -> Array:
    """cat(axis + 1, …): along one dimension, the others equal; scalars count as arrays of one."""
    rank = max([axis + 1, *(a.ndim for a in arrays if is_array(a))])
    parts = [promote(a, rank) for a in arrays]
    others = {_without(p.shape, axis) for p in parts}
    if len(others) > 1:  # an empty array whose other sizes nobody knows
        parts = [p for p in parts if p.size] or parts[:1]
        others = {_without(p.shape, axis) for p in parts}
    if len(others) > 1:
        told = " and ".join(str(p.shape) for p in parts)
        raise ValueMismatch(f"arrays of sizes {told} are joined along dimension {axis + 1}")
    return np.concatenate(parts, axis=axis)


def joined_rows(rows: Sequence[Sequence[Value]]) -> Array:
    """[a, b; c, d]: each row along the second dimension, the rows along the first."""
    rank = max([2, *(a.ndim for row in rows for a in row if is_array(a))])
    return concatenated(
        0, [concatenated(1, [promote(a, rank) for a in row]) if row else None for row in rows]
    )


def filled(shape: tuple[int, ...], value: Value) -> Array:
    """fill(value, …): an array of arrays where `value` is one."""
    if is_array(value):
        sizes_of(*shape, *value.shape)
        return np.broadcast_to(value, shape + value.shape)
    return full(shape, value)


def diagonal(value: Value) -> Array:
    """A matrix with these elements on its diagonal."""
    vector = _array(value, 1, "diagonal()")
    result = full((len(vector), len(vector)), ex.ZERO)
    for i, entry in enumerate(vector):
        result[i, i] = entry
    return result


def linspace(first: Value, last: Value, count: int) -> Array:
    """`count` numbers from `first` to `last` at equal distances."""
    if not isinstance(first, Expression) or not isinstance(last, Expression):
        raise ValueMismatch("linspace() between values that are not numbers")
    step = ex.sub(last, first)
    numbers = [ex.add(first, ex.mul(step, ex.const(k / max(count - 1, 1)))) for k in range(count)]
    if count > 1:
        numbers[-1] = last  # exactly, whatever rounding makes of the sum
    return make_array(numbers)


def extreme(op: str, *arguments: Value) -> Value:
    """min or max of an array, or of two values."""
    if len(arguments) == 2:
        return elementwise(lambda a, b: ex.call(op, a, b), *arguments)
    items = expressions(arguments[0])
    result = items[0] if items else _GREATEST[op]
    for item in items[1:]:
        result = ex.call(op, result, item)
    return result


def total(value: Value, overload: Overload) -> Value:
    """The sum of all elements; 0 for none."""
    return _folded("+", ex.ZERO, value, overload)


def product(value: Value, overload: Overload) -> Value:
    """The product of all elements; 1 for none."""
    return _folded("*", ex.ONE, value, overload)


def _folded(op: str, none: Expression, value: Value, overload: Overload) -> Value:
    elements = list(value.flat) if is_array(value) else [value]
    if not elements:
        return none
    result: Value = elements[0]
    for element in elements[1:]:
        result = binary(op, result, element, overload)
    return result


def cross(a: Value, b: Value) -> Array:
    """The vector product."""
    if not (is_array(a) and is_array(b) and a.shape == b.shape == (3,)):
        raise ValueMismatch("cross() takes two vectors of size 3")
    return make_array(
        [ex.sub(ex.mul(a[i], b[j]), ex.mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    )


def skew(a: Value) -> Array:
    """The matrix S with S·b = cross(a, b)."""
    if not (is_array(a) and a.shape == (3,)):
        raise ValueMismatch("skew() takes a vector of size 3")
    x, y, z = a
    rows = [[ex.ZERO, ex.neg(z), y], [z, ex.ZERO, ex.neg(x)], [ex.neg(y), x, ex.ZERO]]
    return make_array([make_array(r) for r in rows])


def outer_product(a: Value, b: Value, overload: Overload) -> Value:
    """The matrix of all products."""
    left, right = _array(a, 1, "outerProduct()"), _array(b, 1, "outerProduct()")
    return binary("*", left[:, np.newaxis], right[np.newaxis, :], overload)


def symmetric(a: Value) -> Array:
    """The upper triangle, mirrored into the lower one."""
    matrix = _array(a, 2, "symmetric()")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueMismatch(f"symmetric() of a matrix of size {matrix.shape}")
    result = matrix.copy()
    for i in range(len(matrix)):
        for j in range(i):
            result[i, j] = matrix[j, i]
    return result


def transpose(a: Value) -> Array:
    """The first two dimensions exchanged."""
    if not is_array(a) or a.ndim < 2:
        raise ValueMismatch("transpose() of a value that is not a matrix")
    return np.swapaxes(a, 0, 1)


def as_scalar(a: Value) -> Value:
    """The one element of an array."""
    if not is_array(a):
        return a
    if a.size != 1:
        raise ValueMismatch(f"scalar() of {a.size} elements")
    return a.flat[0]  # type: ignore[no-any-return]


def as_vector(a: Value) -> Array:
    """All elements as a vector; at most one dimension may be larger than 1."""
    if not is_array(a):
        return make_array([a])
    if sum(n > 1 for n in a.shape) > 1:
        raise ValueMismatch(f"vector() of an array of size {a.shape}")
    return a.reshape(-1)


def as_matrix(a: Value) -> Array:
    """The first two dimensions; further ones must be of size 1."""
    if not is_array(a) or a.ndim <= 2:
        return promote(a, 2)
    if any(n != 1 for n in a.shape[2:]):
        raise ValueMismatch(f"matrix() of an array of size {a.shape}")
    return a.reshape(a.shape[:2])


def _array(value: Value, rank: int, where: str) -> Array:
    if not is_array(value) or value.ndim != rank:
        raise ValueMismatch(f"{where} takes an array of {rank} dimension{'s' * (rank > 1)}")
    return value


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


#: functions of values alone, with the number of arguments that they take
PLAIN: dict[str, tuple[int, Callable[..., Value]]] = {
    "diagonal": (1, diagonal),
    "cross": (2, cross),
    "skew": (1, skew),
    "symmetric": (1, symmetric),
    "transpose": (1, transpose),
    "scalar": (1, as_scalar),
    "vector": (1, as_vector),
    "matrix": (1, as_matrix),
    "ndims": (1, lambda a: ex.const(a.ndim if is_array(a) else 0)),
}
