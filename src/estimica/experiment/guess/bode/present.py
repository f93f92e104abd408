"""First guesses from a Bode plot as a table and with their construction lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import plain_object
from estimica.base.view import Curve, Curves, Page, Panel, Section, Table
from estimica.experiment.guess.bode.run import BodeGuess

DRAWN = 300  # points of a smooth curve


def tables(guess: BodeGuess) -> tuple[Table, ...]:
    """All there is to read."""
    return (table(guess),)


def table(guess: BodeGuess) -> Table:
    """Gain, time constant, delay and corner in a row."""
    return Table(
        ("gain", "tau [s]", "delay [s]", "corner [rad/s]"),
        ((guess.gain, guess.tau, guess.delay, guess.corner),),
        f"first guess from a frequency response at {len(guess.frequency)} frequencies",
        "; ".join(guess.notes),
    )


def page(guess: BodeGuess) -> Page:
    """The numbers, and how they were read off the data."""
    shown = (table(guess), curves(guess))
    return Page(
        "First guess from a frequency response",
        (Section("What the data say at first sight", _HOW, shown),),
    )


_HOW = (
    "Two asymptotes, flat and falling by 20 dB a decade, meet at the corner ω₁ = 1/τ; the flat one "
    "lies at 20·log₁₀ K. What is left of the phase once the time constant has had its share, Δφ = "
    "ω·T, is the delay's."
)


def as_object(guess: BodeGuess) -> dict[str, object]:
    """As plain values."""
    return plain_object({**guess.parameters, "corner": guess.corner, "notes": guess.notes})


def picture(guess: BodeGuess, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """The data with their construction lines."""
    return curves(guess)


def curves(guess: BodeGuess) -> Curves:
    """Amplitude in dB and phase in degrees over ω."""
    w = guess.frequency
    ends = min(w[0], guess.corner / 10), max(w[-1], guess.corner * 10)
    fine = np.geomspace(*ends, DRAWN)
    title = f"First guess: gain {guess.gain:.3g}, τ {guess.tau:.3g} s, delay {guess.delay:.3g} s"
    panels = (
        Panel("amplitude [dB]", tuple(_amplitude(guess, fine))),
        Panel("phase [°]", tuple(_phase(guess, fine))),
    )
    return Curves(panels, title, "ω [rad/s]", 280, log_time=True)


def _amplitude(guess: BodeGuess, fine: Vector) -> list[Curve]:
    level = _decibel(np.array([abs(guess.gain)]))[0]
    flat = np.array([fine[0], guess.corner])
    falling = np.array([guess.corner, fine[-1]])
    return [
        Curve("measured", guess.frequency, _decibel(guess.response), dotted=True, colour=5),
        Curve("first guess", fine, _decibel(guess.model(fine)), colour=1),
        _dashed(f"20·log10 K = {level:.3g} dB", flat, np.full(2, level), 2),
        _dashed("−20 dB a decade", falling, level - 20 * np.log10(falling / guess.corner), 3),
    ]


def _phase(guess: BodeGuess, fine: Vector) -> list[Curve]:
    w, sign = guess.frequency, np.sign(guess.gain)
    # the model says how many turns a measured phase has made
    expected = -np.arctan(w * guess.tau) - w * guess.delay
    off = np.angle(guess.response * sign * np.exp(-1j * expected))
    measured = np.rad2deg(expected + off)
    smooth = np.rad2deg(-np.arctan(fine * guess.tau) - fine * guess.delay)
    inside = fine <= 1.5 * w[-1]  # further on the delay would dwarf the rest
    corners = np.array([fine[0], guess.corner / 10, guess.corner * 10, fine[-1]])
    lines = [
        Curve("measured", w, measured, dotted=True, colour=5),
        Curve("first guess", fine[inside], smooth[inside], colour=1),
        _dashed("time constant alone", corners, np.array([0.0, 0.0, -90.0, -90.0]), 2),
    ]
    if guess.delay > 0:
        lines.append(_excess(guess))
    return lines


def _excess(guess: BodeGuess) -> Curve:
    """Δφ = ω₂·T at the frequency where it is nearest to 45°."""
    w = guess.frequency
    w2 = float(w[np.argmin(np.abs(np.rad2deg(w * guess.delay) - 45))])
    alone = -45 * float(np.clip(1 + np.log10(w2 * guess.tau), 0, 2))
    total = -float(np.rad2deg(np.arctan(w2 * guess.tau) + w2 * guess.delay))
    both = np.array([w2, w2])
    name = f"Δφ = {alone - total:.3g}° at {w2:.3g} rad/s"
    return Curve(name, both, np.array([alone, total]), marked=True, colour=3)


def _dashed(name: str, frequency: Vector, value: Vector, colour: int) -> Curve:
    return Curve(name, frequency, value, dashed=True, colour=colour)


def _decibel(response: np.ndarray[tuple[int], np.dtype[np.complex128]] | Vector) -> Vector:
    return np.asarray(20 * np.log10(np.abs(response)), np.float64)
