"""MonitorSettings: what a monitor was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from estimica.base.errors import InferError

DAY = 86400.0
#: a false alarm in so many days, unless somebody says otherwise; and at least so many samples, for
#: those that come once a day
QUIET_DAYS, QUIET_SAMPLES = 30.0, 1000.0


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """How fast estimates move, and what counts as a change.

    `memory` is the time after which a sample counts 1/e of a new one (in seconds; infinite: all
    count alike), `drift` by tuner the standard deviation by which it wanders in one second (it
    grows with the root of time), in the tuner's unit.
    """

    memory: float = math.inf
    drift: Mapping[str, float] = field(default_factory=dict)
    wild: float = 6.0  # standard deviations
    wild_run: int = 3  # so many wild values in a row are a change
    shift: float = 1.0
    ratio: float = 1.5
    change: float = 0.1  # of a tuner, relative
    false_alarm: float | None = None  # samples
    settle: int | None = None  # samples before charts and wild values count
    relearn: float = 1.0  # factor on standard errors after an alarm

    def __post_init__(self) -> None:
        for name, low in (
            ("memory", 0.0),
            ("wild", 1.0),
            ("shift", 0.0),
            ("ratio", 1.0),
            ("change", 0.0),
        ):
            if not getattr(self, name) > low:
                raise InferError("I810", f"{name} {getattr(self, name):g} is not above {low:g}")
        if self.wild_run < 1:
            raise InferError("I810", f"wild_run {self.wild_run} is not above 0")
        if not self.relearn >= 1:
            raise InferError("I810", f"relearn {self.relearn:g} is below 1; 1 changes nothing")
        if self.false_alarm is not None and not self.false_alarm >= 10:
            raise InferError(
                "I810",
                f"false_alarm {self.false_alarm:g}: one false alarm in so few samples is none "
                "at all; write 1000 or more",
            )
        for name, size in self.drift.items():
            if not (size >= 0 and math.isfinite(size)):
                raise InferError("I810", f"drift of '{name}' is {size:g}; give a number above 0")

    def run_length(self, step: float) -> float:
        """Samples in which one false alarm is expected; `step` are seconds between samples."""
        if self.false_alarm is not None:
            return self.false_alarm
        return max(QUIET_DAYS * DAY / step, QUIET_SAMPLES)
