"""Noise level: σ of every sample by its formula, with derivatives by the unknowns of its case."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.source.formula import Formula
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput, Record

Moving = tuple[Vector, Vector]  # values and slopes of a variable at the stamps of an output


@dataclass(frozen=True, eq=False)
class NoiseLevel:
    """σ at the stamps of an output; `slope` as that of its prediction, and by its disturbance."""

    value: Vector  # (N,)
    slope: Vector  # (N, m)
    by_disturbance: Vector  # (N,)


class LevelFormula:
    """The formula of one output's σ, bound to the tuners and variables of its case.

    `moving` are the simulated variables in it. A tuner comes before a variable, and both before a
    column of the same name.
    """

    def __init__(
        self, of: MeasuredOutput, sigma: SigmaFormula, links: ParameterMap, varying: Collection[str]
    ):
        self._name, self._formula, self._known = of.name, sigma.formula, sigma.known
        self._tuners, self._fixed = links.tuners, links.fixed
        simulated = [n for n in self._formula.names if n == of.name or n in varying]
        self.moving = [n for n in simulated if n not in (*links.tuners, *links.fixed)]
        own = {*links.tuners, *self.moving}
        self._partials = {n: self._formula.partial(n) for n in self._formula.names if n in own}

    def at(
        self, tuners: Vector, variables: Mapping[str, Moving], disturbed: bool
    ) -> NoiseLevel | str:
        """The level at values of the tuners and of what is simulated, or why there is none."""
        like, own_slope = variables[self._name]
        known: dict[str, float | Vector] = {**self._known, **self._fixed}
        known |= {n: v for n, (v, _) in variables.items() if n in self.moving}
        known |= dict(zip(self._tuners, map(float, tuners), strict=True))
        sigma = _broadcast(self._formula, known, like)
        wrong = np.flatnonzero(~(np.isfinite(sigma) & (sigma > 0)))
        if len(wrong):
            return (
                f"sigma '{self._formula.text}' of output '{self._name}' is {sigma[wrong[0]]:g} at "
                f"its sample {wrong[0] + 1}, and must be positive; give its tuners bounds, or "
                "scale = 'log'"
            )
        slope, by_disturbance = np.zeros_like(own_slope), np.zeros_like(like)
        for name, partial in self._partials.items():
            change = _broadcast(partial, known, like)
            if name in self.moving:
                slope += change[:, None] * variables[name][1]
                if disturbed and name == self._name:
                    by_disturbance += change
            elif slope.shape[1]:  # not where nothing is differentiated
                slope[:, self._tuners.index(name)] += change
        return NoiseLevel(sigma, slope, by_disturbance)


def level_formulas(
    record: Record, links: ParameterMap, varying: Collection[str]
) -> tuple[LevelFormula | None, ...]:
    """The formulas of σ of a case, none for outputs without one."""
    return tuple(
        LevelFormula(m, m.sigma, links, varying) if isinstance(m.sigma, SigmaFormula) else None
        for m in record.outputs
    )


def _broadcast(formula: Formula, known: Mapping[str, float | Vector], like: Vector) -> Vector:
    with np.errstate(all="ignore"):
        value = formula.at({n: known[n] for n in formula.names})
    return np.broadcast_to(np.asarray(value, np.float64), like.shape).copy()
