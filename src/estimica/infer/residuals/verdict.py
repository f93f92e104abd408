"""Verdict: what tests of residuals mean for the model, its estimates and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from estimica.infer.residuals import hypothesis_tests as tests
from estimica.infer.residuals.hypothesis_tests import in_words
from estimica.infer.residuals.output import OutputResiduals

#: autocorrelation at the first lag from which on it is strong. Chosen: where it decays from there
#: like 0.7^k, six samples are worth about one, (1 + r)/(1 − r) = 5.7
STRONG = 0.7
#: independent samples for each tuner, below which the factor is only a rough guess: above, 90 % of
#: simulated experiments gave between 0.65 and 1.7 times the true one, below it may be a third
FEW = 10
DOUBT = ", which so few independent samples cannot tell better"
NAMED = 5  # outliers that are told one by one; chosen: a sentence


def findings(one: OutputResiduals) -> tuple[str, ...]:
    """Everything that speaks against white Gaussian noise, the gravest first."""
    return tuple(_findings(one))


def verdict(one: OutputResiduals) -> str:
    """One output in one sentence, or a few."""
    said = findings(one)
    if not one.judged:
        return f"residuals of {one.name} are {_unjudged(one)}"
    if not said:
        return f"residuals of {one.name} look like white Gaussian noise"
    return f"residuals of {one.name} {said[0]}" + "".join(f"; they {s}" for s in said[1:])


def overall(judged: Sequence[OutputResiduals], errors: str) -> str:
    """All calibrating outputs together; `errors` says what it means for the standard errors."""
    own = [one for one in judged if one.series.role == "calibrate"]
    others = [one for one in judged if one.series.role != "calibrate" and one.coloured]
    parts = []
    silent = [one for one in own if not one.judged]
    if len(silent) == len(own):
        parts.append(f"residuals of {listed(own)} are {_unjudged(own[0])}")
    elif all(one.clean for one in own):
        parts.append(
            f"{'all ' if len(own) > 1 else 'the '}residuals look like white Gaussian noise: "
            "nothing speaks against the model and its standard errors"
        )
    coloured = [one for one in own if one.coloured]
    if coloured:
        text = f"residuals of {listed(coloured)} {colour_in_words(*coloured)}"
        parts.append(text + (f"; {errors}" if errors else ""))
    lacking = [one for one in own if one.lacks_fit]
    if lacking:
        parts.append(f"residuals of {listed(lacking)} {LACKING}")
    for name, text in _SHORT.items():
        # of residuals that take two levels nothing else needs to be said about their shape
        shape = name in (tests.NORMAL, tests.SPREAD)
        failing = [one for one in own if one.fails(name) and not (shape and one.levels)]
        if failing:
            parts.append(f"residuals of {listed(failing)} {text}")
    levels = [one for one in own if one.levels]
    if levels:
        parts.append(f"the residuals of {listed(levels)} take two levels")
    if others:
        parts.append(f"in validation, residuals of {listed(others)} {colour_in_words(*others)}")
    return ". ".join(p[:1].upper() + p[1:] for p in parts)


LACKING = (
    "show a lack of fit: the means of replicates are farther from the model than replicates scatter"
)
_SHORT = {
    tests.INPUTS: "still contain inputs: part of their effect is missing in the model",
    tests.LEVEL: "are not zero in the mean, or drift",
    tests.NORMAL: "are not Gaussian",
    tests.SPREAD: "have no constant spread",
    tests.OUTLIERS: "have outliers",
}


def listed(outputs: Sequence[OutputResiduals]) -> str:
    """Outputs by name, with their cases where one output has several."""
    cases = {one.case for one in outputs}
    names = list(dict.fromkeys(one.name for one in outputs))
    if len(cases) > 1:
        names = [f"{one.name} ({one.case})" for one in outputs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def colour_in_words(*outputs: OutputResiduals) -> str:
    """How residuals remember, and what the model misses for it."""
    first = [float(o.autocorrelation.value[0]) for o in outputs if len(o.autocorrelation.value)]
    strongly = "strongly " if max(first, default=0.0) >= STRONG else ""
    where = outputs[0].series.spacing
    if max(first, default=0.0) <= 0:
        return (
            "alternate from sample to sample: look for a filter, a resampled signal or too short "
            "steps in the data"
        )
    if where.axis != "time":
        return f"are {strongly}coloured along {where.axis}: the curve has another shape"
    memories = [o.autocorrelation.memory for o in outputs]
    known = [m for m in memories if math.isfinite(m)]
    if not known:
        return f"are {strongly}coloured over the whole record: the model is incomplete"
    time = f"{_rough(min(known))} {where.unit}"
    lacks = "is incomplete, it misses" if strongly else "misses"
    text = f"are {strongly}coloured: the model {lacks} dynamics slower than {time}"
    periods = [o.autocorrelation.period for o in outputs]
    if len(outputs) == 1 and math.isfinite(periods[0]) and periods[0] > 4 * where.step:
        text += f" (they swing with a period of about {_rough(periods[0])} {where.unit})"
    return text


def errors_in_words(ratios: dict[str, float], worth: float) -> str:
    """What coloured residuals do to the standard errors of the tuners.

    `worth` are the independent samples in all; where they are few, colour is hardly known itself.
    """
    known = {n: r for n, r in ratios.items() if math.isfinite(r)}
    if not known:
        return ""
    low, high = min(known.values()), max(known.values())
    # chosen: a factor of 0.9 to 1.15 changes nobody's mind about an interval, and factors of which
    # one is below 0.7 of another are not told as one
    if high < 0.9:
        return f"the standard errors are too large by about a factor {1 / high:.2g}"
    if high < 1.15:
        return "the standard errors hardly suffer from it"
    few = worth < FEW * len(known)
    rough, doubt = ("very roughly", DOUBT) if few else ("about", "")
    if low > 0.7 * high or len(known) == 1:
        return f"the standard errors are too small by {rough} a factor {high:.2g}{doubt}"
    worst = max(known, key=known.__getitem__)
    return (
        f"the standard errors are too small by up to {rough} a factor {high:.2g} ({worst}){doubt}"
    )


def _unjudged(one: OutputResiduals) -> str:
    if one.series.exact:
        return "zero within the accuracy of the simulation, so that there is no noise to judge"
    return "too few to be judged"


def _findings(one: OutputResiduals) -> Iterator[str]:
    s = one.series
    if one.coloured:
        yield colour_in_words(one)
    if one.lacks_fit:
        yield f"{LACKING} ({one.test(tests.LACK_OF_FIT).remark})"
    if one.guilty_inputs:
        names = " and ".join(one.guilty_inputs)
        yield f"still contain {names}: part of its effect is missing in the model"
    if one.fails(tests.LEVEL):
        yield _level_in_words(one)
    if one.levels:
        unit = f" {s.unit}" if s.unit and s.unit != "1" else ""
        yield f"take two levels, {one.levels.low:.3g} and {one.levels.high:.3g}{unit}"
    elif one.fails(tests.NORMAL):
        yield f"are not Gaussian: {in_words(s.studentised)}"
    if one.fails(tests.SPREAD) and not one.levels:
        yield _spread_in_words(one)
    if one.outliers:
        yield _outliers_in_words(one)


def _level_in_words(one: OutputResiduals) -> str:
    s = one.series
    unit = f" {s.unit}" if s.unit and s.unit != "1" else ""
    mean = float(s.residual.mean())
    line = tests.drift(s)
    slope = float(line @ s.residual) / float(line @ line) if float(line @ line) else 0.0
    if abs(mean) >= abs(slope):
        return f"are {mean:.3g}{unit} in the mean instead of zero"
    along = "over the record" if s.axis == "time" else f"along {s.axis}"
    return f"drift by {2 * slope:.3g}{unit} {along}"


def _spread_in_words(one: OutputResiduals) -> str:
    s = one.series
    size = np.abs(s.studentised)
    ties = {"the simulated value": s.simulated, s.axis: s.x}
    found = {n: float(np.corrcoef(size, v)[0, 1]) for n, v in ties.items() if np.ptp(v) > 0}
    name = max(found, key=lambda n: abs(found[n]))
    way = "grow" if found[name] > 0 else "shrink"
    return (
        f"{way} with {name}: weigh them accordingly, transform the output, or ask for the "
        "sandwich covariance"
    )


def _outliers_in_words(one: OutputResiduals) -> str:
    far = sorted(one.outliers, key=lambda o: -abs(o.z))
    axis = one.series.axis if one.series.axis != "their rows" else "row"
    places = ", ".join(f"{o.x:.5g}" for o in far[:NAMED])
    more = ", …" if len(far) > NAMED else ""
    count = "an outlier" if len(far) == 1 else f"{len(far)} outliers"
    return f"have {count} at {axis} {places}{more}: exclude what is wrong, or use loss = 'huber'"


def _rough(value: float) -> str:
    """Two digits."""
    return f"{float(f'{value:.2g}'):g}"
