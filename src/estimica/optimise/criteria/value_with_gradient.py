"""ValueWithGradient: a number with its gradient by the tuners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class ValueWithGradient:
    """A value and its exact derivatives."""

    value: float
    gradient: Vector

    def __add__(self, other: ValueWithGradient) -> ValueWithGradient:
        return ValueWithGradient(self.value + other.value, self.gradient + other.gradient)

    def __sub__(self, other: ValueWithGradient) -> ValueWithGradient:
        return ValueWithGradient(self.value - other.value, self.gradient - other.gradient)

    def times(self, factor: float) -> ValueWithGradient:
        """The same, multiplied by a number."""
        return ValueWithGradient(factor * self.value, factor * self.gradient)

    def over(self, other: ValueWithGradient) -> ValueWithGradient:
        """The quotient."""
        value = self.value / other.value
        return ValueWithGradient(value, (self.gradient - value * other.gradient) / other.value)

    @property
    def size(self) -> ValueWithGradient:
        """The absolute value."""
        return self.times(-1.0 if self.value < 0 else 1.0)

    @property
    def root(self) -> ValueWithGradient:
        """The square root; at zero without a slope."""
        value = float(np.sqrt(max(self.value, 0.0)))
        return ValueWithGradient(value, self.gradient / (2 * value) if value else 0 * self.gradient)

    @property
    def positive(self) -> ValueWithGradient:
        """What is above zero."""
        return self if self.value > 0 else self.times(0.0)

    @property
    def nothing(self) -> ValueWithGradient:
        """Zero."""
        return self.times(0.0)
