"""Noise check: whether what a study says of the noise means something, and goes together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.study.estimation import Estimation
from estimica.study.noise import Sigma
from estimica.study.record.noise import TIME, SigmaFormula
from estimica.study.record.samples import MeasuredOutput, Record


def check_noise(
    record: Record, estimation: Estimation, tuners: Collection[str], model: Model
) -> list[Problem]:
    """What is wrong with the noise of the outputs of a case."""
    where = f"case '{record.case.name}'"
    shared = [*_shared(where, record, estimation), *_filtered(where, record)]
    if not any(m.is_modelled for m in record.outputs):
        return shared
    held = ("parameter", "constant", "input")
    varying = [q.name for q in model.quantities() if q.role not in held]
    found = shared
    for m in record.outputs:
        if isinstance(m.sigma, SigmaFormula):
            found += _names(where, record, m, m.sigma, [*tuners, *varying])
        if m.is_modelled:
            found += _together(where, record, m, estimation)
    return found


def _shared(where: str, record: Record, estimation: Estimation) -> Iterator[Problem]:
    """A robust loss takes the level of each output from its own residuals."""
    for m in record.outputs:
        shared = isinstance(m.sigma, Sigma) and m.sigma.shared is not None
        if shared and estimation.criterion == "ml" and estimation.loss != "squared":
            message = f"output '{m.name}': a shared sigma does not go with loss = "
            advice = "leave one of the two out"
            yield Problem("C079", where, f"{message}'{estimation.loss}'", advice)


def _filtered(where: str, record: Record) -> Iterator[Problem]:
    """Behind a filter a sample has the noise of its neighbours too."""
    for m in record.outputs:
        if m.relative is not None and m.prefilter is not None:
            message = f"output '{m.name}': a column of sigma does not go with a prefilter"
            advice = "leave one of the two out, or give one sigma for all samples"
            yield Problem("C078", where, message, advice)


def _names(
    where: str, record: Record, m: MeasuredOutput, sigma: SigmaFormula, known: Collection[str]
) -> Iterator[Problem]:
    for name in sigma.formula.names:
        if name not in known and name not in sigma.known and name != m.name:
            hint = did_you_mean(name, [*known, *record.inputs, TIME])
            message = (
                f"output '{m.name}': '{name}' in sigma '{sigma.text}' is neither a tuner nor a "
                f"variable, an input, a column of the data or time{hint}"
            )
            yield Problem("C073", where, message, "" if hint else "add it to [tune]")


def _together(
    where: str, record: Record, m: MeasuredOutput, estimation: Estimation
) -> Iterator[Problem]:
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
    # residuals of zero are kinks, which only a single simulation is searched over
    whole = isinstance(m.sigma, SigmaFormula) or m.distribution == "laplace"
    if whole and estimation.transcription != "shooting":
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


def _what(m: MeasuredOutput) -> str:
    if isinstance(m.sigma, SigmaFormula) and m.distribution == "normal":
        return f'sigma = "{m.sigma.text}"'
    if m.distribution != "normal":
        return f'distribution = "{m.distribution}"'
    return "a detection limit"
