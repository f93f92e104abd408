"""Colour: noise whose samples remember each other, by an AR coefficient or a filter in s."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, ExperimentError
from estimica.base.suggest import did_you_mean
from estimica.simulate.linear.constructors import transfer_function

#: how much of the sample before is left in a sample, or a transfer function such as "1/(1 + 2*s)"
Colour = float | str
LONGEST = 10_000_000  # samples until a filter has forgotten its start
FORGOTTEN = 1e-9


def colours(given: Colour | Mapping[str, Colour], noisy: Mapping[str, float]) -> dict[str, Colour]:
    """A colour for each signal that has noise; white where none is given."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(noisy, given)
    for n in given:
        if n not in noisy:
            hint = did_you_mean(n, noisy) or f" (noise: {', '.join(noisy) or 'none'})"
            raise ExperimentError("W025", f"colour of '{n}', which has no noise{hint}")
    return {n: given.get(n, 0.0) for n in noisy}


def coloured(name: str, colour: Colour, grid: Vector, random: np.random.Generator) -> Vector:
    """Noise of unit standard deviation at the times of `grid`, stationary from the first sample."""
    if isinstance(colour, str):
        b, a = _filter(name, colour, _step(name, grid))
    else:
        if not (np.isfinite(colour) and -1 < colour < 1):
            raise ExperimentError(
                "W026",
                f"colour of '{name}': an AR coefficient is between -1 and 1, not {colour!r}; "
                "0 is white",
            )
        if colour == 0:
            return random.standard_normal(len(grid))
        b, a = np.ones(1), np.array([1.0, -colour])
    return _drawn(name, b, a, len(grid), random)


def _drawn(name: str, b: Vector, a: Vector, count: int, random: np.random.Generator) -> Vector:
    """White noise through b/a, divided by the root of the sum of its squared impulse response."""
    from scipy.signal import lfilter

    largest = float(np.abs(np.roots(a)).max(initial=0.0))
    warm = len(b) + int(np.ceil(np.log(FORGOTTEN) / np.log(max(largest, 0.1))))
    if warm > LONGEST:
        raise ExperimentError("W027", f"colour of '{name}': the filter forgets too slowly")
    impulse = np.zeros(warm)
    impulse[0] = 1.0
    norm = float(np.linalg.norm(lfilter(b, a, impulse)))
    if norm == 0:
        raise ExperimentError("W027", f"colour of '{name}': the filter lets nothing through")
    white = random.standard_normal(count)  # first, so that a slower filter has the same source
    before = random.standard_normal(warm)
    made = lfilter(b, a, np.concatenate([before, white]))[warm:] / norm
    return np.asarray(made, np.float64)


def _filter(name: str, text: str, step: float) -> tuple[Vector, Vector]:
    try:
        model = transfer_function(text)
        poles = model.poles()
        sampled = model.discretise(step, "zoh")
    except EstimicaError as error:
        raise ExperimentError("W027", f"colour of '{name}': {error.message}") from None
    if any(np.real(poles) >= 0):
        raise ExperimentError(
            "W027", f"colour of '{name}': '{text}' is not stable, so its noise has no end"
        )
    b, a = sampled.transfer_function()
    return np.asarray(b, np.float64), np.asarray(a, np.float64)


def _step(name: str, grid: Vector) -> float:
    gaps = np.diff(grid)
    if len(gaps) == 0 or np.ptp(gaps) > 1e-6 * gaps[0]:
        raise ExperimentError(
            "W028",
            f"colour of '{name}': a filter needs equal steps of time; give an AR coefficient, "
            "such as 0.9, instead",
        )
    return float(gaps.mean())
