"""What a model without equations cannot do, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.model.interface import ModelResponse, OperatingPoint
from estimica.simulate.timed_model import TimedModel

Numbers = Mapping[str, float]


class WithoutEquations(TimedModel):
    """A model that is simulated but shows no equations."""

    def frequency_experiment(
        self,
        omega: Sequence[float] | Vector,
        inputs: Numbers | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        transfers: Sequence[tuple[str, str]],
        wrt: Sequence[str] = (),
        operating_point: OperatingPoint = "steady",
    ) -> ModelResponse:
        """There is none: an FMU shows no equations to linearise."""
        raise ModelError(
            "M150",
            f"an FMU shows no equations to linearise, so that '{self.name}' has no frequency "
            "response; fit it over time, or use its Modelica source",
        )

    def write_sensitivity_system(self, *_: Any, **__: Any) -> NoReturn:
        """There is none: its equations would have to be differentiated."""
        self._refuse("a sensitivity system")

    def sensitivity_system(self, *_: Any, **__: Any) -> NoReturn:
        """There is none: its equations would have to be differentiated."""
        self._refuse("a sensitivity system")

    def linearise(self, *_: Any, **__: Any) -> NoReturn:
        """There is no linear model of it."""
        self._refuse("a linearisation")

    def at_points(self, *_: Any, **__: Any) -> NoReturn:
        """It has no operating points: derivatives cannot be set to zero."""
        self._refuse("operating points")

    def with_inputs(self, *_: Any, **__: Any) -> NoReturn:
        """Its inputs are those it was exported with."""
        self._refuse("other inputs than those it was exported with")

    def _refuse(self, what: str) -> NoReturn:
        raise ModelError(
            "M216",
            f"'{self.name}' is an FMU and shows no equations, so that it has no {what}; "
            "use its Modelica source for that",
        )
