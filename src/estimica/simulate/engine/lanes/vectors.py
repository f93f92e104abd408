"""Arithmetic of one number of all lanes, as instructions on vectors; loops over lanes would be
taken apart by the optimiser in ways that cost many times as much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from estimica.compiled.llvm.deferred import ir, types
from estimica.simulate.engine.units import intrinsic

Vector = Any
#: a product and a sum may be one instruction
_FUSED = ("contract",)


def _operation(lanes: int, names: int, operate: Callable[[Any, list[Any]], Any]) -> Any:
    """The intrinsic that puts operate(target, others ...) where its first pointer points to."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(ir.DoubleType(), lanes)
        places = [builder.bitcast(v, kind.as_pointer()) for v in values]
        numbers = [builder.load(p, align=8) for p in places]
        builder.store(operate(builder, numbers), places[0], align=8)
        return context.get_dummy_value()

    if names == 2:

        @intrinsic
        def two(typing: Any, target: Any, other: Any) -> Any:
            return types.void(target, other), generate

        return two

    @intrinsic
    def three(typing: Any, target: Any, factor: Any, source: Any) -> Any:
        return types.void(target, factor, source), generate

    return three


def _added(builder: Any, n: list[Any]) -> Any:
    return builder.fadd(n[0], builder.fmul(n[1], n[2], flags=_FUSED), flags=_FUSED)


def _subtracted(builder: Any, n: list[Any]) -> Any:
    return builder.fsub(n[0], builder.fmul(n[1], n[2], flags=_FUSED), flags=_FUSED)


def _divided(builder: Any, n: list[Any]) -> Any:
    return builder.fdiv(n[0], n[1])


#: target += factor source, target -= factor source, target /= divisor
add4, add8 = (_operation(lanes, 3, _added) for lanes in (4, 8))
subtract4, subtract8 = (_operation(lanes, 3, _subtracted) for lanes in (4, 8))
divide4, divide8 = (_operation(lanes, 2, _divided) for lanes in (4, 8))
