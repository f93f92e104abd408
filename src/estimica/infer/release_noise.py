"""Noise levels that are held at given variances instead of being estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from estimica.estimate.objective import Objective


def noise_names(objective: Objective) -> tuple[str, ...]:
    """Outputs whose noise variance the criterion estimates."""
    if objective.criterion.name != "ml":
        return ()
    free = [b.name for b in objective.blocks if not isinstance(b.sigma, float)]
    return tuple(dict.fromkeys(free))


def with_noise(objective: Objective, variances: Mapping[str, float]) -> Objective:
    """The same objective with the noise variances of some outputs held; nothing is compiled."""
    if not variances:
        return objective
    blocks = [
        b
        if isinstance(b.sigma, float) or b.name not in variances
        else replace(b, sigma=math.sqrt(variances[b.name]))
        for b in objective.blocks
    ]
    return Objective(objective.with_blocks(blocks), objective.criterion.of(blocks))
