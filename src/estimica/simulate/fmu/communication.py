"""The communication points of Co-Simulation: all samples and input stamps, and steps between."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError


def communication_points(
    name: str, stops: Vector, step: float | None, variable: bool
) -> tuple[Vector, float]:
    """(points, step): the first of `stops` is the beginning; no step is longer than `step`.

    Where an FMU takes steps of one length only, every stop must be a multiple of it.
    """
    width = np.diff(stops)
    if not len(width):
        return stops, step or 1.0
    if step is None:
        step = float(width.min() if not variable else np.median(width))
    if not variable:
        return _even(name, stops, step), step
    parts = np.maximum(1, np.ceil(width / step - 1e-9)).astype(int)
    first = np.cumsum(parts) - parts
    within = np.arange(parts.sum()) - np.repeat(first, parts)
    points = np.repeat(stops[:-1], parts) + within * np.repeat(width / parts, parts)
    return np.append(points, stops[-1]), step


def _even(name: str, stops: Vector, step: float) -> Vector:
    count = (stops - stops[0]) / step
    whole = np.rint(count)
    off = np.abs(count - whole) > 1e-6 * np.maximum(1.0, whole)
    if off.any():
        wrong = stops[np.argmax(off)]
        raise ModelError(
            "M210",
            f"'{name}' takes communication steps of one length only, and the time {wrong:g} is no "
            f"multiple of {step:g} s after {stops[0]:g}; set communication_step to a part of the "
            "distance of the samples",
        )
    points = stops[0] + step * np.arange(int(whole[-1]) + 1)
    points[whole.astype(int)] = stops  # exactly, so that a sample is met
    return points
