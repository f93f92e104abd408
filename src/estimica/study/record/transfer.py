"""Transfer: which frequency response was measured, at which frequencies, counted how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Complex, Flags, Vector


@dataclass(frozen=True, eq=False)
class Transfer:
    """From one input to one output.

    What is compared is z = c·G, the response to a sine of amplitude c (Knudsen 2004, eq. 7.16), as
    real numbers Re z₁, Im z₁, Re z₂, ….
    """

    output: str
    input: str
    omega: Vector  # rad/s, rising
    amplitude: Vector  # c, one for each frequency
    hertz: bool  # whether the user's frequencies are in Hz

    @property
    def frequency(self) -> Vector:
        """The frequencies as the user gave them."""
        return self.omega / (2 * np.pi) if self.hertz else self.omega

    @property
    def unit(self) -> str:
        """The unit of the user's frequencies."""
        return "Hz" if self.hertz else "rad/s"

    def weighted(self, response: Complex) -> Vector:
        """z as real numbers."""
        z = self.amplitude * response
        return np.column_stack([z.real, z.imag]).ravel()

    def response(self, weighted: Vector) -> Complex:
        """G of real numbers z."""
        return np.asarray((weighted[::2] + 1j * weighted[1::2]) / self.amplitude, np.complex128)

    def kept(self, chosen: Flags) -> Transfer:
        """The same at the chosen frequencies only."""
        return replace(self, omega=self.omega[chosen], amplitude=self.amplitude[chosen])

    def joined(self, parts: Sequence[Transfer]) -> Transfer:
        """The same at the frequencies of all parts, in rising order."""
        omega = np.concatenate([p.omega for p in parts])
        order = np.argsort(omega, kind="stable")
        amplitude = np.concatenate([p.amplitude for p in parts])
        return replace(self, omega=omega[order], amplitude=amplitude[order])
