"""Noise floor: what is said where `ml` does not find a noise level but holds it at a bound."""

from __future__ import annotations

import math

import numpy as np

from estimica.estimate.criteria.scoring import Block
from estimica.estimate.objective.cost import Objective, Point
from estimica.study.case import Sigma


def held_noise(objective: Objective, point: Point) -> str:
    """A sentence to append to the outcome; empty where every noise level was found or known."""
    held = [n for n, noise in point.noise.items() if noise.estimated and noise.at_bound]
    return "".join(_told(objective, point, name) for name in held)


def _told(objective: Objective, point: Point, name: str) -> str:
    level, found = math.sqrt(point.noise[name].variance), _spread(objective, point, name)
    if found > level:
        where = f"upper bound {level:.3g}, although residuals of {found:.3g} are left"
    elif any(b.name == name and _has_least(b, level) for b in objective.blocks):
        where = f"lower bound {level:.3g}, although only residuals of {found:.3g} are left"
    else:
        where = (
            f"floor {level:.3g}, a millionth of what the signal varies: residuals of {found:.3g} "
            "are left, as of data without noise"
        )
    return (
        f"; the noise of '{name}' is held at its {where}; standard errors, intervals, AIC and BIC "
        "are those of noise of that level"
    )


def _spread(objective: Objective, point: Point, name: str) -> float:
    """Root mean square of an output's weighted residuals."""
    predictions = point.predictions or objective.predict(point.values)
    assert isinstance(predictions, (list, tuple)), "the point was simulated before"
    own = [
        (block.scaling * residual, block.count)
        for block, residual in zip(objective.blocks, objective.residuals(predictions), strict=True)
        if block.name == name and not isinstance(block.sigma, float)
    ]
    count = sum(n for _, n in own)
    return math.sqrt(sum(float(np.sum(r**2)) for r, _ in own) / max(count, 1))


def _has_least(block: Block, level: float) -> bool:
    """Whether the study sets this lower bound."""
    return isinstance(block.sigma, Sigma) and math.isclose(block.sigma.min, level)
