"""What a run gives back: values, events, what it has cost, how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.engine import layout as at
from estimica.simulate.engine import status as outcome
from estimica.simulate.termination import Termination

LOG_SIZE = 4096  # events that are remembered one by one, 96 kB; further ones are counted
NO_LOG = np.zeros(0)


@dataclass(frozen=True)
class Event:
    """Something that happened: `kind` is "state", "time", "input" or "delay"."""

    time: float
    kind: str
    index: int  # of the relation; -1 for inputs and delays


@dataclass(frozen=True)
class Rest:
    """A relation that changed again and again and was let rest near zero, from a time on."""

    time: float
    index: int  # of the relation
    width: float  # changes of its zero function within this were not followed


@dataclass(frozen=True)
class Statistics:
    """What a run has cost."""

    steps: int
    rejected: int
    evaluations: int
    newton: int
    events: int
    switches: int
    stiff_steps: int


@dataclass(frozen=True, eq=False)
class Run:
    """Samples at the wished times up to where the run came; the rest is NaN.

    `status` is a number of simulate.status; `index` names the state, equation, relation, check or
    output to blame, `tuner` the tuner whose sensitivity fails (-1: none).
    """

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    status: int
    summary: Vector = field(repr=False)  # report, counters, x, S, z, d, dt/dtheta where it ended
    sizes: tuple[int, int, int] = field(repr=False)  # nx, m, nz
    log: Vector = field(repr=False)
    termination: Termination | None = None  # where the model has ended the run by itself
    notes: tuple[str, ...] = ()  # what to know of its start
    failed_call: str = ""  # of a function of Python, where the run failed
    rests: tuple[Rest, ...] = ()  # relations that were let rest further off than tolerances explain

    @property
    def ok(self) -> bool:
        """Whether all samples were computed."""
        if self.termination is not None:
            return self.samples == len(self.times)
        return self.status == outcome.DONE

    @property
    def text(self) -> str:
        """What happened, in words."""
        return self.termination.text if self.termination else outcome.TEXTS[self.status]

    @property
    def time(self) -> float:
        """Where the run ended."""
        return float(self.summary[at.R_TIME])

    @property
    def step(self) -> float:
        """The last step size."""
        return float(self.summary[at.R_STEP])

    def _counter(self, place: int) -> int:
        return int(self.summary[at.N_REPORT + place - at.STEPS])

    def _part(self, start: int, size: int) -> Vector:
        begin = at.N_REPORT + at.N_COUNTER + start
        return self.summary[begin : begin + size]

    @property
    def index(self) -> int:
        """What is to blame."""
        return self._counter(at.INDEX)

    @property
    def tuner(self) -> int:
        """Whose sensitivity is to blame, -1: none."""
        return self._counter(at.TUNER)

    @property
    def samples(self) -> int:
        """How many samples are valid."""
        return self._counter(at.EMITTED)

    @property
    def x(self) -> Vector:
        """The states where the run ended."""
        return self._part(0, self.sizes[0])

    @property
    def S(self) -> Vector:
        """Their sensitivities."""
        nx, m, _ = self.sizes
        return self._part(nx, nx * m).reshape(nx, m)

    @property
    def z(self) -> Vector:
        """The algebraic unknowns where the run ended."""
        nx, m, nz = self.sizes
        return self._part(nx * (1 + m), nz)

    @property
    def d(self) -> Vector:
        """The modes where the run ended."""
        nx, m, nz = self.sizes
        begin = at.N_REPORT + at.N_COUNTER + nx * (1 + m) + nz
        return self.summary[begin : len(self.summary) - m]

    @property
    def statistics(self) -> Statistics:
        """What the run has cost."""
        return Statistics(*(self._counter(at.STEPS + k) for k in range(7)))

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened when (the first few thousand)."""
        rows = self.log.reshape(-1, at.LOG_WIDTH)
        return tuple(Event(float(t), _KINDS[int(kind)], int(k)) for t, kind, k in rows)


_KINDS = ("state", "time", "input", "delay")
