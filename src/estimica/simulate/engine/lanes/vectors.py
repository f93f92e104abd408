"""Arithmetic of one number of all lanes, as instructions on vectors; loops over lanes would be
taken apart by the optimiser in ways that cost many times as much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _larger(builder: Any, n: list[Any]) -> Any:
    """The larger one; what is no number wins: the second where they cannot be compared, and of the
    first a difference that is zero, or no number."""
    larger = builder.select(builder.fcmp_ordered(">", n[0], n[1]), n[0], n[1])
    return builder.fadd(larger, builder.fsub(n[0], n[0]))


#: target := the larger one of both
larger4, larger8 = (_operation(lanes, 2, _larger) for lanes in (4, 8))


def add_error(lanes: int, weights: tuple[float, ...]) -> Any:
    """The intrinsic that adds the squared local error of a number, in units of the tolerance, to a
    total: (h Σ weight k / (atol + rtol max(|w0|, |w1|)))²."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(ir.DoubleType(), lanes)

        def everywhere(value: Any) -> Any:
            one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _index(0))
            return builder.shuffle_vector(one, one, _mask([0] * lanes))

        h, rtol = (everywhere(v) for v in values[1:3])
        places = [builder.bitcast(v, kind.as_pointer()) for v in (values[0], *values[3:])]
        total, w0, w1, atol, *slopes = (builder.load(p, align=8) for p in places)
        before, after = (_size(builder, w) for w in (w0, w1))
        # where the end of the step is no number it is taken, and shows in the total
        largest = builder.select(builder.fcmp_ordered(">", before, after), before, after)
        allowed = builder.fadd(atol, builder.fmul(rtol, largest, flags=_FUSED), flags=_FUSED)
        error = ir.Constant(kind, [0.0] * lanes)
        for weight, slope in zip(weights, slopes, strict=True):
            term = builder.fmul(ir.Constant(kind, [weight] * lanes), slope, flags=_FUSED)
            error = builder.fadd(error, term, flags=_FUSED)
        ratio = builder.fdiv(builder.fmul(h, error), allowed)
        square = builder.fmul(ratio, ratio, flags=_FUSED)
        builder.store(builder.fadd(total, square, flags=_FUSED), places[0], align=8)
        return context.get_dummy_value()

    @intrinsic
    def add(
        typing: Any, total: Any, h: Any, rtol: Any, w0: Any, w1: Any, atol: Any, k1: Any, k3: Any,
        k4: Any, k5: Any, k6: Any, k7: Any,
    ) -> Any:  # fmt: skip
        real = types.float64
        return types.void(total, real, real, w0, w1, atol, k1, k3, k4, k5, k6, k7), generate

    return add


def _size(builder: Any, value: Any) -> Any:
    """|value|: all bits of its numbers but their signs."""
    whole = ir.VectorType(ir.IntType(64), value.type.count)
    unsigned = ir.Constant(whole, [(1 << 63) - 1] * value.type.count)
    bits = builder.and_(builder.bitcast(value, whole), unsigned)
    return builder.bitcast(bits, value.type)


def _index(k: int) -> Any:
    return ir.Constant(ir.IntType(32), k)


def _mask(order: Sequence[int]) -> Any:
    """Which elements a shuffle takes."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))


#: of four vectors a, b, c, d in the order of their shuffles: the even and odd halves of a b and of
#: c d, then the rows of the transpose from two of those
_PAIRS = ((0, 4, 2, 6), (1, 5, 3, 7))
_HALVES = ((0, 1, 4, 5), (2, 3, 6, 7))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of four vectors of four numbers."""

    def shuffled(a: Any, b: Any, order: tuple[int, ...]) -> Any:
        return builder.shuffle_vector(a, b, _mask(order))

    a, b, c, d = rows
    (ab_even, ab_odd), (cd_even, cd_odd) = (
        tuple(shuffled(one, two, order) for order in _PAIRS) for one, two in ((a, b), (c, d))
    )
    return [
        shuffled(one, two, order)
        for order in _HALVES
        for one, two in ((ab_even, cd_even), (ab_odd, cd_odd))
    ]


@intrinsic
def turn4(typing: Any, source: Any, lanes: Any, target: Any, stride: Any) -> Any:
    """Four numbers of four members, `lanes` apart in the source, to where those of each stand one
    after the other, `stride` numbers from member to member."""
    signature = types.void(source, types.int64, source, types.int64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(ir.DoubleType(), 4)

        def place(first: Any, apart: Any, k: int) -> Any:
            number = builder.mul(apart, ir.Constant(ir.IntType(64), k))
            return builder.bitcast(builder.gep(first, [number]), kind.as_pointer())

        rows = [builder.load(place(values[0], values[1], k), align=8) for k in range(4)]
        for k, column in enumerate(_transposed(builder, rows)):
            builder.store(column, place(values[2], values[3], k), align=8)
        return context.get_dummy_value()

    return signature, generate
