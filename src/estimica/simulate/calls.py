"""How compiled engine code is made, cached, and calls model functions by their address."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_NOTICE = "estimica: compiling the engine once, this takes about half a minute ..."
_SETTINGS = {"nogil": True, "error_model": "numpy", "boundscheck": False}
#: reorder and fuse, but keep NaN and infinity: they are how a failed trial step shows itself
_LOOSE = {"contract", "reassoc", "nsz"}

#: an inner function of the engine
engine_function = njit(**_SETTINGS)
#: one that is loops of arithmetic only
loop_function = njit(fastmath=_LOOSE, **_SETTINGS)


@cache
def _stamp() -> str:
    """Numba looks at one file only; the engine is this whole folder."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def entry_point(function: Callable[..., Any]) -> Any:
    """A function that Python calls; kept on disk, compiled again when any engine file changes."""
    try:
        dispatcher = njit(cache=True, **_SETTINGS)(function)
    except RuntimeError:  # no folder can be written to: compile in every process
        return njit(**_SETTINGS)(function)
    storage = dispatcher._cache
    storage._cache_file._source_stamp = _stamp()
    load = storage.load_overload

    def load_or_tell(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        if found is None:
            print(_NOTICE, file=sys.stderr, flush=True)
        return found

    storage.load_overload = load_or_tell
    return dispatcher


@intrinsic  # type: ignore[misc]
def call_model(typing: Any, function: Any, arguments: Any, results: Any) -> Any:
    """Calls `void f(double**, double**)`; all three are addresses."""
    signature = types.void(types.int64, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        pointer = builder.inttoptr(values[0], kind.as_pointer())
        builder.call(pointer, [values[1], values[2]])
        return context.get_dummy_value()

    return signature, generate


@intrinsic  # type: ignore[misc]
def address(typing: Any, array: Any) -> Any:
    """Where an array's data begins; it does not keep the array alive."""
    signature = types.int64(array)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return signature, generate


@intrinsic  # type: ignore[misc]
def unowned(typing: Any, array: Any) -> Any:
    """The same array without a reference count; the caller keeps it alive."""
    signature = array(array)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        result = context.make_array(signature.args[0])(context, builder, values[0])
        result.meminfo = ir.Constant(result.meminfo.type, None)
        result.parent = ir.Constant(result.parent.type, None)
        return result._getvalue()

    return signature, generate


@intrinsic  # type: ignore[misc]
def view(typing: Any, array: Any, start: Any, size: Any) -> Any:
    """array[start : start + size] of a flat array, unchecked and without a reference count."""
    signature = array(array, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        result = context.make_array(signature.args[0])(context, builder, values[0])
        item = ir.Constant(ir.IntType(64), 8)
        result.meminfo = ir.Constant(result.meminfo.type, None)
        result.parent = ir.Constant(result.parent.type, None)
        result.data = builder.gep(result.data, [values[1]])
        result.nitems = values[2]
        result.shape = cgutils.pack_array(builder, [values[2]])
        result.strides = cgutils.pack_array(builder, [item])
        return result._getvalue()

    return signature, generate
