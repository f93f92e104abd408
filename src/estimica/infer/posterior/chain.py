"""Chain: the draws of one sampler, as plain arrays that a run can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class Chain:
    """Draws in the order in which they came; of an ensemble those of one walker after another."""

    values: Vector  # (draws, unknowns)
    log_density: Vector  # (draws,)
    noise: Mapping[str, Vector]  # drawn variances by output, (draws,)
    diverging: int = 0  # draws whose path could not be followed
    deepest: int = 0  # draws whose path was cut at its greatest length
    acceptance: float = float("nan")
    evaluations: int = 0
    impossible: int = 0  # points that could not be simulated
    reason: str = ""  # of the first of them

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "values": self.values.tolist(),
            "log_density": self.log_density.tolist(),
            "noise": {n: v.tolist() for n, v in self.noise.items()},
            "diverging": self.diverging,
            "deepest": self.deepest,
            "acceptance": self.acceptance,
            "evaluations": self.evaluations,
            "impossible": self.impossible,
            "reason": self.reason,
        }

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Chain:
        """From plain values."""
        arrays = {n: np.array(plain[n], float) for n in ("values", "log_density")}
        noise = {n: np.array(v, float) for n, v in plain["noise"].items()}
        return Chain(**{**plain, **arrays, "noise": noise})
