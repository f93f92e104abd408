"""Check: everything that is wrong with a study, all at once, before any long work."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from estimica.base.code.reference import CodeRefusedError, code_reference, means_code
from estimica.base.code.trusted import CodeMissingError
from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.source.formula import parse_formula
from estimica.study.case import Case, Sigma
from estimica.study.check.data import (
    check_coverage,
    check_noise,
    check_sampling,
)
from estimica.study.check.effects import check_effects
from estimica.study.check.names import check_names, known_in_case, known_names, model_in_case
from estimica.study.check.prediction import check_prediction, check_record
from estimica.study.file.read import examine_file
from estimica.study.record.axis import check_axes
from estimica.study.record.samples import Record, examine
from estimica.study.record.stretches import gap_problem, in_stretches
from estimica.study.study import Study

NO_OUTPUTS = "C004"


def check(study: Study) -> list[Problem]:
    """What is wrong with a study, and warnings about what may be."""
    return _unique(_check(study, complete=True))


def check_file(path: str | PathLike[str]) -> list[Problem]:
    """The same for a study file, with what is wrong with the file itself."""
    examined = examine_file(path)
    problems = list(examined.problems)
    if examined.study is not None:
        problems += _check(examined.study, complete=not problems)
    else:
        for case in examined.cases:
            problems += examine(case)[1] if case.active and case.data is not None else []
    return _unique(problems)


def _check(study: Study, *, complete: bool) -> list[Problem]:
    """`complete` says that nothing had to be left out, so that what is missing is missing."""
    known = known_names(study)
    problems = check_names(study)
    records: list[Record] = []
    for case in study.active_cases:
        if study.is_design and case.data is None:
            continue  # of a design: nothing was measured
        of_case = known_in_case(study, case)
        record, of_record = examine(
            case, has_time=study.model.has_time, known=of_case, shared=study.shared
        )
        if study.is_backwards:
            of_record = [p for p in of_record if p.code != NO_OUTPUTS]
        problems += of_record + list(_doubled_columns(case))
        if record is None:
            continue
        if study.model.has_time and not case.is_frequency:
            problems += [*check_coverage(record), *check_sampling(record, study.bare)]
            problems += [gap] if (gap := gap_problem(study, case)) is not None else []
        if not study.is_backwards:
            names = [t.name for t in study.tuners]
            problems += check_noise(record, study.estimation, names, model_in_case(study, case))
            problems += check_record(study, record)
        records.append(record)
    problems += [*study.shared.unused(study.active_cases)] if complete else []
    problems += check_axes(study, records) + check_criterion(study) + _unused_step(study)
    problems += check_prediction(study)
    if study.is_backwards:
        return problems
    if complete and (records or not study.is_design):
        problems += _missing(study)
        if not _errors(problems):
            problems += _too_few(study, records)
    if complete and records and not _errors(problems):
        calibrated = [r for r in records if r.case.role == "calibrate"]
        problems += check_effects(study, calibrated, known)
    return problems


def _doubled_columns(case: Case) -> Iterator[Problem]:
    used: dict[str, str] = {}
    for name, column in case.columns_of_outputs.items():
        if column.transform is None and column.column in used:
            yield Problem(
                "C026",
                f"case '{case.name}'",
                f"outputs '{used[column.column]}' and '{name}' both take column '{column.column}'",
                "give each its own column",
            )
        used.setdefault(column.column, name)


def _unused_step(study: Study) -> list[Problem]:
    solver = study.solver
    if solver.step is None or solver.method == "implicit-euler":
        return []
    message = (
        f"step {solver.step:g} is of method 'implicit-euler'; '{solver.method}' chooses its steps "
        "by their errors"
    )
    return [Problem("Q149", "[solver]", message, "leave it out, or set max_step", warning=True)]


def _missing(study: Study) -> Iterator[Problem]:
    calibrated = [c for c in study.active_cases if c.role == "calibrate"]
    if not calibrated:
        what = "all cases only validate" if study.active_cases else "there is no case"
        message = f"{what}, so that there is nothing to find the tuners from"
        yield Problem("Q008", "", message, 'give a [[case]] with role = "calibrate"')
    if (
        not study.active_tuners
        and not any(_free(c) for c in calibrated)
        and not _noise_is_free(study, calibrated)
    ):
        what = "no tuner is active" if study.tuners else "there are no tuners"
        message = f"{what}, so that there is nothing to find"
        way = 'add one to [tune], or take criterion = "ml" to find noise levels only'
        if study.estimation.criterion == "ml":
            way = "add one to [tune], or leave out sigma of an output to find its noise level"
        yield Problem("Q009", "", message, way)


def _too_few(study: Study, records: Sequence[Record]) -> Iterator[Problem]:
    calibrated = [r for r in records if r.case.role == "calibrate"]
    samples = sum(r.n_samples for r in calibrated)
    cases = [c for c in in_stretches(study).active_cases if c.role == "calibrate"]
    free = len(study.active_tuners) + sum(_free(c) for c in cases)
    if samples <= free:
        left = "too few samples" if samples < free else "no sample is left to judge the fit"
        message = f"{left}: {_plural(samples, 'sample')} for {_plural(free, 'free quantity')}"
        yield Problem(
            "Q015", "", message, "fix some of them, or give more data", warning=samples == free
        )
    for record in records:
        if record.case.role == "validate" and record.n_samples < _free(record.case):
            counted = _plural(record.n_samples, "sample")
            message = f"{counted} for {_plural(_free(record.case), 'free quantity')}"
            yield Problem("Q015", f"case '{record.case.name}'", message, "fix some of them")


def _plural(count: int, noun: str) -> str:
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun if count == 1 else several}"


def _free(case: Case) -> int:
    disturbed = sum(bool(c.disturbance) for c in case.columns_of_outputs.values())
    return len(case.start_values) + disturbed


def _noise_is_free(study: Study, calibrated: Sequence[Case]) -> bool:
    """Whether the noise level of an output is estimated, which is something to find by itself."""
    sigmas = [c.sigma for case in calibrated for c in case.columns_of_outputs.values()]
    sigmas += [c.sigma for case in calibrated for c in case.columns_of_responses.values()]
    return study.estimation.criterion == "ml" and any(
        s is None or (isinstance(s, Sigma) and s.column is None) for s in sigmas
    )


def _errors(problems: Sequence[Problem]) -> bool:
    return any(not p.warning for p in problems)


def _unique(problems: Sequence[Problem]) -> list[Problem]:
    """Each problem once, and notes that several cases share once for all of them."""
    same: dict[tuple[str, str], list[str]] = {}
    for p in problems:
        if p.note:
            same.setdefault((p.code, p.message), []).append(p.where)
    once: dict[Problem, None] = {}
    for p in problems:
        where = list(dict.fromkeys(same.get((p.code, p.message), [])))
        once[p if len(where) < 2 else replace(p, where=f"{len(where)} cases")] = None
    return list(once)


NAMED = ("oe", "ml", "prediction")
#: what an expression may speak of
QUANTITIES = ("residual", "weight", "time", "dt", "measured", "simulated", "sigma")
WHERE = "[estimate]"


def check_criterion(study: Study) -> list[Problem]:
    """What is wrong with the criterion, and what it leaves unused."""
    text = study.estimation.criterion.strip()
    if text in NAMED:
        return list(_unused(study, text))
    if means_code(study.estimation.criterion):
        return list(_function(study))
    return list(_expression(text))


def _expression(text: str) -> Iterator[Problem]:
    hint = did_you_mean(text, NAMED)
    if text.isidentifier() and text not in QUANTITIES:
        known = ", ".join(QUANTITIES)
        message = f"criterion '{text}' is none of 'oe', 'ml' and 'prediction'{hint}"
        advice = "" if hint else f"write one of them, an expression in {known}, or file.py:function"
        yield Problem("Q010", WHERE, message, advice)
        return
    try:
        used = parse_formula(text, "criterion").names
    except EstimicaError as error:
        yield Problem(error.code, WHERE, error.message)
        return
    for name in used:
        if name not in QUANTITIES:
            hint = did_you_mean(name, QUANTITIES) or f"; there are {', '.join(QUANTITIES)}"
            yield Problem("Q011", WHERE, f"criterion: unknown name '{name}' in '{text}'{hint}")
    if not {"residual", "simulated"} & set(used) and all(n in QUANTITIES for n in used):
        message = f"criterion '{text}' does not depend on the simulation"
        yield Problem("Q012", WHERE, message, "write it in residual or simulated")


def _function(study: Study) -> Iterator[Problem]:
    """Looked at, not run."""
    text = study.estimation.criterion
    try:
        code = study.code_for(text)
    except CodeMissingError:
        path = (study.path.parent if study.path else Path()) / code_reference(text).file
        hint = did_you_mean_file(path)
        yield Problem("Q013", WHERE, f"criterion: there is no file '{path}'{hint}")
        return
    except CodeRefusedError as error:
        yield Problem("Q013", WHERE, f"criterion: {error}")
        return
    path = code.folder / code.entry.name
    try:
        tree = ast.parse(code.entry.content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield Problem("Q013", WHERE, f"criterion: cannot read '{path}': {error}")
        return
    names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    names += [
        a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names
    ]
    if code.function not in names:
        hint = did_you_mean(code.function, names) or f"; there are {', '.join(names) or 'none'}"
        message = f"criterion: '{path}' has no function '{code.function}'{hint}"
        yield Problem("Q014", WHERE, message)


def _unused(study: Study, criterion: str) -> Iterator[Problem]:
    if criterion != "oe":
        return
    outputs = [
        (case, name, case.column_of(name))
        for case in study.active_cases
        if case.role == "calibrate"
        for name in case.outputs
    ]
    for case, name, column in outputs:
        if isinstance(column.sigma, Sigma) and column.sigma.column is None:
            what = "bounds of sigma are" if column.sigma.shared is None else "a shared sigma is"
            yield Problem(
                "C033",
                f"case '{case.name}'",
                f"output '{name}': {what} not used by criterion 'oe'",
                'write criterion = "ml", or sigma = a number',
                warning=True,
            )
    without = [n for _, n, c in outputs if c.sigma is None and c.weight is None]
    for tuner in study.active_tuners:
        if tuner.prior is not None and without:
            yield Problem(
                "T015",
                f"tuner '{tuner.name}'",
                f"how much its prior counts depends on the noise, and output '{without[0]}' has "
                "no sigma",
                'give sigma, or write criterion = "ml"',
                warning=True,
            )
