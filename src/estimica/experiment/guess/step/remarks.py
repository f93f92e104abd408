"""Step remarks: what clear steps in a table of data suggest, in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.data.table import Data
from estimica.experiment.guess.step.run import FirstGuess, first_guess

STILL = 0.02  # of its range, how much another input may move meanwhile


def step_remarks(data: Data, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """For each input that steps while the others rest, a sentence for each output that answers."""
    return [guess.sentence for guess in step_guesses(data, inputs, outputs)]


def step_guesses(data: Data, inputs: Sequence[str], outputs: Sequence[str]) -> list[FirstGuess]:
    """The first guesses for each input that steps while the others rest, and each output."""
    return [guess for u in inputs for guess in _guesses(data, u, inputs, outputs)]


def _guesses(
    data: Data, stepping: str, inputs: Sequence[str], outputs: Sequence[str]
) -> Iterator[FirstGuess]:
    for y in outputs:
        try:
            guess = first_guess(data, stepping, y)
        except EstimicaError:  # no clear step, or no answer to it: nothing to remark
            continue
        settled = not any("has not settled" in note for note in guess.notes)
        if settled and all(_rests(data, other, guess) for other in inputs if other != stepping):
            yield guess


def _rests(data: Data, name: str, guess: FirstGuess) -> bool:
    time, value = data.time(), data.column(name)
    inside = (time >= guess.record.at) & (time <= guess.record.time[-1]) & np.isfinite(value)
    known = value[np.isfinite(value)]
    return not inside.any() or bool(np.ptp(value[inside]) <= STILL * np.ptp(known))
