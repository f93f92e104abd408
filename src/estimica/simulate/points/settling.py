"""Settling: a model simulated with constant inputs until nothing moves any more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.simulate.engine import run as engine
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.run import integrate
from estimica.simulate.engine.status import TEXTS
from estimica.simulate.response import Configuration

#: every span is so many times all before: a state that still creeps moves visibly over it
_GROWTH = 4.0
#: derivatives may settle later than their states, those of slow modes by t·exp(-t): the run goes on
#: for so many times as long, less where that fails (chosen)
_LONGER = (1000.0, 30.0, 1.0)


@dataclass(frozen=True, eq=False)
class SettlingResult:
    """Where a run came to rest: states, algebraic unknowns, modes; or why it did not."""

    x: Vector
    z: Vector
    d: Vector
    time: float = 0.0
    text: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is at rest."""
        return not self.text


@dataclass(frozen=True)
class Settling:
    """How long to wait: over a span longer than all before, no state moves by more than
    `tolerance` of its size."""

    tolerance: float = 1e-8
    max_time: float = 1e7
    first: float = 1.0

    def settle(
        self,
        configuration: Configuration,
        values: Vector,
        u: Vector,
        scales: Vector,
        options: Options,
        guess: Vector | None = None,
    ) -> SettlingResult:
        """Simulate from the start values; `scales` are typical sizes of the states, `guess` is
        where to look for the algebraic unknowns."""
        try:
            begun = configuration.initialiser.start(values, 0.0, u, guess)
        except SimulationError as error:
            nothing = np.zeros(0)
            return SettlingResult(nothing, nothing, nothing, text=error.message)
        x, z, d = begun.x, begun.z, begun.d
        fine = replace(self._fine(options), tuner_scales=())  # this run has no derivatives
        time, span, n = 0.0, self.first, len(scales)
        while time < self.max_time:
            piece = Pieces(np.array([time]), u[None, :].copy(), np.zeros((1, u.size)))
            stop = min(time + span, self.max_time)
            start = engine.RunStart(x, begun.S, z, d)
            run = integrate(configuration.kernel, begun.P, start, piece, np.array([stop]), fine)
            if not run.ok:
                return SettlingResult(x, z, d, time, f"the simulation ended: {TEXTS[run.status]}")
            moved = np.abs(run.x[:n] - x[:n])
            x, z, d = run.x.copy(), run.z.copy(), run.d.copy()
            if time > 0 and (moved <= self.tolerance * np.maximum(np.abs(x[:n]), scales)).all():
                return SettlingResult(x, z, d, stop)
            time, span = stop, _GROWTH * stop
        return SettlingResult(x, z, d, time, f"not at rest after {self.max_time:g} s of simulation")

    def differentiated(
        self,
        configuration: Configuration,
        values: Vector,
        u: Vector,
        time: float,
        options: Options,
    ) -> tuple[Vector, Vector]:
        """Outputs at rest and their derivatives, which the run carries along.

        At `time` the states are at rest; derivatives may take longer.
        """
        begun = configuration.initialiser.start(values, 0.0, u)
        piece = Pieces(np.zeros(1), u[None, :].copy(), np.zeros((1, u.size)))
        start = engine.RunStart(begun.x, begun.S, begun.z, begun.d)
        fine = self._fine(options)
        for longer in _LONGER:
            last = np.array([min(longer * time, self.max_time)])
            run = integrate(configuration.kernel, begun.P, start, piece, last, fine)
            if run.ok:
                break
        return run.Y[0], run.YS[0]

    def _fine(self, options: Options) -> Options:
        options = options.adaptive
        rtol = min(options.rtol, 0.1 * self.tolerance)
        atol = options.atol
        if isinstance(atol, tuple):
            return replace(options, rtol=max(rtol, 1e-13))
        return replace(options, rtol=max(rtol, 1e-13), atol=min(atol, 0.1 * self.tolerance))
