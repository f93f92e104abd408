"""Controllers whose events come at instants, at limits of an actuator, or by a hysteresis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from problems import HERE, RTOL, Vector

import estimica as es


@dataclass(frozen=True)
class Controller:
    """A model with events, its tuners and the samples that are wanted."""

    name: str
    title: str
    model: str
    tuners: tuple[str, ...]
    end: float

    @property
    def times(self) -> Vector:
        """Of the samples."""
        return np.linspace(0, self.end, 201)[1:]

    @cached_property
    def response(self) -> es.Response:
        """Outputs and derivatives by the tuners."""
        model = es.load_model(HERE / "models" / "Controllers.mo", f"Controllers.{self.model}")
        options = es.Options(rtol=RTOL)
        return model.response(
            self.times, {}, outputs=["y"], wrt=list(self.tuners), begin=0.0, options=options
        )

    @property
    def theta(self) -> Vector:
        """Values of the tuners."""
        return self.response.tuners


_DRIVE = ("k", "Ti", "T", "zeta")
CONTROLLERS: dict[str, Callable[[], Controller]] = {
    "Step": lambda: Controller("Step", "a controlled drive at two steps", "Step", _DRIVE, 10.0),
    "Limit": lambda: Controller(
        "Limit", "the same with a limiter", "Limited", (*_DRIVE, "limit"), 10.0
    ),
    "OnOff": lambda: Controller(
        "OnOff", "a heater with hysteresis", "OnOff", ("h", "T", "P", "reference"), 30.0
    ),
}
