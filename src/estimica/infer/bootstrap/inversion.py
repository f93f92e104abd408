"""Inversion: the output whose transform has a given value."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.study.record.transform import Transform

STEPS = 100
HALVINGS = 40
ACCURACY = 1e-12


def inverse(transform: Transform, target: Vector, near: Vector) -> Vector:
    """y with transform(y) = target, by Newton steps from `near` that stay where it is defined."""
    y = near.copy()
    with np.errstate(all="ignore"):
        missed = transform.value(y) - target
        for _ in range(STEPS):
            open_ = np.abs(missed) > ACCURACY * np.maximum(1.0, np.abs(target))
            if not open_.any():
                return y
            step = np.where(open_, missed / transform.derivative(y), 0.0)
            worse = open_
            for _ in range(HALVINGS):
                tried = transform.value(y - step) - target
                worse = ~(np.abs(tried) < np.abs(missed)) & open_
                if not worse.any():
                    break
                step = np.where(worse, step / 2, step)
            if worse.any():
                break  # there is no such output
            y = y - step
            missed = transform.value(y) - target
    bad = target[~(np.abs(missed) <= 1e-9 * np.maximum(1.0, np.abs(target)))]
    if len(bad):
        raise InferError(
            "I402",
            f"transform '{transform.text}' never takes the value {bad[0]:g} that the noise asks "
            "for; noise of that size does not fit this transform",
        )
    return y
