"""LinearFrequency: G(jω; θ) of a linear system as real numbers, with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.simulate.frequency_run import FrequencyRun
from estimica.simulate.linear.frequency import frequency_response
from estimica.simulate.linear.system import CoefficientProgram


class LinearFrequencyResponse:
    """The transfers `rows[k]` ← `columns[k]` of a linear system at fixed frequencies.

    `places` are the tuners that the system depends on; the others are start values of states.
    """

    def __init__(
        self,
        rule: CoefficientProgram,
        omega: Vector,
        known: Mapping[str, float],
        tuners: Vector,
        rows: Sequence[int],
        columns: Sequence[int],
        places: Sequence[int],
    ) -> None:
        self.rule = rule
        self.known = dict(known)
        self._omega = omega
        self._tuners = tuners
        self._rows, self._columns = list(rows), list(columns)
        self._places = list(places)

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""
        return self._tuners.copy()

    @property
    def times(self) -> Vector:
        """The angular frequencies in rad/s."""
        return self._omega

    def at(self, theta: Vector | None = None) -> FrequencyRun:
        """Re and Im of every transfer at tuner values `theta`; what fails is told."""
        values = self._tuners if theta is None else np.asarray(theta, np.float64)
        named = dict(zip(self.rule.tuners, map(float, values[self._places]), strict=True))
        numbers = self.rule.at({**self.known, **named})
        if numbers is None:
            return self._failed("a coefficient is not finite", named)
        try:
            with np.errstate(all="ignore"):
                G, dG = frequency_response(numbers, self._omega)
        except ModelError as error:
            return self._failed(error.message, named)
        at = (slice(None), self._rows, self._columns)
        moved = np.zeros((*G[at].shape, len(values)), complex)
        moved[:, :, self._places] = dG[at]
        return FrequencyRun.of(self._omega, G[at], moved)

    def _failed(self, why: str, named: Mapping[str, float]) -> FrequencyRun:
        listed = ", ".join(f"{n} = {v:g}" for n, v in {**self.known, **named}.items())
        text = f"{why}, with {listed}" if listed else why
        return FrequencyRun.failed(self._omega, len(self._rows), len(self._tuners), text)
