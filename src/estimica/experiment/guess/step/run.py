"""First guesses from a step response: gain, time constant, delay, or damping and frequency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.base.result import Outcome, Result
from estimica.data.objects import data_of_object
from estimica.data.table import Data
from estimica.experiment.guess.step.construction import (
    SecondOrder,
    Tangent,
    Transient,
    by_overshoot,
    by_tangent,
    by_two_points,
    transient,
)
from estimica.experiment.guess.step.levels import StepLevels, step_levels
from estimica.experiment.guess.step.record import StepRecord, step_record

STILL = 0.02  # of its range, how much another input may move meanwhile; chosen: its noise


@dataclass(frozen=True, eq=False, repr=False)
class FirstGuess(Result):
    """What a step response says at first sight; times in the unit of the data's time.

    `tau` and `delay` are those of the 63 % method, `tangent` those of a tangent,
    `second_order` is there where the output overshoots.
    """

    presenter = "estimica.experiment.guess.step.present"

    gain: float  # output over input
    tau: float  # the time constant
    delay: float  # before the output moves
    tangent: Tangent  # the same by a tangent
    second_order: SecondOrder | None  # of an output that overshoots
    record: StepRecord  # the step that was read
    levels: StepLevels  # before and after the step
    curve: Transient  # the transient
    time_unit: str = "s"  # of all times
    units: dict[str, str] = field(default_factory=dict)  # of input and output

    @property
    def notes(self) -> tuple[str, ...]:
        """What to keep in mind."""
        return self.levels.notes

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers to begin with: of the second order where it overshoots, else of the first."""
        two = self.second_order
        if two is None:
            return {"gain": self.gain, "tau": self.tau, "delay": self.delay}
        return {
            "gain": self.gain,
            "damping": two.damping,
            "natural_frequency": two.natural_frequency,
            "delay": two.delay,
        }

    @property
    def sentence(self) -> str:
        """In one line, as `estimica new` writes it."""
        two, unit = self.second_order, self.time_unit
        sentence = f"a step of {self.record.input} suggests for {self.record.output}: "
        sentence += f"gain {self.gain:.3g}, "
        if two is None:
            sentence += f"time constant {self.tau:.3g} {unit}, delay {self.delay:.2g} {unit}"
        else:
            sentence += (
                f"damping {two.damping:.2g}, natural frequency {two.natural_frequency:.3g} "
                f"rad/{unit}, delay {two.delay:.2g} {unit}"
            )
        return sentence

    def response(self, time: Vector) -> Vector:
        """The output of the guessed model after the step, at the times of the data."""
        two = self.second_order
        t = np.asarray(time, np.float64) - self.record.at
        if two is None:
            share = -np.expm1(-np.maximum(t - self.delay, 0) / self.tau)
        else:
            w, z = two.natural_frequency, two.damping
            t, wd = np.maximum(t - two.delay, 0), w * np.sqrt(1 - z**2)
            ringing = np.cos(wd * t) + z * w / wd * np.sin(wd * t)
            share = 1 - np.exp(-z * w * t) * ringing
        return np.asarray(self.levels.initial + self.levels.rise * share, np.float64)

    def curves(self) -> show.Curves:
        """The data with the construction lines."""
        from estimica.experiment.guess.step.present import curves

        return curves(self)

    @property
    def outcome(self) -> Outcome:
        """How it went: data that show nothing are an error."""
        return Outcome("done", self.sentence)


def first_guess(
    data: object,
    input: str | None,
    output: str,
    *,
    at: float | None = None,
    size: float | None = None,
    until: float | None = None,
    time: str | None = None,
) -> FirstGuess:
    """Gain, time constant and delay (or damping and frequency) from a step of `input`.

    `data` is a table as `read_data` gives it, a DataFrame, or a mapping of names to arrays.
    The step is the jump of the input that is followed by the longest rest; `at` and `size` say it
    where the data do not show it, `until` where the answer ends, `time` which column is the time.
    """
    table = data if isinstance(data, Data) else data_of_object(data)
    record = step_record(table, input, output, at=at, size=size, until=until, time=time)
    levels = step_levels(record)
    curve = transient(record, levels)
    first = by_two_points(curve)
    return FirstGuess(
        gain=levels.rise / record.size,
        tau=first.tau,
        delay=first.delay,
        tangent=by_tangent(curve),
        second_order=by_overshoot(curve),
        record=record,
        levels=levels,
        curve=curve,
        time_unit=table.units.get(table.time_name(time), "") or "s",
        units={n: table.units.get(n, "") for n in (input or "", output)},
    )


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
