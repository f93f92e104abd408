"""SeenOutputs: what is measured, as states, variables of the model or formulas of both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.filter.differences.levels import Surroundings, value_of
from estimica.simulate.filter.differences.mover import Moved, Mover, StoppedError
from estimica.source.formula import Formula


class SeenOutputs:
    """Outputs and their slopes by the states, at rows of states."""

    def __init__(
        self,
        outputs: tuple[str, ...],
        formulas: Mapping[str, Formula],
        states: tuple[str, ...],
        around: Surroundings,
    ) -> None:
        self.outputs, self.formulas, self.states, self.around = outputs, formulas, states, around
        used = [n for o in outputs for n in (formulas[o].names if o in formulas else (o,))]
        known = (*states, *around.inputs, *around.numbers, *around.columns, "time")
        self.variables = tuple(n for n in dict.fromkeys(used) if n not in known)
        self._partials = {
            o: {n: f.partial(n) for n in f.names if n in states or n in self.variables}
            for o, f in formulas.items()
            if o in outputs
        }

    def at(self, mover: Mover, time: float, u: Vector, x: Vector, theta: Vector) -> Moved:
        """Values (R, ny) and slopes (R, ny, n)."""
        R, n = x.shape
        unit = np.broadcast_to(np.eye(n), (R, n, n))
        values: dict[str, Vector] = {s: x[:, k] for k, s in enumerate(self.states)}
        slopes: dict[str, Vector] = {s: unit[:, k] for k, s in enumerate(self.states)}
        if self.variables:
            seen = mover.seen(time, x, theta)
            for k, name in enumerate(self.variables):
                values[name], slopes[name] = seen.value[:, k], seen.slope[:, k]
        value, slope = np.empty((R, len(self.outputs))), np.zeros((R, len(self.outputs), n))
        around = self.around.at(theta, time, u) if self._partials else {}
        for k, output in enumerate(self.outputs):
            if output not in self.formulas:
                value[:, k], slope[:, k] = values[output], slopes[output]
                continue
            known = {**around, **values}
            value[:, k] = value_of(self.formulas[output], known)
            for name, partial in self._partials[output].items():
                change = np.broadcast_to(value_of(partial, known), R)
                slope[:, k] += change[:, None] * slopes[name]
        wrong = ~np.isfinite(value)
        if wrong.any():
            row, k = np.argwhere(wrong)[0]
            raise StoppedError(int(row), f"output '{self.outputs[k]}' is not finite at {time:g} s")
        return Moved(value, slope)
