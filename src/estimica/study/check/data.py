"""Whether the data of a case reach as far as they must, in units that agree, and whether what a
study says of their noise means something."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from estimica.base.problems import Problem
from estimica.base.signals import Hold, Signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.simulate.kinds import is_linear
from estimica.study.case import InputColumn
from estimica.study.estimation import LIKELIHOODS, Estimation
from estimica.study.fields.noise import Sigma
from estimica.study.record.noise import TIME, SigmaFormula
from estimica.study.record.samples import MeasuredOutput, Record


def check_coverage(record: Record) -> list[Problem]:
    """Inputs that begin after the simulation does, or end long before the last sample."""
    last = max((float(m.time[-1]) for m in record.outputs if len(m.time)), default=record.begin)
    problems: list[Problem] = []
    for name, signal in record.inputs.items():
        if isinstance(record.case.columns_of_inputs.get(name), InputColumn):
            problems += _ends(record, name, signal, last)
    return problems


def _ends(record: Record, name: str, signal: Signal, last: float) -> Iterator[Problem]:
    where = f"case '{record.case.name}'"
    first, end = float(signal.time[0]), float(signal.time[-1])
    if first > record.begin:
        yield Problem(
            "C027",
            where,
            f"input '{name}' has its first sample at {first:g}, after the simulation begins at "
            f"{record.begin:g}",
            f"write begin = {first:g}, or fill the column",
        )
    interval = float(np.median(np.diff(signal.time))) if len(signal.time) > 1 else 0.0
    if end + interval * (1 + 1e-9) < last:  # times are rounded: exactly one interval is enough
        yield Problem(
            "C028",
            where,
            f"input '{name}' has its last sample at {end:g}, but the outputs go on until {last:g}",
            f"write to = {end:g}, or fill the column",
            # a column of steps may say so once and then nothing, and that is not a mistake
            warning=signal.hold is Hold.PREVIOUS,
        )


#: of a sample time, by which the median distance of stamps may differ from it. Chosen: more than
#: what digits of a file round off, less than any other sampling
OTHER_SAMPLING = 0.01


def check_sampling(record: Record, model: Model) -> Iterator[Problem]:
    """Samples of a model in discrete time that are not at its instants, or not at each of them."""
    step = model.sample_time if is_linear(model) else None
    stamps = np.unique(np.concatenate([m.time for m in record.outputs] or [np.zeros(0)]))
    if step is None or len(stamps) < 2:
        return
    from estimica.simulate.linear.sampled import between_instants

    held = [s.time for s in record.inputs.values() if len(s.time) > 1]
    rows = np.unique(np.concatenate([stamps, *held]))  # outputs may be missing in some
    where, apart = f"case '{record.case.name}'", float(np.median(np.diff(rows)))
    advice = f"is sample_time right? The stamps are {apart:.6g} s apart"
    between = between_instants(stamps, record.begin, step)
    if between:
        message = (
            f"{between} of {len(stamps)} samples lie between the instants of the model, every "
            f"{step:g} s from {record.begin:g} s on; there it keeps its last value"
        )
        yield Problem("C059", where, message, advice, warning=True)
    elif abs(apart - step) > OTHER_SAMPLING * step:
        message = f"the model has a sample every {step:g} s, the data every {apart:.6g} s"
        yield Problem("C059", where, message, "is sample_time right?", warning=True)


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
    problems = shared
    for m in record.outputs:
        if isinstance(m.sigma, SigmaFormula):
            problems += _names(where, record, m, m.sigma, [*tuners, *varying])
        if m.is_modelled:
            problems += _together(where, record, m, estimation)
    return problems


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
    subject = f"output '{m.name}': {_what(m)}"
    if estimation.criterion not in LIKELIHOODS:
        message = f"{subject} needs the likelihood, and the criterion is '{estimation.criterion}'"
        yield Problem("C074", where, message, 'write criterion = "ml" in [estimate]')
    elif estimation.loss != "squared":
        message = f"{subject} says how the noise is, and loss = '{estimation.loss}' says otherwise"
        advice = 'leave the loss out; distribution = "laplace" is for noise with outliers'
        yield Problem("C075", where, message, advice)
    # only the level of normal noise without limits follows from the residuals at once
    if not isinstance(m.sigma, (float, SigmaFormula)):
        advice = 'where it is not known write sigma = "s", and s = { start = 0.1, scale = "log" }'
        yield Problem("C076", where, f"{subject} needs a sigma", f"{advice} in [tune]")
    # residuals of zero are kinks, which only a single simulation is searched over
    whole = isinstance(m.sigma, SigmaFormula) or m.distribution == "laplace"
    if whole and estimation.transcription != "shooting":
        message = f"{subject} does not go with transcription = '{estimation.transcription}'"
        yield Problem("C077", where, message, "write transcription = 'shooting'")
    other = ""
    if record.uncertain:
        other = f"a sigma of input '{record.uncertain[0].name}'"
    elif m.prefilter is not None:
        other = "a prefilter, which mixes samples"
    elif m.distribution != "normal" and m.limits is not None:
        other = "detection limits"
    if other:
        yield Problem(
            "C078", where, f"{subject} does not go with {other}", "leave one of the two out"
        )


def _what(m: MeasuredOutput) -> str:
    if isinstance(m.sigma, SigmaFormula) and m.distribution == "normal":
        return f'sigma = "{m.sigma.text}"'
    if m.distribution != "normal":
        return f'distribution = "{m.distribution}"'
    return "a detection limit"
