"""TimedModel: what every model over time offers once it has a response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SimulationError
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.simulate.termination import Termination, termination_of

if TYPE_CHECKING:
    from estimica.simulate.trajectory import Sensitivities, Times, Trajectory

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
        """Simulate and sample the outputs (or any variables) at `times`.

        Where signals have stamps of their own, `times` maps each name to its stamps; the
        trajectory stands at all of them, with NaN (not sampled) where a signal has none.
        `inputs` maps names to a number, (times, values), a pandas Series, or
        {"time", "value", "hold"}; `parameters` and `start` override values of this run. The run
        begins at `begin`, the first output time by default. Where the model ends it by
        `terminate`, the trajectory ends there, and `termination` says when and why.
        """
        from estimica.simulate.trajectory import sampling

        stamps, names = sampling(times, outputs)
        response = self.respond(
            Experiment(
                stamps, inputs or {}, parameters or {}, start or {}, names, (), begin, options
            )
        )
        run = self._completed(response)
        found = self._trajectory(response, run, names)
        return found.until(self.termination_of(run), times).at_own_stamps(times)

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
        """Like `simulate`, with the derivatives with respect to parameters and start values.

        A state's name in `wrt` means its start value.
        """
        from estimica.simulate.trajectory import Sensitivities, sampling

        if not wrt:
            raise ModelError("M037", "wrt is empty; name at least one parameter or state")
        stamps, names = sampling(times, outputs)
        response = self.respond(
            Experiment(
                stamps, inputs or {}, parameters or {}, start or {}, names, wrt, begin, options
            )
        )
        run = self._completed(response)
        plain = self._trajectory(response, run, names)
        found = Sensitivities.of(plain, run.YS, tuple(wrt), response.tuners)
        return found.until(self.termination_of(run), times).at_own_stamps(times)

    def termination_of(self, run: Any) -> Termination | None:
        """How the model has ended a run by itself; None where it has not, or is not able to."""
        return termination_of(run)

    def _completed(self, response: Any) -> Any:
        """A run to its last sample, or to where the model ends it."""
        run = response.at()
        if self.termination_of(run) is None:
            self.require(run, response)
        return run

    def require(self, run: Any, response: Any) -> None:
        """Raise for a run that does not reach its last sample."""
        if not run.ok:
            raise SimulationError("R004", f"'{self.name}': {run.text}")

    def _trajectory(self, response: Any, run: Any, names: Sequence[str] | None) -> Trajectory:
        from estimica.simulate.trajectory import Trajectory

        outputs = tuple(names if names is not None else self.output_names())
        return Trajectory(self.name, response.times, outputs, run.Y)


def experiment_times(experiment: Experiment) -> tuple[Vector, float]:
    """The samples and the beginning of a run, checked."""
    from estimica.simulate.trajectory import check_times

    grid = check_times(experiment.times)
    begun = float(grid[0]) if experiment.begin is None else float(experiment.begin)
    if begun > grid[0]:
        raise ModelError("M036", f"begin {begun:g} is after the first output time {grid[0]:g}")
    return grid, begun


def known_names(
    model: Model, given: Sequence[str] | None, names: Sequence[str], what: str
) -> tuple[str, ...]:
    """Names that a user asked for, each once and each known."""
    chosen = (given,) if isinstance(given, str) else tuple(given or ())
    for n in chosen:
        if n not in names:
            hint = did_you_mean(n, names) or f" ({what}s: {', '.join(names) or 'none'})"
            raise ModelError("M116", f"'{model.name}' has no {what} '{n}'{hint}")
        if chosen.count(n) > 1:
            raise ModelError("M117", f"{what} '{n}' is named twice")
    return chosen


def finite_number(name: str, value: object) -> float:
    """A number that a user gave."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M118", f"'{name}': {value!r} is not a number") from None
    if not np.isfinite(number):
        raise ModelError("M119", f"'{name}': {number} is not finite")
    return number
