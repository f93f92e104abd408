"""Noise levels that are held at given variances instead of being estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from estimica.base.errors import InferError
from estimica.estimate.objective.cost import Objective
from estimica.study.record.noise import SigmaFormula


def noise_names(objective: Objective) -> tuple[str, ...]:
    """Outputs whose noise variance the criterion estimates."""
    if objective.criterion.name != "ml":
        return ()
    free = [b for b in objective.blocks if not isinstance(b.sigma, (float, SigmaFormula))]
    shared = [b for b in free if b.level != b.name]
    if shared:
        raise InferError(
            "I113",
            f"output '{shared[0].name}' has a noise level that is {shared[0].level}, and a release "
            "frees that of one output at a time; give each its own sigma",
        )
    return tuple(dict.fromkeys(b.name for b in free))


def with_noise(objective: Objective, variances: Mapping[str, float]) -> Objective:
    """The same objective with the noise variances of some outputs held; nothing is compiled."""
    if not variances:
        return objective
    blocks = [
        b
        if isinstance(b.sigma, (float, SigmaFormula)) or b.name not in variances
        else replace(b, sigma=math.sqrt(variances[b.name]))
        for b in objective.blocks
    ]
    return Objective(objective.with_blocks(blocks), objective.criterion.of(blocks))
