"""Transform: a function applied to the measured and to the simulated output before comparing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import CaseError
from estimica.source.formula import Formula, parse_formula

NAMED = ("log", "log10", "sqrt", "exp", "abs", "sin", "cos", "tan", "atan", "tanh")


@dataclass(frozen=True)
class Transform:
    """A formula in `value` and its derivative."""

    text: str
    formula: Formula
    slope: Formula

    def of(self, name: str) -> str:
        """What is compared of an output, in words."""
        return f"{self.text}({name})" if self.text in NAMED else f"{self.text} of {name}"

    def value(self, y: Vector) -> Vector:
        """What is compared, of an array of any shape."""
        return _at(self.formula, y)

    def derivative(self, y: Vector) -> Vector:
        """How it changes with the output."""
        return _at(self.slope, y)

    def require(self, y: Vector, column: str) -> None:
        """Refuse data for which the transform is not defined."""
        bad = np.flatnonzero(~np.isfinite(self.value(y)))
        if len(bad):
            raise CaseError(
                "C017",
                f"transform '{self.text}' is not defined for {y[bad[0]]:g}, a value of column "
                f"'{column}' ({len(bad)} of {len(y)} samples)",
            )


def _at(formula: Formula, y: Vector) -> Vector:
    found = np.asarray(formula.at({"value": np.ravel(y)}), np.float64)
    return np.broadcast_to(found, (y.size,)).reshape(y.shape)


def transform_of(text: str) -> Transform:
    """A transform from the name of a function, or from an expression in `value`."""
    written = f"{text}(value)" if text in NAMED else text
    formula = parse_formula(written, "transform")
    if formula.names != ("value",):
        raise CaseError(
            "C018",
            f"transform '{text}' must be one of {', '.join(NAMED)}, or an expression in `value`, "
            "as value^2",
        )
    return Transform(text, formula, formula.partial("value"))
