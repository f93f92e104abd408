"""FormulaChain: formulas of quantities that move with the tuners, with derivatives by these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.model.formulas import FormulaResponse, FormulaRun, formula_program
from estimica.source.formula import Formula


class FormulaChain:
    """Formulas g(v(θ), θ) over samples: values, and derivatives by the chain rule.

    `moving` are the names whose values are given anew at every evaluation, `arrays` those of all
    names that have a value for each sample; `known` are the values that never change.
    """

    def __init__(
        self,
        formulas: Mapping[str, Formula],
        moving: Sequence[str],
        arrays: Sequence[str],
        times: Vector,
        known: Mapping[str, float | Vector],
        *,
        stamp: str = "time",
    ) -> None:
        self.moving = tuple(moving)
        made = formula_program(formulas, self.moving, arrays)
        self._partials = FormulaResponse(
            made, times, known, np.full(len(self.moving), np.nan), stamp=stamp
        )

    def at(self, values: Mapping[str, float | Vector], slopes: Mapping[str, Vector]) -> FormulaRun:
        """The formulas at values of what moves; `slopes` are (N, m), or (m,) alike at all samples.

        A name without a slope does not move with any unknown.
        """
        partial = self._partials.run([values[n] for n in self.moving])
        m = next((s.shape[-1] for s in slopes.values()), 0)
        YS = np.zeros((*partial.Y.shape, m))
        for k, name in enumerate(self.moving):
            if name in slopes:
                YS += partial.YS[:, :, k, None] * np.atleast_2d(slopes[name])[:, None, :]
        return FormulaRun(partial.times, partial.Y, YS, partial.status, partial.text)
