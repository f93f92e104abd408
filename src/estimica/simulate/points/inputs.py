"""Inputs of operating points: a number for all of them, or one value for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.signals import as_signal
from estimica.base.suggest import did_you_mean


def array_of(name: str, given: object) -> Vector:
    """A number, or a row of them."""
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            "M172", f"input '{name}': give a number, or one for each point, not {given!r:.40}"
        ) from None
    if found.ndim > 1:
        raise ModelError(
            "M172", f"input '{name}': give one row of numbers, not an array of shape {found.shape}"
        )
    return found


def inputs_of_points(
    names: Sequence[str],
    given: Mapping[str, object],
    slopes: Mapping[str, str],
    points: Vector,
) -> Vector:
    """The inputs as rows of (N, nu); derivatives of inputs are zero, since nothing moves."""
    own = [n for n in names if n not in slopes]
    for name in given:
        if name not in own:
            hint = did_you_mean(name, own) or f" (inputs: {', '.join(own) or 'none'})"
            raise ModelError("M020", f"the model has no input '{name}'{hint}")
    missing = [n for n in own if n not in given]
    if missing:
        raise ModelError(
            "M171", f"input '{missing[0]}' is not given; an operating point needs all inputs"
        )
    found = np.zeros((len(points), len(names)))
    for k, name in enumerate(names):
        if name in given:
            found[:, k] = _at(name, given[name], points)
    return found


def _at(name: str, given: object, points: Vector) -> float | Vector:
    if isinstance(given, np.ndarray) and given.ndim:
        values = np.asarray(given, np.float64)
        if values.shape != points.shape:
            raise ModelError(
                "M172", f"input '{name}': {values.size} values for {points.size} points"
            )
    else:
        signal = as_signal(name, given)
        if len(signal.time) == 1:
            return float(signal.value[0])
        k = np.searchsorted(signal.time, points, side="right") - 1
        missing = np.flatnonzero((k < 0) | (signal.time[k] != points))
        if missing.size:
            raise ModelError(
                "M173",
                f"input '{name}' has no value at point {points[missing[0]]:g}; leave it out",
            )
        values = signal.value[k]
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        k0 = int(bad[0])
        raise ModelError(
            "M173", f"input '{name}' is {values[k0]} at point {points[k0]:g}; leave that point out"
        )
    return values
