"""Calls from compiled code to the functions of an FMU, by their address.

C callers clean up their own arguments on every platform that FMUs are built for, so that a call
may hand over more arguments than the function takes: one shape of call serves many functions.
"""

from __future__ import annotations

from typing import Any

from estimica.compiled.llvm.numba import intrinsic, ir, types

_WORD, _REAL, _STATUS = ir.IntType(64), ir.DoubleType(), ir.IntType(32)


def _called(builder: Any, kinds: list[Any], values: Any) -> Any:
    kind = ir.FunctionType(_STATUS, kinds)
    pointer = builder.inttoptr(values[0], kind.as_pointer())
    return builder.sext(builder.call(pointer, list(values[1:])), _WORD)


@intrinsic
def call_fmi(
    typing: Any, f: Any, c: Any, a: Any, b: Any, d: Any, e: Any, g: Any, h: Any, i: Any, k: Any
) -> Any:
    """status = f(c, a, b, ...), all of them whole numbers or addresses."""
    signature = types.int64(*([types.int64] * 10))

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, [_WORD] * 9, values)

    return signature, generate


@intrinsic
def call_fmi_time(typing: Any, f: Any, c: Any, t: Any) -> Any:
    """status = f(c, t) with a real t."""
    signature = types.int64(types.int64, types.int64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, [_WORD, _REAL], values)

    return signature, generate


@intrinsic
def call_fmi_setup(
    typing: Any, f: Any, c: Any, given: Any, tolerance: Any, start: Any, ends: Any, stop: Any
) -> Any:
    """status = f(c, given, tolerance, start, ends, stop): how an experiment begins."""
    word, real = types.int64, types.float64
    signature = word(word, word, word, real, real, word, real)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, [_WORD, _WORD, _REAL, _REAL, _WORD, _REAL], values)

    return signature, generate


@intrinsic
def call_fmi_step(
    typing: Any, f: Any, c: Any, t: Any, h: Any, a: Any, b: Any, d: Any, e: Any, g: Any
) -> Any:
    """status = f(c, t, h, a, ...): one communication step."""
    word, real = types.int64, types.float64
    signature = word(word, word, real, real, word, word, word, word, word)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, [_WORD, _REAL, _REAL, *([_WORD] * 5)], values)

    return signature, generate


def _memory(bits: int) -> tuple[Any, Any]:
    """(load, store) of whole numbers of so many bits at an address."""

    @intrinsic
    def load(typing: Any, place: Any) -> Any:
        signature = types.int64(types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], ir.IntType(bits).as_pointer())
            return builder.sext(builder.load(pointer), _WORD)

        return signature, generate

    @intrinsic
    def store(typing: Any, place: Any, value: Any) -> Any:
        signature = types.void(types.int64, types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], ir.IntType(bits).as_pointer())
            builder.store(builder.trunc(values[1], ir.IntType(bits)), pointer)
            return context.get_dummy_value()

        return signature, generate

    return load, store


load_byte, store_byte = _memory(8)
load_int, store_int = _memory(32)
