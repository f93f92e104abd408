"""FilterNoise: what a filter is told of the errors of a model and of measuring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from estimica.compiled.model.observations import Observations

#: names of the formulas among the variables of the model; no Modelica name has a space
DIFFUSION, SPREAD, SIGMA = "noise of {}", "spread of {}", "sigma of {}"


@dataclass(frozen=True)
class FilterNoise:
    """Formulas of parameters and inputs, by the name of a state or an output.

    `diffusion` is what an unmeasured disturbance adds to a state: its standard deviation after one
    second; `spread` is the standard deviation of a start value, which depends on parameters only.
    States without one have none. `stationary` is in place of `spread`: the covariance that the
    states have after a long time at the first inputs.
    """

    diffusion: tuple[tuple[str, str], ...]
    spread: tuple[tuple[str, str], ...]
    sigmas: tuple[tuple[str, str], ...]  # of measuring, by output
    stationary: bool = False
    kind: Literal["extended", "unscented"] = "extended"

    def observations(self, known: Iterable[str]) -> Observations:
        """The formulas as further variables of a model that has the `known` names."""
        groups = ((DIFFUSION, self.diffusion), (SPREAD, self.spread), (SIGMA, self.sigmas))
        return Observations.of({s.format(n): t for s, group in groups for n, t in group}, known)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is measured."""
        return tuple(n for n, _ in self.sigmas)
