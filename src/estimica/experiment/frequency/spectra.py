"""Spectra: what a method finds of a frequency response before the input's hold is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ExperimentError


@dataclass(frozen=True, eq=False)
class Spectra:
    """The ratio of sampled output and sampled input; for the fields see FrequencyEstimate."""

    frequency: Vector
    G: Complex
    stderr: Vector
    coherence: Vector
    freedom: float
    averages: float
    text: str


def positive(name: str, value: float) -> float:
    """A length of time that a user gave."""
    if not (math.isfinite(value) and value > 0):
        raise ExperimentError("W055", f"{name} {value:g} must be positive, in seconds")
    return value
