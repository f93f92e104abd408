"""Signals to excite with. Frequencies are in Hz, times in s.

square = signals.Square(0.05, amplitude=2)
square.samples(signals.times(0.1, 1000))
signals.make("prbs", {"registers": 7, "clock": 0.5}).plot([0, 100])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.suggest import did_you_mean
from estimica.experiment.waveforms.base import Waveform
from estimica.experiment.waveforms.noise import Noise
from estimica.experiment.waveforms.sines import Chirp, Multisine, Sine
from estimica.experiment.waveforms.straight import PRBS, Square, SquareRamp, Staircase, Step

__all__ = [
    "Chirp",
    "Multisine",
    "Noise",
    "PRBS",
    "Sine",
    "Square",
    "SquareRamp",
    "Staircase",
    "Step",
    "Waveform",
    "make",
    "times",
]

KINDS: Mapping[str, type[Waveform]] = {
    "step": Step,
    "staircase": Staircase,
    "square": Square,
    "square-ramp": SquareRamp,
    "sine": Sine,
    "multisine": Multisine,
    "prbs": PRBS,
    "chirp": Chirp,
    "noise": Noise,
}


def times(step: float, count: int, begin: float = 0.0) -> Vector:
    """`count` stamps, `step` seconds apart, from `begin` on."""
    if not step > 0 or count < 1:
        raise ExperimentError("W008", f"{count} samples {step:g} s apart; both must be positive")
    return np.asarray(begin + step * np.arange(count), np.float64)


def make(kind: str, parameters: Mapping[str, object]) -> Waveform:
    """A signal by the name of its kind and its parameters, as files and command lines have them."""
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" ({', '.join(KINDS)})"
        raise ExperimentError("W009", f"there is no signal '{kind}'{hint}")
    known = {f.name: f for f in fields(KINDS[kind])}
    for name in parameters:
        if name not in known:
            hint = did_you_mean(name, known) or f" (it has {', '.join(known)})"
            raise ExperimentError("W010", f"{kind}: no parameter '{name}'{hint}")
    missing = [n for n, f in known.items() if f.default is MISSING and n not in parameters]
    if missing:
        raise ExperimentError("W011", f"{kind}: say what {' and '.join(missing)} is")
    try:
        return KINDS[kind](**parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ExperimentError(
            "W012", f"{kind}: a parameter is of the wrong kind: {error}"
        ) from None
