"""Formulas of a study: what is wrong with those of outputs before any model is made of them, and
which names those of sigma bring along."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.source.formula import IN_STREAM, parse_formula
from estimica.study.case import Case, Output, OutputColumn
from estimica.study.noise.process import PREDICTION
from estimica.study.tuner import Tuner

if TYPE_CHECKING:  # which is made with the help of this module
    from estimica.study.study import Study

TABLE = "[outputs]"


def unreadable_formulas(
    model: Model, outputs: Mapping[str, str], cases: Iterable[Case]
) -> list[Problem]:
    """Formulas that cannot be read, or whose output has the name of something else."""
    cases = list(cases)
    if not outputs and not any(case.expressions for case in cases):
        return []
    roles = {q.name: q.role for q in model.quantities()}
    roles |= dict.fromkeys(model.inflow_names, "algebraic")
    every = {*outputs, *(n for case in cases for n in case.expressions)}
    problems = list(_unreadable(TABLE, outputs, roles, every))
    for case in cases:
        problems += _unreadable(f"case '{case.name}'", case.expressions, roles, every)
        for name in case.expressions:
            if name in outputs:
                message = f"output '{name}' has an expression here and in {TABLE} too"
                problems.append(Problem("C061", f"case '{case.name}'", message, "leave out one"))
    return problems


def names_in_cases(cases: Iterable[Case]) -> frozenset[str]:
    """All names in expressions of cases that can be read."""
    names: set[str] = set()
    for case in cases:
        for text in _texts(case):
            try:
                names |= set(parse_formula(text).names)
            except EstimicaError:  # told where the case is checked
                continue
    return frozenset(names)


def _texts(case: Case) -> Iterator[str]:
    """Every expression of a case."""
    yield from case.followed.values()
    yield from case.expressions.values()
    for change in case.change:
        yield from (v for v in (*change.add.values(), *change.set_.values()) if isinstance(v, str))
    rest = case.staging.rest
    yield from (v for _, v in (() if rest is None else rest.parameters) if isinstance(v, str))


def _unreadable(
    where: str, formulas: Mapping[str, str], roles: Mapping[str, str], every: set[str]
) -> Iterator[Problem]:
    for name, text in formulas.items():
        if name in roles:
            what = "parameter" if roles[name] in ("parameter", "constant") else "variable"
            message = f"output '{name}' is a formula, and the model has a {what} of that name"
            yield Problem("C060", where, message, f"choose another name, as '{name}_measured'")
            continue
        try:
            used = parse_formula(text, f"output '{name}'").names
        except EstimicaError as error:
            yield Problem(error.code, where, error.message)
            continue
        for other in used:
            if other.startswith(f"{IN_STREAM}(") and other not in roles:
                yield _no_stream(where, name, other, roles)
            if other in every:
                message = f"output '{name}': '{other}' in '{text}' is a formula itself"
                yield Problem("C062", where, message, "write it out in model variables")


def _no_stream(where: str, output: str, inflow: str, known: Iterable[str]) -> Problem:
    streams = [n for n in known if n.startswith(f"{IN_STREAM}(")]
    hint = did_you_mean(inflow, streams)
    if not hint:
        listed = ", ".join(streams[:5]) + (", …" if streams[5:] else "")
        hint = f" (there are {listed})" if streams else ""
    message = f"output '{output}': the model has no '{inflow}'{hint}"
    advice = "name the stream of a connector that is connected, or of one of the model's own"
    return Problem("C068", where, message, advice)


def sigma_texts(case: Case) -> dict[str, str]:
    """The formulas of sigma of a case, by output."""
    columns = case.columns_of_outputs.items()
    return {name: column.sigma for name, column in columns if isinstance(column.sigma, str)}


def names_in_sigmas(cases: Iterable[Case]) -> frozenset[str]:
    """All names in formulas of sigma that can be read."""
    names: set[str] = set()
    for case in cases:
        for text in sigma_texts(case).values():
            try:
                names |= set(parse_formula(text, "sigma").names)
            except EstimicaError:  # told where the case is checked
                continue
    return frozenset(names)


def noise_tuners(
    tuners: Iterable[Tuner], used: Collection[str], known: Collection[str]
) -> frozenset[str]:
    """Tuners that only formulas of sigma speak of; `known` are the names of the model."""
    return frozenset(
        t.name for t in tuners if not t.drives and t.name in used and t.name not in known
    )


def tuners_of_noise(study: Study) -> frozenset[str]:
    """The tuners that only formulas of sigma speak of: no output moves with them."""
    if not study.noise_names:
        return frozenset()
    known = {*study.formula_names, *(q.name for q in study.model.quantities())}
    return noise_tuners(study.tuners, study.noise_names, known)


def without_noise_tuners(study: Study) -> Study:
    """The same without formulas of sigma and their tuners, for questions about outputs alone."""
    of_noise = tuners_of_noise(study)
    if not study.noise_names and study.estimation.criterion != PREDICTION:
        return study
    cases = [replace(c, outputs=dict(_plain_outputs(c))) for c in study.cases]
    estimation = study.estimation
    if estimation.criterion == PREDICTION:
        estimation = replace(estimation, criterion="ml")
    return study.with_(
        tuners=[t for t in study.tuners if t.name not in of_noise],
        cases=cases,
        estimation=estimation,
        process_noise={},
    )


def _plain_outputs(case: Case) -> Iterator[tuple[str, Output]]:
    for name, column in case.outputs.items():
        if isinstance(column, OutputColumn) and isinstance(column.sigma, str):
            column = replace(column, sigma=None, limits=None, distribution="normal")
        yield name, column
