"""Evidence of noise: which of the noise levels of states are told from zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from estimica.estimate.fit.result import Fit
from estimica.infer.states.result import NoiseEvidence, StateCourse


def noise_evidence(fit: Fit, courses: Sequence[StateCourse]) -> tuple[NoiseEvidence, ...]:
    """One for each state with noise, that which is most certain first."""
    found = []
    for state, level in fit.study.process_noise.items():
        own = [c for c in courses if c.state == state]
        if not own:
            continue
        value = float(np.sqrt(np.mean([c.diffusion**2 for c in own])))
        unit = f"{difference_unit(own[0].unit) or '1'}/√s"
        found.append(NoiseEvidence(state, str(level), value, unit, *_ratio(fit, level)))
    return tuple(sorted(found, key=lambda e: -e.ratio if math.isfinite(e.ratio) else math.inf))


def difference_unit(unit: str) -> str:
    """The unit of a difference: one of Celsius has kelvins; nothing for pure numbers."""
    return {"degC": "K", "1": ""}.get(unit, unit)


def _ratio(fit: Fit, level: float | str) -> tuple[float, bool]:
    """(estimate over standard error, whether it stands at its lower bound) of a level that is a
    tuner; NaN of others."""
    for k, u in enumerate(fit.unknowns.items):
        if u.kind == "tuner" and u.name == level:
            if fit.at_bound[k] == "min":
                return math.nan, True
            error = float(fit.accuracy.stderr[k])
            return (float(fit.values[k]) / error if error > 0 else math.nan), False
    return math.nan, False
