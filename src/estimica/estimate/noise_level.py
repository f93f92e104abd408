"""Noise level: σ of every sample by its formula, with derivatives by the unknowns of its case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.source.formula import Formula
from estimica.study.noise_model import SigmaFormula
from estimica.study.record import Measured, Record

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Level:
    """σ at the stamps of an output; `slope` as that of its prediction, and by its disturbance."""

    value: Vector  # (N,)
    slope: Vector  # (N, m)
    by_disturbance: Vector  # (N,)


class LevelFormula:
    """The formula of one output's σ, bound to the tuners and outputs of its case."""

    def __init__(
        self, of: Measured, formula: SigmaFormula, tuners: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._name, self._text = of.name, formula.text
        self._formula, self._known = formula.formula, formula.known
        self._tuners, self._outputs = list(tuners), list(outputs)
        moving = {*tuners, *outputs}
        self._partials = {n: self._formula.partial(n) for n in self._formula.names if n in moving}

    def at(
        self,
        tuners: Mapping[str, float],
        values: Mapping[str, Vector],
        slopes: Mapping[str, Vector],
        disturbed: bool,
    ) -> Level | str:
        """The level at values of all tuners and outputs, or why there is none."""
        like = values[self._name]
        known: dict[str, float | Vector] = {**self._known, **values, **tuners}
        sigma = _broadcast(self._formula, known, like)
        wrong = np.flatnonzero(~(np.isfinite(sigma) & (sigma > 0)))
        if len(wrong):
            return (
                f"sigma '{self._text}' of output '{self._name}' is {sigma[wrong[0]]:g} at its "
                f"sample {wrong[0] + 1}, and must be positive; give its tuners bounds, or "
                "scale = 'log'"
            )
        slope = np.zeros_like(slopes[self._name])
        by_disturbance = np.zeros_like(like)
        for name, partial in self._partials.items():
            change = _broadcast(partial, known, like)
            if name in self._tuners:
                if slope.shape[1]:  # not where nothing is differentiated
                    slope[:, self._tuners.index(name)] += change
            else:
                slope += change[:, None] * slopes[name]
                if disturbed and name == self._name:
                    by_disturbance += change
        return Level(sigma, slope, by_disturbance)


def level_formulas(
    record: Record, tuners: Sequence[str], fixed: Mapping[str, float]
) -> tuple[LevelFormula | None, ...]:
    """The formulas of σ of a case, none for outputs without one."""
    found: list[LevelFormula | None] = []
    outputs = [m.name for m in record.outputs]
    for m in record.outputs:
        if not isinstance(m.sigma, SigmaFormula):
            found.append(None)
            continue
        # a tuner comes before an output, and both before a column of the same name
        moving = [n for n in outputs if n not in (*tuners, *fixed)]
        found.append(LevelFormula(m, m.sigma, tuners, moving))
    return tuple(found)


def _broadcast(formula: Formula, known: Mapping[str, float | Vector], like: Vector) -> Vector:
    with np.errstate(all="ignore"):
        value = formula.at({n: known[n] for n in formula.names})
    return np.broadcast_to(np.asarray(value, np.float64), like.shape).copy()
