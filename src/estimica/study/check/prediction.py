"""Prediction: whether what a study says of noise in the states means something."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean
from estimica.source.formula import parse_formula
from estimica.study.case import Case, OutputColumn
from estimica.study.noise.process import PREDICTION, output_sigma
from estimica.study.record.noise import TIME
from estimica.study.record.samples import Record, data_of
from estimica.study.study import Study

NOISE, FILTER = "[process_noise]", "[filter]"


@dataclass(frozen=True)
class _Refused:
    """Something of an output that a filter cannot take in."""

    what: str
    advice: str


def check_prediction(study: Study) -> list[Problem]:
    """What is wrong with `[process_noise]`, `[filter]` and cases that are predicted."""
    if study.estimation.criterion != PREDICTION:
        return list(_unused(study))
    if not study.model.has_time:
        message = "criterion 'prediction' follows states over time, and here each point is alone"
        return [Problem("Q240", "[estimate]", message, 'write criterion = "ml"')]
    problems = [*_levels(study), *_whole(study)]
    tuners = {t.name for t in study.tuners}
    for case in study.active_cases:
        problems += [*_case(case), *_untold(study, case, tuners)]
    return problems


def check_record(study: Study, record: Record) -> Iterator[Problem]:
    """Formulas of sigma that speak of columns: those are not known between samples."""
    if study.estimation.criterion != PREDICTION:
        return
    declared = {t.name for t in study.tuners if t.start is not None}
    for output, column in record.case.columns_of_outputs.items():
        if not isinstance(column.sigma, str):
            continue
        columns = data_of(record.case).names
        for name in _names(column.sigma):
            if name in columns and name not in record.inputs and name not in declared:
                message = f"output '{output}': sigma '{column.sigma}' speaks of column '{name}'"
                advice = f'write sigma = {{ column = "{name}" }}, or make it an input'
                yield Problem("C160", f"case '{record.case.name}'", message, advice)


def _unused(study: Study) -> Iterator[Problem]:
    if study.process_noise:
        message = f"is not used by criterion '{study.estimation.criterion}'"
        advice = 'write criterion = "prediction" in [estimate]'
        yield Problem("Q241", NOISE, message, advice, warning=True)


def _whole(study: Study) -> Iterator[Problem]:
    how = study.estimation.transcription
    if how != "shooting":
        message = f"transcription '{how}' does not go with criterion 'prediction'"
        yield Problem("Q242", "[estimate]", message, "write transcription = 'shooting'")


def _levels(study: Study) -> Iterator[Problem]:
    known = {q.name: q.role for q in study.model.quantities()}
    states = [n for n, role in known.items() if role == "state"]
    for where, levels in ((NOISE, study.process_noise), (FILTER, study.filter.spreads)):
        for state, level in levels.items():
            if state not in states:
                yield _not_a_state(where, state, known, states)
            if isinstance(level, str):
                yield from _formula(where, state, level, known)


def _not_a_state(where: str, name: str, known: Mapping[str, str], states: list[str]) -> Problem:
    hint = did_you_mean(name, states)
    what = f"a {known[name]}, not a state" if name in known else "not a state of the model"
    advice = "" if hint else f"the states are {', '.join(states[:8]) or 'none'}"
    return Problem("Q243", where, f"'{name}' is {what}{hint}", advice)


def _formula(where: str, state: str, text: str, known: Mapping[str, str]) -> Iterator[Problem]:
    try:
        names = parse_formula(text, f"'{state}'").names
    except EstimicaError as error:
        yield Problem(error.code, where, error.message)
        return
    allowed = ("parameter", "constant", "input") if where == NOISE else ("parameter", "constant")
    for name in names:
        if known.get(name, "parameter") not in allowed:
            message = f"'{state}': '{name}' in '{text}' is a {known[name]}"
            words = "tuners, parameters and inputs" if where == NOISE else "tuners and parameters"
            yield Problem("Q244", where, message, f"write it in {words}")


def _case(case: Case) -> Iterator[Problem]:
    where = f"case '{case.name}'"
    if case.is_frequency:
        message = "a frequency response has no values that follow one another to be predicted"
        yield Problem("Q245", where, message, 'write criterion = "ml"')
    if case.staging:
        message = "changes and a steady start do not go with criterion 'prediction'"
        yield Problem("Q246", where, message, 'leave them out, or write criterion = "ml"')
    for output, column in case.columns_of_outputs.items():
        refused = _refused(output, column, case)
        if refused is not None:
            message = f"output '{output}': {refused.what} does not go with criterion 'prediction'"
            yield Problem("C161", where, message, refused.advice)


def _untold(study: Study, case: Case, tuners: Collection[str]) -> Iterator[Problem]:
    """Noise levels that no case is fitted for: nothing says how large they are."""
    every = {n: c for n, c in case.columns_of_outputs.items() if case.role == "validate"}
    known = {q.name for q in study.model.quantities()} if every else set()
    for output, column in every.items():
        level = output_sigma(output, column)
        names = _names(level) if isinstance(level, str) else ()
        missing = [n for n in names if n not in known and n not in tuners and n != TIME]
        if missing:
            message = (
                f"output '{output}' is measured in validating cases only, which do not tell its "
                f"noise '{missing[0]}'"
            )
            yield Problem("C162", f"case '{case.name}'", message, "give its sigma as a number")


def _refused(output: str, column: OutputColumn, case: Case) -> _Refused | None:
    if column.transform is not None:
        return _Refused(
            "a transform", f'measure the function itself: expression = "log({output})" say'
        )
    if column.disturbance:
        return _Refused("a disturbance", f'write expression = "{output} + b" with a tuner b')
    if column.limits is not None:
        return _Refused("a detection limit", "leave it out, or leave out what lies beyond it")
    if column.distribution != "normal":
        return _Refused(f"distribution '{column.distribution}'", "leave it out")
    if column.prefilter is not None or case.prefilter is not None:
        return _Refused("a prefilter", "leave it out: the filter weighs frequencies by itself")
    if column.weight is not None:
        return _Refused("a weight", "give sigma instead: the noise says how much a value counts")
    return None


def _names(text: str) -> tuple[str, ...]:
    try:
        return parse_formula(text, "sigma").names
    except EstimicaError:  # told where the case is read
        return ()
