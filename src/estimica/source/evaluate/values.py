"""Values while a model is read: scalar expressions, texts, arrays and records of them.

Arrays are NumPy object arrays of scalars or records, several outputs a tuple. Nothing is changed in
place once somebody else may hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from estimica.flat.expression import Expression

if TYPE_CHECKING:
    from estimica.source.evaluate.names import Function

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = (
    "Expression | str | Array | Record | tuple[Value, ...] | Handle | FunctionValue | None"
)
Frame: TypeAlias = "dict[str, Value]"


class Record(dict[str, "Value"]):
    """A record: its fields by name. `type` is the record's class, None where it is not known."""

    __slots__ = ("type",)

    def __init__(self, fields: Mapping[str, Value], type: object | None = None) -> None:
        super().__init__(fields)
        self.type = type


class RuntimeText(str):
    """A text with a part that only the run knows: to be shown, never to be compared.

    `parts` make it up: texts, and expressions with what writes their number; none where a part
    cannot be written even so.
    """

    parts: tuple[str | tuple[Expression, Callable[[float], str]], ...]

    def __new__(
        cls, text: str, parts: tuple[str | tuple[Expression, Callable[[float], str]], ...] = ()
    ) -> RuntimeText:
        """The text as it is shown, and its parts."""
        made = super().__new__(cls, text)
        made.parts = parts
        return made


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """An external object, such as a table: what its constructor made of its arguments."""

    arguments: dict[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue:
    """A function that is handed on, perhaps with some of its inputs given."""

    function: Function
    given: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Written:
    """What an external function has written: by the place of the argument, and what it returned."""

    arguments: dict[int, Value]
    returned: Value = None


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


def first_of(value: Value) -> Value:
    """Of several outputs the first; anything else is itself."""
    return value[0] if isinstance(value, tuple) and value else value


def make_array(elements: Sequence[Value]) -> Array:
    """An array one dimension higher than its elements, which are scalars or all of one shape."""
    if any(is_array(e) for e in elements):
        shapes = {e.shape if is_array(e) else () for e in elements}
        if len(shapes) > 1:
            told = " and ".join(_shape_text(s) for s in sorted(shapes))
            raise ValueMismatch(f"an array of elements of different sizes: {told}")
        return np.stack([np.asarray(e, dtype=object) for e in elements])
    result = np.empty(len(elements), dtype=object)
    for i, element in enumerate(elements):
        result[i] = element
    return result


def make_nested(elements: Sequence[Value], shape: tuple[int, ...]) -> Array:
    """An array of `shape` whose elements, if arrays themselves, give it further dimensions."""
    flat = make_array(elements)
    return flat.reshape(shape + flat.shape[1:])


def full(shape: Sequence[int], value: Value) -> Array:
    """An array of `shape` with the same scalar everywhere."""
    result = np.empty(sizes_of(*shape), dtype=object)
    flat = result.reshape(-1)
    for k in range(flat.size):
        flat[k] = value
    return result


def over_arrays(f: Callable[..., Value], *values: Value) -> Value:
    """`f` applied to scalars and records, or to each element of arrays.

    A scalar beside an array counts for every element.
    """
    shape: tuple[int, ...] | None = None
    for v in values:
        if isinstance(v, np.ndarray):
            if shape is not None and v.shape != shape:
                raise ValueMismatch(
                    f"sizes differ: {_shape_text(shape)} and {_shape_text(v.shape)}"
                )
            shape = v.shape
    if shape is None:
        return f(*values)
    flats = [v.reshape(-1) if isinstance(v, np.ndarray) else None for v in values]
    result = np.empty(math.prod(shape), dtype=object)
    for k in range(result.size):
        result[k] = f(
            *[v if flat is None else flat[k] for v, flat in zip(values, flats, strict=True)]
        )
    return result.reshape(shape)


def elementwise(f: Callable[..., Value], *values: Value) -> Value:
    """`f` applied to scalars, to each element of arrays, to each field of records.

    A scalar beside an array or a record counts for every element of it.
    """
    return over_arrays(lambda *parts: _fieldwise(f, parts), *values)


def _fieldwise(f: Callable[..., Value], values: Sequence[Value]) -> Value:
    records = [v for v in values if isinstance(v, Record)]
    if not records:
        return f(*values)
    lacking = sorted({k for r in records for k in r if any(k not in o for o in records)})
    if lacking:
        raise ValueMismatch(f"the field '{lacking[0]}' is missing in one of the records")
    return Record(
        {
            key: elementwise(f, *(v[key] if isinstance(v, Record) else v for v in values))
            for key in records[0]
        },
        records[0].type,
    )


def scalars(value: Value) -> Iterator[Expression | str]:
    """Every scalar of `value`, arrays row by row, records field by field."""
    if isinstance(value, (Expression, str)):
        yield value
    elif isinstance(value, Record):
        for field in value.values():
            yield from scalars(field)
    elif isinstance(value, tuple):
        for part in value:
            yield from scalars(part)
    elif is_array(value):
        for element in value.flat:
            yield from scalars(element)


def expressions(value: Value) -> list[Expression]:
    """Every scalar of `value`; ValueMismatch where one is not a number or truth value."""
    items = list(scalars(value))
    if not all(isinstance(i, Expression) for i in items):
        raise ValueMismatch("numbers are needed here, not texts")
    return items  # type: ignore[return-value]


def field_of(value: Value, name: str) -> Value:
    """The field `name` of a record, or of every record of an array."""
    if is_array(value):
        return make_nested([field_of(v, name) for v in value.flat], value.shape)
    value = first_of(value)
    if not isinstance(value, Record) or name not in value:
        raise ValueMismatch(f"there is no field '{name}'")
    return value[name]


def broadcast(value: Value, shape: tuple[int, ...]) -> Array:
    """`value` as an array of `shape`: itself, or the same scalar (or row) for every element."""
    if not is_array(value):
        return full(shape, value)
    if value.shape == shape:
        return value
    if value.size == 0 and math.prod(shape) == 0:
        return np.empty(shape, dtype=object)  # nothing fits nothing, whatever its dimensions
    if value.ndim < len(shape) and value.shape == shape[len(shape) - value.ndim :]:
        # `each` on an array of components: the same array for every element
        return np.broadcast_to(value, shape)
    raise ValueMismatch(f"size {_shape_text(value.shape)} does not fit size {_shape_text(shape)}")


def key_of(value: Value) -> object:
    """What equal values have in common: for tables of values that are known already."""
    if isinstance(value, (Expression, str, Handle)) or value is None:
        return value
    if is_array(value):
        return (value.shape, *[key_of(v) for v in value.flat])
    if isinstance(value, Record):
        return (id(value.type), *[(k, key_of(v)) for k, v in value.items()])
    if isinstance(value, FunctionValue):
        return (id(value.function), *[(k, key_of(v)) for k, v in value.given.items()])
    return tuple(key_of(v) for v in value)


def _shape_text(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) if shape else "one"
