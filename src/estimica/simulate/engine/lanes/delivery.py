"""What becomes of samples: outputs of every member, or sums of squares and products at once."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result
from estimica.simulate.engine.lanes.linear_algebra import accumulate
from estimica.simulate.engine.lanes.membership import leave
from estimica.simulate.engine.lanes.vectors import turn4
from estimica.simulate.engine.status import DONE
from estimica.simulate.engine.units import engine_function, part, reals_at

Vector = Any


@engine_function
def _deliver(lanes: int, count: int, n: int, source: Vector, target: int, stride: int) -> None:
    """n numbers of every member to memory of its own, `stride` apart; four of four members at a
    time where all lanes have one."""
    whole = n - n % 4 if count == lanes else 0
    for first in range(0, lanes, 4):
        out = reals_at(target + 8 * first * stride)
        for j in range(0, whole, 4):
            turn4(part(source, j * lanes + first), lanes, part(out, j), stride)
    for k in range(count):
        out = reals_at(target + 8 * k * stride)
        for j in range(whole, n):
            out[j] = source[j * lanes + k]


@engine_function
def _weigh(iw: Vector, place: int, y: Vector, work: Vector, slopes: Vector) -> bool:
    """Residuals, at the front of `work`, and derivatives of number `place` of the data, times their
    weights; whether it counts for any member."""
    lanes, n = iw[at.LANES], iw[at.M] * iw[at.LANES]
    values, weights = iw[at.MEASURED] + 8 * place, iw[at.WEIGHT] + 8 * place
    stride, apart = iw[at.MEASURED_STRIDE], iw[at.WEIGHT_STRIDE]
    own, counts = part(work, lanes), False
    for k in range(lanes):
        member = min(k, iw[at.COUNT] - 1)
        w = reals_at(weights + 8 * member * apart)[0]
        own[k] = work[k] = 0.0
        if w > 0.0:
            own[k] = w
            work[k] = w * (y[k] - reals_at(values + 8 * member * stride)[0])
            counts = True
    if counts and apart == 0:
        for j in range(n):
            slopes[j] *= own[0]
    elif counts:
        for j in range(0, n, lanes):
            for k in range(lanes):  # what does not count may be no number
                slopes[j + k] = own[k] * slopes[j + k] if own[k] > 0.0 else 0.0
    return counts


@engine_function
def _add_normal(iw: Vector, rw: Vector, sample: int) -> None:
    """Adds r², r J and the lower half of J Jᵀ of a sample, output by output."""
    lanes, ny, m = iw[at.LANES], iw[at.NY], iw[at.M]
    residual = part(rw, iw[at.O_LANE_WORK])
    for j in range(ny):
        y = part(rw, iw[at.O_LANE_Y] + j * lanes)
        slopes = part(rw, iw[at.O_LANE_YS] + j * m * lanes)
        if not _weigh(iw, sample * ny + j, y, residual, slopes):
            continue
        sums = part(rw, iw[at.O_NORMAL] + j * (1 + m + m * m) * lanes)
        accumulate(lanes, 1, sums, residual, residual)
        accumulate(lanes, m, part(sums, lanes), residual, slopes)
        for i in range(m):
            row = part(sums, (1 + m + i * m) * lanes)
            accumulate(lanes, i + 1, row, part(slopes, i * lanes), slopes)


@engine_function
def emit(iw: Vector, rw: Vector, sample: int) -> int:
    """Writes one sample of all members; those whose outputs are no numbers leave."""
    lanes, ny, m, y = iw[at.LANES], iw[at.NY], iw[at.M], iw[at.O_LANE_Y]
    set_result(iw, 0, y)
    set_result(iw, 1, iw[at.O_LANE_YS])
    call(iw, at.OUTPUT)
    iw[at.EMITTED] = sample + 1
    total = 0.0
    for k in range(ny * lanes):
        total += rw[y + k] * 0.0
    if total != 0.0:
        for k in range(lanes):
            total = 0.0
            for j in range(ny):
                total += rw[y + j * lanes + k] * 0.0
            if total != 0.0:
                leave(iw, rw, k)
    if iw[at.SINK] == at.TO_NORMAL:
        _add_normal(iw, rw, sample)
        return DONE
    n, count = iw[at.N_TIMES], iw[at.COUNT]
    _deliver(lanes, count, ny, part(rw, y), iw[at.OUT] + 8 * sample * ny, n * ny)
    if m:
        _deliver(lanes, count, ny * m, part(rw, iw[at.O_LANE_YS]),
                 iw[at.OUT_S] + 8 * sample * ny * m, n * ny * m)  # fmt: skip
    return DONE
