"""StepRecord: the stretch of a record in which an input steps once and an output answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.data.table import Data

# all chosen: what an eye would call a step
JUMP = 0.3  # of the range of the input, from which on a change is a jump
STEADY = 0.1  # of the jump: how much the input may vary before and after it
FEWEST = 8  # samples of the output after a step


@dataclass(frozen=True, eq=False)
class StepRecord:
    """An input that goes by `size` at `at`, and the samples of the output around it.

    `before` are samples of the output from the time before the step, `time` and `value` those
    from the step on until the input changes again.
    """

    source: str
    input: str
    output: str
    at: float
    size: float
    before: Vector
    time: Vector
    value: Vector


def step_record(
    data: Data,
    input_: str | None,
    output: str,
    *,
    at: float | None = None,
    size: float | None = None,
    until: float | None = None,
    time: str | None = None,
) -> StepRecord:
    """The clearest step of the input with what the output does after it."""
    stamps, y = data.time(time), data.column(output)
    ok = np.isfinite(stamps) & np.isfinite(y)
    stamps_y, y = stamps[ok], y[ok]
    since = -np.inf
    if at is None or size is None:
        if input_ is None:
            raise ExperimentError(
                "W030",
                f"say which column steps, or when (at=) and by how much (size=) '{output}'"
                " was excited",
            )
        u = data.column(input_)
        ok = np.isfinite(stamps) & np.isfinite(u)
        jump = _found(stamps[ok], u[ok], f"input '{input_}' of {data.where}", at)
        since, at, end = jump[0], jump[1], jump[3]
        size = jump[2] if size is None else size
        until = end if until is None else until
    if not (np.isfinite(size) and size != 0 and np.isfinite(at)):
        raise ExperimentError("W031", f"a step of {size:g} at {at:g} is none; give both as numbers")
    last = np.inf if until is None else until
    after = (stamps_y >= at) & (stamps_y < last)
    if after.sum() < FEWEST:
        raise ExperimentError(
            "W032",
            f"'{output}' has {int(after.sum())} samples after the step at {at:g}; "
            f"at least {FEWEST} are needed",
        )
    before = y[(stamps_y < at) & (stamps_y >= since)]
    name = input_ or "the input"
    return StepRecord(
        data.where, name, output, float(at), float(size), before, stamps_y[after], y[after]
    )


def _found(
    time: Vector, u: Vector, what: str, at: float | None
) -> tuple[float, float, float, float]:
    """(since when it was steady, when it stepped, by how much, when it changed again)."""
    span = float(np.ptp(u)) if len(u) else 0.0
    if span == 0:
        raise ExperimentError(
            "W033",
            f"{what} never changes; if it stepped before or at the first sample, "
            "say when and by how much: at=, size=",
        )
    jumps = np.flatnonzero(np.abs(np.diff(u)) > JUMP * span) + 1
    bounds = np.concatenate([[0], jumps, [len(u)]])
    best: tuple[float, tuple[float, float, float, float]] | None = None
    for k in range(1, len(bounds) - 1):
        first, here, end = bounds[k - 1], bounds[k], bounds[k + 1]
        low, high = np.median(u[first:here]), np.median(u[here:end])
        size = float(high - low)
        steady = _spread(u[first:here]) <= STEADY * abs(size) >= _spread(u[here:end])
        if not steady or (at is not None and abs(time[here] - at) > 1e-9 * np.ptp(time)):
            continue
        stop = float(time[end]) if end < len(u) else np.inf
        length = float(time[min(end, len(u) - 1)] - time[here])
        if best is None or length > 1.05 * best[0]:  # of equals the first, which begins at rest
            best = length, (float(time[first]), float(time[here]), size, stop)
    if best is None:
        raise ExperimentError(
            "W034",
            f"{what} has no clear step: a jump of more than {100 * JUMP:.0f} % of its range "
            "with a steady value before and after; say when and by how much: at=, size=",
        )
    return best[1]


def _spread(u: Vector) -> float:
    """Four fifths of all samples lie within this."""
    low, high = np.quantile(u, [0.1, 0.9])
    return float(high - low)
