"""Measured values as pieces of inputs: a filter takes them in where their piece begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.engine.options import Pieces

#: changes of inputs so near to a stamp, as a part of the run, stand at it: some times what the
#: engine takes for one instant (1e-12)
NEAR = 4e-12


@dataclass(frozen=True, eq=False)
class Series:
    """The samples of one output."""

    time: Vector
    value: Vector
    relative: Vector | None = None  # standard deviations over those of the study


@dataclass(frozen=True, eq=False)
class Measured:
    """Values at stamps common to all outputs, NaN where an output has none."""

    times: Vector  # (N,), ascending
    values: Vector  # (N, ny)
    relative: Vector  # (N, ny), by what standard deviations are multiplied; 1 where all are alike

    @staticmethod
    def of(outputs: Sequence[str], series: Mapping[str, Series]) -> Measured:
        """The outputs' own stamps and values, put on common stamps."""
        own = [series[n] for n in outputs]
        times = np.unique(np.concatenate([one.time for one in own]))
        values = np.full((len(times), len(own)), np.nan)
        relative = np.ones_like(values)
        for k, one in enumerate(own):
            rows = np.searchsorted(times, one.time)
            values[rows, k] = one.value
            if one.relative is not None:
                relative[rows, k] = one.relative
        return Measured(times, values, relative)


def pieces_with(inputs: Pieces, measured: Measured, end: float) -> Pieces:
    """The pieces of the inputs, cut at the stamps, with the values and where they are given."""
    near = NEAR * max(end - float(inputs.starts[0]), np.finfo(float).tiny)
    stamps = measured.times
    place = np.clip(np.searchsorted(stamps, inputs.starts), 0, len(stamps) - 1)
    below = np.maximum(place - 1, 0)
    apart = np.minimum(np.abs(stamps[place] - inputs.starts), np.abs(stamps[below] - inputs.starts))
    own = np.where(apart > near, inputs.starts, np.nan)
    own[0] = min(inputs.starts[0], stamps[0])
    starts = np.unique(np.concatenate([own[np.isfinite(own)], stamps]))
    # a stamp sees inputs that change within `near` after it
    k = np.maximum(np.searchsorted(inputs.starts, starts + near, side="right") - 1, 0)
    since = np.maximum(starts - inputs.starts[k], 0.0)[:, None]
    values, slopes = inputs.values[k] + inputs.slopes[k] * since, inputs.slopes[k]
    brought = np.full((len(starts), measured.values.shape[1]), np.nan)
    rows = np.searchsorted(starts, stamps)
    brought[rows] = measured.values
    relative = np.ones_like(brought)
    relative[rows] = measured.relative
    given = np.isfinite(brought)
    still = np.zeros((len(starts), 3 * brought.shape[1]))
    return Pieces(
        starts,
        np.ascontiguousarray(np.hstack([values, np.where(given, brought, 0.0), given, relative])),
        np.ascontiguousarray(np.hstack([slopes, still])),
    )
