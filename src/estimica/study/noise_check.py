"""Noise check: whether what a study says of the noise means something, and goes together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean
from estimica.study.estimation import Estimation
from estimica.study.noise_model import TIME, SigmaFormula
from estimica.study.record import Measured, Record


def check_noise(record: Record, estimation: Estimation, tuners: Collection[str]) -> list[Problem]:
    """What is wrong with the noise of the outputs of a case."""
    where = f"case '{record.case.name}'"
    found: list[Problem] = []
    for m in record.outputs:
        if isinstance(m.sigma, SigmaFormula):
            found += _names(where, record, m, m.sigma, tuners)
        if m.is_modelled:
            found += _together(where, record, m, estimation)
    return found


def _names(
    where: str, record: Record, m: Measured, sigma: SigmaFormula, tuners: Collection[str]
) -> Iterator[Problem]:
    outputs = {o.name: o for o in record.outputs}
    known = [*tuners, *outputs, *record.inputs, TIME]
    for name in sigma.formula.names:
        if name in tuners:
            continue
        if name not in outputs and name not in sigma.known:
            hint = did_you_mean(name, known)
            yield Problem(
                "C073",
                where,
                f"output '{m.name}': '{name}' in sigma '{sigma.text}' is neither a tuner nor an "
                f"output of the case, an input, a column of its data or time{hint}",
                "" if hint else f"add it to [tune]; there are {', '.join(known)}",
            )
            continue
        other = outputs.get(name)
        if other is None or other is m:
            continue
        if not np.array_equal(m.time, other.time) or other.disturbance is not None:
            why = "has a disturbance" if other.disturbance else "has samples at other times"
            message = f"output '{m.name}': its sigma speaks of output '{name}', which {why}"
            yield Problem("C073", where, message, "write sigma in its own output")


def _together(where: str, record: Record, m: Measured, estimation: Estimation) -> Iterator[Problem]:
    said = f"output '{m.name}': {_what(m)}"
    if estimation.criterion != "ml":
        message = f"{said} needs the likelihood, and the criterion is '{estimation.criterion}'"
        yield Problem("C074", where, message, 'write criterion = "ml" in [estimate]')
    elif estimation.loss != "squared":
        message = f"{said} says how the noise is, and loss = '{estimation.loss}' says otherwise"
        advice = 'leave the loss out; distribution = "laplace" is for noise with outliers'
        yield Problem("C075", where, message, advice)
    # only the level of normal noise without limits follows from the residuals at once
    if not isinstance(m.sigma, (float, SigmaFormula)):
        advice = 'where it is not known write sigma = "s", and s = { start = 0.1, scale = "log" }'
        yield Problem("C076", where, f"{said} needs a sigma", f"{advice} in [tune]")
    if isinstance(m.sigma, SigmaFormula) and estimation.transcription != "shooting":
        message = f"{said} does not go with transcription = '{estimation.transcription}'"
        yield Problem("C077", where, message, "write transcription = 'shooting'")
    other = ""
    if record.uncertain:
        other = f"a sigma of input '{record.uncertain[0].name}'"
    elif m.prefilter is not None:
        other = "a prefilter, which mixes samples"
    elif m.distribution != "normal" and m.limits is not None:
        other = "detection limits"
    if other:
        yield Problem("C078", where, f"{said} does not go with {other}", "leave one of the two out")


def _what(m: Measured) -> str:
    if isinstance(m.sigma, SigmaFormula) and m.distribution == "normal":
        return f'sigma = "{m.sigma.text}"'
    if m.distribution != "normal":
        return f'distribution = "{m.distribution}"'
    return "a detection limit"
