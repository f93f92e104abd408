"""Values while a model is decoded: scalar expressions, texts, arrays and records of them.

Arrays are NumPy object arrays of scalars, records are dictionaries, several outputs a tuple.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from estimica.flat import expression as ex
from estimica.flat.expression import Expression

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = (
    "Expression | str | Array | dict[str, Value] | tuple[Value, ...] | Handle | FunctionValue"
    " | None"
)


@dataclass(frozen=True, slots=True)
class Handle:
    """An external object, such as a table: the arguments of its constructor."""

    arguments: dict[str, Value]


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function that is handed on, perhaps with some of its inputs given."""

    name: str
    given: dict[str, Value]


#: elements of one array: each is an expression of its own, some 500 bytes and 20 µs
MOST_ELEMENTS = 200_000


class ValueMismatch(Exception):
    """Two values do not fit together; the message says how. The caller adds the place."""


def sizes_of(*numbers: float) -> tuple[int, ...]:
    """Sizes of an array as whole numbers; ValueMismatch where there can be no such array."""
    told = "×".join(f"{n:.15g}" for n in numbers)
    if not all(n >= 0 for n in numbers):
        raise ValueMismatch(f"an array of the size {told}")
    if math.prod(numbers) > MOST_ELEMENTS or max(numbers, default=0.0) > MOST_ELEMENTS:
        raise ValueMismatch(f"an array of {told} elements; at most {MOST_ELEMENTS} are supported")
    return tuple(int(n) for n in numbers)


def is_array(value: object) -> TypeGuard[Array]:
    """Whether `value` is an array."""
    return isinstance(value, np.ndarray)


def make_array(elements: Sequence[Value]) -> Array:
    """An array one dimension higher than its elements, which are scalars or all of one shape."""
    if elements and all(is_array(e) for e in elements):
        shapes = {e.shape for e in elements if is_array(e)}
        if len(shapes) > 1:
            raise ValueMismatch(f"rows of different sizes: {sorted(shapes)}")
        return np.stack([np.asarray(e, dtype=object) for e in elements])
    result = np.empty(len(elements), dtype=object)
    for i, element in enumerate(elements):
        result[i] = element
    return result


def full(shape: Sequence[int], value: Value) -> Array:
    """An array of `shape` with the same scalar everywhere."""
    result = np.empty(sizes_of(*shape), dtype=object)
    for index in np.ndindex(*result.shape):
        result[index] = value
    return result


def elementwise(f: Callable[..., Value], *values: Value) -> Value:
    """`f` applied to scalars, to each element of arrays, to each field of records.

    A scalar beside an array counts for every element.
    """
    records = [v for v in values if isinstance(v, dict)]
    if records:
        lacking = sorted({k for r in records for k in r if any(k not in o for o in records)})
        if lacking:
            raise ValueMismatch(f"the field '{lacking[0]}' is missing in one of the records")
        return {
            key: elementwise(f, *(v[key] if isinstance(v, dict) else v for v in values))
            for key in records[0]
        }
    shapes = {v.shape for v in values if is_array(v)}
    if not shapes:
        return f(*values)
    if len(shapes) > 1:
        raise ValueMismatch(f"sizes differ: {' and '.join(map(str, sorted(shapes)))}")
    result = np.empty(shapes.pop(), dtype=object)
    for index in np.ndindex(*result.shape):
        result[index] = elementwise(f, *(v[index] if is_array(v) else v for v in values))
    return result


def scalars(value: Value) -> Iterator[Expression | str]:
    """Every scalar of `value`, arrays row by row, records field by field."""
    if isinstance(value, dict):
        for field in value.values():
            yield from scalars(field)
    elif isinstance(value, tuple):
        for part in value:
            yield from scalars(part)
    elif is_array(value):
        for element in value.flat:
            yield from scalars(element)
    elif isinstance(value, (Expression, str)):
        yield value


def field_of(value: Value, name: str) -> Value:
    """The field `name` of a record, or of every record of an array."""
    if is_array(value):
        return make_nested([field_of(v, name) for v in value.flat], value.shape)
    if not isinstance(value, dict) or name not in value:
        raise ValueMismatch(f"there is no field '{name}'")
    return value[name]


def numeric(value: Value) -> Value:
    """A value to compute with: of several results the first; no text, function or nothing."""
    if isinstance(value, tuple) and value:
        value = value[0]
    if not isinstance(value, (Expression, dict)) and not is_array(value):
        raise ValueMismatch("a number is needed here")
    return value


def make_nested(elements: Sequence[Value], shape: tuple[int, ...]) -> Array:
    """An array of `shape` whose elements, if arrays themselves, give it further dimensions."""
    flat = make_array(elements)
    return flat.reshape(shape + flat.shape[1:])


def matrix_product(a: Array, b: Array) -> Value:
    """a·b for vectors and matrices; a vector times a vector is their scalar product."""
    if a.shape[-1] != b.shape[0]:
        raise ValueMismatch(f"cannot multiply sizes {a.shape} and {b.shape}")
    if a.ndim == 1 and b.ndim == 1:
        return ex.total(ex.mul(x, y) for x, y in zip(a, b, strict=True))
    rows = a if a.ndim == 2 else a[np.newaxis, :]
    columns = b if b.ndim == 2 else b[:, np.newaxis]
    result = np.empty((rows.shape[0], columns.shape[1]), dtype=object)
    for i, j in np.ndindex(*result.shape):
        result[i, j] = ex.total(ex.mul(x, y) for x, y in zip(rows[i], columns[:, j], strict=True))
    if a.ndim == 1:
        return result[0]  # type: ignore[no-any-return]
    return result[:, 0] if b.ndim == 1 else result


def broadcast(value: Value, shape: tuple[int, ...]) -> Array:
    """`value` as an array of `shape`: itself, or the same scalar (or row) for every element."""
    if not is_array(value):
        return full(shape, value)
    if value.shape == shape:
        return value
    if len(value.shape) < len(shape) and value.shape == shape[len(shape) - len(value.shape) :]:
        # `each` on an array of components: the same array for every element
        return np.broadcast_to(value, shape)
    raise ValueMismatch(f"size {value.shape} does not fit size {shape}")
