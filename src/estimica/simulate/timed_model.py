"""SimulatedModel: what every model over time offers once it has a response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SimulationError
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Evaluation, Model
from estimica.simulate.trajectory import Sensitivities, Times, Trajectory, check_times, sampling

Numbers = Mapping[str, float]


class TimedModel(Model):
    """Trajectories and sensitivities from the response."""

    def simulate(
        self,
        times: Times,
        inputs: Mapping[str, object] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        outputs: Sequence[str] | None = None,
        begin: float | None = None,
        options: Any = None,
    ) -> Trajectory:
        """Sample the outputs at `times`; as for a Modelica model."""
        stamps, names = sampling(times, outputs)
        response = self.response(
            stamps, inputs, parameters, start, outputs=names, begin=begin, options=options
        )
        run = self._required(response.at())
        return self._trajectory(response.times, run, names).at_own_stamps(times)

    def sensitivities(
        self,
        times: Times,
        inputs: Mapping[str, object] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        wrt: Sequence[str],
        outputs: Sequence[str] | None = None,
        begin: float | None = None,
        options: Any = None,
    ) -> Sensitivities:
        """Like `simulate`, with the derivatives with respect to parameters."""
        if not wrt:
            raise ModelError("M037", "wrt is empty; name at least one parameter or state")
        stamps, names = sampling(times, outputs)
        response = self.response(
            stamps, inputs, parameters, start, outputs=names, wrt=wrt, begin=begin, options=options
        )
        run = self._required(response.at())
        plain = self._trajectory(response.times, run, names)
        return Sensitivities.of(plain, run.YS, tuple(wrt), response.tuners).at_own_stamps(times)

    def _required(self, run: Evaluation) -> Evaluation:
        if not run.ok:
            raise SimulationError("R004", f"'{self.name}': {run.text}")
        return run

    def _trajectory(
        self, times: Vector, run: Evaluation, names: Sequence[str] | None
    ) -> Trajectory:
        shown = tuple(names if names is not None else self.output_names())
        return Trajectory(self.name, times, shown, run.Y)


def experiment_times(times: Sequence[float] | Vector, begin: float | None) -> tuple[Vector, float]:
    """The samples and the beginning of a run, checked."""
    grid = check_times(times)
    begun = float(grid[0]) if begin is None else float(begin)
    if begun > grid[0]:
        raise ModelError("M036", f"begin {begun:g} is after the first output time {grid[0]:g}")
    return grid, begun


def known_names(
    model: Model, given: Sequence[str] | None, names: Sequence[str], what: str
) -> tuple[str, ...]:
    """Names that a user asked for, each once and each known."""
    found = (given,) if isinstance(given, str) else tuple(given or ())
    for n in found:
        if n not in names:
            hint = did_you_mean(n, names) or f" ({what}s: {', '.join(names) or 'none'})"
            raise ModelError("M116", f"'{model.name}' has no {what} '{n}'{hint}")
        if found.count(n) > 1:
            raise ModelError("M117", f"{what} '{n}' is named twice")
    return found


def finite_number(name: str, value: object) -> float:
    """A number that a user gave."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M118", f"'{name}': {value!r} is not a number") from None
    if not np.isfinite(number):
        raise ModelError("M119", f"'{name}': {number} is not finite")
    return number
