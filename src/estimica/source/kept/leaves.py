"""The scalars of values by their labels: `state.p`, `X[2]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Record, Value, ValueMismatch, is_array

Leaf = Expression | None


def leaves(label: str, value: Value) -> Iterator[tuple[str, Leaf]]:
    """Every number of `value`, and None for what has no value yet."""
    if isinstance(value, Expression) or value is None:
        yield label, value
    elif is_array(value):
        for index in np.ndindex(value.shape):
            yield from leaves(f"{label}[{','.join(str(k + 1) for k in index)}]", value[index])
    elif isinstance(value, Record):
        for name, field in value.items():
            yield from leaves(f"{label}.{name}", field)
    elif isinstance(value, tuple):
        for k, part in enumerate(value):
            yield from leaves(f"{label}.{k + 1}", part)


def mapped(label: str, value: Value, f: Callable[[str, Leaf], Leaf]) -> Value:
    """`value` with `f(label, leaf)` for every leaf."""
    if isinstance(value, Expression) or value is None:
        return f(label, value)
    if is_array(value):
        result = np.empty(value.shape, dtype=object)
        for index in np.ndindex(value.shape):
            inner = f"{label}[{','.join(str(k + 1) for k in index)}]"
            result[index] = mapped(inner, value[index], f)
        return result
    if isinstance(value, Record):
        return Record({n: mapped(f"{label}.{n}", v, f) for n, v in value.items()}, value.type)
    if isinstance(value, tuple):
        return tuple(mapped(f"{label}.{k + 1}", v, f) for k, v in enumerate(value))
    return value


def merged(label: str, a: Value, b: Value, f: Callable[[str, Leaf, Leaf], Leaf]) -> Value:
    """Two values of one shape as one: `f` is asked for each pair of leaves that differ.

    Where one has no value at all yet, the other gives the shape.
    """
    if a is b:
        return a
    if a is None and not isinstance(b, Expression):
        return mapped(label, b, lambda inner, leaf: f(inner, None, leaf))
    if b is None and not isinstance(a, Expression):
        return mapped(label, a, lambda inner, leaf: f(inner, leaf, None))
    if _is_leaf(a) and _is_leaf(b):
        return f(label, a, b)  # type: ignore[arg-type]
    if is_array(a) and is_array(b) and a.shape == b.shape:
        result = np.empty(a.shape, dtype=object)
        for index in np.ndindex(a.shape):
            inner = f"{label}[{','.join(str(k + 1) for k in index)}]"
            result[index] = merged(inner, a[index], b[index], f)
        return result
    if isinstance(a, Record) and isinstance(b, Record):
        names = dict.fromkeys((*a, *b))
        fields = {n: merged(f"{label}.{n}", a.get(n), b.get(n), f) for n in names}
        return Record(fields, a.type if a.type is not None else b.type)
    if isinstance(a, str) and a == b:
        return a
    raise ValueMismatch(f"'{label}' has values of different kinds or sizes on different ways")


def _is_leaf(value: Value) -> bool:
    return isinstance(value, Expression) or value is None
