"""First guesses from a Bode plot: gain, time constant and delay from asymptotes and phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ExperimentError
from estimica.base.result import Outcome, Result

FEWEST = 4  # frequencies: one more than gain, time constant and delay
#: tried, from a decade below the lowest to a decade above the highest frequency. Chosen: dozens a
#: decade bracket the best
CORNERS = 400
MOST_DELAYS = 20_000  # tried; chosen: each is a sum over all frequencies
#: of the phase at the lowest frequency, which a delay may explain. Chosen: a longer one would have
#: been measured at lower frequencies
MOST_TURNS = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class BodeGuess(Result):
    """K·exp(−jω·delay)/(1 + jω·tau) read from a frequency response; ω in rad/s."""

    presenter = "estimica.experiment.guess.bode.present"

    gain: float  # at low frequencies
    tau: float  # the time constant in s
    delay: float  # in s
    frequency: Vector  # rad/s, rising
    response: Complex  # G(jω) that was read
    notes: tuple[str, ...] = ()  # what to know of it

    @property
    def corner(self) -> float:
        """ω₁ = 1/τ, where the asymptotes of the amplitude meet."""
        return 1 / self.tau

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers to begin with."""
        return {"gain": self.gain, "tau": self.tau, "delay": self.delay}

    def model(self, frequency: Vector) -> Complex:
        """The guessed response at frequencies in rad/s."""
        s = 1j * np.asarray(frequency, np.float64)
        return np.asarray(self.gain * np.exp(-s * self.delay) / (1 + s * self.tau), np.complex128)

    def curves(self) -> show.Curves:
        """Amplitude and phase with their asymptotes."""
        from estimica.experiment.guess.bode.present import curves

        return curves(self)

    @property
    def sentence(self) -> str:
        """In one line."""
        return (
            f"the Bode plot suggests: gain {self.gain:.3g}, time constant {self.tau:.3g} s, "
            f"delay {self.delay:.2g} s"
        )

    @property
    def outcome(self) -> Outcome:
        """How it went: data that show nothing are an error."""
        return Outcome("done", "; ".join((self.sentence, *self.notes)))


def bode_guess(
    frequency: Sequence[float] | Vector,
    response: Sequence[complex] | Complex,
    *,
    unit: str = "rad/s",
) -> BodeGuess:
    """Gain, time constant and delay from a measured frequency response.

    `response` is complex, `unit` that of the frequencies: "rad/s" or "Hz". The corner is where
    the asymptotes with slopes 0 and −20 dB a decade lie best, by the median of the deviations from
    the curve that belongs to them; the delay is what turns the rest of the phase best.
    """
    w, g = _checked(frequency, response, unit)
    tau, size = _asymptotes(w, np.abs(g))
    rest = g * (1 + 1j * w * tau) / np.abs(1 + 1j * w * tau)
    delay, sign = _delay(w, rest)
    return BodeGuess(sign * size, tau, delay, w, g, _notes(w, tau))


def _checked(
    frequency: Sequence[float] | Vector, response: Sequence[complex] | Complex, unit: str
) -> tuple[Vector, Complex]:
    if unit not in ("rad/s", "Hz"):
        raise ExperimentError("W040", f"unit '{unit}' is none of rad/s, Hz")
    w, g = np.asarray(frequency, np.float64), np.asarray(response, np.complex128)
    if w.ndim != 1 or w.shape != g.shape:
        raise ExperimentError("W041", f"{w.size} frequencies but {g.size} responses")
    ok = np.isfinite(w) & np.isfinite(g) & (w > 0) & (np.abs(g) > 0)
    order = np.argsort(w[ok])
    w, g = w[ok][order], g[ok][order]
    if len(np.unique(w)) < FEWEST:
        raise ExperimentError(
            "W042", f"{len(np.unique(w))} frequencies above 0; a first guess needs {FEWEST}"
        )
    return (2 * np.pi * w if unit == "Hz" else w), g


def _asymptotes(w: Vector, amplitude: Vector) -> tuple[float, float]:
    """(time constant, gain): log|G| = log K − ½·log(1 + ω²τ²), the mean deviation least."""
    from scipy.optimize import minimize_scalar

    level = np.log(amplitude)

    def deviation(log_tau: float) -> tuple[float, float]:
        straight = level + 0.5 * np.log1p((w * np.exp(log_tau)) ** 2)
        middle = float(np.median(straight))
        # squares of small and magnitudes of large deviations
        off = np.abs(straight - middle)
        limit = 3 * float(np.median(off)) + 1e-12
        return float(np.sum(np.where(off < limit, off**2, limit * (2 * off - limit)))), middle

    tried = np.linspace(-np.log(w[-1]) - np.log(10), -np.log(w[0]) + np.log(10), CORNERS)
    best = int(np.argmin([deviation(x)[0] for x in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, CORNERS - 1)]
    least = minimize_scalar(lambda x: deviation(x)[0], bounds=(low, high), method="bounded")
    return float(np.exp(least.x)), float(np.exp(deviation(float(least.x))[1]))


def _delay(w: Vector, rest: Complex) -> tuple[float, float]:
    """(delay, sign of the gain): exp(jω·delay) turns all of `rest` onto the real axis.

    Nothing is unwrapped, so that noise of the phase cannot lose a turn.
    """
    from scipy.optimize import minimize_scalar

    step = np.pi / (8 * w[-1])  # a sixteenth of a turn at the highest: no peak lies between
    count = int(min(MOST_TURNS * 2 * np.pi / w[0] / step, MOST_DELAYS)) + 1
    tried = step * np.arange(count)
    turned = np.array([np.sum(rest * np.exp(1j * w * T)).real for T in tried])
    best = int(np.argmax(np.abs(turned)))
    sign = 1.0 if turned[best] >= 0 else -1.0
    low, high = max(tried[best] - step, 0.0), tried[best] + step

    def short(T: float) -> float:
        return -sign * float(np.sum(rest * np.exp(1j * w * T)).real)

    least = minimize_scalar(
        short, bounds=(low, high), method="bounded", options={"xatol": 1e-6 * step}
    )
    delay = float(least.x)
    return (0.0 if short(0.0) <= least.fun else delay), sign


def _notes(w: Vector, tau: float) -> tuple[str, ...]:
    notes = []
    if 1 / tau < 2 * w[0]:
        notes.append("the corner is at or below the lowest frequency: measure lower ones too")
    if 1 / tau > w[-1] / 2:
        notes.append("the corner is at or above the highest frequency: measure higher ones too")
    return tuple(notes)
