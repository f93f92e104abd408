"""Twins of all LAPACK and BLAS routines for double numbers, through the library that SciPy has.

A routine is called by its address, with every argument in a buffer of its own; what differs
afterwards was written. Small systems with unknowns of the run are solved by formulas instead.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Array, Value, ValueMismatch, Written, is_array
from estimica.source.external.host import Host, Twin, constants

#: a system of more unknowns has formulas that nobody wants to differentiate
MOST_UNKNOWNS = 3
#: LAPACK trusts the sizes it is told: none may be larger than this, and every buffer has room for
#: a matrix of the largest one, so that wrong sizes in a model spoil numbers but not memory
_LARGEST_SIZE = 2000
_SPARE = 64
_SIGNATURE = re.compile(r"^(.*?) ?\((.*)\)$")
_NAME = re.compile(r"d[a-z0-9]{2,6}$")


@dataclass(frozen=True, slots=True)
class Routine:
    """Where a routine lies and what its arguments are: c text, i Integer, d Real, f function."""

    address: int
    kinds: str
    returns: bool


class LinearAlgebraTwins(Mapping[str, Twin]):
    """The twin of every routine of LAPACK and BLAS, made when it is asked for."""

    def __getitem__(self, name: str) -> Twin:
        if _routine(name) is None:
            raise KeyError(name)
        return _solved if name == "dgesv" else _numeric(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _routine(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@cache
def _routine(name: str) -> Routine | None:
    if not _NAME.match(name):
        return None
    # heavy imports, needed by few models
    from scipy.linalg import cython_blas, cython_lapack

    for module in (cython_lapack, cython_blas):
        capsule = module.__pyx_capi__.get(name)
        if capsule is not None:
            return _of_capsule(capsule)
    return None


def _of_capsule(capsule: Any) -> Routine | None:
    """SciPy names every address by the C type of its function."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    match = _SIGNATURE.match(signature.decode())
    if match is None:
        return None
    result, arguments = match[1], match[2].split(", ")
    kinds = "".join(_kind(a) for a in arguments)
    if "?" in kinds or (result != "void" and not result.endswith("_d")):
        return None
    return Routine(api.PyCapsule_GetPointer(capsule, signature), kinds, result != "void")


def _kind(c_type: str) -> str:
    base = c_type.removesuffix("*").strip()
    if base in ("char", "int"):
        return base[0]
    if "select" in base:
        return "f"
    return "d" if base.endswith("_d") else "?"


# --- numbers ---


def _numeric(name: str) -> Twin:
    def twin(host: Host, a: Sequence[Value]) -> Written:
        return _called(host, name, a)

    return twin


def _called(host: Host, name: str, a: Sequence[Value]) -> Written:
    routine = _routine(name)
    assert routine is not None
    if len(a) != len(routine.kinds):
        raise ValueMismatch(f"'{name}' has {len(routine.kinds)} arguments and is given {len(a)}")
    why = f"it is an argument of '{name}'"
    given = [_plain(host, x, kind, why) for x, kind in zip(a, routine.kinds, strict=True)]
    room = _room(name, given, routine.kinds)
    buffers = [_buffer(x, kind, room) for x, kind in zip(given, routine.kinds, strict=True)]
    before = [None if b is None else b.copy() for b in buffers]
    function = ctypes.CFUNCTYPE(
        ctypes.c_double if routine.returns else None, *[ctypes.c_void_p] * len(buffers)
    )(routine.address)
    result = function(*(None if b is None else b.ctypes.data for b in buffers))
    written: dict[int, Value] = {}
    for place, (value, old, new) in enumerate(zip(a, before, buffers, strict=True)):
        if new is None or old is None or routine.kinds[place] == "c":
            continue
        if not np.array_equal(old, new, equal_nan=True) or not _is_known(value):
            written[place] = _from_buffer(new, given[place])
    return Written(written, ex.const(result) if routine.returns else None)


def _is_known(value: Value) -> bool:
    """Whether a value was given at all: outputs begin without one."""
    elements = value.flat if is_array(value) else [value]
    return all(isinstance(e, Expression) for e in elements)


def _plain(host: Host, value: Value, kind: str, why: str) -> Any:
    """An argument as bytes, or as an array of numbers; what has no value yet is 0."""
    if kind == "c":
        return str(value or " ").encode()[:1] if isinstance(value, str) else b" "
    if kind == "f":
        return None
    elements = value.flat if is_array(value) else [value]
    numbers = [host.number(e, why) if isinstance(e, Expression) else 0.0 for e in elements]
    shape = value.shape if is_array(value) else ()
    return np.array(numbers, dtype=np.int32 if kind == "i" else float).reshape(shape)


def _room(name: str, given: Sequence[Any], kinds: str) -> int:
    """How long every buffer must be, whatever the sizes say."""
    sizes = [int(x) for x, k in zip(given, kinds, strict=True) if k == "i" and x.ndim == 0]
    arrays = {x.size for x in given if isinstance(x, np.ndarray)}
    largest = max((s for s in sizes if s <= _LARGEST_SIZE), default=0)
    longest = max(sizes, default=0)
    if longest > _LARGEST_SIZE and longest not in arrays:
        raise ValueMismatch(f"'{name}' is called with the size {longest}; that is too large")
    return largest**2 + longest + _SPARE


def _buffer(value: Any, kind: str, room: int) -> Any:
    if kind == "f":
        return None
    if kind == "c":
        return np.frombuffer(value + b" " * 7, dtype=np.uint8).copy()
    result = np.zeros(value.size + room, dtype=value.dtype)
    result[: value.size] = value.ravel(order="F")  # FORTRAN counts the first index first
    return result


def _from_buffer(buffer: Any, like: Any) -> Value:
    values = buffer[: like.size].reshape(like.shape, order="F")
    made = constants(values)
    return made if like.ndim else made.item()


# --- formulas ---


def _solved(host: Host, a: Sequence[Value]) -> Written:
    """dgesv: n, right-hand sides, A, leading, pivots, B and then X, leading, info."""
    matrix, right = a[2], a[5]
    assert is_array(matrix)
    assert is_array(right)
    elements = [*matrix.flat, *right.flat]
    size = len(matrix)
    if all(e.op == "const" for e in elements) or size > MOST_UNKNOWNS:
        return _called(host, "dgesv", a)
    columns = right.reshape(size, -1)
    solution = np.empty(columns.shape, dtype=object)
    whole = _determinant(matrix)
    for j in range(columns.shape[1]):
        for i in range(size):
            replaced = matrix.copy()
            replaced[:, i] = columns[:, j]
            solution[i, j] = ex.div(_determinant(replaced), whole)
    return Written({5: solution.reshape(right.shape), 7: ex.ZERO})


def _determinant(m: Array) -> Expression:
    if len(m) == 1:
        return m[0, 0]  # type: ignore[no-any-return]
    result = ex.ZERO
    for j in range(len(m)):
        minor = np.delete(np.delete(m, 0, axis=0), j, axis=1)
        term = ex.mul(m[0, j], _determinant(minor))
        result = ex.sub(result, term) if j % 2 else ex.add(result, term)
    return result
