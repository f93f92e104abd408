"""First guesses from a step response as a table and with their construction lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.result import plain_object
from estimica.base.view import Curve, Curves, Page, Panel, Section, Table, name_with_unit
from estimica.experiment.guess.step.construction import AT_TAU
from estimica.experiment.guess.step.run import FirstGuess

DRAWN = 400  # points of a smooth curve


def tables(guess: FirstGuess) -> tuple[Table, ...]:
    """All there is to read."""
    return (table(guess),)


def table(guess: FirstGuess) -> Table:
    """A row for each method and what it found."""
    gain, unit = guess.gain, guess.time_unit
    rows: list[tuple[object, ...]] = [
        ("63 %", gain, guess.tau, guess.delay, None, None),
        ("tangent", gain, guess.tangent.tau, guess.tangent.delay, None, None),
    ]
    two = guess.second_order
    if two is not None:
        rows.append(("overshoot", gain, None, two.delay, two.damping, two.natural_frequency))
    columns = ("method", "gain", f"tau [{unit}]", f"delay [{unit}]", "damping", f"ω [rad/{unit}]")
    kept = [k for k in range(6) if any(row[k] is not None for row in rows)]
    r = guess.record
    title = f"a step of {r.input} by {r.size:.4g} at {r.at:.4g} {unit}, answer of {r.output}"
    return Table(
        tuple(columns[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in rows),
        title,
        "; ".join(guess.notes),
    )


def page(guess: FirstGuess) -> Page:
    """The numbers, and how they were read off the data."""
    shown = (table(guess), curves(guess))
    return Page(
        f"First guess: {guess.record.output} after a step of {guess.record.input}",
        (Section("What the data say at first sight", _HOW, shown),),
    )


_HOW = (
    "The gain is the rise of the output over the size of the step. An exponential has risen by "
    "63 % one time constant after its delay. The tangent touches the smooth curve where it is "
    "steepest, meets the initial value where the answer begins, and the final value one time "
    "constant after it touches. Believe the 63 % first: slopes suffer more from noise than levels."
)


def as_object(guess: FirstGuess) -> dict[str, object]:
    """As plain values."""
    two = guess.second_order
    return plain_object(
        {
            **guess.parameters,
            "tau": guess.tau,
            "tangent": {"tau": guess.tangent.tau, "delay": guess.tangent.delay},
            "second_order": None
            if two is None
            else {
                "damping": two.damping,
                "natural_frequency": two.natural_frequency,
                "overshoot": two.overshoot,
                "delay": two.delay,
            },
            "step": {
                "input": guess.record.input,
                "output": guess.record.output,
                "at": guess.record.at,
                "size": guess.record.size,
            },
            "levels": {"initial": guess.levels.initial, "final": guess.levels.final},
            "time_unit": guess.time_unit,
            "notes": guess.notes,
        }
    )


def picture(guess: FirstGuess, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """The data with their construction lines."""
    return curves(guess)


def curves(guess: FirstGuess) -> Curves:
    """The step, and the answer with levels, tangent, 63 % and the response of the guess."""
    r, unit = guess.record, guess.time_unit
    end = r.at + min(float(guess.curve.elapsed[-1]) * 1.3, float(r.time[-1]) - r.at)
    begin = r.at - 0.08 * (end - r.at)
    name = name_with_unit(r.output, guess.units.get(r.output, ""))
    step = np.array([begin, r.at, end])
    stepped = Curve(r.input, step, np.array([0.0, r.size, r.size]), stepped=True)
    lines = [*_measured(guess, begin, end), *_levels(guess, begin, end)]
    lines += _first_order(guess, begin) if guess.second_order is None else _second_order(guess)
    lines += _rise(guess, end)
    title = guess.sentence
    panels = (Panel(f"{r.input} − before", (stepped,)), Panel(name, tuple(lines)))
    return Curves(panels, title, f"time [{unit}]", 300)


def _measured(guess: FirstGuess, begin: float, end: float) -> list[Curve]:
    r = guess.record
    inside = r.time <= end
    fine = np.linspace(begin, end, DRAWN)
    smooth_time = r.at + guess.curve.elapsed
    smooth = guess.levels.initial + guess.levels.rise * guess.curve.share
    return [
        Curve("measured", r.time[inside], r.value[inside], dotted=True, colour=5),
        Curve("smooth curve", smooth_time, smooth, colour=0),
        Curve("first guess", fine, guess.response(fine), colour=1),
    ]


def _levels(guess: FirstGuess, begin: float, end: float) -> list[Curve]:
    both = np.array([begin, end])
    return [
        _dashed(f"initial value {guess.levels.initial:.4g}", both, guess.levels.initial),
        _dashed(f"final value {guess.levels.final:.4g}", both, guess.levels.final),
    ]


def _rise(guess: FirstGuess, end: float) -> list[Curve]:
    """The rise that makes the gain, and the delay on the initial level."""
    r, levels, unit = guess.record, guess.levels, guess.time_unit
    delay = guess.delay if guess.second_order is None else guess.second_order.delay
    rise = np.array([levels.initial, levels.final])
    name = f"gain {guess.gain:.3g} = rise {levels.rise:.3g} / step {r.size:.3g}"
    lines = [Curve(name, np.full(2, end), rise, marked=True, colour=4)]
    if delay > 0:
        flat = np.full(2, levels.initial)
        both = np.array([r.at, r.at + delay])
        lines.append(Curve(f"delay {delay:.3g} {unit}", both, flat, marked=True, colour=6))
    return lines


def _first_order(guess: FirstGuess, begin: float) -> list[Curve]:
    r, levels = guess.record, guess.levels
    after = r.at + guess.delay
    at_tau = after + guess.tau
    height = levels.initial + AT_TAU * levels.rise
    t = guess.tangent
    foot, touch = r.at + t.touch - t.share / t.slope, r.at + t.touch
    right = touch + t.tau
    corner = np.array([begin, at_tau, at_tau])
    return [
        Curve(
            f"63 % after delay {guess.delay:.3g} + τ {guess.tau:.3g}",
            corner,
            np.array([height, height, levels.initial]),
            dashed=True,
            colour=2,
        ),
        Curve(
            f"tangent: τ {t.tau:.3g} from touch to end",
            np.array([foot, touch, right]),
            levels.initial + levels.rise * np.array([0.0, t.share, 1.0]),
            marked=True,
            colour=3,
        ),
    ]


def _second_order(guess: FirstGuess) -> list[Curve]:
    two = guess.second_order
    assert two is not None
    levels, peak = guess.levels, guess.record.at + two.peak
    top = levels.final + two.overshoot * levels.rise
    half = two.period / 2
    # a damped oscillation crosses its final value a quarter to half a period before the peak
    phase = np.arccos(two.damping) / np.pi * half
    crossing = peak - phase
    return [
        Curve(
            f"overshoot {100 * two.overshoot:.3g} %",
            np.array([peak, peak]),
            np.array([levels.final, top]),
            dashed=True,
            colour=2,
        ),
        Curve(
            f"half a period, {half:.3g}",
            np.array([crossing, crossing + half]),
            np.array([levels.final, levels.final]),
            marked=True,
            colour=3,
        ),
    ]


def _dashed(name: str, time: np.ndarray[tuple[int], np.dtype[np.float64]], value: float) -> Curve:
    return Curve(name, time, np.full(2, value), dashed=True, colour=7, strength=0.6)
