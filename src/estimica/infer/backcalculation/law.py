"""Law: one formula fitted to points, with its parameters, its accuracy and how well it agrees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.infer.backcalculation.formulas import Shape


@dataclass(frozen=True)
class LawParameter:
    """A parameter of a law and its standard error."""

    value: float
    stderr: float


@dataclass(frozen=True, eq=False)
class Law:
    """A formula of `target` in regressors; `rmse` and `cv_rmse` are relative where errors are."""

    target: str
    shape: Shape
    parameters: Mapping[str, LawParameter]
    r_squared: float
    rmse: float
    aicc: float
    cv_rmse: float = math.nan
    delta: float = 0.0  # above the lowest AICc
    share: float = 1.0  # of the evidence among the laws tried: Akaike's weight

    @property
    def kind(self) -> str:
        """line, polynomial, power, …"""
        return self.shape.kind

    @property
    def label(self) -> str:
        """The kind, a polynomial with its degree."""
        return self.shape.label

    @property
    def regressors(self) -> tuple[str, ...]:
        """What it depends on."""
        return self.shape.regressors

    @property
    def expression(self) -> str:
        """The formula with its parameters as names: what `[static] expression` takes."""
        return self.shape.text(list(self.parameters))

    @property
    def formula(self) -> str:
        """The equation in Modelica syntax with the numbers found."""
        return f"{self.target} = {self.shape.text([_number(p.value, 10) for p in self._all])}"

    @property
    def short(self) -> str:
        """The equation with as many digits as are read."""
        return f"{self.target} = {self.shape.text([_number(p.value, 4) for p in self._all])}"

    @property
    def _all(self) -> tuple[LawParameter, ...]:
        return tuple(self.parameters.values())

    def at(self, regressors: Mapping[str, npt.ArrayLike]) -> Vector:
        """The law at points, of which each regressor has one value a point."""
        columns = [np.atleast_1d(np.asarray(regressors[n], np.float64)) for n in self.regressors]
        length = len(columns[0]) if columns else _length(regressors)
        X = np.array(columns).reshape(len(columns), length)
        return self.shape.value(np.array([p.value for p in self._all]), X)

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {
            "law": self.label,
            "kind": self.kind,
            "regressors": list(self.regressors),
            "formula": self.formula,
            "expression": self.expression,
            "parameters": {
                n: {"value": p.value, "stderr": p.stderr} for n, p in self.parameters.items()
            },
            "r_squared": self.r_squared,
            "rmse": self.rmse,
            "cv_rmse": self.cv_rmse,
            "aicc": self.aicc,
            "delta_aicc": self.delta,
            "weight": self.share,
        }


def _length(columns: Mapping[str, npt.ArrayLike]) -> int:
    return max((np.size(np.asarray(c)) for c in columns.values()), default=1)


def _number(value: float, digits: int) -> str:
    return f"{value + 0.0:.{digits}g}"  # no minus zero
