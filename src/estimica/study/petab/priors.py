"""Priors: what a study makes of the prior of a PEtab parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from estimica.base.errors import StudyError
from estimica.study.petab.problem import Parameter, Prior


@dataclass(frozen=True)
class TunerPrior:
    """A prior as a tuner has it: a Gaussian, or bounds; `unused` says what it cannot have."""

    prior: Mapping[str, float | str] = field(default_factory=dict)
    low: float = -math.inf
    high: float = math.inf
    logarithmic: bool = False  # flat on the logarithm
    unused: str = ""


def tuner_prior(parameter: Parameter) -> TunerPrior:
    """What is known of an estimated parameter beforehand.

    Normal priors are those of a tuner, of the value or of a logarithm; uniform ones are bounds.
    """
    prior = parameter.prior
    if prior is None:
        return TunerPrior()
    scale = parameter.scale if prior.on_scale and parameter.scale != "lin" else "value"
    if prior.shape in ("normal", "log-normal"):
        mean, sigma = _two(prior, parameter)
        on = "log" if prior.shape == "log-normal" else scale
        return TunerPrior({"mean": mean, "sigma": sigma, **({} if on == "value" else {"on": on})})
    if prior.shape in ("uniform", "log-uniform"):
        low, high = (_plain(x, scale) for x in _two(prior, parameter))
        return TunerPrior(low=low, high=high, logarithmic=prior.shape == "log-uniform")
    numbers = "; ".join(f"{x:g}" for x in prior.numbers)
    where = "" if scale == "value" else f" on {scale}"
    return TunerPrior(unused=f"its {prior.shape} prior{where} ({numbers}) is not used")


def _two(prior: Prior, parameter: Parameter) -> tuple[float, float]:
    if len(prior.numbers) != 2:
        raise StudyError(
            "Q129",
            f"parameter '{parameter.name}': a {prior.shape} prior has two numbers, not "
            f"{len(prior.numbers)}; write them as 'first; second'",
        )
    return prior.numbers[0], prior.numbers[1]


def _plain(x: float, scale: str) -> float:
    """A value on the search scale as a plain one; what is beyond all numbers is not a bound."""
    if scale == "value":
        return x
    try:
        return math.exp(x) if scale == "log" else 10.0**x
    except OverflowError:
        return math.inf
