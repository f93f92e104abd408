"""The frequency response of a linear system, with exact derivatives; poles, zeros and gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvals

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ModelError
from estimica.simulate.frequency_run import FrequencyRun
from estimica.simulate.linear.system import CoefficientProgram, Coefficients


def frequency_response(
    c: Coefficients, omega: Vector, step: float | None = None
) -> tuple[Complex, Complex]:
    """G(jω) = (C (jωI - A)⁻¹ B + D) exp(-jωT), (N, ny, nu), and dG/dθ, (N, ny, nu, m).

    Of a system in discrete time with sample time `step` G(z) with z = exp(jω·step), T in samples.
    """
    n = len(c.A)
    s = 1j * np.asarray(omega, np.float64) * (step or 1.0)
    point = s if step is None else np.exp(s)
    try:
        inverse = np.linalg.inv(point[:, None, None] * np.eye(n) - c.A)
    except np.linalg.LinAlgError:
        raise ModelError(
            "M105",
            "the frequency response is infinite at a frequency where a pole lies; leave it out",
        ) from None
    late = np.exp(-s[:, None] * c.T)[:, None, :]
    states, seen = inverse @ c.B, c.C @ inverse
    plain = (c.C @ states + c.D) * late
    moved = np.empty((*plain.shape, len(c.dA)), complex)
    for p in range(len(c.dA)):
        inner = c.dC[p] @ states + seen @ (c.dA[p] @ states + c.dB[p]) + c.dD[p]
        moved[..., p] = inner * late - plain * (s[:, None] * c.dT[p])[:, None, :]
    return plain, moved


def poles(c: Coefficients) -> Complex:
    """The eigenvalues of A, in order of their size."""
    return _sorted(np.linalg.eigvals(c.A))


def zeros(c: Coefficients) -> Complex:
    """Where the transfer function loses rank; the system must have as many inputs as outputs."""
    n, (ny, nu) = len(c.A), c.D.shape
    if ny != nu:
        raise ModelError(
            "M106", f"zeros need as many inputs as outputs, not {nu} and {ny}; look at one of each"
        )
    if ny == 1:
        return _zeros_of_one(c)
    pencil = np.block([[c.A, c.B], [c.C, c.D]])
    mass = np.zeros_like(pencil)
    mass[:n, :n] = np.eye(n)
    above, below = eigvals(pencil, mass, homogeneous_eigvals=True)
    finite = np.abs(below) > 1e-12 * np.maximum(np.abs(above), 1e-300)
    return _sorted(above[finite] / below[finite])


def _zeros_of_one(c: Coefficients) -> Complex:
    """Roots of the numerator, whose coefficients follow from the impulse response.

    A pencil would put zeros at infinity to far but finite places.
    """
    n = len(c.A)
    a = np.real(np.poly(c.A)) if n else np.ones(1)
    markov, reached, size = [c.D[0, 0]], c.B[:, 0], np.abs(c.B[:, 0])
    for _ in range(n):
        value = float(c.C[0] @ reached)
        rounding = 1e-13 * float(np.abs(c.C[0]) @ size)
        markov.append(value if abs(value) > rounding else 0.0)
        reached, size = c.A @ reached, np.abs(c.A) @ size
    first = next((k for k, h in enumerate(markov) if h), None)
    if first is None:
        return np.zeros(0, complex)
    b = np.convolve(a, markov)[first : n + 1]
    return _sorted(np.roots(b))


def gain(c: Coefficients, *, sampled: bool = False) -> Vector:
    """The static gain D - C A⁻¹ B, (ny, nu); infinite where a pole lies at zero.

    In discrete time D + C (I - A)⁻¹ B, infinite where a pole lies at one.
    """
    if not len(c.A):
        return c.D.copy()
    A = c.A - np.eye(len(c.A)) if sampled else c.A
    try:
        return np.asarray(c.D - c.C @ np.linalg.solve(A, c.B))
    except np.linalg.LinAlgError:
        return np.full(c.D.shape, np.inf)


def _sorted(numbers: npt.NDArray[Any]) -> Complex:
    order = np.lexsort((numbers.imag, numbers.real, np.abs(numbers).round(12)))
    return np.asarray(numbers[order], complex)


# ----------------------------------------------------------------
# LinearFrequencyResponse: G(jω; θ) of a linear system as real numbers, with exact derivatives.


class LinearFrequencyResponse:
    """The transfers `rows[k]` ← `columns[k]` of a linear system at fixed frequencies.

    `places` are the tuners that the system depends on; the others are start values of states.
    `step` is the sample time of a system in discrete time.
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
        step: float | None = None,
    ) -> None:
        self.rule = rule
        self._step = step
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
                G, dG = frequency_response(numbers, self._omega, self._step)
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
