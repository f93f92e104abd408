"""PrefilterSystem: a prefilter in numbers: stable, proper, and below the Nyquist frequency.

A Butterworth filter is a chain of sections of first and second order, each in states of its own
size, so that any corner frequency is as accurate as any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import CaseError, ModelError, SourceError
from estimica.study.prefilter import Prefilter

#: how far inside the unit circle poles of a sampled filter must lie: with one at 1 - 1e-9 it takes
#: 1e9 samples to forget, more than any record has
FORGETS = 1e-9
#: relative: poles on the imaginary axis have real parts after rounding, of some 1e-16
ROUNDING = 1e-12
#: relative: how far steps may differ. Chosen: time stamps have some six digits that count
JITTER = 1e-6
#: relative: smaller imaginary parts are rounding. Pairs of low-pass and high-pass filters up to
#: order 8 have at least 0.19; a pair of a wide band-pass that is as good as real counts as two
#: real poles, with an error of the square of this
PAIRED = 1e-9


@dataclass(frozen=True, eq=False)
class PrefilterSystem:
    """x' = A x + B e, L e = C x + D e; where `step` is given, x(k+1) = A x(k) + B e(k)."""

    A: Vector
    B: Vector
    C: Vector
    D: float
    step: float | None = None

    @property
    def n(self) -> int:
        """States."""
        return len(self.A)

    def gain(self, frequency: Vector) -> Complex:
        """L at frequencies in Hz."""
        s = 2j * np.pi * np.asarray(frequency, np.float64)
        at = s if self.step is None else np.exp(s * self.step)
        pencil = at[:, None, None] * np.eye(self.n) - self.A
        right = np.broadcast_to(self.B[:, None], (len(at), self.n, 1))
        return np.asarray(self.D + (np.linalg.solve(pencil, right)[..., 0] @ self.C))


def prefilter_system(given: Prefilter, time: Vector) -> PrefilterSystem | None:
    """The filter for samples at `time`; None where it is a number and changes nothing."""
    if len(time) < 2:
        raise CaseError("C084", "prefilter: it needs at least two samples")
    step = float(np.median(np.diff(time)))
    if given.transfer is not None:
        system = _transfer(given, time, step)
        return None if not system.n else system
    nyquist = 0.5 / step
    for corner in given.corners:
        if corner >= nyquist:
            raise CaseError(
                "C085",
                f"prefilter: {corner:g} Hz is not below the Nyquist frequency {nyquist:g} Hz of "
                "the samples; lower it, or sample faster",
            )
    return _butterworth(given)


def _transfer(given: Prefilter, time: Vector, step: float) -> PrefilterSystem:
    system = _sampled(given.transfer, time, step) or _continuous(given)
    poles = np.linalg.eigvals(system.A)
    if system.step is not None:
        unstable = np.abs(poles) >= 1 - FORGETS
        frequency = np.zeros(0)
    else:
        unstable = poles.real >= -ROUNDING * np.abs(poles)
        frequency = np.abs(poles) / (2 * np.pi)
    if unstable.any():
        raise CaseError(
            "C086",
            f"prefilter '{given.text}' is not stable, it has a pole at {_number(poles[unstable])}; "
            "a filter must forget",
        )
    if len(frequency) and frequency.min() >= 0.5 / step:
        raise CaseError(
            "C085",
            f"prefilter: the corner of '{given.text}' at {frequency.min():.4g} Hz is not below the "
            f"Nyquist frequency {0.5 / step:g} Hz of the samples; it would change nothing",
        )
    return system


def _number(poles: Complex) -> str:
    p = complex(poles[0])
    return f"{p.real:.4g}" if p.imag == 0 else f"{p.real:.4g}{p.imag:+.4g}j"


def _continuous(given: Prefilter) -> PrefilterSystem:
    from estimica.simulate.linear.constructors import (
        is_state_space,
        state_space,
        transfer_function,
    )

    made_by = state_space if is_state_space(given.transfer) else transfer_function
    try:
        origin = made_by(given.transfer)
    except (ModelError, SourceError) as error:
        raise CaseError("C087", f"prefilter '{given.text}': {error.message}") from None
    try:
        numbers = origin.coefficients()
    except ModelError:
        unknown = ", ".join(f"'{n}'" for n in origin.parameter_names)
        raise CaseError("C087", f"prefilter '{given.text}': write a number for {unknown}") from None
    if numbers.D.shape != (1, 1):
        raise CaseError("C088", "prefilter: it must have one input and one output")
    if numbers.T.any():
        raise CaseError("C089", f"prefilter '{given.text}' has a delay; leave it out")
    return PrefilterSystem(numbers.A, numbers.B[:, 0], numbers.C[0], float(numbers.D[0, 0]))


def _sampled(given: Any, time: Vector, step: float) -> PrefilterSystem | None:
    """A filter that works on samples, which must come at its own step."""
    if isinstance(given, str) or not given.isdtime(strict=True):
        return None
    own = step if given.dt is True else float(given.dt)
    steps = np.diff(time)
    if (np.abs(steps - own) > JITTER * own).any():
        worst = float(steps[np.argmax(np.abs(steps - own))])
        raise CaseError(
            "C090",
            f"prefilter: it is sampled every {own:g} s, but two samples are {worst:g} s apart; "
            "give a filter in s",
        )
    from scipy.signal import tf2ss

    from estimica.simulate.linear.constructors import is_transfer_function

    if is_transfer_function(given):
        if (given.noutputs, given.ninputs) != (1, 1):
            raise CaseError("C088", "prefilter: it must have one input and one output")
        above, below = (np.trim_zeros(np.asarray(p[0][0], float), "f") for p in
                        (given.num, given.den))  # fmt: skip
        if len(above) > len(below):
            raise CaseError("C091", "prefilter: it would need samples that are still to come")
        A, B, C, D = tf2ss(above, below) if len(below) > 1 else (np.zeros((0, 0)),) * 4
    else:
        A, B, C, D = (np.asarray(m, float) for m in (given.A, given.B, given.C, given.D))
    if not len(A):
        return None
    return PrefilterSystem(A, np.ravel(B), np.ravel(C), float(np.ravel(D)[0]), own)


# -- Butterworth --------------------------------------------------------------------------------


def _butterworth(given: Prefilter) -> PrefilterSystem:
    corners = [2 * math.pi * f for f in given.corners]
    angles = np.pi * (2 * np.arange(given.order) + 1) / (2 * given.order) + np.pi / 2
    prototype = np.exp(1j * angles)
    if given.band is not None:
        low, high = corners
        half = prototype * (high - low) / 2
        root = np.sqrt(half**2 - low * high + 0j)
        poles = np.concatenate([half + root, half - root])
    else:
        poles = corners[0] * prototype  # |prototype| is 1: the same for lowpass and highpass
    powers = 1 if given.band is not None else 0 if given.lowpass is not None else 2
    whole: PrefilterSystem | None = None
    for section in _sections(poles):
        own = _second(*section, powers) if len(section) == 2 else _first(section[0], powers)
        whole = own if whole is None else _in_series(whole, own)
    assert whole is not None
    if given.band is None:
        return whole
    centre = math.sqrt(given.band[0] * given.band[1])
    size = float(np.abs(whole.gain(np.array([centre])))[0])
    return PrefilterSystem(whole.A, whole.B, whole.C / size, whole.D / size)


def _sections(poles: Complex) -> list[tuple[float, ...]]:
    """(size, damping) of each pair of poles s² + damping s + size², (size,) of a single one."""
    tiny = PAIRED * np.abs(poles)
    sections: list[tuple[float, ...]] = [
        (float(abs(p)), float(-2 * p.real)) for p in poles[poles.imag > tiny]
    ]
    real = np.sort(-poles[np.abs(poles.imag) <= tiny].real)
    for k in range(0, len(real) - 1, 2):
        sections.append((float(np.sqrt(real[k] * real[k + 1])), float(real[k] + real[k + 1])))
    return [*sections, *([(float(real[-1]),)] if len(real) % 2 else [])]


def _second(size: float, damping: float, powers: int) -> PrefilterSystem:
    A = np.array([[0.0, size], [-size, -damping]])
    ratio = damping / size
    C = {0: [1.0, 0.0], 1: [0.0, ratio], 2: [-1.0, -ratio]}[powers]
    return PrefilterSystem(A, np.array([0.0, size]), np.array(C), float(powers == 2))


def _first(size: float, powers: int) -> PrefilterSystem:
    C = np.array([1.0 if powers == 0 else -1.0])
    return PrefilterSystem(np.array([[-size]]), np.array([size]), C, float(powers > 0))


def _in_series(one: PrefilterSystem, two: PrefilterSystem) -> PrefilterSystem:
    """What comes out of `one` goes into `two`."""
    A = np.block([[one.A, np.zeros((one.n, two.n))], [np.outer(two.B, one.C), two.A]])
    B = np.concatenate([one.B, two.B * one.D])
    return PrefilterSystem(A, B, np.concatenate([two.D * one.C, two.C]), two.D * one.D)
